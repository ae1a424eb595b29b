"""Names of the grammar's tokens, for people."""

from __future__ import annotations

from collections.abc import Iterable

from cedilla.grammar.parsing import lalr
from cedilla.grammar.syntax import accent_forms
from cedilla.grammar.syntax.operator_forms import WORDS

CHOICES: dict[str, tuple[str, ...]] = {"DIRECTION": ("asc", "desc"), "JOIN_KIND": ("left", "semi", "anti")}
"""Tokens that are one of several words."""

_NAMES = {
    "$END": "the end of the text",
    "COMPARATOR": "a comparison",
    "DIRECTION": "`asc`, `desc`",
    "JOIN_KIND": "`left`, `semi`, `anti`",
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "MOMENT": "a time",
}

_OPERATORS = {word.upper() for word in WORDS}
_BETWEEN = {"JOIN", "JOIN_KIND", "UNION", "INTERSECT", "WITHOUT"}
_CONSTANT = {"NUMBER", "STRING", "TRUE", "FALSE", "MINUS"}

_GROUPS = (
    ("a relation", {"NAME", "LPAR", *_OPERATORS}),
    ("an operator on relations", {"LPAR", "LSQB", *_BETWEEN}),
    ("an operator on relations", {"LPAR", *_BETWEEN}),
    ("an operator on relations", _BETWEEN),
    ("an expression", {"NAME", "LPAR", "CASE", "NOT", *_CONSTANT}),
    ("an expression", {"NAME", "LPAR", "CASE", *_CONSTANT}),
    ("a constant", {"NAME", "MOMENT", *_CONSTANT}),
    ("a constant", {"NAME", *_CONSTANT}),
    ("a constant", _CONSTANT),
    ("a statement", {"NAME", "STREAM", "TABLE", "OPERATOR", "SET", "LET", "EMIT", "ACCENT", "USE"}),
    ("a comparison", {"EQUAL", "COMPARATOR", "IN", "BETWEEN", "IS", "NOT"}),
    ("a comparison", {"EQUAL", "COMPARATOR", "IN"}),
    ("an operator", {"PLUS", "MINUS", "CONCAT", "STAR", "SLASH", "PERCENT", "LPAR", "DOT"}),
    ("an operator", {"PLUS", "MINUS", "CONCAT", "STAR", "SLASH", "PERCENT"}),
    ("a condition", {"NAME", "ALTER", *map(str.upper, accent_forms.WORDS)}),
)
"""Sets of tokens that have one name for people, the larger before those they contain."""


def advertised(types: Iterable[str]) -> set[str]:
    """Returns the types that hints name: not those of second spellings, nor `<` of arrays, which only outputs have."""
    return {t for t in types if not t.endswith("_SIGN") and t not in ("LESSTHAN", "UNICODE_MINUS")}


def named(types: Iterable[str], most: int) -> str | None:
    """Returns tokens in words, `a name or ","`; `None` without tokens, or with more than `most` kinds of them."""
    left = advertised(types)
    if {"CASE", "WHERE"} <= left:
        left -= {"DISTINCT", "WHERE"}  # inside a call, for functions of many tuples
    names: list[str] = []
    for name, group in _GROUPS:
        if group <= left:
            names.append(name)
            left -= group
    names += [_NAMES.get(token) or f"`{lalr.spelling(token)}`" for token in sorted(left)]
    if not 0 < len(names) <= most:
        return None
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
