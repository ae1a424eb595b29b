"""`unit(t, degC)`: values from here on are in a unit, whatever they were in before (theory N4, N7)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.alter import check_numeric
from cedilla.compiler.changes.change import Before, Change, Context, Layer, SourceFunction
from cedilla.compiler.expressions.units.conversions import converted, known_unit
from cedilla.compiler.expressions.units.units import level
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.logarithms import Logarithm
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.syntax import SetUnit


@frozen
class ToUnit(Change):
    """`unit(X, v)`: values from here on are in a unit; `function` converts to it from the canonical one
    (theory N4).
    """

    node: ClassVar = SetUnit
    layer: ClassVar = Layer.VALUE
    verb: ClassVar = "alters"
    keeps: ClassVar = SourceFunction.keeps
    grouped: ClassVar = True

    attribute: str
    unit: str
    function: Affine

    @property
    def converts(self) -> bool:
        return True

    @classmethod
    def read(cls, node: SetUnit, context: Context) -> ToUnit | ToLevel:
        """Raises RQ142 if no unit is declared, or one of another dimension; RQ143 for an unknown unit, and RQ208 if the
        attribute is not a number."""
        check_numeric(node.name, context.types[node.name], node.span, arrays=context.arrays)
        declared = context.units.get(node.name)
        if declared is None:
            raise failure(
                "RQ142",
                f"the accent gives `{node.name}` a unit, and its declaration has none",
                node.span,
                hint=f"`{node.name}: double unit U` where it is declared or added, "
                "with the stream's first unit U",
            )
        if (logarithm := level(declared, known_unit(node.unit, node.span))) is not None:
            check_numeric(node.name, context.types[node.name], node.span, bends=True)
            return ToLevel(node.name, logarithm, node.unit)
        return cls(node.name, node.unit, converted(declared, node.unit, node.span))

    def inverse(self, before: Before) -> ToUnit | None:
        return _canonical(self, before)

    def __str__(self) -> str:
        return f"unit({self.attribute}, {unit_text(self.unit)})"


@frozen
class ToLevel(SourceFunction):
    """`unit(X, dBm)`: values from here on are levels, which are logarithms. The source undoes them (theory N7).

    `function`: to the unit from the canonical one.
    """

    attribute: str
    function: Logarithm
    unit: str

    @classmethod
    def read(cls, node: SetUnit, context: Context) -> ToUnit | ToLevel:
        return ToUnit.read(node, context)

    def inverse(self, before: Before) -> ToUnit | None:
        return _canonical(self, before)

    def __str__(self) -> str:
        return f"unit({self.attribute}, {unit_text(self.unit)})"


def _canonical(change: ToUnit | ToLevel, before: Before) -> ToUnit | None:
    """Returns the change to the canonical unit; `None` if some tuples have another one by now."""
    in_force = before.is_in_force(change.function)
    return ToUnit(change.attribute, before.unit, IDENTITY) if in_force else None
