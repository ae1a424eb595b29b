"""From a compiled query to the flow that its program defines."""

from __future__ import annotations

from typing import Any

from cedilla.compiler.compile import CompiledQuery
from cedilla.compiler.plan import Plan
from cedilla.runtime.epochs.operators.user import look_beside
from cedilla.runtime.epochs.pipeline.running_epoch import Flow


def load(compiled: CompiledQuery) -> tuple[Plan, Flow]:
    """Returns the plan of a query, and the flow of its program; loads modules in the folder of the query's file."""
    module: dict[str, Any] = {"__name__": "cedilla.program"}
    exec(compile(compiled.program, f"<compiled from {compiled.source}>", "exec"), module)
    look_beside(compiled.plan, compiled.source)
    return compiled.plan, module["flow"]
