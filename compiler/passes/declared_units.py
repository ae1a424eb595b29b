"""Units of declared attributes: a unit in the query, or units that tuples name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cedilla.compiler.expressions.types import DOUBLE, STRING, Type
from cedilla.compiler.expressions.units.conversions import check_is_number, converted, known_unit
from cedilla.compiler.passes.defaults import check_none
from cedilla.compiler.plan.sources import Attribute
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import unit_text


def declared_unit(node: syntax.AttributeDeclaration) -> str | None:
    """Returns the unit of a declared attribute.

    Raises RQ143 for an unknown unit, RQ144 if the attribute is not a number.
    """
    if node.unit is None:
        return None
    if isinstance(node.unit, syntax.UnitFrom):
        return _first_unit(node, node.unit)
    hint = f"`{node.name}: double unit {unit_text(node.unit)}`, or without a unit"
    check_is_number(node.name, Type.of(node.type).innermost, node.span, hint)
    return known_unit(node.unit, node.span)


def _first_unit(node: syntax.AttributeDeclaration, unit: syntax.UnitFrom) -> str:
    """Returns the first unit that tuples may name, which is the canonical one.

    Raises RQ142, RQ143, RQ144.
    """
    if Type.of(node.type).innermost != DOUBLE:
        message = f"`{node.name}` is {node.type.name}, and its unit comes from `{unit.attribute}`"
        raise failure(
            "RQ144",
            message,
            node.span,
            hint=f"`{node.name}: double`, as values in units of their own are doubles",
        )
    accent = f'[[{unit.attribute} = "F", unit({node.name}, degF)]]'
    names = f"values of `{unit.attribute}` are names of units, to the letter; for others an accent says it, {accent}"
    for name in unit.units:
        known_unit(name, unit.span, names)
        converted(unit.units[0], name, unit.span)
    return unit.units[0]


def check_units(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Raises if the attribute that names a unit is unknown (RQ102), or not a string (RQ103)."""
    for declared in node.attributes:
        if not isinstance(unit := declared.unit, syntax.UnitFrom):
            continue
        name = unit.attribute
        if name not in attributes:
            hint = (
                f"`{name}: string` next to it names the unit; {did_you_mean(name, attributes, 'attributes')}"
            )
            raise failure("RQ102", f"unknown attribute `{name}`", unit.span, hint=hint)
        if attributes[name].type != STRING:
            message = f"a unit is named by a string, and `{name}` is {attributes[name].type}"
            raise failure("RQ103", message, unit.span, hint=f"`{name}: string`, whose values are units")


def declared_units(nodes: Iterable[syntax.AttributeDeclaration]) -> dict[str, str]:
    """Returns the units of attributes that a user operator returns. Raises RQ143, RQ144, RQ146, RQ164, RQ174, RQ601."""
    nodes = list(nodes)
    check_none(nodes)
    for node in nodes:
        if node.origin is not None:
            hint = "leave `from` out"
            raise failure(
                "RQ146", f"`{node.name}` is computed, and not read from a path", node.origin.span, hint=hint
            )
        if node.decimal is not None:
            hint = 'leave `decimal ","` out'
            raise failure(
                "RQ164", f"`{node.name}` is computed, and not read from a text", node.span, hint=hint
            )
        if node.zone is not None:
            hint = "leave `zone` out: canonical timestamps are in UTC"
            raise failure(
                "RQ174", f"`{node.name}` is computed, and not read from a text", node.span, hint=hint
            )
    units = {node.name: declared_unit(node) for node in nodes}
    return {name: unit for name, unit in units.items() if unit is not None}


_TAKEN = ("u",)
"""Usual names of attributes that name units, which are also units in pint: `u` is the atomic mass unit."""


def taken_for_units(nodes: Iterable[syntax.AttributeDeclaration]) -> Iterator[Diagnostic]:
    """Yields RQ150 for an attribute in `unit u` next to a string attribute `u`, which likely names its unit.

    Raises RQ143 for an unknown unit.
    """
    nodes = tuple(nodes)
    texts = {node.name for node in nodes if node.type.name == "string"}
    for node in nodes:
        if node.unit not in texts:
            continue
        hint = (
            f"if `{node.unit}` names the unit of each tuple, write `unit from {node.unit} in {{degF, degC}}`"
        )
        if isinstance(node.unit, str):
            known_unit(node.unit, node.span, hint)
        if node.unit in _TAKEN:
            message = f"`unit {node.unit}` is the unit that pint calls `{node.unit}`, not the attribute `{node.unit}`"
            yield Diagnostic("RQ150", "warning", message, node.span, help=hint)


def check_constant(value: syntax.Constant) -> None:
    """Raises RQ143 if a constant has an unknown unit, also where nothing reads the constant."""
    if isinstance(value, syntax.Literal) and value.unit not in (None, syntax.SECOND):
        known_unit(value.unit, value.span)
