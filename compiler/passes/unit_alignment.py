"""Converts relations to other units: attributes of two inputs that meet, and outputs with units of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve

from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.expressions.types.decimals import is_exact
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import (
    applied,
    check_is_number,
    converted,
    known_unit,
    taken_to_be_in,
)
from cedilla.compiler.expressions.units.exact_conversions import (
    as_double,
    exact_type,
    exactly_applied,
    have_common_type,
)
from cedilla.compiler.operators import Project
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import unknown_attribute
from cedilla.grammar.formatting.expression_formatter import unit_text

Changed = Mapping[str, tuple[str, syntax.Expression]]
"""Attribute -> its new unit, and the expression that converts to it."""
Side = tuple[Units, Mapping[str, Type]]


def align_units(
    node: syntax.TwoInputs,
    pairs: Iterable[tuple[str, str]],
    left: Side,
    right: Side,
    warn: Callable[[Diagnostic], object],
) -> tuple[Changed, Changed]:
    """Returns the changes on the left and on the right that bring pairs of attributes to the left one's unit.

    Whole numbers and decimals stay exact if a decimal can hold them; else those of both sides become doubles.
    `warn` takes RQ162 if one of a pair has no unit. Raises RQ142 if the dimensions differ.
    """
    changed: tuple[dict[str, tuple[str, syntax.Expression]], ...] = ({}, {})
    for a, b in pairs:
        ours, theirs = left[0].get(a), right[0].get(b)
        if ours is None or theirs is None:
            if ours is not theirs and a in left[1] and b in right[1]:
                warn(_without_unit(node, a, b, ours or theirs or "", is_left=ours is None))
            continue
        function = _function_between(node, b, theirs, ours)
        if function.is_identity:
            continue
        other = syntax.Attribute(b, span=node.span)
        types = left[1][a], right[1][b]
        if not all(map(is_exact, types)):
            changed[1][b] = (
                ours,
                as_double(function, other) if is_exact(types[1]) else applied(function, other, right[1]),
            )
        elif (exact := exact_type(types[1], function)) and have_common_type(types[0], exact):
            changed[1][b] = ours, exactly_applied(function, other)
        else:
            changed[0][a] = ours, as_double(IDENTITY, syntax.Attribute(a, span=node.span))
            changed[1][b] = ours, as_double(function, other)
    return changed[0], changed[1]


def _without_unit(node: syntax.TwoInputs, a: str, b: str, unit: str, *, is_left: bool) -> Diagnostic:
    name, side = (a, "left") if is_left else (b, "right")
    return taken_to_be_in(unit, f"`{name}` on the {side} of the {type(node).__name__.lower()}", node.span)


def _function_between(node: syntax.TwoInputs, name: str, theirs: str, ours: str) -> Affine:
    """Returns the function from the unit of a right attribute to that of the left one."""
    try:
        return converted(theirs, ours, node.span)
    except DiagnosticError as error:
        what = type(node).__name__.lower()
        message = f"`{name}` is in {theirs} on the right of the {what}, and what it meets is in {ours}"
        raise DiagnosticError(
            [evolve(diagnostic, message=message) for diagnostic in error.diagnostics]
        ) from None


def fixed_units(node: syntax.Emit, units: Units, types: Mapping[str, Type]) -> Changed:
    """Returns the attributes of an output that have a unit of their own from the first tuple on (theory N6).

    Raises RQ102 for an unknown one, RQ104 if one occurs twice, RQ142 if it has no unit or another dimension,
    RQ143, RQ144 if it is not a number.
    """
    changed: dict[str, tuple[str, syntax.Expression]] = {}
    for item in node.units:
        if item.name not in types:
            raise unknown_attribute(item.name, types, item.span, "in `with`")
        if item.name in changed:
            hint = "an output has an attribute in one unit"
            raise failure("RQ104", f"`{item.name}` is named twice in `with`", item.span, hint=hint)
        known_unit(item.unit, item.span)
        hint = f"`with` another attribute, or without `{item.name}`"
        check_is_number(item.name, types[item.name], item.span, hint)
        if (own := units.get(item.name)) is None:
            hint = f"declare `{item.name}: {types[item.name]} unit {unit_text(item.unit)}`; "
            hint += "a computed attribute has a unit if its parts have units"
            message = f"`{item.name}` has no unit, so it cannot be written in {item.unit}"
            raise failure("RQ142", message, item.span, hint=hint)
        function = converted(own, item.unit, item.span)
        doubles = {item.name: DOUBLE}
        changed[item.name] = (
            item.unit,
            applied(function, syntax.Attribute(item.name, span=node.span), doubles),
        )
    return changed


def absorbing(common: dict[str, Any], inputs: tuple[str, ...], changed: Changed) -> Project:
    """Builds the operator that converts attributes of an output to units of their own."""
    return evolve(conversion_of(common, inputs, changed), absorb=True)


def conversion_of(common: dict[str, Any], inputs: tuple[str, ...], changed: Changed) -> Project:
    """Builds the operator that converts some attributes to other units."""
    return Project(
        **common,
        inputs=inputs,
        items={name: expression for name, (_, expression) in changed.items()},
        rest=True,
        convert=True,
        units={name: unit for name, (unit, _) in changed.items()},
    )
