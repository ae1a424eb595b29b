"""Increasing affine maps: a group of exact functions (paper, section 3; theory G8, R9 to R11)."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler.expressions.expressions import affine
from cedilla.compiler.regions.affine import IDENTITY, Affine, exact
from cedilla.grammar.parser import parse_expression

COEFFICIENTS = st.fractions(-99, 99, max_denominator=99)
SLOPES = st.fractions(Fraction(1, 99), 99, max_denominator=99)
MAPS = st.builds(Affine, SLOPES, COEFFICIENTS)
NUMBERS = st.integers(-1000, 1000) | COEFFICIENTS


@given(MAPS, MAPS, NUMBERS)
def test_composition_applies_one_after_the_other(g: Affine, f: Affine, y: Fraction) -> None:
    """≀α then ≀γ is ≀(γ∘α) (R11)."""
    assert g.after(f)(y) == g(f(y))


@given(MAPS, NUMBERS)
def test_the_inverse_undoes_exactly(f: Affine, y: Fraction) -> None:
    """≀(α, β) then ≀(β, α) is nothing (R10)."""
    assert f.inverse()(f(y)) == y
    assert f.after(f.inverse()) == f.inverse().after(f) == IDENTITY
    assert f.inverse().inverse() == f


@given(MAPS, MAPS)
def test_functions_are_equal_iff_they_agree_on_two_values(f: Affine, g: Affine) -> None:
    """Equality of functions is equality of coefficients (G8)."""
    assert (f == g) == (f(0) == g(0) and f(1) == g(1))
    assert f != g or hash(f) == hash(g)


@given(MAPS, MAPS, MAPS)
def test_composition_is_associative(f: Affine, g: Affine, h: Affine) -> None:
    assert f.after(g).after(h) == f.after(g.after(h))


@given(MAPS, NUMBERS, NUMBERS)
def test_order_is_kept(f: Affine, x: Fraction, y: Fraction) -> None:
    """α is order-preserving, so ranges move by their end points (P-alter, theory 3.1)."""
    assert (x < y) == (f(x) < f(y))


@given(MAPS, NUMBERS)
def test_whole_values_come_as_integers(f: Affine, y: Fraction) -> None:
    value = f(y)
    assert isinstance(value, int) == (Fraction(value).denominator == 1)
    assert exact(Fraction(y)) == y


@given(MAPS, NUMBERS)
def test_three_integers_say_the_same(f: Affine, y: Fraction) -> None:
    """One fused expression (y·p + q)/r with one division (design, section 3)."""
    p, q, r = f.integers()
    assert r > 0
    assert Fraction(y * p + q) / r == f(y)


@given(MAPS, st.sampled_from(["y", "x"]))
def test_the_text_reads_back_as_the_same_function(f: Affine, parameter: str) -> None:
    assert affine(parse_expression(f.text(parameter))) == (parameter, f)


@given(MAPS)
def test_whole_maps_are_those_that_keep_integers(f: Affine) -> None:
    assert f.is_whole == all(isinstance(f(y), int) for y in (0, 1))


def test_texts_are_short() -> None:
    maps = [
        Affine(1, 0),
        Affine(2, 0),
        Affine(1, -3),
        Affine(Fraction(5, 9), Fraction(-160, 9)),
        Affine(Fraction(1, 2), 0),
    ]
    assert [f.text("y") for f in maps] == ["y", "y * 2", "y - 3", "(y * 5 - 160) / 9", "y / 2"]
    assert [Affine(slope, 0).sql("t") for slope in (1, 2, Fraction(1, 2))] == ["t", "t * 2.0D", "t / 2.0D"]
