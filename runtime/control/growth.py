"""Whether a query can go on with a wider domain (theory N1)."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler import regions
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.join import Matching, released_too_much
from cedilla.compiler.plan import Plan, derive
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.runtime.control.source_state import SourceState


def check_growth(
    plan: Plan,
    before: Mapping[str, SourceState],
    after: Mapping[str, SourceState],
    what: str,
    span: Span | None,
) -> None:
    """Raise where a growth would open what is closed, or a join has let go of what it would need (theory N1, G8).

    `what` cannot be, and where it was said, for the message (RQ222).
    """
    was = derive(plan, {name: state.facts() for name, state in before.items()})
    now = derive(plan, {name: state.facts() for name, state in after.items()})
    for operator in plan.operators:
        name = operator.name
        opened = regions.difference(was[name].closed, now[name].closed)
        if not regions.is_empty(opened, now[name].universe):
            why = "its inputs have closed something together, for the old values only"
            raise _stuck(what, operator, why, span)
        if isinstance(operator, Matching):
            for side in (0, 1):
                if released_too_much(operator, operator, side, was, now) is not False:
                    why = f"it has kept nothing of `{operator.inputs[side]}` for the new values"
                    raise _stuck(what, operator, why, span)


def _stuck(what: str, operator: Operator, why: str, span: Span | None) -> DiagnosticError:
    message = f"{what}: {operator.title} `{operator.name}` cannot go on: {why}"
    hint = "`cedilla plan` tells what a wider domain in the query's text would do"
    return failure("RQ222", message, span, hint=hint)
