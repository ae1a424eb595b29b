"""Parses the functions of Alters (theory N7, N11)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.unit_inference import has_units
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import ByPoints, Reciprocal, Shift
from cedilla.compiler.regions.composition import Bent, Chain, after
from cedilla.compiler.regions.logarithms import Logarithm, Power
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import AlterAttribute, Attribute, Binary, Expression, Literal, Points, Scalar

_CACHE_SIZE = 1024


@lru_cache(_CACHE_SIZE)
def function_of(parameter: str, body: Expression) -> Affine | Bent:
    """Returns the function of an Alter. Raises RQ202 for one that no source undoes."""
    form = expressions.affine(body)
    if form is None and (factor := _reciprocal(parameter, body)) is not None:
        return Reciprocal(factor)
    if form is None and (scale := _logarithm(parameter, body)) is not None:
        return scale
    if form is None or form[0] != parameter or has_units(body):
        hint = (
            f"functions are `{parameter} -> {parameter} * a + b`, `{parameter} -> c / {parameter}`, "
            f"`{parameter} -> 10 * log10({parameter})` and `by points {{(0, 0), (5, 100)}}`"
        )
        if _has_remainder(body):
            hint = "numbers that start again at an end of their range: `wrap(x, 65536)`"
        if has_units(body):
            hint = (
                f"numbers only; the unit of the result is given by `alter(t, {parameter} -> ..., unit degC)`"
            )
        message = f"`{format_expression(body)}` is not a function that a query can undo"
        raise failure("RQ202", message, body.span, hint=hint)
    return form[1] if form[1].rises else Chain((form[1],))


def _has_remainder(body: Expression) -> bool:
    """Returns True for `y % 65536`, `mod(y, 65536)`."""
    match body:
        case Binary("%") | Scalar("mod" | "pmod"):
            return True
        case _:
            return False


def _reciprocal(parameter: str, body: Expression) -> Fraction | None:
    """Returns c of `c / y`."""
    match body:
        case Binary("/", Literal(int() | Fraction() as factor, unit=None), Attribute(name, None)):
            return Fraction(factor) if name == parameter and factor > 0 else None
        case _:
            return None


def _logarithm(parameter: str, body: Expression) -> Bent | Affine | None:
    """Returns the function of `a * log10(b * y + c) + d`, or of `a * pow(10, b * y + c) + d`."""
    part, outer = expressions.single(body) or (body, IDENTITY)
    match part:
        case Scalar("log10", (argument,)) | Scalar("pow" | "power", (Literal(10, unit=None), argument)):
            form = expressions.affine(argument)
        case _:
            return None
    if form is None or form[0] != parameter:
        return None
    slope, shift = form[1].slope, form[1].shift / form[1].slope
    if part.name == "log10":
        decades = -outer.shift / outer.slope
        is_whole = decades.denominator == 1 and abs(decades) < _PLACES
        reference = Fraction(10) ** int(decades) / slope if is_whole else 1 / slope
        bent, factors = Logarithm(outer.slope, reference), (abs(outer.slope), reference)
        outer = Affine(1, 0 if is_whole else outer.shift)
    else:
        bent, factors = Power(1 / slope, outer.slope), (abs(slope), outer.slope)
        outer = Affine(1, outer.shift)
    if not all(Fraction(10) ** -_PLACES <= factor <= 10**_PLACES for factor in factors):
        return None
    return after(outer, after(bent, Affine(1, shift)))


_PLACES = 30
"""The factors of a logarithm have less places before and after the point, so that doubles hold its values."""


def shift_of(node: AlterAttribute) -> Shift:
    """Returns the function of timestamps `y -> y + 1 hour`. Raises RQ208 for another one, RQ202 for more arguments."""
    if node.inverse is not None or node.unit is not None:
        raise failure("RQ202", "a shift of timestamps has no further argument", node.span, hint=_SHIFTED)
    match node.body:
        case Binary(
            "+" | "-" as sign,
            Attribute(node.parameter, None),
            Literal(int() | Fraction() as length, unit="second"),
        ) if length * 10**6 == int(length * 10**6):
            return Shift(int(length * 10**6) * (1 if sign == "+" else -1))
        case _:
            message = f"`{node.name}` is a timestamp, which is only shifted by a length of time"
            raise failure("RQ208", message, node.span, hint=_SHIFTED)


_SHIFTED = "as in `y -> y + 1 hour`"


def by_points(node: Points) -> ByPoints:
    """Raises RQ203 for points that do not rise, or fall, throughout."""
    points = [(Fraction(x.value), Fraction(y.value)) for x, y in node.points]  # type: ignore[arg-type]
    firsts, seconds = ([point[side] for point in points] for side in (0, 1))
    is_ordered = all(a < b for a, b in pairwise(firsts))
    rising, falling = (all(sign * a < sign * b for a, b in pairwise(seconds)) for sign in (1, -1))
    if len(points) < 2 or not is_ordered or not (rising or falling):
        hint = "at least two; the first numbers rise, and the second ones rise or fall throughout"
        raise failure("RQ203", "these points are not a function with an inverse", node.span, hint=hint)
    return ByPoints(tuple(points))
