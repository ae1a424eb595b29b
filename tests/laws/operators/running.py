"""Running functions for the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from cedilla.runtime.engines.plain.aggregate_results import ORDER, result
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.node import key_of
from cedilla.runtime.engines.plain.scalars.order import rank
from tests.laws.edges import result_of

CERTAIN = ("running[sum(x) as total, lag(x) as before per k on x](r)", False)
SAFE = "running[lag(v) as before, sum(v) as total per k on ts](c)"

_STARTS = ("int", "long", "timestamp")

Row = dict[str, Any]


def text(
    rng: Random, input: str, types: Mapping[str, str], values: Sequence[str], on: str, per: str, number: int
) -> str:
    """A random relation; `values`: attributes that are numbers; `number`: that of its line."""
    calls, whole = ["count() as n"], [name for name, type_ in types.items() if type_ in _STARTS]
    for function in ("sum", "avg", "delta", "delta", "sum", "increase"):
        x = rng.choice(values or [on])
        more = rng.choice(["", " resets"]) if function == "delta" else ""
        if function == "increase" and whole:
            more = rng.choice(["", f" since {rng.choice(whole)}"])
        calls.append(f"{function}({x}{more}) as {result_of(x, f'{function}{number}_{len(calls)}')}")
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


def _increase(readings: Sequence[tuple[Any, Any]]) -> Any:
    """Reading by reading: the value that counts, and a lower one that waits for the next reading. A later start than
    all before begins anew."""
    counted, waiting, grown, since = None, None, None, None
    for value, start in readings:
        is_later = None not in (since, start) and start > since
        since = start if since is None or is_later else since
        if counted is None:
            counted = value
        elif is_later:
            grown, counted, waiting = value, value, None
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
    if call.function in ("increase", "increase since"):
        value, *starts = call.arguments
        begins = [evaluate(starts[0], row) if starts else None for row in rows]
        readings = [(evaluate(value, row), begin) for row, begin in zip(rows, begins, strict=True)]
        return None if readings[-1][0] is None else _increase([r for r in readings if r[0] is not None])
    if call.function not in ("lag", "delta", "delta resets"):
        return result(call, rows)
    before, value = ([None, None] + [evaluate(call.arguments[0], row) for row in rows])[-2:]
    if call.function == "lag" or before is None or value is None:
        return before if call.function == "lag" else None
    return value if call.function == "delta resets" and rank(value) < rank(before) else value - before
