"""Rename, distinct, intersect, minus and limit by brute force: their facts cell by cell, and what their state keeps."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query, regions
from cedilla.compiler.expressions.types import DOUBLE, LONG, STRING, Type
from cedilla.compiler.facts.facts import LATENT, ORIGINAL, PRESENT, Facts, StateFacts
from cedilla.compiler.operators import Distinct, Intersect, Limit, Minus, Rename, Union
from cedilla.compiler.operators.shared.reactions import reaction
from cedilla.compiler.plan import derive
from cedilla.compiler.regions import UNDEFINED
from cedilla.grammar import DiagnosticError
from cedilla.runtime.epochs.operators.counting import CountingDataflow
from cedilla.runtime.epochs.operators.intersect import IntersectDataflow
from cedilla.runtime.epochs.operators.minus import MinusDataflow
from tests.compiler.worlds import World, worlds
from tests.kit.strategies import LIGHT, paints, rows, values

# --- rename ---


@LIGHT
@given(worlds("ab"))
def test_rename_changes_names_and_nothing_else(world: World) -> None:
    """All other attributes stay, also where two swap their names (theory 1.3)."""
    swap = Rename(name="n", inputs=("s",), names={"a": "b", "b": "a"}).facts((world.facts,))
    new = {"a": "b", "b": "a", "X": "X"}
    for cell in rows(values(world.axes)):
        image = {new[name]: value for name, value in cell.items()}
        assert regions.contains(swap.closed, image) == world.closed.meaning(cell)
        for name in world.axes:
            assert regions.contains(swap.present[new[name]], image) == world.presence(name, cell)
            assert regions.contains(swap.units.get(new[name], ORIGINAL), image) == world.history(name, cell)
            members = swap.universe[new[name]].members
            assert regions.contains(members, {new[name]: cell.get(name, UNDEFINED)})
    rename = Rename(name="n", inputs=("s",), names={"a": "z"})
    back = Rename(name="m", inputs=("n",), names={"z": "a"})
    assert back.facts((rename.facts((world.facts,)),)) == world.facts


def test_rename_refuses_an_attribute_of_the_new_name() -> None:
    """No output has two attributes of one name, by the same rule as J2."""
    rename = Rename(name="n", inputs=("s",), names={"a": "b"})
    assert rename.conflict((Facts({"a": LONG}, {}, {"a": PRESENT}),)) is None
    assert rename.conflict((Facts({"a": LONG, "b": LONG}, {}, {"a": PRESENT, "b": PRESENT}),)) == "b"
    inputs = (Facts({"a": LONG}, {}, {"a": PRESENT}),)
    assert reaction(rename, "add", "b", frozenset(), inputs, 0).kind == "aborts"


# --- distinct ---


@LIGHT
@given(worlds("ab"))
def test_distinct_keeps_a_key_until_its_fibre_is_closed(world: World) -> None:
    """Keep = {t ∈ T : t ∉ C}; on keys {k : fibre of k ⊄ C}, ⊥ included (theory 1.3)."""
    whole, keyed = Distinct(name="d", inputs=("s",)), Distinct(name="d", inputs=("s",), on=["a"])
    for operator in (whole, keyed):
        assert operator.facts((world.facts,)) == world.facts
    assert whole.purge((world.facts,)) == world.facts.closed
    for cell in rows(values(world.axes, "a")):
        live = world.live(world.fibre(cell, ["b", "X"]))
        assert regions.contains(keyed.purge((world.facts,)), cell) == (not live)


def test_only_keys_have_an_order_of_arrival() -> None:
    assert not Distinct(name="d", inputs=("s",)).reads_order
    assert Distinct(name="d", inputs=("s",), on=["a"]).reads_order


# --- intersect and minus ---


@LIGHT
@given(worlds("ab"), worlds("a", ("X", "Y")))
def test_intersect_is_coordinated_like_a_union(left: World, right: World) -> None:
    """Signature (∅, all, ∅): Feed(c) = {(1, c), (2, c)} (theory 2.2, 2.6)."""
    facts = left.facts, right.facts
    assert Intersect(name="i", inputs=("l", "r")).facts(facts) == Union(name="u", inputs=("l", "r")).facts(
        facts
    )


@LIGHT
@given(worlds("ab"), worlds("a", ("X", "Y")), paints("a"))
def test_minus_evolves_as_its_left_input(left: World, right: World, held: Any) -> None:
    """A tuple that waits has what it came with: presence is not cut to live cells, and Drops are held (G13)."""
    out = Minus(name="m", inputs=("l", "r")).facts((left.facts, right.facts), StateFacts({"X": held.tree()}))
    assert out.types.keys() == left.axes.keys()
    assert out.units == left.facts.units
    for cell in rows(values(left.axes)):
        came = left.presence("X", cell)
        expected = max(came, LATENT) if held.meaning(cell) else came
        assert regions.contains(out.present["X"], cell) == expected
        both = left.closed.meaning(cell) and right.closed.meaning(cell)  # the output has no Y: it is ⊥ there
        assert regions.contains(out.closed, cell) == both
        assert "Y" not in regions.attributes(out.closed)


SQL = sqlite3.connect(":memory:")
SQL.create_function("IF", 3, lambda c, a, b: a if c else b)
SQL.create_function("least", 2, min)
SQL.create_function("greatest", 2, max)


@frozen
class Counted:
    """An operator's formulas, as Spark gets them, and what they have to say of one tuple."""

    dataflow: CountingDataflow
    operator: Intersect | Minus
    allowed: Callable[[int, int, bool], int]
    """Left count, right count, closed on the right -> the certain answers."""

    @cache  # noqa: B019
    def _say(self, text: str, state: tuple[int, int, int], closed: tuple[bool, bool]) -> int:
        text = text.format(left=int(closed[0]), right=int(closed[1]))
        text = re.sub(r"(\d)L\b", r"\1", text)
        columns = "SELECT ? AS `$left`, ? AS `$right`, ? AS `$passed`"
        ((value,),) = SQL.execute(f"SELECT {text} FROM ({columns})", state)
        return int(value)

    def step(
        self, state: tuple[int, int, int], closed: tuple[bool, bool], event: tuple[int, int, bool, bool]
    ) -> tuple[tuple[int, int, int], tuple[bool, bool], int]:
        """The state, what is closed and how many copies pass, after an epoch."""
        left, right, out = state[0] + event[0], state[1] + event[1], state[2]
        closed = closed[0] or event[2], closed[1] or event[3]
        due = self._say(self.dataflow.allowed(self.operator), (left, right, out), closed) - out
        assert due >= 0
        return (left, right, out + due), closed, due

    def needed(self, state: tuple[int, int, int], closed: tuple[bool, bool]) -> bool:
        return bool(self._say(self.dataflow.needed(self.operator), state, closed))


