"""Constants with units in descriptions and patterns: `t > 30 degC` (theory G22, N4).

They speak of a quantity, whatever unit tuples have it in: of canonical values, to whose unit the constants are
converted. Those without a unit are in what tuples have at the place of the marker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.expressions.conversions import check_is_number, converted
from cedilla.compiler.expressions.measured import Units
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import exact
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import Comparison, Condition, Literal, RangePattern, SetPattern

Quantities = Mapping[str, Tree]
"""Attribute -> its canonical values, as conditions with units describe them."""


def split_quantities(
    conditions: tuple[Condition, ...], types: Mapping[str, Type], units: Units
) -> tuple[tuple[Condition, ...], Quantities]:
    """The conditions without units, and what the others say. `units`: those of canonical values.

    Raises RQ006 where a range is empty, RQ142 where the attribute has no unit, or one of another dimension, RQ143,
    RQ144 where it is no number.
    """
    if not any(map(has_units, conditions)):
        return conditions, {}
    plain, found = list[Condition](), dict[str, Tree]()
    for condition in conditions:
        name = condition.attribute
        if name not in types or not has_units(condition):
            plain.append(condition)
            continue
        pattern = _canonical(condition, types[name], units.get(name))
        members = patterns.value_set(name, types[name], pattern)
        found[name] = regions.intersection(found.get(name, True), members)
    return tuple(plain), found


def has_units(condition: Condition) -> bool:
    """Whether a constant of a condition has a unit."""
    return any(literal.unit is not None for literal in _constants(condition))


def _constants(condition: Condition) -> Iterator[Literal]:
    match condition.pattern:
        case Comparison(_, value):
            yield value
        case SetPattern(values):
            yield from values
        case RangePattern(low, high):
            yield from (each for each in (low, high) if each is not None)
        case _:
            pass


def _canonical(condition: Condition, type_: Type, unit: str | None) -> patterns.Pattern:
    """The pattern of a condition with its constants in the unit of canonical values."""
    name = condition.attribute

    def value(literal: Literal) -> Literal:
        if literal.unit is None:
            message = f"{literal.text} has no unit, and another constant of the condition has one"
            hint = "a number without a unit is in what tuples have there: it is a condition of its own"
            raise failure("RQ142", message, literal.span, hint=hint)
        if unit is None:
            check_is_number(name, type_, literal.span, "a constant without a unit")
            hint = f"`{name}: {type_} unit U`, U being the unit in which the stream began; or a number alone, in what "
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
