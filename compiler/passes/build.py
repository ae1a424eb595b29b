"""The pass that makes a plan of resolved syntax.

Inference of units needs the types of an input, an input has its types once its units are aligned, and facts hold of
checked operators only. One pass therefore does all of it, relation by relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attrs import evolve, field, mutable

from cedilla.compiler import operators
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.passes.angles import doubtful_call
from cedilla.compiler.passes.declared_units import check_constant, declared_units
from cedilla.compiler.passes.one_input import Input, operator_of
from cedilla.compiler.passes.report import Report, check_once, fresh, relation_names
from cedilla.compiler.passes.sources import source_of
from cedilla.compiler.passes.stated_accents import SourceEvolution
from cedilla.compiler.passes.unit_alignment import Changed, absorbing, align_units, conversion_of, fixed_units
from cedilla.compiler.passes.unknown_attributes import with_places
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.compiler.plan.formats import check_sink_format
from cedilla.compiler.plan.latest import check_latest
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, failure


def build(query: syntax.Query, report: Report) -> Plan:
    """Makes the operator of every relation: aligns units of inputs, infers those of expressions, checks all.

    Errors: those of operators over their inputs; RQ137 for a constant with the name of an attribute.
    """
    builder = _Builder(report, relation_names(query))
    for statement in query.statements:
        with report.collecting(), with_places(report.query, builder.types_of):
            builder.add(statement)
    report.errors += builder.ambiguous()
    nodes = [relation.node for relation in builder.relations.values()]
    return Plan(
        name=report.name,
        sources=[node for node in nodes if isinstance(node, Source)],
        operators=[node for node in nodes if isinstance(node, Operator)],
        emits=builder.emits,
        settings=builder.settings,
        text=report.text,
        params=report.params,
    )


@mutable
class _Builder:
    report: Report
    taken: set[str]
    relations: dict[str, Input] = field(factory=dict[str, Input])
    """The planned relations, without those that have an error or are computed from such."""
    emits: list[Emit] = field(factory=list[Emit])
    settings: dict[str, str] = field(factory=dict[str, str])
    constants: list[syntax.Let] = field(factory=list[syntax.Let])
    declared: dict[str, syntax.OperatorDeclaration] = field(factory=dict[str, syntax.OperatorDeclaration])

    evolution: dict[str, SourceEvolution] = field(factory=dict[str, SourceEvolution])

    def add(self, statement: syntax.Statement) -> None:
        match statement:
            case syntax.StreamDeclaration():
                above = [
                    relation_above.node
                    for relation_above in self.relations.values()
                    if isinstance(relation_above.node, Source)
                ]
                source = source_of(statement, above, self.report.warnings)
                source = evolve(source, own_units=self.report.own_units)
                self._relate(
                    source, Input(source, source.facts(frozenset()), source.units, self.report.warnings)
                )
            case syntax.OperatorDeclaration(name):
                self.declared[name] = statement
                check_once([a.name for a in statement.returns or ()], "returns", statement.span)
                check_once(statement.inputs, f"{name}(...)", statement.span)
            case syntax.Setting(name, value):
                self.settings[name] = value
            case syntax.StatedAccent(name):
                if name in self.relations:
                    self._state(statement)
            case syntax.Let(_, value):
                self.constants.append(statement)
                check_constant(value)
            case syntax.Definition(name, relation):
                if self._are_planned(names := inputs_of(relation)):
                    self._operator(name, relation, names)
            case syntax.Use() | syntax.StatedFile() | syntax.UnitDefinition():
                raise AssertionError(f"{statement} is not resolved")
            case syntax.Emit():
                if self._are_planned(inputs_of(statement.relation)):
                    self._emit(statement)

    def types_of(self, name: str) -> Iterable[str] | None:
        """Returns the attributes of a relation, or `None` before it is planned."""
        return self.relations[name].facts.types if name in self.relations else None

    def ambiguous(self) -> Iterable[Diagnostic]:
        """Yields RQ137 for each constant with the name of an attribute."""
        for constant in self.constants:
            named = (n for n, relation in self.relations.items() if constant.name in relation.facts.types)
            if (relation := next(named, None)) is not None:
                message = f"`{constant.name}` is a constant and an attribute of `{relation}`"
                help = "one of them takes another name"
                yield Diagnostic("RQ137", "error", message, constant.span, help=help)

    def _are_planned(self, names: Iterable[str]) -> bool:
        return all(name in self.relations for name in names)

    def _state(self, node: syntax.StatedAccent) -> None:
        source = self.relations[node.source].node
        assert isinstance(source, Source)
        evolution = self.evolution.setdefault(source.name, SourceEvolution.of(source))
        source = evolve(source, accents=(*source.accents, evolution.stated(node)))
        self.relations[source.name] = evolve(self.relations[source.name], node=source)

    def _emit(self, node: syntax.Emit) -> None:
        check_sink_format(node.format, node.format_span or node.span)
        (relation,) = inputs_of(node.relation)
        source = self.relations[relation]
        if node.latest:
            check_latest(
                node,
                relation,
                lambda name: self.relations[name].node,
                lambda name: self.relations[name].facts.types,
            )
        changed = fixed_units(node, source.units, source.facts.types)
        of = source.node
        stream = of.inputs[0] if isinstance(of, Operator) and of.filled else relation
        name = fresh(stream, {emit.name for emit in self.emits})
        relation = self._converted(relation, changed, node, absorbing, f"{relation}_in_units")
        self.emits.append(
            Emit(
                name=name,
                relation=relation,
                format=node.format,
                path=node.path,
                original_units=node.original_units,
                latest=node.latest,
                units=self.relations[relation].units,
                line=node.span.line,
                span=node.span,
            )
        )

    def _operator(self, name: str, node: syntax.Relation, names: tuple[str, ...]) -> None:
        common: dict[str, Any] = {"name": name, "inputs": names, "line": node.span.line, "span": node.span}
        match node:
            case syntax.Union() | syntax.Intersect() | syntax.Minus() | syntax.Join():
                self._check(self._of_two(node, common))
            case syntax.Applied():
                self._check(self._applied(node, common))
            case syntax.Reference():
                raise AssertionError(f"{name} is not resolved")
            case syntax.Project(items):
                whole = evolve(node, items=tuple(map(self._in_unit_of_call, items)))
                self._check(operator_of(whole, common, self.relations[names[0]]))
            case _:
                self._check(operator_of(node, common, self.relations[names[0]]))

    def _in_unit_of_call(self, item: syntax.ProjectItem) -> syntax.ProjectItem:
        """Returns an item that is written out from a call in the unit of the call, after warnings about that."""
        if item.call is None:
            return item
        call, relation = item.call
        arguments = [self.relations[relation].read(argument) for argument in call.arguments]
        self.report.warnings += doubtful_call(call, arguments)
        unit = operators.Aggregate.unit_of_call(call, [argument.unit for argument in arguments])
        return evolve(item, unit=unit)

    def _of_two(self, node: syntax.TwoInputs, common: dict[str, Any]) -> Operator:
        left, right = (self.relations[name] for name in common["inputs"])
        on: dict[tuple[str, str], None] = {}
        if isinstance(node, syntax.Join):
            on = dict.fromkeys(_sides(pair, common["inputs"], (left, right)) for pair in node.on)
        pairs = on or [(name, name) for name in {**left.units, **right.units}]
        sides = (left.units, left.facts.types), (right.units, right.facts.types)
        changes = align_units(node, pairs, *sides, self.report.warnings.append)
        inputs = tuple(
            self._converted(name, changed, node)
            for name, changed in zip(common["inputs"], changes, strict=True)
        )
        common = {**common, "inputs": inputs}
        match node:
            case syntax.Union():
                return operators.Union(**common)
            case syntax.Intersect(all=bags):
                return operators.Intersect(**common, all=bags)
            case syntax.Minus(all=bags):
                return operators.Minus(**common, all=bags)
            case syntax.Join(kind=kind):
                return _JOINS[kind](**common, on=on)

    def _applied(self, node: syntax.Applied, common: dict[str, Any]) -> operators.User:
        declared = self.declared[node.operator]
        returns = None if declared.returns is None else {a.name: Type.of(a.type) for a in declared.returns}
        in_inputs = {name for source in common["inputs"] for name in self.relations[source].facts.types}
        return operators.User(
            **common,
            label=node.operator,
            function=declared.function,
            foundation=declared.foundation,
            merge=declared.merge,
            accumulate=declared.accumulate,
            returns=returns,
            units=declared_units(declared.returns or ()),
            computed=tuple(name for name in returns or () if name not in in_inputs),
        )

    def _converted(
        self,
        relation: str,
        changed: Changed,
        node: syntax.Node,
        conversion: Callable[..., Operator] = conversion_of,
        kind: str = "converted",
    ) -> str:
        """Adds an operator that converts attributes to other units, if there are any."""
        if not changed:
            return relation
        common = {"name": fresh(kind, self.taken), "line": node.span.line, "span": node.span}
        return self._check(conversion(common, (relation,), changed))

    def _check(self, operator: Operator) -> str:
        """Adds an operator after its checks, with the units of its output. Returns its name."""
        inputs = [self.relations[name] for name in operator.inputs]
        facts = tuple(input_relation.facts for input_relation in inputs)
        self.report.warnings += operator.check(facts)
        units = {
            **operator.carried_units(tuple(input_relation.units for input_relation in inputs)),
            **operator.units,
        }
        operator = evolve(operator, units=units)
        return self._relate(operator, Input(operator, operator.facts(facts), units, self.report.warnings))

    def _relate(self, node: Source | Operator, relation: Input) -> str:
        self.relations[node.name] = relation
        return node.name


def inputs_of(relation: syntax.Relation) -> tuple[str, ...]:
    """Returns the names of a resolved relation's inputs; of a reference, its own."""
    match relation:
        case syntax.Reference(name):
            return (name,)
        case syntax.Applied(inputs=inputs):
            relations = inputs
        case syntax.Union() | syntax.Intersect() | syntax.Minus() | syntax.Join():
            relations = (relation.left, relation.right)
        case _:
            relations = (relation.input,)
    return tuple(name for source in relations for name in inputs_of(source))


def _sides(pair: syntax.JoinPair, names: tuple[str, str], inputs: tuple[Input, Input]) -> tuple[str, str]:
    """Returns the left and the right attribute of a join pair, which may be written the other way round."""
    a, b = pair.left, pair.right
    if _side(a, names, inputs) == 1 or _side(b, names, inputs) == 0:
        a, b = b, a
    for attribute, side in ((a, 0), (b, 1)):
        if attribute.qualifier is not None and names.index(attribute.qualifier) != side:
            hint = "as in `on a.x = b.y`"
            raise failure("RQ112", "a join pair requires one attribute of each input", pair.span, hint=hint)
    return a.name, b.name


def _side(attribute: syntax.Attribute, names: tuple[str, str], inputs: tuple[Input, Input]) -> int | None:
    """Returns the input of an attribute; `None` if several or none can be the one."""
    if attribute.qualifier is not None:
        return names.index(attribute.qualifier)
    inside = [attribute.name in input_relation.facts.types for input_relation in inputs]
    return inside.index(True) if sum(inside) == 1 else None


_JOINS: dict[str, type[Matching]] = {
    "inner": operators.Join,
    "left": operators.LeftJoin,
    "semi": operators.SemiJoin,
    "anti": operators.AntiJoin,
}
