"""The plan: sources, operators in topological order, emits and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators import Operator, Reaction
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.operators.shared.reactions import SCALED, Probe
from cedilla.compiler.plan.derived_facts import DerivedFacts
from cedilla.compiler.plan.formats import FORMATS, FormatKind
from cedilla.compiler.plan.latest import way_of
from cedilla.compiler.plan.sources import Source
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax.change_policy import ChangePolicy, policy_of
from cedilla.grammar.syntax.settings import SETTINGS, size, word_and_names

if TYPE_CHECKING:
    from networkx import MultiDiGraph

_Reactions = Callable[..., Reaction]
_Arriving = tuple[str, frozenset[str], Affine]
"""An accent at a relation: its attribute, what its description names, and the function of an Alter."""

DEFAULTS: dict[str, str] = {name: values[0] for name, values in SETTINGS.items()}


@frozen(kw_only=True)
class Emit:
    """A sink. `name` is that of `--sink NAME=PATH`. `units`: the known units of canonical values. `latest`: the key
    of rows of open groups that are updated; empty if they are not."""

    name: str
    relation: str
    format: str
    path: str
    original_units: bool = False
    latest: tuple[str, ...] = field(default=(), converter=tuple)
    units: Mapping[str, str] = field(factory=dict[str, str], eq=False)
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def format_kind(self) -> FormatKind:
        """The record of its format."""
        return FORMATS[self.format]

    def keeps_units(self, name: str) -> bool:
        """Returns True if an attribute stays in its units from the start: a row replaces the one with its key."""
        return self.original_units or name in self.latest

    @property
    def is_topic(self) -> bool:
        """True if it writes to a topic of Kafka, and not to a folder or to standard output."""
        return self.format_kind.is_topic and self.path != "-"

    @property
    def has_folder(self) -> bool:
        """True if it writes to a folder, its own or that of a table, and not to a topic, a catalog or standard
        output."""
        return not (self.format_kind.is_topic or self.format_kind.by_catalog) and self.path != "-"


@define(kw_only=True, slots=False, eq=False)
class Plan:
    """A compiled query. `text`: what was compiled, with `params` for its constants."""

    name: str
    sources: tuple[Source, ...] = field(converter=tuple)
    operators: tuple[Operator, ...] = field(converter=tuple)
    emits: tuple[Emit, ...] = field(converter=tuple)
    settings: Mapping[str, str] = field(factory=lambda: dict(DEFAULTS), converter=lambda s: {**DEFAULTS, **s})
    allowed: tuple[str, ...] = ()
    """Folders that links in the folders of sources may lead to, in addition to the working directory."""
    text: str = ""
    params: Mapping[str, str] = field(factory=dict[str, str])

    @property
    def longest_line(self) -> int:
        """Returns the greatest number of bytes of a line of a source."""
        return size(self.settings["longest_line"])

    @cached_property
    def policy(self) -> ChangePolicy | None:
        """Returns the changes that the query takes from its streams; `None` if it takes any."""
        return policy_of(self.settings["changes"])

    @property
    def stream_attributes(self) -> list[str]:
        """Returns the declared attributes of streams."""
        return [attribute.name for s in self.sources if not s.table for attribute in s.attributes]

    def unknown_name(self, value: str) -> str | None:
        """Returns the first attribute that no stream has, of those that the value of a setting names: `warn by shop,
        sensor` of `suspect`, `allow {unit(t)}` of `changes`."""
        policy = policy_of(value)
        names = word_and_names(value)[1] if policy is None else policy.declared
        return next((name for name in names if name not in self.stream_attributes), None)

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

    @cached_property
    def with_places(self) -> frozenset[str]:
        """The relations whose tuples have places: an operator without state leaves those of its inputs, except for a
        projection that lists its attributes."""
        names = {source.name for source in self.sources if source.name in self.placed}
        for operator in self.operators:
            has_places = operator.name in self.placed
            if operator.state is None and operator.fixed_attributes(self.inputs_of(operator)) is None:
                has_places = not names.isdisjoint(operator.inputs)
            names.update([operator.name] if has_places else [])
        return frozenset(names)

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

    @cached_property
    def readers(self) -> dict[str, list[str]]:
        """The readers of each relation, once for each input: operators, and the emit `e` as `emit e`."""
        readers: dict[str, list[str]] = {node.name: [] for node in (*self.sources, *self.operators)}
        for operator in self.operators:
            for name in operator.inputs:
                readers[name].append(operator.name)
        for emit in self.emits:
            readers[emit.relation].append(f"emit {emit.name}")
        return readers

    def ancestors(self, relation: str) -> list[Source | Operator]:
        """Returns the nodes that a relation is computed from, itself included, in topological order."""
        above = {relation}
        for operator in reversed(self.operators):  # they are in topological order
            if operator.name in above:
                above.update(operator.inputs)
        return [node for node in (*self.sources, *self.operators) if node.name in above]

    @cached_property
    def emitted(self) -> frozenset[str]:
        """The relations that outputs are computed from."""
        return frozenset(node.name for emit in self.emits for node in self.ancestors(emit.relation))

    @cached_property
    def updated(self) -> dict[str, tuple[Operator, ...]]:
        """The outputs that are updated: the aggregate of each, and the operators from it to the output."""
        node_of = {**self.source_of, **self.operator_of}.__getitem__
        return {emit.name: way_of(emit.relation, node_of) for emit in self.emits if emit.latest}

    @cached_property
    def updated_groups(self) -> frozenset[str]:
        """The aggregates whose open groups some outputs show."""
        return frozenset(way[0].name for way in self.updated.values())

    def inputs_of(self, operator: Operator) -> tuple[Facts, ...]:
        """Returns the facts of an operator's inputs when the query starts."""
        return tuple(self.start[name] for name in operator.inputs)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The operators whose output is used more than once."""
        return frozenset(operator.name for operator in self.operators if len(self.readers[operator.name]) > 1)

    @cached_property
    def stored(self) -> frozenset[str]:
        """The relations whose tuples an operator further down has in its state: a job stores them, another reads on."""
        stored: set[str] = set()
        for operator in reversed(self.operators):
            if operator.stateful or operator.name in stored:
                stored.update(operator.inputs)
        return frozenset(stored)

    @cached_property
    def droppable(self) -> dict[str, frozenset[str]]:
        """Source -> attributes that an accent may drop.

        Excludes attributes that some operator needs (Foundation), and those with a declared domain: coverage
        of the domain relies on a value being present (⊥ lemma, G5).
        """
        return {
            source.name: frozenset(
                a.name
                for a in source.attributes
                if a.optional
                or (
                    a.domain is None
                    and a.name not in source.tied
                    and not any(r.kind == "aborts" for _, r in follow(self, source.name, "drop", a.name))
                )
            )
            for source in self.sources
        }

    @cached_property
    def reaction(self) -> _Reactions:
        """Returns a cached function for the reactions of operators at the start, because each marker needs it."""
        facts = derive(self, {source.name: source.facts(frozenset()) for source in self.sources})

        @lru_cache(4096)
        def probe(name: str, kind: Kind, attribute: str, side: int, function: Affine) -> Probe:
            operator = self.operator_of[name]
            return Probe(operator, kind, attribute, tuple(facts[i] for i in operator.inputs), side, function)

        @lru_cache(4096)
        def reaction(
            name: str,
            kind: Kind,
            attribute: str,
            mentions: frozenset[str],
            side: int,
            function: Affine = SCALED,
        ) -> Reaction:
            return probe(name, kind, attribute, side, function).reaction(mentions)

        return reaction

    @cached_property
    def derived(self) -> DerivedFacts:
        """Returns what gives the facts of operators, and remembers the last ones."""
        return DerivedFacts()

    @cached_property
    def start(self) -> dict[str, Facts]:
        """The facts of every relation when the query starts."""
        return derive(self, {s.name: s.facts(self.droppable[s.name]) for s in self.sources})


def derive(
    plan: Plan, sources: Mapping[str, Facts], state: Mapping[str, StateFacts] | None = None
) -> dict[str, Facts]:
    """Derives the facts of every relation from those of the sources, in one topological walk.

    `state`: the facts that the state of operators adds.

    For example, a punctuation of a stream closes windows, and groups once they are closed:

    >>> from attrs import evolve
    >>> from cedilla.compiler.compile import compile_query
    >>> from cedilla.compiler.facts.marker_parser import read_punctuation
    >>> plan = compile_query('''
    ...   stream r(ts: long, s: int, t: double) from json "r" punctuated on ts;
    ...   windows := window[300 on ts as wid](r);
    ...   means := aggregate[avg(t) as mean by wid](windows);
    ...   emit means to json "means";
    ... ''').plan
    >>> start = plan.start["r"]
    >>> later = evolve(start, closed=read_punctuation("[ts < 700]", start.types).pattern)
    >>> for relation, facts in derive(plan, {"r": later}).items():
    ...     print(relation, "|", facts.closed)
    r | ts < 700: True, else False
    windows | ts < 700: True, else (wid < 2: True, else False)
    means | wid < 2: True, else False
    """
    facts = dict(sources)
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        facts[operator.name] = plan.derived.of(operator, inputs, (state or {}).get(operator.name, NO_STATE))
    return facts


def changed_by_state(
    plan: Plan, facts: Mapping[str, Facts], name: str, state: Mapping[str, StateFacts]
) -> dict[str, Facts]:
    """Returns the facts of an operator and its readers, where they are others than `facts` because of `state`."""
    changed: dict[str, Facts] = {}
    for operator in plan.operators:
        if operator.name == name or not changed.keys().isdisjoint(operator.inputs):
            inputs = tuple(changed.get(of, facts[of]) for of in operator.inputs)
            now = plan.derived.of(operator, inputs, state.get(operator.name, NO_STATE))
            if now != facts[operator.name]:
                changed[operator.name] = now
    return changed


def follow(
    plan: Plan,
    source: str,
    kind: Kind,
    attribute: str,
    mentions: frozenset[str] = frozenset(),
    function: Affine = SCALED,
) -> list[tuple[Operator, Reaction]]:
    """Returns the reaction of every operator to an accent on a source's attribute, in topological order.

    `function`: of an Alter. An operator without an entry never sees the accent.
    """
    # A set in the order of arrival: ways that meet are merged, because there may be exponentially many.
    arriving: dict[str, dict[_Arriving, None]] = {source: {(attribute, mentions, function): None}}
    reactions: list[tuple[Operator, Reaction]] = []
    for operator in plan.operators:
        for side, name in enumerate(operator.inputs):
            for carried, described, altered in arriving.get(name, ()):
                reaction = plan.reaction(operator.name, kind, carried, described, side, altered)
                reactions.append((operator, reaction))
                if reaction.kind != "aborts":
                    onward = arriving.setdefault(operator.name, {})
                    onward |= {
                        (out, reaction.mentions, reaction.functions.get(out, function)): None
                        for out in reaction.passes
                    }
    return reactions
