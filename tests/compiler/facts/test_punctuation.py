"""CombinePunct: two punctuations into the one that describes what both describe (theory 1.1, E6, E8)."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import combine_punctuations, regions
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.grammar import DiagnosticError, format_punctuation, parse_punctuation
from cedilla.grammar.syntax import Comparison, PunctuationText, RangePattern, SetPattern
from tests.kit.strategies import DENSE, LIGHT, WHOLE, rows


def combined(first: str, second: str, **types: str) -> str | None:
    combined_punctuation = combine_punctuations(
        parse_punctuation(f"[{first}]"),
        parse_punctuation(f"[{second}]"),
        {name: Type.parse(t) for name, t in types.items()} or None,
    )
    return None if combined_punctuation is None else format_punctuation(combined_punctuation)


FORMS = {"wildcard": "a = *", "constant": "a = 5", "range": "a in [1, 5)", "list": "a in {1, 5, 9}"}
TABLE = {
    ("wildcard", "wildcard"): "[*]",
    ("wildcard", "constant"): "[a = 5]",
    ("wildcard", "range"): "[a in [1, 5)]",
    ("wildcard", "list"): "[a in {1, 5, 9}]",
    ("constant", "constant"): "[a = 5]",
    ("constant", "range"): None,
    ("constant", "list"): "[a = 5]",
    ("range", "range"): "[a in [1, 5)]",
    ("range", "list"): "[a = 1]",
    ("list", "list"): "[a in {1, 5, 9}]",
}


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_each_form_with_each(first: str, second: str) -> None:
    expected = TABLE[(first, second) if (first, second) in TABLE else (second, first)]
    assert combined(FORMS[first], FORMS[second]) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a = 5", "a = 6", None),
        ("a = 5", "a in {6, 7}", None),
        ("a in {1, 2}", "a in {2, 3}", "[a = 2]"),
        ("a in {1, 2, 3}", "a in {2, 3, 4}", "[a in {2, 3}]"),
        ("a in [1, 5]", "a in [5, 9]", "[a = 5]"),
        ("a in [1, 5)", "a in [5, 9]", None),
        ("a in [1, 5]", "a in (5, 9]", None),
        ("a in [1, 5]", "a in (1, 5)", "[a in (1, 5)]"),
        ("a in [1, 9]", "a in (2, 5]", "[a in (2, 5]]"),
        ("a < 3", "a > 7", None),
        ("a < 7", "a >= 3", "[a in [3, 7)]"),
        ("a in [,]", "a = *", "[a in [,]]"),
        ("a in [1, 9]", "a in {0, 1, 5, 10}", "[a in {1, 5}]"),
        ("a != 5", "a = 5", None),
        ("a != 5", "a in {4, 5}", "[a = 4]"),
        ("a != 5, a != 9", "a in [1, 5]", "[a in [1, 5], a != 5]"),
        ("a != 5", "a in [5, 5]", None),
        ("a != 5", "a = *", "[a != 5]"),
        ("a < 1, a > 1", "", None),
        ("a = 1", "b = 2", "[a = 1, b = 2]"),
        ("a = 1, b < 5", "b > 3, c = *", "[a = 1, b in (3, 5)]"),
        ("l = north", 'l in {"north", "south"}', "[l = north]"),
    ],
)
def test_ends_lists_and_several_attributes(first: str, second: str, expected: str | None) -> None:
    """Ends are open where one of them is; whatever is empty leaves no punctuation (E6)."""
    assert combined(first, second) == expected


def test_a_union_propagates_what_every_input_has_closed() -> None:
    """The example of page 000: `[5, 15]`, `[10, 20]`, `[20, 25]`; n inputs take one of each (E6)."""
    first, second, third = (parse_punctuation(f"[a in {r}]") for r in ("[5, 15]", "[10, 20]", "[20, 25]"))
    assert combine_punctuations(first, third) is None
    both = combine_punctuations(first, second)
    assert both is not None
    assert format_punctuation(both) == "[a in [10, 15]]"
    assert combine_punctuations(both, third) is None


def test_neighbours_are_never_joined() -> None:
    """The hull of `[0, 5]` and `[10, 15]` would close what neither does (E8)."""
    assert combined("a in [0, 5]", "a in [10, 15]") is None


def test_types_tell_how_constants_compare() -> None:
    assert combined("a in (5, 6)", "a = *") == "[a in (5, 6)]"
    assert combined("a in (5, 6)", "a = *", a="int") is None
    early, late = '"2013-01-01T12:00:00+02:00"', '"2013-01-01T11:00:00Z"'  # the first is at 10:00
    assert combined(f"at <= {early}", f"at <= {late}", at="timestamp") == f"[at in [, {early}]]"
    assert combined("at = 2013-01-01", "at = 2013-01-01T00:00:00Z", at="timestamp") is not None


@pytest.mark.parametrize(
    ("first", "second", "types"),
    [("a = 1", "a = 'x'", {}), ("a < 1", "a in {true}", {}), ("a = 1", "a = 'x'", {"a": "int"})],
)
def test_constants_of_different_kinds_are_refused(first: str, second: str, types: dict[str, str]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        combined(first, second, **types)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span is not None) == ("RQ208", True)


# --- laws ---

NUMBERS = ("0", "0.5", "1", "2", "3")


def pattern(name: str) -> st.SearchStrategy[str]:
    number = st.sampled_from(NUMBERS)
    ends = st.tuples(st.sampled_from("[("), number | st.just(""), number | st.just(""), st.sampled_from("])"))
    ranges = ends.filter(
        lambda e: not (e[1] and e[2]) or float(e[1]) < float(e[2]) or (e[1] == e[2] and e[0] + e[3] == "[]")
    ).map(lambda e: f"{name} in {e[0]}{e[1]}, {e[2]}{e[3]}")
    lists = st.lists(number, min_size=1, max_size=3).map(lambda v: f"{name} in {{{', '.join(v)}}}")
    compared = st.tuples(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), number).map(
        lambda c: f"{name} {c[0]} {c[1]}"
    )
    return st.just(f"{name} = *") | ranges | lists | compared


PUNCTUATION = st.lists(pattern("a") | pattern("b"), max_size=4).map(
    lambda c: parse_punctuation(f"[{', '.join(c)}]")
)


@pytest.mark.parametrize(("name", "space"), [("int", WHOLE), ("double", DENSE)])
@LIGHT
@given(first=PUNCTUATION, second=PUNCTUATION)
def test_it_is_the_intersection_of_the_regions(
    name: str, space: tuple[object, ...], first: PunctuationText, second: PunctuationText
) -> None:
    """And reads back as such; an attribute has one of the four forms, `!=` only beside a range."""
    types = {"a": Type.parse(name), "b": Type.parse(name)}
    both = combine_punctuations(first, second, types)
    expected = regions.intersection(*(patterns.region_of(p.conditions, types) for p in (first, second)))
    if both is None:
        assert not any(regions.contains(expected, row) for row in rows({"a": space, "b": space}))
        return
    again = parse_punctuation(format_punctuation(both))
    assert again == both
    actual = patterns.region_of(again.conditions, types)
    assert all(
        regions.contains(actual, row) == regions.contains(expected, row)
        for row in rows({"a": space, "b": space})
    )
    for attribute in "ab":
        forms = [c.pattern for c in both.conditions if c.attribute == attribute]
        plain = [p for p in forms if not (isinstance(p, Comparison) and p.operator == "!=")]
        assert len(plain) <= 1
        assert len(forms) == len(plain) or not isinstance(
            plain[0] if plain else None, SetPattern | Comparison
        )
        assert all(isinstance(p, RangePattern | SetPattern | Comparison) for p in forms)


@LIGHT
@given(several=st.lists(PUNCTUATION, min_size=2, max_size=4))
def test_the_order_does_not_matter(several: list[PunctuationText]) -> None:
    """Intersection is associative and commutative, so n inputs combine in any order (E6)."""

    def fold(listed: list[PunctuationText]) -> regions.Tree:
        start: PunctuationText | None = listed[0]
        result = reduce(lambda p, q: None if p is None else combine_punctuations(p, q), listed[1:], start)
        types = {"a": Type("double"), "b": Type("double")}
        # A single empty punctuation is one too: combine it with itself.
        result = result and combine_punctuations(result, result)
        return False if result is None else patterns.region_of(result.conditions, types)

    assert fold(several) == fold(several[::-1])


def test_texts_give_a_text() -> None:
    both = combine_punctuations("[ts < 60, s in {1, 2}]", "[s in {2, 3}]")
    assert both == "[ts in [, 60), s = 2]"
    assert combine_punctuations(both, "[s = 1]") is None
    assert combine_punctuations("[]", "[*]") == "[*]"
    with pytest.raises(DiagnosticError):
        combine_punctuations("[ts <", "[]")
