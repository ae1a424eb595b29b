"""Running functions for the laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Any

from cedilla.runtime.engines.plain.aggregate_results import ORDER, result
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.node import key_of
from cedilla.runtime.engines.plain.scalars.order import rank
from tests.laws.edges import result_of

CERTAIN = (
    "running[dense_rank() as level on x desc, k]"
    "(running[sum(x) as total, lag(x) as before, lag(x, 2) as two_before, rank() as place per k on x]"
    "(running[count() as n per k on x over last 1]"
    "(running[sum(x) as shared per k on x over all with ties]"
    "(running[sum(x) as sum_of_two per k on x over last 2 rows](r)))))",
    False,
)
SAFE = (
    "running[last(v) as latest on ts, k over last 3 rows]"
    "(running[lag(v) as before, sum(v) as total per k on ts, v desc]"
    "(running[sum(v) as lately per k on ts over last 10](running[max(v) as most on ts over all with ties](c))))"
)

_OF_FRAMES = ("count(", "sum(", "avg(", "min(", "max(")
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
    for function in ("lag", "lag", "nth", "min", "max", "count", "first", "last"):
        x = rng.choice(list(types))
        has_second = function == "nth" or (function == "lag" and rng.random() < 0.5)
        second = f", {rng.randint(1, 3)}" if has_second else ""
        calls.append(f"{function}({x}{second}) as {result_of(x, f'{function}{number}_{len(calls)}')}")
    calls += [f"{function}() as {function}{number}" for function in ("row_number", "rank", "dense_rank")]
    if types.get(on) in ("int", "long") and rng.random() < 0.2:
        framed = [call for call in calls if call.startswith(_OF_FRAMES)]
        chosen = ", ".join(rng.sample(framed, rng.randint(1, 3)))
        return f"running[{chosen}{per} on {on} over last {rng.choice([1, 3, 10])}]({input})"
    rows = rng.choice([1, 2, 3, 5]) if rng.random() < 0.4 else None
    if rows is not None:
        calls = [call for call in calls if call.startswith((*_OF_FRAMES, "first", "last"))]
    with_ties = rows is None and rng.random() < 0.25
    if with_ties:
        calls = [call for call in calls if call.startswith(_OF_FRAMES)]
    order = [f"{on}{rng.choice(['', '', ' desc'])}"]
    if rng.random() < 0.3 and (others := [name for name in types if name != on]):
        order.append(f"{rng.choice(others)}{rng.choice(['', ' desc'])}")
    chosen = ", ".join(rng.sample(calls, rng.randint(1, 4)))
    frame = " over all with ties" if with_ties else "" if rows is None else f" over last {rows} rows"
    return f"running[{chosen}{per} on {', '.join(order)}{frame}]({input})"


def meaning(operator: Any, rows: Sequence[Row]) -> list[Row]:
    """Every row with the functions of the rows of its key up to it."""
    names = sorted({name for row in rows for name in row} - {ORDER})
    ordered = sorted(rows, key=lambda row: (row.get(ORDER, 0), [rank(row.get(name)) for name in names]))
    for name, descending in reversed(operator.on):
        defined = sorted((row for row in ordered if name in row), key=lambda row, name=name: rank(row[name]))
        if descending:  # ties stay in their order
            defined = [row for _, ties in _ties(defined, [name])[::-1] for row in ties]
        ordered = [*(row for row in ordered if name not in row), *defined]
    out: list[Row] = []
    for position, row in enumerate(ordered):
        key = key_of(row, operator.per)
        if operator.frame is not None and operator.frame.length is not None:
            seen_by = _within(operator, row, [o for o in ordered if key_of(o, operator.per) == key])
        else:
            of_key = [o for o in ordered if key_of(o, operator.per) == key]
            count = sum(key_of(other, operator.per) == key for other in ordered[: position + 1])
            seen_by = of_key[:count]
            if operator.frame is not None and operator.frame.rows is not None:
                seen_by = seen_by[-operator.frame.rows :]
            elif operator.frame is not None:
                names_of_ties = [name for name, _ in operator.on]
                tie = key_of(row, names_of_ties)
                seen_by = seen_by + [o for o in of_key[count:] if key_of(o, names_of_ties) == tie]
        names_of_order, calls = [name for name, _ in operator.on], operator.calls.items() if seen_by else ()
        results = {name: _result(call, seen_by, names_of_order) for name, call in calls}
        out.append({**row, **{name: value for name, value in results.items() if value is not None}})
    return out


def _within(operator: Any, row: Row, rows: Sequence[Row]) -> list[Row]:
    """Returns the rows of a frame of a length: from the length before a row up to its ties."""
    ((axis, _),) = operator.on
    if axis not in row:
        return []
    return [o for o in rows if axis in o and row[axis] - operator.frame.length <= o[axis] <= row[axis]]


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
            is_equal = rank(value) == rank(counted)  # NaN less NaN is none
            grown, counted, waiting = 0 if is_equal else value - counted, value, None
        elif waiting is None:
            grown, waiting = 0, value
        elif rank(value) == rank(waiting):
            grown = 0
        elif rank(value) >= rank(waiting):
            grown, counted, waiting = value, value, None
        else:
            grown, counted, waiting = waiting, waiting, value
    return grown


def _ties(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[Any, list[Row]]]:
    """Returns the runs of rows that agree in some attributes."""
    return [(key, [*run]) for key, run in groupby(rows, key=lambda row: key_of(row, names))]


def _result(call: Any, rows: Sequence[Row], order: Sequence[str]) -> Any:
    if call.function in ("row_number", "rank", "dense_rank"):
        ties = _ties(rows, order)
        before = len(rows) - len(ties[-1][1])
        return {"row_number": len(rows), "rank": before + 1, "dense_rank": len(ties)}[call.function]
    if call.function in ("first", "last", "nth"):
        values = [x for row in rows if (x := evaluate(call.arguments[0], row)) is not None]
        ends = {"first": 1, "last": len(values)}
        number = ends[call.function] if call.function in ends else call.arguments[1].value
        return values[number - 1] if 0 < number <= len(values) else None
    if call.function in ("increase", "increase since"):
        value, *starts = call.arguments
        begins = [evaluate(starts[0], row) if starts else None for row in rows]
        readings = [(evaluate(value, row), begin) for row, begin in zip(rows, begins, strict=True)]
        return None if readings[-1][0] is None else _increase([r for r in readings if r[0] is not None])
    if call.function not in ("lag", "delta", "delta resets"):
        return result(call, rows)
    back = call.arguments[1].value if call.arguments[1:] else 1
    values = [evaluate(call.arguments[0], row) for row in rows]
    before, value = ([None] * (back + 1) + values)[-back - 1], values[-1]
    if call.function == "lag" or before is None or value is None:
        return before if call.function == "lag" else None
    return value if call.function == "delta resets" and rank(value) < rank(before) else value - before
