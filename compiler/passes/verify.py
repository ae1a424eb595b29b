"""Verifies what holds between passes, so that a mistake is found in the pass that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler.passes.build import inputs_of
from cedilla.compiler.plan import Plan, derive
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import DiagnosticError, failure

EMITS = "emit ..."


def verify(name: str, before: syntax.Query | Plan, after: syntax.Query | Plan) -> None:
    """Verifies the result of a pass: a name is of one relation, inputs are above their use, and types stay.

    Raises RQ176, which names the pass.
    """
    names: set[str] = set()
    for relation, inputs in _relations(after):
        for input_name in inputs:
            if input_name not in names:
                raise _broken(name, f"`{relation}` reads `{input_name}`, which no relation above it is")
        if relation in names:
            raise _broken(name, f"`{relation}` comes twice")
        names.add(relation)
    if isinstance(before, Plan) and isinstance(after, Plan) and before.operators != after.operators:
        types, changed = _types(before), _types(after)
        if different := [attribute for attribute in changed if changed[attribute] != types.get(attribute)]:
            raise _broken(name, f"`{different[0]}` has other types than before")


def _relations(stage: syntax.Query | Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each relation and its inputs; all emits are one, whose name no relation can have."""
    if isinstance(stage, Plan):
        yield from ((source.name, ()) for source in stage.sources)
        yield from ((operator.name, operator.inputs) for operator in stage.operators)
        yield EMITS, tuple(emit.relation for emit in stage.emits)
        return
    emitted: list[str] = []
    for statement in stage.statements:
        match statement:
            case syntax.StreamDeclaration(name=name):
                yield name, ()
            case syntax.Definition(name, relation):
                yield name, inputs_of(relation)
            case syntax.Emit(relation):
                emitted += inputs_of(relation)
            case _:
                pass
    yield EMITS, tuple(emitted)


def _types(plan: Plan) -> dict[str, object]:
    facts = derive(plan, {source.name: source.facts(frozenset()) for source in plan.sources})
    return {name: relation.types for name, relation in facts.items()}


def _broken(name: str, what: str) -> DiagnosticError:
    hint = "this is a mistake in Cedilla: please report it, with the query"
    return failure("RQ176", f"the pass `{name}` broke the plan: {what}", hint=hint)
