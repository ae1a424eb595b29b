"""Patterns of one attribute: what they match, and back to text (theory 1.1, E11)."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG, Type, patterns
from cedilla.compiler.regions import UNDEFINED, Tree
from cedilla.grammar.diagnostics import DiagnosticError
from tests.compiler.expressions.types.pattern_texts import POINTS, probes, read_again, region
from tests.kit.strategies import DENSE, LIGHT, WHOLE, Members, Paint, members, paints, rows

COMPARATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("comparator", COMPARATORS)
def test_a_comparison_matches_the_values_it_holds_for(name: str, comparator: str) -> None:
    """Constants and ranges compare by value and never match ⊥ (theory 1.1)."""
    type_ = Type.parse(name)
    for constant in POINTS[name]:
        matched = region(f"a {comparator} {type_.wire(constant)}", a=name)
        assert not regions.contains(matched, {})
        for value in probes(name):
            assert regions.contains(matched, {"a": value}) == COMPARATORS[comparator](value, constant)


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize(("opening", "closing"), ["[]", "[)", "(]", "()"])
def test_a_range_has_open_and_closed_ends(name: str, opening: str, closing: str) -> None:
    """Ends are in or out, and a missing end is no end (E11)."""
    type_ = Type.parse(name)
    above = COMPARATORS[">=" if opening == "[" else ">"]
    below = COMPARATORS["<=" if closing == "]" else "<"]
    for low in (None, *POINTS[name]):
        for high in (None, *POINTS[name]):
            if (
                low is not None
                and high is not None
                and (low > high or (low == high and opening + closing != "[]"))
            ):
                continue  # the grammar refuses it
            ends = ["" if v is None else type_.wire(v) for v in (low, high)]
            matched = region(f"a in {opening}{ends[0]}, {ends[1]}{closing}", a=name)
            assert not regions.contains(matched, {})
            for value in probes(name):
                inside = (low is None or above(value, low)) and (high is None or below(value, high))
                assert regions.contains(matched, {"a": value}) == inside


def test_lists_and_the_wildcard() -> None:
    """The wildcard alone matches ⊥; conditions are met together (theory 1.1)."""
    assert region("a = *", a="int") is True
    assert region("", a="int") is True
    listed = region("a in {1, 2}, a != 2, b = *", a="int", b="string")
    assert listed == regions.values("a", [1])
    assert region("a < 1, a > 1", a="double") is False


@pytest.mark.parametrize("name", ["int", "timestamp", "date"])
def test_whole_types_have_one_form_per_set(name: str) -> None:
    """`<= 5` and `< 6` are the same set where only whole numbers occur (design, section 3)."""
    wire = Type(name).wire
    assert region(f"a <= {wire(5)}", a=name) == region(f"a < {wire(6)}", a=name)
    assert region(f"a > {wire(5)}", a=name) == region(f"a >= {wire(6)}", a=name)
    assert region(f"a in ({wire(5)}, {wire(6)})", a=name) is False


def test_a_fraction_bounds_whole_numbers_too() -> None:
    for text, matched in {
        "a < 1.5": "a <= 1",
        "a >= 1.5": "a >= 2",
        "a in [0.5, 1.5]": "a in [1, 1]",
    }.items():
        assert region(text, a="long") == region(matched, a="long")


@pytest.mark.parametrize("text", ["b = 1", "a = 1, b < 2"])
def test_an_unknown_attribute_is_an_error(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        region(text, a="int")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span is not None) == ("RQ102", True)


# --- back to text ---


def check_texts(name: str, chosen: Members, values: list[Any]) -> None:
    tree = chosen.tree("a")
    if tree is False:
        return
    for outer in (False, True):
        read = read_again({"a": tree}, name, outer=outer)
        undefined = regions.contains(tree, {})
        for value in values:
            got = regions.contains(read, {"a": value} if value is not UNDEFINED else {})
            if value is UNDEFINED:
                assert got == (undefined and (outer or tree is True))
            else:
                assert got == (chosen.has(value) or (outer and undefined))


@pytest.mark.parametrize("name", POINTS)
@LIGHT
@given(data=st.data())
def test_texts_say_the_set_they_were_made_from(name: str, data: st.DataObject) -> None:
    """Pattern, set, texts, set: the same. ⊥ is left out of inner texts and frees outer ones (D1)."""
    whole = Type.parse(name).is_integral
    check_texts(name, data.draw(members(POINTS[name], half_open=whole)), [*probes(name), UNDEFINED])


@pytest.mark.parametrize(
    ("kept", "expected"),
    [([True], [("a = true",)]), ([False], [("a = false",)]), ([False, True], [("a in [,]",)]), ([], [])],
)
def test_no_range_of_booleans_is_said(kept: list[bool], expected: list[tuple[str, ...]]) -> None:
    """Nothing is less than `false`, so a reader refuses a description by it (RQ216)."""
    others = regions.values("a", [v for v in (False, True) if v not in kept])
    tree = regions.difference(regions.defined("a"), others)
    assert list(patterns.texts({"a": tree}, {"a": Type("boolean")}, outer=False)) == expected


@pytest.mark.parametrize(("name", "space"), [("int", WHOLE), ("double", DENSE)])
@LIGHT
@given(data=st.data())
def test_texts_of_boxes_tile_a_region(name: str, space: tuple[Any, ...], data: st.DataObject) -> None:
    """Outer texts cover the region, inner ones stay inside and miss only ⊥ (theory D1, G26)."""
    constants = members((0, 1, 2, 3), half_open=name == "int")
    paint: Paint = data.draw(paints({"a": constants, "b": constants}))
    inner: Tree = False
    outer: Tree = False
    for box, hit in regions.boxes(paint.tree()):
        if hit:
            inner = regions.union(inner, read_again(box, name, outer=False))
            outer = regions.union(outer, read_again(box, name, outer=True))
    for row in rows({"a": space, "b": space}):
        inside = regions.contains(inner, row)
        assert paint.meaning(row) or not inside
        assert regions.contains(outer, row) or not paint.meaning(row)
        if len(row) == 2:
            assert inside == paint.meaning(row)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (regions.values("k", [2, 3]), [("k = 2",)]),
        (regions.values("k", [3]), []),
        (regions.union(regions.values("k", [3]), regions.interval("k", (4, 0), None)), []),
        (regions.interval("k", (2, 0), None), [("k >= 2",)]),
    ],
)
def test_no_value_outside_of_a_domain_is_named(members: Tree, expected: list[tuple[str, ...]]) -> None:
    """A reader that knows the domain would refuse it (RQ216), until a `grow` adds the value."""
    universe = {"k": regions.Domain(regions.values("k", [1, 2]))}
    conditions = patterns.conjunctions({"k": members}, {"k": LONG}, outer=False, universe=universe)
    assert [texts for texts, _ in conditions] == expected


def test_the_end_of_time_can_be_written() -> None:
    """The last moment and day that ISO can write are common as `for ever`."""
    for name, last in (("timestamp", '"9999-12-31T23:59:59.999999Z"'), ("date", '"9999-12-31"')):
        for text in (f"a <= {last}", f"a > {last}", f"a = {last}"):
            tree = region(text, a=name)
            assert read_again({"a": tree}, name, outer=False) == tree
