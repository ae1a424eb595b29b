"""States the changes of a telemetry schema as accents of a stream, by the version in the schema of each point.

The names in the query are those of one version. The accents of older versions lead back from it, the newest first, and
those of newer ones forth (theory N10): each stands for the name that its tuples have in place of the next one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from attrs import define, evolve, field, frozen

from cedilla.compiler.expressions.types import STRING, VERSION
from cedilla.compiler.expressions.types.versions import key_of
from cedilla.compiler.plan import Attribute, Plan, Source
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.compiler.plan.telemetry import keys_in_point
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.control.schemas.changes import Changes, Chapter, Entry, Stated, Undecided
from cedilla.runtime.tools.importing.telemetry_files import (
    Change,
    RenamedAttributes,
    RenamedMetrics,
    SplitMetric,
    TelemetrySchema,
    Version,
    undone,
)

_MEASURED = ("value", "sum", "min", "max")
"""The fields of a point whose unit is that of its metric."""
_ROOTS: Mapping[str, tuple[str, ...]] = {
    "all": ("resource", "attribute"),
    "resources": ("resource",),
    "metrics": ("attribute",),
}
"""The telemetry whose attributes a section changes."""


def import_schema(
    schema: TelemetrySchema, name: str, names_of: str | None = None, plan: Plan | None = None, of: str = ""
) -> Changes:
    """Returns the changes of a file as accents.

    `names_of`: the version whose names the query has, the newest by default. `plan` and `of`: the query and its stream;
    without them all changes are stated, with names as `init` would give. Raises `DiagnosticError` RQ510 if the file has
    no such version, or the query does not read the version.
    """
    versions = [version.name for version in schema.versions]
    if names_of is not None and names_of not in versions:
        hint = did_you_mean(names_of, versions, "versions")
        raise failure("RQ510", f"{name} has no version {names_of}", hint=hint)
    base = names_of or (versions[-1] if versions else "")
    source = None if plan is None else plan.source_of[of]
    names = _Names.of(source)
    chapters = [*_chapters(schema, base, names)]
    if (question := _units(names, source)) is not None:
        chapters.insert(0, Chapter("units", (question,)))
    changes = Changes(_head(schema, name, base, names, of), tuple(chapters))
    return changes if plan is None else changes.fitting(plan, of)


def _chapters(schema: TelemetrySchema, base: str, names: _Names) -> Iterator[Chapter]:
    """Yields the accents of older versions, the newest first, and then those of newer ones."""
    at = key_of(base) if base else ""
    older = [version for version in schema.versions if key_of(version.name) <= at]
    newer = [version for version in schema.versions if key_of(version.name) > at]
    start = names.copy()
    for version in reversed(older):
        step = _Step(version, names, f"{names.schema} < {STRING.wire(version.bound)}")
        yield Chapter(f"before {version.name}", tuple(step.backward()))
    start.renamed = names.renamed
    for version in newer:
        step = _Step(version, start, f"{names.schema} >= {STRING.wire(version.bound)}")
        yield Chapter(f"from {version.name} on", tuple(step.forward()))
    names.unread += start.unread


def _head(schema: TelemetrySchema, name: str, base: str, names: _Names, of: str) -> tuple[str, ...]:
    origin = f"{name} ({schema.url})" if schema.url else name
    lines = [
        f"Changes of metrics by the version of their schema, from {origin}.",
        f"The query has the names of version {base}; points without a schema are read as such.",
    ]
    if names.source is None:
        lines.append(
            "These are all changes of the file. A query refuses those of attributes that it does not declare (RQ207); "
            "`--query QUERY` leaves them out, and takes its names."
        )
        lines.append(
            'The query declares `schema?: version`, and states `accent NAME from file "changes.rqm";`.'
        )
    else:
        lines.append(f"New names that `{of}` does not read are left out: {names.unread:,}.")
    return tuple(lines)


# --- names ---


@frozen
class _Own:
    """An attribute of the query. `metrics`: those whose points have it by some name; `None` for all."""

    attribute: str
    metrics: frozenset[str] | None = None


@define
class _Names:
    """The names that tuples have at some version. `by`: names of attributes; `metrics`: of the metrics that the
    query reads, `None` for all. `schema`, `metric`: the attributes with the version and the name of the metric."""

    source: Source | None
    schema: str = "schema"
    metric: str | None = "metric"
    by: dict[FieldPath, list[_Own]] = field(factory=dict[FieldPath, list[_Own]])
    metrics: frozenset[str] | None = None
    renamed: list[tuple[str, str, RenamedMetrics]] = field(factory=list[tuple[str, str, RenamedMetrics]])
    unread: int = 0

    @classmethod
    def of(cls, source: Source | None) -> _Names:
        """Returns the names in a query's declaration. Raises `DiagnosticError` RQ510 if it has no version."""
        if source is None:
            return cls(None)
        by_path = {_path(attribute): attribute for attribute in source.attributes}
        schema = by_path.get(("schema",))
        if schema is None or schema.type != VERSION:
            hint = "declare the version of the schema: `schema?: version`"
            raise failure("RQ510", f"`{source.name}` does not read the version of its schema", hint=hint)
        metric = by_path.get(("metric",))
        by = {path: [_Own(attribute.name)] for path, attribute in by_path.items() if len(path) == 2}
        metrics = frozenset(source.metrics) or None
        return cls(source, schema.name, None if metric is None else metric.name, by, metrics)

    def copy(self) -> _Names:
        """Returns the same names, which change alone."""
        return evolve(self, by=dict(self.by), renamed=[], unread=0)

    def owners(self, path: FieldPath) -> list[_Own]:
        """Returns the attributes that tuples have by a name."""
        if path in self.by or self.source is not None:
            return self.by.get(path, [])
        return [_Own(re.sub(r"\W+", "_", path[-1]))]

    def roots(self, section: str) -> tuple[str, ...]:
        """Returns where the attributes of a section are; without a query those of points, if they may be."""
        roots = _ROOTS[section]
        return roots if self.source is not None else roots[-1:]

    @property
    def taken(self) -> frozenset[str]:
        """The names of attributes, which no key may have."""
        return frozenset(() if self.source is None else (a.name for a in self.source.attributes))

    def reads(self, metric: str) -> bool:
        """Returns True if the query reads a metric, by its name at this version."""
        return self.metrics is None or metric in self.metrics

    def rename_metric(self, now: str, then: str) -> None:
        """Takes another name for a metric."""
        if self.metrics is not None and now in self.metrics:
            self.metrics = self.metrics - {now} | {then}
        for path, owners in self.by.items():
            self.by[path] = [
                own
                if own.metrics is None or now not in own.metrics
                else _Own(own.attribute, own.metrics - {now} | {then})
                for own in owners
            ]


