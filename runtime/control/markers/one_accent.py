"""Applies one accent at a source, or raises its error (theory 2.7, 3.1)."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import (
    Add,
    Alter,
    Drop,
    Missing,
    Recode,
    Rename,
    SourceFunction,
    Swap,
    ToLevel,
    ToUnit,
)
from cedilla.compiler.expressions.types import DOUBLE
from cedilla.compiler.facts.facts import ABSENT, PRESENT
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.accents import unit_accents
from cedilla.runtime.control.accents.codes import check_recode, no_codes
from cedilla.runtime.control.accents.names import renamed_to
from cedilla.runtime.control.accents.sentinels import check_order
from cedilla.runtime.control.accents.swaps import check_descriptions, check_swap, check_swapped
from cedilla.runtime.control.accents.trees import Altered, positions_after, restrict_to
from cedilla.runtime.control.markers.added_again import check_added_again
from cedilla.runtime.control.sources.apart import check_apart
from cedilla.runtime.control.sources.source_state import SourceState


class EpochMustEnd(Exception):
    """The epoch must end before this marker: it adds what the epoch dropped (G32), turns an attribute into doubles, or
    lets a domain grow (N1), or gives texts another form (N13).

    `state`: the source's state at the end of the epoch, if it must record the reason.
    """

    def __init__(self, state: SourceState | None = None) -> None:
        super().__init__()
        self.state = state


def with_accent(state: SourceState, accent: Accent, position: int, location: str = "") -> SourceState:
    """Returns the state after an accent. `location`: its position, for messages about later accents.

    Raises `DiagnosticError`: RQ205 (adds an existing attribute), RQ206 (drops or alters a missing one), RQ208 (adds it
    with another type), RQ219 (names a unit that values are not in), RQ239 (missing values depend on each other, or
    would be other values, too), RQ240 and RQ241 (swaps), RQ461 (renames to a name in use), RQ467 (adds an attribute
    again on which others depend). Raises `EpochMustEnd` if it adds an attribute that this epoch dropped.
    """
    check_swapped(state.swaps, accent, state.types)
    after = _applied(state, accent, position, location)
    if after.sentinels is not state.sentinels:
        check_order(after.sentinels, accent)
    check_apart(after, accent)
    if after.swaps.here:
        check_descriptions(after.swaps, frozenset(after.sentinels.here), accent)
    return after


def _applied(state: SourceState, accent: Accent, position: int, location: str) -> SourceState:
    where, places = state.canonical(accent.description), positions_after(position)
    live = regions.difference(where, state.closed)
    match accent.primitive:
        case Add(attribute) as added:
            check_add(state, accent, added, where, live)
            state = state.with_add(added, accent.description, where, places)
            if not added.converts:
                return state
            no_codes(accent, state.codes, "alters", "recoded")
            raw = restrict_to(accent.description, added.function)
            return state.with_functions(attribute, raw, restrict_to(where, added.function), places)
        case Drop(attribute):
            _require(state, accent, attribute, where, live, "drops")
            return state.with_drop(attribute, where, places)
        case Rename(attribute) as rename:
            _require(state, accent, attribute, where, live, "renames")
            renamed_to(state.names, accent, rename, state.there(attribute, live), state.universe)
            return evolve(state, names=state.names.with_rename(rename, where, places))
        case Recode(attribute, code) as recode:
            _require(state, accent, attribute, where, live, "recodes")
            no_codes(accent, state.units, "recodes", "altered")
            check_recode(state.codes, state.universe, accent, recode, state.there(attribute, live))
            return state.with_code(attribute, code, accent.description, where, places)
        case Swap(attribute, other) as swap:
            for swapped in (attribute, other):
                _require(state, accent, swapped, where, live, "swaps")
            check_swap(state.swaps, accent, swap, state.types)
            return evolve(state, swaps=state.swaps.with_swap(swap, accent.description, places))
        case Missing(attribute, values):
            _require(state, accent, attribute, where, live, Missing.verb)
            sentinels = state.sentinels.with_values(attribute, values, accent.description, where, places)
            return evolve(state, sentinels=sentinels)
        case ToUnit(attribute) | ToLevel(attribute) as change:
            _require(state, accent, attribute, where, live, "alters")
            named = state.naming(change)
            for alter in alters_of(state, accent, change):
                named = with_accent(named, alter, position, location)
            return named
        case SourceFunction(attribute=attribute, function=function) as change:
            _require(state, accent, attribute, where, live, change.verb)
            no_codes(accent, state.codes, "alters", "recoded")
            raw = restrict_to(accent.description, function)
            state = state.with_bent(attribute, raw, restrict_to(where, function), places)
            unit_accents.check_no_logarithm(accent, state.original[attribute])
            return state
        case Alter(attribute, function) as change:
            _require(state, accent, attribute, where, live, "alters")
            no_codes(accent, state.codes, "alters", "recoded")
            raw = restrict_to(accent.description, function)
            if (composed := misnamed(state, change, raw)) is not None:
                raise unit_accents.not_in_unit(
                    accent, change, composed, state.notes.named_units.get(attribute, ())
                )
            state = state.naming(change).with_functions(attribute, raw, restrict_to(where, function), places)
            return state.remembering([Altered(attribute, function, where, location, accent.text)])
        case other:
            raise TypeError(f"nothing says what {other} does")


def expecting(state: SourceState, accent: Accent, after: SourceState) -> SourceState | None:
    """Returns the state before an accent that turns whole numbers or decimals into doubles, or gives decimals another
    raw type. The epoch must end before it, so that earlier values have the type of their place. `after`: the state
    after it. `None` if the epoch may continue."""
    change = accent.primitive
    name = change.attribute
    type_ = state.types.get(name, DOUBLE)
    if not change.converts or name in state.numbers.doubled or type_ == DOUBLE or not type_.is_numeric:
        return None
    raw = after.numbers.raw_types.get(name)
    if raw is not None and raw in (state.types_of_raw[name], state.numbers.expected.get(name)):
        return None
    nothing = isinstance(change, ToUnit | ToLevel) and not alters_of(state, accent, change)
    return None if nothing else evolve(state, numbers=state.numbers.expecting(name, raw))


def alters_of(state: SourceState, accent: Accent, change: ToUnit | ToLevel) -> list[Accent]:
    """Returns the Alters that a unit accent expands to here (theory N4). Raises `DiagnosticError` RQ201."""
    having = state.facts_by_partition().may_have(change.attribute)

    def is_anywhere(raw: Tree) -> bool:
        return not regions.is_empty(regions.intersection(state.canonical(raw), having), state.universe)

    return unit_accents.alters_of(accent, change, state.original.get(change.attribute, IDENTITY), is_anywhere)


def misnamed(state: SourceState, alter: Alter, functions: Tree) -> Affine | None:
    """Returns the result of `unit_accents.misnamed` for this state. `functions`: those of all described raw tuples,
    possibly of several accents."""
    required = [regions.defined(n) for n in alter.required if state.present.get(n) is PRESENT]

    def may_come(raw: Tree) -> bool:
        having = state.there(alter.attribute, regions.intersection(state.canonical(raw), *required))
        return not regions.is_empty(regions.difference(having, state.closed), state.universe)

    return unit_accents.misnamed(alter, functions, state.original.get(alter.attribute, IDENTITY), may_come)


def check_add(state: SourceState, accent: Accent, added: Add, where: Tree, live: Tree) -> None:
    """Raises `DiagnosticError` RQ205, RQ208 or RQ467 if an Add is not possible. Raises `EpochMustEnd` if this epoch
    dropped the attribute. `where`: the canonical tuples described; `live`: those that may still come."""
    attribute, type_ = added.attribute, added.type
    before = state.types.get(attribute)
    if before is not None and before != type_ and not (before.is_numeric and type_.is_numeric):
        raise failure(
            "RQ208",
            f"the accent adds `{attribute}` as {type_}; it was {before}",
            accent.span,
            hint="give the new attribute another name, so that its values are not taken for the old ones",
        )
    presence = state.present.get(attribute, ABSENT)
    already = regions.within(live, presence, lambda leaf: leaf is PRESENT)
    required = (n for n in regions.attributes(already) if state.present.get(n) is PRESENT)
    already = regions.intersection(already, *map(regions.defined, required))
    if not regions.is_empty(already, state.universe):
        raise failure(
            "RQ205",
            f"the accent adds `{attribute}`, but tuples that it describes have it already",
            accent.span,
            hint=f"remove the accent, or describe only tuples without `{attribute}`; a drop must come before it",
        )
    check_added_again(state, accent, live)
    if regions.intersection(where, state.dropped.get(attribute, False)) is not False:
        raise EpochMustEnd


def _require(state: SourceState, accent: Accent, attribute: str, where: Tree, live: Tree, verb: str) -> None:
    having = state.there(attribute, where)
    # An accent on closed tuples has no effect (P-dead).
    if regions.is_empty(having, state.universe) and not regions.is_empty(live, state.universe):
        raise failure(
            "RQ206",
            f"the accent {verb} `{attribute}`, but no tuple that it describes has it",
            accent.span,
            hint=f"an earlier accent dropped it, or none added it: `+({attribute}: TYPE)` must come before",
        )
