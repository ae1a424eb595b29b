"""Accents that differ in one number are parsed once; each gives what it gives alone: nodes, places, complaints."""

import pytest

from cedilla.grammar import parser
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_accent

NUMBERS = ["0", "7", "10", "23", "99", "007", "100000000000000000", "9999999999999999999", "-3", "1.5", "1e3"]
RESTS = [
    ", alter(t, y -> y * 2)]]",
    ", x < 3, +(p: double)]]",
    ", s = 4, -(p)]]",
    ', l = "in, [out]", unit(t, degC)]]',
    " degC, -(p)]]",
    ", -(p)]",
    ", and]]",
    ", alter(t, y -> y * )]]",
    ", alter(t, y -> (y - 32) * 5 / 9)]]",
    ", alter(t, y -> 3 * y - -7 + 0.5)]]",
    ", alter(t, y -> y * 5 degC)]]",
    ", alter(t, y -> y * 2, y -> y / 2)]]",
    ", alter(t, y -> abs(y, 7))]]",
    ", alter(t, y -> (y - 32) / 9, unit degC)]]",
    ", alter(t, y -> y * 10e3 + 12)]]",
    ", x = 12, alter(t, y -> y / 0)]]",
    "]]",
]


@pytest.mark.parametrize("name", ["s", "größe", "alter", "in", "and"])
@pytest.mark.parametrize("rest", RESTS)
def test_alike_accents_are_what_each_is_alone(monkeypatch: pytest.MonkeyPatch, name: str, rest: str) -> None:
    texts = [f"[[{name} = {number}{rest}" for number in NUMBERS]
    together = [_read(text) for text in texts]
    monkeypatch.setattr(parser, "_POINT", _Never)
    parse_accent.cache_clear()
    assert together == [_read(text) for text in texts]


def test_functions_may_differ_too(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[str] = []
    parse = parser.lalr.parse
    monkeypatch.setattr(
        parser.lalr, "parse", lambda text, start: (collected.append(text), parse(text, start))[1]
    )
    for number in range(100, 200):
        parse_accent(f"[[robot = {number}, alter(torque, y -> y * {number} + {number + 300})]]")
    assert len(collected) == 1


def test_the_parser_sees_accents_of_a_fleet_once(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[str] = []
    parse = parser.lalr.parse
    monkeypatch.setattr(
        parser.lalr, "parse", lambda text, start: (collected.append(text), parse(text, start))[1]
    )
    for number in range(1000, 1100):
        parse_accent(f"[[robot = {number}, alter(t, y -> y * 5 + 1)]]")
    assert len(collected) == 1


class _Never:
    @staticmethod
    def match(text: str) -> None:
        """No accent is like another."""


def _read(text: str) -> str:
    try:
        node = parse_accent(text)
    except DiagnosticError as error:
        return repr(error.diagnostics)
    first = node.description[0]
    return repr(
        (node, node.span, node.primitive.span, [(c, c.span, c.pattern.span) for c in node.description], first)
    )
