"""Chooses the attributes that identify groups which change their units together, and describes a jump of a
group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.changes import Alter, ToUnit
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.facts.facts import ABSENT, PRESENT
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.control.change_detection.conversions import unit_after
from cedilla.runtime.control.change_detection.series import Jump, Series
from cedilla.runtime.control.sources.source_state import SourceState

MAX_SERIES = 5_000
"""The most sequences, groups times attributes; each keeps its latest values."""

Group = tuple[Value | None, ...]
"""The values of the attributes that identify a group; `None`: undefined."""


def described_by(source: Source) -> list[str]:
    """Returns the attributes that accents likely describe: those with a list as domain, else the strings."""
    listed = [a.name for a in source.attributes if a.has_list or a.column is not None]
    return listed or [a.name for a in source.attributes if a.type.name == "string"]


_MAX_COUNTED = 2


def counted_attributes(source: Source, state: SourceState) -> list[str]:
    """Returns the attributes whose values are counted for `status`: those that accents have described, then those that
    they likely describe."""
    if source.table:
        return []
    trees = (*state.units.values(), *state.present.values(), *state.codes.values())
    mentioned = set[str]().union(*map(regions.attributes, trees))
    candidates = [*(n for n in state.types if n in mentioned), *described_by(source)]
    kinds = ("int", "long", "string", "boolean")
    return [n for n in dict.fromkeys(candidates) if n in state.types and state.types[n].name in kinds][
        :_MAX_COUNTED
    ]


def time_axis(source: Source) -> str | None:
    """Returns the attribute that announces planned changes: it is promised to be punctuated, or the only
    timestamp.
    """
    beat = [] if source.heartbeat is None else [source.heartbeat.attribute]
    promised = [name for scheme in source.punctuated if len(scheme) == 1 for name in scheme]
    times = [a.name for a in source.attributes if a.type.name == "timestamp"]
    candidates = [*beat, *promised, *(times if len(times) == 1 else [])]
    ordered = {a.name for a in source.attributes if a.type.is_numeric or a.type.name in ("timestamp", "date")}
    return next((name for name in candidates if name in ordered), None)


def new_series(source: Source, name: str, state: SourceState | None = None) -> Series[Any]:
    """Returns an empty sequence of an attribute, with what is declared of it."""
    attribute = next((a for a in source.attributes if a.name == name), None)
    own = tuple(source.own_units.units.values())
    if attribute is None:
        return Series(unit=None if state is None else state.notes.added_units.get(name), own=own)
    return Series(
        unit=attribute.unit, own=own, domain=attribute.domain_members() if attribute.domain else None
    )


def announcement(attribute: str, series: Series[Any], jump: Jump[Any], decoded: Affine) -> Alter | ToUnit:
    """Returns the primitive of an accent that announces a jump: of the values before it, if these came from another
    unit. `decoded`: the function of earlier accents that decodes the values."""
    if jump.came_from is not None:
        return ToUnit(attribute, short(jump.came_from), IDENTITY)
    accent = decoded.inverse()
    if (name := unit_after(series.unit, accent.after(jump.net), series.own)) is not None:
        return ToUnit(attribute, short(name), IDENTITY)
    return Alter(attribute, accent.after(jump.function).after(decoded))


def statement(source: Source, accent: str) -> str:
    """Returns an accent as a statement of the query."""
    return f"accent {source.name} {accent};"


def region_of(by: Sequence[str], group: Group) -> Tree:
    """Returns the region of a group's tuples."""
    members: dict[str, Value] = {n: v for n, v in zip(by, group, strict=True) if v is not None}
    return regions.box({name: regions.values(name, [value]) for name, value in members.items()})


def added(name: str, before: SourceState, after: SourceState) -> Tree:
    """Returns the region where an attribute is new; its unit may be any there (G32)."""
    was, now = before.present.get(name, ABSENT), after.present.get(name, ABSENT)
    if was is now or name not in before.types:
        return False
    had = regions.map_leaves(was, lambda leaf: leaf is PRESENT)
    return regions.within(regions.complement(had), now, lambda leaf: leaf is PRESENT)


def of_group(attribute: str, members: Mapping[str, Value]) -> str:
    """Names an attribute of a group."""
    group = ", ".join(f"{name} = {value}" for name, value in members.items())
    return f"`{attribute}`{f' of {group}' if group else ''}"


def jumps_like(attribute: str, members: Mapping[str, Value], jump: Jump[Any]) -> str:
    """Writes the message about a jump. `members`: the group."""
    where = of_group(attribute, members)
    if jump.undoes:
        return f"{where} continues as before an accent on it, which seems to be wrong"
    if jump.came_from is not None:
        return f"{where} jumps like {jump.name}, its unit: earlier values were in {short(jump.came_from)}"
    return f"{where} jumps like {jump.name}, and no accent says so"


def notes_on(jump: Jump[Any], position: str) -> tuple[str, ...]:
    """Writes the notes on a jump. `position`: that of the first value after it."""
    others = (f"it could be {', '.join(jump.others)}, too",) if jump.others else ()
    middles = (
        f"about {jump.before:.4g} before it, {jump.after:.4g} after it; "
        f"the conversion explains {jump.confidence:.0%} of that"
    )
    return (f"{position}: the first value after it", jump.note or middles, *others)
