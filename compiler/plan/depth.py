"""How many operators lie one over the other: engines plan them by recursion, in every epoch."""

from __future__ import annotations

from cedilla.compiler.plan.plan import Plan
from cedilla.grammar.diagnostics import failure

DEEPEST = 200
"""Operators on the longest way from a source to an output."""


def check_depth(plan: Plan) -> None:
    """Raise `DiagnosticError` RQ168 where the ways from sources to outputs are too long for engines."""
    depths = dict.fromkeys(plan.source_of, 0)
    for operator in plan.operators:
        depths[operator.name] = 1 + max(depths[name] for name in operator.inputs)
        if depths[operator.name] > DEEPEST:
            message = f"more than {DEEPEST} operators lie one over the other"
            hint = "two queries, of which one reads what the other emits"
            raise failure("RQ168", message, operator.span, hint=hint)
