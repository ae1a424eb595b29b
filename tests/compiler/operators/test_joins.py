"""The joins on small worlds, by brute force: what may still come, what is kept, what evolves how (theory 1.3, G42).

A left or right tuple is *live* where its input has not closed it. Which tuples have come already is not known
to facts, so every tuple that its input allows may be in state.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.facts import ABSENT, LATENT, PRESENT, Facts, StateFacts
from cedilla.compiler.operators import AntiJoin, Join, LeftJoin, SemiJoin
from cedilla.compiler.operators.join import Matching
from cedilla.compiler.operators.shared.base import KINDS
from cedilla.compiler.operators.shared.reactions import Reaction, reaction, signature
from cedilla.compiler.regions import UNDEFINED, Domain
from cedilla.grammar.diagnostics import DiagnosticError
from tests.compiler.operators.join_worlds import (
    Pairs,
    agree,
    built,
    meets_later,
    partners,
    plain,
    possible,
    swapped,
)
from tests.compiler.worlds import HISTORIES, INTEGERS, World, worlds
from tests.kit.strategies import LIGHT, paints, rows, values

WHOLE_KINDS = ("finite", "range", "whole")
ONE: Pairs = [("k", "k")]
TWO_NAMES: Pairs = [("b", "c")]
TWICE: Pairs = [("a", "d"), ("b", "c")]
FORKED: Pairs = [("a", "c"), ("a", "d")]


WORLDS = {
    "one name": (worlds("ka", kinds=WHOLE_KINDS), worlds("kd", ("Y",), kinds=WHOLE_KINDS), ONE),
    "two names": (worlds("ab", kinds=WHOLE_KINDS), worlds("cd", ("Y",), kinds=WHOLE_KINDS), TWO_NAMES),
    "two pairs": (worlds("ab", (), kinds=WHOLE_KINDS), worlds("cd", (), kinds=WHOLE_KINDS), TWICE),
}
CASES = st.one_of([st.tuples(left, right, st.just(on)) for left, right, on in WORLDS.values()])
SMALL = st.one_of(
    st.tuples(worlds("ka", (), kinds=WHOLE_KINDS), worlds("kd", (), kinds=WHOLE_KINDS), st.just(ONE)),
    st.tuples(worlds("ab", (), kinds=WHOLE_KINDS), worlds("c", (), kinds=WHOLE_KINDS), st.just(TWO_NAMES)),
    st.tuples(worlds("ab", (), kinds=WHOLE_KINDS), worlds("cd", (), kinds=WHOLE_KINDS), st.just(TWICE)),
)
Case = tuple[World, World, Pairs]


# --- semi and anti ---


@LIGHT
@given(CASES)
def test_a_semi_join_closes_what_can_meet_nothing_or_has_passed(case: Case) -> None:
    """A left tuple may come later if it is live and its key may be on the right, or if it waits and its key
    may come there."""
    left, right, on = case
    out = built(SemiJoin, on).facts((left.facts, right.facts))
    for cell in rows(values(left.axes)):
        new = bool(left.live([cell])) and bool(partners(cell, right, on))
        comes = new or meets_later(cell, right, on)
        if possible(out, cell):
            assert regions.contains(out.closed, cell) == (not comes), cell
        else:
            assert not partners(cell, right, on), "only tuples with a partner ever pass"


@LIGHT
@given(CASES)
def test_an_anti_join_closes_what_both_inputs_have(case: Case) -> None:
    """A left tuple may come later if it is live, or if it waits for its key to be closed on the right."""
    left, right, on = case
    out = built(AntiJoin, on).facts((left.facts, right.facts))
    for cell in rows(values(left.axes)):
        comes = bool(left.live([cell])) or meets_later(cell, right, on)
        assert possible(out, cell)
        assert regions.contains(out.closed, cell) == (not comes), cell


@pytest.mark.parametrize("operator", [SemiJoin, AntiJoin])
@LIGHT
@given(case=CASES, held=paints({"a": INTEGERS}))
def test_what_a_semi_or_anti_join_passes_evolves_as_the_left_input(
    operator: type[Matching], case: Case, held: Any
) -> None:
    """Tuples wait, so closed cells keep their presence, and a held Drop keeps the attribute (G13)."""
    left, right, on = case
    out = built(operator, on).facts((left.facts, right.facts), StateFacts({"X": held.tree()}))
    assert dict(out.types) == dict(left.facts.types)
    assert dict(out.units) == dict(left.facts.units)
    for cell in rows(values(left.axes)):
        for name in left.axes:
            expected = left.presence(name, cell)
            if name == "X" and held.meaning(cell):
                expected = max(expected, LATENT)
            assert regions.contains(out.present[name], cell) == expected


# --- left ---


@settings(LIGHT, max_examples=max(5, LIGHT.max_examples // 2))
@given(SMALL)
def test_a_left_join_closes_what_neither_pairs_nor_lonely_tuples_can_be(case: Case) -> None:
    """A pair may come while one of its tuples is live, (t1, ⊥) while t1 is live or waits."""
    left, right, on = case
    out = built(LeftJoin, on).facts((left.facts, right.facts))
    optional = [name for name in right.axes if name not in left.axes]
    collected = {**values(left.axes), **{n: (*right.axes[n].values, UNDEFINED) for n in optional}}
    for cell in rows({name: tuple(dict.fromkeys(probes)) for name, probes in collected.items()}):
        mine = {name: v for name, v in cell.items() if name in left.axes}
        theirs = {name: v for name, v in cell.items() if name in right.axes}
        allowed = possible(right.facts, theirs) and agree(mine, theirs, on)
        pair = allowed and bool(left.live([mine]) or right.live([theirs]))
        bare = not any(name in cell for name in optional)
        alone = bare and (bool(left.live([mine])) or meets_later(mine, right, on))
        if allowed or bare:
            assert possible(out, cell), cell
            assert regions.contains(out.closed, cell) == (not (pair or alone)), cell


def test_a_left_join_closes_pairs_before_their_key() -> None:
    """a < 1 on the left and d < 5 on the right close such pairs (J2 of theory 1.3), but not (t1, ⊥)."""
    left, right = (
        Facts(f.types, f.universe, f.present, {}, regions.interval(name, None, (bound, 0)))
        for f, name, bound in ((plain("k", "a"), "a", 1), (plain("k", "d"), "d", 5))
    )
    closed = built(LeftJoin, ONE).facts((left, right)).closed
    assert regions.contains(closed, {"k": 0, "a": 0, "d": 4})
    assert not any(
        regions.contains(closed, row)
        for row in ({"k": 0, "a": 0}, {"k": 0, "a": 1, "d": 4}, {"k": 0, "a": 0, "d": 5})
    )


@LIGHT
@given(CASES)
def test_a_left_join_evolves_as_the_join_but_its_keys_are_the_lefts(case: Case) -> None:
    """Accents as for the inner join (G42); a key is there wherever the left has it."""
    left, right, on = case
    inputs = left.facts, right.facts
    out, inner = built(LeftJoin, on).facts(inputs), built(Join, on).facts(inputs)
    assert out.types == inner.types
    assert out.units == inner.units
    assert {n: p for n, p in out.present.items() if n != "k"} == {
        n: p for n, p in inner.present.items() if n != "k"
    }


def test_of_many_names_twice_the_first_is_reported() -> None:
    """The same query has the same message in every process, whatever the seed of its hashes."""
    facts = Facts(dict.fromkeys(("k", *"hgfedcba"), LONG), {}, {})
    with pytest.raises(DiagnosticError, match="both inputs of the join have `h`"):
        Join(name="r", inputs=("a", "b"), on=(("k", "k"),)).check((facts, facts))


def keyed(presence: Any, *, undefined: bool) -> Facts:
    members = True if undefined else regions.defined("k")
    return Facts({"k": LONG}, {"k": Domain(members, True)}, {"k": presence})


def test_an_optional_key_stays_optional_in_a_left_join() -> None:
    """A tuple without the key meets nothing, and passes alone at once; joined ones always have it."""
    inputs = keyed(LATENT, undefined=True), keyed(PRESENT, undefined=False)
    left = LeftJoin(name="j", inputs=("l", "r"), on=ONE)
    assert (left.facts(inputs).present["k"], left.facts(inputs).universe["k"].members) == (LATENT, True)
    assert left.purge(inputs)[0] == regions.complement(regions.defined("k"))
    semi = SemiJoin(name="j", inputs=("l", "r"), on=ONE).facts(inputs)
    assert semi.universe["k"].members == regions.defined("k")


# --- all joins ---


def check_purge(left: World, right: World, on: Pairs) -> None:
    regions_of = built(Join, on).purge((left.facts, right.facts))
    sides = [(left, right, on), (right, left, swapped(on))]
    for (mine, other, pairs), purged in zip(sides, regions_of, strict=True):
        kept = [meets_later(cell, other, pairs) for cell in rows(values(mine.axes))]
        for cell, needed in zip(rows(values(mine.axes)), kept, strict=True):
            assert regions.contains(purged, cell) == (not needed), cell
        assert (purged is True) == (not any(kept)), "state that is needed no more is cleared"


@LIGHT
@given(CASES)
def test_a_join_keeps_exactly_what_a_later_tuple_may_meet(case: Case) -> None:
    """Keep1 = {t1 : some joinable t2 ∉ C2}: not what lacks a key, nor what no partner can be equal to."""
    check_purge(*case)


@LIGHT
@given(worlds("a", (), kinds=WHOLE_KINDS), worlds("cd", (), kinds=WHOLE_KINDS))
def test_an_attribute_joined_with_two_keeps_no_less(left: World, right: World) -> None:
    """On `a = c and a = d`, a tuple with c ≠ d meets nothing: it may be kept, but none that is needed is lost."""
    for on, mine, other in ((FORKED, left, right), (swapped(FORKED), right, left)):
        purged, _ = built(Join, on).purge((mine.facts, other.facts))
        closed = built(AntiJoin, on).facts((mine.facts, other.facts)).closed
        for cell in rows(values(mine.axes)):
            needed = meets_later(cell, other, on)
            assert not (needed and regions.contains(purged, cell)), cell
            assert not (regions.contains(closed, cell) and (needed or mine.live([cell]))), cell


@LIGHT
@given(worlds("k", kinds=WHOLE_KINDS), worlds("k", kinds=WHOLE_KINDS))
def test_an_attribute_that_has_moved_is_closed_where_it_may_come_from_either_input(
    left: World, right: World
) -> None:
    """One input dropped X before the other added it: a joined tuple has X from either, so a pattern on X says
    nothing of the one without it (G11, P-drop)."""
    for operator in (Join, LeftJoin):
        out = built(operator, ONE).facts((left.facts, right.facts))
        for mine in rows(values(left.axes)):
            for theirs in partners(mine, right, ONE):
                if "X" in mine and "X" in theirs:
                    continue
                cell = {**theirs, **mine}
                if left.live([mine]) or right.live([theirs]):
                    assert possible(out, cell)
                    assert not regions.contains(out.closed, cell), (mine, theirs)


# --- what explain says ---


def reacts(join: Matching, inputs: tuple[Facts, Facts], side: int) -> Mapping[str, list[Reaction]]:
    return {
        name: [reaction(join, kind, name, frozenset({"k"}), inputs, side) for kind in KINDS]
        for name in inputs[side].types
    }


@pytest.mark.parametrize("operator", [SemiJoin, AntiJoin])
def test_accents_of_a_semi_or_anti_join(operator: type[Matching]) -> None:
    """The left's go on, the right's end here; no key can be dropped (J3, J4)."""
    join, inputs = built(operator, ONE), (plain("k", "X"), plain("k", "X"))
    actual = {
        (side, name): [(r.kind, r.rule, r.passes) for r in reactions]
        for side in (0, 1)
        for name, reactions in reacts(join, inputs, side).items()
    }
    ended = ("ignored", "P2", ())
    assert actual == {
        (0, "k"): [("propagates", "J2", ("k",)), ("aborts", "J3", ()), ("propagates", "G12", ("k",))],
        (0, "X"): [
            ("propagates", "J2", ("X",)),
            ("propagates", "J3", ("X",)),
            ("propagates", "G12", ("X",)),
        ],
        (1, "k"): [("absorbed", "J4", ()), ("aborts", "J3", ()), ("absorbed", "J4", ())],
        (1, "X"): [ended, ended, ended],
    }
    assert join.conflict(inputs) is None, "nothing of the right comes out, so no name can come twice"
    assert join.check(inputs) == []
    assert (signature(join, inputs).foundation, signature(join, inputs).merge) == (("k",), ())


def test_accents_of_a_left_join_are_those_of_the_join() -> None:
    """Join attributes are coordinated (J1), a name of both inputs is a conflict (J2, G11).

    A left tuple comes out in any case, so it has its key as soon as the left input has it.
    """
    inputs = plain("k", "X"), plain("k", "Y")
    left, inner = built(LeftJoin, ONE), built(Join, ONE)
    for side in (0, 1):
        alike, inner_alike = reacts(left, inputs, side), reacts(inner, inputs, side)
        add, *others = alike["k"]
        assert (add.kind, add.rule) == [("propagates", "J2"), ("absorbed", "J4")][side]
        assert {**alike, "k": others} == {**inner_alike, "k": inner_alike["k"][1:]}
    twice = plain("k", "X"), plain("k", "X")
    assert left.conflict(twice) == inner.conflict(twice) == "X"
    absent = Facts(twice[1].types, twice[1].universe, {"k": PRESENT, "X": ABSENT})
    assert left.conflict((twice[0], absent)) is None


@LIGHT
@given(paints({"k": INTEGERS}, HISTORIES))
def test_a_key_that_only_the_left_has_altered_waits_for_the_right(history: Any) -> None:
    """J1: the output's key is altered where both inputs have been, or where the right is closed (3.2)."""
    left = plain("k", "X")
    left = Facts(left.types, left.universe, left.present, {"k": history.tree()})
    for closed in (False, True):
        right = Facts(plain("k").types, plain("k").universe, plain("k").present, {}, closed)
        units = built(LeftJoin, ONE).facts((left, right)).units["k"]
        for value in (-1, 0, 1, 2, 3, 4):
            expected = history.meaning({"k": value})
            assert regions.contains(units, {"k": value}) == (expected if closed else expected[:1])
