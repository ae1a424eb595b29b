"""Sources of a plan: streams and tables, and their declared attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from attrs import field, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import ToForm
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.units.own import NO_OWN_UNITS, OwnUnits, short
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import LATENT, PRESENT, Facts
from cedilla.compiler.plan.field_paths import (
    EitherPath,
    FieldPath,
    TextPath,
    alternatives,
    field_path,
    levels,
    path_text,
    paths_after,
    with_signs,
)
from cedilla.compiler.plan.formats import FORMATS, FormatKind, catalogued
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.compiler.plan.telemetry import point_paths_after
from cedilla.compiler.plan.unfolding import Unfolding
from cedilla.compiler.regions import Domain, Tree
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.formatting.expression_formatter import form_clause, quote, unit_text
from cedilla.grammar.parser import parse_punctuation
from cedilla.grammar.syntax import SetPattern


def _type(type_: Type | str) -> Type:
    return Type.parse(type_) if isinstance(type_, str) else type_


@lru_cache(1024)
def _members(name: str, type_: Type, domain: str) -> Tree:
    """Returns the values of a declared domain; cached, because each marker needs it."""
    return patterns.value_set(name, type_, parse_punctuation(f"[{name} in {domain}]").conditions[0].pattern)


class TableColumn(NamedTuple):
    """An attribute of a table whose values are the domain of another attribute."""

    table: str
    attribute: str


@frozen
class Attribute:
    """A declared attribute.

    `domain`: its domain as text, `{1, 2}`, `[1, 10)` or `devices.s`. `unit`: that of its canonical values.
    `unit_from`: the attribute that names the unit of each tuple, and the units that it may name.

    `members`: the values of a domain that comes from a table, once the table is read. `keys`: the path of its
    value in an object; empty if its name is the key. `others`: further paths; a tuple may have one of them
    instead.
    `in_text`: its value is a number inside a text. `decimal`: the signs of numbers in texts, `,` in place of the
    point, or `,.` for one of the two. `zone`: that of times without an offset. Both hold until an accent names another.
    `default`: the value that a projection fills in, in the words of the query. It is optional for its source.
    """

    name: str
    type: Type = field(converter=_type)
    optional: bool = False
    domain: str | None = None
    members: Tree | None = field(default=None, eq=False, repr=False)
    unit: str | None = None
    unit_from: tuple[str, tuple[str, ...]] | None = None
    keys: FieldPath = ()
    others: tuple[FieldPath, ...] = ()
    in_text: bool = False
    decimal: str | None = None
    zone: str | None = None
    default: str | None = field(default=None, eq=False)

    def domain_members(self) -> Tree:
        """Returns the declared domain without ⊥; every value of the type if none is declared or read yet."""
        if self.column is not None:
            return regions.defined(self.name) if self.members is None else self.members
        if self.domain is None:
            boolean = self.type.name == "boolean"
            return regions.values(self.name, [False, True]) if boolean else regions.defined(self.name)
        return _members(self.name, self.type, self.domain)

    @property
    def has_list(self) -> bool:
        """True if the declared domain is a list of values; only such a domain may grow by a marker."""
        return self.domain is not None and self.column is None and isinstance(self._pattern(), SetPattern)

    @property
    def column(self) -> TableColumn | None:
        """The table and attribute whose values are the domain."""
        if self.domain is None or self.domain[0] in "{[(":
            return None
        return TableColumn(*self.domain.split("."))

    @property
    def listed(self) -> str:
        """The user's name of a list that comes from a table."""
        return (self.domain or "") if self.column is not None else ""

    def _pattern(self) -> patterns.Pattern:
        return parse_punctuation(f"[{self.name} in {self.domain}]").conditions[0].pattern

    def __str__(self) -> str:
        domain = f" in {self.domain}" if self.domain else ""
        unit = f" unit {unit_text(short(self.unit))}" if self.unit else ""
        if self.unit_from is not None:
            of, units = self.unit_from
            unit = f" unit from {of} in {{{', '.join(unit_text(short(unit)) for unit in units)}}}"
        words = "from text" if self.in_text else "from"
        paths = " or ".join(quote(path_text(keys)) for keys in (self.keys, *self.others))
        paths = origin_text(self.keys) or paths
        origin = f" {words} {paths}" if self.keys else ""
        type_ = self.type if self.type.element is None else f"list of {self.type.element}"
        form = form_clause(self.decimal, self.zone)
        default = "" if self.default is None else f" default {self.default}"
        mark = "?" if self.optional and not default else ""
        return f"{self.name}{mark}: {type_}{form}{origin}{unit}{domain}{default}"

    @property
    def form(self) -> str | None:
        """The declared form of its texts: a zone, or decimal signs."""
        return self.decimal or self.zone

    @property
    def path(self) -> FieldPath:
        """The path of its value, and the way to read it; empty for a plain field of its name."""
        return self.path_with(self.decimal)

    def path_with(self, signs: str | None) -> FieldPath:
        """Returns the path with these decimal signs, in place of the declared ones."""
        if self.others:
            return EitherPath.of((self.keys, *self.others), self.type)
        if signs is not None:
            return with_signs(self.keys or (self.name,), signs)
        return TextPath(self.keys) if self.in_text else self.keys


