"""Makes a plan from syntax: resolves names and checks every operator over its inputs (design, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve, field, frozen, mutable

from cedilla.compiler import operators
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units, WithUnit, infer_units
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.conditions import domain_warnings
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.plan import Emit, Plan, Source, check_paths
from cedilla.compiler.plan.clauses import (
    aggregate_of,
    ambiguous,
    attribute_of,
    check_clauses,
    check_column,
    check_declared_once,
    check_once,
    heartbeat_of,
    items_of,
    new_names,
    project_of,
    sample_of,
    sort_keys,
)
from cedilla.compiler.plan.computed import computes, separated
from cedilla.compiler.plan.declared_units import declared_units, taken_for_units
from cedilla.compiler.plan.formats import check_sink_format, check_source_format
from cedilla.compiler.plan.unit_alignment import Changed, absorbing, align_units, conversion_of, fixed_units
from cedilla.compiler.plan.unknown_names import declaration_of, with_places
from cedilla.compiler.plan.windows import session_of, window_of
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, failure
from cedilla.grammar.suggestions import meant


@frozen
class Compiled:
    """A plan with its warnings."""

    plan: Plan
    warnings: tuple[Diagnostic, ...]


def plan_query(query: syntax.Query, name: str = "query") -> Compiled:
    """Plans a query. Raises `DiagnosticError` with every error that can be detected at once."""
    planner = _Planner(name)
    for statement in query.statements:
        planner.begun = statement.name if isinstance(statement, syntax.Definition) else None
        try:
            planner.add(statement)
        except DiagnosticError as error:
            planner.errors += with_places(error.diagnostics, query, planner.nodes, planner.facts)
    return planner.finish()


@mutable
class _Planner:
    name: str
    declared: dict[str, syntax.OperatorDeclaration] = field(factory=dict[str, syntax.OperatorDeclaration])
    nodes: dict[str, str] = field(factory=dict[str, str])  # a name in the query -> its node
    facts: dict[str, Facts] = field(factory=dict[str, Facts])
    units: dict[str, Units] = field(factory=dict[str, Units])
    arrivals: dict[str, Arrival] = field(factory=dict[str, Arrival])
    sources: list[Source] = field(factory=list[Source])
    operators: list[Operator] = field(factory=list[Operator])
    emits: list[Emit] = field(factory=list[Emit])
    settings: dict[str, str] = field(factory=dict[str, str])
    errors: list[Diagnostic] = field(factory=list[Diagnostic])
    warnings: list[Diagnostic] = field(factory=list[Diagnostic])
    broken: set[str] = field(factory=set[str])
    constants: dict[str, Span] = field(factory=dict[str, Span])
    begun: str | None = None  # the relation whose definition is read

    def add(self, statement: syntax.Statement) -> None:
        match statement:
            case syntax.StreamDeclaration():
                self._source(statement)
            case syntax.OperatorDeclaration():
                if self.declared.setdefault(statement.name, statement) is not statement:
                    raise failure("RQ104", f"`{statement.name}` is declared twice", statement.span, hint=_ONE)
                returned = tuple(attribute.name for attribute in statement.returns or ())
                check_once(returned, "returns", statement.span)
                check_once(statement.inputs, f"{statement.name}(...)", statement.span)
            case syntax.Setting(name, value):
                if self.settings.setdefault(name, value) != value:
                    raise failure("RQ104", f"`{name}` is set twice", statement.span, hint=_ONE)
            case syntax.Let(name):
                self._declare(name, statement.span)
                self.constants[name] = statement.span
            case syntax.Definition(name, relation):
                self._definition(name, relation, statement.span)
            case syntax.Emit():
                self._emit(statement)

    def finish(self) -> Compiled:
        self.errors += ambiguous(self.constants, self.facts)
        if not self.emits and not self.errors:
            hint = '`emit relation to json "out";` is missing'
            self.errors.append(Diagnostic("RQ111", "error", "the query emits nothing", None, help=hint))
        if self.errors:
            raise DiagnosticError([*self.errors, *self.warnings])
        plan = Plan(
            name=self.name,
            sources=tuple(self.sources),
            operators=tuple(self.operators),
            emits=tuple(self.emits),
            settings=self.settings,
        )
        check_paths(plan)
        return Compiled(plan, tuple(self.warnings))

    # --- statements ---

    def _source(self, node: syntax.StreamDeclaration) -> None:
        self._declare(node.name, node.span)
        self.broken.add(node.name)
        check_source_format(node.format, node.format_span or node.span)
        check_declared_once(node.attributes)
        self.warnings += taken_for_units(node.attributes)
        attributes = tuple(attribute_of(a) for a in node.attributes)
        types = {a.name: a.type for a in attributes}
        for declared in node.attributes:
            if isinstance(declared.domain, syntax.TableColumn):
                if declared.domain.table != node.name:
                    self._reference(declared.domain.table, declared.domain.span)
                check_column(node, declared, declared.domain, types[declared.name], self.sources)
            elif declared.domain is not None:
                self.warnings += domain_warnings(declared.name, types[declared.name], declared.domain)
        check_clauses(node, {a.name: a for a in attributes})
        source = Source(
            name=node.name,
            attributes=attributes,
            format=node.format,
            path=node.path,
            table=node.kind == "table",
            punctuated=node.punctuated,
            heartbeat=heartbeat_of(node.heartbeat, types, {a.name: a.unit for a in attributes if a.unit}),
            markers=node.markers,
            metrics=node.metrics,
            partitioned=node.partitioned,
            by_name=node.by_name,
            markers_only=node.markers_only,
            line=node.span.line,
            span=node.span,
        )
        self.sources.append(source)
        self.facts[source.name] = source.facts(frozenset())
        self.units[source.name] = source.units
        self.arrivals[source.name] = source.arrival
        self.nodes[node.name] = node.name
        self.broken.discard(node.name)

    def _definition(self, name: str, relation: syntax.Relation, span: Span) -> None:
        self._declare(name, span)
        self.broken.add(name)  # uses of a relation with an error are not reported
        self.nodes[name] = self._relation(relation, name)
        self.broken.discard(name)

    def _emit(self, node: syntax.Emit) -> None:
        check_sink_format(node.format, node.format_span or node.span)
        relation = self._relation(node.relation, None)
        types = self.facts[relation].types
        changed = fixed_units(node, self.units[relation], types)
        name, number = relation, 1
        while name in {emit.name for emit in self.emits}:
            number += 1
            name = f"{relation}_{number}"
        relation = self._converted(relation, changed, node, absorbing, f"{relation}_in_units")
        self.emits.append(
            Emit(
                name=name,
                relation=relation,
                format=node.format,
                path=node.path,
                original_units=node.original_units,
                units=self.units[relation],
                line=node.span.line,
                span=node.span,
            )
        )

    def _declare(self, name: str, span: Span) -> None:
        if name in self.nodes or name in self.broken or name in self.constants:
            raise failure("RQ104", f"`{name}` is defined twice", span, hint=f"another name, as `{name}_2`")

    # --- relations ---

    def _relation(self, node: syntax.Relation, name: str | None) -> str:
        """Plans a relation and returns its node, named `name` if that is not `None`."""
        match node:
            case syntax.Reference(referred):
                return self._reference(referred, node.span)
            case syntax.Applied(operator, sources):
                return self._applied(operator, sources, name, node)
            case syntax.Aggregate() if computes(node):
                return self._computed(node, name)
            case syntax.Union() | syntax.Intersect() | syntax.Minus() | syntax.Join():
                inputs = self._relation(node.left, None), self._relation(node.right, None)
                return self._operator(self._in_one_unit(node, inputs), name, node, self._of_two(node, inputs))
            case _:
                inputs = (self._relation(node.input, None),)
                return self._operator(inputs, name, node, self._of_one(node))

    def _of_two(self, node: syntax.TwoInputs, inputs: tuple[str, str]) -> _Builder:
        match node:
            case syntax.Union():
                return lambda n, i: operators.Union(**n, inputs=i)
            case syntax.Intersect(all=bags):
                return lambda n, i: operators.Intersect(**n, inputs=i, all=bags)
            case syntax.Minus(all=bags):
                return lambda n, i: operators.Minus(**n, inputs=i, all=bags)
            case syntax.Join(on=pairs, kind=kind):
                on = dict.fromkeys(self._pair(pair, inputs) for pair in pairs)
                return lambda n, i: _JOINS[kind](**n, inputs=i, on=on)

    def _of_one(self, node: syntax.OneInput) -> _Builder:
        match node:
            case syntax.Select(predicate):
                return lambda n, i: operators.Select(
                    **n, inputs=i, predicate=self._reader(i[0])(predicate).expression
                )
            case syntax.Project(items, rest=rest):
                chosen = items_of(items)
                return lambda n, i: project_of(n, i, chosen, rest, self.facts[i[0]].types, self._reader(i[0]))
            case syntax.Rename(items):
                return lambda n, i: operators.Rename(**n, inputs=i, names=new_names(items))
            case syntax.Distinct(on):
                check_once(on, "distinct", node.span)
                return lambda n, i: operators.Distinct(**n, inputs=i, on=on)
            case syntax.Sort(keys):
                ordered = sort_keys(keys, node.span)
                return lambda n, i: operators.Sort(
                    **n, inputs=i, keys=ordered, settled=self.arrivals[i[0]].order is not Order.ARRIVAL
                )
            case syntax.Top(count, keys, per):
                check_once(per, "per", node.span)
                ordered = sort_keys(keys, node.span)
                return lambda n, i: operators.Top(**n, inputs=i, count=count, keys=ordered, per=per)
            case syntax.Limit(count):
                return lambda n, i: operators.Limit(**n, inputs=i, count=count)
            case syntax.Sample():
                return lambda n, i: sample_of(node, n, i, self.facts[i[0]].types)
            case syntax.Window():
                return lambda n, i: window_of(self.facts, self.units[i[0]], node, n, i)
            case syntax.CountWindow(size, per, alias):
                check_once(per, "per", node.span)
                return lambda n, i: operators.CountWindow(**n, inputs=i, size=size, per=per, alias=alias)
            case syntax.Session():
                check_once(node.per, "per", node.span)
                return lambda n, i: session_of(self.facts, self.units[i[0]], node, n, i)
            case syntax.Aggregate():
                return lambda n, i: aggregate_of(
                    node, n, i, self.operators, self._reader, self.units, self.warnings
                )

    def _applied(
        self, operator: str, sources: tuple[syntax.Relation, ...], name: str | None, node: syntax.Applied
    ) -> str:
        declared = declaration_of(node, self.declared)
        inputs = tuple(self._relation(source, None) for source in sources)
        returns = None if declared.returns is None else {a.name: Type.of(a.type) for a in declared.returns}
        in_inputs = {attribute for source in inputs for attribute in self.facts[source].types}
        return self._operator(
            inputs,
            name,
            node,
            lambda n, i: operators.User(
                **n,
                inputs=i,
                label=operator,
                function=declared.function,
                foundation=declared.foundation,
                merge=declared.merge,
                accumulate=declared.accumulate,
                returns=returns,
                units=declared_units(declared.returns or ()),
                computed=tuple(name for name in returns or () if name not in in_inputs),
            ),
        )

    def _computed(self, node: syntax.Aggregate, name: str | None) -> str:
        """Plans an aggregate of computed results: the calls, then a projection of them."""
        name = name or self._fresh("aggregate")
        groups, project = separated(node)
        inputs = (self._relation(node.input, None),)
        grouped = self._operator(inputs, self._fresh(f"{name}_groups"), groups, self._of_one(groups))
        return self._operator((grouped,), name, project, self._of_one(project))

    def _reference(self, name: str, span: Span) -> str:
        if name == self.begun:
            hint = "a relation is computed from those above it"
            raise failure("RQ101", f"`{name}` is used in its own definition", span, hint=hint)
        if name in self.broken:
            raise DiagnosticError([])  # reported at its definition
        if name not in self.nodes:
            guess = meant(name, self.nodes, "relations") if self.nodes else None
            raise failure("RQ101", f"unknown relation `{name}`", span, hint=guess)
        return self.nodes[name]

    def _operator(self, inputs: tuple[str, ...], name: str | None, node: syntax.Node, build: _Builder) -> str:
        kind = node.operator if isinstance(node, syntax.Applied) else type(node).__name__.lower()
        name = name or self._fresh(kind)
        common: dict[str, Any] = {"name": name, "line": node.span.line, "span": node.span}
        operator = build(common, inputs)
        facts = tuple(self.facts[i] for i in inputs)
        self.warnings += operator.check(facts)
        carried = operator.carried_units(tuple(self.units[i] for i in inputs))
        operator = evolve(operator, units={**carried, **operator.units})
        self.units[name] = operator.units
        self.facts[name] = operator.facts(facts)
        self.arrivals[name] = self._arrival(operator)
        self.operators.append(operator)
        return name

    def _reader(self, relation: str) -> Callable[[syntax.Expression], WithUnit]:
        types, units = self.facts[relation].types, self.units[relation]
        return lambda expression: infer_units(expression, types, units, self.warnings.append)

    def _in_one_unit(self, node: syntax.TwoInputs, inputs: tuple[str, str]) -> tuple[str, str]:
        """Converts the inputs of an operator that compares or merges attributes of both to equal units."""
        if isinstance(node, syntax.Join):
            pairs = [self._pair(pair, inputs) for pair in node.on]
        else:
            pairs = [(name, name) for name in {**self.units[inputs[0]], **self.units[inputs[1]]}]
        sides = [(self.units[i], self.facts[i].types) for i in inputs]
        changed = align_units(node, pairs, sides[0], sides[1], self.warnings.append)
        return self._converted(inputs[0], changed[0], node), self._converted(inputs[1], changed[1], node)

    def _converted(
        self,
        relation: str,
        changed: Changed,
        node: syntax.Node,
        build: Callable[..., Operator] = conversion_of,
        name: str = "converted",
    ) -> str:
        """Adds an operator that converts attributes to other units, if there are any."""
        if not changed:
            return relation
        return self._operator((relation,), self._fresh(name), node, lambda n, i: build(n, i, changed))

    def _arrival(self, operator: Operator) -> Arrival:
        """Returns the order of an operator's output. Raises RQ123 if it depends on how the input is cut."""
        arrivals = tuple(self.arrivals[i] for i in operator.inputs)
        if all(arrival.order >= operator.requires_order for arrival in arrivals):
            return Arrival.of(operator.order(arrivals), arrivals)
        (source,) = operator.inputs
        problem = "come out of order" if arrivals[0].order is Order.PLACED else "have no order"
        message = (
            f"{operator.title.lower()} goes by the order of arrival, and the tuples of `{source}` {problem}"
        )
        raise failure("RQ123", message, operator.span, hint=operator.instead)

    def _fresh(self, kind: str) -> str:
        taken = {*self.nodes, *self.broken, *self.facts}
        names = (kind if number == 1 else f"{kind}_{number}" for number in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def _pair(self, pair: syntax.JoinPair, inputs: tuple[str, ...]) -> tuple[str, str]:
        a, b = pair.left, pair.right
        if self._of(a, inputs) == 1 or self._of(b, inputs) == 0:
            a, b = b, a
        for attribute, side in ((a, 0), (b, 1)):
            if attribute.qualifier is not None and self._of(attribute, inputs) != side:
                hint = "as in `on a.x = b.y`"
                raise failure(
                    "RQ112", "a join pair requires one attribute of each input", pair.span, hint=hint
                )
        return a.name, b.name

    def _of(self, attribute: syntax.Attribute, inputs: tuple[str, ...]) -> int | None:
        """Returns the input of an attribute; `None` if several or none can be the one."""
        if attribute.qualifier is not None:
            node = self._reference(attribute.qualifier, attribute.span)
            if node not in inputs:
                hint = f"its inputs are {' and '.join(inputs)}"
                raise failure("RQ112", f"`{node}` is not an input of the join", attribute.span, hint=hint)
            return inputs.index(node)
        inside = [attribute.name in self.facts[i].types for i in inputs]
        return inside.index(True) if sum(inside) == 1 else None


_ONE = "leave one of the two out"
_Builder = Callable[[dict[str, Any], tuple[str, ...]], Operator]
_JOINS: dict[str, type[Matching]] = {
    "inner": operators.Join,
    "left": operators.LeftJoin,
    "semi": operators.SemiJoin,
    "anti": operators.AntiJoin,
}
