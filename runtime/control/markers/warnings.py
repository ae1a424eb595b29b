"""Reports mistakes and likely mistakes in accents: impossible descriptions, versions compared as texts, accents that
change nothing; and those of its neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import (
    Alter,
    Change,
    Layer,
    ToLevel,
    ToUnit,
)
from cedilla.compiler.expressions.types import DOUBLE, STRING
from cedilla.compiler.expressions.types.nearest import nearest, written
from cedilla.compiler.expressions.types.versions import is_like_version
from cedilla.compiler.expressions.units.units import is_same
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.operators.shared.conditions import text_bound
from cedilla.compiler.regions import Level, Tree
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.control.accents.codes import writable
from cedilla.runtime.control.markers.added_types import narrower_types
from cedilla.runtime.control.markers.dropped_distinctions import dropped_distinctions
from cedilla.runtime.control.markers.one_accent import alters_of
from cedilla.runtime.control.markers.repeated import repeated
from cedilla.runtime.control.markers.unwritten import unwritten
from cedilla.runtime.control.sources.source_state import SourceState

_MAX_NAMED = 3
"""Maximum number of earlier markers, and of results, in a message."""
_MAX_CODES = 20
"""Maximum number of codes in a message."""


def warnings_about(state: SourceState, accent: Accent) -> tuple[Diagnostic, ...]:
    """Returns warnings about an accent at the current position of `state`: RQ217, RQ218, RQ229, RQ230, RQ232,
    RQ243, RQ366.

    Raises `DiagnosticError` RQ216 if the declared domains allow no tuple that matches its description.
    """
    where = state.canonical(state.sentinels.removed(accent.description))
    if regions.is_empty(regions.intersection(where, writable(state.codes)), state.universe):
        raise DiagnosticError([_impossible(state, accent, where)])
    kinds = (repeated, unwritten, dropped_distinctions)
    others = (warning for kind in kinds for warning in kind(state, accent, where))
    doubts = (*_outside(state, accent, where), *_versions(state, accent), *others)
    return doubts or (*_without_effect(state, accent, where), *narrower_types(state, accent))


def with_statement(source: str, warning: Diagnostic) -> Diagnostic:
    """Returns a warning whose advice ends with an accent, with the statement that a user can paste into the query."""
    advised = _ADVISED.search(warning.help or "")
    if advised is None:
        return warning
    return evolve(warning, help=f"{warning.help}; or in the query: accent {source} {advised[0]};")


_ADVISED = re.compile(r"\[\[(?!\.\.\.).*\]\]$")
"""An accent at the end of a text; one whose description is left out begins with dots."""


# --- descriptions ----------------------------------------------------------------------------------------


def _impossible(state: SourceState, accent: Accent, where: Tree) -> Diagnostic:
    message = "the accent describes no possible tuple"
    for name in sorted(accent.mentions - state.codes.keys()):
        members = _values(state, name, where)
        if members is not False and regions.is_empty(members, state.universe):
            domain, near = _domain(state, name), _nearest(state, name, members)
            why = f"no tuple has such a value of `{name}`" + (f": `{domain}` is declared" if domain else "")
            help = "" if near is None else f"did you mean `{name} = {near}`? "
            help += _widening(state, name, members) if domain else ""
            return Diagnostic("RQ216", "error", message, accent.places.get(name), (why,), help or None)
    span = next(iter(accent.places.values())) if len(accent.places) == 1 else None
    help = "the conditions exclude each other; the lower bound of a range comes first"
    if " in (" in accent.text:
        help = "a list is written `s in {1, 2}`; `s in (1, 2)` is the range between the two"
    why = "no value meets all its conditions" + "".join(_recoded(state, accent))
    return Diagnostic("RQ216", "error", message, span, (why,), help)


def _recoded(state: SourceState, accent: Accent) -> Iterator[str]:
    """Yields the values that recodes have given to the attributes in a description, unless they are too many."""
    for name in sorted(accent.mentions & state.codes.keys()):
        codes = [leaf for leaf in regions.leaves(state.codes[name]) if isinstance(leaf, ValueMapping)]
        values = sorted({after for code in codes for _, after in code.pairs})
        if 0 < len(values) <= _MAX_CODES:
            yield f"; `{name}` has been recoded, to {', '.join(map(state.types[name].wire, values))}"


def _values(state: SourceState, name: str, where: Tree) -> Tree:
    """Returns the values of one attribute in a region."""
    return regions.exists(where, regions.attributes(where) - {name}, state.universe)


def _widening(state: SourceState, name: str, members: Tree) -> str:
    """Returns advice on how described values enter the declared domain; a list can grow by a marker (theory N1)."""
    domain, how = state.universe[name].members, ""
    if listed := state.universe[name].listed:
        return f"For a new value, first add a file to the table (`{listed}`), then send this accent"
    is_list = isinstance(domain, Level) and any(inside for inside in domain.points.values())
    if is_list and isinstance(members, Level) and name not in state.original:
        listed = [state.types[name].wire(value) for value, inside in members.points.items() if inside]
        if 0 < len(listed) <= _MAX_NAMED:
            values = ", ".join(listed)
            how = f"send `[[grow({name}, {{{values}}})]]` before this accent, or "
    return f"To add a value, {how}widen the domain in the query's text"


def _domain(state: SourceState, name: str) -> str | None:
    return written(name, state.types[name], state.universe[name].members)


def _nearest(state: SourceState, name: str, members: Tree) -> str | None:
    """Returns the possible value nearest to the described ones; `None` if raw values differ from canonical ones."""
    type_ = state.types[name]
    if not isinstance(members, Level) or name in state.original:
        return None
    described = [value for value, inside in members.points.items() if inside]
    described += [cut[0] for cut in members.cuts]
    near = (nearest(type_, value, state.universe[name].members) for value in described)
    return next((type_.wire(value) for value in near if value is not None), None)


def _outside(state: SourceState, accent: Accent, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ217 for values in a description that no tuple has, among possible ones."""
    for name in sorted(accent.mentions - state.original.keys()):
        members, domain = _values(state, name, where), state.universe[name].members
        if isinstance(members, Level) and isinstance(domain, Level):
            stray = [value for value, inside in members.points.items() if inside and not domain.at(value)]
            for value in sorted(stray)[:_MAX_NAMED]:
                type_, near = state.types[name], nearest(state.types[name], value, domain)
                message = f"the accent describes `{name} = {type_.wire(value)}`, which no tuple has"
                why = (f"`{declared}` is declared",) if (declared := _domain(state, name)) else ()
                help = None if near is None else f"did you mean `{type_.wire(near)}`?"
                yield Diagnostic("RQ217", "warning", message, accent.places.get(name), why, help)


