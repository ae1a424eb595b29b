"""Makes a plan from the syntax of a query, in passes.

In: syntax. Out: `Plan` of sources, operators in topological order, emits and settings; warnings. A pass is a function
from a query or a plan to the next one, in the file of its name. The first sentence of its docstring says what it
does. Imports `plan`, `operators`, `facts`, `changes`, `expressions`, `regions` and the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from cedilla.compiler.passes.build import build
from cedilla.compiler.passes.check import check
from cedilla.compiler.passes.desugar import desugar
from cedilla.compiler.passes.order import order
from cedilla.compiler.passes.own_units import own_units
from cedilla.compiler.passes.report import Report
from cedilla.compiler.passes.resolve import resolve
from cedilla.compiler.passes.verify import verify
from cedilla.compiler.plan import Plan
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic

PASSES: tuple[Callable[[Any, Report], syntax.Query | Plan], ...] = (
    resolve,
    own_units,
    desugar,
    build,
    order,
    check,
)
"""From a query to a plan. `resolve` and `desugar` give queries, the others plans."""


@frozen
class Compiled:
    """A plan with its warnings."""

    plan: Plan
    warnings: tuple[Diagnostic, ...]


def plan_query(
    query: syntax.Query, name: str = "query", text: str = "", params: Mapping[str, str] | None = None
) -> Compiled:
    """Plans a query, parsed from a text with other values for its constants.

    Raises `DiagnosticError` with every error that can be detected at once; RQ176 for a pass that is wrong itself.
    """
    report, stage = Report(query, name, text, params or {}), query
    for compiler_pass in PASSES:
        last, stage = stage, compiler_pass(stage, report)
        if not report.errors:
            verify(compiler_pass.__name__, last, stage)
    warnings = report.finish()
    assert isinstance(stage, Plan)
    return Compiled(stage, warnings)
