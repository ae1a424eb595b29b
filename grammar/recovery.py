"""Reports all syntax errors of a query at once: after each, parsing continues after its statement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lark.exceptions import UnexpectedInput

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.hints import parse_errors
from cedilla.grammar.hints.edits import Check
from cedilla.grammar.parsing import lalr, statements

_MAX_ERRORS = 20
"""The greatest number of errors that are reported at once."""


def errors(
    error: UnexpectedInput, text: str, source: str, check: Check | None = None
) -> tuple[list[Diagnostic], str]:
    """The errors of a query's text from the first on, and the text with blanks for the statements that have one."""
    diagnostics: list[Diagnostic] = []
    for diagnostic, rest in _errors(error, text, source, check):
        diagnostics.append(diagnostic)
        text = rest
    return diagnostics, text


def _errors(
    error: UnexpectedInput | None, text: str, source: str, check: Check | None
) -> Iterator[tuple[Diagnostic, str]]:
    for _ in range(_MAX_ERRORS):
        if error is None:
            return
        diagnostic = parse_errors.explain(error, text, source, "query", check)
        text = _without(text, diagnostic)
        yield diagnostic, text
        try:
            lalr.parse(text, "query")
            return
        except UnexpectedInput as another:
            error = another


def _without(text: str, diagnostic: Diagnostic) -> str:
    """The text with blanks for the statement of an error; one that lacks its semicolon ends where the next begins."""
    assert diagnostic.span is not None
    begin = diagnostic.span.start
    start, end = statements.bounds(text, begin)
    if diagnostic.message == parse_errors.UNENDED:
        end = begin
    return text[:start] + re.sub(r"\S", " ", text[start:end]) + text[end:]
