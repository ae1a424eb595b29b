"""Units of standards: each code of UCUM means what UCUM says, or is refused; codes of CF, SenML and UNECE."""

from __future__ import annotations

from fractions import Fraction
from math import pi

import pytest

from cedilla.compiler.expressions.units import units
from cedilla.compiler.expressions.units.kinds import quantity
from cedilla.compiler.expressions.units.names import CODES_OF_OTHERS
from tests.compiler.expressions.units.ucum import ONE, Meaning, ucum

BASES = {
    "meter": Meaning(Fraction(1), {"m": 1}),
    "second": Meaning(Fraction(1), {"s": 1}),
    "gram": Meaning(Fraction(1), {"g": 1}),
    "radian": Meaning(Fraction(1), {"rad": 1}),
    "steradian": Meaning(Fraction(1), {"rad": 2}),
    "revolution": Meaning(Fraction(2 * pi), {"rad": 1}),
    "kelvin": Meaning(Fraction(1), {"K": 1}),
    "ampere": Meaning(Fraction(1), {"C": 1, "s": -1}),
    "candela": Meaning(Fraction(1), {"cd": 1}),
    "mole": Meaning(Fraction("6.02214076e23"), {}),
    "sievert": Meaning(Fraction(1), {"m": 2, "s": -2}),
}
"""Base units of the registry in those of UCUM. Counts and arbitrary units have none: they are kinds of their own."""
CONVENTIONAL = Fraction(1, 100_000)
"""The difference of two good values of one unit, such as of mercury's density; UCUM's has six digits."""
OF_OTHERS = {"B", "bit_s"}
"""A byte and an amount of information, which pint and people write so."""
OF_PEOPLE = {*["ft", "kt", "au", "at", "mph", "Mph", "kph", "MiU", "GiU", "TiU", "Tt"]}
"""Feet, knots and other words that people read otherwise than UCUM's prefixes."""


def meaning(name: str) -> Meaning:
    """Returns the unit that we read, in UCUM's base units. Raises `UnknownUnit`."""
    ours = quantity(name)
    result = Meaning(Fraction(ours.factor), {})
    for base, power in ours.kind:
        result = result.times(BASES.get(base, ONE), int(power))
    return result


def check(name: str, expected: Meaning) -> bool:
    """Returns True if a code is read, and checks its meaning."""
    try:
        ours = meaning(name)
    except units.UnknownUnit:
        return False
    assert ours.powers == expected.powers, name
    assert abs(ours.factor / expected.factor - 1) < CONVENTIONAL, name
    return True


def test_codes_mean_what_ucum_says() -> None:
    codes = [code for code in ucum().codes() if code not in ucum().special | OF_OTHERS]
    refused = [code for code in codes if not check(code, ucum().meaning(code))]
    # Names with several meanings, each with a hint.
    assert refused == ["C", "F", "'", "''", "AU", "pc", "Gal", "Gb", "ph", "R", "st", "b"]


@pytest.mark.rest
def test_codes_with_prefixes_mean_what_ucum_says() -> None:
    codes = [name for name in ucum().prefixed() if name not in OF_PEOPLE]
    read = [name for name in codes if check(name, ucum().meaning(name))]
    assert {"mm[Hg]", "kcal_th", "k[IU]", "umol", "MBq", "hPa", "kcal_[15]"} <= {*read}


@pytest.mark.parametrize(
    "code", ["[p'diop]", "%[slope]", "m[h]", "m[g]", "AU", "mol%", "L/1min", "U/1h", "m/2s"]
)
def test_what_would_mean_another_unit_is_refused(code: str) -> None:
    with pytest.raises(units.UnknownUnit) as refused:
        units.check(code)
    assert refused.value.instead is not None


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("m s-1", "m/s"),
        ("kg m-3", "kg/m**3"),
        ("W m-2", "W/m**2"),
        ("kg m-2 s-1", "kg/m**2/s"),
        ("mm day-1", "mm/day"),
        ("s-1", "1/s"),
        ("g%", "g/dL"),
        ("mg%", "mg/dL"),
        ("10.L/min", "dL/min*100"),
        ("mmol/(8.h)", "mmol/h/8"),
        ("L/(10.min)", "L/min/10"),
        ("%RH", "percent"),
        ("/100", "percent"),
        ("lat", "degree"),
        ("beat/min", "{beat}/min"),
        ("KWH", "kWh"),
        ("CEL", "degC"),
        ("KMH", "km/h"),
    ],
)
def test_spellings_of_other_standards(name: str, same: str) -> None:
    base, _, factor = (
        same.replace("*100", "#100").replace("/8", "#1/8").replace("min/10", "min#1/10").partition("#")
    )
    slope = Fraction(factor or 1)
    assert units.conversion(name, base).slope == slope
    assert units.conversion(name, base).shift == 0


def test_codes_of_other_standards_mean_nothing_else() -> None:
    for code, unit in CODES_OF_OTHERS.items():
        assert units.is_same(code, unit), code
        assert code not in {*ucum().codes()}, code


def test_a_code_with_a_factor_is_a_unit_of_computed_values() -> None:
    squared = units.product("*", "mmol/(8.h)", "h")
    assert squared is not None
    assert units.conversion(squared, "mmol").slope == Fraction(1, 8)
