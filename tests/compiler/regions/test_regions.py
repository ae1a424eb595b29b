"""Regions against plain sets of tuples (theory 1.1: a Boolean algebra of boxes, with ⊥ in every domain)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from cedilla.compiler import regions
from cedilla.compiler.regions import UNDEFINED, Domain, Level, Operation, Tree
from tests.kit.strategies import (
    DENSE,
    HEAVY,
    LIGHT,
    Axis,
    Members,
    Paint,
    axes,
    axis,
    members,
    paints,
    rows,
    universe,
    values,
)
from tests.kit.work import operations

REGIONS = paints("ab")
NUMBERS = paints("ab", st.integers(0, 3))
SPACE = list(rows({"a": DENSE, "b": DENSE}))


def check_tree(
    tree: Tree, meaning: Callable[[dict[str, Any]], object], space: list[dict[str, Any]] = SPACE
) -> None:
    for row in space:
        assert regions.contains(tree, row) == meaning(row), row


# --- pointwise operations ---


@LIGHT
@given(members())
def test_a_set_of_values_holds_what_its_predicate_says(chosen: Members) -> None:
    check_tree(chosen.tree("a"), lambda row: chosen.has(row.get("a", UNDEFINED)))


@LIGHT
@given(NUMBERS)
def test_updates_override_what_was_there(paint: Paint) -> None:
    check_tree(paint.tree(), paint.meaning)


@LIGHT
@given(REGIONS, REGIONS)
def test_regions_form_the_algebra_of_sets(first: Paint, second: Paint) -> None:
    """Union, intersection, difference and complement are those of sets of tuples (theory 1.1)."""
    a, b = first.tree(), second.tree()
    check_tree(regions.union(a, b), lambda row: first.meaning(row) or second.meaning(row))
    check_tree(regions.intersection(a, b), lambda row: first.meaning(row) and second.meaning(row))
    check_tree(regions.difference(a, b), lambda row: first.meaning(row) and not second.meaning(row))
    check_tree(regions.complement(a), lambda row: not first.meaning(row))


@LIGHT
@given(REGIONS, REGIONS, REGIONS)
def test_regions_of_three_attributes_form_the_algebra_of_sets(p: Paint, q: Paint, r: Paint) -> None:
    """The same where levels of one operand lie between those of another (theory 1.1)."""

    def on(names: str, paint: Paint) -> Paint:
        named = dict(zip("ab", names, strict=True))
        return Paint(
            paint.ground,
            tuple((tuple((named[n], m) for n, m in conditions), leaf) for conditions, leaf in paint.layers),
        )

    chosen = on("ac", p), on("bc", q), on("ab", r)
    few = (0, Fraction(1, 4), 1, 2, 4, UNDEFINED)
    space = list(rows({"a": few, "b": few, "c": few}))
    x, y, z = (paint.tree() for paint in chosen)
    check_tree(
        regions.difference(regions.union(x, y), z),
        lambda row: (chosen[0].meaning(row) or chosen[1].meaning(row)) and not chosen[2].meaning(row),
        space,
    )


@LIGHT
@given(NUMBERS, NUMBERS)
def test_combination_works_on_leaves_of_any_kind(first: Paint, second: Paint) -> None:
    plus = Operation(lambda a, b: None, lambda a, b: a + b)
    check_tree(
        regions.combine(first.tree(), second.tree(), plus),
        lambda row: first.meaning(row) + second.meaning(row),
    )


@LIGHT
@given(NUMBERS, REGIONS)
def test_an_update_changes_leaves_inside_its_region_only(paint: Paint, where: Paint) -> None:
    changed = regions.update(paint.tree(), where.tree(), lambda leaf: leaf + 10)
    check_tree(changed, lambda row: paint.meaning(row) + 10 * where.meaning(row))


@LIGHT
@given(NUMBERS)
def test_leaves_can_be_mapped(paint: Paint) -> None:
    check_tree(regions.map_leaves(paint.tree(), lambda leaf: leaf % 2), lambda row: paint.meaning(row) % 2)


@LIGHT
@given(NUMBERS, REGIONS)
def test_a_leaf_can_become_a_subtree(paint: Paint, below: Paint) -> None:
    """A leaf may become a tree on later attributes: `box` nests conditions so."""
    later = regions.map_children(Level("c", 0, (), (1,)), lambda leaf: leaf)
    tree = regions.map_leaves(paint.tree(), lambda leaf: later if leaf == 1 else leaf)
    check_tree(tree, lambda row: 0 if paint.meaning(row) == 1 else paint.meaning(row))
    check_tree(tree, paint.meaning, [{**row, "c": 7} for row in SPACE])


# --- normal form ---


@LIGHT
@given(REGIONS)
def test_a_region_and_its_complement_leave_nothing(paint: Paint) -> None:
    """r ∪ ¬r is everything and r ∩ ¬r nothing, seen without any question (theory 1.1)."""
    tree = paint.tree()
    assert regions.union(tree, regions.complement(tree)) is True
    assert regions.intersection(tree, regions.complement(tree)) is False
    assert regions.complement(regions.complement(tree)) == tree


@LIGHT
@given(NUMBERS)
def test_a_tree_that_says_one_thing_everywhere_is_a_leaf(paint: Paint) -> None:
    """A tree that is constant over the whole dense axis collapses into its leaf."""
    leaves = {paint.meaning(row) for row in SPACE}
    assert isinstance(paint.tree(), Level) == (len(leaves) > 1)


@LIGHT
@given(NUMBERS)
def test_a_tree_names_only_attributes_that_matter(paint: Paint) -> None:
    """An attribute is named iff two tuples that differ in it alone have different leaves."""

    def matters(name: str) -> bool:
        other = {"a": "b", "b": "a"}[name]
        return any(len({paint.meaning({name: v, other: fixed}) for v in DENSE}) > 1 for fixed in DENSE)

    assert regions.attributes(paint.tree()) == {name for name in "ab" if matters(name)}


@LIGHT
@given(REGIONS, REGIONS)
def test_equal_regions_are_equal_trees(first: Paint, second: Paint) -> None:
    """All ways to a region over a dense axis give the same tree."""
    a, b = first.tree(), second.tree()
    one = regions.difference(regions.union(a, b), b)
    other = regions.intersection(a, regions.complement(b))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize("low", [(1, 0), (1, 1)])
@pytest.mark.parametrize("high", [(1, 0), (0, 1)])
def test_an_interval_that_ends_before_it_starts_is_empty(low: regions.Bound, high: regions.Bound) -> None:
    assert regions.interval("a", low, high) is False


def test_the_undefined_value_is_in_no_interval_and_no_list() -> None:
    """⊥ is outside every constant, range and list; the wildcard alone matches it (theory 1.1)."""
    for tree in (regions.interval("a", None, None), regions.values("a", [1]), regions.defined("a")):
        assert regions.contains(tree, {}) is False
    assert regions.contains(True, {}) is True


# --- boxes ---


@LIGHT
@given(NUMBERS)
def test_boxes_tile_the_space(paint: Paint) -> None:
    """Each tuple lies in exactly one box, and the box has the tuple's leaf (theory 1.1)."""
    tiles = list(regions.boxes(paint.tree()))
    for row in SPACE:
        assert [
            leaf for box, leaf in tiles if all(regions.contains(where, row) for where in box.values())
        ] == [paint.meaning(row)]


