"""The law D1 cell by cell: every operator's facts against its feeders, by brute force (theory 2.6).

For each output cell: an attribute is present where it is for some live feeder, its units are the functions
common to all live, present feeders, and the cell is closed when no feeder is live. Live is: not closed.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS
from cedilla.compiler.expressions.step_functions import stepped
from cedilla.compiler.expressions.types import LONG, Type
from cedilla.compiler.facts.facts import ABSENT, COMMON_HISTORY, LATENT, PRESENT, Facts, History, Presence
from cedilla.compiler.operators import Aggregate, Call, CountWindow, Join, Project, Select, Union
from cedilla.compiler.operators.shared.base import Kind
from cedilla.compiler.operators.shared.reactions import reaction, signature
from cedilla.compiler.regions import UNDEFINED
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.node import control
from tests.compiler.facts.evolution_checks import (
    STEPS,
    TS,
    check_join,
    check_purge,
    check_steps,
    check_union,
    check_window,
)
from tests.compiler.facts.statistics import quantile, variance
from tests.compiler.worlds import (
    FUNCTIONS_IN_ORDER,
    HISTORIES,
    INTEGERS,
    PRESENCES,
    World,
    check_fold,
    closed,
    history,
    presence,
    same,
    worlds,
)
from tests.kit.strategies import (
    HEAVY,
    LIGHT,
    WHOLE,
    Axis,
    Paint,
    axes,
    members,
    paints,
    rows,
    values,
)

# --- union ---


@pytest.mark.long
@LIGHT
@given(worlds("a"), worlds("a"))
def test_union_follows_its_feeders(left: World, right: World) -> None:
    """Feed(c) = {(1, c), (2, c)}; this is U2 to U4 and Prop(Union) = C1 ∩ C2 (theory 2.6, 1.3)."""
    check_union(left, right)


@LIGHT
@given(worlds("a"), worlds("b", ("Y",)))
def test_union_needs_no_compatibility(left: World, right: World) -> None:
    """The initial schemas count as presence, so a drop is never held for an input without it (U1, G6)."""
    check_union(left, right)


@pytest.mark.soak
@HEAVY
@given(worlds("ab"), worlds("ab"))
def test_union_follows_its_feeders_at_length(left: World, right: World) -> None:
    """Feed(c) = {(1, c), (2, c)} (theory 2.6)."""
    check_union(left, right)


# --- project ---


@LIGHT
@given(worlds("ab"))
def test_projection_folds_over_what_it_drops(world: World) -> None:
    """Feed(c) = {(1, (c, a)) : a ∈ Dom(A) ∪ {⊥}}: coverage decides, not wording (G3, G4; theory 2.6)."""
    out = Project(name="p", inputs=("s",), items={"a": "a", "X": "X"}).facts((world.facts,))
    check_fold(world, out, ["b"], {"a": ("a", same), "X": ("X", same)}, {"a": same, "X": same})


@LIGHT
@given(worlds("ab"))
def test_a_rename_renames_the_facts(world: World) -> None:
    """ρ changes names and nothing else, also where the order of attributes changes (theory 1.3)."""
    out = Project(name="p", inputs=("s",), items={"z": "a", "B": "b", "a": "X"}).facts((world.facts,))
    moved = {"z": ("a", same), "B": ("b", same), "a": ("X", same)}
    check_fold(world, out, [], moved, {"z": same, "B": same, "a": same})


@LIGHT
@given(worlds("ab"))
def test_a_copy_leaves_the_axis_with_the_first_name(world: World) -> None:
    """Regions over a copied attribute speak of one of its names (theory 1.3, Project)."""
    out = Project(name="p", inputs=("s",), items={"z": "a", "w": "a", "X": "X"}).facts((world.facts,))
    moved = {"z": ("a", same), "w": ("a", same), "X": ("X", same)}
    check_fold(world, out, ["b"], moved, {"z": same, "w": same, "X": same})


@LIGHT
@given(worlds("ab"))
def test_an_affine_value_moves_cells_and_conjugates_functions(world: World) -> None:
    """y := g(x) maps cells by g, and an Alter by α becomes one by g∘α∘g⁻¹ (theory 1.3, G20)."""
    out = Project(name="p", inputs=("s",), items={"y": "2 * a + 1", "Z": "X * 3 - 1"}).facts((world.facts,))
    g, h = Affine(2, 1), Affine(3, -1)
    check_fold(
        world,
        out,
        ["b"],
        {"y": ("a", g), "Z": ("X", h)},
        {"y": lambda f: g.after(f).after(g.inverse()), "Z": lambda f: h.after(f).after(h.inverse())},
    )


COMPUTED: dict[str, Callable[[Presence, Presence], Presence]] = {
    "X + Y": min,
    "coalesce(X, Y)": max,
    "greatest(X, Y)": max,
    "X > 1 or Y > 1": max,
    "coalesce(X + Y, X)": lambda x, y: x,
    "nullif(X, Y)": lambda x, y: x,
    "coalesce(X, 0)": lambda x, y: PRESENT,
    "isnull(X)": lambda x, y: PRESENT,
    "case when X > 1 then Y end": min,
    "case when X > 1 then 1 else Y end": max,
    "case when isnull(X) then Y end": lambda x, y: y,
}


@LIGHT
@given(worlds("a", ("X", "Y")), st.sampled_from(list(COMPUTED)))
def test_a_computed_value_is_present_where_what_it_needs_is(world: World, text: str) -> None:
    """x + y is undefined where x or y is, coalesce(x, y) where both are: then D1 (G20)."""
    out = Project(name="p", inputs=("s",), items={"a": "a", "t": text}).facts((world.facts,))
    for cell in rows(values(world.axes, "a")):
        fibre = world.fibre(cell, ["X", "Y"])
        counted = world.live(fibre) or fibre
        expected = (COMPUTED[text](world.presence("X", c), world.presence("Y", c)) for c in counted)
        assert regions.contains(out.present["t"], cell) == max(expected, default=ABSENT)


PROJECTED = {"X": "X", "Y": "Y", "sum": "X + Y", "either": "coalesce(X, Y)", "safe": "coalesce(X, 0)"}


@pytest.mark.parametrize(
    ("kind", "passes"), [("add", {"X", "sum", "either"}), ("drop", {"X", "sum", "either"}), ("alter", {"X"})]
)
def test_what_is_optional_may_be_dropped_under_a_computed_value(kind: Kind, passes: set[str]) -> None:
    """An input of a computed attribute is Foundation unless it is optional (G20); `either` is there as long as Y is."""
    project = Project(name="p", inputs=("s",), items=PROJECTED)
    for optional in (False, True):
        facts = Facts({"X": LONG, "Y": LONG}, {}, dict.fromkeys("XY", LATENT if optional else PRESENT))
        actual = reaction(project, kind, "X", frozenset(), (facts,), 0)
        foundation = signature(project, (facts,)).foundation
        if optional or kind != "drop":
            assert set(actual.passes) == (passes if optional else passes - {"either"})
        else:
            assert (actual.kind, actual.rule) == ("aborts", "G20")
        assert foundation == (() if optional else ("X", "Y"))


@LIGHT
@given(worlds("a"))
def test_a_falling_value_has_units_but_no_axis(world: World) -> None:
    """-x reverses its axis, so only patterns that are free of x pass (theory 1.3)."""
    out = Project(name="p", inputs=("s",), items={"a": "a", "n": "0 - X"}).facts((world.facts,))
    assert "n" not in regions.attributes(out.closed)
    for cell in rows(values(world.axes, "a")):
        feeders = [(world, c) for c in world.fibre(cell, ["X"])]
        assert regions.contains(out.closed, cell) == closed(feeders)
        if "n" in out.units:
            minus = Affine(-1, 0)
            expected = tuple(minus.after(f).after(minus) for f in history(feeders, "X"))
            assert regions.contains(out.live_units("n"), cell) == expected


# --- select ---


@LIGHT
@given(
    worlds("ab"),
    st.sampled_from(
        [
            ("a > 1", lambda a, b: a is not None and a > 1),
            ("a = 1 or b <= 2", lambda a, b: a == 1 or (b is not None and b <= 2)),
        ]
    ),
)
def test_selection_closes_what_it_excludes(
    world: World, chosen: tuple[str, Callable[[int | None, int | None], bool]]
) -> None:
    """p is closed iff p ∧ q ⊆ C: so `¬q` is closed from the start (Prop of Select, theory 1.3)."""
    text, holds = chosen
    facts = world.facts
    out = Select(name="s", inputs=("i",), predicate=text).facts((facts,))
    assert (out.present, out.units, out.universe) == (facts.present, facts.units, facts.universe)
    for cell in rows({"a": WHOLE, "b": WHOLE, "X": (1, UNDEFINED)}):
        a, b = cell.get("a"), cell.get("b")
        assert regions.contains(out.closed, cell) == (world.closed.meaning(cell) or not holds(a, b))


# --- window ---

SHAPES = [(3, 3), (1, 1), (4, 2), (5, 2), (4, 3)]


def timed(
    kinds: Sequence[str], constants: Sequence[int] = (0, 1, 2, 3, 4, 5, 7, 9)
) -> st.SearchStrategy[World]:
    """A stream whose time takes every whole number, or those from 0 to 11."""
    whole = regions.defined("ts")
    finite = regions.interval("ts", (0, 0), (12, 0))
    axis = {
        "whole": Axis(regions.Domain(whole, True), TS, "whole"),
        "declared": Axis(regions.Domain(finite, True), tuple(range(12)), "declared"),
    }
    sets = {"ts": members(constants, half_open=True), "s": INTEGERS}
    return st.builds(
        World,
        st.builds(
            lambda kind, others: {"ts": axis[kind], **others}, st.sampled_from(kinds), axes(["s", "X"])
        ),
        st.fixed_dictionaries(
            {
                "ts": st.just(Paint(PRESENT, ())),
                "s": st.just(Paint(PRESENT, ())),
                "X": paints(sets, PRESENCES),
            }
        ),
        st.fixed_dictionaries({}, optional={"X": paints(sets, HISTORIES)}),
        paints({**sets, "X": INTEGERS}),
    )


@LIGHT
@given(timed(["whole"]), st.sampled_from(SHAPES))
def test_windows_follow_the_times_in_their_extent(world: World, shape: tuple[int, int]) -> None:
    """Feed(wid = k) = {(1, (ts, rest)) : ts ∈ extent(k)}, tumbling and sliding: W5, G25, G28 (theory 2.6)."""
    check_window(world, shape, exact=True)


@LIGHT
@given(timed(["declared"]), st.sampled_from(SHAPES))
def test_windows_over_a_declared_time_promise_no_more_than_holds(
    world: World, shape: tuple[int, int]
) -> None:
    """Presence is an outer image, closed regions and units are inner ones (theory 2.6, G26)."""
    check_window(world, shape, exact=False)


@pytest.mark.soak
@HEAVY
@given(timed(["whole"]), st.sampled_from(SHAPES))
def test_windows_follow_the_times_in_their_extent_at_length(world: World, shape: tuple[int, int]) -> None:
    """Feed(wid = k) = {(1, (ts, rest)) : ts ∈ extent(k)} (theory 2.6)."""
    check_window(world, shape, exact=True)


# --- aggregate ---


@LIGHT
@given(worlds("ab"))
def test_an_aggregate_folds_over_all_but_its_groups(world: World) -> None:
    """Feed(g) is the whole fibre of the group, with ⊥: an accumulator (G2 to G4; theory 2.6, A2 to A4)."""
    out = Aggregate(name="g", inputs=("s",), by=["a"], function="avg", excepts=["b"]).facts((world.facts,))
    check_fold(world, out, ["b", "X"], {"a": ("a", same)}, {"a": same})
    for cell in rows(values(world.axes, "a")):
        feeders = [(world, c) for c in world.fibre(cell, ["b", "X"])]
        assert regions.contains(out.present["X"], cell) == presence(feeders, "X")
        if "X" in out.units:
            assert regions.contains(out.live_units("X"), cell) == history(feeders, "X")


CONSTANTS = {"share": "0.9", "size": "3", "text": "', '"}


@LIGHT
@given(worlds("ab"), st.sampled_from(sorted(FUNCTIONS)))
def test_named_calls_carry_units_by_their_table(world: World, function: str) -> None:
    """An Alter of the argument reaches the result as the table says, or is absorbed (theory 2.8)."""
    # A call of a function with X as its first argument and b, which is always there, as its second.
    rest = [CONSTANTS.get(kind, "b") for kind in FUNCTIONS[function].takes[1:]]
    calls = {"r": f"{function}({', '.join(['X', *rest])})", "n": "count()"}
    out = Aggregate(name="g", inputs=("s",), by=["a"], calls=calls).facts((world.facts,))
    carry = FUNCTIONS[function].carry
    assert out.present["n"] == PRESENT
    assert not {"n", "count"} & out.units.keys()
    for cell in rows(values(world.axes, "a")):
        feeders = [(world, c) for c in world.fibre(cell, ["b", "X"])]
        if function == "count":
            assert (out.present["r"], "r" in out.units) == (PRESENT, False)
            continue
        assert regions.contains(out.present["r"], cell) == presence(feeders, "X")
        if "r" in out.units:
            expected = tuple(carry(f) or IDENTITY for f in history(feeders, "X"))
            assert regions.contains(out.live_units("r"), cell) == expected


@LIGHT
@given(worlds("ab"), st.sampled_from([0, 1, 2, 3]))
def test_a_call_is_fed_by_what_its_condition_lets_through(world: World, bound: int) -> None:
    """Cells where `b > bound` is never true are no feeders of the result, but still of its group (D1)."""
    calls = {"r": f"avg(X where b > {bound})"}
    out = Aggregate(name="g", inputs=("s",), by=["a"], calls=calls).facts((world.facts,))
    for cell in rows(values(world.axes, "a")):
        group = [(world, c) for c in world.fibre(cell, ["b", "X"])]
        feeders = [(w, c) for w, c in group if c.get("b", bound) > bound]
        assert regions.contains(out.present["r"], cell) == presence(feeders, "X")
        if "r" in out.units:
            assert regions.contains(out.live_units("r"), cell) == history(feeders, "X")
        assert regions.contains(out.closed, cell) == closed(group)


@LIGHT
@given(worlds("ab"))
def test_a_count_window_changes_nothing_but_its_name(world: World) -> None:
    """Feed(c) is the input cell without the window's name, whatever that is (theory 2.6)."""
    out = CountWindow(name="w", inputs=("s",), size=2, per=("a",), alias="i").facts((world.facts,))
    for cell in rows(values(world.axes, *world.axes)):
        for window in (0, 7):
            image = {**cell, "i": window}
            feeders = [(world, cell)]
            assert regions.contains(out.closed, image) == closed(feeders)
            assert regions.contains(out.present["i"], image) == PRESENT
            for name in world.axes:
                assert regions.contains(out.present[name], image) == world.presence(name, cell)
                assert name not in out.units or regions.contains(out.units[name], image) == world.history(
                    name, cell
                )


