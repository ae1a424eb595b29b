"""Compares the impacts that the compiler predicts with those of traced markers."""

from __future__ import annotations

import re

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.impact import AccentImpact, Outcome, impacts
from cedilla.compiler.expressions.expressions import attributes
from cedilla.compiler.operators import Select, Union
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.tools.inspect.trace import MarkerTrace, trace

NEW = "an_attribute_that_no_query_has"


def check_impact(plan: Plan, impact: AccentImpact) -> None:
    name = NEW if impact.attribute == "*" else impact.attribute
    declared = name in plan.start[impact.source].types
    before = [] if declared or impact.kind == "add" else [f"[[+({name}: double)]]"]
    is_time = declared and plan.start[impact.source].types[name].name == "timestamp"
    function = "y + 1 hour" if is_time else "y * 2 + 1" if impact.offset else "y * 2"
    accent = {
        "add": f"[[+({name}: {plan.start[impact.source].types[name] if declared else 'double'})]]",
        "drop": f"[[-({name})]]",
        "alter": f"[[alter({name}, y -> {function})]]",
    }[impact.kind]
    if impact.kind == "add" and declared:
        return  # a drop would have to come first, and may itself wait
    markers = [(impact.source, text) for text in (*before, accent)]
    if impact.code is not None:
        with pytest.raises(DiagnosticError) as caught:
            list(trace(plan, markers))
        assert [d.code for d in caught.value.diagnostics] == [impact.code], impact
        return
    if before and any(f.code for f in impacts(plan) if f.attribute == impact.attribute and f.kind == "add"):
        return
    last = list(trace(plan, markers))[-1]
    for outcome in impact.outcomes:
        if impact.kind == "alter" and reads_and_merges(plan, outcome):
            continue
        (output,) = (at for at in last.outputs if at.relation == outcome.emit)
        # An Alter that changes nothing only says that whole numbers may have decimals from here on.
        accents = [*output.says.adds, *output.says.alters, *output.says.drops]
        announced = [text for text in accents if not text.endswith(", y -> y)]]")]
        if outcome.verdict in ("coordinates", "accumulates"):  # a part that is closed elsewhere need not wait
            # Of several values computed from an attribute, one may be lost at once while another waits.
            waiting = [text for text in announced if re.match(r"\[\[(\+|-|alter)\(", text)]
            assert len(waiting) < max(1, len(outcome.attributes)), (impact, outcome, announced)
            continue
        assert bool(announced) == (outcome.verdict == "propagates"), (impact, outcome, announced)
        for attribute in outcome.attributes if announced else ():
            evolved = NEW if attribute == "*" else attribute
            assert any(re.search(rf"\({evolved}\b", text) for text in announced), (attribute, announced)


def reads_and_merges(plan: Plan, outcome: Outcome) -> bool:
    """Returns True if a predicate on the altered attribute comes before a union.

    Then the Alter holds for some values of its own attribute only, and no description can say that (G23).
    """
    read = {
        name
        for step in outcome.steps
        if isinstance(step.operator, Select)
        for name in attributes(step.operator.predicate)
    }
    return bool(read & set(outcome.attributes)) and any(isinstance(s.operator, Union) for s in outcome.steps)


def traced(query: str, *markers: tuple[str, str]) -> list[MarkerTrace]:
    return list(trace(compile_query(query).plan, markers))
