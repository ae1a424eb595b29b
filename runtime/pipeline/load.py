"""From the text of a generated program to what it defines."""

from __future__ import annotations

from typing import Any

from cedilla.compiler.plan import Plan
from cedilla.runtime.operators.user import look_beside
from cedilla.runtime.pipeline.running_epoch import Flow


def load(program: str, source: str = "<program>") -> tuple[Plan, Flow]:
    """The plan and the flow of a generated program's text; `source` is the query's file, where it has one."""
    module: dict[str, Any] = {"__name__": "cedilla.program"}
    exec(compile(program, f"<compiled from {source}>", "exec"), module)
    look_beside(module["PLAN"], source)
    return module["PLAN"], module["flow"]