@LIGHT
@given(NUMBERS)
def test_boxes_rebuild_the_tree(paint: Paint) -> None:
    tree = paint.tree()
    again: Tree = -1
    for box, leaf in regions.boxes(tree):
        again = regions.update(again, regions.box(box), lambda _, leaf=leaf: leaf)
    assert again == tree


@LIGHT
@given(NUMBERS)
def test_groups_are_the_fibres_of_a_level(paint: Paint) -> None:
    """Every child of a level once, with all the values that lead to it."""
    tree = paint.tree()
    if not isinstance(tree, Level):
        return
    actual = regions.groups(tree)
    assert len({child for child, _ in actual}) == len(actual)
    for value in DENSE:
        (child,) = (child for child, where in actual if regions.contains(where, {tree.attribute: value}))
        assert child == tree.at(value)


# --- quantifiers ---


def test_quantifiers_range_over_the_domain() -> None:
    """The ⊥ lemma: X < 5 and X ≥ 5 cover X only where X cannot be undefined (theory 3.1)."""
    both = regions.union(regions.interval("X", None, (5, 0)), regions.interval("X", (5, 0), None))
    assert not regions.covers(both, {})
    assert not regions.covers(both, {"X": Domain(True, True)})
    assert regions.covers(both, {"X": Domain(regions.defined("X"))})


