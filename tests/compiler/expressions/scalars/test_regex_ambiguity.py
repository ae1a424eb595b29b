"""Regular expressions that a text can match in exponentially many ways, found by their automata."""

import pytest

from cedilla.compiler.expressions.scalars.regex_ambiguity import is_ambiguous


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(a+)+$",
        r"^(a*)*$",
        r"^(a+?)+?$",
        r"^(?:a|a)*$",
        r"^(a|ab|b)*$",
        r"^(a{2,}|b)+$",
        r"(a?b?)*c",
        r"(x+x+)+y",
        r"((a+)+b)+",
        r"(é+)+x",
        r"^(\w+\s?)*$",
        r"^(\d+,?)+$",
        r"^(([0-9a-f]{1,4}:?)+)$",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"^(.*,)*$",
        r"^(\d{1,3}){12}$",  # no repetition is without bound, but 12 times 3 ways are as many
        r"^(a?){30}a{30}$",
        r"^(\d{1,200})+$",
    ],
)
def test_repetitions_with_two_ways_are_ambiguous(pattern: str) -> None:
    assert is_ambiguous(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "()",
        "a{0}",
        "a{9999}b",
        r"^([a-z]+-)+[0-9]+$",
        r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$",
        r"^(\d{1,3}\.){3}\d{1,3}$",
        r"^([0-9a-f]{2}:?){16}$",
        r"^([0-9a-f]{64},?)+$",
        r"^(ab?c{2,3})+$",
        r"^(a?)*$",
        r'^"([^"\\]|\\.)*"$',
        r"^https?://[^/]+(/[^/]*)*$",
        r"^([+-]?\d+)(;[+-]?\d+)*$",
        r"^([A-Z][a-z]+)+$",
        r"^(?:ab|cd)+?x$",
        r"^[a(+)]+$",
        r"(\w+\s?)+",  # it never fails after a repetition
    ],
)
def test_usual_expressions_are_not_ambiguous(pattern: str) -> None:
    assert not is_ambiguous(pattern)
