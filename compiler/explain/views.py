"""Chooses the view and form that `cedilla explain` shows (design, section 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cedilla.compiler.compile import CompiledQuery
from cedilla.compiler.explain.wrapping import WIDTH
from cedilla.grammar.diagnostics.printable import json_printable

_PLANS = ("plan", "words", "full")
"""The views of the plan, which have one form as data."""


def show(
    compiled: CompiledQuery,
    view: str = "plan",
    form: str = "text",
    color: bool = False,
    texts: Mapping[str, str] | None = None,
    width: int = WIDTH,
) -> str:
    """Returns a view, without a final newline.

    `view`: plan, words, full, evolution, trace or spark. `form`: text or json, for the plan also dot or
    mermaid. `texts` and `width`: as for `explain_text`; trace and spark ignore the width.
    """
    if form == "text" and view in _PLANS:
        return _plan_text(compiled, view, color, texts, width)
    shown = _plan(compiled, form) if view in _PLANS else _other(compiled, view, form == "json", width)
    if isinstance(shown, str):
        return shown
    return json_printable(json.dumps(shown, ensure_ascii=False, indent=2))


# Views import their modules when they run, so that each command answers at once.


def _plan_text(
    compiled: CompiledQuery, view: str, color: bool, texts: Mapping[str, str] | None, width: int
) -> str:
    from cedilla.compiler.explain.analysis.findings import findings

    warnings = (*compiled.warnings, *findings(compiled.plan))
    if view == "full":
        from cedilla.compiler.explain.explanation import explain_text

        return explain_text(compiled.plan, color, warnings, texts, width)
    from cedilla.compiler.explain.summary import summary_text

    return summary_text(compiled.plan, color, warnings, texts, width, words=view == "words")


def _plan(compiled: CompiledQuery, form: str) -> str | dict[str, Any]:
    if form in ("dot", "mermaid"):
        from cedilla.compiler.explain.diagram import dot, mermaid

        return dot(compiled.plan) if form == "dot" else mermaid(compiled.plan)
    from cedilla.compiler.explain.analysis.findings import findings
    from cedilla.compiler.explain.explanation import explain_json

    return explain_json(compiled.plan, (*compiled.warnings, *findings(compiled.plan)))


def _other(compiled: CompiledQuery, view: str, as_json: bool, width: int) -> str | dict[str, Any]:
    match view:
        case "evolution":
            from cedilla.compiler.explain.impact_text import evolution_json, evolution_text

            return evolution_json(compiled.plan) if as_json else evolution_text(compiled.plan, width)
        case "trace":
            from cedilla.compiler.explain.derivation import derivation_json, derivation_text

            return derivation_json(compiled.plan) if as_json else derivation_text(compiled.plan)
        case _:
            from cedilla.compiler.explain.explanation import spark_flow

            flow = spark_flow(compiled.program)
            return {"version": 2, "query": compiled.plan.name, "flow": flow} if as_json else flow
