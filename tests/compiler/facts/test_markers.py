"""Accents and punctuations from their texts, and what is wrong with the wrong ones (design, section 6)."""

from fractions import Fraction

import pytest

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Change, Drop, ToUnit
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.units.units import conversion
from cedilla.compiler.facts.marker_parser import read_accent, read_punctuation
from cedilla.compiler.facts.markers import accent_text, punctuation_text
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError

TYPES = {
    "t": Type("double"),
    "s": Type("int"),
    "l": Type("string"),
    "ts": Type("timestamp"),
    "y": Type("long"),
}

CELSIUS = Affine(Fraction(5, 9), Fraction(-160, 9))
ACCEPTED: list[tuple[str, Change]] = [
    ("[[+(p: double)]]", Add("p", Type("double"))),
    ("[[s = 1, +(t: long)]]", Add("t", Type("long"))),
    ("[[+(p: decimal(8,2))]]", Add("p", Type("decimal", (8, 2)))),
    ("[[+(p: double unit 'km/h')]]", Add("p", Type("double"), "km/h")),
    ("[[s in {1, 2} and l = 'a', -(t)]]", Drop("t")),
    ("[[s = 2, alter(t, y -> (y - 32) * 5/9)]]", Alter("t", CELSIUS)),
    ("[[s = 2 ∧ ≀(t, y → (y − 32) * 5/9, x → x * 1.8 + 32)]]", Alter("t", CELSIUS)),
    ("[[alter(y, t -> t / 4)]]", Alter("y", Affine(Fraction(1, 4), 0))),
    ('[[alter(t, y -> y / 4, unit "no such unit")]]', Alter("t", Affine(Fraction(1, 4), 0), "no such unit")),
]


