"""The plan: sources, operators in topological order, emits and settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from attrs import define, evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import LATENT, NO_STATE, PRESENT, Facts, StateFacts
from cedilla.compiler.operators import Operator, Reaction
from cedilla.compiler.operators.base import Kind
from cedilla.compiler.plan.field_paths import FieldPath, TextPath, path_text
from cedilla.compiler.plan.topics import TOPIC, TOPICS
from cedilla.compiler.regions import Domain, Tree
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.expression_formatter import quote, unit_text
from cedilla.grammar.parser import parse_punctuation
from cedilla.grammar.syntax import SETTINGS, SetPattern

if TYPE_CHECKING:
    from networkx import MultiDiGraph

DEFAULTS: dict[str, str] = {name: values[0] for name, values in SETTINGS.items()}


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
    value in an object; empty if its name is the key. `in_text`: its value is a number inside a text.
    """

    name: str
    type: Type = field(converter=_type)
    optional: bool = False
    domain: str | None = None
    members: Tree | None = field(default=None, eq=False, repr=False)
    unit: str | None = None
    unit_from: tuple[str, tuple[str, ...]] | None = None
    keys: FieldPath = ()
    in_text: bool = False

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
        unit = f" unit {unit_text(self.unit)}" if self.unit else ""
        if self.unit_from is not None:
            of, units = self.unit_from
            unit = f" unit from {of} in {{{', '.join(map(unit_text, units))}}}"
        words = "from text" if self.in_text else "from"
        origin = f" {words} {quote(path_text(self.keys))}" if self.keys else ""
        return f"{self.name}{'?' if self.optional else ''}: {self.type}{origin}{unit}{domain}"


@frozen
class Heartbeat:
    """The engine's own punctuation: `attribute < max(attribute) - delay`, in units of the axis."""

    attribute: str
    delay: Fraction = field(converter=Fraction)


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
    partitioned: str | None = None
    """The attribute whose values each come from one partition of a topic (theory N9)."""
    by_name: bool = False
    """Reads files in the order of their names, not of their times (theory G38)."""
    markers_only: bool = False
    """Only markers of that folder count; others are bad tuples (RQ326)."""
    partitions: int | None = field(default=None, eq=False)
    """The number of partitions of a topic, once the brokers were asked."""
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def is_topic(self) -> bool:
        """True if it is a topic of Kafka, and not a folder of files or a table."""
        return self.format in TOPICS

    @property
    def arrival(self) -> Arrival:
        """The order of its tuples. Those of a topic have none, because its partitions advance independently."""
        return Arrival(Order.NONE if self.is_topic else Order.ARRIVAL, self.table)

    @property
    def units(self) -> dict[str, str]:
        """The declared units of its canonical values."""
        return {a.name: a.unit for a in self.attributes if a.unit is not None}

    @property
    def paths(self) -> dict[str, FieldPath]:
        """The paths of values inside objects, for attributes whose name is not the key."""
        return {a.name: TextPath(a.keys) if a.in_text else a.keys for a in self.attributes if a.keys}

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
        return Facts(
            {a.name: a.type for a in self.attributes},
            universe,
            {a.name: LATENT if a.optional else PRESENT for a in self.attributes},
        )


@frozen(kw_only=True)
class Emit:
    """A sink. `name` is that of `--sink NAME=PATH`. `units`: the known units of canonical values."""

    name: str
    relation: str
    format: str
    path: str
    original_units: bool = False
    units: Mapping[str, str] = field(factory=dict[str, str], eq=False)
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def is_topic(self) -> bool:
        """True if it writes to a topic of Kafka, and not to a folder or to standard output."""
        return self.format == TOPIC and self.path != "-"


