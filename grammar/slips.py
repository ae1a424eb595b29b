"""Common slips: each rule recognises one and says what was likely meant, or returns None."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from attrs import frozen
from lark import Token

from cedilla.grammar.diagnostics import Diagnostic, Span

LATER: dict[str, str] = {
    **{word: word for word in ("intersect", "minus", "distinct", "sort", "top", "rename")},
    **{side: f"{side} join" for side in ("left", "right", "full", "semi", "anti")},
    "∩": "intersect",
    "−": "minus",
    "δ": "distinct",
    "τ": "sort",
    "ρ": "rename",
}
"""Words and signs of operators that the language has a place for but not yet a meaning."""

_OPERATORS = ("select", "project", "join", "union", "window", "aggregate")
_STATEMENTS = ("stream", "table", "set", "emit")
_STARTS = ("STREAM", "TABLE", "SET", "EMIT")


@frozen
class Slip:
    """Where parsing stopped: the refused token, those before it, and the types that could have followed."""

    found: Token
    before: tuple[Token, ...]
    accepts: frozenset[str]
    source: str

    @property
    def last(self) -> Token:
        """The token before the refused one; an empty one at the start of the text."""
        return self.before[-1] if self.before else Token("", "")

    def requires(self, token_type: str) -> bool:
        """Whether nothing else could have followed."""
        return self.accepts == frozenset((token_type,))

    def complain(self, message: str, help: str | None = None, at: Span | None = None) -> Diagnostic:
        """A diagnostic at the refused token, unless another place is given."""
        return Diagnostic("RQ001", "error", message, at or span_of(self.found, self.source), help=help)

    def unexpected(self, help: str) -> Diagnostic:
        """The usual message with a hint."""
        return self.complain(f"unexpected `{self.found}`", help)


Rule = Callable[[Slip], Diagnostic | None]


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is likely a misspelling of."""
    return next(iter(difflib.get_close_matches(word.lower(), list(known), n=1)), None)


def span_of(token: Token, source: str) -> Span:
    """The place of a token."""
    start, line, column = token.start_pos or 0, token.line or 1, token.column or 1
    end, end_line, end_column = token.end_pos or start, token.end_line or line, token.end_column or column
    return Span(source, start, end, line, column, end_line, end_column)


def _after(token: Token, source: str) -> Span:
    span = span_of(token, source)
    return Span(source, span.end, span.end, span.end_line, span.end_column, span.end_line, span.end_column)


def brackets(slip: Slip) -> Diagnostic | None:
    """One pair of brackets around an accent, two around a punctuation."""
    if "OPEN_ACCENT" in slip.accepts and slip.found == "[":
        return slip.unexpected("an accent is written in double brackets: `[[description, change]]`")
    if "CLOSE_ACCENT" in slip.accepts and slip.found == "]":
        return slip.unexpected("an accent ends with `]]`")
    if [str(token) for token in (*slip.before, slip.found)] == ["[", "["]:
        return slip.unexpected("a punctuation is written in single brackets: `[ts <= 600]`")
    return None


def change(slip: Slip) -> Diagnostic | None:
    """An accent that describes tuples but changes nothing, or in an unknown way."""
    if not slip.before or slip.before[0] != "[[":
        return None
    help = "a change is one of `+(p: double)`, `-(p)`, `alter(t, y -> y * 2)`"
    if slip.found in ("]", "]]") and slip.accepts & {"AND", "ALTER"}:
        return slip.complain("an accent requires a change at its end", help)
    if slip.found == "(" and slip.last.type == "NAME" and "EQUAL" in slip.accepts:
        return slip.complain(f"unknown change `{slip.last}`", help, span_of(slip.last, slip.source))
    return None


def later_operator(slip: Slip) -> Diagnostic | None:
    """An operator that is not available yet, before or between its inputs."""
    if "JOIN" not in slip.accepts:
        return None
    if slip.found in LATER:
        return slip.complain(f"operator `{LATER[slip.found]}` is not available yet")
    if slip.found in ("[", "(") and slip.last in LATER:
        name = LATER[slip.last]
        return slip.complain(f"operator `{name}` is not available yet", at=span_of(slip.last, slip.source))
    return None


def unknown_operator(slip: Slip) -> Diagnostic | None:
    """`filter[...](R)`: a name where an operator must be."""
    if "JOIN" not in slip.accepts or slip.last.type != "NAME" or slip.found not in ("[", "("):
        return None
    guess = closest(slip.last, _OPERATORS)
    help = f"the closest operator is `{guess}`" if guess else f"operators are {_listed(_OPERATORS)}"
    return slip.complain(f"unknown operator `{slip.last}`", help, span_of(slip.last, slip.source))


def function_call(slip: Slip) -> Diagnostic | None:
    """`floor(x)` or `case ...` in an expression."""
    if "PLUS" not in slip.accepts or slip.last.type != "NAME":
        return None
    at = span_of(slip.last, slip.source)
    if slip.found == "(":
        return slip.complain(f"function `{slip.last}` is not available yet in an expression", at=at)
    return slip.complain("`case` is not available yet", at=at) if slip.last == "case" else None


