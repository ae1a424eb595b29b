"""What hints for words of other languages propose is in the language."""

import re

import pytest
from lark.exceptions import UnexpectedInput

from cedilla.grammar.hints.foreign_words import PLACES
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.parsing import lalr
from cedilla.grammar.parsing.lalr import Start

HINTS = sorted(
    {
        hint
        for place in PLACES
        for table in (place.found, place.pairs, place.last, place.call)
        for hint in table.values()
    }
)

FRAMES = (
    "{}",
    "{};",
    "x := {};",
    "x := {}(R);",
    "x := aggregate[{}](R);",
    "x := aggregate[{} as m](R);",
    "x := window[{} on at as w](R);",
    "x := project[{}](R);",
    "x := select[x {}](R);",
    "x := sort[a {}](R);",
    "emit R to {};",
    "emit R to json 'p' {};",
    "emit R {};",
    "stream r({}) from json 'p';",
    "stream r(a: {}) from json 'p';",
    "stream r(a: double {}) from json 'p';",
    "stream r(a: int) {};",
    "stream r(a: int) from json 'p' {};",
    "stream r(a: int) from kafka {};",
    "stream r(a: int) from otlp 'p' {};",
    "accent R {};",
)
STARTS: tuple[Start, ...] = ("accent", "punctuation")
MARKERS = ("[t < {}]", "[[{}]]", "[[alter(t, {})]]", "[[{}, -(p)]]", "{}")


def is_right(piece: str) -> bool:
    """Returns True if a piece of a hint is a correct part of a query, of an expression or of a marker."""
    piece = (
        piece.replace("low, high", "1, 2")
        .replace("window[...]", "window[5 minutes on at as w]")
        .replace("[...]", "[count() as n]")
    )
    if is_accepted(piece, "expression"):
        return bool(parse_expression(piece))  # which reads what is escaped in strings
    return (
        any(is_accepted(frame.replace("{}", piece), "query") for frame in FRAMES)
        or any(is_accepted(frame.replace("{}", piece), start) for frame in MARKERS for start in STARTS)
        or is_accepted(f"x {piece} y", "expression")
    )


def is_accepted(text: str, start: Start) -> bool:
    try:
        lalr.parse(text, start)
    except UnexpectedInput:
        return False
    return True


SIGNS = {"#", "//", "||", "as", "?", "on", "and", "or", ",", "]]", "\\"}
"""Signs and words that a hint names."""


@pytest.mark.parametrize("hint", HINTS)
def test_what_a_hint_proposes_is_in_the_language(hint: str) -> None:
    wrong = [piece for piece in re.findall(r"`([^`]+)`", hint) if piece not in SIGNS and not is_right(piece)]
    assert wrong == []
