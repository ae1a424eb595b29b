"""Why no Alter decreases (theory G21, N7): what an Alter that goes on would have to keep, a change of sign does not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError

FLIP = Affine(Fraction(-1), Fraction(0))
VALUES = [-3, 1, 4]


def test_it_is_refused_at_its_place() -> None:
    with pytest.raises(DiagnosticError, match="RQ203"):
        read_accent("[[s = 1, alter(t, y -> -y)]]", {"s": Type("int"), "t": Type("double")})


def test_a_maximum_of_flipped_values_is_another_one() -> None:
    """The output announces the Alter of `max(t)` once all inputs have it (2.8): its readers would take the least for
    the greatest."""
    assert FLIP(max(VALUES)) != max(map(FLIP, VALUES))


def test_a_pattern_would_close_the_other_side() -> None:
    """Patterns go through functions by their end points, open and closed ends stay (P-alter): `t < 2` would be read as
    `t < -2`, and close what comes while what is closed would be open."""
    below = regions.interval("t", None, (2, 0))
    image = regions.transform(below, "t", FLIP)
    told = {value: regions.contains(image, {"t": FLIP(value)}) for value in VALUES}
    assert {value: regions.contains(below, {"t": value}) for value in VALUES} == {-3: True, 1: True, 4: False}
    assert told == {-3: False, 1: False, 4: True}
