"""Affine functions of doubles as on paper: one rounding of the exact result of a double's shortest decimal."""

from decimal import Decimal
from fractions import Fraction
from math import copysign, inf, isnan, nan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.double_arithmetic import coefficients
from tests.kit.paper import CONVERSIONS, paper_numbers

ANY = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from(CONVERSIONS), paper_numbers())
def test_what_people_write_comes_out_as_on_paper(function: Affine, number: Decimal) -> None:
    assert function.of_double(float(number)) == float(function(Fraction(number)))


@given(st.integers(-12, 12), st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 9))
def test_a_power_of_ten_moves_the_point_of_fifteen_digits(power: int, digits: int, places: int) -> None:
    number = Fraction(digits, 10**places)
    factor = Fraction(10) ** power
    most_places, below = (9, 2e6) if power >= 9 else (6, 2e9)
    if places <= most_places and abs(number) < below:
        assert Affine(factor, 0).of_double(float(number)) == float(number * factor)


@given(st.sampled_from(CONVERSIONS), ANY, ANY)
@example(Affine(1000, 0), 1.005, 1.0050000000000001)
def test_the_order_of_numbers_that_people_write_is_kept(function: Affine, x: float, y: float) -> None:
    if abs(x - y) > 1e-13 * max(abs(x), abs(y), 1):
        assert (x < y) == (function.of_double(x) < function.of_double(y)) or max(abs(x), abs(y)) > 1e290


@given(st.sampled_from(CONVERSIONS), ANY)
def test_other_doubles_are_within_the_roundings_of_doubles(function: Affine, x: float) -> None:
    exact, shift = function(Fraction(x)), abs(function.shift)
    if abs(exact) < 10**300 and abs(x) < 1e290:
        most = (abs(exact) + shift) * Fraction(4, 2**52) + Fraction(5e-324)
        assert abs(Fraction(function.of_double(x)) - exact) <= most


@pytest.mark.parametrize("function", CONVERSIONS)
def test_zeros_infinities_and_nan_stay_what_they_are(function: Affine) -> None:
    assert isnan(function.of_double(nan))
    assert function.of_double(inf) == -function.of_double(-inf) == inf
    if function.shift == 0:
        assert copysign(1, function.of_double(-0.0)) == -1


def test_an_integer_of_many_digits_needs_no_form() -> None:
    """A factor of 50 digits, as that of degrees and radians, is computed in doubles."""
    function = Affine(Fraction("3.14159265358979323846264338327950288") / 180, 0)
    assert "CASE" not in function.sql("x")
    assert len(coefficients(*function.integers()) or ()) == len(Affine(1000, 0).coefficients or ())