def missing_semicolon(slip: Slip) -> Diagnostic | None:
    """The next statement begins before this one has ended."""
    found, last = slip.found, slip.last
    if "SEMICOLON" not in slip.accepts:
        return None
    if found.type == "DEFINE" and last.type == "NAME":
        last = slip.before[-2]  # the defined name was taken for a unit
    elif found.type not in _STARTS and not (found.type == "NAME" and found.line != last.end_line):
        return None
    return slip.complain("missing `;` at the end of the statement", at=_after(last, slip.source))


def unknown_statement(slip: Slip) -> Diagnostic | None:
    """`strem sensors(...)`, `located = ...`: a name begins a definition, nothing else."""
    if not slip.requires("DEFINE"):
        return None
    if slip.found in ("=", ":"):
        return slip.unexpected("a definition is written `name := relation;`")
    at = span_of(slip.last, slip.source)
    if slip.last == "operator":
        return slip.complain("`operator` declarations are not available yet", at=at)
    guess = closest(slip.last, _STATEMENTS)
    help = f"the closest statement is `{guess}`" if guess else "a definition is written `name := relation;`"
    return slip.complain(f"unknown statement `{slip.last}`", help, at)


def missing_from(slip: Slip) -> Diagnostic | None:
    """A source without a place to read from."""
    if not slip.requires("FROM"):
        return None
    return slip.unexpected('a source requires a place to read from: `from json "path"`')


def missing_place(slip: Slip) -> Diagnostic | None:
    """An emit without a place to write to, or a place without its format."""
    if slip.found == ";" and "TO" in slip.accepts:
        return slip.unexpected('an output requires a place to write to: `emit R to json "path"`')
    if slip.found.type == "STRING" and slip.last in ("to", "from"):
        return slip.unexpected(f"a place requires a format: `{slip.last} json {slip.found}`")
    return None


def missing_on(slip: Slip) -> Diagnostic | None:
    """A join without its attributes."""
    if not slip.requires("ON"):
        return None
    return slip.unexpected("a join requires its attributes: `A join B on s` or `A join B on A.s = B.k`")


def missing_alias(slip: Slip) -> Diagnostic | None:
    """A computed attribute without a name."""
    if not slip.requires("AS"):
        return None
    example = "an aggregate requires a name: `avg(t) as mean`"
    window = "a window requires a name: `window[300 on ts as wid]`"
    return slip.unexpected(example if slip.last == ")" else window)


def missing_parenthesis(slip: Slip) -> Diagnostic | None:
    """Operators without `[...]` or `(...)`, parentheses left open or closed too often."""
    if slip.requires("LPAR") and slip.last == "]":
        return slip.unexpected("the input of an operator is written in parentheses: `select[t > 90](R)`")
    if slip.requires("LSQB") and slip.last.type in ("SELECT", "PROJECT", "WINDOW", "AGGREGATE"):
        return slip.unexpected(f"parameters are written in brackets: `{slip.last}[...](R)`")
    if slip.found == ")" and not _open(slip):
        return slip.unexpected("this parenthesis closes nothing")
    if slip.found in (";", "]", "]]") and "RPAR" in slip.accepts and _open(slip):
        at = _after(slip.last, slip.source)
        return slip.complain("missing `)`", f"a parenthesis is still open before `{slip.found}`", at)
    return None


def _open(slip: Slip) -> bool:
    # A range may begin with one kind of bracket and end with the other, so only the sum counts.
    return sum(str(token) in ("(", "[") for token in slip.before) > sum(
        str(token) in (")", "]") for token in slip.before
    )


def foreign_spelling(slip: Slip) -> Diagnostic | None:
    """Spellings of other languages: `==`, `<>`, `:=` for equality, `count(*)`."""
    pair = (str(slip.last), str(slip.found))
    if pair == ("=", "=") or (slip.found == ":=" and "EQUAL" in slip.accepts):
        return slip.unexpected("equality is written `=`")
    if pair == ("<", ">"):
        return slip.unexpected("inequality is written `!=`")
    if pair == ("(", "*"):
        return slip.unexpected("`count() as n` counts tuples")
    return None


def chained_comparison(slip: Slip) -> Diagnostic | None:
    """`a < b < c`."""
    if slip.found.type not in ("EQUAL", "COMPARATOR") or not {"AND", "OR"} <= slip.accepts:
        return None
    return slip.unexpected("comparisons are joined by `and`: `1 < t and t < 5`")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


SLIPS: tuple[Rule, ...] = (
    brackets,
    change,
    later_operator,
    unknown_operator,
    function_call,
    missing_semicolon,
    unknown_statement,
    missing_from,
    missing_place,
    missing_on,
    missing_alias,
    missing_parenthesis,
    foreign_spelling,
    chained_comparison,
)
"""Rules in the order they are tried; the first that recognises its slip speaks."""
