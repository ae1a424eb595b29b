"""Whether an engine runs a plan as the others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cedilla.compiler.expressions.engines import Engine, refused
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic


def refusals(plan: Plan, engine: Engine) -> tuple[Diagnostic, ...]:
    """RQ425 for each call of a function that an engine computes differently, RQ429 for each source that it cannot read
    with places."""
    return tuple(_refusals(plan, engine))


_READ: Mapping[Engine, tuple[str, ...]] = dict.fromkeys(
    ("connect", "sail"), ("json", "csv", "parquet", "kafka")
)
"""The formats of sources that engines read, if not all."""


def _refusals(plan: Plan, engine: Engine) -> Iterator[Diagnostic]:
    for source in plan.sources:
        formats = _READ.get(engine, (source.format,))
        if source.format not in formats:
            message = f"sources in {source.format} are not read on the engine {engine}"
            hint = f"`--engine spark`, or the stream in {' or '.join(formats)}"
            yield Diagnostic("RQ429", "error", message, source.span, help=hint)
    for operator in plan.operators:
        for expression in operator.expressions:
            for call, refusal in refused(expression, engine):
                message = f"{engine} does not compute {refusal.what} as the other engines do"
                yield Diagnostic("RQ425", "error", message, call.span, (refusal.because,), refusal.instead)
