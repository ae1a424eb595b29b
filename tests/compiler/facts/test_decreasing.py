"""Why no output announces a function that falls (theory G21, N7): the source undoes it, where its patterns turn."""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler import regions
from cedilla.compiler.changes import SourceAlter
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.composition import Chain

FLIP = Affine(Fraction(-1), Fraction(0))
VALUES = [-3, 1, 4]


def test_it_is_read_as_a_function_of_the_source() -> None:
    accent = read_accent("[[s = 1, alter(t, y -> -y)]]", {"s": Type("int"), "t": Type("double")})
    assert accent.primitive == SourceAlter("t", Chain((FLIP,)))


def test_a_maximum_of_flipped_values_is_another_one() -> None:
    """The output announces the Alter of `max(t)` once all inputs have it (2.8): its readers would take the least for
    the greatest."""
    assert FLIP(max(VALUES)) != max(map(FLIP, VALUES))


def test_a_pattern_turns_with_its_values() -> None:
    """Patterns of Alters go through functions by their end points, open and closed ends stay (P-alter). Under a
    function that falls, `t < 2` describes what was above -2."""
    below = regions.interval("t", None, (2, 0))
    image = regions.transform(below, "t", Chain((FLIP,)))
    turned = {value: regions.contains(image, {"t": FLIP(value)}) for value in VALUES}
    assert turned == {-3: True, 1: True, 4: False}
