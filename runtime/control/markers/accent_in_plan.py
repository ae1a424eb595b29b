"""Checks an accent against the operators of a plan (paper, section 6.2; theory G33, G37, J2)."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, AtSource, Drop, ToUnit
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.plan import Plan, derive, follow
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.runtime.control.markers.one_accent import EpochMustEnd
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import check_meetings


def check_accent(plan: Plan, states: Mapping[str, SourceState], source: str, accent: Accent) -> None:
    """Raises `DiagnosticError` if an operator cannot continue after an accent (RQ209, RQ210, RQ365; Foundation, J2), or
    must not (RQ211, `set accents = strict`). Raises `EpochMustEnd` if the epoch must end before it."""
    primitive = accent.primitive
    if isinstance(primitive, AtSource):
        return  # the source undoes it (N2, N3, N11)
    kind: Kind = "add" if isinstance(primitive, Add) else "drop" if isinstance(primitive, Drop) else "alter"
    name = primitive.attribute
    declared = {a.name: a for a in plan.source_of[source].attributes}.get(name)
    mentions = accent.mentions
    function = primitive.function if isinstance(primitive, Alter | ToUnit) else IDENTITY
    if isinstance(primitive, Alter) and declared is not None and declared.unit_from is not None:
        # While tuples are in the units that they name, it is one Alter for each unit (N5).
        mentions |= {declared.unit_from[0]} & regions.attributes(states[source].units[name])
    for operator, reaction in follow(plan, source, kind, name, mentions, function):
        if reaction.kind == "aborts" and kind == "drop":
            raise failure(
                "RQ209",
                f"`{name}` cannot be dropped: {operator.title} `{operator.name}` requires it ({reaction.rule})",
                hint=f"line {operator.line} of the query uses the attribute: change it first",
            )
        if reaction.kind == "accumulates" and plan.settings["accents"] == "strict":
            raise failure(
                "RQ211",
                f"{operator.title} `{operator.name}` would have to wait for other accents ({reaction.rule})",
                hint="`set accents = accumulate;` lets it wait",
            )
    if kind == "drop" and declared is not None and declared.domain is not None and not declared.optional:
        raise failure(
            "RQ209",
            f"`{name}` cannot be dropped, because its domain, {declared.domain}, is used to know when all have changed",
            hint=f"if it may be missing, declare `{name}?: {declared.type} in {declared.domain}`",
        )
    if kind == "drop" and name in plan.source_of[source].tied:
        raise failure(
            "RQ209",
            f"`{name}` cannot be dropped, because each tuple names a unit by `unit from`",
            hint="declare one `unit`, so that accents can name the unit in force",
        )
    if kind == "add" and declared is not None and declared.unit_from is not None:
        raise failure(
            "RQ365",
            f"`{name}` cannot be added, because each tuple names its unit, and an Add would give all of them one",
            hint=f"`{name}` may come without an Add; `unit({name}, {unit_text(declared.unit_from[1][0])})` announces "
            "one unit from here on",
        )
    if isinstance(primitive, Add) and plan.settings["accents"] == "strict":
        _check_functions(plan, source, primitive)
    if kind == "add" and _may_meet(plan, states, source, name):
        _check_joins(plan, states, name)
        check_meetings(plan, states, accent)


def _check_functions(plan: Plan, source: str, added: Add) -> None:
    for operator, reaction in follow(plan, source, "add", added.attribute):
        function = operator.refused_by(added.type)
        if function is not None and reaction.passes:
            raise failure(
                "RQ211",
                f"{function} of {operator.title} `{operator.name}` cannot take `{added.attribute}`: "
                f"it is {added.type} (G37)",
                hint=f"`except {added.attribute}`, or `set accents = accumulate;` leaves it out",
            )


def _may_meet(plan: Plan, states: Mapping[str, SourceState], source: str, name: str) -> bool:
    """Returns True if an added attribute could meet another attribute of its name: in an operator with two inputs, or a
    computed one."""
    elsewhere = any(name in state.types for other, state in states.items() if other != source)
    computed = any(name in plan.start[operator.name].types for operator in plan.operators)
    twice = any(
        len(operator.inputs) == 2
        and all(source in {node.name for node in plan.ancestors(i)} for i in operator.inputs)
        for operator in plan.operators
    )
    return elsewhere or computed or twice


def _check_joins(plan: Plan, states: Mapping[str, SourceState], name: str) -> None:
    if (operator := _conflict(plan, {n: s.facts() for n, s in states.items()}, name)) is not None:
        raise failure(
            "RQ210",
            f"`{name}` would clash with another `{name}` in {operator.title} `{operator.name}` (J2)",
            hint=f"rename `{name}` in one of its inputs, or leave it out by a `project`",
        )
    most = {n: s.facts_during(s.closed) for n, s in states.items()}
    if _conflict(plan, most, name) is not None:
        raise EpochMustEnd  # the other input has dropped it in this epoch


def _conflict(plan: Plan, sources: Mapping[str, Facts], name: str) -> Operator | None:
    facts = derive(plan, sources)
    for operator in plan.operators:
        if operator.conflict(tuple(facts[i] for i in operator.inputs)) == name:
            return operator
    return None
