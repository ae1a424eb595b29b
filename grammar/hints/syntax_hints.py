"""Common slips: each rule recognises one and returns a hint, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from attrs import frozen
from lark import Token

from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.hints import forms, synonyms, word_synonyms
from cedilla.grammar.parsing import statements

_FOREIGN_JOINS = synonyms.by_word(
    {
        "natural lookup asof temporal interval hash broadcast equi self lateral outer": "joins are `A join B on k`, "
        "`A left join B on k`, `A semi join B on k`, `A anti join B on k`",
        "right": "`B left join A on k` says the same as a right join",
        "full": "a full join is the union of `A left join B on k` and `B anti join A on k`",
        "inner": "`A join B on k` is the inner join",
        "cross": "a join requires attributes that are equal: `A join B on k`",
    }
)

_OPERATORS = (*forms.OPERATORS, "join", "union", "intersect", "minus")
_STARTS = ("STREAM", "TABLE", "OPERATOR", "SET", "LET", "EMIT", "ACCENT", "USE")

_NAMED = {
    "rename": "a new name comes after the old one: `rename[t as temperature](R)`",
    "session": "a session requires a name: `session[5 minutes on ts per user as sid](R)`",
    "aggregate": "an aggregate requires a name: `avg(t) as mean`",
    "γ": "an aggregate requires a name: `avg(t) as mean`",
    "ρ": "a new name comes after the old one: `ρ[t as temperature](R)`",
    "running": "a running function requires a name: `sum(n) as total`",
    "unnest": "an element requires a name: `unnest[tags as tag](R)`",
}


@frozen
class Slip:
    """The end of parsing: the refused token, those before it, the types that could have followed, and the text after
    it."""

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


UNENDED = "missing `;` at the end of the statement"

Rule = Callable[[Slip], Diagnostic | None]


def span_of(token: Token, source: str) -> Span:
    """The place of a token."""
    start, line, column = token.start_pos or 0, token.line or 1, token.column or 1
    end, end_line, end_column = token.end_pos or start, token.end_line or line, token.end_column or column
    return Span(source, start, end, line, column, end_line, end_column)


def place_after(token: Token, source: str) -> Span:
    """The place just after a token."""
    span = span_of(token, source)
    return Span(source, span.end, span.end, span.end_line, span.end_column, span.end_line, span.end_column)


def foreign_join(slip: Slip) -> Diagnostic | None:
    """Joins and operators that other languages have: `right join`, `left outer join`, `except`, `union all`."""
    if "JOIN" not in slip.accepts:
        return None
    if slip.found.lower() in _FOREIGN_JOINS and re.match(r"\s*(?:\w+\s+)?join\b", slip.rest, re.IGNORECASE):
        return slip.complain(f"there is no `{slip.found} join`", _FOREIGN_JOINS[slip.found.lower()])
    if slip.found == ",":
        return slip.unexpected("two relations are joined by `A join B on k`, or united by `A union B`")
    if slip.found in ("+", "&"):
        return slip.unexpected("relations are united by `A union B`; what both have is `A intersect B`")
    is_join = re.search("left|right|outer|inner|full|semi|anti", slip.found) and re.match(
        r"\s*join\b", slip.rest
    )
    if is_join or (slip.found.type == "NAME" and slip.found.endswith("join")):
        return slip.unexpected(_FOREIGN_JOINS["outer"])
    if is_alias(slip):
        return slip.unexpected("a relation has no second name here: `A join B on A.x = B.y` uses its own")
    if slip.found in ("-", "except"):
        return slip.unexpected("the difference of relations is written `A minus B`")
    if slip.last == "all" and slip.before[-2] in ("union", "∪"):
        help = "a union keeps all tuples; `distinct(A union B)` leaves out equal ones"
        return slip.complain("unexpected `all`", help, slip.last)
    return None


def is_alias(slip: Slip) -> bool:
    """Returns True at `o` of `orders o join customers c`, `(orders o)` and `(orders as o)`."""
    if slip.found == "as":
        return slip.last.type == "NAME" and re.match(r"\s*\w+\s*\)", slip.rest) is not None
    followed = r"\s*(?:[,)]|(?:(?:left|right|full|inner|cross)\s+)?join\b|on\b|where\b)"
    return (
        slip.found.type == slip.last.type == "NAME"
        and re.match(followed, slip.rest, re.IGNORECASE) is not None
    )


def foreign_clause(slip: Slip) -> Diagnostic | None:
    """`R where t > 90`, `x is null`, `x between 1 and 5`, `x in (1, 2, 3)`, `cast(x as int)`."""
    word = str(slip.found)
    if "JOIN" in slip.accepts and word in synonyms.CLAUSES and slip.found.line == slip.last.end_line:
        return slip.unexpected(synonyms.CLAUSES[word])
    if {"PLUS", "AND"} <= slip.accepts or slip.last == "not":
        if word == "as" and "cast" in map(str.lower, map(str, slip.before)):
            return slip.unexpected(
                "a value is converted by `int(x)`, `double(x)`, `string(x)`, `date(x)` ..."
            )
        if (help := word_synonyms.OPERANDS.get(word.lower())) is not None:
            return slip.unexpected(help)
    if word in (",", "to") and "between" in map(str, slip.before[-6:]) and "AND" in slip.accepts:
        return slip.unexpected("a range is written `x between 1 and 5`, or `x in [1, 5]`")
    if slip.last == "not" and slip.accepts <= {"BETWEEN", "IN"} and word not in ("in", "between"):
        return slip.unexpected("inequality is written `x != 3`, its opposite `x = 3`")
    if word == "," and {"AND", "RPAR"} <= slip.accepts and {"=", "!="} & {*map(str, slip.before[-3:-1])}:
        return slip.unexpected("several values are written `x in {1, 2}`, or `x not in {1, 2}`")
    if slip.last == "is" and word.lower() in word_synonyms.OPERANDS:
        return slip.unexpected(word_synonyms.OPERANDS[word.lower()])
    if slip.last == "is" or [str(token) for token in slip.before[-2:]] == ["is", "not"]:
        return slip.unexpected(
            word_synonyms.OPERANDS["isnull"] + "; values are compared by `x = 'a'`, `x != 'a'`"
        )
    if word == "," and slip.accepts == frozenset(("RSQB", "RPAR")):
        return slip.unexpected("a set is written in braces: `x in {1, 2, 3}`")
    return None


def unknown_operator(slip: Slip) -> Diagnostic | None:
    """`filter[...](R)`: a name where an operator must be."""
    if "JOIN" not in slip.accepts or slip.last.type != "NAME" or slip.found not in ("[", "("):
        return None
    guess = suggest(slip.last, _OPERATORS)
    if guess is None and slip.last in slip.before[:-1]:
        help = f"operators are written around their input: `select[t > 90]({slip.last})`"
        return slip.complain(f"unexpected `{slip.found}`", help)
    help = f"the closest operator is `{guess}`" if guess else f"operators are {listed(_OPERATORS)}"
    return slip.complain(f"unknown operator `{slip.last}`", help, slip.last)


def case_of_value(slip: Slip) -> Diagnostic | None:
    """`case x when 1 then ...`."""
    if slip.last == "case" and "WHEN" in slip.accepts:
        return slip.unexpected("a case begins with a condition: `case when x = 1 then a else b end`")
    return None


def missing_semicolon(slip: Slip) -> Diagnostic | None:
    """The next statement begins before this one has ended."""
    token, last = slip.found, slip.last
    if "SEMICOLON" not in slip.accepts:
        return None
    if token.type == "DEFINE" and last.type == "NAME":
        last = slip.before[-2]  # the defined name was taken for a unit
    elif token.type not in _STARTS and not (token.type == "NAME" and token.line != last.end_line):
        return None
    return slip.complain(UNENDED, at=place_after(last, slip.source))


def unknown_statement(slip: Slip) -> Diagnostic | None:
    """`strem sensors(...)`, `located = ...`: a name begins a definition, nothing else."""
    if slip.last in ("stream", "table") and slip.found in ("(", "{", "["):
        return slip.unexpected('a source requires a name: `stream r(ts: long) from json "path";`')
    if not slip.requires("DEFINE"):
        return None
    if slip.found == ".":
        return slip.unexpected(
            'operators are written around their input: `emit select[t > 90](R) to json "path";`'
        )
    if slip.found in ("=", ":"):
        return slip.unexpected("a definition is written `name := relation;`")
    guess = suggest(slip.last, forms.STATEMENTS)
    help = f"the closest statement is `{guess}`" if guess else "a definition is written `name := relation;`"
    return slip.complain(f"unknown statement `{slip.last}`", help, slip.last)


def missing_from(slip: Slip) -> Diagnostic | None:
    """A source without a place to read from, an operator without its function."""
    if {"FROM", "FOUNDATION"} <= slip.accepts:
        return slip.unexpected('an operator requires its function: `from "module:function"`')
    if not slip.requires("FROM") or suggest(slip.found, ["from"]):
        return None
    return slip.unexpected('a source requires a place to read from: `from json "path"`')


def missing_place(slip: Slip) -> Diagnostic | None:
    """An emit without a place to write to, or a place without its format."""
    if slip.found == ";" and "TO" in slip.accepts:
        return slip.unexpected('an output requires a place to write to: `emit R to json "path"`')
    if slip.found.type == "STRING" and slip.last == "from" and "accent" in map(str, slip.before[-3:]):
        return slip.unexpected(f"a file of accents is `from file {slip.found}`")
    if slip.found.type == "STRING" and slip.last in ("to", "from"):
        if (word := str(slip.found)[1:-1].lower()) in forms.FORMATS:
            return slip.unexpected(f'a format is written without quotes: `{slip.last} {word} "path"`')
        return slip.unexpected(f"a place requires a format: `{slip.last} json {slip.found}`")
    return None


def missing_on(slip: Slip) -> Diagnostic | None:
    """A join without its attributes."""
    if "ON" not in slip.accepts or not slip.accepts <= {"ON", "LPAR", "LSQB"} or _operator(slip):
        return None
    return slip.unexpected("a join requires its attributes: `A join B on s` or `A join B on A.s = B.k`")


def join_condition(slip: Slip) -> Diagnostic | None:
    """`A join B on a < b`, `A join B on k and a > 5`."""
    is_compared = slip.found in ("<", ">", "<=", ">=", "!=", "≠", "≤", "≥")
    in_join = {"EQUAL", "JOIN"} & slip.accepts and "join" in map(str, slip.before) and not _operator(slip)
    if is_compared and in_join:
        return slip.unexpected(
            "a join pairs equal attributes; other conditions are `select[t > 90](A join B on k)`"
        )
    return None


def missing_alias(slip: Slip) -> Diagnostic | None:
    """A computed attribute, a window, a session without a name."""
    unnamed = _operator(slip) in ("aggregate", "γ") and slip.found in ("]", ",", "by") and slip.last == ")"
    is_named = slip.accepts <= {"AS", "COMMA"} and slip.found.type not in ("LPAR", "DOT")
    if "AS" not in slip.accepts or not (unnamed or is_named):
        return None
    window = "a window requires a name: `window[300 on ts as wid]`"
    if slip.found in ("every", "sliding", "slide", "hop", "step"):
        window = f"the step comes before `on`: `{forms.OPERATORS['window']}`"
    if slip.found in ("by", "per", "partition", "for", "group"):
        window = (
            "a window is of all tuples; its groups are `aggregate[avg(t) as mean by k, w](window[...](R))`"
        )
    if "rows" in map(str, slip.before[-6:]):
        window = "a window requires a name: `window[10 rows per user as n]`"
    return slip.unexpected(_NAMED.get(_operator(slip), window))


def _operator(slip: Slip) -> str:
    """The word before the bracket that is still open."""
    depth = 0
    for index in range(len(slip.before) - 1, 0, -1):
        token = str(slip.before[index])
        depth += (token in ("]", ")")) - (token in ("[", "("))
        if depth < 0 and token == "[":
            return str(slip.before[index - 1])
    return ""


def missing_parenthesis(slip: Slip) -> Diagnostic | None:
    """Operators without `[...]` or `(...)`, parentheses left open or closed too often."""
    if slip.requires("LPAR") and slip.last == "]":
        return slip.unexpected("the input of an operator is written in parentheses: `select[t > 90](R)`")
    if slip.last == "select" and re.match(r"[^\[\]]*\bfrom\b", slip.rest):
        return slip.unexpected("a query is written from the inside out: `project[a, b](select[t > 90](R))`")
    form = forms.OPERATORS.get(slip.last.type.lower())
    here = slip.requires("LSQB") or slip.found.line == slip.last.end_line
    if form and here and "LSQB" in slip.accepts and slip.found.type in ("LPAR", "NAME", "NUMBER"):
        return slip.unexpected(f"parameters are written in brackets: `{form}`")
    parts_members = slip.found == ";" and statements.closes(slip.rest, 0, 1)
    if slip.found in (";", "]", "]]") and "RPAR" in slip.accepts and _open(slip) and not parts_members:
        at = place_after(slip.last, slip.source)
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
    if [token.type for token in slip.before[-2:]] == ["NUMBER", "NAME"]:  # which was taken for a unit
        return None
    if any(token.type == "CONCAT" for token in slip.before):
        return slip.unexpected("`||` joins strings; disjunction is written `or`")
    return slip.unexpected("comparisons are joined by `and`: `1 < t and t < 5`")


def listed(words: Iterable[str]) -> str:
    """Words in backticks, with commas."""
    return ", ".join(f"`{word}`" for word in words)


SLIPS: tuple[Rule, ...] = (
    foreign_join,
    foreign_clause,
    unknown_operator,
    case_of_value,
    missing_semicolon,
    unknown_statement,
    missing_from,
    missing_place,
    missing_on,
    join_condition,
    missing_alias,
    missing_parenthesis,
    foreign_spelling,
    chained_comparison,
)
"""Rules in the order they are tried; the first that recognises its slip speaks."""
