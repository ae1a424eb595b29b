"""The oracle of a cell's announcements computes what Coq computes from the definitions that are proved."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import COMMON_HISTORY, History
from cedilla.compiler.regions.affine import IDENTITY, Affine
from tests.laws import cell_oracle
from tests.laws.cell_oracle import Cell, Feeder
from tests.proof.check import CASES

WORDS = {"true": "True", "false": "False", ";": ","}


@cache
def tables() -> dict[str, list[Any]]:
    """Returns the tables that Coq has printed, by their names; pairs of pairs are flat, as Coq prints them."""
    printed = re.findall(r"^\? (\w+)\n\s+= (.*?)\n\s+: ", CASES.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return {
        name: ast.literal_eval(re.sub(r"true|false|;", lambda word: WORDS[word[0]], " ".join(text.split())))
        for name, text in printed
    }


def oldest_first(history: list[int]) -> tuple[int, ...]:
    return tuple(reversed(history))


def feeder(live: bool, present: bool, history: list[int]) -> Feeder:
    return Feeder(live, present, oldest_first(history))


def test_there_is_a_table_of_each_definition() -> None:
    assert {name: len(cases) > 100 for name, cases in tables().items()} == dict.fromkeys(
        ("next", "common", "step", "without"), True
    )


def test_the_next_function_is_that_of_the_proof() -> None:
    for common, own, (announced, expected) in tables()["next"]:
        assert cell_oracle.next_function(own, announced, oldest_first(common)) == expected


def test_common_functions_are_those_of_the_proof() -> None:
    for a, b, expected in tables()["common"]:
        actual = cell_oracle.common_functions(oldest_first(a), oldest_first(b))
        assert actual == oldest_first(expected), (a, b)


def test_the_product_finds_as_many_common_functions() -> None:
    """Of several longest ones it may take another one than the proof does."""
    functions = [IDENTITY, Affine(Fraction(2), Fraction(0)), Affine(Fraction(1), Fraction(3))]
    for histories in tables()["common"]:
        a, b, expected = (tuple(functions[f] for f in oldest_first(history)) for history in histories)
        actual: History = regions.combine(a, b, COMMON_HISTORY)
        assert len(actual) == len(expected), (a, b)
        assert is_subsequence(actual, a), (a, b)
        assert is_subsequence(actual, b), (a, b)
        assert actual[-1:] == expected[-1:] or a[-1] != b[-1], (a, b)


def is_subsequence(part: History, history: History) -> bool:
    rest = iter(history)
    return all(function in rest for function in part)


def test_a_step_of_a_cell_is_that_of_the_proof() -> None:
    for feeders, (present, own, kept), expected in tables()["step"]:
        cell = Cell(present, own, frozenset({0, own}))
        after = cell_oracle.step(cell, [feeder(*f) for f in feeders], 0, kept=kept)
        actual = (after.present, after.own, after.announced, after.closed)
        assert actual == (*expected[:2], frozenset(expected[2]), expected[3]), (feeders, cell, kept)


def test_a_region_without_its_attribute_is_that_of_the_proof() -> None:
    tuples = list(product((0, 1), (0, 1)))
    for changing, nowhere, expected in tables()["without"]:
        cells = cell_oracle.without(
            [where for where, bit in zip(tuples, changing, strict=True) if bit],
            [where for where, bit in zip(tuples, nowhere, strict=True) if bit],
            (0, 1),
            (0, 1),
        )
        assert cells == {cell for cell, bit in enumerate(expected) if bit}


@pytest.mark.parametrize("wrong", [lambda own, announced, common: common[-1], lambda own, *_: own])
def test_the_table_notices_another_rule(wrong: Any) -> None:
    cases = [case for case in tables()["next"] if case[0]]
    assert any(wrong(own, listed, oldest_first(h)) != expected for h, own, (listed, expected) in cases)
