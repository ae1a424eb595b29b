"""Examples of the papers by name, on regions and facts (theory 2.6: D1 gives them without special rules)."""

from collections.abc import Callable
from typing import Any

import pytest

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, PRESENT, Facts
from cedilla.compiler.operators import Aggregate, Join, Project, Window
from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.affine import Affine
from tests.compiler.facts.paper_facts import added, altered, seen, stream, union, where

# --- union ---


def test_figure_2_an_alter_reaches_the_output_where_both_inputs_have_it() -> None:
    """t > 10 on one input and t > 15 on the other: the output alters t > 15 (Figure 2, U4)."""
    left = stream("t", "X", units={"X": altered(where("t > 10"))})
    right = stream("t", "X", units={"X": altered(where("t > 15"))})
    assert seen(union(left, right).units["X"]) == where("t > 15")
    # Before the second accent arrives nothing is said.
    assert seen(union(left, stream("t", "X")).units["X"]) is False


def test_adds_through_a_union_are_said_once() -> None:
    """`a = "FOO"` on one input, then `b < 5` on the other: the output adds b < 5 ∧ a ≠ "FOO" (U2)."""
    left = stream("a", "b", "X", present={"X": added(where('a = "FOO"'))})
    right = stream("a", "b", "X", present={"X": ABSENT})
    first = union(left, right).present["X"]
    assert first == added(where('a = "FOO"'))
    right = stream("a", "b", "X", present={"X": added(where("b < 5"))})
    second = union(left, right).present["X"]
    rest = regions.difference(where("b < 5"), where('a = "FOO"'))
    new = regions.combine(
        second, first, regions.Operation(lambda a, b: None, lambda a, b: a is PRESENT and b is ABSENT)
    )
    assert new == rest


def test_a_drop_waits_for_the_other_input() -> None:
    """f ∧ d is dropped once both inputs dropped it, at once where the other never had X (U3, G6)."""
    gone = regions.update(PRESENT, where("b < 5"), lambda _: ABSENT)
    left = stream("a", "b", "X", present={"X": gone})
    assert union(left, stream("a", "b", "X")).present["X"] is PRESENT
    assert union(left, stream("a", "b")).present["X"] == gone


def test_functions_are_compared_and_not_accents() -> None:
    """Two Alters on one input, their composition on the other: equal functions, so both are said (G8)."""
    first, second = Affine(2, 0), Affine(1, 5)
    left = stream("t", "X", units={"X": (*ORIGINAL, first, second.after(first))})
    right = stream("t", "X", units={"X": (*ORIGINAL, Affine(2, 5))})
    assert union(left, right).units["X"][-1] == Affine(2, 5)


def test_a_union_closes_what_both_inputs_closed() -> None:
    """[5,15] on one input and [10,20] on the other close [10,15]; [20,25] then closes nothing new (000)."""
    left, right = stream("b", closed=where("b in [5, 15]")), stream("b", closed=where("b in [10, 20]"))
    both = union(left, right).closed
    assert both == where("b in [10, 15]")
    left = stream("b", closed=where("b in [5, 15]"))
    right = stream("b", closed=regions.union(where("b in [10, 20]"), where("b in [20, 25]")))
    assert union(left, right).closed == both


def test_a_closed_input_counts_as_evolved() -> None:
    """An entry held for one input is released where the other is closed (vacuity, theory 3.2)."""
    left = stream("t", "X", units={"X": altered(where("t > 10"))})
    right = stream("t", "X", closed=where("t <= 20"))
    assert seen(union(left, right).units["X"]) == where("t in (10, 20]")


# --- accumulators ---


@pytest.mark.parametrize("operator", ["aggregate", "project"])
def test_accumulators_roll_up(operator: str) -> None:
    """`s=1,t<5`; `s=1,t=5`; `s=1,t>5`: the three together, and no two of them, are `s=1` (6.1, G3, G4)."""
    parts = [where("s = 1, t < 5"), where("s = 1, t = 5"), where("s = 1, t > 5")]

    def out(*areas: Tree) -> Tree:
        source = stream("s", "t", "X", units={"X": altered(regions.union(*areas))}, undefined="X")
        if operator == "project":
            facts = Project(name="p", inputs=("i",), items={"s": "s", "X": "X"}).facts((source,))
        else:
            facts = Aggregate(name="g", inputs=("i",), by=["s"], function="avg", excepts=["t"]).facts(
                (source,)
            )
        return seen(facts.units["X"])

    for missing in range(3):
        assert out(*parts[:missing], *parts[missing + 1 :]) is False
    assert out(*parts) == where("s = 1")