NAMES = {"name": "o", "inputs": ("l", "r")}
COUNTED = {
    "intersect": Counted(IntersectDataflow(), Intersect(**NAMES), lambda m, n, c2: int(m > 0 and n > 0)),
    "intersect all": Counted(IntersectDataflow(), Intersect(**NAMES, all=True), lambda m, n, c2: min(m, n)),
    "minus": Counted(MinusDataflow(), Minus(**NAMES), lambda m, n, c2: int(m > 0 and n == 0 and c2)),
    "minus all": Counted(
        MinusDataflow(), Minus(**NAMES, all=True), lambda m, n, c2: max(0, m - n) if c2 else 0
    ),
}
NOTHING = (0, 0, 0)
OPEN_ENDED = (False, False)


def epochs(closed: tuple[bool, bool]) -> Iterator[tuple[int, int, bool, bool]]:
    """Yields the epochs of one tuple: copies on the left and on the right, then punctuations."""
    lefts, rights = (range(1) if c else range(3) for c in closed)
    yield from product(lefts, rights, (False, True), (False, True))


@pytest.mark.parametrize("kind", COUNTED)
def test_counts_that_are_not_needed_change_nothing_later(kind: str) -> None:
    """Keep of Intersect and Difference, sets and bags (theory 1.3), over all streams of one tuple: what passes is
    the same with purging and without, and is the certain answer after each epoch (E1, E9, E10)."""
    counted = COUNTED[kind]

    def follow(full: Any, kept: Any, closed: tuple[bool, bool], depth: int) -> None:
        for event in epochs(closed):
            now, closed_now, due = counted.step(full, closed, event)
            less, _, due_less = counted.step(kept, closed, event)
            assert now[2] == counted.allowed(now[0], now[1], closed_now[1])
            assert due == due_less, (full, kept, event)
            if depth > 1:
                follow(now, less if counted.needed(less, closed_now) else NOTHING, closed_now, depth - 1)

    follow(NOTHING, NOTHING, OPEN_ENDED, 3)