def _path(attribute: Attribute) -> FieldPath:
    return keys_in_point(attribute.name, tuple(attribute.keys))


# --- steps ---


@frozen
class _Step:
    """Leads names over one version. `versions`: the condition on the version of the tuples that have others."""

    version: Version
    names: _Names
    versions: str

    def backward(self) -> Iterator[Entry]:
        for change in reversed(self.version.changes):
            back = undone(change)
            yield from self._entries(change if back is None else back)
        for change in self.version.elsewhere:
            yield from self._of_others(change)

    def forward(self) -> Iterator[Entry]:
        for change in self.version.changes:
            if isinstance(change, SplitMetric):
                if self.names.reads(change.metric):
                    why = f"`{change.metric}` is divided from {self.version.name} on, and its parts lack `{change.key}`"
                    yield Undecided(why, "a query with the names of a later version, `--names`", change.span)
                continue
            yield from self._entries(change)

    def _entries(self, change: Change) -> Iterator[Entry]:
        """Yields the accents of a change from the names now to those of the tuples."""
        match change:
            case RenamedAttributes():
                roots = self.names.roots(change.section)
                self.names.unread += sum(
                    not any(self.names.owners((root, now)) for root in roots) for now, _ in change.pairs
                )
                for root in roots:
                    yield from self._attributes(root, change)
            case RenamedMetrics():
                yield from self._metrics(change)
            case SplitMetric():
                yield from self._parts(change)
            case _:
                assert_never(change)

    def _attributes(self, root: str, change: RenamedAttributes) -> Iterator[Entry]:
        names, limit = self.names, frozenset(change.metrics) or None
        renames = [
            (part, (root, now), (root, then))
            for now, then in change.pairs
            for own in names.owners((root, now))
            if (part := _within(own, limit, names.metrics)).metrics != frozenset()
        ]
        ways = Counter(own.attribute for own, _, _ in renames)
        takers = Counter(then for _, _, then in renames)
        says = f"rename_attributes, line {change.span.line}"
        unclear: dict[str, list[str]] = {}
        for own, now, then in renames:
            where = self._where(own)
            accent = self._accent(where or "", f"rename({unit_text(then[1])}, {own.attribute})")
            if where is None:
                why = f"`{now[1]}` was renamed for some metrics, and the query does not read which metric a point is of"
                yield Undecided(why, "declare `metric: string`, and import again", change.span)
            elif then[1] in names.taken or any(
                other.attribute != own.attribute for other in names.by.get(then, ())
            ):
                why = f"`{own.attribute}` has the key `{then[1]}` in other versions, which is of another attribute"
                yield Undecided(
                    why, "name the attributes otherwise, or read one of them", change.span, (accent,)
                )
            elif ways[own.attribute] > 1 or takers[then] > 1:
                unclear.setdefault(own.attribute if ways[own.attribute] > 1 else then[1], []).append(accent)
            else:
                yield Stated(accent, says, change.span)
                self._move(own, now, then, limit)
        for name, accents in unclear.items():
            yield Undecided(
                f"`{name}` stands for several names at once", "one of these", change.span, tuple(accents)
            )

    def _move(self, own: _Own, now: FieldPath, then: FieldPath, limit: frozenset[str] | None) -> None:
        """Takes another name for an attribute, in the metrics that have the change."""
        by = self.names.by
        left = [
            _without(other, limit) if other.attribute == own.attribute else other
            for other in self.names.owners(now)
        ]
        by[now] = [other for other in left if other is not None]
        by[then] = [*by.get(then, []), own]

    def _metrics(self, change: RenamedMetrics) -> Iterator[Entry]:
        names = self.names
        pairs = [(now, then) for now, then in change.pairs if names.reads(now)]
        names.unread += len(change.pairs) - len(pairs)
        read = pairs
        if names.source is not None and names.source.metrics:
            for now, then in pairs:
                if then not in names.source.metrics:
                    why = f"the stream reads the metric `{now}`, and not `{then}`, its name in other versions"
                    yield Undecided(why, "add it to `metrics`", change.span)
            read = [(now, then) for now, then in pairs if then in names.source.metrics]
        sides = Counter(name for pair in {*read} for name in {*pair})
        chained = {now for now, _ in read} & {then for _, then in read}
        clear = [pair for pair in read if all(sides[name] == 1 or name in chained for name in pair)]
        if clear and names.metric is not None:
            yield Stated(
                self._recode(self.versions, clear), f"rename_metrics, line {change.span.line}", change.span
            )
        unclear = [pair for pair in read if pair not in clear]
        if unclear and names.metric is not None:
            choices = tuple(self._recode(self.versions, [pair]) for pair in unclear)
            several = ", ".join(
                f"`{name}`" for name in dict.fromkeys(name for pair in unclear for name in pair)
            )
            yield Undecided(
                f"several metrics have one name: {several}", "one of each name", change.span, choices
            )
        for now, then in clear:
            names.rename_metric(now, then)
            names.renamed.append((now, then, change))

    def _parts(self, change: SplitMetric) -> Iterator[Entry]:
        names = self.names
        parts = [(new, value) for new, value in change.parts if names.reads(new)]
        names.unread += len(change.parts) - len(parts)
        if not parts:
            return
        owners = names.owners(("attribute", change.key))
        if names.metric is None or not owners:
            why = f"`{change.metric}` was divided by its attribute `{change.key}`, which the query does not read"
            hint = (
                f'declare `metric: string` and an attribute from attribute "{change.key}", and import again'
            )
            yield Undecided(why, hint, change.span)
            return
        types = {} if names.source is None else {a.name: a.type for a in names.source.attributes}
        for new, value in parts:
            own = owners[0].attribute
            constant = STRING.wire(value) if types.get(own, STRING) == STRING else value
            where = f"{self.versions}, {own} = {constant}"
            yield Stated(
                self._recode(where, [(new, change.metric)]), f"split, line {change.span.line}", change.span
            )
        for new, _ in parts:
            names.rename_metric(new, change.metric)

    def _of_others(self, change: RenamedAttributes) -> Iterator[Entry]:
        """Yields questions about new names that the file has for spans or logs only."""
        if self.names.source is None:
            return
        for old, new in change.pairs:
            for own in self.names.owners(("attribute", new)):
                why = f"`{old}` became `{new}` in {self.version.name}; the file says so of `{change.section}` only"
                choice = self._accent(self.versions, f"rename({unit_text(old)}, {own.attribute})")
                yield Undecided(why, "state it if it is so in your metrics, too", change.span, (choice,))

    def _where(self, own: _Own) -> str | None:
        """Returns the conditions on tuples with an attribute; `None` if the query cannot say them."""
        if own.metrics is None or (self.names.metrics is not None and self.names.metrics <= own.metrics):
            return self.versions
        if self.names.metric is None:
            return None
        names = [STRING.wire(name) for name in sorted(own.metrics)]
        named = f"= {names[0]}" if len(names) == 1 else f"in {{{', '.join(names)}}}"
        return f"{self.versions}, {self.names.metric} {named}"

    def _recode(self, where: str, pairs: Sequence[tuple[str, str]]) -> str:
        codes = ", ".join(f"{STRING.wire(now)}: {STRING.wire(then)}" for now, then in pairs)
        return self._accent(where, f"recode({self.names.metric}, {{{codes}}}, else same)")

    @staticmethod
    def _accent(where: str, change: str) -> str:
        return f"[[{where}, {change}]]"


