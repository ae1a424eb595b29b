"""Whether a domain grows, and whether a query can go on with a wider one (theory N1)."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import Grow
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.join import Matching, released_too_much
from cedilla.compiler.plan import Attribute, Plan, Source, derive
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.runtime.control.source_state import SourceState


def is_new(state: SourceState, source: Source, growth: Grow) -> bool:
    """Whether a growth adds a value to the domain; one of an attribute that may be anything does not. Raises
    `DiagnosticError`: RQ220 where the domain is no list of the query's, RQ221 where the attribute has been altered
    or recoded.
    """
    name = growth.attribute
    declared = next((a for a in source.attributes if a.name == name), None)
    if declared is None or not _is_beyond(state, declared, growth.members):
        return False
    if declared.column is not None:
        raise failure(
            "RQ220",
            f"the domain of `{name}` cannot grow by a line of the stream: it comes from `{declared.domain}`",
            growth.span,
            hint=f"a new file of the table `{declared.column.table}` brings the value",
        )
    if not declared.has_list:
        raise failure(
            "RQ220",
            f"the domain of `{name}` cannot grow: it is not declared as a list",
            growth.span,
            hint=f"`{name}: {state.types[name]} in {{...}}` declares a list; "
            "any other is widened in the query's text",
        )
    if name in state.original:
        verb, first = ("recoded", "first codes") if name in state.codes else ("altered", "canonical units")
        raise failure(
            "RQ221",
            f"the domain of `{name}` cannot grow: an accent has {verb} `{name}`",
            growth.span,
            hint=f"the domain is in {first}; it can be widened in the query's text (`cedilla plan`)",
        )
    return True


def _is_beyond(state: SourceState, attribute: Attribute, members: Tree) -> bool:
    return not regions.is_empty(regions.difference(members, state.domain(attribute)), {})


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
