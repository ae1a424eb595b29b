"""Common slips: each rule recognises one and says what was likely meant, or returns None."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

from attrs import frozen
from lark import Token

from cedilla.grammar import foreign
from cedilla.grammar.diagnostics import Diagnostic, Span

_FOREIGN_JOINS = {
    "right": "`B left join A on k` says the same as a right join",
    "full": "a full join is the union of `A left join B on k` and `B anti join A on k`",
    "inner": "`A join B on k` is the inner join",
    "cross": "a join requires attributes that are equal",
}

_OPERATORS = (
    *(
        "select",
        "project",
        "extend",
        "join",
        "union",
        "intersect",
        "minus",
        "rename",
        "distinct",
        "sort",
        "top",
    ),
    *("limit", "sample", "window", "session", "aggregate"),
)
_STATEMENTS = ("stream", "table", "operator", "set", "let", "emit")
_STARTS = ("STREAM", "TABLE", "OPERATOR", "SET", "LET", "EMIT")

_TESTS = {
    "like": "`like(x, 'a%')` compares with a pattern",
    "rlike": "`rlike(x, '[a-z]+')` compares with a regular expression",
    "div": "`floor(a / b)` divides whole numbers",
    "mod": "the remainder is written `a % b`",
    "?": "a choice is written `if(condition, a, b)` or `case when condition then a else b end`",
}
"""What other languages write behind an expression."""

_BRACKETED = {
    "SELECT": "[t > 90]",
    "PROJECT": "[l, t]",
    "EXTEND": "[t * 1.8 + 32 as f]",
    "RENAME": "[t as temperature]",
    "SORT": "[t desc]",
    "TOP": "[10 by t desc per l]",
    "LIMIT": "[5]",
    "SAMPLE": "[1 in 10 by k]",
    "WINDOW": "[300 on ts as wid]",
    "SESSION": "[5 minutes on ts per user as sid]",
    "AGGREGATE": "[avg(t) as mean by l]",
}
"""Operators with parameters, for example these."""

_NAMED = {
    "rename": "a new name is written behind the old one: `rename[t as temperature](R)`",
    "session": "a session requires a name: `session[5 minutes on ts per user as sid](R)`",
    "aggregate": "an aggregate requires a name: `avg(t) as mean`",
    "γ": "an aggregate requires a name: `avg(t) as mean`",
    "ρ": "a new name is written behind the old one: `ρ[t as temperature](R)`",
}


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


UNENDED = "missing `;` at the end of the statement"

Rule = Callable[[Slip], Diagnostic | None]


def closest(word: str, words: Iterable[str]) -> str | None:
    """The known word that `word` is likely a misspelling of."""
    by_lower = {each.lower(): each for each in words}
    return next((by_lower[each] for each in difflib.get_close_matches(word.lower(), by_lower, n=1)), None)


def misspelt(word: str, words: Iterable[str]) -> str | None:
    """The known name that a word is all but surely: names that differ in digits only are different ones."""
    for near in difflib.get_close_matches(word, list(words), n=3, cutoff=0.81):
        if re.sub(r"\d+", "", near) != re.sub(r"\d+", "", word):
            return near
    return None


def meant(word: str, words: Iterable[str], what: str) -> str:
    """A hint to an unknown word: the one that was likely meant, and all that are known."""
    words = list(words)
    guess = closest(word, words)
    listed = f"known {what}: {', '.join(words)}"
    return listed if guess is None else f"did you mean `{guess}`? {listed}"


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
    help = (
        "a change is one of `+(p: double)`, `-(p)`, `alter(t, y -> y * 2)`, `unit(t, degC)`, `rename(temp, t)`, "
        "`recode(k, {1: 2})`, `grow(s, {3})`"
    )
    if slip.found in ("]", "]]") and slip.accepts & {"AND", "ALTER"}:
        both = f"{help}; a punctuation has single brackets, `[ts < 300]`"
        return slip.complain("an accent requires a change at its end", both)
    if slip.found == "(" and slip.last.type == "NAME" and "EQUAL" in slip.accepts:
        return slip.complain(f"unknown change `{slip.last}`", help, span_of(slip.last, slip.source))
    return None


def foreign_join(slip: Slip) -> Diagnostic | None:
    """Joins and operators that other languages have: `right join`, `left outer join`, `except`, `union all`."""
    if slip.found == "outer" and slip.last.type == "JOIN_KIND":
        return slip.unexpected("an outer join is written `A left join B on k`")
    if "JOIN" not in slip.accepts:
        return None
    if slip.found in _FOREIGN_JOINS:
        return slip.complain(f"there is no `{slip.found} join`", _FOREIGN_JOINS[slip.found])
    if slip.found in ("-", "except"):
        return slip.unexpected("the difference of relations is written `A minus B`")
    if slip.last == "all" and slip.before[-2] in ("union", "∪"):
        help = "a union keeps all tuples; `distinct(A union B)` leaves out equal ones"
        return slip.complain("unexpected `all`", help, span_of(slip.last, slip.source))
    return None


def foreign_clause(slip: Slip) -> Diagnostic | None:
    """`R where t > 90`, `x is null`, `x between 1 and 5`, `x in (1, 2, 3)`, `cast(x as int)`."""
    found = str(slip.found)
    if "JOIN" in slip.accepts and found in foreign.CLAUSES and slip.found.line == slip.last.end_line:
        return slip.unexpected(foreign.CLAUSES[found])
    if {"PLUS", "AND"} <= slip.accepts:
        if found == "as" and "cast" in map(str, slip.before):
            return slip.unexpected(
                "a value is converted by `int(x)`, `double(x)`, `string(x)`, `date(x)` ..."
            )
        if found in _TESTS:
            return slip.unexpected(_TESTS[found])
    if found == "," and slip.accepts == frozenset(("RSQB", "RPAR")):
        return slip.unexpected("a set is written in braces: `x in {1, 2, 3}`")
    return None


def unknown_operator(slip: Slip) -> Diagnostic | None:
    """`filter[...](R)`: a name where an operator must be."""
    if "JOIN" not in slip.accepts or slip.last.type != "NAME" or slip.found not in ("[", "("):
        return None
    guess = closest(slip.last, _OPERATORS)
    help = f"the closest operator is `{guess}`" if guess else f"operators are {_listed(_OPERATORS)}"
    return slip.complain(f"unknown operator `{slip.last}`", help, span_of(slip.last, slip.source))


def unfinished_case(slip: Slip) -> Diagnostic | None:
    """`case x when 1 then ...`, a branch without its `then`, a `case` without its `end`."""
    if slip.last == "case" and "WHEN" in slip.accepts:
        return slip.unexpected("a case begins with a condition: `case when x = 1 then a else b end`")
    closing = slip.found in ("]", ")", ";", ",", "as", "end", "else", "when")
    if "THEN" in slip.accepts and closing:
        return slip.unexpected("a condition is followed by its value: `case when x = 1 then a else b end`")
    if "END" in slip.accepts and closing:
        return slip.unexpected("a case ends with `end`: `case when x = 1 then a else b end`")
    return None


def missing_semicolon(slip: Slip) -> Diagnostic | None:
    """The next statement begins before this one has ended."""
    found, last = slip.found, slip.last
    if "SEMICOLON" not in slip.accepts:
        return None
    if found.type == "DEFINE" and last.type == "NAME":
        last = slip.before[-2]  # the defined name was taken for a unit
    elif found.type not in _STARTS and not (found.type == "NAME" and found.line != last.end_line):
        return None
    return slip.complain(UNENDED, at=_after(last, slip.source))


def unknown_statement(slip: Slip) -> Diagnostic | None:
    """`strem sensors(...)`, `located = ...`: a name begins a definition, nothing else."""
    if not slip.requires("DEFINE"):
        return None
    if slip.found in ("=", ":"):
        return slip.unexpected("a definition is written `name := relation;`")
    at = span_of(slip.last, slip.source)
    guess = closest(slip.last, _STATEMENTS)
    help = f"the closest statement is `{guess}`" if guess else "a definition is written `name := relation;`"
    return slip.complain(f"unknown statement `{slip.last}`", help, at)


def missing_from(slip: Slip) -> Diagnostic | None:
    """A source without a place to read from, an operator without its function."""
    if {"FROM", "FOUNDATION"} <= slip.accepts:
        return slip.unexpected('an operator requires its function: `from "module:function"`')
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
    if "ON" not in slip.accepts or not slip.accepts <= {"ON", "LPAR", "LSQB"}:
        return None
    return slip.unexpected("a join requires its attributes: `A join B on s` or `A join B on A.s = B.k`")


def missing_alias(slip: Slip) -> Diagnostic | None:
    """A computed attribute, a window, a session without a name."""
    unnamed = _operator(slip) in ("aggregate", "γ") and slip.found in ("]", ",", "by") and slip.last == ")"
    if "AS" not in slip.accepts or not (unnamed or slip.accepts <= {"AS", "COMMA"}):
        return None
    window = "a window requires a name: `window[300 on ts as wid]`"
    if "rows" in map(str, slip.before[-6:]):
        window = "a window requires a name: `window[10 rows per user as n]`"
    return slip.unexpected(_NAMED.get(_operator(slip), window))


def _operator(slip: Slip) -> str:
    """The word before the bracket that is still open."""
    depth = 0
    for place in range(len(slip.before) - 1, 0, -1):
        token = str(slip.before[place])
        depth += (token in ("]", ")")) - (token in ("[", "("))
        if depth < 0 and token == "[":
            return str(slip.before[place - 1])
    return ""


def missing_parenthesis(slip: Slip) -> Diagnostic | None:
    """Operators without `[...]` or `(...)`, parentheses left open or closed too often."""
    if slip.requires("LPAR") and slip.last == "]":
        return slip.unexpected("the input of an operator is written in parentheses: `select[t > 90](R)`")
    example = _BRACKETED.get(slip.last.type)
    here = slip.requires("LSQB") or slip.found.line == slip.last.end_line
    if example and here and "LSQB" in slip.accepts and slip.found.type in ("LPAR", "NAME", "NUMBER"):
        return slip.unexpected(f"parameters are written in brackets: `{slip.last}{example}(R)`")
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
    """`a < b < c`, `a < b || c < d`."""
    if slip.found.type not in ("EQUAL", "COMPARATOR") or not {"AND", "OR"} <= slip.accepts:
        return None
    if any(token.type == "CONCAT" for token in slip.before):
        return slip.unexpected("`||` joins strings; disjunction is written `or`")
    return slip.unexpected("comparisons are joined by `and`: `1 < t and t < 5`")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


SLIPS: tuple[Rule, ...] = (
    brackets,
    change,
    foreign_join,
    foreign_clause,
    unknown_operator,
    unfinished_case,
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
