"""Parses markers: accents, changes of epochs, punctuations, as the control plane uses them (design, section 6)."""

from __future__ import annotations

from typing import Any, cast

from attrs import evolve

from cedilla.compiler.changes import OF_NODE, Add, Context, EpochChange, Grow, ToForm, ToSign
from cedilla.compiler.changes.change import Names, Types, unknown
from cedilla.compiler.changes.values import as_marker_error
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.own import NO_OWN_UNITS, OwnUnits
from cedilla.compiler.facts.local_times import inner
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.compiler.facts.quantities import split_quantities
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.grammar.syntax import (
    AccentText,
    Condition,
    Primitive,
    RenameAttribute,
    SetUnit,
    SwapAttributes,
    Wildcard,
    changed_names,
)

_NO_UNITS: Units = {}
_NO_NAMES: Names = {}


def read_accent(
    text: str,
    types: Types,
    source: str = "<accent>",
    *,
    arrays: bool = False,
    units: Units = _NO_UNITS,
    names: Names = _NO_NAMES,
    own: OwnUnits = NO_OWN_UNITS,
) -> Accent:
    """Parses an accent.

    `types`: the attributes that exist or existed at the accent, with the zones of local times. `arrays`: an output is
    read, and only outputs may have arrays. `units`: those of canonical values. `names`: those of renames. `own`: units
    that the query defines.

    Raises `DiagnosticError`: RQ0xx (syntax), RQ142 to RQ144, RQ201 to RQ204, RQ207, RQ208, RQ460 as the error pages
    say; RQ175 for a local time without one moment.
    """
    return accent_of(
        parse_accent(text, source), text, types, arrays=arrays, units=units, names=names, own=own
    )


def accent_of(
    node: AccentText,
    text: str,
    types: Types,
    *,
    arrays: bool = False,
    units: Units = _NO_UNITS,
    names: Names = _NO_NAMES,
    own: OwnUnits = NO_OWN_UNITS,
) -> Accent:
    """Returns the accent of a parsed text, as `read_accent` does."""
    node = own.named_in(node)
    conditions, named = _by_attribute(node.description, types, names)
    mentions = frozenset(condition.attribute for condition in conditions)
    primitive = node.primitive
    kind = OF_NODE[type(primitive)]
    if primitive.name in names and kind is not Add:
        named |= {primitive.name}
        primitive = evolve(primitive, name=names[primitive.name])
    if kind is Grow:
        why = "the streams of a query may grow, not what is read here"
        raise failure("RQ220", "a domain cannot grow here", primitive.span, hint=why)
    if issubclass(kind, ToForm):
        why = "a source of a query may change the form of its texts, not what is read here"
        raise failure("RQ339", "the form of texts cannot change here", primitive.span, hint=why)
    if isinstance(primitive, SwapAttributes):
        primitive = evolve(primitive, other=names.get(primitive.other, primitive.other))
    changed = set(changed_names(primitive))
    if changed & mentions:
        raise failure(
            "RQ201",
            f"the accent changes `{min(changed & mentions)}`, so its description must not use it",
            node.span,
            hint="describe the tuples by other attributes",
        )
    try:
        plain, quantities = split_quantities(conditions, types, units)
        description = patterns.region_of(plain, types)
    except DiagnosticError as error:
        raise as_marker_error(error) from None
    places = {condition.attribute: condition.span for condition in reversed(conditions)}
    if kind is not Add and primitive.name not in types:
        raise unknown(kind.verb, primitive.name, types, primitive.span, _turned_round(primitive, types))
    change = kind.read(cast("Any", primitive), Context(types, units, names, arrays))
    return Accent(description, mentions, change, text, primitive.span, places, named, quantities)


def _by_attribute(
    conditions: tuple[Condition, ...], types: Types, names: Names
) -> tuple[tuple[Condition, ...], frozenset[str]]:
    """Returns conditions on attributes in place of names in tuples, and these names.

    A wildcard has no effect, so it may name an unknown attribute.
    """
    if any(isinstance(c.pattern, Wildcard) for c in conditions):
        names_in_use = {*types, *names}
        conditions = tuple(
            c for c in conditions if c.attribute in names_in_use or not isinstance(c.pattern, Wildcard)
        )
    named = frozenset(c.attribute for c in conditions) & names.keys()
    if not named:
        return conditions, frozenset()
    return tuple(evolve(c, attribute=names.get(c.attribute, c.attribute)) for c in conditions), named


def read_epoch_change(
    text: str, types: Types, source: str = "<accent>", names: Names = _NO_NAMES
) -> EpochChange | None:
    """Parses an accent that is a growth, or names a zone or a decimal sign; returns `None` for other accents.

    `names`: those of renames.

    Raises `DiagnosticError`: RQ0xx (syntax), RQ164, RQ173, RQ207, RQ208, RQ220 and RQ339 (it describes tuples).
    """
    if not any(word in text for word in ("grow", "zone", "decimal")):
        return None
    return epoch_change_of(parse_accent(text, source), text, types, names)


def epoch_change_of(
    node: AccentText, text: str, types: Types, names: Names = _NO_NAMES
) -> EpochChange | None:
    """Returns the change of a parsed text, as `read_epoch_change` does."""
    primitive = node.primitives[0]
    kind = OF_NODE[type(primitive)]
    if not issubclass(kind, EpochChange):
        return None
    name = names.get(primitive.name, primitive.name)
    if node.description and kind is Grow:
        what = f"the domain of `{name}` can only grow for all tuples, so the accent must not describe some"
        raise failure("RQ220", what, node.span, hint="remove the description: [[grow(s, {3})]]")
    if node.description:
        what = f"the zone of `{name}` can only change for all tuples of a stream"
        hint = 'remove the description: [[zone(at, "UTC")]]; other clocks can send times with an offset'
        if kind is ToSign:
            what = f"the decimal sign of `{name}` can only change for all tuples of a stream"
            hint = 'remove the description: [[decimal(x, ",")]]; `"," or "."` reads the texts of two senders'
        raise failure("RQ339", what, node.span, hint=hint)
    if name not in types:
        guess = did_you_mean(name, types, "attributes")
        raise failure("RQ207", f"the accent names `{name}`, which never existed", primitive.span, hint=guess)
    change = kind.read(cast("Any", evolve(primitive, name=name)), Context(types, names=names))
    return evolve(cast("Any", change), text=text)


def read_punctuation(
    text: str,
    types: Types,
    source: str = "<punctuation>",
    names: Names = _NO_NAMES,
    units: Units = _NO_UNITS,
    own: OwnUnits = NO_OWN_UNITS,
) -> Punctuation:
    """Parses a punctuation. `types`, `own`: as for accents. `names`: those of renames. `units`: those of canonical
    values.

    Raises `DiagnosticError`: RQ0xx (syntax), RQ142 to RQ144, RQ175, RQ207, RQ208.
    """
    conditions, named = _by_attribute(own.named_in(parse_punctuation(text, source).conditions), types, names)
    try:
        plain, quantities = split_quantities(conditions, types, units)
        return Punctuation(patterns.region_of(inner(plain, types), types), text, named, quantities)
    except DiagnosticError as error:
        raise as_marker_error(error) from None


def _turned_round(node: Primitive, types: Types) -> str | None:
    """Returns a hint for swapped arguments, as in `unit(degC, t)` and `rename(t, temp)`."""
    if isinstance(node, SetUnit) and node.unit in types:
        return f"the attribute comes first: `unit({node.unit}, {unit_text(node.name)})`"
    if isinstance(node, RenameAttribute) and node.field in types:
        return f"the new name comes first: `rename({node.name}, {node.field})`"
    return None