@define(kw_only=True, slots=False, eq=False)
class Plan:
    """A compiled query."""

    name: str
    sources: tuple[Source, ...] = field(converter=tuple)
    operators: tuple[Operator, ...] = field(converter=tuple)
    emits: tuple[Emit, ...] = field(converter=tuple)
    settings: Mapping[str, str] = field(factory=lambda: dict(DEFAULTS), converter=lambda s: {**DEFAULTS, **s})

    @cached_property
    def source_of(self) -> dict[str, Source]:
        return {source.name: source for source in self.sources}

    @cached_property
    def operator_of(self) -> dict[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    def units_of(self, relation: str) -> Mapping[str, str]:
        """Returns the units of a relation's attributes by the declarations; a running program may lack them."""
        source = self.source_of.get(relation)
        return self.operator_of[relation].units if source is None else source.units

    def units_with(self, sources: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
        """Returns relation -> units of its attributes, from the units of the sources, which Adds may extend.

        Omits unknown units of computed attributes, because a running program may lack them.
        """
        relations = {name: dict(units) for name, units in sources.items()}
        for operator in self.operators:
            carried = operator.carried_units(tuple(relations[name] for name in operator.inputs))
            relations[operator.name] = {**carried, **operator.units}
        return relations

    @cached_property
    def arrivals(self) -> dict[str, Arrival]:
        """The order of every source and operator."""
        arrivals = {source.name: source.arrival for source in self.sources}
        for operator in self.operators:
            inputs = tuple(arrivals[name] for name in operator.inputs)
            arrivals[operator.name] = Arrival.of(operator.order(inputs), inputs)
        return arrivals

    @cached_property
    def placed(self) -> frozenset[str]:
        """The relations whose tuples have places that some operator uses."""
        read: set[str] = set()
        for operator in reversed(self.operators):
            if operator.reads_order or operator.name in read:
                read.update(name for side, name in enumerate(operator.inputs) if self._leads(operator, side))
        return frozenset(read)

    def _leads(self, operator: Operator, side: int) -> bool:
        inputs = tuple(self.arrivals[name] for name in operator.inputs)
        return side == operator.leading(inputs) and inputs[side].order is not Order.NONE

    def takes_places(self, operator: Operator, side: int) -> bool:
        """Returns True if an operator, or a later one, uses the places of this input's tuples."""
        read = operator.reads_order or operator.name in self.placed
        return read and self._leads(operator, side)

    @cached_property
    def graph(self) -> MultiDiGraph[str]:
        """The plan as a networkx DAG from sources over operators to emits, in topological order.

        The key of an edge is the number of the input. The emit `e` is the node `emit e`.
        """
        import networkx

        graph: MultiDiGraph[str] = networkx.MultiDiGraph()
        graph.add_nodes_from((source.name, {"node": source}) for source in self.sources)
        for operator in self.operators:
            graph.add_node(operator.name, node=operator)
            for side, name in enumerate(operator.inputs):
                graph.add_edge(name, operator.name, side)
        for emit in self.emits:
            graph.add_node(f"emit {emit.name}", node=emit)
            graph.add_edge(emit.relation, f"emit {emit.name}", 0)
        if not networkx.is_directed_acyclic_graph(graph):
            raise ValueError("a plan has no cycles")
        return graph

    def ancestors(self, relation: str) -> list[Source | Operator]:
        """Returns the nodes that a relation is computed from, itself included, in topological order."""
        above = {relation}
        for operator in reversed(self.operators):  # they are in topological order
            if operator.name in above:
                above.update(operator.inputs)
        return [node for node in (*self.sources, *self.operators) if node.name in above]

    @cached_property
    def read_again(self) -> frozenset[str]:
        """The sources whose tuples are computed more than once in an epoch, in several jobs or twice in one.

        Each output, and each write of an operator's state, is a job.
        """
        again: set[str] = set()
        for source in self.sources:
            below, jobs = {source.name}, 0
            for operator in self.operators:
                inputs = sum(name in below for name in operator.inputs)
                below |= {operator.name} if inputs else set()
                jobs += (inputs > 0 and operator.stateful) + max(inputs - 1, 0)
            if jobs + sum(emit.relation in below for emit in self.emits) > 1:
                again.add(source.name)
        return frozenset(again)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The operators whose output is used more than once."""
        uses = Counter(name for operator in self.operators for name in operator.inputs)
        uses.update(emit.relation for emit in self.emits)
        return frozenset(operator.name for operator in self.operators if uses[operator.name] > 1)

    @cached_property
    def droppable(self) -> dict[str, frozenset[str]]:
        """Source -> attributes that an accent may drop.

        Excludes attributes that some operator needs (Foundation), and those with a declared domain: coverage
        of the domain relies on a value being present (⊥ lemma, G5).
        """
        nothing = {source.name: source.facts(frozenset()) for source in self.sources}
        facts = derive(self, nothing)
        return {
            source.name: frozenset(
                a.name
                for a in source.attributes
                if a.optional
                or (
                    a.domain is None
                    and a.name not in source.tied
                    and not any(
                        r.kind == "aborts" for _, r in follow(self, source.name, "drop", a.name, facts)
                    )
                )
            )
            for source in self.sources
        }

    @cached_property
    def start(self) -> dict[str, Facts]:
        """The facts of every relation when the query starts."""
        return derive(self, {s.name: s.facts(self.droppable[s.name]) for s in self.sources})

    def describe(self) -> list[str]:
        """Returns the lines that make plans equal for a checkpoint: all but paths, settings and positions."""
        lines = [
            f"{'table' if s.table else 'stream'} {s.name}({', '.join(map(str, s.attributes))}) from {s.format}"
            f"{'' if s.markers is None else ' markers'}"
            for s in self.sources
        ]
        lines += [evolve(operator, line=0).constructor() for operator in self.operators]
        return lines + [f"emit {emit.relation} to {emit.format}" for emit in self.emits]


def derive(
    plan: Plan, sources: Mapping[str, Facts], state: Mapping[str, StateFacts] | None = None
) -> dict[str, Facts]:
    """Derives the facts of every relation from those of the sources, in one topological walk.

    `state`: the facts that the state of operators adds.
    """
    facts = dict(sources)
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        facts[operator.name] = operator.facts(inputs, (state or {}).get(operator.name, NO_STATE))
    return facts


def follow(
    plan: Plan,
    source: str,
    kind: Kind,
    attribute: str,
    facts: Mapping[str, Facts],
    mentions: frozenset[str] = frozenset(),
) -> list[tuple[Operator, Reaction]]:
    """Returns the reaction of every operator to an accent on a source's attribute, in topological order.

    An operator without an entry never sees the accent.
    """
    # A set in the order of arrival: ways that meet are merged, because there may be exponentially many.
    arriving: dict[str, dict[tuple[str, frozenset[str]], None]] = {source: {(attribute, mentions): None}}
    reactions: list[tuple[Operator, Reaction]] = []
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        for side, name in enumerate(operator.inputs):
            for carried, described in arriving.get(name, ()):
                reaction = operator.reaction(kind, carried, described, inputs, side)
                reactions.append((operator, reaction))
                if reaction.kind != "aborts":
                    onward = arriving.setdefault(operator.name, {})
                    onward |= dict.fromkeys((out, reaction.mentions) for out in reaction.passes)
    return reactions
