"""Parses markers at a source's current state (theory G22, N2)."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, EpochChange, Missing, Rename, Swap, to_form
from cedilla.compiler.facts import marker_parser
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.compiler.facts.quantities import Quantities
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import (
    alternatives,
    field_path,
    leads_into,
    overlap,
    path_text,
    renamed_field,
)
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.compiler.regions import PARTITION, Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import RecodeAttribute
from cedilla.runtime.control.accents.codes import no_quantity
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import form_of, paths_of
from cedilla.runtime.control.sources.unit_names import Units, source_units


def read_accent(source: Source, state: SourceState, text: str) -> Accent:
    """Parses an accent (`marker_parser.read_accent`).

    A name that a rename introduced restricts the description to tuples that use it. Constants with units are
    converted to the unit of each tuple.

    Raises `DiagnosticError` RQ201 if these tuples depend on the values of the attribute itself, RQ145, RQ146 and
    RQ460 for the name in a rename or an Add, and as the checks below.
    """
    units = source_units(source, state)
    try:
        accent = marker_parser.read_accent(
            text, state.written_types, units=units, names=state.names.of, own=source.own_units
        )
    except DiagnosticError as error:
        _check_codes(state, text, error)
        raise
    if isinstance(accent.primitive, Rename):
        field = renamed_field(accent.primitive.name, source.format, accent.span)
        accent = evolve(accent, primitive=evolve(accent.primitive, name=field))
    _check_field(source, state, accent)
    _check_record(source, accent)
    _check_forms(state, accent)
    _check_unit(source, state, accent, units)
    _check_optional(source, accent)
    if isinstance(accent.primitive, Alter) and accent.primitive.of is not None:
        required = frozenset(attribute.name for attribute in source.attributes if not attribute.optional)
        accent = evolve(accent, primitive=evolve(accent.primitive, required=required))
    accent = _in_raw_values(_unswapped(accent, state), state)
    if not accent.named:
        return accent
    by = _by(state, accent.named)
    name = accent.primitive.attribute
    if name in regions.attributes(by):
        why = f"the name that tuples use for an attribute depends on `{name}` itself"
        raise failure(
            "RQ201", why, accent.span, hint="the names of the query describe tuples whatever theirs are"
        )
    description = regions.intersection(accent.description, by)
    return evolve(
        accent, description=description, mentions=accent.mentions | (regions.attributes(by) - {PARTITION})
    )


def _check_codes(state: SourceState, text: str, error: DiagnosticError) -> None:
    """Raises `DiagnosticError` RQ463 for a recode of an attribute whose Alters have turned it into doubles. `error`
    says that doubles are not codes (RQ208)."""
    if error.diagnostics[0].code == "RQ208" and isinstance(
        node := parse_accent(text).primitive, RecodeAttribute
    ):
        name = state.names.of.get(node.name, node.name)
        if name in state.numbers.doubled:
            raise no_quantity(name, "recodes", "altered", node.span) from None


def _in_raw_values(accent: Accent, state: SourceState) -> Accent:
    """Returns an accent whose description includes its constants with units."""
    if not accent.quantities:
        return accent
    region = raw_quantities(state, accent.quantities)
    name = accent.primitive.attribute
    if name in regions.attributes(region):
        (other, *_) = accent.quantities
        why = f"which unit `{other}` is in depends on `{name}` itself"
        raise failure("RQ201", why, accent.span, hint="numbers without a unit are in what tuples have there")
    mentions = accent.mentions | (regions.attributes(region) - {PARTITION})
    description = regions.intersection(accent.description, region)
    return evolve(accent, description=description, mentions=mentions, quantities={})


def _unswapped(accent: Accent, state: SourceState) -> Accent:
    """Returns an accent with a description of tuples whose attributes are in their own places."""
    partners = state.swaps.partners
    others = {partners[name] for name in accent.mentions & partners.keys()}
    if not others:
        return accent
    region = state.swaps.region_back(accent.description)
    if (name := accent.primitive.attribute) in regions.attributes(region):
        why = f"some tuples have `{name}` in the place of an attribute of the description"
        raise failure("RQ201", why, accent.span, hint="describe the tuples by other attributes")
    return evolve(accent, description=region, mentions=accent.mentions | others)


def raw_quantities(state: SourceState, quantities: Quantities) -> Tree:
    """Returns the raw tuples whose canonical values are in some sets, at the current position of `state`."""
    region: Tree = True
    for name, members in quantities.items():
        here = _raw_quantity(state, name, members)
        if (other := state.swaps.partners.get(name)) is not None:  # it has the same unit
            partner = _raw_quantity(state, other, regions.renamed(members, other))
            here = regions.choose(state.swaps.of(name), partner, here)
        region = regions.intersection(region, here)
    return region


def _raw_quantity(state: SourceState, name: str, members: Tree) -> Tree:
    cells = regions.cells(state.original.get(name, IDENTITY)).items()
    parts = (
        regions.intersection(cell, regions.transform(members, name, undone.inverse()))
        for undone, cell in cells
    )
    return regions.union(*parts)


def _check_unit(source: Source, state: SourceState, accent: Accent, units: Units) -> None:
    """Raises `DiagnosticError` RQ142 if an Add names a unit for an attribute that an earlier Add introduced without
    one."""
    primitive = accent.primitive
    if not isinstance(primitive, Add) or primitive.unit is None:
        return
    name = primitive.attribute
    if name in state.types and name not in units and name not in {a.name for a in source.attributes}:
        raise failure(
            "RQ142",
            f"the accent adds `{name}` in {primitive.unit}, and an earlier one has added it without a unit",
            accent.span,
            hint="the first add says the unit; or another name keeps both apart",
        )


def _check_field(source: Source, state: SourceState, accent: Accent) -> None:
    """Raises `DiagnosticError` RQ460 if an accent brings an attribute by a field, or a path, that another one reads, or
    that has an object with another one in it."""
    primitive = accent.primitive
    if source.format_kind.has_requests or not isinstance(primitive, Add | Rename):
        return
    name = primitive.name if isinstance(primitive, Rename) else primitive.attribute
    if name in state.field_types and state.names.of.get(name, name) == primitive.attribute:
        return
    paths, keys = paths_of(source, state), field_path(name, source.format)
    for field in state.field_types:
        of = state.names.of.get(field, field)
        for other in alternatives(paths.get(field, (field,))):
            if overlap(other, keys) and (of != primitive.attribute or other == keys):
                where = f"{'inside of it, ' if leads_into(keys, other) else ''}{path_text(other)}"
                message = f"the accent brings an attribute by `{name}`, and `{of}` is read from {where}"
                raise failure(
                    "RQ460", message, accent.span, hint="another name: a field is a value, or an object"
                )


def _check_record(source: Source, accent: Accent) -> None:
    """Raises `DiagnosticError` RQ526 if an accent gives another place to an attribute that is read from the record
    around a tuple."""
    match accent.primitive:
        case Rename(attribute=name, name=other) if other != name:
            names = (name,)
        case Swap(attribute=name, other=other):
            names = (name, other)
        case _:
            return
    for attribute in source.attributes:
        if attribute.name in names and (origin := origin_text(attribute.keys)) is not None:
            message = (
                f"the accent moves `{attribute.name}`, which is read from {origin}, and not from the tuple"
            )
            raise failure(
                "RQ526", message, accent.span, hint="an attribute of the tuple; records have their own fields"
            )


def _check_forms(state: SourceState, accent: Accent) -> None:
    """Raises `DiagnosticError` RQ318 if an accent swaps texts of two forms."""
    if not isinstance(swap := accent.primitive, Swap) or form_of(state, swap.attribute) == form_of(
        state, swap.other
    ):
        return
    one, other = (_form_text(state, name) for name in (swap.attribute, swap.other))
    hint = "attributes that change places have one zone or decimal sign: name that of the other first"
    raise failure("RQ318", f"the accent swaps {one}, and {other}", accent.span, hint=hint)


def _form_text(state: SourceState, name: str) -> str:
    form = form_of(state, name)
    what = "without a decimal sign" if form is None else f"with {to_form(name, form, state.types[name])}"
    return f"`{name}` {what}"


def _check_optional(source: Source, accent: Accent) -> None:
    """Raises `DiagnosticError` RQ238 if an accent lists missing values of a required attribute."""
    name = accent.primitive.attribute
    required = next((a for a in source.attributes if a.name == name and not a.optional), None)
    if isinstance(accent.primitive, Missing) and required is not None:
        message = f"the accent lists missing values of `{name}`, which is required"
        raise failure("RQ238", message, accent.span, hint=f"`{name}?: {required.type}` may be undefined")


def read_epoch_change(state: SourceState, text: str) -> EpochChange | None:
    """Parses a growth or another form of texts (`marker_parser.read_epoch_change`)."""
    return marker_parser.read_epoch_change(text, state.written_types, names=state.names.of)


def read_punctuation(source: Source, state: SourceState, text: str) -> Punctuation:
    """Parses a punctuation (`marker_parser.read_punctuation`)."""
    units = source_units(source, state)
    punctuation = marker_parser.read_punctuation(
        text, state.written_types, names=state.names.of, units=units, own=source.own_units
    )
    if state.swaps.here:
        punctuation = evolve(punctuation, pattern=state.swaps.region_back(punctuation.pattern))
    if punctuation.quantities:
        region = raw_quantities(state, punctuation.quantities)
        pattern = regions.intersection(punctuation.pattern, region)
        punctuation = evolve(punctuation, pattern=pattern, quantities={})
    if not punctuation.named:
        return punctuation
    return evolve(
        punctuation, pattern=regions.intersection(punctuation.pattern, _by(state, punctuation.named))
    )


def _by(state: SourceState, named: frozenset[str]) -> Tree:
    """Returns the raw tuples that use some names for their attributes."""
    scale, names = state.written_maps, state.names
    return regions.intersection(*(translate(names.by(names.of[name], name), scale) for name in sorted(named)))
