"""Compares the flow of a program with that of its query, and names what was edited."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import zip_longest

from cedilla.compiler.codegen.arguments import Stated, query_text
from cedilla.compiler.codegen.program import flow_text, variables
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError, failure

_HINT = "edit the `.rq` file, and `cedilla compile` it again"
_ABSENT = "absent"


def check_flow(plan: Plan, flow: str) -> None:
    """Raises RQ415 unless the text of a flow is the one that its query is compiled to."""
    edited, compiled = ast.parse(flow), ast.parse(flow_text(plan))
    if ast.dump(edited) == ast.dump(compiled):
        return
    names = variables(node.name for node in (*plan.sources, *plan.operators))
    relations = {variable: relation for relation, variable in names.items()}
    for ours, theirs in zip_longest(_statements(compiled), _statements(edited)):
        if ours is None or theirs is None or ast.dump(ours) != ast.dump(theirs):
            raise _edited(plan, relations, ours, theirs)
    raise failure("RQ415", "the flow of this program is not that of its query", hint=_HINT)


def _statements(module: ast.Module) -> list[ast.stmt]:
    match module.body:
        case [ast.FunctionDef(body=body)]:
            return body
        case _:
            return []


def _edited(
    plan: Plan, relations: Mapping[str, str], ours: ast.stmt | None, theirs: ast.stmt | None
) -> DiagnosticError:
    """Returns the error about the first statement that differs."""
    match ours, theirs:
        case ast.Assign([ast.Name(variable)], made), ast.Assign([ast.Name(target)], edited) if (
            variable == target and (operator := plan.operator_of.get(relations[variable])) is not None
        ):
            return _of_operator(operator, relations, made, edited)
        case _:
            statement = "" if theirs is None else f": `{ast.unparse(theirs)}`"
            message = f"the flow of this program is not that of its query{statement}"
            return failure("RQ415", message, hint=_HINT)


def _of_operator(
    operator: Operator, relations: Mapping[str, str], made: ast.expr, edited: ast.expr
) -> DiagnosticError:
    before, after = Stated.of(made, operator), Stated.of(edited, operator)
    if before is None or after is None or before.method != after.method:
        message = f"`{operator.name}` is `{ast.unparse(edited)}` in this program, and not in its query"
        return failure("RQ415", message, operator.span, hint=_HINT)
    if before.inputs != after.inputs:
        was, now = (", ".join(relations.get(name, name) for name in s.inputs) for s in (before, after))
        message = f"`{operator.name}` is of {now} in this program, and of {was} in its query"
    else:
        name = next(
            name
            for name in (*before.arguments, *after.arguments)
            if before.arguments.get(name) != after.arguments.get(name)
        )
        was, now = (stated.arguments.get(name, _ABSENT) for stated in (before, after))
        message = f"`{name}` of `{operator.name}` is {now} in this program, and {was} in its query"
    text = query_text(operator, after, relations)
    hint = _HINT if text is None else f"`{text}` in the `.rq` file; then `cedilla compile` it again"
    return failure("RQ415", message, operator.span, hint=hint)