@pytest.mark.parametrize("kind", COUNTED)
def test_counts_that_are_kept_are_needed(kind: str) -> None:
    """Keep is no larger than it has to be: without the counts some later stream comes out otherwise."""
    counted = COUNTED[kind]

    def differs(state: Any, closed: tuple[bool, bool], depth: int) -> bool:
        def after(a: Any, b: Any, closed: tuple[bool, bool], depth: int) -> bool:
            for event in epochs(closed):
                one, closed_now, due = counted.step(a, closed, event)
                two, _, due_two = counted.step(b, closed, event)
                if due != due_two or (depth > 1 and after(one, two, closed_now, depth - 1)):
                    return True
            return False

        return after(state, NOTHING, closed, depth)

    reached = {(NOTHING, OPEN_ENDED)}
    for _ in range(2):
        reached |= {
            counted.step(state, closed, event)[:2] for state, closed in reached for event in epochs(closed)
        }
    kept = [(s, closed) for s, closed in reached if s != NOTHING and counted.needed(s, closed)]
    assert kept
    assert all(differs(state, closed, 2) for state, closed in kept)


def test_types_of_both_inputs_have_a_common_one() -> None:
    """Numbers of two types are compared in the wider one; others clash (RQ103)."""
    query = 'stream r(a: {}) from json "r"; stream q(a: {}) from json "q"; x := r {} q; emit x to json "o";'
    for operator in ("intersect", "minus", "union"):
        compile_query(query.format("int", "long", operator))
        with pytest.raises(DiagnosticError, match="RQ103"):
            compile_query(query.format("int", "string", operator))
    long, short = Type("decimal", (38, 0)), Type("decimal", (38, 18))
    facts = [Facts({"a": t}, {}, {"a": PRESENT}) for t in (LONG, DOUBLE, STRING, long, short)]
    assert Intersect(**NAMES).facts((facts[0], facts[1])).types == {"a": DOUBLE}
    assert Minus(**NAMES).facts((facts[0], facts[1])).types == {"a": LONG}
    for kind in (Intersect, Minus, Union):
        assert kind(**NAMES).conflict((facts[0], facts[1])) is None
        assert kind(**NAMES).conflict((facts[0], facts[2])) == "a", "added with a type of its own"
        assert kind(**NAMES).conflict((facts[0], facts[4])) is None
        assert kind(**NAMES).conflict((facts[3], facts[4])) == "a", "no decimal has 56 digits"


# --- limit ---


@LIGHT
@given(worlds("a"), st.integers(0, 3))
def test_a_limit_closes_everything_once_it_is_reached(world: World, count: int) -> None:
    """Prop of Limit: `*` after n (theory 1.3); what follows in the plan hears of it."""
    limit = Limit(name="l", inputs=("s",), count=count)
    out = limit.facts((world.facts,))
    assert out.closed == (world.facts.closed if count else True)
    assert (out.present, out.units) == (world.facts.present, world.facts.units)
    assert limit.facts((world.facts,), StateFacts(closed=True)).closed is True


def test_what_a_limit_knows_reaches_the_whole_plan() -> None:
    plan = compile_query(
        'stream r(a: int) from json "r"; x := limit[2](r); y := distinct[a](x); emit y to json "o";'
    ).plan
    facts = derive(plan, {"r": plan.start["r"]}, {"x": StateFacts(closed=True)})
    assert facts["y"].closed is True
