"""Units that a query defines: full names, conversions, substances, and definitions that are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.own import short
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from tests.kit.errors import code_of

DEFINITIONS = """
unit EUR;
unit ct = EUR / 100;
unit kEUR = 1000 EUR;
unit share = 3 / 7 * kEUR;
unit "EUR per MWh" = EUR / MWh;
unit Sekunden = s;
unit "mol of glucose" = 180.156 g;
unit "mol of urea" = 60.06 g;
"""


def unit_of(name: str, definitions: str = DEFINITIONS) -> str:
    """The full name that a declaration gets."""
    query = f'{definitions}stream r(x: double unit "{name}") from json "r"; emit r to json "o";'
    unit = compile_query(query).plan.sources[0].attributes[0].unit
    assert unit is not None
    return unit


@pytest.mark.parametrize(
    ("source", "target", "factor"),
    [
        ("EUR", "ct", "100"),
        ("share", "EUR", "3000/7"),
        ("ct/kWh", "EUR/MWh", "10"),
        ("EUR per MWh", "ct/kWh", "1/10"),
        ("Sekunden", "ms", "1000"),
        ("km/Sekunden", "m/s", "1000"),
        ("mg/dL of glucose", "mmol/L of glucose", "2500/45039"),
        ("mg/dL of glucose", "mmol/L", "2500/45039"),
        ("mmol/L", "mg/dL of urea", "6006/1000"),
    ],
)
def test_own_units_convert_exactly(source: str, target: str, factor: str) -> None:
    function = Affine(Fraction(factor), 0)
    assert units.conversion(unit_of(source), unit_of(target)) == function
    assert units.conversion(unit_of(target), unit_of(source)) == function.inverse()
    assert short(unit_of(source)) == source


@pytest.mark.parametrize(
    ("source", "target"),
    [("EUR", "1"), ("EUR", "{request}"), ("EUR/kWh", "EUR/kg"), ("mg/dL of glucose", "mg/dL of urea")],
)
def test_other_kinds_do_not_convert(source: str, target: str) -> None:
    with pytest.raises(units.Mismatch):
        units.conversion(unit_of(source), unit_of(target))


def test_products_keep_own_units() -> None:
    price, energy = unit_of("ct/kWh"), "MWh"
    cost = units.product("*", price, energy)
    assert cost is not None
    assert units.conversion(cost, unit_of("EUR")) == Affine(10, 0)
    rate = units.product("/", unit_of("EUR"), unit_of("USD", "unit USD;"))
    assert rate is not None
    with pytest.raises(units.Mismatch):
        units.conversion(rate, "1")


def test_two_queries_of_a_process_have_their_own_units() -> None:
    """A definition of one query has no effect on another, neither before nor after it."""
    assert code_of(lambda: unit_of("thaler", "")) == "RQ143"
    first, second = (unit_of("thaler", f"unit EUR; unit thaler = {factor} * EUR;") for factor in ("3", "30"))
    assert units.conversion(first, second) == Affine(Fraction(1, 10), 0)
    assert code_of(lambda: unit_of("thaler", "")) == "RQ143"


@pytest.mark.parametrize(
    ("definition", "code"),
    [
        ("unit m = 3 * s;", "RQ151"),
        ("unit m;", "RQ151"),
        ("unit Seconds = 2 s;", "RQ151"),
        ("unit x = 20 degC;", "RQ151"),
        ("unit x = 0 * s;", "RQ151"),
        ("unit x = s / 0;", "RQ151"),
        ("unit x = s + s;", "RQ151"),
        ("unit x = -3 * s;", "RQ151"),
        ('unit "x y";', "RQ151"),
        ('unit "x=y" = s;', "RQ151"),
        ('unit "mol of glucose";', "RQ151"),
        ('unit "mol of glucose" = 180 m;', "RQ151"),
        ("unit x = 3 * unheard;", "RQ143"),
        ("unit x = y; unit y;", "RQ143"),
        ("unit x; unit x;", "RQ104"),
        ("unit x =;", "RQ001"),
    ],
)
def test_definitions_that_are_refused(definition: str, code: str) -> None:
    assert code_of(lambda: unit_of("s", definition)) == code


def test_a_definition_may_repeat_what_a_name_means() -> None:
    assert unit_of("Seconds", 'unit "Seconds" = s;') == "Seconds"


@pytest.mark.parametrize("name", ["[x=9**9**9*m]", "[x=0*m]", "[x=m m]", "[x=]", "[a=[b=c]]", "[x=m"])
def test_a_full_name_that_is_malformed_is_an_unknown_unit(name: str) -> None:
    with pytest.raises(units.UnknownUnit):
        units.check(name)


def test_definitions_are_laid_out() -> None:
    text = 'unit EUR;\nunit ct = EUR / 100;\nunit "mol of glucose" = 180.156 g;\n'
    assert format_query(parse_query(text), text) == text


def test_a_relation_may_be_called_unit() -> None:
    query = 'stream r(x: double) from json "r"; unit := select[x > 1](r); emit unit to json "o";'
    assert [operator.name for operator in compile_query(query).plan.operators] == ["unit"]


def test_queries_of_two_threads_have_their_own_units() -> None:
    def factor(number: int) -> Fraction:
        first, second = (unit_of("thaler", f"unit EUR; unit thaler = {n} * EUR;") for n in (number, 1))
        return units.conversion(first, second).slope

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(factor, range(1, 41))) == list(range(1, 41))
