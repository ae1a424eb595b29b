"""Constants with units in descriptions and patterns: `t > 30 degC` (theory G22, N4).

They describe canonical values, so constants are converted to the canonical unit. Constants without a unit are
in the unit of the tuples at the marker's position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import check_is_number, converted
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import exact
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import Comparison, Condition, Literal, RangePattern, SetPattern

Quantities = Mapping[str, Tree]
"""Attribute -> its canonical values, as described by conditions with units."""


def split_quantities(
    conditions: tuple[Condition, ...], types: Mapping[str, Type], units: Units
) -> tuple[tuple[Condition, ...], Quantities]:
    """Splits conditions into those without units and the canonical values that the others describe.

    `units`: those of canonical values. Raises RQ006 for an empty range, RQ142 if the attribute has no unit,
    or one of another dimension, RQ143, RQ144 if it is not a number.
    """
    if not any(map(has_units, conditions)):
        return conditions, {}
    plain, quantities = list[Condition](), dict[str, Tree]()
    for condition in conditions:
        name = condition.attribute
        if name not in types or not has_units(condition):
            plain.append(condition)
            continue
        pattern = _canonical(condition, types[name], units.get(name))
        members = patterns.value_set(name, types[name], pattern)
        quantities[name] = regions.intersection(quantities.get(name, True), members)
    return tuple(plain), quantities


def has_units(condition: Condition) -> bool:
    """Returns True if a constant of a condition has a unit."""
    return any(literal.unit is not None for literal in _constants(condition))


def _constants(condition: Condition) -> Iterator[Literal]:
    match condition.pattern:
        case Comparison(_, value):
            yield value
        case SetPattern(values):
            yield from values
        case RangePattern(low, high):
            yield from (bound for bound in (low, high) if bound is not None)
        case _:
            pass


def _canonical(condition: Condition, type_: Type, unit: str | None) -> patterns.Pattern:
    """Converts the constants of a condition to the canonical unit, and returns its pattern."""
    name = condition.attribute

    def value(literal: Literal) -> Literal:
        if literal.unit is None:
            message = f"{literal.text} has no unit, and another constant of the condition has one"
            hint = "a number without a unit is in what tuples have there: it is a condition of its own"
            raise failure("RQ142", message, literal.span, hint=hint)
        if unit is None:
            check_is_number(name, type_, literal.span, "a constant without a unit")
            hint = f"`{name}: {type_} unit U`, with the stream's first unit U; or a number alone, in what "
            hint += "tuples have there"
            raise failure(
                "RQ142", f"{literal.text} has a unit, and `{name}` has none", literal.span, hint=hint
            )
        function = converted(literal.unit, unit, literal.span)
        return evolve(literal, value=function(exact(Fraction(literal.value))), unit=None)

    match condition.pattern:
        case Comparison() as pattern:
            return evolve(pattern, value=value(pattern.value))
        case SetPattern(values):
            return evolve(condition.pattern, values=tuple(map(value, values)))
        case RangePattern(low, high):
            pattern = evolve(condition.pattern, low=low and value(low), high=high and value(high))
            if pattern.low and pattern.high and Fraction(pattern.low.value) > Fraction(pattern.high.value):
                message = f"the range starts at `{pattern.low.text}`, above its end `{pattern.high.text}`"
                raise failure("RQ006", message, pattern.span, hint="the lower bound is written first")
            return pattern
        case pattern:
            return pattern
