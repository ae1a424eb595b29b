"""The formulas that the seeds print and that are wrong, each by its number, against all completions (theory 1.2).

A completion adds to the tuples that came any tuples that no punctuation has closed (theory 1.1). What is in the
result of every completion may pass; a region may be closed where no completion has a tuple that did not pass.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product

import pytest
from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.facts import PRESENT, Facts
from cedilla.compiler.operators import Join, Union
from tests.compiler.facts.seed_formulas import (
    PAIRS,
    Cell,
    Cells,
    Tuples,
    corrected,
    everything,
    facts,
    first_of_every_completion,
    forgetful,
    grammatical,
    intersect,
    is_down_set,
    matched,
    minus,
    passable,
    passed,
    printed_initial,
    right_by_p2,
    subsets,
    unite,
)

DOMAIN: Tuples = frozenset(range(2))


@frozen
class World:
    """Tuples that came on two inputs, and what is closed of each."""

    t1: Tuples
    t2: Tuples
    c1: Tuples
    c2: Tuples

    def results(self, operator: Callable[[Tuples, Tuples], Tuples]) -> Iterator[Tuples]:
        for more1, more2 in product(subsets(DOMAIN - self.c1), subsets(DOMAIN - self.c2)):
            yield operator(self.t1 | more1, self.t2 | more2)

    def certain(self, operator: Callable[[Tuples, Tuples], Tuples]) -> Tuples:
        """Returns the tuples that may pass: those of every completion's result."""
        return frozenset.intersection(*self.results(operator))

    def closable(self, operator: Callable[[Tuples, Tuples], Tuples]) -> Tuples:
        """Returns the tuples that may be closed after all that may pass."""
        return DOMAIN - (frozenset[int].union(*self.results(operator)) - self.certain(operator))


WORLDS = [World(*sets) for sets in product(subsets(DOMAIN), repeat=4)]


# --- difference ---


def test_e1_the_printed_difference_passes_tuples_of_the_intersection() -> None:
    """001 prints Pass(SetDiff) = {t ∈ T1 : t ∈ T2, t ∈ C2}; right is t ∉ T2 (E1)."""
    printed = [w for w in WORLDS if not w.t1 & w.t2 & w.c2 <= w.certain(minus)]
    assert World(frozenset({0}), frozenset({0}), frozenset(), frozenset({0})) in printed
    assert all((w.t1 - w.t2) & w.c2 == w.certain(minus) for w in WORLDS)


def test_a_difference_closes_nothing_by_its_right_input_alone() -> None:
    """Prop of Difference (theory 1.3): T2 ∪ (C1 − T1) ∪ Pass, so C1 ∩ C2 always; C2 alone is unsound."""
    for w in WORLDS:
        assert w.closable(minus) == w.t2 | (w.c1 - w.t1) | w.certain(minus)
        assert w.c1 & w.c2 <= w.closable(minus)
        for p1 in subsets(w.c1):  # p1 alone iff what came of it is decided
            assert (p1 <= w.closable(minus)) == (w.t1 & p1 <= w.t2 | w.c2)
    assert any(not w.c2 <= w.closable(minus) for w in WORLDS)


def test_an_intersection_closes_what_both_inputs_have() -> None:
    """Pass and Prop of Intersect (theory 1.3)."""
    for w in WORLDS:
        assert w.certain(intersect) == w.t1 & w.t2
        assert w.closable(intersect) == (w.t1 & w.t2) | (w.c1 - w.t1) | (w.c2 - w.t2)
        assert w.c1 & w.c2 <= w.closable(intersect)
        for p1 in subsets(w.c1):
            assert (p1 <= w.closable(intersect)) == (w.t1 & p1 <= w.t2 | w.c2)


def test_a_union_of_sets_closes_what_it_has_passed_too() -> None:
    """Union (set) = Dup-elim of Union (theory 1.3): Pass = T1 ∪ T2, Prop = (C1 ∩ C2) ∪ emitted."""
    for w in WORLDS:
        assert w.certain(unite) == w.t1 | w.t2
        assert w.closable(unite) == (w.c1 & w.c2) | w.t1 | w.t2
    for t, c in product(subsets(DOMAIN), repeat=2):  # Dup-elim is the union with nothing
        alone = World(t, frozenset(), c, DOMAIN)
        assert alone.closable(unite) == c | t


HISTORIES = [h for n in range(6) for h in product("lr12", repeat=n) if grammatical(h)]


def test_e9_right_tuples_outlive_the_right_punctuation() -> None:
    """The guess purges a right tuple that must still stop a left one (E9); Keep2 = {t ∈ T2 : t ∉ C1} does not."""
    assert passed("r2l", right_by_p2) == [2]
    assert passed("r2l", everything) == []
    assert all(passed(h, corrected) == passed(h, everything) for h in HISTORIES)


def test_e10_what_has_passed_is_remembered_until_the_left_has_closed_it() -> None:
    """By the printed formula a left duplicate passes again (E10)."""
    assert passed("l2l", forgetful) == [1, 2]
    assert passed("l2l", corrected) == [1]
    assert max(len(passed(h, corrected)) for h in HISTORIES) == 1


# --- union, join, combination ---