def test_newly_covered_cells_are_emitted_whatever_the_last_accent_said() -> None:
    """After (s ∈ {1,2}, t < 5) and (s = 1, t ≥ 5) it is s = 1 that is covered (G4)."""
    covered = regions.union(where("s in {1, 2}, t < 5"), where("s = 1, t >= 5"))
    source = stream("s", "t", "X", units={"X": altered(covered)})
    out = Aggregate(name="g", inputs=("i",), by=["s"], function="avg", excepts=["t"]).facts((source,))
    assert seen(out.units["X"]) == where("s = 1")


def test_punctuation_covers_what_no_accent_does() -> None:
    """A part closed by punctuation needs no accent: d' → d0 ∨ d ∨ closed (theory 3.2)."""
    source = stream("s", "t", "X", units={"X": altered(where("s = 1, t >= 5"))}, closed=where("t < 5"))
    out = Aggregate(name="g", inputs=("i",), by=["s"], function="avg", excepts=["t"]).facts((source,))
    assert seen(out.units["X"]) == where("s = 1")


def test_a_declared_domain_lets_accents_cover() -> None:
    """The domain {1, 2} is known: s = 1 and s = 2 are all of it (6.1, example 1; G5)."""
    trees = altered(where("s in {1, 2}"))
    with_domain = stream("s", "t", "X", units={"X": trees}, domains={"s": regions.values("s", [1, 2])})
    unknown = stream("s", "t", "X", units={"X": trees})
    group = Aggregate(name="g", inputs=("i",), by=["t"], function="avg", excepts=["s"])
    assert seen(group.facts((with_domain,)).units["X"]) is True
    assert seen(group.facts((unknown,)).units["X"]) is False


def test_two_truth_values_are_all_there_are() -> None:
    """The domain of a boolean is known without a declaration (G5)."""
    source = Source(name="s", attributes=[Attribute("f", "boolean")], format="json", path="data")
    both = regions.values("f", [True, False])
    assert regions.covers(both, source.facts(frozenset()).universe)
    assert not regions.covers(both, source.facts(frozenset({"f"})).universe)  # ⊥ lemma


@pytest.mark.parametrize(("undefined", "expected"), [("", "s = 1"), ("X", None)])
def test_the_undefined_value_keeps_a_group_open(undefined: str, expected: str | None) -> None:
    """`[s=1,X<5]` and `[s=1,X>=5]` do not close s=1 where X may be undefined (⊥ lemma, theory 3.1)."""
    halves = regions.union(where("s = 1, X < 5"), where("s = 1, X >= 5"))
    source = stream("s", "X", closed=halves, undefined=undefined)
    for operator in (
        Aggregate(name="g", inputs=("i",), by=["s"], calls={"n": "count()"}),
        Project(name="p", inputs=("i",), items={"s": "s"}),
    ):
        assert operator.facts((source,)).closed == (where(expected) if expected else False)


def test_a_pattern_on_an_aggregated_attribute_closes_no_group() -> None:
    """`[g = 1, price = 5]` does not close group 1 (the defect of NiagaraST, theory 1.5)."""
    out = Aggregate(name="g", inputs=("i",), by=["s"], function="avg").facts(
        (stream("s", "X", closed=where("s = 1, X = 5")),)
    )
    assert out.closed is False


# --- windows ---

LENGTH = 5


def windowed(description: Tree) -> tuple[Facts, Facts]:
    """Windows of length 5 over a stream with X added, and one with X altered, where the description says."""
    window = Window(name="w", inputs=("i",), length=LENGTH, step=LENGTH, on="t", alias="wid")
    add = window.facts((stream("t", "X", present={"X": added(description)}),))
    alter = window.facts((stream("t", "X", units={"X": altered(description)}),))
    return add, alter


COMPARED: dict[str, Callable[[int, int], bool]] = {
    ">": lambda t, c: t > c,
    ">=": lambda t, c: t >= c,
    "<": lambda t, c: t < c,
    "<=": lambda t, c: t <= c,
    "=": lambda t, c: t == c,
    "!=": lambda t, c: t != c,
}


