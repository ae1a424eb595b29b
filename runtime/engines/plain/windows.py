"""Windows over time and count in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from fractions import Fraction
from math import floor
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.engines.plain.node import (
    Node,
    Row,
    Rows,
    arrived,
    control,
    exactly,
    inside,
    key_of,
    only_defined,
)
from cedilla.runtime.engines.plain.scalars.arithmetic import affine, in_range, is_odd
from cedilla.runtime.engines.plain.scalars.order import rank
from cedilla.runtime.engines.plain.scalars.times import START


class Window(Node):
    """A tuple once for each window that contains it, with the window's number or bounds."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        o = self.operator
        return [
            only_defined({**row, **bounds_by_name(o, window)})
            for row in new[0]
            for window in _windows_of(o, row.get(o.on))
        ]


def _windows_of(o: Any, value: Any) -> Iterable[int | None]:
    """Returns the numbers of the windows that contain a value; `None` without one."""
    if o.calendar is None:
        return _window_numbers(value, o.length, o.step)
    return [None if value is None else o.calendar.number(int(control(value)))]


def _window_numbers(value: Any, length: Fraction, step: Fraction) -> Iterable[int | None]:
    """Returns the 64-bit numbers of the windows that contain a value; `None` without one."""
    if value is None or is_odd(value):
        return [None]
    value = value if isinstance(value, float) else control(value)
    first = _floor(affine(Affine(1 / step, 1 - length / step), value))
    last = _floor(affine(Affine(1 / step, Fraction(0)), value))
    return range(max(first, -(2**63)), min(last, 2**63 - 1) + 1) or [None]


def _floor(value: Any) -> int:
    return (2**64 if value > 0 else -(2**64)) if is_odd(value) else floor(value)


def bounds_by_name(o: Any, window: int | None) -> Row:
    """Returns the number of a window by its name, or its bounds by theirs."""
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
                return START + timedelta(microseconds=int(bound(window)))
            except OverflowError:
                return None  # before the year 1 or after 9999
        case _:
            return in_range(bound(window))


class Session(Node):
    """Sessions that ended with a pause and that no further tuple can join (theory 1.3)."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
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
                start = session[0].get(o.on)
                reach = exactly(o.on, None)  # a tuple without a time has no session
                if start is not None:
                    first, last = control(start), control(session[-1][o.on])
                    reach = regions.interval(o.on, (first - o.gap, 1), (last + o.gap, 0))
                conditions = {
                    o.on: reach,
                    **{name: exactly(name, v) for name, v in zip(o.per, key, strict=True)},
                }
                rest = regions.difference(regions.box(conditions), closed)
                if regions.is_empty(rest, inputs[0].universe):
                    passed += [only_defined({**row, o.alias: start}) for row in session]
                else:
                    open_rows += session
            self.rows[key] = open_rows
        self.rows = {key: rows for key, rows in self.rows.items() if rows}
        return passed

    def _sessions(self, rows: Rows) -> Iterator[Rows]:
        o = self.operator
        session: Rows = []
        yield from ([row] for row in rows if o.on not in row)
        for row in sorted((row for row in rows if o.on in row), key=lambda row: rank(row[o.on])):
            if session and _is_pause(session[-1][o.on], row[o.on], o.gap):
                yield session
                session = []
            session.append(row)
        if session:
            yield session

    def stored(self) -> Iterable[Row]:
        return (row for rows in self.rows.values() for row in rows)

    def kept_of(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        """The open tuples, with the start of their session."""
        for rows in self.rows.values():
            for session in self._sessions(rows):
                start = session[0].get(self.operator.on)
                yield from ({**row, self.operator.alias: start} for row in session)


def _is_pause(before: Any, after: Any, gap: Fraction) -> bool:
    """Returns True if the gap lies between two times."""
    if isinstance(before, float):
        return rank(after) >= rank(affine(Affine(Fraction(1), gap), before))
    return control(after) - control(before) >= gap


class CountWindow(Node):
    """Tuples with the number of their window, counted in the order of arrival at each key."""

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
