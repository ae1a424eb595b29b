"""The compiler's front door: text in, plan and program out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from attrs import frozen

from cedilla.compiler.explain.analysis.portability import refusals
from cedilla.compiler.expressions.engines import Engine
from cedilla.compiler.included import Included, utf8_text
from cedilla.compiler.passes import plan_query
from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.parameters import given_constants
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.diagnostics.printable import as_utf8
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.formatting.formatter import format_query
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
        from cedilla.compiler.codegen.program import generate

        return as_utf8(generate(self.plan, self.source))  # comments name the file


def compiled_query(query: str | Path | CompiledQuery) -> tuple[CompiledQuery, str]:
    """Returns a query, compiled if it is a path or a text, and its name for messages."""
    if isinstance(query, CompiledQuery):
        return query, "<compiled>"
    compiled = compile_query(query)
    return compiled, compiled.source


def query_name(path: str) -> str:
    """Returns the name of a query, which names its checkpoint, too. `path`: of its file."""
    return as_utf8(Path(path).stem.strip("<>")) or "query"


def query_text(name: str, read: Callable[[], bytes]) -> str:
    """Returns the text of a query. Raises `DiagnosticError` RQ400 if it cannot be read or is not UTF-8."""
    try:
        return utf8_text(read)
    except ValueError as reason:
        is_bytes = isinstance(reason, UnicodeError)
        hint = "a query is a text in UTF-8" if is_bytes else _instead(Path(name))
        raise failure("RQ400", f"{name} cannot be read: {reason}", hint=hint) from None


def _instead(path: Path) -> str:
    """Returns a hint for a path at which no query can be read: a similar path, or the queries there."""
    queries = {file.name: str(file) for file in sorted((path if path.is_dir() else path.parent).glob("*.rq"))}
    near = suggest(path.name, queries)
    if near is not None:
        return f"did you mean `{queries[near]}`?"
    return (
        f"queries there: {', '.join(list(queries.values())[:5])}"
        if queries
        else "the path of a file `.rq`, or `-`"
    )


def _is_path(query: str | Path) -> bool:
    return isinstance(query, Path) or ("\n" not in query and query.endswith(".rq"))


def is_right(text: str, start: int) -> bool:
    """Returns True if no statement from a place of a text on has an error or is likely wrong."""
    try:
        diagnostics = plan_query(parse_query(text)).warnings
    except DiagnosticError as error:
        diagnostics = error.diagnostics
    return not any(
        diagnostic.span is not None
        and diagnostic.span.start >= start
        and (diagnostic.severity == "error" or diagnostic.code in _LIKELY_WRONG)
        for diagnostic in diagnostics
    )


_LIKELY_WRONG = ("RQ106", "RQ125", "RQ126", "RQ165")
"""Warnings of attributes that are never there, and of conditions that no tuple meets."""


def compile_query(
    query: str | Path,
    source: str | None = None,
    params: Mapping[str, str] | None = None,
    engine: Engine = "spark",
) -> CompiledQuery:
    """Compiles a query. The program is the same for all engines.

    `query`: its path, or its text. `source`: its name in messages. `params`: other values for its constants. `engine`:
    the engine that is to run it.

    Raises `DiagnosticError`: RQ400 where the file cannot be read, RQ0xx for syntax, RQ1xx for what the text means,
    RQ425 for what the engine does otherwise.
    """
    if source is None and _is_path(query):
        source, text = str(query), query_text(str(query), Path(query).read_bytes)
    else:
        source, text = source or "<text>", str(query)
    parsed = parse_query(text, source, check=is_right)
    if params:
        parsed = parse_query(text, source, given_constants(parsed, params))
    included = Included(Path(source).parent)
    try:
        expanded = included.expand(parsed)
        if included.texts:  # the text of a plan names no files
            text, params = format_query(expanded), None
        compiled = plan_query(expanded, query_name(source), text, params)
    except DiagnosticError as error:
        raise DiagnosticError(included.with_excerpts(error.diagnostics)) from None
    if problems := refusals(compiled.plan, engine):
        raise DiagnosticError(problems)
    return CompiledQuery(compiled.plan, included.with_excerpts(compiled.warnings), source)
