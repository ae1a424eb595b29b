"""The pass that replaces sugar: `aggregate[max(t) - min(t) as range by k](R)` is an aggregate and a projection of it.

Accents then meet the rules of both: items that are affine in one result pass its Alters on, others absorb
them (theory G20, 2.8).
"""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS
from cedilla.compiler.expressions.scalars import scalar_functions
from cedilla.compiler.expressions.scalars.function_hints import hint_for_aggregate
from cedilla.compiler.passes.build import inputs_of
from cedilla.compiler.passes.carried import carry
from cedilla.compiler.passes.over_time import OverTime, functions_over_time, over_window
from cedilla.compiler.passes.report import Report, fresh, relation_names
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import AggregateCall, Attribute, Expression, ProjectItem, Scalar


def desugar(query: syntax.Query, report: Report) -> syntax.Query:
    """Splits each aggregate of computed results into one of its calls, and a projection that computes the results.

    Errors: RQ102 if a result reads an attribute of single tuples, RQ109 if nothing is aggregated, RQ104 if two results
    have one name.

    >>> from cedilla.compiler.passes.resolve import resolve
    >>> from cedilla.grammar.formatting.formatter import format_query
    >>> from cedilla.grammar.parser import parse_query
    >>> query = parse_query('''
    ...   stream r(s: int, t: double) from json "r";
    ...   spread := aggregate[max(t) - min(t) as range by s](r);
    ...   emit spread to json "spread";
    ... ''')
    >>> report = Report(query, "query", "", {})
    >>> print(format_query(desugar(resolve(query, report), report)), end="")
    stream r(s: int, t: double) from json "r";
    spread_groups := aggregate[max(t) as range_1, min(t) as range_2 by s](r);
    spread := project[s, range_1 - range_2 as range](spread_groups);
    emit spread to json "spread";
    """
    taken = relation_names(query)
    statements: list[syntax.Statement] = []
    for statement in _over_time(carry(query, taken, report), taken, report):
        match statement:
            case syntax.Definition(name, syntax.Aggregate() as node) if any(map(_is_computed, node.calls)):
                with report.collecting():
                    groups, project = _separated(node, fresh(f"{name}_groups", taken))
                    statements += [groups, evolve(statement, relation=project)]
            case _:
                statements.append(statement)
    return evolve(query, statements=tuple(statements))


def _over_time(query: syntax.Query, taken: set[str], report: Report) -> list[syntax.Statement]:
    """Replaces functions that need the reading before a window, and removes windows that nothing else uses."""
    statements: list[syntax.Statement] = []
    bases: set[str] = set()
    defined = {part.name: part.relation for part in query.statements if isinstance(part, syntax.Definition)}
    for statement in query.statements:
        match statement:
            case syntax.Definition(name, syntax.Aggregate(input=syntax.Reference(input)) as node) if (
                functions := functions_over_time(node)
            ):
                with report.collecting():
                    base = over_window(node, functions, defined.get(input))
                    added, aggregate = OverTime(name, node, base, taken).replaced()
                    statements += [*added, evolve(statement, relation=aggregate)]
                    bases.add(input)
            case _:
                statements.append(statement)
    used = {name for part in statements for name in _inputs(part)}
    return [part for part in statements if getattr(part, "name", None) not in bases - used]


def _inputs(statement: syntax.Statement) -> tuple[str, ...]:
    is_relation = isinstance(statement, syntax.Definition | syntax.Emit)
    return inputs_of(statement.relation) if is_relation else ()


def _separated(node: syntax.Aggregate, name: str) -> tuple[syntax.Definition, syntax.Project]:
    """Returns the definition of the calls as a relation of a name, and the projection of that."""
    names = [*node.by, *(call.alias or "" for call in node.calls)]
    if (twice := next((n for n in names if names.count(n) > 1), None)) is not None:
        raise failure(
            "RQ104", f"`{twice}` is named twice", node.span, hint=f"another name, for example `as {twice}_2`"
        )
    collected = _Calls(node)
    items = [ProjectItem(Attribute(name, span=node.span), span=node.span) for name in node.by]
    for call in node.calls:
        if isinstance(call, AggregateCall) and not _is_computed(call):
            collected.calls[call.alias] = call
            items.append(ProjectItem(Attribute(call.alias, span=call.span), span=call.span))
        else:
            computed = collected.replaced(call.expression, call.alias or "")
            whole = call.call if isinstance(call, ProjectItem) else None
            items.append(ProjectItem(computed, call.alias, call=whole, span=call.span))
    if not collected.calls:
        hint = "`project[...](R)` computes tuple by tuple"
        raise failure("RQ109", "nothing is aggregated", node.span, hint=hint)
    groups = evolve(node, calls=tuple(collected.calls.values()))
    calls = syntax.Reference(name, span=node.span)
    return syntax.Definition(name, groups, span=node.span), syntax.Project(
        tuple(items), calls, span=node.span
    )


class _Calls:
    """Collects the calls of an aggregate by name."""

    def __init__(self, node: syntax.Aggregate) -> None:
        self.by = node.by
        self.taken = {*node.by, *(call.alias for call in node.calls)}
        self.calls: dict[str, AggregateCall] = {}

    def replaced(self, expression: Expression, alias: str) -> Expression:
        """Replaces each call in an expression by its name."""
        match expression:
            case Scalar(function) if function in FUNCTIONS:
                call = AggregateCall.of(expression, "", expression.span)
                return Attribute(self._name(call, alias), span=expression.span)
            case Scalar(function) if function not in scalar_functions.FUNCTIONS:
                hint = hint_for_aggregate(function)
                raise failure("RQ109", f"unknown function `{function}`", expression.span, hint=hint)
            case Attribute(name) if name not in self.by:
                message = f"`{name}` is neither in `by` nor inside an aggregate function"
                hint = f"`last({name})`, `max({name})` ... make one value of many"
                if name in FUNCTIONS:
                    usage = "count()" if name == "count" else FUNCTIONS[name].usage
                    hint = f"a function is called with parentheses: `{usage}`"
                raise failure("RQ102", message, expression.span, hint=hint)
            case _:
                return expressions.rebuilt(expression, lambda part: self.replaced(part, alias))

    def _name(self, call: AggregateCall, alias: str) -> str:
        """Returns the name of a call; equal calls share one."""
        for name, other in self.calls.items():
            if evolve(other, alias="") == call:
                return name
        names = (f"{alias}_{number}" for number in range(1, len(self.taken) + 2))
        name = next(name for name in names if name not in self.taken)
        self.taken.add(name)
        self.calls[name] = evolve(call, alias=name)
        return name


def _is_computed(call: AggregateCall | ProjectItem) -> bool:
    """Returns True if a result is neither a single aggregate call nor a call of an unknown function."""
    return isinstance(call, ProjectItem) or (
        call.function not in FUNCTIONS and call.function in scalar_functions.FUNCTIONS
    )
