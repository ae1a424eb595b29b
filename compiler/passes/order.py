"""The pass that derives the order of the tuples of each relation."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.operators import Operator
from cedilla.compiler.passes.report import Report
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import failure


def order(plan: Plan, report: Report) -> Plan:
    """Derives the order of every relation, and tells each operator that of its input.

    Errors: RQ123 for an operator whose result would depend on how its input is cut into epochs.
    """
    arrivals = {source.name: source.arrival for source in plan.sources}
    ordered: list[Operator] = []
    for operator in plan.operators:
        if any(name not in arrivals for name in operator.inputs):
            continue  # an input is reported
        inputs = tuple(arrivals[name] for name in operator.inputs)
        with report.collecting():
            _check_order(operator, inputs)
            arrivals[operator.name] = Arrival.of(operator.order(inputs), inputs)
        ordered.append(operator.over(inputs))
    return evolve(plan, operators=ordered)


def _check_order(operator: Operator, inputs: tuple[Arrival, ...]) -> None:
    if all(arrival.order >= operator.requires_order for arrival in inputs):
        return
    problem = "come out of order" if inputs[0].order is Order.PLACED else "have no order"
    tuples = f"the tuples of `{operator.inputs[0]}`"
    message = f"{operator.title.lower()} depends on the order of tuples, and {tuples} {problem}"
    raise failure("RQ123", message, operator.span, hint=operator.instead)
