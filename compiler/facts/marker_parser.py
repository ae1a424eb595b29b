"""Parses markers: accents, changes of epochs, punctuations, as the control plane uses them (design, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from attrs import evolve

from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.types.zones import check_zone
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import check_is_number, converted, known_unit
from cedilla.compiler.expressions.units.own import NO_OWN_UNITS, OwnUnits
from cedilla.compiler.expressions.units.units import level
from cedilla.compiler.facts.alter_functions import by_points, function_of, shift_of
from cedilla.compiler.facts.coded_values import as_marker_error, read_missing, read_recode
from cedilla.compiler.facts.local_times import inner
from cedilla.compiler.facts.markers import (
    Accent,
    Add,
    Alter,
    Drop,
    EpochChange,
    Grow,
    Primitive,
    Punctuation,
    Rename,
    SourceAlter,
    Swap,
    ToLevel,
    ToSign,
    ToUnit,
    ToZone,
)
from cedilla.compiler.facts.quantities import split_quantities
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.grammar.syntax import (
    AccentText,
    AddAttribute,
    AlterAttribute,
    AtSource,
    Condition,
    DropAttribute,
    GrowDomain,
    MissingValues,
    Points,
    RecodeAttribute,
    RenameAttribute,
    SetForm,
    SetSign,
    SetUnit,
    SetZone,
    SwapAttributes,
    Wildcard,
    changed_names,
)

Types = Mapping[str, Type]
Names = Mapping[str, str]
"""Names in tuples -> attributes, for attributes that have another name in the query (theory N2)."""
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
    if primitive.name in names and not isinstance(primitive, AddAttribute):
        named |= {primitive.name}
        primitive = evolve(primitive, name=names[primitive.name])
    if isinstance(primitive, GrowDomain):
        why = "the streams of a query may grow, not what is read here"
        raise failure("RQ220", "a domain cannot grow here", primitive.span, hint=why)
    if isinstance(primitive, SetForm):
        why = "a source of a query may change the form of its texts, not what is read here"
        raise failure("RQ339", "the form of texts cannot change here", primitive.span, hint=why)
    if isinstance(primitive, SwapAttributes):
        primitive = evolve(primitive, other=names.get(primitive.other, primitive.other))
    changed = set(changed_names(primitive))
    if changed & mentions:
        raise failure(
            "RQ201",
            f"the description names `{min(changed & mentions)}`, the attribute that the accent evolves",
            node.span,
            hint="describe the tuples by other attributes (theory G23)",
        )
    try:
        plain, quantities = split_quantities(conditions, types, units)
        description = patterns.region_of(plain, types)
    except DiagnosticError as error:
        raise as_marker_error(error) from None
    places = {condition.attribute: condition.span for condition in reversed(conditions)}
    change = _read_primitive(primitive, types, arrays, units, names)
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
    if not isinstance(primitive, GrowDomain | SetForm):
        return None
    name = names.get(primitive.name, primitive.name)
    if node.description and isinstance(primitive, GrowDomain):
        what = f"a description cannot tell where the domain of `{name}` grows"
        raise failure("RQ220", what, node.span, hint="it grows for all tuples: [[grow(s, {3})]]")
    if node.description:
        hint = 'a zone is of all tuples, [[zone(at, "UTC")]]; other clocks send times with an offset'
        if isinstance(primitive, SetSign):
            hint = 'a sign is of all tuples, [[decimal(x, ",")]]; `"," or "."` reads the texts of two senders'
        raise failure("RQ339", "a description cannot tell whose texts change", node.span, hint=hint)
    if name not in types:
        guess = did_you_mean(name, types, "attributes")
        raise failure("RQ207", f"the accent names `{name}`, which never existed", primitive.span, hint=guess)
    if isinstance(primitive, SetForm):
        return _read_form(primitive, name, types[name], text)
    try:
        members = patterns.value_set(name, types[name], primitive.members)
    except DiagnosticError as error:
        raise as_marker_error(error) from None
    return Grow(name, members, text, primitive.span)


def _read_form(node: SetForm, name: str, type_: Type, text: str) -> ToZone | ToSign:
    if isinstance(node, SetZone):
        if type_.name != "timestamp":
            message = f"`{name}` is of type {type_}; only timestamps have zones"
            raise failure("RQ208", message, node.span, hint="a `date` or a `string` has no moment")
        return ToZone(name, check_zone(node.text_form, node.span), text, node.span)
    if type_.name not in ("double", "decimal"):
        message = f"`{name}` is of type {type_}; only `double` and `decimal(p, s)` have decimal signs"
        raise failure(
            "RQ208", message, node.span, hint="a whole number has no sign, and a `string` is read as it is"
        )
    return ToSign(name, node.text_form, text, node.span)


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


_Change = AddAttribute | DropAttribute | AlterAttribute | SetUnit | AtSource


def _read_primitive(
    node: _Change,
    types: Types,
    arrays: bool,
    units: Units,
    names: Names,
) -> Primitive:
    if isinstance(node, AddAttribute):
        if node.name in names:
            raise _name_in_use(f"the accent adds `{node.name}`", node.name, names[node.name], node.span)
        if node.type.element is not None and not arrays:
            hint = "the aggregate that made the arrays can be part of this query"
            raise failure(
                "RQ208", f"`{node.name}` is of arrays, which no source can have", node.span, hint=hint
            )
        return _read_add(node, units)
    if node.name not in types:
        verb = _VERBS.get(type(node), "alters")
        message = f"the accent {verb} `{node.name}`, which never existed"
        hint = _turned_round(node, types) or did_you_mean(node.name, types, "attributes")
        raise failure("RQ207", message, node.span, hint=hint)
    match node:
        case DropAttribute():
            return Drop(node.name)
        case RenameAttribute():
            return _read_rename(node, types, names)
        case RecodeAttribute():
            return read_recode(node, types[node.name])
        case SwapAttributes():
            return _read_swap(node, types, units)
        case MissingValues():
            return read_missing(node, types[node.name])
        case AlterAttribute() | SetUnit():
            return _read_function(node, types, units, arrays=arrays)
        case _:
            assert_never(node)


def _read_function(
    node: AlterAttribute | SetUnit, types: Types, units: Units, *, arrays: bool
) -> Alter | ToUnit | ToLevel | SourceAlter:
    if types[node.name].name == "timestamp" and isinstance(node, AlterAttribute):
        return SourceAlter(node.name, shift_of(node))
    if not (types[node.name].is_numeric or (arrays and types[node.name].has_units)):
        raise failure(
            "RQ208",
            f"`{node.name}` is of type {types[node.name]}; only numbers can be altered",
            node.span,
            hint="send a drop of the old attribute and an add of a new one",
        )
    if isinstance(node, SetUnit):
        return _read_unit(node, units)
    if isinstance(node.body, Points):
        return SourceAlter(node.name, by_points(node.body))
    function = function_of(node.parameter, node.body)
    if not isinstance(function, Affine):
        if node.inverse is not None or node.unit is not None:
            hint = "the function alone: its inverse is derived, and outputs keep their unit"
            raise failure(
                "RQ202", "a function that falls or bends has no further argument", node.span, hint=hint
            )
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
    return Alter(node.name, function, node.unit, _canonical_unit(node, units))


def _turned_round(node: _Change, types: Types) -> str | None:
    """Returns a hint for swapped arguments, as in `unit(degC, t)` and `rename(t, temp)`."""
    if isinstance(node, SetUnit) and node.unit in types:
        return f"the attribute comes first: `unit({node.unit}, {unit_text(node.name)})`"
    if isinstance(node, RenameAttribute) and node.field in types:
        return f"the new name comes first: `rename({node.name}, {node.field})`"
    return None


def _read_add(node: AddAttribute, units: Units) -> Add:
    """Raises RQ142 if the attribute has a unit of another dimension, RQ143 for an unknown unit, RQ144 if it
    is not a number.
    """
    type_, unit = Type.of(node.type), node.unit
    if unit is None:
        return Add(node.name, type_)
    check_is_number(node.name, type_, node.span, "`+(p: double unit hPa)`")
    of = units.get(node.name)
    if of is None:
        return Add(node.name, type_, known_unit(unit, node.span))
    return Add(node.name, type_, unit, converted(of, unit, node.span))


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


_VERBS: Mapping[type, str] = {
    DropAttribute: "drops",
    RenameAttribute: "renames",
    RecodeAttribute: "recodes",
    MissingValues: "lists missing values of",
    SwapAttributes: "swaps",
}


def _read_rename(node: RenameAttribute, types: Types, names: Names) -> Rename:
    """Raises RQ460 if another attribute has the name, anywhere in the stream and at any time."""
    taken = node.field if node.field in types else names.get(node.field, node.name)
    if taken != node.name:
        hint = f"names that change places are a swap, `swap({node.name}, {taken})`, and no renames; else {_OTHER_NAME}"
        raise _name_in_use(f"the accent renames `{node.name}`", node.field, taken, node.span, hint)
    return Rename(node.name, node.field)


def _read_swap(node: SwapAttributes, types: Types, units: Units) -> Swap:
    """Raises RQ207 for an unknown attribute, RQ240 if the two have different units."""
    if node.other not in types:
        guess = did_you_mean(node.other, types, "attributes")
        raise failure("RQ207", f"the accent swaps `{node.other}`, which never existed", node.span, hint=guess)
    if units.get(node.name) != units.get(node.other):
        hint = "both are declared in one unit"
        message = f"the accent swaps `{node.name}` and `{node.other}`, which have different units"
        raise failure("RQ240", message, node.span, hint=hint)
    return Swap(node.name, node.other)


_OTHER_NAME = "a name is of one attribute as long as the stream lasts; another one is free"


def _name_in_use(what: str, name: str, of: str, span: Span, hint: str = _OTHER_NAME) -> DiagnosticError:
    why = f"the stream has an attribute of this name, `{name}`"
    if name != of:
        why = f"`{name}` is another name of `{of}`"
    return failure("RQ460", f"{what}, and {why}", span, hint=hint)


def _read_unit(node: SetUnit, units: Units) -> ToUnit | ToLevel:
    """Raises RQ142 if no unit is declared, or one of another dimension; RQ143 for an unknown unit."""
    declared = units.get(node.name)
    if declared is None:
        raise failure(
            "RQ142",
            f"the accent gives `{node.name}` a unit, and its declaration has none",
            node.span,
            hint=f"`{node.name}: double unit U` where it is declared or added, "
            "with the stream's first unit U",
        )
    if (logarithm := level(declared, known_unit(node.unit, node.span))) is not None:
        return ToLevel(node.name, node.unit, logarithm)
    return ToUnit(node.name, node.unit, converted(declared, node.unit, node.span))
