"""Shows which value sends what now: a source by the values that accents describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, assert_never

from attrs import asdict, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Alter
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.facts.facts import ABSENT, NO_FEEDER, PRESENT, Facts
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions import Level, Tree, Value
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import single_accents
from cedilla.runtime.control.change_detection.groups import counted_attributes, time_axis
from cedilla.runtime.control.markers.source_marker_parser import read_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import UnitNames, source_names
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.journal import MAX_MEMBERS, rates

_MAX_ATTRIBUTES = 8
"""The most attributes that are shown for each value."""
MAX_ROWS, MAX_FOUND = 200, 50
"""The most rows of a table, and of an answer to a search."""
_MAX_WAYS, _NAMED = 12, 12
"""The most ways to send an attribute, and the names that are shown of each."""
_MIN_SILENCE, _SILENCE = 60, 5
"""A value is silent after the first number of seconds, and after the second number times the median age of values."""

Record = Sequence[float]


@frozen
class Sends:
    """The form of an attribute that a value sends. `changed`: the unit is not the declared one."""

    unit: str | None
    changed: bool
    sent: Literal["yes", "no", "may be"]

    @property
    def text(self) -> str:
        match self.sent:
            case "yes":
                return self.unit or "sent"
            case "no":
                return "not sent"
            case "may be":
                return f"{self.unit}, optional" if self.unit else "optional"
            case _:
                assert_never(self.sent)


@frozen(eq=False)
class MemberTable:
    """The values of an attribute that accents describe. Rows and groups are computed when they are asked for."""

    attribute: str
    others: Sequence[str]
    values: Mapping[str, Value]
    _records: Mapping[str, Record]
    _views: Mapping[str, _View]
    _since: _Since
    _rejected: Mapping[tuple[str, str], int]
    _rates: Mapping[str, float]
    _silent: frozenset[str]

    def model(self) -> dict[str, Any]:
        """Returns the first rows, silent values first where there are many, counts of all, and who sends the same."""
        names = [*self.values]
        if len(names) > MAX_ROWS:
            names = sorted(names, key=lambda n: (n not in self._silent, -self._last(n)))
        return {
            "attribute": self.attribute,
            "others": [*self.others],
            "rows": [*map(self._row, names[:MAX_ROWS])],
            "counts": {
                "all": len(names),
                "silent": len(self._silent),
                "limited": len(self._records) >= MAX_MEMBERS,
            },
            "ways": {name: self._ways(name) for name in self.others},
        }

    def found(self, text: str, sends: Mapping[str, str]) -> dict[str, Any]:
        """Returns the values whose name contains a text, and that send what `sends` says, silent ones first."""
        names = [
            name
            for name, value in self.values.items()
            if text.lower() in name.lower()
            and all(self._views[other].at(value).text == way for other, way in sends.items())
        ]
        first = sorted(names, key=lambda name: name not in self._silent)[:MAX_FOUND]
        return {"rows": [*map(self._row, first)], "all": len(names)}

    def _last(self, name: str) -> float:
        return self._records[name][0] if name in self._records else 0.0

    def _row(self, name: str) -> dict[str, Any]:
        record, value = self._records.get(name), self.values[name]
        return {
            "value": name,
            "last": None if record is None else record[0],
            "total": 0 if record is None else int(record[1]),
            "rate": round(self._rates.get(name, 0.0), 1),
            "silent": name in self._silent,
            "rejected": self._rejected.get((self.attribute, name), 0),
            "attributes": {
                other: {"text": (sends := view.at(value)).text}
                | asdict(sends)
                | {"since": self._since.of(other, value)}
                for other, view in self._views.items()
            },
        }

    def _ways(self, other: str) -> list[dict[str, Any]]:
        """Returns the ways to send an attribute, the commonest first; the rarest are counted together."""
        alike: dict[Sends, list[str]] = {}
        for name, value in self.values.items():
            alike.setdefault(self._views[other].at(value), []).append(name)
        ordered = sorted(alike.items(), key=lambda way: -len(way[1]))
        ways = [
            {
                "text": sends.text,
                "changed": sends.changed,
                "count": len(names),
                "silent": len(self._silent.intersection(names)),
                "first": names[:_NAMED],
            }
            for sends, names in ordered[:_MAX_WAYS]
        ]
        if rest := ordered[_MAX_WAYS:]:
            count = sum(len(names) for _, names in rest)
            ways.append({"text": None, "changed": True, "count": count, "others": len(rest), "first": []})
        return ways


def member_tables(
    plan: Plan,
    source: Source,
    commit: Commit,
    journal: Mapping[str, Any],
    rejected: Mapping[tuple[str, str], int],
    now: float,
) -> list[MemberTable]:
    """Returns a table for each described attribute of a source: its values with when they were last seen, their tuples,
    and the unit and the presence of the other attributes now. `rejected`: set aside by attribute and value."""
    state = commit.sources[source.name]
    recorded = journal.get("members", {}).get(source.name, {})
    names = source_names(plan, source, commit.sources)
    facts = state.facts()
    changes = _Changes(source, state, [a for a in journal.get("accents", ()) if a["source"] == source.name])
    tables: list[MemberTable] = []
    for attribute in counted_attributes(source, state):
        others = _others(source, state, attribute)
        records = recorded.get(attribute, {})
        values = _values(source, state, attribute, records)
        newest = max((record[0] for record in records.values()), default=now)
        quiet = _quiet(records, newest)
        tables.append(
            MemberTable(
                attribute,
                others,
                values,
                records,
                {name: _View(attribute, name, facts, state, names) for name in others},
                _Since(attribute, changes),
                rejected,
                dict(rates(records, now)),
                frozenset(n for n in values if n not in records or newest - records[n][0] > quiet),
            )
        )
    return tables


def _others(source: Source, state: SourceState, attribute: str) -> list[str]:
    """Returns the attributes to show: those with a unit or an accent first."""
    left = [name for name in state.types if name not in (attribute, time_axis(source))]
    declared = {a.name for a in source.attributes}
    changed = [
        name
        for name in left
        if name in state.units or name in state.codes or name not in declared or name in state.bent
    ]
    measured = [name for name in left if name in source.units]
    optional = [a.name for a in source.attributes if a.optional and a.name in left]
    return list(dict.fromkeys((*changed, *measured, *optional, *left)))[:_MAX_ATTRIBUTES]


def _values(
    source: Source, state: SourceState, attribute: str, records: Mapping[str, Record]
) -> dict[str, Value]:
    """Returns the values of the declared domain, or those that came if it is not a list, each with its text."""
    type_ = state.types[attribute].name
    values: dict[str, Value] = {}
    declared = next((a for a in source.attributes if a.name == attribute), None)
    if declared is not None and isinstance(members := state.domain(declared), Level):
        listed = [value for value, inside in members.points.items() if inside]
        for value in sorted(listed, key=lambda v: (isinstance(v, str), v))[:MAX_MEMBERS]:
            values[_text(value)] = value
        if len(listed) == len(members.points) and listed and not any(members.pieces):
            return values  # others came in rejected tuples only
    for name in records:
        if len(values) < MAX_MEMBERS:
            values.setdefault(name, name if type_ == "string" else _parsed(name))
    return values


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parsed(name: str) -> Value:
    return {"true": True, "false": False}.get(name, name) if name in ("true", "false") else int(name)


def _quiet(records: Mapping[str, Record], newest: float) -> float:
    """Returns the seconds after which a value counts as silent. Ages are before the newest value: those of a run that
    has stopped do not grow."""
    ages = sorted(newest - record[0] for record in records.values())
    return max(_MIN_SILENCE, _SILENCE * ages[len(ages) // 2]) if ages else _MIN_SILENCE


class _View:
    """An attribute of a source, by one value of another attribute."""

    def __init__(self, by: str, name: str, facts: Facts, state: SourceState, names: UnitNames) -> None:
        self._by, self._name, self._names = by, name, names
        self._units: Tree = facts.live_units(name) if name in facts.units else NO_FEEDER
        self._presence = state.present.get(name, ABSENT)
        self._declared = None if (unit := names.units.get(name)) is None else short(unit)
        self._known: dict[tuple[object, object], tuple[Tree, Tree, Sends]] = {}

    def at(self, value: Value) -> Sends:
        """Returns what is sent now. Values with the same parts of trees send the same: each part is read once."""
        parts = _part(self._presence, self._by, value), _part(self._units, self._by, value)
        key = (_key(parts[0]), _key(parts[1]))
        if key not in self._known:
            self._known[key] = (*parts, self._sends(value, *parts))
        return self._known[key][2]

    def _sends(self, value: Value, presence: Tree, units: Tree) -> Sends:
        leaves = _leaves(presence, self._by, value)
        sent = "yes" if leaves == {PRESENT} else "no" if leaves == {ABSENT} else "may be"
        histories = _leaves(units, self._by, value)
        functions = {history[-1] for history in histories if history != NO_FEEDER and history}
        texts = sorted(
            self._names.of(self._name, f) or (self._declared or "as declared" if f.is_identity else _body(f))
            for f in functions
        )
        changed = any(not function.is_identity for function in functions)
        return Sends(short(" or ".join(texts)) or self._declared, changed, sent)


def _body(function: Affine) -> str:
    """Returns `y / 1000`."""
    return str(Alter("x", function)).partition("-> ")[2].removesuffix(")")


def _part(tree: Tree, by: str, value: Value) -> Tree:
    """Returns the part of a tree for one value of its first attribute, and all of a tree of others."""
    return tree.at(value) if isinstance(tree, Level) and tree.attribute == by else tree


def _key(tree: Tree) -> object:
    return id(tree) if isinstance(tree, Level) else tree


def _leaves(tree: Tree, by: str, value: Value) -> set[Any]:
    """Returns the leaves of a tree for one value of an attribute."""
    if by not in regions.attributes(part := _part(tree, by, value)):
        return set(regions.leaves(part))
    box = regions.box({by: regions.values(by, [value])})
    return {leaf for leaf in regions.leaves(regions.choose(box, part, _OUTSIDE)) if leaf != _OUTSIDE}


_OUTSIDE = "outside"


class _Changes:
    """The changes of units and presence by the accents of the journal, the newest first. They are read at first use."""

    def __init__(self, source: Source, state: SourceState, accents: Sequence[Mapping[str, Any]]) -> None:
        self._source, self._state, self._accents = source, state, accents

    @cached_property
    def by_attribute(self) -> Mapping[str, Sequence[tuple[float, Tree]]]:
        """Attribute -> the times of its changes, each with the tuples that it describes."""
        changes: dict[str, list[tuple[float, Tree]]] = {}
        for accent in reversed(self._accents):
            for name, where in _changes(accent["text"], self._source, self._state):
                changes.setdefault(name, []).append((accent["time"], where))
        return changes


class _Since:
    """Finds the last change of the unit or the presence of an attribute for a value."""

    def __init__(self, by: str, changes: _Changes) -> None:
        self._by, self._changes = by, changes

    def of(self, attribute: str, value: Value) -> float | None:
        """Returns the time of the latest accent; `None` if the journal has none."""
        for time, where in self._changes.by_attribute.get(attribute, ()):
            if any(leaf is True for leaf in _leaves(where, self._by, value)):
                return time
        return None


def _changes(text: str, source: Source, state: SourceState) -> Iterator[tuple[str, Tree]]:
    """Yields the attributes that an accent changes, each with the tuples that it describes; an accent that cannot be
    read by now has none."""
    try:
        singles = [read_accent(source, state, single) for single in single_accents(text)]
    except DiagnosticError:
        return
    for accent in singles:
        yield accent.primitive.attribute, accent.description
