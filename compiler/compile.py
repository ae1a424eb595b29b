"""The compiler's front door: text in, plan and program out."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from cedilla.compiler.codegen import generate
from cedilla.compiler.plan import Plan
from cedilla.compiler.planner import plan_query
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.parser import parse_query


@frozen
class CompiledQuery:
    """A plan, the program that runs it, and the warnings on the way."""

    plan: Plan
    program: str
    warnings: tuple[Diagnostic, ...]


def compile_query(text: str, source: str = "<text>") -> CompiledQuery:
    """Compile the text of a query; `source` is its file's name, for messages.

    Raises `DiagnosticError`: RQ0xx for syntax, RQ1xx for what the text means.
    """
    compiled = plan_query(parse_query(text, source), Path(source).stem.strip("<>") or "query")
    return CompiledQuery(compiled.plan, generate(compiled.plan, source), compiled.warnings)
