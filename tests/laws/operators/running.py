"""Running functions for the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from cedilla.runtime.reference.aggregate_results import ORDER, result
from cedilla.runtime.reference.evaluate import evaluate
from cedilla.runtime.reference.node import key_of
from cedilla.runtime.reference.scalars.order import rank
from tests.laws.edges import result_of

CERTAIN = ("running[sum(x) as total, lag(x) as before per k on x](r)", False)
SAFE = "running[lag(v) as before, sum(v) as total per k on ts](c)"

Row = dict[str, Any]


def text(
    rng: Random, input: str, types: Mapping[str, str], values: Sequence[str], on: str, per: str, number: int
) -> str:
    """A random relation; `values`: attributes that are numbers; `number`: that of its line."""
    calls = ["count() as n"]
    for function in ("sum", "avg", "delta", "delta", "sum", "increase"):
        x = rng.choice(values or [on])
        resets = rng.choice(["", " resets"]) if function == "delta" else ""
        calls.append(f"{function}({x}{resets}) as {result_of(x, f'{function}{number}_{len(calls)}')}")
    for function in ("lag", "lag", "min", "max", "count"):
        x = rng.choice(list(types))
        calls.append(f"{function}({x}) as {result_of(x, f'{function}{number}_{len(calls)}')}")
    return f"running[{', '.join(rng.sample(calls, rng.randint(1, 4)))}{per} on {on}]({input})"


def meaning(operator: Any, rows: Sequence[Row]) -> list[Row]:
    """Every row with the functions of the rows of its key up to it."""
    names = sorted({name for row in rows for name in row} - {ORDER})
    ordered = sorted(
        rows,
        key=lambda row: (
            operator.on in row,  # undefined values come first
            rank(row.get(operator.on)),
            row.get(ORDER, 0),
            [rank(row.get(name)) for name in names],
        ),
    )
    out: list[Row] = []
    for position, row in enumerate(ordered):
        key = key_of(row, operator.per)
        so_far = [other for other in ordered[: position + 1] if key_of(other, operator.per) == key]
        results = {name: _result(call, so_far) for name, call in operator.calls.items()}
        out.append({**row, **{name: value for name, value in results.items() if value is not None}})
    return out


def _increase(values: Sequence[Any]) -> Any:
    """Reading by reading: the value that counts, and a lower one that waits for the next reading."""
    counted, waiting, grown = None, None, None
    for value in values:
        if counted is None:
            counted = value
        elif rank(value) >= rank(counted):
            grown, counted, waiting = value - counted, value, None
        elif waiting is None:
            grown, waiting = 0, value
        elif rank(value) == rank(waiting):
            grown = 0
        elif rank(value) >= rank(waiting):
            grown, counted, waiting = value, value, None
        else:
            grown, counted, waiting = waiting, waiting, value
    return grown


def _result(call: Any, rows: Sequence[Row]) -> Any:
    if call.function == "increase":
        values = [evaluate(call.arguments[0], row) for row in rows]
        return None if values[-1] is None else _increase([value for value in values if value is not None])
    if call.function not in ("lag", "delta", "delta resets"):
        return result(call, rows)
    before, value = ([None, None] + [evaluate(call.arguments[0], row) for row in rows])[-2:]
    if call.function == "lag" or before is None or value is None:
        return before if call.function == "lag" else None
    return value if call.function == "delta resets" and rank(value) < rank(before) else value - before