def test_conditions_need_what_they_read() -> None:
    """A Drop of what a condition reads aborts unless it is optional; other accents on it are absorbed (G20)."""
    source = Facts(dict.fromkeys("abtx", LONG), {}, {"a": PRESENT, "b": PRESENT, "t": PRESENT, "x": LATENT})
    group = Aggregate(
        name="g", inputs=("s",), by=["a"], calls={"r": "avg(t where b > 1 or x = t)", "n": "count(x)"}
    )

    def said(kind: Kind, attribute: str) -> tuple[str, str]:
        reacts = reaction(group, kind, attribute, frozenset(), (source,), 0)
        return reacts.kind, reacts.rule

    assert said("drop", "b") == said("drop", "t") == ("aborts", "G20")
    assert said("alter", "b") == said("add", "b") == ("absorbed", "G20")
    assert said("alter", "t") == ("propagates", "A4")
    assert said("drop", "x") == said("add", "x") == ("absorbed", "2.8")
    assert said("drop", "a") == ("aborts", "A3")
    assert signature(group, (source,)).foundation == ("a", "b", "t")


def test_an_alter_of_what_no_tuple_has_where_a_condition_holds_is_absorbed() -> None:
    """Nothing feeds the result of a group that the condition excludes, so there is no Alter (D1)."""
    source = Facts({"v": LONG}, {}, {"v": PRESENT})
    group = Aggregate(name="g", inputs=("s",), by=["v"], calls={"n": "sum(v where v > 1)"})
    shifted = Affine(Fraction(2), Fraction(1))
    assert reaction(group, "alter", "v", frozenset(), (source,), 0, shifted).passes == ("v",)


