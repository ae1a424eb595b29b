"""`alter(t, y -> y * 1.8 + 32)`: values from here on are a function of those before (paper, section 3; theory N7)."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler.changes.change import Before, Change, Context, Layer, SourceFunction, parameter
from cedilla.compiler.changes.functions import by_points, function_of, shift_of
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import converted
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import ByPoints
from cedilla.compiler.regions.composition import Bent
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.syntax import AlterAttribute, Points


@frozen
class Alter(Change):
    """`≀X`: values from here on are `function` (α) of the values without the Alter.

    `unit`: the unit that the Alter names. `of`: the unit of canonical values if the two must be compared.
    `required`: the attributes that every tuple has until they are dropped.
    """

    node: ClassVar = AlterAttribute
    layer: ClassVar = Layer.VALUE
    verb: ClassVar = "alters"
    keeps: ClassVar = SourceFunction.keeps
    grouped: ClassVar = True

    attribute: str
    function: Affine
    unit: str | None = None
    of: str | None = None
    required: frozenset[str] = field(default=frozenset(), eq=False, repr=False)

    @property
    def converts(self) -> bool:
        return True

    @property
    def is_identity(self) -> bool:
        return self.unit is None and self.function.is_identity

    @classmethod
    def read(cls, node: AlterAttribute, context: Context) -> Alter | SourceAlter:
        """Raises RQ142, RQ143, RQ202 to RQ204, and RQ208 if the attribute is not a number."""
        type_ = context.types[node.name]
        if type_.name == "timestamp":
            return SourceAlter(node.name, shift_of(node))
        check_numeric(node.name, type_, node.span, arrays=context.arrays)
        if isinstance(node.body, Points):
            check_numeric(node.name, type_, node.span, bends=True)
            return SourceAlter(node.name, by_points(node.body))
        function = function_of(node.parameter, node.body)
        if not isinstance(function, Affine):
            check_numeric(node.name, type_, node.span, bends=True)
            if node.inverse is not None or node.unit is not None:
                hint = "the function alone: its inverse is derived, and outputs keep their unit"
                message = "a function that falls or bends has no further argument"
                raise failure("RQ202", message, node.span, hint=hint)
            return SourceAlter(node.name, function)
        if node.inverse is not None:
            inverse = function_of(node.inverse.parameter, node.inverse.body)
            if not isinstance(inverse, Affine) or inverse.after(function) != IDENTITY:
                derived = function.inverse().text(node.inverse.parameter)
                raise failure(
                    "RQ204",
                    "the third argument is not the inverse of the second",
                    node.inverse.span,
                    hint=f"the inverse is {node.inverse.parameter} -> {derived}; it may be left out",
                )
        return cls(node.name, function, node.unit, _canonical_unit(node, context.units))

    def inverse(self, before: Before) -> Alter:
        return Alter(self.attribute, self.function.inverse())

    def __str__(self) -> str:
        y = parameter(self.attribute)
        unit = "" if self.unit is None else f", unit {unit_text(self.unit)}"
        return f"alter({self.attribute}, {y} -> {self.function.text(y)}{unit})"


@frozen
class SourceAlter(SourceFunction):
    """An Alter by a function that falls or bends: the source undoes it, and no output announces it (theory N7, N11)."""

    attribute: str
    function: Bent

    @classmethod
    def read(cls, node: AlterAttribute, context: Context) -> Alter | SourceAlter:
        return Alter.read(node, context)

    def inverse(self, before: Before) -> SourceAlter:
        return SourceAlter(self.attribute, self.function.inverse())

    def __str__(self) -> str:
        if isinstance(self.function, ByPoints):
            return f"alter({self.attribute}, {self.function.text('')})"
        y = parameter(self.attribute)
        return f"alter({self.attribute}, {y} -> {self.function.text(y)})"


def check_numeric(name: str, type_: Type, span: Span, *, arrays: bool = False, bends: bool = False) -> None:
    """Raises RQ208 for an attribute without numbers.

    Numbers may be in lists: of doubles in a source, and of all numbers in outputs (`arrays`). `bends`: the function
    falls or bends, and no list has such a function.
    """
    if type_.is_numeric or (arrays and type_.has_units) or (type_.is_altered_at_sources and not bends):
        return
    hint = "send a drop of the old attribute and an add of a new one"
    if type_.has_units:
        what = "the elements of a list take increasing functions `y -> y * 9 / 5 + 32`"
        hint = f"{what if bends else f'declare `{name}: list of double`'}; `each` at the source takes a list apart"
    raise failure("RQ208", f"`{name}` is of type {type_}; only numbers can be altered", span, hint=hint)


def _canonical_unit(node: AlterAttribute, units: Units) -> str | None:
    """Returns the unit of canonical values, if an Alter names its unit and both are known.

    Without a canonical unit the name is not looked up, because a query without units needs none. Raises RQ142
    for another dimension, RQ143 for an unknown unit.
    """
    of = units.get(node.name)
    if node.unit is None or of is None:
        return None
    converted(of, node.unit, node.span)
    return of
