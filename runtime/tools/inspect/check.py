"""`cedilla check`: everything that is wrong or doubtful about a query, before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler import Engine
from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.findings import all_findings
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.epochs.options.places import check_unread


def all_diagnostics(
    text: str, name: str, params: Mapping[str, str] | None = None, engine: Engine = "spark"
) -> tuple[Diagnostic, ...]:
    """Returns all findings about a query's text: its errors, else those of its state and of its stated accents too.

    `name`: that of its file; `params`: other values for its constants; `engine`: what is to run it.
    """
    try:
        compiled = compile_query(text, name, params, engine)
        plan = compiled.plan
        diagnostics = (*compiled.warnings, *all_findings(plan))
        try:
            if any(source.accents for source in plan.sources):
                # The code for markers is loaded for them alone.
                from cedilla.runtime.control.markers.stated_accents import start_with_warnings

                diagnostics = (*start_with_warnings(plan)[1], *diagnostics)
            check_unread(plan)
        except DiagnosticError as error:
            return (*error.diagnostics, *diagnostics)
        return diagnostics
    except DiagnosticError as error:
        return error.diagnostics