def check_quantifiers(paint: Paint, chosen: dict[str, Axis]) -> None:
    tree, domains = paint.tree(), universe(chosen)
    a, b = chosen["a"].values, chosen["b"].values
    some = regions.exists(tree, {"b"}, domains)
    every = regions.forall(tree, {"b"}, domains)
    for x in a:
        fibre = [paint.meaning({"a": x, "b": y}) for y in b]
        assert regions.contains(some, {"a": x}) == any(fibre)
        assert regions.contains(every, {"a": x}) == all(fibre)
    some, every = regions.exists(tree, {"a"}, domains), regions.forall(tree, {"a"}, domains)
    for y in b:
        fibre = [paint.meaning({"a": x, "b": y}) for x in a]
        assert regions.contains(some, {"b": y}) == any(fibre)
        assert regions.contains(every, {"b": y}) == all(fibre)
    whole = [paint.meaning(row) for row in rows(values(chosen))]
    assert regions.covers(tree, domains) == all(whole)
    assert regions.is_empty(tree, domains) == (not any(whole))


@LIGHT
@given(REGIONS, axes("ab"))
def test_quantifiers_are_those_of_the_domain(paint: Paint, chosen: dict[str, Axis]) -> None:
    """∃, ∀, coverage and emptiness hold iff they do value by value (closed fibres, theory 1.3; G5)."""
    check_quantifiers(paint, chosen)


@pytest.mark.soak
@HEAVY
@given(paints("ab", layers=8), axes("ab"))
def test_quantifiers_are_those_of_the_domain_at_length(paint: Paint, chosen: dict[str, Axis]) -> None:
    """∃, ∀, coverage and emptiness hold iff they do value by value (closed fibres, theory 1.3; G5)."""
    check_quantifiers(paint, chosen)


@LIGHT
@given(NUMBERS, axes("ab"))
def test_any_operation_can_be_folded_over_a_fibre(paint: Paint, chosen: dict[str, Axis]) -> None:
    """The feeders of a cell are a fibre, and what holds of the cell is folded over it (D1)."""
    most = Operation(lambda a, b: b if a is b else None, max)
    folded = regions.quantify(paint.tree(), {"b"}, most, universe(chosen))
    for x in chosen["a"].values:
        assert regions.contains(folded, {"a": x}) == max(
            paint.meaning({"a": x, "b": y}) for y in chosen["b"].values
        )


def test_a_domain_without_values_makes_every_fibre_empty() -> None:
    """∀ over nothing is true, ∃ over nothing is false."""
    nothing = {"a": Domain(regions.interval("a", (1, 0), (1, 0)), True)}
    tree = regions.values("a", [1])
    assert regions.covers(tree, nothing)
    assert regions.is_empty(tree, nothing)


def test_whole_numbers_leave_gaps_between_neighbours() -> None:
    """Between 1 and 2 lies no whole number, but many others."""
    tree = regions.union(regions.interval("a", None, (1, 1)), regions.interval("a", (2, 0), None))
    assert regions.covers(tree, {"a": Domain(regions.defined("a"), integral=True)})
    assert not regions.covers(tree, {"a": Domain(regions.defined("a"))})


# --- change of axis ---


@LIGHT
@given(NUMBERS, st.sampled_from("ab"), st.fractions(Fraction(1, 3), 3), st.fractions(-3, 3))
def test_an_increasing_map_carries_trees_along(
    paint: Paint, name: str, slope: Fraction, shift: Fraction
) -> None:
    """The image at f(v) is what was at v; open and closed ends stay so (P-alter, theory 3.1)."""
    image = regions.transform(paint.tree(), name, lambda v: v * slope + shift)
    for row in SPACE:
        moved = {**row, name: row[name] * slope + shift} if name in row else row
        assert regions.contains(image, moved) == paint.meaning(row)


