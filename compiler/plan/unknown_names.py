"""Names that are not known: the operator that a user should declare, and where another name is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attrs import evolve

from cedilla.compiler.facts.facts import Facts
from cedilla.grammar import foreign, syntax
from cedilla.grammar.diagnostics import Diagnostic, failure

_UNKNOWN = re.compile(r"unknown (attribute|relation) `(\w+)`")


def with_places(
    errors: Iterable[Diagnostic], query: syntax.Query, nodes: Mapping[str, str], facts: Mapping[str, Facts]
) -> list[Diagnostic]:
    """Errors, hints about unknown names with the place where the name is known. `nodes`: a name in the query -> its
    node."""
    return [_with_place(each, query, nodes, facts) for each in errors]


def _with_place(
    error: Diagnostic, query: syntax.Query, nodes: Mapping[str, str], facts: Mapping[str, Facts]
) -> Diagnostic:
    named = _UNKNOWN.match(error.message)
    if named is None or (error.help or "").startswith("did you mean"):
        return error
    kind, name = named.groups()
    if kind == "attribute":
        others = [each for each in nodes if name in facts[nodes[each]].types]
        place = (
            f"`{name}` is an attribute of `{others[0]}`: `A join {others[0]} on k` brings it"
            if others
            else None
        )
    else:
        below = [s for s in query.statements if getattr(s, "name", None) == name]
        place = f"line {below[0].span.line} defines it: definitions come before their use" if below else None
    return evolve(error, help="; ".join(filter(None, (place, error.help)))) if place else error


_UNDECLARED = '`operator smooth(R) foundation {a} from "module:function";` above it declares one'


def declaration_of(
    node: syntax.Applied, declared: Mapping[str, syntax.OperatorDeclaration]
) -> syntax.OperatorDeclaration:
    """The declaration of a user's operator. Raises RQ118 where it has none, or another number of inputs."""
    operator = declared.get(node.operator)
    if operator is None:
        hint = f"declared operators: {', '.join(declared)}" if declared else _UNDECLARED
        hint = foreign.OPERATORS.get(node.operator.lower(), hint)
        raise failure("RQ118", f"unknown operator `{node.operator}`", node.span, hint=hint)
    if len(node.inputs) != len(operator.inputs):
        inputs = f"input{'s' if len(operator.inputs) > 1 else ''} ({', '.join(operator.inputs)})"
        message = f"`{node.operator}` requires {len(operator.inputs)} {inputs}, found {len(node.inputs)}"
        hint = f"line {operator.span.line} declares the operator"
        raise failure("RQ118", message, node.span, hint=hint)
    return operator
