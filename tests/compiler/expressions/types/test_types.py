"""Constants of every type: as control-plane values, in markers and in SQL (design, section 4)."""

from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler.expressions.types import Type, column, quote
from cedilla.compiler.expressions.types.patterns import value_set
from cedilla.compiler.regions import Value, values
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.parser import parse_punctuation
from cedilla.grammar.syntax import Literal, Measure

HERE = Span("<made>", 0, 0, 1, 1, 1, 1)
MICROSECONDS = st.datetimes().map(lambda d: (d - datetime(1970, 1, 1)) // timedelta(microseconds=1))
CONSTANTS: dict[str, st.SearchStrategy[Value]] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.decimals(-(10**9), 10**9, places=4).map(Fraction),
    "decimal(10,2)": st.decimals(-(10**7), 10**7, places=2).map(Fraction),
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "boolean": st.booleans(),
    "timestamp": MICROSECONDS,
    "date": st.dates().map(lambda d: (d - date(1970, 1, 1)).days),
}


def read(type_: Type, text: str) -> Value:
    (condition,) = parse_punctuation(f"[a = {text}]").conditions
    return type_.value(condition.pattern.value)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", CONSTANTS)
@given(data=st.data())
def test_a_constant_reads_back_as_the_same_value(name: str, data: st.DataObject) -> None:
    """Wire text and value are one to one (design, section 6)."""
    type_, value = Type.parse(name), data.draw(CONSTANTS[name])
    again = read(type_, type_.wire(value))
    assert again == value
    assert isinstance(again, bool) == isinstance(value, bool)
    assert value_set(
        "a", type_, parse_punctuation(f"[a = {type_.wire(value)}]").conditions[0].pattern
    ) == values("a", [value])


@pytest.mark.parametrize("name", [*CONSTANTS, "array<decimal(10,2)>", "array<array<string>>"])
def test_a_type_reads_back_from_its_name(name: str) -> None:
    assert str(Type.parse(name)) == name


def test_arrays_have_the_units_of_their_elements() -> None:
    numbers, words = Type.parse("array<array<int>>"), Type.parse("array<string>")
    assert (numbers.has_units, numbers.is_numeric, words.has_units) == (True, False, False)
    assert (numbers.spark, words.spark) == ("ARRAY<ARRAY<INT>>", "ARRAY<STRING>")
    with pytest.raises(ValueError, match='"a" is not an array'):
        read(words, '"a"')


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("int", '"1"'),
        ("double", "true"),
        ("boolean", "1"),
        ("string", "1"),
        ("timestamp", '"yesterday"'),
        ("timestamp", "5"),
        ("date", '"2024-02-30"'),
    ],
)
def test_a_constant_of_another_type_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a|is neither"):
        read(Type.parse(name), text)


def test_times_without_a_zone_are_utc() -> None:
    stamp = Type("timestamp")
    same = ['"1970-01-01T01:00:00+01:00"', '"1970-01-01T00:00:00Z"', '"1970-01-01 00:00:00"', '"1970-01-01"']
    assert [read(stamp, text) for text in same] == [0, 0, 0, 0]
    assert stamp.wire(1_500_000) == '"1970-01-01T00:00:01.500000Z"'


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("int", 5, "5"),
        ("long", 2**31, "2147483648L"),
        ("double", 5, "5.0D"),
        ("double", Fraction(1, 3), "0.3333333333333333D"),
        ("decimal(5,2)", Fraction(5, 4), "1.25BD"),
        ("string", "it's \\ so", "'it\\'s \\\\ so'"),
        ("boolean", True, "true"),
        ("timestamp", 0, "TIMESTAMP'1970-01-01 00:00:00+00:00'"),
        ("date", 1, "DATE'1970-01-02'"),
    ],
)
def test_constants_in_sql(name: str, value: Value, expected: str) -> None:
    assert Type.parse(name).sql(value) == expected


def test_lengths_are_in_units_of_the_axis() -> None:
    def measure(type_: str, number: int, unit: str | None) -> object:
        return Type(type_).measure(Measure(Fraction(number), unit, span=HERE))

    assert measure("timestamp", 5, "minute") == 300_000_000
    assert measure("long", 300, None) == 300
    with pytest.raises(ValueError, match="requires a unit"):
        measure("timestamp", 5, None)
    with pytest.raises(ValueError, match="requires a timestamp, or a number with a unit of time"):
        measure("long", 5, "minute")


def test_strange_names_are_quoted() -> None:
    assert [column(n) for n in ("t", "größe", "a`b")] == ["t", "`größe`", "`a``b`"]
    assert quote("a'b") == "'a\\'b'"


def test_whole_types_are_those_whose_values_are_integers() -> None:
    assert {n for n in CONSTANTS if Type.parse(n).is_integral} == {"int", "long", "timestamp", "date"}
    assert Type("int").value(Literal(Fraction(4, 2), "2", span=HERE)) == 2