@pytest.mark.parametrize("comparator", COMPARED)
@pytest.mark.parametrize("constant", [10, 12, 14])
def test_descriptions_move_to_windows(comparator: str, constant: int) -> None:
    """up(d) = {k : extent ∩ d ≠ ∅} for Adds, low(d) = {k : extent ⊆ d} for Drops and Alters (W5, G25)."""
    add, alter = windowed(where(f"t {comparator} {constant}"))
    for k in range(-2, 8):
        hits = [COMPARED[comparator](t, constant) for t in range(k * LENGTH, (k + 1) * LENGTH)]
        assert (regions.contains(add.present["X"], {"wid": k}) is PRESENT) == any(hits)
        assert regions.contains(seen(alter.units["X"]), {"wid": k}) == all(hits)


@pytest.mark.parametrize(
    ("description", "up", "low"),
    [
        ("t > 10", (2, None), (3, None)),  # the paper's example: W5, with G24's correction
        ("t >= 10", (2, None), (2, None)),  # on a boundary nothing is held
        ("t < 10", (None, 1), (None, 1)),
        ("t <= 10", (None, 2), (None, 1)),
        ("t <= 14", (None, 2), (None, 2)),
    ],
)
def test_the_moved_descriptions_by_name(description: str, up: tuple[Any, Any], low: tuple[Any, Any]) -> None:
    """`wid > w(10)` and not `wid > w(10) + 1` (G24); >,≥: windows starting inside, <,≤: ending (G25)."""

    def windows(bounds: tuple[int | None, int | None]) -> Tree:
        first, last = bounds
        return regions.interval(
            "wid", None if first is None else (first, 0), None if last is None else (last + 1, 0)
        )

    add, alter = windowed(where(description))
    assert regions.intersection(add.may_have("X"), regions.defined("wid")) == windows(up)
    assert regions.intersection(seen(alter.units["X"]), regions.defined("wid")) == windows(low)


def test_punctuate_then_accent_moves_without_delay() -> None:
    """With t ≤ 10 closed, an Alter of t > 10 holds of window w(10) at once (theory 3.2, Window)."""
    source = stream("t", "X", units={"X": altered(where("t > 10"))}, closed=where("t <= 10"))
    out = Window(name="w", inputs=("i",), length=LENGTH, step=LENGTH, on="t", alias="wid").facts((source,))
    reached = seen(out.units["X"])
    assert [regions.contains(reached, {"wid": k}) for k in (2, 3)] == [True, True]


def test_a_window_closes_when_its_extent_is_closed() -> None:
    """For ts < c, windows k with k ≤ ⌊(c − r)/s⌋ are closed, aligned or not (theory 1.3, Window)."""
    for length, step in ((5, 5), (10, 5), (7, 3)):
        window = Window(name="w", inputs=("i",), length=length, step=step, on="t", alias="wid")
        for c in range(20, 31):
            shut = window.facts((stream("t", closed=where(f"t < {c}")),)).closed
            actual = [k for k in range(-3, 12) if _shut(shut, k)]
            assert actual == [k for k in range(-3, 12) if k <= (c - length) // step]


def _shut(closed: Tree, window: int) -> bool:
    """Returns True if every tuple of a window is in the region, at all its times."""
    return regions.covers(
        closed, {"wid": Domain(regions.values("wid", [window])), "t": Domain(regions.defined("t"))}
    )


def test_ticks_close_windows_one_point_at_a_time() -> None:
    """`[t = 0]` to `[t = 4]` close all whole numbers of window 0 (theory 1.3: extent(k) ⊆ C)."""
    window = Window(name="w", inputs=("i",), length=LENGTH, step=LENGTH, on="t", alias="wid")
    for last, expected in ((3, False), (4, True)):
        ticks = where(f"t in {{{', '.join(map(str, range(last + 1)))}}}")
        assert _shut(window.facts((stream("t", closed=ticks),)).closed, 0) is expected


# --- join ---


def test_the_papers_query_closes_a_group() -> None:
    """Sensors and placement joined on s, averaged by l: groups close once both closed them (J2)."""
    left = stream("s", "t", "X", closed=where("t < 10"))
    right = stream("s", "a", closed=True)
    joined = Join(name="j", inputs=("l", "r"), on=[("s", "s")]).facts((left, right))
    assert joined.closed == where("t < 10")
    group = Aggregate(name="g", inputs=("j",), by=["a", "t"], function="avg", excepts=["s"])
    assert group.facts((joined,)).closed == where("t < 10")


def test_a_static_relation_keeps_no_stream_tuples() -> None:
    """It is closed by `*` from the start, so stream tuples meet nothing later (theory 1.3)."""
    left, right = stream("s", "t"), stream("s", "a", closed=True)
    assert Join(name="j", inputs=("l", "r"), on=[("s", "s")]).purge((left, right)) == (True, False)
