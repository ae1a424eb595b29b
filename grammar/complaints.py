"""From lark's errors to diagnostics: what was found, what was expected, which slip it looks like."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedInput

from cedilla.grammar import foreign, lalr
from cedilla.grammar.change_slips import misplaced_unit
from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.habits import HABITS
from cedilla.grammar.slips import SLIPS, Slip, span_of

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

_OPERATORS = {
    *(
        "SELECT",
        "PROJECT",
        "EXTEND",
        "RENAME",
        "DISTINCT",
        "SORT",
        "TOP",
        "LIMIT",
        "SAMPLE",
        "WINDOW",
        "W",
        "SESSION",
        "AGGREGATE",
    )
}
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
    ("a statement", {"NAME", "STREAM", "TABLE", "OPERATOR", "SET", "LET", "EMIT"}),
    ("a comparison", {"EQUAL", "COMPARATOR", "IN", "BETWEEN", "IS", "NOT"}),
    ("a comparison", {"EQUAL", "COMPARATOR", "IN"}),
    ("an operator", {"PLUS", "MINUS", "CONCAT", "STAR", "SLASH", "PERCENT", "LPAR", "DOT"}),
    ("an operator", {"PLUS", "MINUS", "CONCAT", "STAR", "SLASH", "PERCENT"}),
    ("a condition", {"NAME", "ALTER", "GROW", "UNIT", "RENAME", "RECODE"}),
)
"""Sets of tokens that have one name for people, the larger before those they contain."""

_SECOND_SPELLINGS = {
    "SELECT_SIGN",
    "PROJECT_SIGN",
    "RENAME_SIGN",
    "DISTINCT_SIGN",
    "SORT_SIGN",
    "JOIN_SIGN",
    "OUTER_JOIN_SIGN",
    "UNION_SIGN",
    "INTERSECT_SIGN",
    "AGGREGATE_SIGN",
    "NOT_SIGN",
    "AND_SIGN",
    "OR_SIGN",
    "ALTER_SIGN",
    "ARROW_SIGN",
    "LESSTHAN",  # arrays: only outputs have them
    "UNICODE_MINUS",
}
"""Understood, not advertised."""

_CHARACTERS = {
    "“": "strings are written in straight quotes",
    "”": "strings are written in straight quotes",
    "`": "names are written as they are, strings in double or single quotes",
    "°": 'a unit with a sign is written in quotes, `"°C"`, or as one word, `degC`',
    "^": "a power is written `pow(x, y)`",
    "$": "an attribute is written by its name alone: `a`",
    "@": "an attribute is written by its name alone: `a`",
    "~": "negation is written `not`",
    "&": "conjunction is written `and`",
    "|": "disjunction is written `or`; `a || b` joins strings, and operators are written around their input",
    "!": "negation is written `not`",
}


def explain(error: UnexpectedInput, text: str, source: str, start: lalr.Start) -> Diagnostic:
    """The diagnostic for what lark could not read in `text`."""
    if isinstance(error, UnexpectedCharacters):
        return _illegal(text, source, lalr.position(error))
    before, found = lalr.stop(text, start)
    accepts = lalr.accepted(before, start)
    if before and before[-1].type == "NUMBER":
        accepts -= {"NAME", "STRING"}  # a unit
    if found.type == "$END":
        message, place = "unexpected end of the text", end_of(text, source)
        help = "a statement ends with `;`" if "SEMICOLON" in accepts else _expected(accepts)
        return Diagnostic("RQ002", "error", message, place, help=help)
    slip = Slip(found, before, accepts, source)
    for rule in (*HABITS, *SLIPS, misplaced_unit):
        if (diagnostic := rule(slip)) is not None:
            return diagnostic
    place = span_of(found, source)
    return Diagnostic("RQ001", "error", f"unexpected `{found}`", place, help=_expected(accepts))


def end_of(text: str, source: str) -> Span:
    """The place just after the last visible character."""
    return _at(text, source, len(text.rstrip()), 0)


def _at(text: str, source: str, start: int, length: int) -> Span:
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    return Span(source, start, start + length, line, column, line, column + length)


def _illegal(text: str, source: str, position: int) -> Diagnostic:
    character = text[position]
    if character in "\"'":
        line = text[position:].split("\n", 1)[0].rstrip()
        place = _at(text, source, position, len(line))
        return Diagnostic("RQ006", "error", "a string without its closing quote", place)
    if number := re.compile(r"\d[\w.]*").match(text, position):
        place = _at(text, source, position, len(number[0]))
        unit = re.fullmatch(r"(\d+(?:\.\d+)?)((?![eE]\d)[A-Za-z]\w*)", number[0])
        help = "a number is written `12`, `0.5` or `1e-3`; a space separates it from what follows"
        if unit and (full := foreign.UNITS.get(unit[2])):
            help = f"a length of time is written `{unit[1]} {full}s`"
        elif unit:
            help = f"a space separates a number from its unit, or from what follows: `{unit[1]} {unit[2]}`"
        return Diagnostic("RQ006", "error", f"malformed number `{number[0]}`", place, help=help)
    place = _at(text, source, position, 1)
    help = _CHARACTERS.get(character)
    return Diagnostic("RQ003", "error", f"unexpected character `{character}`", place, help=help)


def _expected(accepts: frozenset[str]) -> str | None:
    """`expected ...`, when that is short enough to help."""
    left = set(accepts) - _SECOND_SPELLINGS
    if {"CASE", "WHERE"} <= left:
        left -= {"DISTINCT", "WHERE"}  # inside a call, for functions of many tuples
    names: list[str] = []
    for name, group in _GROUPS:
        if group <= left:
            names.append(name)
            left -= group
    names += [_NAMES.get(token) or f"`{lalr.spelling(token)}`" for token in sorted(left)]
    if not 0 < len(names) < 5:
        return None
    return "expected " + " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