def _within(own: _Own, limit: frozenset[str] | None, read: frozenset[str] | None) -> _Own:
    """Returns an attribute in the metrics that a change is for, of those that are read."""
    if limit is None:
        return own
    metrics = limit if own.metrics is None else own.metrics & limit
    return _Own(own.attribute, metrics if read is None else metrics & read)


def _without(own: _Own, limit: frozenset[str] | None) -> _Own | None:
    """Returns an attribute in the metrics that keep its name. If all metrics have it, the others keep it, too."""
    if limit is None:
        return None
    if own.metrics is None:
        return own
    return _Own(own.attribute, own.metrics - limit) if own.metrics - limit else None


def _units(names: _Names, source: Source | None) -> Undecided | None:
    """Returns the question whether units changed with names, unless the query reads the unit of each point."""
    if not names.renamed:
        return None
    if source is not None:
        measured = [a for a in source.attributes if _path(a)[0] in _MEASURED]
        unit = {a.name for a in source.attributes if _path(a) == ("unit",)}
        if all(a.unit_from is not None and a.unit_from[0] in unit for a in measured):
            return None
    pairs = [f"`{then}` and `{now}`" for now, then, _ in names.renamed]
    more = f", and {len(pairs) - 3:,} more" if len(pairs) > 3 else ""
    why = f"the file does not say whether the unit changed with the name: {', '.join(pairs[:3])}{more}"
    hint = "`unit: string, sum: double unit from unit in {s, ms}` reads the unit of each point"
    return Undecided(why, hint, names.renamed[0][2].span)
