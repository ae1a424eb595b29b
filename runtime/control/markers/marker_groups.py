"""Applies groups of markers that each describe one value of an attribute, `[[s = 1, ...]]`, `[[s = 2, ...]]`, as one
step.

A fleet sends one marker for each device. Markers about different values describe disjoint tuples, so they commute
(theory R2), and one change of a tree covers all of its points. `group_at` parses such a group. `apply_group` returns
the state after a part of it, but only if every marker is valid and causes no warning. Otherwise the markers are applied
one by one, and the invalid one is reported at its own position (G33).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, get_args

from attrs import evolve, frozen
from immutables import Map

from cedilla.compiler import regions
from cedilla.compiler.changes import (
    Add,
    Alter,
    Drop,
    ToUnit,
)
from cedilla.compiler.expressions.types import DOUBLE, STRING, Type
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Level, Operation, Tree, Value
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.accents.trees import Altered, positions_after, restrict_to
from cedilla.runtime.control.markers.one_accent import EpochMustEnd, alters_of, check_add, misnamed
from cedilla.runtime.control.markers.repeated import stand
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_punctuation
from cedilla.runtime.control.markers.superseded import with_superseded
from cedilla.runtime.control.markers.warnings import warnings_about
from cedilla.runtime.control.sources.apart import check_apart
from cedilla.runtime.control.sources.notes import MAX_ALTERS
from cedilla.runtime.control.sources.partitions import region_of
from cedilla.runtime.control.sources.source_state import SourceState

MIN_GROUP = 4
"""Minimum number of markers in a group; fewer are applied one by one."""

Kind = Literal["accent", "punctuation"]
Place = Callable[[MarkerLine], str]
"""Returns the position of a marker, for messages."""
Check = Callable[[SourceState, Accent], None]
"""Raises `DiagnosticError` if an operator cannot continue after an accent that led to a state."""

_POINT = re.compile(r'\[{1,2}(\w+) = (?:(0|[1-9][0-9]{0,17})|"([^"\\\x00-\x1f\ud800-\udfff]*)")(?=[,\]])')


@frozen(eq=False)
class ParsedMarker:
    """The meaning of markers with equal texts except for the value. `others`: the region of their other conditions.
    `round`: the number of the step that applies them."""

    meaning: Accent | Punctuation
    others: Tree
    round: int


@frozen(eq=False)
class GroupedMarker:
    """A marker of a group. `begin`: the position of the first marker before it without a tuple in between."""

    marker: MarkerLine
    value: Value
    parsed: ParsedMarker
    begin: int


@frozen(eq=False)
class MarkerGroup:
    """Consecutive markers of a source about values of one attribute. Markers of one round describe different values.
    For each value, an earlier marker has an earlier round. Therefore round by round gives the same result as one by
    one.
    """

    attribute: str
    kind: Kind
    partition: int | None
    members: Sequence[GroupedMarker]


def begins(markers: Sequence[MarkerLine]) -> list[int]:
    """Returns for each marker the position of the first one before it without a tuple in between.

    All of them hold from there on, so that a run of markers cuts the epoch at one position.

    >>> begins([MarkerLine("accent", "", position, next=position + 1) for position in (2, 3, 4, 9)])
    [2, 2, 2, 9]
    """
    positions: list[int] = []
    after = None
    for marker in markers:
        is_next = after == marker.position and marker.kind in get_args(Kind)
        positions.append(positions[-1] if is_next else marker.position)
        after = marker.next if marker.kind in get_args(Kind) else None
    return positions


def group_at(
    source: Source, state: SourceState, markers: Sequence[MarkerLine], at: int, begins: Sequence[int]
) -> MarkerGroup | None:
    """Returns the group of markers that starts at an index, parsed at `state`; `None` if there are too few. `begins`:
    of all markers.

    >>> from cedilla.compiler.compile import compile_query
    >>> plan = compile_query('stream r(s: int, t: double) from json "r"; emit r to json "out";').plan
    >>> source = plan.source_of["r"]
    >>> state = SourceState.start(source, plan.droppable["r"])
    >>> def group(*texts: str) -> MarkerGroup | None:
    ...     lines = [MarkerLine("accent", text, at) for at, text in enumerate(texts)]
    ...     return group_at(source, state, lines, 0, begins(lines))
    >>> altered = [f"[[s = {s}, alter(t, y -> y * {s})]]" for s in (2, 3, 4)]
    >>> dropped = [f"[[s = {s}, -(t)]]" for s in (2, 4, 5)]
    >>> [(member.value, member.parsed.round) for member in group(*altered, *dropped).members]
    [(2, 0), (3, 0), (4, 0), (2, 1), (4, 1), (5, 1)]
    >>> len(group(*altered, dropped[0], altered[0]).members)  # not with the Alter after the Drop of the same value
    4
    >>> group(*altered, "[[-(t)]]") is None
    True
    """
    first = markers[at]
    kind = first.kind
    claims = source.partitioned is not None and first.partition is not None
    if (kind != "accent" and kind != "punctuation") or claims:
        return None
    matches = [_POINT.match(marker.text) for marker in markers[at : at + MIN_GROUP]]
    names = {None if match is None else match[1] for match in matches}
    if len(matches) < MIN_GROUP or len(names) > 1 or (name := names.pop()) is None:
        return None
    if (type_ := state.types.get(name)) is None or name in state.names.of:
        return None
    parser = _GroupParser(source, state, name, type_)
    members: list[GroupedMarker] = []
    for marker, begin in islice(zip(markers, begins, strict=True), at, None):
        if marker.kind != kind or marker.partition != first.partition:
            break
        if (member := parser.member(marker, begin)) is None:
            break
        members.append(member)
    return MarkerGroup(name, kind, first.partition, members) if len(members) >= MIN_GROUP else None


class _GroupParser:
    """Parses the markers of one group."""

    def __init__(self, source: Source, state: SourceState, name: str, type_: Type) -> None:
        self.source = source
        self.state = state
        self.name = name
        self.type = type_
        self.parsed: dict[str, ParsedMarker] = {}
        self.rounds: dict[object, int] = {}
        self.last: dict[Value, int] = {}

    def member(self, marker: MarkerLine, begin: int) -> GroupedMarker | None:
        """Returns a marker as a member of the group; `None` if it does not fit."""
        match = _POINT.match(marker.text)
        if match is None or match[1] != self.name or marker.translate is not None:
            return None
        number, value = match[2], match[3]
        if number is not None and self.type.is_numeric:
            value = int(number)
        elif number is not None or self.type != STRING:
            return None
        rest = marker.text[match.end() :]
        parsed = self.parsed.get(rest) or self._read(marker, value, rest)
        if parsed is None or self.last.get(value, -1) >= parsed.round:
            return None
        self.last[value] = parsed.round
        return GroupedMarker(marker, value, parsed, begin)

    def _read(self, marker: MarkerLine, value: Value, rest: str) -> ParsedMarker | None:
        text = marker.text
        try:
            if marker.kind == "accent":
                node = parse_accent(text, "<accent>")
                if len(node.primitives) > 1:
                    return None
                meaning = read_accent(self.source, self.state, text)
                region, conditions, key = meaning.description, node.description, _round_key(meaning)
            else:
                meaning = read_punctuation(self.source, self.state, text)
                region, conditions, key = (
                    meaning.pattern,
                    parse_punctuation(text, "<punctuation>").conditions,
                    (),
                )
        except DiagnosticError:  # it is applied alone and raises the error again
            return None
        if meaning.named or key is None or [c.attribute for c in conditions].count(self.name) != 1:
            return None
        others = regions.exists(region, {self.name}, {})
        if others is False or regions.intersection(regions.values(self.name, [value]), others) != region:
            return None
        parsed = ParsedMarker(meaning, others, self.rounds.setdefault(key, len(self.rounds)))
        self.parsed[rest] = parsed
        return parsed


def _round_key(accent: Accent) -> tuple[object, ...] | None:
    """Returns the properties that accents of one round share; `None` for accents that are applied one by one."""
    change = accent.primitive
    if not change.grouped or (isinstance(change, Add) and change.unit is not None):
        return None
    if isinstance(change, Alter):
        return Alter, change.attribute, change.unit, change.of, accent.mentions
    return change, accent.mentions


def apply_group(
    state: SourceState, group: MarkerGroup, members: Sequence[GroupedMarker], location_of: Place, check: Check
) -> SourceState | None:
    """Returns the state after some consecutive markers of a group; `None` if they must be applied one by one."""
    by_round: dict[int, list[GroupedMarker]] = {}
    for member in members:
        by_round.setdefault(member.parsed.round, []).append(member)
    alters: list[tuple[GroupedMarker, Altered]] = []
    try:
        for number in sorted(by_round):
            step = _Step(group, by_round[number])
            if group.kind == "punctuation":
                next_ = _closed(state, step)
            else:
                next_ = _evolved(state, step, location_of, check, alters)
            if next_ is None:
                return None
            state = next_
    except (DiagnosticError, EpochMustEnd):  # the marker at fault raises it again
        return None
    alters.sort(key=lambda alter: alter[0].marker.position)
    return state.remembering([alter for _, alter in alters])


class _Step:
    """The markers of one round, as trees."""

    def __init__(self, group: MarkerGroup, members: Sequence[GroupedMarker]) -> None:
        self.group = group
        self.members = members
        self._by_others: dict[Tree, list[GroupedMarker]] = {}
        for member in members:
            self._by_others.setdefault(member.parsed.others, []).append(member)

    def region(self) -> Tree:
        """Returns the region that they describe."""
        return self._within(lambda _: True)

    def functions(self) -> Tree:
        """Returns the functions of Alters inside their descriptions, `False` elsewhere."""
        return self._within(_function)

    def places(self) -> Tree:
        """Returns the positions where they begin to apply."""
        begins = {begin: positions_after(begin) for begin in dict.fromkeys(m.begin for m in self.members)}
        if len(begins) == 1:
            return next(iter(begins.values()))
        return self._level({m.value: begins[m.begin] for m in self.members})

    def one_by_others(self) -> Iterator[Accent]:
        """Yields one accent for each set of other conditions, with the description of a single marker."""
        for first, *_ in self._by_others.values():
            yield self.alone(first)

    def alone(self, member: GroupedMarker) -> Accent:
        """Returns an accent with the description of its own marker only."""
        accent = member.parsed.meaning
        assert isinstance(accent, Accent)
        description = _Step(self.group, [member]).region()
        return evolve(accent, description=description, text=member.marker.text)

    def _within(self, what: Callable[[GroupedMarker], Any]) -> Tree:
        whole: Tree = False
        for others, members in self._by_others.items():
            here = regions.restricted(self._level({m.value: what(m) for m in members}), others)
            whole = here if whole is False else regions.changed(whole, here, lambda _, new: new)
        partition = self.group.partition
        return whole if partition is None else regions.restricted(whole, region_of(partition))

    def _level(self, points: Mapping[Value, Tree]) -> Tree:
        return Level(self.group.attribute, False, (), (False,), Map(points))


def _function(member: GroupedMarker) -> Affine:
    accent = member.parsed.meaning
    assert isinstance(accent, Accent)
    assert isinstance(accent.primitive, Alter)
    return accent.primitive.function


def _closed(state: SourceState, step: _Step) -> SourceState | None:
    region = step.region()
    if regions.attributes(region) & _read_otherwise(state):
        return None
    return state.close(region, step.places())


def _evolved(
    state: SourceState,
    step: _Step,
    location_of: Place,
    check: Check,
    alters: list[tuple[GroupedMarker, Altered]],
) -> SourceState | None:
    """Returns the state after the accents of a round; `None` if they must be applied one by one. Extends `alters` by
    those that are remembered."""
    accent = evolve(step.alone(step.members[0]), description=step.region())
    where = accent.description  # raw and canonical values are equal here, see the next check
    name, otherwise = accent.primitive.attribute, _read_otherwise(state)
    is_checked_alone = name in state.codes or name in state.swaps.partners
    if accent.mentions & otherwise or is_checked_alone or not _are_possible(state, step):
        return None
    if any(warnings_about(state, single) for single in step.one_by_others()):
        return None
    state = with_superseded(state, accent)
    live = regions.difference(where, state.closed)
    places = step.places()
    match accent.primitive:
        case Add() as added if name in state.types:
            check_add(state, accent, added, where, live)
            next_ = state.with_add(added, where, where, places)
        case Drop() if _has_all(state, name, where, step):
            next_ = state.with_drop(name, where, places)
        case Alter() as change if _is_altered(state, name) and _has_all(state, name, where, step):
            functions = step.functions()
            if _is_repeated(state, name, functions, live) or misnamed(state, change, functions) is not None:
                return None
            next_ = state.naming(change).with_functions(name, functions, functions, places)
            alters += _last_alters(step, location_of)
        case ToUnit() as change if _is_altered(state, name) and _has_all(state, name, where, step):
            next_ = state.naming(change)
            for alter in alters_of(state, accent, change):
                if not isinstance(alter.primitive, Alter):
                    return None
                functions = restrict_to(alter.description, alter.primitive.function)
                next_ = next_.with_functions(name, functions, functions, places)
                alters += _last_alters(step, location_of, alter)
        case _:
            return None
    check_apart(next_, accent)
    if not regions.is_empty(live, state.universe):
        check(next_, accent)
    return next_


def _read_otherwise(state: SourceState) -> set[str]:
    """Returns the attributes whose canonical values may be others than a description has."""
    return {*state.decoded, *state.swaps.partners}


def _are_possible(state: SourceState, step: _Step) -> bool:
    """Returns True if every value is in the domain (RQ216, RQ217)."""
    domain = state.universe[step.group.attribute].members
    return domain is True or (
        isinstance(domain, Level) and all(domain.at(m.value) is True for m in step.members)
    )


def _is_altered(state: SourceState, name: str) -> bool:
    """Returns True if an Alter of an attribute changes only its functions."""
    return name in state.units and state.types[name] == DOUBLE and not state.universe[name].integral


def _has_all(state: SourceState, name: str, where: Tree, step: _Step) -> bool:
    """Returns True if for each value some described tuple may have an attribute (RQ206)."""
    having = state.there(name, where)
    over = regions.attributes(having) - {step.group.attribute}
    values = regions.exists(having, over, state.universe)
    return values is True or (
        isinstance(values, Level) and all(values.at(m.value) is True for m in step.members)
    )


def _is_repeated(state: SourceState, name: str, functions: Tree, live: Tree) -> bool:
    """Returns True if one of the functions is already in force in its region (RQ218, N8)."""
    alive = regions.difference(live, state.facts().dead(name))

    def shortcut(a: Tree, b: Tree) -> Tree | None:
        return False if a is False else None

    def is_standing(function: Any, history: Any) -> bool:
        return function is not False and function in stand(history)

    applied_to = regions.restricted(functions, alive)
    twice = regions.combine(applied_to, state.units[name], Operation(shortcut, is_standing))
    return not regions.is_empty(twice, state.universe)


def _last_alters(
    step: _Step, location_of: Place, alter: Accent | None = None
) -> Iterator[tuple[GroupedMarker, Altered]]:
    """Yields the last Alters, up to the number that is remembered. `alter`: an Alter that unit accents expand to, for
    some of the tuples."""
    for member in step.members[-MAX_ALTERS:]:
        accent = step.alone(member)
        where, primitive = accent.description, accent.primitive
        if alter is not None:
            where, primitive = regions.intersection(where, alter.description), alter.primitive
        assert isinstance(primitive, Alter)
        if where is not False:
            yield (
                member,
                Altered(
                    primitive.attribute, primitive.function, where, location_of(member.marker), accent.text
                ),
            )
