"""Bad markers that are set aside (`set bad_markers = quarantine`), and the units that stay without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import OF_NODE
from cedilla.compiler.facts.facts import NO_FEEDER
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AccentText, Primitive, changed_names
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.connectors.records.rejections import FOREIGN, REASONS
from cedilla.runtime.control.markers.allowed import NOT_ALLOWED
from cedilla.runtime.control.markers.source_marker_parser import read_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import source_names

_DOUBTFUL = ("RQ217", "RQ218", "RQ223")
"""Warnings that end the query under `set doubtful = abort`."""
_RIGHT = ("RQ209", "RQ210", "RQ211", "RQ222", "RQ365", "RQ463", "RQ466", "RQ467", NOT_ALLOWED, *_DOUBTFUL)
"""Codes of markers that may be right, but that this query cannot follow. They always end the query, because its results
would be wrong without them."""
_FILES = ("RQ224", "RQ319", "RQ404", "RQ414", "RQ426", "RQ431")
"""Codes of problems with files, which also come as markers: a tuple in a marker folder, a file that is damaged."""
_MAX_NUMBERED = 1_000
"""Maximum number of warnings for an epoch, so that a flood of bad markers costs little."""
_NOTHING = "nothing changes by it: what comes after it is read as what came before it"


@frozen
class SetAside:
    """A marker of a source that is set aside, with a code and the reason in words. `warning`: the warning for people,
    if there is one."""

    source: str
    marker: MarkerLine
    code: str
    reason: str
    warning: Diagnostic | None = None


def foreign(source: str, marker: MarkerLine) -> SetAside:
    """Sets aside a marker among the tuples of a stream that takes markers from its folder only."""
    return SetAside(source, marker, FOREIGN, REASONS[FOREIGN])


def check_doubtful(settings: Mapping[str, str], warnings: Iterable[Diagnostic]) -> None:
    """Raises warnings RQ217, RQ218 and RQ223 as errors under `set doubtful = abort`."""
    if settings["doubtful"] != "abort":
        return
    hint = "`set doubtful = warn;` continues"
    if doubtful := [
        warning for warning in warnings if warning.code in _DOUBTFUL and warning.severity == "warning"
    ]:
        raise DiagnosticError(
            evolve(warning, severity="error", help=f"{warning.help}; {hint}" if warning.help else hint)
            for warning in doubtful
        )


def is_set_aside(plan: Plan, error: DiagnosticError) -> bool:
    """Returns True if the settings set aside a marker with this error."""
    return plan.settings["bad_markers"] == "quarantine" and error.diagnostics[0].code not in (
        *_RIGHT,
        *_FILES,
    )


def bad_marker(
    plan: Plan,
    states: Mapping[str, SourceState],
    source: str,
    marker: MarkerLine,
    error: DiagnosticError,
    number: int,
) -> SetAside:
    """Sets aside a bad marker of a source, with a warning for the first ones of an epoch. `states`: the sources before
    the marker; `number`: the number of markers set aside before it."""
    first = error.diagnostics[0]
    if number >= _MAX_NUMBERED:
        return SetAside(source, marker, first.code, first.message)
    warning = Diagnostic(
        "RQ235",
        "warning",
        f"a bad marker is set aside ({first.code}): {first.message}",
        first.span,
        (*first.notes, f"{what_stays(plan, states, source, marker)}, until a right marker says otherwise"),
        first.help,
    )
    return SetAside(source, marker, first.code, first.message, warning)


def what_stays(plan: Plan, states: Mapping[str, SourceState], source: str, marker: MarkerLine) -> str:
    """Describes the effect of leaving out a marker: the unit, name or codes that an attribute keeps."""
    if marker.kind == "punctuation":
        return "it closes nothing"
    text = marker.wire(states[source].field_types)
    try:
        accent = parse_accent(text, "<accent>")
    except DiagnosticError:
        return _NOTHING
    where = _where(accent, text)
    return "; ".join(_what_stays(plan, states, source, primitive, where) for primitive in accent.primitives)


def _what_stays(
    plan: Plan, states: Mapping[str, SourceState], source: str, primitive: Primitive, where: str
) -> str:
    name = primitive.name
    what = f"`{name}` of {where}" if where else f"`{name}`"
    keeps = OF_NODE[type(primitive)].keeps
    others = [other for other in changed_names(primitive) if other != name]
    unit = _units(plan, states, source, name, where) if "{unit}" in keeps else ""
    return keeps.format(what=what, name=name, other=", ".join(others), unit=unit)


def _where(accent: AccentText, text: str) -> str:
    """Returns the text of an accent's description."""
    if not accent.description:
        return ""
    return text[accent.description[0].span.start : accent.description[-1].span.end]


def _units(plan: Plan, states: Mapping[str, SourceState], source: str, attribute: str, where: str) -> str:
    """Returns the names of the units of an attribute, for tuples that match the description `where`."""
    state, declared = states[source], plan.source_of[source]
    names = source_names(plan, declared, states)
    histories = regions.leaves(_live_units(declared, state, attribute, where))
    names_found = {names.of(attribute, history[-1]) for history in histories if history}
    units = sorted(name for name in names_found if name is not None)
    return " or ".join(units) if units and None not in names_found else "the unit that it had"


def _live_units(source: Source, state: SourceState, attribute: str, where: str) -> Tree:
    """Returns the histories of an attribute, for tuples that match `where` if that is a valid description."""
    units = state.facts().live_units(attribute)
    try:
        drop = read_accent(source, state, f"[[{where}{', ' if where else ''}-({attribute})]]")
    except DiagnosticError:
        return units
    elsewhere = regions.complement(state.canonical(drop.description))
    return regions.update(units, elsewhere, lambda _: NO_FEEDER)
