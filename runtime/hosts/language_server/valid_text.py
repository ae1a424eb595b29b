"""The part of a text that is right: wrong statements become blanks, so that places stay."""

from __future__ import annotations

import re

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parsing import lalr, statements

_MOST = 40
"""The greatest number of wrong statements that are left out."""


def parsed(text: str) -> tuple[str, Tree[Token] | None]:
    """Returns a text without the statements that cannot be parsed, and the tree of the others."""
    for _ in range(_MOST):
        try:
            return text, lalr.parse(text, "query")
        except UnexpectedInput as error:
            text = without_statement(text, _wrong_offset(error, text))
        except RecursionError:
            break
    return "", None


def _wrong_offset(error: UnexpectedInput, text: str) -> int:
    """Returns a place in the statement that is wrong: the one before, if that lacks its semicolon."""
    token = getattr(error, "token", None)
    position = len(text) if token is not None and token.type == "$END" else error.pos_in_stream or 0
    start, _ = statements.bounds(text, position)
    pieces = [piece for piece in statements.PIECE.finditer(text, 0, start) if piece[0][0] not in "#\n"]
    return pieces[-1].start() if pieces and pieces[-1][0] != ";" else position


def without_statement(text: str, offset: int) -> str:
    """Returns a text with blanks for the statement around a place."""
    start, end = statements.bounds(text, offset)
    return text[:start] + re.sub(r"\S", " ", text[start:end]) + text[end:]


def planned(text: str, source: str, relations: tuple[str, ...]) -> tuple[str, Plan | None]:
    """Returns a text without the statements that have errors, and the plan of the others.

    `text` can be parsed. `relations`: its relations; the last one without errors is emitted if nothing else is.
    """
    extra, candidates = "", list(relations)
    for _ in range(_MOST):
        try:
            return text, compile_query(text + extra, source).plan
        except DiagnosticError as error:
            errors = [failure for failure in error.diagnostics if failure.severity == "error"]
        places = [
            failure.span.start
            for failure in errors
            if failure.span is not None and failure.span.source == source
        ]
        is_extra_wrong = extra != "" and places != [] and min(places) > len(text)
        if places and not is_extra_wrong:
            for position in places:
                text = without_statement(text, min(position, max(len(text) - 1, 0)))
        elif candidates and (is_extra_wrong or any(failure.code == "RQ111" for failure in errors)):
            extra = f'\nemit {candidates.pop()} to json "_";'
        else:
            break
    return text, None
