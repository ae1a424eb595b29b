"""Hints for functions of other systems."""

import re

import pytest

from cedilla.compiler.expressions.aggregates import aggregate_functions
from cedilla.compiler.expressions.scalars import scalar_functions
from cedilla.compiler.expressions.scalars.function_hints import hint_for_aggregate, hint_for_scalar
from cedilla.compiler.operators import running
from cedilla.grammar.hints.function_synonyms import AGGREGATES, SCALARS

OWN = {*aggregate_functions.FUNCTIONS, *scalar_functions.FUNCTIONS, *running.FUNCTIONS}


def test_foreign_names_are_not_functions_of_the_language() -> None:
    assert not AGGREGATES.keys() & aggregate_functions.FUNCTIONS.keys()
    assert not SCALARS.keys() & scalar_functions.FUNCTIONS.keys()


@pytest.mark.parametrize("table", [AGGREGATES, SCALARS], ids=["aggregates", "scalars"])
def test_calls_in_hints_are_functions_of_the_language(table: dict[str, str]) -> None:
    calls = {name for hint in table.values() for name in re.findall(r"(\w+)\(", hint)}
    assert calls - OWN == set()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("stdevp", "did you mean `stddev_pop(x)`?"),
        ("most_common", "did you mean `mode(x)`?"),
        ("max_by", "did you mean `arg_max(x, y)`?"),
        ("p95", "quantile(x, 0.95)"),
        ("bit_xor", "bits are combined by `bit_and(x)`"),
        ("averge", "did you mean `avg(x)`?"),
    ],
)
def test_an_aggregate_function_of_another_system(name: str, hint: str) -> None:
    assert hint in hint_for_aggregate(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lag", "`running[lag(x) as before"),
        ("col", "by its name alone"),
        ("uppr", "did you mean `upper`?"),
        ("strftime", "date_format(at, 'yyyy-MM-dd')"),
        ("mean", "did you mean `avg(x)`?"),
        ("xyzzy", "no function has this name"),
    ],
)
def test_a_function_of_another_system(name: str, hint: str) -> None:
    assert hint in hint_for_scalar(name)
