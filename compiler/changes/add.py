"""`+(p: double unit hPa)`: tuples may have the attribute from here on (paper, section 2)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.change import Before, Change, Context
from cedilla.compiler.changes.drop import Drop
from cedilla.compiler.changes.rename import name_in_use
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.units.conversions import check_is_number, converted, known_unit
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.syntax import AddAttribute


@frozen
class Add(Change):
    """`+X`: tuples may have the attribute from here on.

    `unit`: the unit of its values, if the Add names one. `function` converts to it from the canonical unit,
    if the attribute had a unit before.
    """

    node: ClassVar = AddAttribute
    verb: ClassVar = "adds"
    keeps: ClassVar = "{what} is not added"
    grouped: ClassVar = True

    attribute: str
    type: Type
    unit: str | None = None
    function: Affine = IDENTITY

    @property
    def converts(self) -> bool:
        """True if it is an Alter as well: its unit is not the canonical one."""
        return not self.function.is_identity

    @classmethod
    def read(cls, node: AddAttribute, context: Context) -> Add:
        """Raises RQ142 if the attribute has a unit of another dimension, RQ143 for an unknown unit, RQ144 if it is not
        a number, RQ208 for arrays, RQ460 for a name in use."""
        names = context.names
        if node.name in names:
            raise name_in_use(f"the accent adds `{node.name}`", node.name, names[node.name], node.span)
        if node.type.element is not None and not context.arrays:
            hint = "the aggregate that made the arrays can be part of this query"
            message = f"`{node.name}` is of arrays, which no source can have"
            raise failure("RQ208", message, node.span, hint=hint)
        type_, unit = Type.of(node.type), node.unit
        if unit is None:
            return cls(node.name, type_)
        check_is_number(node.name, type_, node.span, "`+(p: double unit hPa)`")
        of = context.units.get(node.name)
        if of is None:
            return cls(node.name, type_, known_unit(unit, node.span))
        return cls(node.name, type_, unit, converted(of, unit, node.span))

    def inverse(self, before: Before) -> Drop:
        return Drop(self.attribute)

    def __str__(self) -> str:
        unit = "" if self.unit is None else f" unit {unit_text(self.unit)}"
        return f"+({self.attribute}: {self.type}{unit})"