def _versions(state: SourceState, accent: Accent) -> Iterator[Diagnostic]:
    """Yields RQ243 for each string with a bound that looks like a version."""
    for name in sorted(accent.mentions):
        if (type_ := state.types[name]) != STRING:
            continue
        members = _values(state, name, accent.description)
        cuts = members.cuts if isinstance(members, Level) else ()
        like = next((value for value, _ in cuts if is_like_version(value)), None)
        if like is not None:
            yield text_bound(name, type_.wire(like), accent.places.get(name))


# --- accents that change nothing --------------------------------------------------------------------------


def _without_effect(state: SourceState, accent: Accent, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ230 for an accent that changes no tuple. A unit accent is repeatable (N4): only the first one of an
    attribute and a unit causes a warning."""
    change, why, help = (
        accent.primitive,
        "",
        "leave the accent out, or correct its function",
    )
    name = change.attribute
    if isinstance(change, ToUnit | ToLevel):
        if any(is_same(change.unit, named) for named in state.notes.named_units.get(name, ())):
            return
        live = regions.difference(where, state.closed)
        if alters_of(state, accent, change) or regions.is_empty(live, state.universe):
            return
        why = f": `{name}` is in {change.unit} already in all tuples that it describes"
        help = f"if tuples before it are in another unit, U, declare that one: `{name}: double unit U`"
    elif not change.is_identity or _has_changed(state, change):
        return
    yield Diagnostic("RQ230", "warning", f"the accent changes nothing{why}", accent.span, (), help)


def _has_changed(state: SourceState, change: Change) -> bool:
    """Returns True if an identity changes something: after an Alter, whole numbers and decimals are doubles, which
    outputs announce; a recode and a list of missing values replace earlier ones."""
    name = change.attribute
    if isinstance(change, Alter):
        return state.types[name] != DOUBLE or name in state.numbers.doubled
    return name in (state.sentinels.here if change.layer is Layer.SENTINEL else state.codes)