@pytest.mark.parametrize(("text", "primitive"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_right_accents_are_read(text: str, primitive: Change) -> None:
    accent = read_accent(text, TYPES)
    assert (accent.primitive, accent.text) == (primitive, text)
    assert regions.attributes(accent.description) == accent.mentions


@pytest.mark.parametrize(("text", "primitive"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_primitives_read_back_from_their_text(text: str, primitive: Change) -> None:
    again = read_accent(accent_text(("s = 1",), primitive), TYPES)
    assert again.primitive == primitive
    assert again.description == regions.values("s", [1])
    assert accent_text((), primitive) == f"[[{primitive}]]"


REFUSED = [
    ("[[t > 5, alter(t, y -> 2 * y)]]", "RQ201", None),  # G23
    ("[[p = 1, +(p: int)]]", "RQ201", None),
    ("[[+(p: array<int>)]]", "RQ208", None),  # only aggregates make arrays
    ("[[+(p: list<int>)]]", "RQ005", "list"),
    ("[[alter(t, y -> y * y)]]", "RQ202", "y * y"),
    ("[[alter(t, y -> 5)]]", "RQ202", "5"),
    ("[[alter(t, y -> x)]]", "RQ202", "x"),
    ("[[alter(t, y -> y + s)]]", "RQ202", "y + s"),
    ("[[alter(t, y -> y / 0)]]", "RQ202", "y / 0"),
    ("[[alter(t, y -> y % 2)]]", "RQ202", "y % 2"),
    ("[[alter(t, y -> -1 / y)]]", "RQ202", "-1 / y"),
    ("[[alter(t, by points {(0, 1), (2, 1)})]]", "RQ203", "by points {(0, 1), (2, 1)}"),
    ("[[alter(t, y -> 2 * y, x -> x / 3)]]", "RQ204", "x -> x / 3"),
    ("[[alter(t, y -> 2 * y + 1, x -> x / 2)]]", "RQ204", "x -> x / 2"),
    ("[[alter(t, y -> 2 * y, x -> x * x)]]", "RQ202", "x * x"),
    ("[[-(p)]]", "RQ207", None),
    ("[[alter(p, y -> 2 * y)]]", "RQ207", None),
    ("[[s = 1, p = 2, -(t)]]", "RQ207", "p = 2"),
    ("[[s = 1, l = 2, -(t)]]", "RQ208", "2"),
    ("[[ts < 'soon', -(t)]]", "RQ208", "'soon'"),
    ("[[s in {1, 'a'}, -(t)]]", "RQ208", "'a'"),
    ("[[alter(l, y -> 2 * y)]]", "RQ208", None),
    ("[[alter(ts, y -> 2 * y)]]", "RQ208", None),
    ("[[alter(t, y -> 'a')]]", "RQ202", "'a'"),
]


@pytest.mark.parametrize(("text", "code", "marked"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_wrong_accents_are_refused_where_they_are_wrong(text: str, code: str, marked: str | None) -> None:
    """A bad marker always has a code and a position (G34)."""
    with pytest.raises(DiagnosticError) as caught:
        read_accent(text, TYPES, "data/0.json:17")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.span is not None
    assert diagnostic.span.source == "data/0.json:17"
    assert 0 <= diagnostic.span.start < diagnostic.span.end <= len(text)
    if marked is not None:
        assert text[diagnostic.span.start : diagnostic.span.end] == marked


@pytest.mark.parametrize("text", ["[[s = 1]]", "[[+(p)]]", "[[alter(t)]]", "[s = 1]", ""])
def test_texts_that_are_no_accents_have_syntax_errors(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_accent(text, TYPES)
    assert all(d.code.startswith("RQ0") for d in caught.value.diagnostics)


def test_the_hint_of_a_wrong_inverse_is_the_right_one() -> None:
    with pytest.raises(DiagnosticError, match=r"the inverse is x -> \(x \* 9 \+ 160\) / 5"):
        read_accent("[[alter(t, y -> (y - 32) * 5/9, x -> x)]]", TYPES)


def test_punctuations_are_regions() -> None:
    """Attributes not named are free, `[]` and `[*]` end the stream (theory 1.1)."""
    assert read_punctuation("[]", TYPES).pattern is True
    assert read_punctuation("[*]", TYPES).pattern is True
    assert read_punctuation("[s = *]", TYPES).pattern is True
    read = read_punctuation("[ts in [, 2013-01-31T11:00), s = 2]", TYPES)
    assert regions.attributes(read.pattern) == {"ts", "s"}
    assert regions.contains(read.pattern, {"ts": 0, "s": 2}) is True
    assert regions.contains(read.pattern, {"s": 2}) is False


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [("[p = 1]", "RQ207", "p = 1"), ("[s = 1, t = 'a']", "RQ208", "'a'"), ("[s", "RQ0", None)],
)
def test_wrong_punctuations_are_refused_where_they_are_wrong(
    text: str, code: str, marked: str | None
) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_punctuation(text, TYPES)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.startswith(code)
    assert diagnostic.span is not None
    assert marked is None or text[diagnostic.span.start : diagnostic.span.end] == marked


def test_punctuation_text() -> None:
    assert punctuation_text(("s = 1", "t < 5")) == "[s = 1, t < 5]"
    assert punctuation_text(()) == "[]"


UNITS = {"t": "degF"}


def test_an_alter_that_says_a_unit_knows_from_which_one_it_leads_there() -> None:
    text = "[[s = 2, alter(t, y -> (y * 5 - 160) / 9, unit degC)]]"
    primitive = read_accent(text, TYPES, units=UNITS).primitive
    assert primitive == Alter("t", CELSIUS, "degC", "degF")
    assert str(primitive) in text
    assert read_accent(text, TYPES).primitive == Alter("t", CELSIUS, "degC")


@pytest.mark.parametrize(
    ("text", "unit"),
    [("[[s = 2, unit(t, degC)]]", "degC"), ('[[unit(t, "[degR]")]]', "[degR]"), ("[[unit(t, Cel)]]", "Cel")],
)
def test_unit_accents_know_the_way_from_the_declared_unit(text: str, unit: str) -> None:
    primitive = read_accent(text, TYPES, units=UNITS).primitive
    assert isinstance(primitive, ToUnit)
    assert primitive == ToUnit("t", unit, conversion("degF", unit))
    assert str(primitive) in text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[[unit(t, hPa)]]", "RQ142"),
        ("[[unit(s, degC)]]", "RQ142"),  # its declaration has none
        ("[[unit(t, bananas)]]", "RQ143"),
        ("[[unit(p, degC)]]", "RQ207"),
        ("[[unit(l, degC)]]", "RQ208"),
        ("[[t > 5, unit(t, degC)]]", "RQ201"),
        ("[[alter(t, y -> y + 5 degC)]]", "RQ202"),
        ("[[alter(t, y -> y * 2, unit hPa)]]", "RQ142"),
        ("[[alter(t, y -> y * 2, unit parrot)]]", "RQ143"),
        ("[[alter(t, y -> y * 2, unit)]]", "RQ001"),
        ("[[alter(t, unit degC)]]", "RQ001"),
        ("[[unit(t)]]", "RQ001"),
        ("[[unit(t, 5)]]", "RQ001"),
    ],
)
def test_wrong_unit_accents_are_refused(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        read_accent(text, TYPES, units=UNITS)


def test_an_attribute_may_be_called_unit() -> None:
    types = {**TYPES, "unit": Type("int")}
    accent = read_accent("[[unit = 2, alter(t, y -> y / 2)]]", types)
    assert accent.mentions == {"unit"}
    assert str(read_accent("[[+(unit: double)]]", TYPES).primitive) == "+(unit: double)"