def test_e6_a_union_closes_what_one_pattern_of_each_input_closes() -> None:
    """Prop(Union) = {CombinePunct(p1, p2)} without empty results; with n inputs one pattern from each (E6)."""
    union = Union(name="u", inputs=("l", "r"))
    sets = [regions.values("a", s) for s in subsets(range(3))]
    for one, two, three in product(sets, repeat=3):
        two_closed = union.facts((facts(one), facts(two)))
        all_closed = union.facts((two_closed, facts(three))).closed
        for value in range(3):
            live = [i for i, c in enumerate((one, two, three)) if not regions.contains(c, {"a": value})]
            assert regions.contains(all_closed, {"a": value}) == (not live)
    apart = union.facts((facts(regions.values("a", [0])), facts(regions.values("a", [1]))))
    assert apart.closed is False, "no pattern at all, not an empty or an unrestricted one"


def test_e7_one_open_partner_keeps_a_tuple() -> None:
    """003 says that t1 goes if *any* other tuple t2 is closed; every joinable one must be (E7)."""
    partners = [(k, x) for k in range(2) for x in range(2)]
    wrong = 0
    for closed in (frozenset(s) for n in range(5) for s in combinations(partners, n)):
        box = (regions.box({"k": regions.values("k", [k]), "x": regions.values("x", [x])}) for k, x in closed)
        right = Facts(
            {"k": LONG, "x": LONG},
            {n: regions.Domain(regions.values(n, [0, 1]), integral=True) for n in "kx"},
            {"k": PRESENT, "x": PRESENT},
            {},
            regions.union(*box),
        )
        left = Facts({"k": LONG}, {"k": right.universe["k"]}, {"k": PRESENT})
        purged, _ = Join(name="j", inputs=("l", "r"), on=[("k", "k")]).purge((left, right))
        for key in range(2):
            joinable = [p for p in partners if p[0] == key]
            meets_later = any(p not in closed for p in joinable)  # in some completion
            assert regions.contains(purged, {"k": key}) == (not meets_later)
            wrong += meets_later and any(p in closed for p in joinable)
    assert wrong > 0, "the prose purges tuples that a completion joins"


def test_e8_punctuations_are_united_and_never_hulled() -> None:
    """000: combining punctuations is sound only if the region does not grow: [0, 5], [10, 15] is not [0, 15] (E8)."""
    gaps = 0
    ranges = [(low, high) for low in range(6) for high in range(low, 6)]
    for (a, b), (c, d) in product(ranges, repeat=2):
        union = regions.union(
            *(regions.interval("a", (low, 0), (high + 1, 0)) for low, high in ((a, b), (c, d)))
        )
        for value in range(6):
            promised = a <= value <= b or c <= value <= d
            assert regions.contains(union, {"a": value}) == promised
            gaps += min(a, c) <= value <= max(b, d) and not promised
    assert gaps > 0, "a completion has tuples inside the hull"


# --- sort by A, of tuples (A, B) ---

BOXES: list[Cells] = [
    frozenset(product(range(low, high), bs))
    for low, high, bs in [(0, 4, [0]), (0, 2, [1]), (1, 3, [0, 1]), (0, 1, [0, 1]), (2, 4, [1])]
]
"""Patterns that a source may send."""
SENT = [list(some) for n in range(len(BOXES) + 1) for some in combinations(BOXES, n)]
ARRIVED: list[Cells] = [frozenset(some) for n in range(4) for some in combinations(sorted(PAIRS), n)]


@pytest.mark.rest
@pytest.mark.long
def test_e2_initial_is_a_down_set_of_the_order() -> None:
    """000 and 001 break off after `(t2`: without the comparison nothing passes before everything is closed, and
    without the condition what is closed passes too early; the other copy ends in `<_A t1` (E2)."""
    unsound = weaker = 0
    for patterns, arrived in product(SENT, ARRIVED):
        closed, right = matched(patterns), first_of_every_completion(arrived, matched(patterns))
        unsound += not arrived & closed <= right
        weaker += (arrived if closed == PAIRS else frozenset[Cell]()) < arrived & passable(closed)
        assert is_down_set(closed & passable(closed))
    assert unsound > 0
    assert weaker > 0


def test_e3_initial_is_a_region_and_no_subset_of_the_punctuations() -> None:
    """Of [A ∈ 0..3, B = 0] and [A ∈ 0..1, B = 1] no subset is a down-set, yet every A <= 1 is closed (E3)."""
    patterns = BOXES[:2]
    assert printed_initial(patterns) == frozenset()
    closed = matched(patterns)
    assert closed & passable(closed) == {c for c in PAIRS if c[0] <= 1} | {(2, 0)}
    for some in SENT:
        closed = matched(some)
        pre = {t for t in PAIRS if all(u in closed for u in PAIRS if u[0] <= t[0])}
        assert pre | printed_initial(some) <= closed & passable(closed)


@pytest.mark.long
def test_e4_a_tuple_need_not_be_closed_itself_to_be_written() -> None:
    """Ties that come later follow it; the printed Pass is sound and strictly weaker (E4)."""
    weaker = 0
    for patterns, arrived in product(SENT, ARRIVED):
        right = first_of_every_completion(arrived, matched(patterns))
        printed = arrived & printed_initial(patterns)
        assert printed <= right
        assert arrived & passable(matched(patterns)) == right
        weaker += printed < right
    assert weaker > 0


def test_e5_initial_adds_nothing_to_the_punctuations_in_which_nothing_waits() -> None:
    """Prop(Sort): a pattern inside Initial has all its tuples in Pass, so the second set alone is the same (E5)."""
    for patterns, arrived in product(SENT, ARRIVED):
        waiting = arrived - first_of_every_completion(arrived, matched(patterns))
        second = [p for p in patterns if not p & waiting]
        assert all(p in second for p in patterns if p <= printed_initial(patterns))
        assert all(not p & (waiting | (PAIRS - matched(patterns))) for p in second), "and it is sound"