@frozen
class Heartbeat:
    """The engine's own punctuation: `attribute < max(attribute) - delay`, in units of the axis. `within`: the most that
    a time may be ahead of the clock of the run."""

    attribute: str
    delay: Fraction = field(converter=Fraction)
    within: Fraction | None = None


@frozen
class StatedAccent:
    """An accent that the query states, in the wire format: it precedes the first tuple (theory N10)."""

    text: str
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)


def _stated(accents: Iterable[StatedAccent | str]) -> tuple[StatedAccent, ...]:
    return tuple(StatedAccent(accent) if isinstance(accent, str) else accent for accent in accents)


@frozen(kw_only=True)
class Source:
    """A stream, or a table: a bounded relation, closed by `*` from the start."""

    name: str
    attributes: tuple[Attribute, ...] = field(converter=tuple)
    format: str
    path: str
    table: bool = False
    punctuated: tuple[tuple[str, ...], ...] = ()
    heartbeat: Heartbeat | None = None
    markers: str | None = None
    """A folder of files that hold markers only."""
    metrics: tuple[str, ...] = ()
    """The metrics whose data points are read; empty for all."""
    over: tuple[tuple[str, str], ...] = ()
    """Pairs of metrics: where an instance sends both, the first is taken (theory N16)."""
    partitioned: str | None = None
    """The attribute whose values each come from one partition of a topic (theory N9)."""
    changes: tuple[str, ...] = ()
    """The key of the rows whose change events are read; empty if tuples are not rows of a table."""
    latest: bool = False
    """True: only the last state of each of these rows is a tuple."""
    registry: str | None = None
    """The address of the registry with the schemas of the records of a topic."""
    by_name: bool = False
    """Reads files in the order of their names, not of their times (theory G38)."""
    markers_only: bool = False
    """Only markers of that folder count; others are bad tuples (RQ326)."""
    none: frozenset[str] = frozenset()
    """The texts in fields of CSV that mean an undefined value."""
    unfolded: tuple[Unfolding, ...] = ()
    """How a line becomes several tuples, or other objects, before attributes are read from it."""
    accents: tuple[StatedAccent, ...] = field(default=(), converter=_stated)
    """Accents that the query states, in their order."""
    own_units: OwnUnits = field(default=NO_OWN_UNITS, repr=False)
    """Units that the query defines, which markers may name."""
    partitions: int | None = field(default=None, eq=False)
    """The number of partitions of a topic, once the brokers were asked."""
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def format_kind(self) -> FormatKind:
        """The record of its format."""
        return FORMATS[self.format]

    @property
    def is_topic(self) -> bool:
        """True if it is a topic of Kafka, and not a folder of files or a table."""
        return self.format_kind.is_topic

    @property
    def is_catalogued(self) -> bool:
        """True if it is a table by its catalog, `CATALOG:NAMESPACE.TABLE`, and not by a folder."""
        return self.format_kind.is_table and catalogued(self.path)

    @property
    def arrival(self) -> Arrival:
        """The order of its tuples. Those of a topic have none, because its partitions advance independently."""
        return Arrival(Order.NONE if self.is_topic else Order.ARRIVAL, self.table)

    @property
    def units(self) -> dict[str, str]:
        """The declared units of its canonical values."""
        return {a.name: a.unit for a in self.attributes if a.unit is not None}

    @property
    def zones(self) -> dict[str, str]:
        """The declared zones of times without an offset."""
        return {a.name: a.zone for a in self.attributes if a.zone is not None}

    @cached_property
    def forms(self) -> dict[str, str]:
        """The declared forms of texts: zones, and decimal signs."""
        return {a.name: form for a in self.attributes if (form := a.form) is not None}

    @cached_property
    def paths(self) -> dict[str, FieldPath]:
        """The paths of values inside objects, for attributes whose name is not the key, or whose texts are numbers."""
        return {a.name: path for a in self.attributes if (path := a.path)}

    @cached_property
    def levels(self) -> frozenset[FieldPath]:
        """The objects with declared attributes, as the keys that lead there; the tuple itself has no keys."""
        paths = self.paths if self.format_kind.has_objects else {}
        in_values = (a for a in self.attributes if origin_text(a.keys) is None)
        return frozenset(levels(paths.get(a.name, (a.name,)) for a in in_values)) or frozenset({()})

    @property
    def is_envelope(self) -> bool:
        """True if all attributes are inside of objects, so that other keys of a tuple belong to its envelope."""
        return () not in self.levels

    def field_paths(self, fields: Iterable[str]) -> tuple[tuple[FieldPath, ...], ...]:
        """Returns the paths of each field, which is at one of them: those that the query names with `from`, else its
        name's. In formats whose tuples are flat here, a path is one key."""
        every = (alternatives(self.paths.get(name) or field_path(name, self.format)) for name in fields)
        return (
            tuple(every)
            if self.format_kind.has_objects
            else tuple(tuple(path[:1] for path in paths) for paths in every)
        )

    def columns(self, fields: Iterable[str]) -> frozenset[str]:
        """Returns the keys of tuples, or columns of CSV, for some fields: those with which their paths begin."""
        return frozenset(path[0] for paths in self.field_paths(fields) for path in paths)

    def paths_after(self, names: Mapping[str, str], signs: Mapping[str, str]) -> dict[str, FieldPath]:
        """Returns the paths of values after accents. `names`: new names -> attributes; `signs`: attribute -> the
        decimal signs of its texts."""
        if self.format_kind.has_requests:
            return point_paths_after(self.paths, names)
        if not self.format_kind.texts:
            return self.paths
        declared = {a.name: a.path_with(signs.get(a.name)) for a in self.attributes}
        added = {name: with_signs((name,), signs[name]) for name in signs.keys() - declared.keys()}
        paths = {name: path for name, path in (*declared.items(), *added.items()) if path}
        return paths_after(paths, names, self.format)

    def check_form(self, change: ToForm) -> None:
        """Raises `DiagnosticError` RQ339 for texts of another form where none can change: tuples of a topic or a table
        have no one order, other formats no texts, and values of several paths are compared."""
        message, hint = f"the {change.what} of `{change.attribute}` cannot change by an accent", ""
        if self.table or self.is_topic or not self.format_kind.texts:
            where = "a table" if self.table else f"from `{self.format}`"
            message = f"{message}: `{self.name}` is {where}"
            hint = f"edit its declaration{', or send times with an offset' if change.what == 'zone' else ''}"
        elif any(a.others for a in self.attributes if a.name == change.attribute):
            message = f"{message}: it is read from several paths"
            hint = "edit its declaration so that it has one path"
        if hint:
            raise failure("RQ339", message, change.span, hint=hint)

    @property
    def tied(self) -> frozenset[str]:
        """The attributes that no accent may drop, because one of them names the unit of another (theory N5)."""
        pairs = ((a.name, a.unit_from[0]) for a in self.attributes if a.unit_from is not None)
        return frozenset(name for pair in pairs for name in pair)

    def facts(self, droppable: frozenset[str]) -> Facts:
        """Returns the facts when the query starts. `droppable`: attributes that a Drop may remove (⊥ lemma)."""
        universe: dict[str, Domain] = {}
        for attribute in self.attributes:
            members = attribute.domain_members()
            if attribute.optional or attribute.name in droppable:
                members = regions.union(members, regions.complement(regions.defined(attribute.name)))
            universe[attribute.name] = Domain(members, attribute.type.is_integral, attribute.listed)
        return Facts({a.name: a.type for a in self.attributes}, universe, self.presence)

    @property
    def presence(self) -> dict[str, Tree]:
        """Returns the presence of the attributes when the query starts."""
        return {a.name: LATENT if a.optional else PRESENT for a in self.attributes}
