"""Attributes of two inputs that meet are brought to one unit, by an operator before the one where they do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from cedilla.compiler.expressions.conversions import applied, converted
from cedilla.compiler.expressions.measured import Units
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.operators import Project
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import DiagnosticError

Changed = Mapping[str, tuple[str, Affine]]
"""Attribute -> its new unit, and the function that leads there."""
Side = tuple[Units, Mapping[str, Type]]


def in_one_unit(
    node: syntax.TwoInputs, pairs: Iterable[tuple[str, str]], left: Side, right: Side
) -> tuple[Changed, Changed]:
    """What changes on the left and on the right so that pairs of attributes are in one unit: that of the left; of whole
    numbers that would not stay whole, that of the right. Raises RQ142 where units are of different dimensions."""
    changed: tuple[dict[str, tuple[str, Affine]], ...] = ({}, {})
    for a, b in pairs:
        ours, theirs = left[0].get(a), right[0].get(b)
        if ours is None or theirs is None:
            continue
        function = _met(node, b, theirs, ours)
        whole = left[1][a].is_integral and right[1][b].is_integral
        if whole and not function.is_whole and function.inverse().is_whole:
            changed[0][a] = theirs, function.inverse()
        elif not function.is_identity:
            changed[1][b] = ours, function
    return changed[0], changed[1]


def _met(node: syntax.TwoInputs, name: str, theirs: str, ours: str) -> Affine:
    """What brings an attribute of the right input to the unit of the left one."""
    try:
        return converted(theirs, ours, node.span)
    except DiagnosticError as error:
        what = type(node).__name__.lower()
        message = f"`{name}` is in {theirs} on the right of the {what}, and what it meets is in {ours}"
        raise DiagnosticError([evolve(each, message=message) for each in error.diagnostics]) from None


def conversion_of(given: dict[str, Any], inputs: tuple[str, ...], changed: Changed) -> Project:
    """The operator that brings some attributes to other units."""
    return Project(
        **given,
        inputs=inputs,
        items={n: applied(f, syntax.Attribute(n, span=given["span"])) for n, (_, f) in changed.items()},
        rest=True,
        convert=True,
        units={name: unit for name, (unit, _) in changed.items()},
    )
