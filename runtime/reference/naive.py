"""Every operator in plain Python, tuple by tuple: what the Spark code must agree with (theory 1.3).

Rows are dictionaries of canonical values without what is undefined; `$order` is a row's place, where an operator
looks at it. A node gets new rows and the closed regions of its inputs, and gives the rows that pass now. It is slow and
keeps to the words of the theory; what regions are, it takes from `Facts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cmp_to_key
from math import floor, isfinite
from typing import Any

from cedilla.compiler import operators, regions
from cedilla.compiler.expressions import expressions, patterns
from cedilla.compiler.expressions.types import DOUBLE, finite
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.limit import OPEN
from cedilla.compiler.operators.session import DONE
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import Affine, exact
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.items.rejections import beyond
from cedilla.runtime.reference.evaluate import evaluate
from cedilla.runtime.reference.naive_aggregates import ORDER, result
from cedilla.runtime.reference.scalars.arithmetic import affine, double, in_range, is_beyond
from cedilla.runtime.reference.scalars.order import comparable, equal, rank

Row = dict[str, Any]
Rows = list[Row]
_START = datetime(1970, 1, 1, tzinfo=UTC)


def control(value: Any) -> Any:
    """A value as the control plane has it (`compiler/expressions/types.py`); ⊥ where it is undefined."""
    match value:
        case None:
            return regions.UNDEFINED
        case datetime():
            return (value - _START) // timedelta(microseconds=1)
        case date():
            return (value - _START.date()).days
        case Decimal():
            return Fraction(value)
        case list():
            return tuple(value)
        case float() if isfinite(value):
            return exact(Fraction(repr(value)))  # as a constant is written: 0.1 is a tenth
        case float():
            return finite(value)
        case _:
            return value


def inside(region: Tree, row: Mapping[str, Any]) -> bool:
    """Whether a row lies in a region."""
    needed = regions.attributes(region)
    return bool(regions.contains(region, {name: control(row.get(name)) for name in needed}))


def key_of(row: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    """The values of some attributes as one comparable value, `None` where undefined."""
    return tuple(comparable(row.get(name)) for name in names)


def whole(row: Row) -> frozenset[tuple[str, Any]]:
    """A row as one comparable value: equal iff defined on the same attributes with equal values (G36)."""
    return frozenset((name, comparable(value)) for name, value in row.items() if name != ORDER)


def without_places(rows: Rows) -> Rows:
    """The rows without their places."""
    return [{n: v for n, v in row.items() if n != ORDER} for row in rows]


def arrived(rows: Rows) -> Rows:
    """Rows in the order of their places; those of one place by their values, attribute by attribute, ⊥ first."""
    names = sorted(frozenset[str]().union(*(row.keys() for row in rows)) - {ORDER})
    return sorted(rows, key=lambda row: (row.get(ORDER, 0), [rank(row.get(name)) for name in names]))


class Node:
    """One operator with its state. `purge` off keeps all that ever came: the output must not change (O4)."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        self.operator = operator
        self.purge = purge

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        """The rows that pass once `new` has come on each input and the inputs stand as their facts say."""
        raise NotImplementedError

    def stored(self) -> Iterable[Row]:
        """Rows that may still pass, in whole or in part (G13)."""
        return ()

    def holds(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        """Whether rows of a region that may still pass are defined on an attribute of the output."""
        known = frozenset[str]().union(*(facts.types for facts in inputs))
        told = regions.exists(region, regions.attributes(region) - known, {})
        return any(row.get(attribute) is not None and inside(told, row) for row in self.stored())

    def knows(self) -> dict[str, Tree]:
        """What the state says of tuples that may still pass, for the operator's facts."""
        return {}


# --- tuple by tuple ---


class Select(Node):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return [row for row in new[0] if evaluate(self.operator.predicate, row) is True]


class Project(Node):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        items = {
            n: e
            for n, e in self.operator.chosen(inputs[0].types).items()
            if expressions.attributes(e) <= inputs[0].types.keys()
        }
        return [
            _defined({**{n: evaluate(e, row) for n, e in items.items()}, ORDER: row.get(ORDER)})
            for row in new[0]
        ]


class Rename(Node):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        names = self.operator.names
        return [{names.get(n, n): value for n, value in row.items()} for row in new[0]]


class Union(Node):
    rounded: Collection[str] = ()
    """The attributes that the query itself makes doubles, whatever they lose."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        left, right = (facts.types for facts in inputs)
        widened = {n for n, type_ in left.items() if n in right and DOUBLE in (type_, right[n])}
        return [
            {n: self._double(n, v) if n in widened and isinstance(v, int) else v for n, v in row.items()}
            for row in (*new[0], *new[1])
        ]

    def _double(self, name: str, value: int) -> float:
        if name not in self.rounded and is_beyond(value):
            raise beyond(name)
        return double(value)


class Window(Node):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        return [
            _defined({**row, **_named(o, window)})
            for row in new[0]
            for window in _window_numbers(row[o.on], o.length, o.step)
        ]


def _window_numbers(value: Any, length: Fraction, step: Fraction) -> Iterable[int | None]:
    """The numbers of 64 bits among those of the windows that a value lies in; `None` where there is none. Of a double,
    as computed in doubles."""
    if not isinstance(value, float):
        value = control(value)
        first, last = floor((value - length) / step) + 1, floor(value / step)
    elif not isfinite(value):
        return [None]
    elif length == step:
        first = last = floor(affine(Affine(1 / step, Fraction(0)), value))
    else:
        first, last = floor((value - float(length)) / float(step)) + 1, floor(value / float(step))
    return range(max(first, -(2**63)), min(last, 2**63 - 1) + 1) or [None]


def _named(o: Any, window: int | None) -> Row:
    """The number of a window by its name, or its bounds by theirs."""
    return {name: _bound(o.gives.name, bound, window) for name, bound in o.bounds.items()} or {
        o.alias: window
    }


def _bound(type_: str, bound: Affine, window: int | None) -> Any:
    if window is None:
        return None
    match type_:
        case "double":
            return affine(bound, float(window))
        case "timestamp":
            try:
                return _START + timedelta(microseconds=int(bound(window)))
            except OverflowError:
                return None  # before the year 1 or after 9999
        case _:
            return in_range(bound(window))


def _defined(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


# --- sets and bags ---


class Distinct(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.seen: dict[Any, Row] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        passed: Rows = []
        on = self.operator.on
        for row in arrived(new[0]):
            key = key_of(row, on) if on else whole(row)
            if key not in self.seen:
                self.seen[key] = row
                passed.append(row)
        if self.purge:
            others = frozenset(inputs[0].types) - frozenset(on) if on else frozenset[str]()
            closed = fold_closed(inputs[0], others)
            self.seen = {key: row for key, row in self.seen.items() if not inside(closed, row)}
        return passed


class _Counting(Node):
    """How often each tuple came on either side and how often it was passed."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.rows: dict[Any, Row] = {}
        self.came = (Counter[Any](), Counter[Any]())
        self.passed: Counter[Any] = Counter()

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        for side in (0, 1):
            for row in new[side]:
                self.rows.setdefault(whole(row), row)
                self.came[side][whole(row)] += 1
        out: Rows = []
        for key, row in list(self.rows.items()):
            closed = tuple(inside(facts.closed, row) for facts in inputs)
            counts = self.came[0][key], self.came[1][key]
            due = self.due(counts, closed) - self.passed[key]
            out += [row] * due
            self.passed[key] += max(due, 0)
            if self.purge and self.done(counts, self.passed[key], closed):
                for counter in (self.rows, *self.came, self.passed):
                    counter.pop(key, None)
        return out

    def due(self, counts: tuple[int, int], closed: tuple[bool, ...]) -> int:
        """How often a tuple passes, all in all."""
        raise NotImplementedError

    def done(self, counts: tuple[int, int], passed: int, closed: tuple[bool, ...]) -> bool:
        """Whether a tuple can be forgotten."""
        raise NotImplementedError


class Intersect(_Counting):
    def due(self, counts: tuple[int, int], closed: tuple[bool, ...]) -> int:
        both = min(counts)
        return both if self.operator.all else min(both, 1)

    def done(self, counts: tuple[int, int], passed: int, closed: tuple[bool, ...]) -> bool:
        exhausted = any(c and n <= passed for c, n in zip(closed, counts, strict=True))
        settled = not self.operator.all and passed > 0 and any(closed)
        return all(closed) or exhausted or settled


class Minus(_Counting):
    def due(self, counts: tuple[int, int], closed: tuple[bool, ...]) -> int:
        if not closed[1]:
            return 0
        left, right = counts
        return max(0, left - right) if self.operator.all else int(left > 0 and not right)

    def done(self, counts: tuple[int, int], passed: int, closed: tuple[bool, ...]) -> bool:
        left, right = counts
        decided = left <= right if self.operator.all else right > 0
        return closed[0] and (closed[1] or decided)

    def stored(self) -> Iterable[Row]:
        return (row for key, row in self.rows.items() if self.came[0][key] > self.passed[key])


# --- joins ---


class _Pairing(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.kept: tuple[Rows, Rows] = ([], [])

    def agree(self, left: Row, right: Row) -> bool:
        """Whether two tuples agree on the join attributes; ⊥ agrees with nothing."""
        return all(left.get(a) is not None and equal(left[a], right.get(b)) for a, b in self.operator.on)

    def meets_no_more(self, row: Row, side: int, inputs: tuple[Facts, ...]) -> bool:
        """Whether every tuple that a row of one side could meet is closed on the other (Keep of Join)."""
        pairs = [(pair[side], pair[1 - side]) for pair in self.operator.on]
        if any(row.get(mine) is None for mine, _ in pairs):
            return True
        other = inputs[1 - side]
        keys = frozenset(theirs for _, theirs in pairs)
        closed = fold_closed(other, frozenset(other.types) - keys)
        return inside(closed, {theirs: row[mine] for mine, theirs in pairs})

    def forget(self, side: int, inputs: tuple[Facts, ...]) -> None:
        if self.purge:
            rows = self.kept[side]
            rows[:] = [row for row in rows if not self.meets_no_more(row, side, inputs)]


class Join(_Pairing):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        pairs = [(a, b) for a in new[0] for b in (*self.kept[1], *new[1])]
        pairs += [(a, b) for a in self.kept[0] for b in new[1]]
        out = [self.pair(a, b) for a, b in pairs if self.agree(a, b)]
        for side in (0, 1):
            self.kept[side].extend(new[side])
            self.forget(side, inputs)
        return out

    def pair(self, left: Row, right: Row) -> Row:
        return {**right, **left}

    def stored(self) -> Iterable[Row]:
        return (*self.kept[0], *self.kept[1])


class _Matching(_Pairing):
    """Left tuples without a match so far are pending; the right tuples are kept as they come."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.pending: Rows = []

    def match(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> tuple[Rows, Rows]:
        """The left tuples that have met their first match now, and those that never will meet one."""
        self.kept[1].extend(new[1])
        matched: Rows = []
        never: Rows = []
        waiting: Rows = []
        for row in (*self.pending, *new[0]):
            if any(self.agree(row, other) for other in self.kept[1]):
                matched.append(row)
            elif self.meets_no_more(row, 0, inputs):
                never.append(row)
            else:
                waiting.append(row)
        self.pending = waiting
        self.forget(1, inputs)
        return matched, never

    def stored(self) -> Iterable[Row]:
        return self.pending


class SemiJoin(_Matching):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return self.match(new, inputs)[0]


class AntiJoin(_Matching):
    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return self.match(new, inputs)[1]


class LeftJoin(Node):
    """Inner pairs, and the tuples that an anti join would pass."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.inner, self.unmatched = Join(operator, purge), AntiJoin(operator, purge)

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return [*self.inner.step(new, inputs), *self.unmatched.step(new, inputs)]

    def stored(self) -> Iterable[Row]:
        return (*self.inner.stored(), *self.unmatched.stored())


# --- order ---


def by_keys(keys: Sequence[tuple[str, bool]]) -> Callable[[Row], Any]:
    """A sort key of rows: attributes, each descending or not; ⊥ comes last."""

    def compare(a: Row, b: Row) -> int:
        for name, descending in keys:
            x, y = a.get(name), b.get(name)
            if x is None or y is None:
                if x is y:
                    continue
                return 1 if x is None else -1
            if not equal(x, y):
                return (1 if rank(x) > rank(y) else -1) * (-1 if descending else 1)
        return 0

    return cmp_to_key(compare)


class Sort(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.pending: Rows = []
        self.written = 0

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        keys = self.operator.keys
        rows = sorted(arrived([*self.pending, *new[0]]), key=by_keys(keys))
        closed = fold_closed(inputs[0], frozenset(inputs[0].types) - {name for name, _ in keys})
        passed = [row for row in rows if self._all_before_closed(row, closed, inputs[0])]
        self.pending = [row for row in rows if not any(row is other for other in passed)]
        self.written += len(passed)
        return [{**row, ORDER: place} for place, row in enumerate(passed, self.written - len(passed))]

    def _all_before_closed(self, row: Row, closed: Tree, facts: Facts) -> bool:
        """∀ t' <_A t: t' ∈ C (E4); where ties wait for each other, t ∈ C too."""
        if self.operator.settled and not inside(closed, row):
            return False
        before: Tree = False
        equal: Tree = True
        for name, descending in self.operator.keys:
            value = row.get(name)
            here = regions.defined(name)  # ⊥ comes last
            if value is not None:
                sign = ">" if descending else "<"
                here = patterns.compare(name, facts.types[name], sign, control(value))
            before = regions.union(before, regions.intersection(equal, here))
            equal = regions.intersection(equal, _exactly(name, value))
        return regions.is_empty(regions.difference(before, closed), facts.universe)

    def stored(self) -> Iterable[Row]:
        return self.pending


class Top(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.groups: dict[tuple[Any, ...], Rows] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        for row in new[0]:
            self.groups.setdefault(key_of(row, o.per), []).append(row)
        closed = fold_closed(inputs[0], frozenset(inputs[0].types) - frozenset(o.per))
        done = [key for key, rows in self.groups.items() if inside(closed, rows[0])]
        best = by_keys(o.keys)
        return [row for key in done for row in sorted(arrived(self.groups.pop(key)), key=best)[: o.count]]

    def stored(self) -> Iterable[Row]:
        return (row for rows in self.groups.values() for row in rows)


class Limit(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.left: int = operator.count

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        passed = arrived(new[0])[: self.left]
        self.left -= len(passed)
        return passed

    def knows(self) -> dict[str, Tree]:
        return {} if self.left else {OPEN: False}


# --- windows over time and count ---


class Session(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.done: Tree = False
        self.rows: dict[tuple[Any, ...], Rows] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        for row in new[0]:
            self.rows.setdefault(key_of(row, o.per), []).append(row)
        closed = fold_closed(inputs[0], frozenset(inputs[0].types) - {o.on, *o.per})
        passed: Rows = []
        for key, rows in list(self.rows.items()):
            open_rows: Rows = []
            for session in self._sessions(rows):
                first, last = control(session[0][o.on]), control(session[-1][o.on])
                reach = regions.interval(o.on, (first - o.gap, 1), (last + o.gap, 0))
                conditions = {
                    o.on: reach,
                    **{name: _exactly(name, v) for name, v in zip(o.per, key, strict=True)},
                }
                rest = regions.difference(regions.box(conditions), closed)
                if regions.is_empty(rest, inputs[0].universe):
                    passed += [{**row, o.alias: session[0][o.on]} for row in session]
                else:
                    open_rows += session
            self.rows[key] = open_rows
        self.rows = {key: rows for key, rows in self.rows.items() if rows}
        least = min((control(row[o.on]) for row in self.stored()), default=None)
        self.done = regions.union(self.done, o.done(inputs[0], least))
        return passed

    def _sessions(self, rows: Rows) -> Iterator[Rows]:
        o = self.operator
        session: Rows = []
        for row in sorted(rows, key=lambda row: rank(row[o.on])):
            if session and _is_pause(session[-1][o.on], row[o.on], o.gap):
                yield session
                session = []
            session.append(row)
        if session:
            yield session

    def stored(self) -> Iterable[Row]:
        return (row for rows in self.rows.values() for row in rows)

    def knows(self) -> dict[str, Tree]:
        return {} if self.done is False else {DONE: self.done}


def _is_pause(before: Any, after: Any, gap: Fraction) -> bool:
    """Whether the gap lies between two times; between doubles as doubles are added."""
    if isinstance(before, float):
        return rank(after) >= rank(before + float(gap))
    return control(after) - control(before) >= gap


def _exactly(name: str, value: Any) -> Tree:
    if value is None:
        return regions.complement(regions.defined(name))
    return regions.values(name, [control(value)])


class CountWindow(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.counts: dict[tuple[Any, ...], tuple[int, Row]] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        out: Rows = []
        for row in arrived(new[0]):
            key = key_of(row, o.per)
            count = self.counts[key][0] if key in self.counts else 0
            out.append({**row, o.alias: count // o.size})
            self.counts[key] = count + 1, row
        if self.purge:
            closed = fold_closed(inputs[0], frozenset(inputs[0].types) - frozenset(o.per))
            self.counts = {k: (n, row) for k, (n, row) in self.counts.items() if not inside(closed, row)}
        return out


# --- aggregates ---


class Aggregate(Node):
    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.groups: dict[tuple[Any, ...], Rows] = {}

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        for row in new[0]:
            self.groups.setdefault(key_of(row, o.by), []).append(row)
        closed = fold_closed(inputs[0], frozenset(inputs[0].types) - frozenset(o.by))
        results = o.results(inputs[0])
        types = o.facts(inputs).types
        done = [
            key
            for key, rows in self.groups.items()
            if inside(closed, rows[0]) or (o.complete is not None and len(rows) >= o.complete)
        ]
        out: Rows = []
        for key in done:
            rows = self.groups.pop(key)
            group = {name: rows[0].get(name) for name in o.by}
            computed = {name: result(call, rows, types[name]) for name, call in results.items()}
            out.append(_defined({**group, **computed}))
        return out

    def stored(self) -> Iterable[Row]:
        return (row for rows in self.groups.values() for row in rows)

    def holds(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        if attribute in self.operator.by:
            return super().holds(attribute, region, inputs)
        call = self.operator.results(inputs[0]).get(attribute)
        told = regions.exists(region, regions.attributes(region) - frozenset(self.operator.by), {})
        return call is not None and any(
            result(call, [row]) not in (None, []) and inside(told, row) for row in self.stored()
        )


NODES: dict[type[Operator], type[Node]] = {
    operators.Select: Select,
    operators.Project: Project,
    operators.Rename: Rename,
    operators.Union: Union,
    operators.Window: Window,
    operators.Distinct: Distinct,
    operators.Intersect: Intersect,
    operators.Minus: Minus,
    operators.Join: Join,
    operators.LeftJoin: LeftJoin,
    operators.SemiJoin: SemiJoin,
    operators.AntiJoin: AntiJoin,
    operators.Sort: Sort,
    operators.Top: Top,
    operators.Limit: Limit,
    operators.Session: Session,
    operators.CountWindow: CountWindow,
    operators.Aggregate: Aggregate,
}


def node_of(operator: Operator, purge: bool = True) -> Node:
    """The node of an operator; `DiagnosticError` RQ406 for a user's operator, whose function needs Spark."""
    if type(operator) not in NODES:
        raise DiagnosticError(
            [
                Diagnostic(
                    "RQ406",
                    "error",
                    f"`{operator.name}` cannot be simulated: its function needs Spark",
                    operator.span,
                    help="`cedilla run` runs it",
                )
            ]
        )
    return NODES[type(operator)](operator, purge)
