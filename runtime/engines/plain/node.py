"""Rows, and the operator over them with its state: a node (theory 1.3).

Rows are dictionaries of canonical values without undefined ones; `$order` is a row's place, for operators
that need it. A node takes new rows and the closed regions of its inputs, and returns the rows that pass now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import DOUBLE, finite
from cedilla.compiler.facts.facts import Facts, fold_closed
from cedilla.compiler.operators.shared.equality import common_types
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions import Tree
from cedilla.runtime.connectors.records.rejections import beyond
from cedilla.runtime.engines.plain.aggregate_results import ORDER
from cedilla.runtime.engines.plain.scalars.arithmetic import double, loses_digits
from cedilla.runtime.engines.plain.scalars.decoded import exact_value
from cedilla.runtime.engines.plain.scalars.order import comparable, rank
from cedilla.runtime.engines.plain.scalars.times import START, micros
from cedilla.runtime.engines.plain.scalars.versions import Version

Row = dict[str, Any]
Rows = list[Row]


def control(value: Any) -> Any:
    """Converts a value for the control plane (`compiler/expressions/types/`); `None` becomes ⊥."""
    match value:
        case None:
            return regions.UNDEFINED
        case datetime():
            return micros(value)
        case date():
            return (value - START.date()).days
        case Decimal():
            return Fraction(value)
        case Version():
            return value.key
        case list():
            return tuple(control(element) if isinstance(element, list) else element for element in value)
        case float() if isfinite(value):
            return exact_value(value)
        case float():
            return finite(value)
        case _:
            return value


def key_value(value: Any) -> Any:
    """Converts a value to a part of a key; `None` stays."""
    return None if value is None else control(value)


def inside(region: Tree, row: Mapping[str, Any]) -> bool:
    """Returns True if a row lies in a region."""
    needed = regions.attributes(region)
    return bool(regions.contains(region, {name: control(row.get(name)) for name in needed}))


def key_of(row: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    """Returns the values of some attributes as one comparable value, `None` where undefined."""
    return tuple(comparable(row.get(name)) for name in names)


def whole(row: Row) -> frozenset[tuple[str, Any]]:
    """Returns a row as one comparable value: equal iff defined on the same attributes with equal values
    (G36).
    """
    return frozenset((name, comparable(value)) for name, value in row.items() if name != ORDER)


def without_places(rows: Rows) -> Rows:
    """Returns the rows without their places."""
    return [{n: v for n, v in row.items() if n != ORDER} for row in rows]


def arrived(rows: Rows) -> Rows:
    """Rows in the order of their places; those of one place by their values, attribute by attribute, ⊥ first."""
    names = sorted(frozenset[str]().union(*(row.keys() for row in rows)) - {ORDER})
    return sorted(rows, key=lambda row: (row.get(ORDER, 0), [rank(row.get(name)) for name in names]))


class Node:
    """One operator with its state. `purge=False` keeps all rows: the output must not change (O4)."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        self.operator = operator
        self.purge = purge
        self.declared_doubles: Collection[str] = ()
        """The attributes of the output that the query itself turns into doubles, whatever digits they lose."""
        self.vacancies: Sequence[Vacancy] = ()
        self.is_shown = False
        """True if an output shows the rows of open groups."""
        self._vacant: Tree = False
        self._closed_before: tuple[Tree, ...] = ()

    def begin(self, start: Facts) -> None:
        """Takes the facts of the output at the start of the query."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        """Returns the rows that pass after `new` came on each input; `inputs`: the facts of the inputs now."""
        raise NotImplementedError

    def in_common_types(self, rows: Rows, inputs: tuple[Facts, ...]) -> Rows:
        """Returns rows of two inputs with doubles for numbers whose common type is double.

        Raises RQ310 if a double may not keep a value, unless the query itself makes the output's attribute a double.
        """
        widened = {n for n, type_ in common_types(inputs).items() if type_ == DOUBLE}
        return [{n: self._double(n, v) if n in widened else v for n, v in row.items()} for row in rows]

    def _double(self, name: str, value: Any) -> Any:
        if not isinstance(value, int | Fraction):
            return value
        if name not in self.declared_doubles and loses_digits(value):
            raise beyond(name)
        return double(value)

    def stored(self) -> Iterable[Row]:
        """Rows that may still pass, in whole or in part (G13)."""
        return ()

    def waiting(self) -> int:
        """Returns the number of rows or groups that wait to pass."""
        return sum(1 for _ in self.stored())

    def state_has(self, attribute: str, region: Tree, inputs: tuple[Facts, ...]) -> bool:
        """Returns True if a row of a region that may still pass has an attribute of the output."""
        names = frozenset[str]().union(*(facts.types for facts in inputs))
        return some_have(self.stored(), attribute, region, names)

    def closed(self, inputs: tuple[Facts, ...], *, has_new: bool) -> Tree:
        """Returns the region of output tuples that never come again, as the state shows: the regions that an input has
        closed and whose tuples are not kept (E5, J1). `has_new`: tuples came."""
        closed = tuple(facts.closed for facts in inputs)
        # Else nothing is vacant that was not.
        if closed != self._closed_before or (has_new and self.operator.decided_by_tuples):
            self._closed_before = closed
            for vacancy in self.vacancies:
                closable = self.operator.closable(vacancy, inputs)
                rows = (row for row in self.kept_of(vacancy, inputs) if inside(closable, row))
                points = (tuple(control(row.get(name)) for name in vacancy.names) for row in rows)
                self._vacant = regions.union(self._vacant, self.operator.vacant(vacancy, inputs, points))
        return self._vacant

    def kept_of(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Iterable[Row]:
        """Returns the rows of an input that may still come out, in whole or in part."""
        return self.stored()


class Groups(Node):
    """An operator that keeps the rows of each group, or a result of them, until they pass."""

    def __init__(self, operator: Any, purge: bool = True) -> None:
        super().__init__(operator, purge)
        self.groups: dict[tuple[Any, ...], Rows] = {}

    def closed_groups(
        self, new: Rows, by: Iterable[str], source: Facts, complete: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Takes new rows; returns the keys of groups that are closed or have `complete` rows."""
        for row in new:
            self.groups.setdefault(key_of(row, by), []).append(row)
        closed = fold_closed(source, frozenset(source.types).difference(by))
        return [
            key
            for key, rows in self.groups.items()
            if inside(closed, rows[0] if rows else {}) or (complete is not None and len(rows) >= complete)
        ]

    def stored(self) -> Iterable[Row]:
        return (row for rows in self.groups.values() for row in rows)


def some_have(rows: Iterable[Row], attribute: str, region: Tree, names: Set[str]) -> bool:
    """Returns True if a row has an attribute, and may be part of a tuple of a region. `names`: the attributes of the
    rows; the tuple may have others."""
    within = regions.exists(region, regions.attributes(region) - names, {})
    return any(row.get(attribute) is not None and inside(within, row) for row in rows)


def only_defined(row: Row) -> Row:
    """Returns the row without the attributes that are undefined."""
    return {name: value for name, value in row.items() if value is not None}


def exactly(name: str, value: Any) -> Tree:
    """Returns the region of the tuples with one value of an attribute; `None` is ⊥."""
    if value is None:
        return regions.complement(regions.defined(name))
    return regions.values(name, [control(value)])
