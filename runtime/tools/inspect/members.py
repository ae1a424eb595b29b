"""Shows who has changed and who has not: a source by the values that accents describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
MAX_ROWS = 200
"""The most rows of a table."""
_MIN_SILENCE, _SILENCE = 60, 5
"""A value is silent after the first number of seconds, and after the second number times the median age of values."""

Record = Sequence[float]


def members_of(
    plan: Plan, source: Source, commit: Commit, journal: Mapping[str, Any], now: float
) -> list[dict[str, Any]]:
    """Returns a table for each described attribute of a source: its values with when they were last seen, their tuples,
    and the unit and the presence of the other attributes now."""
    state = commit.sources[source.name]
    recorded = journal.get("members", {}).get(source.name, {})
    names = source_names(plan, source, commit.sources)
    facts = state.facts()
    tables: list[dict[str, Any]] = []
    for attribute in counted_attributes(source, state):
        others = _others(source, state, attribute)
        records = recorded.get(attribute, {})
        values = _values(source, state, attribute, records)
        since = _Since(
            source, state, attribute, [a for a in journal.get("accents", ()) if a["source"] == source.name]
        )
        views = {name: _View(attribute, name, facts, state, names) for name in others}
        pace = dict(rates(records, now))
        newest = max((record[0] for record in records.values()), default=now)
        quiet = _quiet(records, newest)
        rows = [
            {
                "value": name,
                "last": records[name][0] if name in records else None,
                "total": int(records[name][1]) if name in records else 0,
                "rate": round(pace.get(name, 0.0), 1),
                "silent": name not in records or newest - records[name][0] > quiet,
                "attributes": {
                    n: view.at(value) | {"since": since.of(n, value, name)} for n, view in views.items()
                },
            }
            for name, value in values.items()
        ]
        tables.append(_table(attribute, others, rows))
    return tables


def _table(attribute: str, others: list[str], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a table of limited size, silent values first where they are many, with counts of all."""
    units = {n: dict(Counter(row["attributes"][n]["unit"] or "no unit" for row in rows)) for n in others}
    counts = {"all": len(rows), "silent": sum(row["silent"] for row in rows), "units": units}
    if len(rows) > MAX_ROWS:
        rows = sorted(rows, key=lambda row: (not row["silent"], -(row["last"] or 0)))[:MAX_ROWS]
    return {"attribute": attribute, "others": others, "rows": rows, "counts": counts}


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
        self._units = facts.live_units(name) if name in facts.units else None
        self._presence = state.present.get(name, ABSENT)
        self._declared = None if (unit := names.units.get(name)) is None else short(unit)

    def at(self, value: Value) -> dict[str, Any]:
        """Returns the unit, whether it differs from the declared one, and whether the attribute is sent."""
        presence = _leaves(self._presence, self._by, value)
        sent = "yes" if presence == {PRESENT} else "no" if presence == {ABSENT} else "may be"
        if self._units is None:
            return {"unit": self._declared, "changed": False, "sent": sent}
        histories = _leaves(self._units, self._by, value)
        functions = {history[-1] for history in histories if history != NO_FEEDER and history}
        texts = sorted(
            self._names.of(self._name, f) or (self._declared or "as declared" if f.is_identity else _body(f))
            for f in functions
        )
        changed = any(not function.is_identity for function in functions)
        return {"unit": short(" or ".join(texts)) or self._declared, "changed": changed, "sent": sent}


def _body(function: Affine) -> str:
    """Returns `y / 1000`."""
    return str(Alter("x", function)).partition("-> ")[2].removesuffix(")")


def _leaves(tree: Tree, by: str, value: Value) -> set[Any]:
    """Returns the leaves of a tree for one value of an attribute."""
    if isinstance(tree, Level) and tree.attribute == by:
        return set(regions.leaves(tree.at(value)))
    if by not in regions.attributes(tree):
        return set(regions.leaves(tree))
    box = regions.box({by: regions.values(by, [value])})
    return {leaf for leaf in regions.leaves(regions.choose(box, tree, _OUTSIDE)) if leaf != _OUTSIDE}


_OUTSIDE = "outside"


class _Since:
    """Finds the last change of the unit or the presence of an attribute for a value, by the accents of the journal."""

    def __init__(
        self, source: Source, state: SourceState, by: str, accents: Sequence[Mapping[str, Any]]
    ) -> None:
        self._by = by
        self._changes = [
            (accent["time"], name, where)
            for accent in reversed(accents)
            for name, where in _changes(accent["text"], source, state)
        ]

    def of(self, attribute: str, value: Value, name: str) -> float | None:
        """Returns the time of the latest accent; `None` if the journal has none."""
        for time, changed, where in self._changes:
            if changed == attribute and any(leaf is True for leaf in _leaves(where, self._by, value)):
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
