"""Operators on one tuple at a time, in plain Python: select, sample, project, rename, union."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.types import DOUBLE, LARGEST, Type
from cedilla.compiler.expressions.units.exact_conversions import gives_doubles, is_too_large
from cedilla.compiler.facts.facts import Facts
from cedilla.grammar.syntax import Expression
from cedilla.runtime.connectors.records.rejections import beyond, beyond_in_unit
from cedilla.runtime.engines.plain.aggregate_results import ORDER
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.node import Node, Row, Rows, only_defined
from cedilla.runtime.engines.plain.scalars import VALUES
from cedilla.runtime.engines.plain.scalars.arithmetic import affine, double, loses_digits, number
from cedilla.runtime.engines.plain.scalars.decoded import decoded


class Select(Node):
    """The tuples for which the predicate is true; ⊥ is not true."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return [row for row in new[0] if evaluate(self.operator.predicate, row, inputs[0].types) is True]


class Sample(Node):
    """The tuples whose hash lies in the share."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return [row for row in new[0] if self._is_chosen(row)]

    def _is_chosen(self, row: Row) -> bool:
        hashed = VALUES["hash"](*(self._value(name, row.get(name)) for name in self.operator.by))
        return (hashed + 2**31) * self.operator.parts < self.operator.count * 2**32

    def _value(self, name: str, value: Any) -> Any:
        digits = self.operator.digits.get(name)
        return value if value is None or digits is None else VALUES["round"](value, digits)


class Project(Node):
    """The chosen attributes and computed values, if their attributes exist."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        items = {
            n: e
            for n, e in self.operator.chosen(inputs[0].types).items()
            if expressions.attributes(e) <= inputs[0].types.keys()
        }
        rows, types = new[0], inputs[0].types
        if self.operator.absorb:
            rows, types = (
                [*map(self._with_doubles, rows)],
                {**types, **dict.fromkeys(self.operator.items, DOUBLE)},
            )
        return [
            only_defined(
                {
                    **{n: self._value(n, e, row, types) for n, e in items.items()},
                    ORDER: row.get(ORDER),
                }
            )
            for row in rows
        ]

    def _value(self, name: str, expression: Expression, row: Row, types: Mapping[str, Type]) -> Any:
        function, value = self.operator.conversion(name), row.get(name)
        if function is None or value is None:
            return evaluate(expression, row, types)
        if not isinstance(value, float) and is_too_large(expression, function, number(value)):
            raise beyond_in_unit(name)
        if isinstance(value, float):
            return decoded(function, value)
        if gives_doubles(expression):
            return decoded(function, double(number(value)))
        return affine(function, number(value))

    def _with_doubles(self, row: Row) -> Row:
        """Returns the row with doubles for attributes that have units of their own.

        Raises RQ310 if a double cannot hold a value.
        """
        functions = self.operator.conversions
        exact = {n: v for n, v in row.items() if n in functions and not isinstance(v, float)}
        for name, value in exact.items():
            if loses_digits(value) or abs(functions[name](Fraction(value))) >= LARGEST:
                raise beyond(name)
        return {**row, **{n: float(value) for n, value in exact.items()}}


class Rename(Node):
    """The same tuples under other names."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        names = self.operator.names
        return [{names.get(n, n): value for n, value in row.items()} for row in new[0]]


class Unnest(Node):
    """A tuple for each element of a list."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        on, alias = self.operator.on, self.operator.alias
        return [{**row, alias: element} for row in new[0] for element in row.get(on) or ()]


class Union(Node):
    """The tuples of both inputs; an attribute with different types of numbers becomes a double."""

    def step(self, new: Sequence[Rows], inputs: tuple[Facts, ...]) -> Rows:
        return self.in_common_types([*new[0], *new[1]], inputs)
