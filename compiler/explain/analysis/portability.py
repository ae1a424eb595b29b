"""Checks if an engine computes a plan as the others do."""

from __future__ import annotations

from collections.abc import Iterator

from cedilla.compiler.expressions.engines import Engine, refused
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic


def refusals(plan: Plan, engine: Engine) -> tuple[Diagnostic, ...]:
    """Returns RQ425 for each call of a function that an engine computes differently."""
    return tuple(_refusals(plan, engine))


def _refusals(plan: Plan, engine: Engine) -> Iterator[Diagnostic]:
    for operator in plan.operators:
        for expression in operator.expressions:
            for call, refusal in refused(expression, engine):
                message = f"{engine} does not compute {refusal.what} as the other engines do"
                if (
                    operator.span is None
                ):  # the expression was read from a program, whose places are not the query's
                    message += f" (line {operator.line} of the query)"
                span = operator.span and call.span
                yield Diagnostic("RQ425", "error", message, span, (refusal.because,), refusal.instead)
