"""The compiler's front door: text in, plan and program out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from attrs import frozen

from cedilla.compiler.analysis.portability import refusals
from cedilla.compiler.codegen.program import generate
from cedilla.compiler.expressions.engines import Engine
from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.parameters import given_constants
from cedilla.compiler.plan.planner import plan_query
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.parser import parse_query


@frozen
class CompiledQuery:
    """A plan, the program that runs it, and the warnings on the way. `source`: the query's file, for comments."""

    plan: Plan
    warnings: tuple[Diagnostic, ...]
    source: str

    @cached_property
    def program(self) -> str:
        """The text of the program; most commands need none."""
        return generate(self.plan, self.source)


def compiled_query(query: str | Path | CompiledQuery) -> tuple[CompiledQuery, str]:
    """What is compiled already, or the compiled text of a path or of the text itself; and its name for messages."""
    if isinstance(query, CompiledQuery):
        return query, "<compiled>"
    is_path = isinstance(query, Path) or ("\n" not in query and query.endswith(".rq"))
    name = str(query) if is_path else "<text>"
    text = Path(query).read_text(encoding="utf-8-sig") if is_path else str(query)
    return compile_query(text, name), name


def compile_query(
    text: str,
    source: str = "<text>",
    params: Mapping[str, str] | None = None,
    engine: Engine = "spark",
) -> CompiledQuery:
    """Compile the text of a query; `source` is its file's name, for messages; `params`: other values for its constants;
    `engine`: what is to run it. The program is the same for all engines.

    Raises `DiagnosticError`: RQ0xx for syntax, RQ1xx for what the text means, RQ425 for what the engine does otherwise.
    """
    query = parse_query(text, source)
    if params:
        query = parse_query(text, source, given_constants(query, params))
    compiled = plan_query(query, Path(source).stem.strip("<>") or "query")
    if problems := refusals(compiled.plan, engine):
        raise DiagnosticError(problems)
    return CompiledQuery(compiled.plan, compiled.warnings, source)