@LIGHT
@given(NUMBERS)
def test_an_image_under_a_projection_folds_what_falls_together(paint: Paint) -> None:
    """The operation combines the leaves of boxes with overlapping images."""
    most = Operation(lambda a, b: b if a is b else None, max)
    image = regions.reshape(paint.tree(), lambda box: [{n: m for n, m in box.items() if n != "a"}], most, 0)
    for y in DENSE:
        expected = max(paint.meaning({"a": x, "b": y}) for x in DENSE)
        assert regions.contains(image, {"b": y}) == expected


@LIGHT
@given(NUMBERS)
def test_an_image_under_new_names_is_the_same_tree_by_them(paint: Paint) -> None:
    names = {"a": "z", "b": "c"}

    def image(box: dict[str, Tree]) -> list[dict[str, Tree]]:
        return [{names[n]: m if m is True else regions.renamed(m, names[n]) for n, m in box.items()}]

    most = Operation(lambda a, b: b if a is b else None, max)
    renamed = regions.reshape(paint.tree(), image, most, 0)
    for row in SPACE:
        assert regions.contains(renamed, {names[n]: v for n, v in row.items()}) == paint.meaning(row)


# --- cost ---


FINITE = Domain(Level("s", False, (), (False,), Map(dict.fromkeys(range(2000), True))), True)


@pytest.mark.rest
@pytest.mark.long
@pytest.mark.parametrize(
    "domain", [FINITE, axis("s", "whole", undefined=True).domain], ids=["finite", "unbounded"]
)
def test_describing_one_more_point_costs_the_same_however_many_there_are(domain: Domain) -> None:
    """100,000 accents `[[s = k, ...]]` cost time linear in their number (design, section 3)."""
    region: Tree = False

    def add(first: int, end: int) -> None:
        nonlocal region
        for k in range(first, end):
            point = regions.values("s", [k])
            assert regions.intersection(region, point) is False
            region = regions.union(region, point)
            assert not regions.covers(region, {"s": domain})

    early = operations(lambda: add(0, 50))
    add(50, 500)
    late = operations(lambda: add(500, 550))
    assert late <= 1.1 * early


@pytest.mark.rest
@pytest.mark.long
def test_a_point_within_a_box_costs_the_same_too() -> None:
    """The same where the point is one condition of several: presence, units and descriptions (D1)."""
    presence: Tree = 0
    window = regions.interval("t", (10, 0), None)

    def add(first: int, end: int) -> None:
        nonlocal presence
        for k in range(first, end):
            presence = regions.update(
                presence, regions.box({"s": regions.values("s", [k]), "t": window}), lambda _: 2
            )

    early = operations(lambda: add(0, 50))
    add(50, 500)
    late = operations(lambda: add(500, 550))
    assert late <= 1.1 * early


@given(
    st.dictionaries(st.integers(0, 12), st.booleans()),
    st.lists(st.tuples(st.integers(-2, 14), st.integers(-2, 14)), max_size=3),
)
def test_runs_of_points_become_pieces_and_nothing_else_changes(
    points: dict[int, bool], intervals: list[tuple[int, int]]
) -> None:
    """Over whole numbers, the coalesced region holds the same values, with no two neighbouring points alike (1.4)."""
    region: Tree = False
    for low, high in intervals:
        region = regions.union(region, regions.interval("a", (low, 0), (high, 0)))
    for value, inside_ in points.items():
        point = regions.values("a", [value])
        region = regions.union(region, point) if inside_ else regions.difference(region, point)
    actual = regions.coalesced(region, {"a": Domain(True, integral=True)})
    for value in (*range(-3, 16), UNDEFINED):
        assert regions.contains(actual, {"a": value}) == regions.contains(region, {"a": value})
    if isinstance(actual, Level):
        numbers = {v: inside_ for v, inside_ in actual.points.items() if isinstance(v, int)}
        assert not any(numbers.get(v + 1) == inside_ for v, inside_ in numbers.items())


def test_a_punctuation_for_each_number_ends_as_one_range() -> None:
    universe = {"a": Domain(True, integral=True), "b": Domain()}
    region: Tree = False
    for value in range(1000):
        pattern = regions.box({"a": regions.values("a", [value]), "b": regions.interval("b", None, (5, 0))})
        region = regions.union(region, pattern)
    actual = regions.coalesced(region, universe)
    assert isinstance(actual, Level)
    assert (len(actual.cuts), len(actual.points)) == (2, 0)
