"""The end of parsing: the refused token, and what is known around it."""

from __future__ import annotations

from attrs import frozen
from lark import Token

from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.hints import forms


@frozen
class Slip:
    """The refused token, those before it, the types that could have followed, and the text after it."""

    found: Token
    before: tuple[Token, ...]
    accepts: frozenset[str]
    source: str
    rest: str = ""

    @property
    def first(self) -> str:
        """Returns the first token of the text, `[[` of an accent; an empty text if it has no token."""
        return str(self.before[0]) if self.before else ""

    @property
    def statement(self) -> list[str]:
        """Returns the words of the statement so far."""
        return forms.statement_of([str(token) for token in self.before])

    @property
    def last(self) -> Token:
        """The token before the refused one; an empty one at the start of the text."""
        return self.before[-1] if self.before else Token("", "")

    @property
    def call(self) -> Token:
        """The word before the parenthesis that is still open; an empty one if none is, or another bracket is."""
        depth = 0
        for index in range(len(self.before) - 1, 0, -1):
            depth += (self.before[index] in (")", "]")) - (self.before[index] in ("(", "["))
            if depth < 0:
                return self.before[index - 1] if self.before[index] == "(" else Token("", "")
        return Token("", "")

    def requires(self, token_type: str) -> bool:
        """Returns True if nothing else could have followed."""
        return self.accepts == frozenset((token_type,))

    def complain(self, message: str, help: str | None = None, at: Token | Span | None = None) -> Diagnostic:
        """A diagnostic at the refused token, unless another one or another place is given."""
        token = self.found if at is None else at
        span = token if isinstance(token, Span) else span_of(token, self.source)
        return Diagnostic("RQ001", "error", message, span, help=help)

    def unexpected(self, help: str, token: Token | None = None) -> Diagnostic:
        """The usual message with a hint, about the refused token or another one."""
        at = self.found if token is None else token
        return self.complain(f"unexpected `{at}`", help, at)


def span_of(token: Token, source: str) -> Span:
    """The place of a token."""
    start, line, column = token.start_pos or 0, token.line or 1, token.column or 1
    end, end_line, end_column = token.end_pos or start, token.end_line or line, token.end_column or column
    return Span(source, start, end, line, column, end_line, end_column)


def place_after(token: Token, source: str) -> Span:
    """The place just after a token."""
    span = span_of(token, source)
    return Span(source, span.end, span.end, span.end_line, span.end_column, span.end_line, span.end_column)