CALLS = (
    *("count()", "avg(t)", "count(distinct s where t > 9)", "quantile(t * 2 - 1, 0.9)", "count(where not b)"),
    "collect(l where l in {\"a where b\", 'c)'} and (t > 1 or not u < 2))",
)


@pytest.mark.parametrize("text", CALLS)
def test_a_call_reads_back_from_its_text(text: str) -> None:
    assert str(Call.parse(text)) == text
    assert Call.parse(str(Call.parse(text))) == Call.parse(text)


# --- step functions ---


@LIGHT
@given(timed(["whole"]), st.sampled_from(list(STEPS)), st.booleans())
def test_a_step_function_keeps_wholly_covered_cells(world: World, text: str, kept: bool) -> None:
    """Feed(y) = {(1, (x, rest)) : g(x) = y}: y closes when all its x are, evolves when all have (theory 1.3)."""
    check_steps(world, text, kept=kept)


@pytest.mark.soak
@HEAVY
@given(timed(["whole"]), st.sampled_from(list(STEPS)), st.booleans())
def test_a_step_function_keeps_wholly_covered_cells_at_length(world: World, text: str, kept: bool) -> None:
    """Feed(y) = {(1, (x, rest)) : g(x) = y} (theory 1.3)."""
    check_steps(world, text, kept=kept)


HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "unit", "first"),
    [
        ("date_trunc('second', at)", HOUR // 3600, 0),
        ("date_trunc('minute', at)", HOUR // 60, 0),
        ("date_trunc('HOUR', at)", HOUR, 0),
        ("date_trunc('day', at)", 24 * HOUR, 0),
        ("date_trunc('week', at)", 168 * HOUR, -72 * HOUR),
        ("to_date(at)", 24 * HOUR, 0),
        ("unix_seconds(at)", HOUR // 3600, 0),
        ("floor(unix_seconds(at) / 300)", HOUR // 12, 0),
    ],
)
def test_time_is_rounded_by_steps(text: str, unit: int, first: int) -> None:
    """A punctuation on a timestamp closes the hours, days, Mondays that it covers wholly (UTC)."""
    at = Type("timestamp")
    bound = first + 5 * unit + unit // 2
    facts = Facts(
        {"at": at}, {"at": regions.Domain(regions.defined("at"), True)}, {"at": PRESENT}, {},
        regions.interval("at", None, (bound, 0)),
    )  # fmt: skip
    out = Project(name="p", inputs=("s",), items={"y": text}).facts((facts,))
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=first + 5 * unit)
    value = control(evaluate(parse_expression(text), {"at": moment}))
    assert out.closed == regions.interval("y", None, (value, 0))


def test_a_date_closes_the_moments_of_its_midnights() -> None:
    """A union of dates and timestamps is closed by both (theory 1.3)."""
    day = Type("date")
    facts = Facts(
        {"d": day}, {"d": regions.Domain(regions.defined("d"), True)}, {"d": PRESENT}, {},
        regions.interval("d", None, (20, 0)),
    )  # fmt: skip
    out = Project(name="p", inputs=("s",), items={"at": "timestamp(d)"}).facts((facts,))
    assert out.closed == regions.interval("at", None, (20 * 24 * HOUR, 0))


@pytest.mark.parametrize(
    "text", ["date_trunc('month', at)", "floor(-ts / 3)", "floor(ts * ts)", "ceil(ts / 2)", "to_date(s)"]
)
def test_other_functions_have_no_axis(text: str) -> None:
    """Only an increasing step function of one attribute closes something (theory 1.3: otherwise `*`)."""
    types = {"at": Type("timestamp"), "ts": LONG, "s": Type("string")}
    assert stepped(parse_expression(text), types) is None


# --- join ---


@LIGHT
@given(worlds("ka"), worlds("kb", ("Y",)))
def test_a_join_coordinates_its_shared_attribute(left: World, right: World) -> None:
    """Feed(c) on the join attributes is {(S, c), (T, c)}, coarsened to them (J1, G14; theory 2.6)."""
    check_join(left, right)


@LIGHT
@given(worlds("ka"), worlds("kb", ("X",)))
def test_a_join_refuses_an_attribute_that_both_inputs_have(left: World, right: World) -> None:
    """J2 looks at where the attribute is present now, whatever put it there (G11)."""
    here = [
        any(w.presence("X", c) is not ABSENT for c in rows(dict.fromkeys(w.axes, WHOLE)))
        for w in (left, right)
    ]
    join = Join(name="j", inputs=("l", "r"), on=[("k", "k")])
    assert join.conflict((left.facts, right.facts)) == ("X" if all(here) else None)


@LIGHT
@given(worlds("k", kinds=("finite", "whole")), worlds("kb", (), kinds=("finite", "whole")))
def test_a_join_keeps_what_a_later_tuple_may_meet(left: World, right: World) -> None:
    """Keep1 = {t1 : some joinable t2 ∉ C2}, and so for the right (theory 1.3, E7)."""
    check_purge(left, right, [("k", "k")])


@LIGHT
@given(worlds("ab", (), kinds=("finite", "whole")), worlds("cd", (), kinds=("finite", "whole")))
def test_a_join_on_differing_names_keeps_the_same(left: World, right: World) -> None:
    """Keep1 = {t1 : some joinable t2 ∉ C2}, with the join attributes by their names on either side."""
    check_purge(left, right, [("b", "c")])
    check_purge(left, right, [("a", "d"), ("b", "c")])


@LIGHT
@given(worlds("a", (), kinds=("finite", "whole")), worlds("cd", (), kinds=("finite", "whole")))
def test_a_join_of_one_attribute_with_two_keeps_the_same(left: World, right: World) -> None:
    """Keep1 = {t1 : some joinable t2 ∉ C2}, for `a = c` and `a = d` too (theory 1.3)."""
    facts = left.facts, right.facts
    purged, _ = Join(name="j", inputs=("l", "r"), on=[("a", "c"), ("a", "d")]).purge(facts)
    for value in left.axes["a"].values:
        if value in right.axes["c"].values and value in right.axes["d"].values and value is not UNDEFINED:
            needed = not right.closed.meaning({"c": value, "d": value})
            assert not (needed and regions.contains(purged, {"a": value})), value


@LIGHT
@given(worlds("ab", (), kinds=("finite", "whole")), worlds("cd", (), kinds=("finite", "whole")))
def test_a_join_on_differing_names_closes_what_both_have_closed(left: World, right: World) -> None:
    """J2 of theory 1.3: a joined tuple is closed iff both its parts are, by either name."""
    out = Join(name="j", inputs=("l", "r"), on=[("b", "c")]).facts((left.facts, right.facts))
    for cell in rows({"a": WHOLE[1:-2], "b": WHOLE[1:-2], "d": WHOLE[1:-2]}):
        both = left.closed.meaning(cell) and right.closed.meaning({**cell, "c": cell["b"]})
        assert regions.contains(out.closed, {**cell, "c": cell["b"]}) == both


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_group_by_either_name_of_a_join_attribute_closes(key: str) -> None:
    """`a = b` holds of every joined tuple, so a = 1 closed on the left and b = 1 on the right close both
    names of the group (J2 of theory 1.3)."""
    left, right = (
        Facts(
            {n: LONG}, {n: regions.Domain(regions.defined(n), True)}, {n: PRESENT}, {}, regions.values(n, [1])
        )
        for n in "ab"
    )
    joined = Join(name="j", inputs=("l", "r"), on=[("a", "b")]).facts((left, right))
    grouped = Aggregate(name="g", inputs=("j",), by=[key], calls={"n": "count()"}).facts((joined,))
    assert grouped.closed == regions.values(key, [1])


# --- table 2.8 ---

SAMPLES = st.lists(st.integers(-20, 20), min_size=2, max_size=6)
SLOPES = st.fractions(Fraction(1, 9), 9, max_denominator=9)
SHIFTS = st.just(Fraction(0)) | st.fractions(-9, 9, max_denominator=9)


AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "avg": lambda s: Fraction(sum(s), len(s)),
    "sum": sum,
    "min": min,
    "max": max,
    "var": variance,
    "stddev": variance,  # squared, to stay exact
    "var_pop": lambda s: variance(s) * (len(s) - 1) / len(s),
    "stddev_pop": lambda s: variance(s) * (len(s) - 1) / len(s),  # squared, to stay exact
    "mode": lambda s: min(s, key=lambda v: (-s.count(v), v)),
    "arg_max": lambda s: s[0],  # which tuple has the greatest `y` is the same in any unit
    "arg_min": lambda s: s[-1],
    "first": lambda s: s[0],
    "last": lambda s: s[-1],
    "median": lambda s: quantile(s, Fraction(1, 2)),
    "quantile": lambda s: quantile(s, Fraction(9, 10)),
    "collect": list,
    "largest": lambda s: sorted(s)[-3:],
    "smallest": lambda s: sorted(s)[:3],
}
ABSORBING = (
    *("count", "product", "corr", "slope", "covar", "covar_pop", "bit_and", "bit_or", "string_agg"),
    "histogram_quantile",
)


def test_every_function_is_in_the_table() -> None:
    assert {*AGGREGATES, *ABSORBING, "avg_angle"} == FUNCTIONS.keys()
    for name in ABSORBING:
        assert FUNCTIONS[name].carry(IDENTITY) is None


@pytest.mark.parametrize("of", ["all", "distinct"])
@pytest.mark.parametrize("name", sorted(AGGREGATES))
@LIGHT
@given(SAMPLES, SLOPES, SHIFTS)
def test_an_aggregate_of_altered_data_is_the_carried_aggregate(
    name: str, of: str, sample: list[int], slope: Fraction, shift: Fraction
) -> None:
    """f(α(x₁), …) = carry(α)(f(x₁, …)) wherever the Alter is carried (theory 2.8)."""
    function = FUNCTIONS[name]
    if of == "distinct":
        if function.distinct is None:
            return
        function, sample = function.distinct, list(dict.fromkeys(sample))
    alter = Affine(slope, shift)
    carried = function.carry(alter)
    if carried is None:
        assert name == "sum"
        assert shift != 0
        return
    plain, altered = AGGREGATES[name](sample), AGGREGATES[name]([alter(v) for v in sample])
    if name.startswith("stddev"):
        assert (carried.shift, altered) == (0, carried.slope**2 * plain)
    elif isinstance(plain, list):
        assert altered == [carried(v) for v in plain]
    else:
        assert altered == carried(plain)


@LIGHT
@given(SLOPES, SHIFTS)
def test_a_mean_direction_is_scaled_with_its_circle(slope: Fraction, shift: Fraction) -> None:
    """A shift turns the zero, which takes results out of the circle: it is absorbed."""
    alter = Affine(slope, shift)
    assert FUNCTIONS["avg_angle"].carry(alter) == (alter if shift == 0 else None)


@LIGHT
@given(SLOPES, SHIFTS, SLOPES, SHIFTS)
def test_what_is_carried_composes(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
    """Carrying two Alters one by one is carrying their composition (R11, theory 2.8)."""
    first, second = Affine(a, b), Affine(c, d)
    for function in FUNCTIONS.values():
        one, two, both = (function.carry(f) for f in (first, second, second.after(first)))
        if one is not None and two is not None:
            assert both == two.after(one)
        assert (function.carry(IDENTITY) or IDENTITY) == IDENTITY


# --- what the law does not say ---


@LIGHT
@given(worlds("a"), worlds("a"))
def test_inputs_of_a_union_are_equals(left: World, right: World) -> None:
    """Swapping the inputs changes nothing (theory 2.6: Feed(c) is a set)."""
    union = Union(name="u", inputs=("l", "r"))
    one, other = union.facts((left.facts, right.facts)), union.facts((right.facts, left.facts))
    assert (one.present, one.units, one.closed) == (other.present, other.units, other.closed)


FREE_HISTORIES = st.lists(st.sampled_from(FUNCTIONS_IN_ORDER), max_size=4).map(
    lambda steps: (IDENTITY, *steps)
)


@LIGHT
@given(FREE_HISTORIES, FREE_HISTORIES)
def test_what_two_histories_share_is_their_longest_common_sequence(a: History, b: History) -> None:
    """A function may come back: an input that went to f and back is not ahead of one at f (G8, D1)."""

    def sequences(history: History) -> set[History]:
        return {s for n in range(len(history) + 1) for s in combinations(history, n)}

    common = regions.combine(a, b, COMMON_HISTORY)
    assert common == regions.combine(b, a, COMMON_HISTORY)
    shared = sequences(a) & sequences(b)
    assert common in shared
    assert len(common) == max(map(len, shared))


def test_a_return_of_one_input_waits_for_the_other() -> None:
    """S went to f and back, T is still at f: the output stays at f, whichever input is first (U4)."""
    f = FUNCTIONS_IN_ORDER[1]
    for a, b in permutations([(IDENTITY, f, IDENTITY), (IDENTITY, f)]):
        assert regions.combine(a, b, COMMON_HISTORY) == (IDENTITY, f)


@LIGHT
@given(worlds("ab"))
def test_dropping_two_attributes_is_dropping_one_after_the_other(world: World) -> None:
    """Feeders of feeders are feeders: π_X = π_X ∘ π_{a,X} (theory 2.6)."""

    def project(facts: Facts, *names: str) -> Facts:
        return Project(name="p", inputs=("s",), items={n: n for n in names}).facts((facts,))

    at_once, stepwise = project(world.facts, "X"), project(project(world.facts, "a", "X"), "X")
    assert at_once.closed == stepwise.closed
    assert at_once.present["X"] == stepwise.present["X"]


def test_a_double_sum_is_typed_by_its_argument() -> None:
    assert [str(FUNCTIONS["sum"].type(Type.parse(t))) for t in ("int", "double", "decimal(8,2)")] == [
        "long", "double", "decimal(18,2)"
    ]  # fmt: skip
