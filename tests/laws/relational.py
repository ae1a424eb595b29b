"""The meaning of a query on complete relations, in the shortest code: the right side of Figure 3.

A row has its place in its stream, or after a sort, as `$order`, where the relation has an order. Rows of one place
are told apart by their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from fractions import Fraction
from itertools import combinations, product
from math import floor, isfinite, isnan
from random import Random
from typing import Any

from cedilla.compiler import operators as o
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Plan
from cedilla.runtime.engines.plain.aggregate_results import ORDER, result
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.node import control, inside
from cedilla.runtime.engines.plain.scalars.order import rank
from cedilla.runtime.engines.plain.scalars.times import START
from tests.kit.calendars import period_begin
from tests.kit.stream import Item
from tests.laws.operators import OPERATORS

Row = dict[str, Any]
Rows = list[Row]


def evaluate_plan(plan: Plan, sources: Mapping[str, Rows]) -> dict[str, Rows]:
    """The relation of every source and operator. Attributes that no tuple has do not exist."""
    relations = {
        name: [{**row, ORDER: position} for position, row in enumerate(rows)]
        for name, rows in sources.items()
    }
    for operator in plan.operators:
        leading = operator.leading(tuple(plan.arrivals[name] for name in operator.inputs))
        inputs = [
            relations[name] if side == leading else [_bare(row) for row in relations[name]]
            for side, name in enumerate(operator.inputs)
        ]
        if isinstance(operator, o.Aggregate):
            rows = _aggregate(operator, inputs[0], plan.start[operator.inputs[0]])
            rows += _empty(operator, rows, plan.start[operator.name])
        else:
            rows = MEANINGS[type(operator)](operator, *inputs)
        has_order = plan.arrivals[operator.name].order is not Order.NONE
        relations[operator.name] = rows if has_order else [_bare(row) for row in rows]
    return {name: [_bare(row) for row in rows] for name, rows in relations.items()}


def _bare(row: Row) -> Row:
    return {n: v for n, v in row.items() if n != ORDER}


def _in_order(rows: Rows) -> Rows:
    names = sorted({n for row in rows for n in row} - {ORDER})
    return sorted(rows, key=lambda row: (row.get(ORDER, 0), [rank(row.get(n)) for n in names]))


def same(row: Row) -> Any:
    return frozenset((n, _plain(v)) for n, v in _bare(row).items())


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return "NaN" if isinstance(value, float) and isnan(value) else value  # it equals itself


def _clean(row: Row) -> Row:
    return {n: v for n, v in row.items() if v is not None}


def _project(op: Any, rows: Rows) -> Rows:
    return [
        _clean({**{n: evaluate(e, row) for n, e in op.chosen(_bare(row)).items()}, ORDER: row.get(ORDER)})
        for row in rows
    ]


def _unique(rows: Rows) -> Rows:
    return list({same(row): row for row in reversed(_in_order(rows))}.values())[::-1]


def _bag(op: Any, left: Rows, right: Rows, keep: Callable[[int, int], int]) -> Rows:
    a, b = Counter(map(same, left)), Counter(map(same, right))
    rows = {same(row): row for row in left}
    return [row for key, row in rows.items() for _ in range(keep(a[key], b[key]))]


def _intersect(op: Any, left: Rows, right: Rows) -> Rows:
    return _bag(op, left, right, min if op.all else lambda a, b: min(a, b, 1))


def _minus(op: Any, left: Rows, right: Rows) -> Rows:
    return _bag(op, left, right, (lambda a, b: max(0, a - b)) if op.all else lambda a, b: int(not b))


def _agree(op: Any, left: Row, right: Row) -> bool:
    return all(a in left and _plain(left[a]) == _plain(right.get(b)) for a, b in op.on)


def _join(op: Any, left: Rows, right: Rows) -> Rows:
    return [{**b, **a} for a in left for b in right if _agree(op, a, b)]


def _semi(op: Any, left: Rows, right: Rows) -> Rows:
    return [a for a in left if any(_agree(op, a, b) for b in right)]


def _anti(op: Any, left: Rows, right: Rows) -> Rows:
    return [a for a in left if not any(_agree(op, a, b) for b in right)]


def _period(op: Any, moment: int) -> dict[str, Any]:
    """The window of a calendar that has a moment, by looking at one after the other."""
    calendar = op.calendar
    longest = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[calendar.unit] * calendar.count
    number = moment // 86_400_000_000 // longest - 2
    while period_begin(calendar, number + 1) <= moment:
        number += 1
    if isinstance(op.alias, str):
        return {op.alias: number}
    bounds = (START + timedelta(microseconds=period_begin(calendar, n)) for n in (number, number + 1))
    return dict(zip(op.alias, bounds, strict=True))


def _window(op: Any, rows: Rows) -> Rows:
    out: Rows = []
    for row in rows:
        if op.on not in row or (isinstance(row[op.on], float) and not isfinite(row[op.on])):
            out.append(row)  # without a window
            continue
        value = Fraction(control(row[op.on]))
        if op.calendar is not None:
            out.append({**row, **_period(op, int(value))})
            continue
        last = floor(value / op.step)
        if not -(2**63) <= last < 2**63:
            out.append(row)
            continue
        starts = range(last - floor(op.length / op.step) - 1, last + 1)
        for w in starts:
            begin, end = w * op.step, w * op.step + op.length
            if begin <= value < end:
                names = (w,) if isinstance(op.alias, str) else (begin, end)
                out.append({**row, **dict(zip(op.names, names, strict=True))})
    return out


def _groups(rows: Rows, names: tuple[str, ...]) -> dict[tuple[Any, ...], Rows]:
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple(_plain(row.get(n)) for n in names), []).append(row)
    return groups


def _session(op: Any, rows: Rows) -> Rows:
    out: Rows = []
    for group in _groups(rows, op.per).values():
        start = before = None
        out += [row for row in group if op.on not in row]
        for row in sorted((row for row in group if op.on in row), key=lambda row: rank(row[op.on])):
            if before is None or rank(row[op.on]) >= rank(before + op.gap):
                start = row[op.on]
            before = row[op.on]
            out.append({**row, op.alias: start})
    return out


def _count_window(op: Any, rows: Rows) -> Rows:
    counts: Counter[Any] = Counter()
    out: Rows = []
    for row in _in_order(rows):
        key = tuple(_plain(row.get(n)) for n in op.per)
        out.append({**row, op.alias: counts[key] // op.size})
        counts[key] += 1
    return out


def _sorted(op: Any, rows: Rows) -> Rows:
    rows = _in_order(rows)
    for name, descending in reversed(op.keys):  # the last key first: Python's sort is stable
        defined = sorted((r for r in rows if name in r), key=lambda r, n=name: rank(r[n]), reverse=descending)
        rows = defined + [r for r in rows if name not in r]
    return rows


def _sort(op: Any, rows: Rows) -> Rows:
    return [{**row, ORDER: position} for position, row in enumerate(_sorted(op, rows))]


def _top(op: Any, rows: Rows) -> Rows:
    return [row for group in _groups(rows, op.per).values() for row in _sorted(op, group)[: op.count]]


def _aggregate(op: Any, rows: Rows, facts: Facts) -> Rows:
    out: Rows = []
    calls = dict(op.results(facts))
    if op.function is not None:
        added = {name for row in rows for name in row} - facts.types.keys() - {ORDER}
        if op.function in ("avg", "sum"):  # others have no result (G37)
            added = {n for n in added if not any(isinstance(row.get(n), str | bool) for row in rows)}
        calls |= {n: o.Call.parse(f"{op.function}({n})") for n in added}
    groups = _groups(rows, op.by) if op.by else {(): rows}
    for group in groups.values():
        values = {n: result(call, group) for n, call in calls.items()}
        out.append(_clean({**{n: group[0].get(n) for n in op.by}, **values}))
    return out


def _empty(op: Any, rows: Rows, start: Facts) -> Rows:
    """The calendar of windows times the members of the domains, less the groups with tuples. Groups that are closed
    when the query starts are none."""
    if op.completion is None:
        return []
    window, keys = op.completion.window, [name for name in op.by if name not in op.completion.window.names]
    members = [
        [value for value, hit in start.universe[name].members.points.items() if hit]  # type: ignore[union-attr]
        for name in keys
    ]
    calendar: Rows = []
    for number in range(-100, 100):  # of at least 1, and `from` and `to` are near 0
        begin, end = number * window.step, number * window.step + window.length
        if op.completion.begin <= begin < op.completion.end:
            names = (number,) if isinstance(window.alias, str) else (begin, end)
            calendar.append(dict(zip(window.names, names, strict=True)))
    groups_with_rows = {tuple(_plain(row.get(name)) for name in op.by) for row in rows}
    groups = [{**one, **dict(zip(keys, of, strict=True))} for one in calendar for of in product(*members)]
    groups = [
        g
        for g in groups
        if tuple(g[name] for name in op.by) not in groups_with_rows and not inside(start.closed, g)
    ]
    nothing = {name: result(call, []) for name, call in op.calls.items()}
    return [_clean({**{name: group[name] for name in op.by}, **nothing}) for group in groups]


MEANINGS: dict[type[o.Operator], Callable[..., Rows]] = {
    o.Select: lambda op, rows: [row for row in rows if evaluate(op.predicate, row) is True],
    o.Sample: lambda op, rows: [row for row in rows if evaluate(op.predicate, row) is True],
    o.Project: _project,
    o.Rename: lambda op, rows: [{op.names.get(n, n): v for n, v in row.items()} for row in rows],
    o.Union: lambda op, left, right: left + right,
    o.Window: _window,
    o.Distinct: lambda op, rows: (
        _unique(rows) if not op.on else [g[0] for g in _groups(_in_order(rows), op.on).values()]
    ),
    o.Intersect: _intersect,
    o.Minus: _minus,
    o.Join: _join,
    o.LeftJoin: lambda op, left, right: _join(op, left, right) + _anti(op, left, right),
    o.SemiJoin: _semi,
    o.AntiJoin: _anti,
    o.Sort: _sort,
    o.Top: _top,
    o.Limit: lambda op, rows: _in_order(rows)[: op.count],
    o.Session: _session,
    o.CountWindow: _count_window,
    **{
        operator: OPERATORS[operator.method].meaning
        for operator in o.OPERATORS
        if operator.method in OPERATORS
    },
}


def completions(rng: Random, open_rows: list[Item]) -> list[list[Item]]:
    """None, each alone, each more often than any tuple has come, all of them, and some sets of the open tuples."""
    sets = [list(c) for n in (0, 1) for c in combinations(open_rows, n)]
    sets += [[row] * 8 for row in open_rows]
    sets += [open_rows, open_rows * 8]
    sets += [rng.choices(open_rows, k=rng.randint(1, 4)) for _ in range(6) if open_rows]
    return sets
