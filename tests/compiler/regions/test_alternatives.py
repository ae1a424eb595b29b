"""A region as a union of simpler ones (theory 1.1: the algebra of regions)."""

from hypothesis import given

from cedilla.compiler import regions
from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.patterns import before
from cedilla.compiler.regions import POSITION, Level
from cedilla.compiler.regions.alternatives import alternatives
from tests.kit.strategies import DENSE, LIGHT, Paint, paints, rows

SPACE = list(rows({"a": DENSE, "b": DENSE, "c": DENSE}))
TYPES = {name: Type("int") for name in "abc"}


@LIGHT
@given(paints("abc"))
def test_the_alternatives_of_a_region_are_together_the_region(paint: Paint) -> None:
    actual = alternatives(paint.tree())
    for row in SPACE:
        assert any(regions.contains(tree, row) for tree in actual) == paint.meaning(row), row


def _below(attribute: str, bound: int) -> regions.Tree:
    return regions.interval(attribute, None, before(Type("int"), bound))


def test_what_is_closed_on_several_attributes_is_asked_of_each_once() -> None:
    actual = alternatives(regions.union(*(_below(name, 5) for name in "abc")))
    assert actual == [_below(name, 5) for name in "abc"]


def test_what_holds_from_a_place_on_is_asked_with_its_attribute() -> None:
    def from_place(attribute: str, old: int, new: int, since: int) -> regions.Tree:
        later = regions.interval(POSITION, (since, 1), None)
        return regions.union(_below(attribute, old), regions.intersection(_below(attribute, new), later))

    closed = [from_place("a", 1, 5, 7), from_place("b", 2, 6, 8), from_place("c", 3, 7, 9)]
    actual = alternatives(regions.union(*closed))
    assert [level.attribute for level in actual] == ["a", "b", "c"]
    for level in actual:  # nothing is said of the other two
        assert isinstance(level, Level)
        assert level.inner <= {POSITION}


def test_a_region_of_many_points_is_left_as_it_is() -> None:
    many = regions.union(regions.values("a", range(1000)), _below("b", 5))
    assert alternatives(many) == [many]


def test_a_test_names_each_attribute_once() -> None:
    text = sql.predicate(regions.union(*(_below(name, 5) for name in "abc")), TYPES)
    assert [text.count(f"{name} <") for name in "abc"] == [1, 1, 1]
    assert "CASE" not in text  # what is undefined falls through
