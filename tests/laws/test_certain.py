"""Pass and propagation against all completions of small streams (theory 1.1): certain answers.

Domains are finite and small, so every way in which a stream can continue is tried: any set of further tuples
outside the closed region. What has passed must be in the result of every completion (sound), all that is in
every one must have passed (maximal, where the table says so), and no completion may bring a tuple that an
output punctuation has closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.runtime.engines.plain.node import inside
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.strategies import BRIEF, HEAVY, LIGHT
from tests.kit.stream import Decoder, Item
from tests.laws.operators import OPERATORS
from tests.laws.reference_runs import bag
from tests.laws.relational import completions, evaluate_plan

SOURCES = """
stream r(k: int in {1, 2}, x: int in {1, 2, 3}) from json "in/r";
stream s(k: int in {1, 2}, x: int in {1, 2, 3}) from json "in/s";
"""
DOMAIN = [{"k": k, "x": x} for k, x in product((1, 2), (1, 2, 3))]
QUERIES = {
    "select": ("select[x > 1](r)", True),
    "sample": ("sample[1 in 2 by x](r)", True),
    "project": ("project[k](r)", True),
    "union": ("r union s", True),
    "distinct": ("distinct(r)", True),
    "set union": ("distinct(r union s)", True),
    "distinct on": ("project[k](distinct[k](r))", True),
    "intersect": ("r intersect s", True),
    "intersect all": ("r intersect all s", True),
    "minus": ("r minus s", True),
    "minus all": ("r minus all s", True),
    "join": ("r join (rename[x as y](s)) on k", True),
    "left join": ("r left join (rename[x as y](s)) on k", True),
    "semi join": ("r semi join s on k", True),
    "anti join": ("r anti join s on k", True),
    "window": ("window[2 on x as w](r)", True),
    "sort": ("sort[x](r)", False),
    "top": ("top[1 by x desc per k](r)", False),
    "session": ("session[2 on x per k as w](r)", False),
    "aggregate": ("aggregate[sum(x) as total, count() as n by k](r)", False),
    "aggregate of aggregate": (
        "aggregate[max(total) as best](aggregate[sum(x) as total by k](r))",
        False,
    ),
    **{name: module.CERTAIN for name, module in OPERATORS.items()},
    "minus of an aggregate": ("project[k](aggregate[count() as n by k](r)) minus project[k](s)", False),
}
"""Name -> query, and whether what passes is exactly what is certain. It is less for groups: an aggregate could
know that no open tuple changes its value (early close, theory 1.3, optional), a group may be certain to lack
better tuples, and the start of a session before its end; and a sorted list is more than the bag of its tuples."""
CONDITIONS = ("k = {k}", "x = {x}", "k = {k}, x = {x}", "x <= {x}", "x >= {x}", "k = {k}, x > {x}")


@frozen
class Begun:
    """A query after some random items: the tuples that came and that may still come, by stream, those that passed, and
    the region that the output has closed."""

    plan: Plan
    rows: dict[str, list[Item]]
    open_rows: dict[str, list[Item]]
    passed: list[dict[str, Any]]
    closed: Any
    context: str

    @classmethod
    def of(cls, rng: Random, query: str, sources: str = SOURCES) -> Begun:
        plan = compile_query(f"{sources} q := {query}; emit q to json 'out';").plan
        reference = Reference(plan)
        decoders = {"r": Decoder(), "s": Decoder()}
        rows: dict[str, list[Item]] = {"r": [], "s": []}
        passed: list[dict[str, Any]] = []
        history: list[str] = []
        for _ in range(rng.randint(1, 7)):
            name = rng.choice(["r", "s"])
            item: Item
            if rng.random() < 0.45:
                where = rng.choice(CONDITIONS).format(k=rng.choice((1, 2)), x=rng.choice((1, 2, 3)))
                item = {"$punctuation": f"[{where}]"}
            else:
                item = dict(rng.choice(DOMAIN))
                if decoders[name].closed(item):
                    continue
                rows[name].append(item)
            decoders[name].feed(item)
            history.append(f"{name} {item}")
            (outputs,) = reference.step([(name, item)])
            passed += outputs["q"].canonical
        open_rows = {n: [row for row in DOMAIN if not decoders[n].closed(row)] for n in rows}
        context = f"{query}\n" + "\n".join(history)
        return cls(plan, rows, open_rows, passed, reference.sinks["q"].closed, context)

    def results(self, rng: Random) -> Iterator[tuple[list[Item], list[Item], list[dict[str, Any]]]]:
        """Further tuples of both streams, and the whole result with them."""
        reads_s = any("s" in operator.inputs for operator in self.plan.operators)
        further_s = completions(rng, self.open_rows["s"]) if reads_s else [[]]
        for more_r in completions(rng, self.open_rows["r"]):
            for more_s in further_s:
                sources = {"r": self.rows["r"] + more_r, "s": self.rows["s"] + more_s}
                yield more_r, more_s, evaluate_plan(self.plan, sources)["q"]


def check_certain(rng: Random, query: str, maximal: bool) -> None:
    begun = Begun.of(rng, query)
    context = begun.context
    certain: Counter[Any] | None = None
    have = bag(begun.passed)
    for more_r, more_s, result in begun.results(rng):
        actual = bag(result)
        assert have <= actual, f"passed, but not in a completion {more_r} {more_s}\n{context}"
        for key in actual - have:
            assert not inside(begun.closed, dict(key)), f"{dict(key)} comes after its punctuation\n{context}"
        certain = actual if certain is None else certain & actual
    if maximal:
        assert certain is not None
        assert have == certain, f"certain, but not passed\n{context}"


def check_vacant(rng: Random, query: str) -> None:
    """What the left has closed for a value of `x` is closed if no completion brings a tuple of it, and only then."""
    begun = Begun.of(rng, query, PROMISING)
    have, reached = bag(begun.passed), set[int]()
    for _, _, result in begun.results(rng):
        later = (dict(key) for key in bag(result) - have)
        reached |= {row["x"] for row in later}
        assert not any(inside(begun.closed, dict(key)) for key in bag(result) - have), begun.context
    for x in {1, 2, 3} - {row["x"] for row in begun.open_rows["r"]} - reached:
        rows = [{"k": k, "x": x, **extra} for k in (1, 2) for extra in ({"y": 1, "w": 1}, {"y": 3, "w": 3})]
        assert all(inside(begun.closed, row) for row in rows), f"nothing of x = {x} comes\n{begun.context}"


PROMISING = """
stream r(k: int in {1, 2}, x: int in {1, 2, 3}) from json "in/r" punctuated on x;
stream s(k: int in {1, 2}, x: int in {1, 2, 3}) from json "in/s" punctuated on k;
"""
VACANT = {
    "join": "r join (rename[x as y](s)) on k",
    "left join": "r left join (rename[x as y](s)) on k",
    "semi join": "r semi join s on k",
    "anti join": "r anti join s on k",
    "minus": "r minus s",
    "minus all": "r minus all s",
    "intersect": "r intersect s",
    "intersect all": "r intersect all s",
    "sort": "sort[k](r)",
    "sort by x": "sort[x](r)",
    "session": "session[2 on x per k as w](r)",
}
"""Operators whose left input promises to close `x`, and the right one `k`."""


@pytest.mark.parametrize("name", VACANT)
@given(seed=st.integers(0, 2**32))
@BRIEF
def test_what_no_tuple_can_reach_is_closed(name: str, seed: int) -> None:
    check_vacant(Random(seed), VACANT[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", VACANT)
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_what_no_tuple_can_reach_is_closed_in_many_cases(name: str, seed: int) -> None:
    check_vacant(Random(seed), VACANT[name])


@pytest.mark.parametrize("name", QUERIES)
@given(seed=st.integers(0, 2**32))
@BRIEF
def test_what_passes_is_certain_and_what_is_certain_passes(name: str, seed: int) -> None:
    check_certain(Random(seed), *QUERIES[name])


@pytest.mark.rest
@given(seed=st.integers(0, 2**32))
@LIGHT
def test_certain_answers_in_further_cases(seed: int) -> None:
    rng = Random(seed)
    check_certain(rng, *QUERIES[rng.choice([*QUERIES])])


@pytest.mark.soak
@pytest.mark.parametrize("name", QUERIES)
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_certain_answers_in_many_cases(name: str, seed: int) -> None:
    check_certain(Random(seed), *QUERIES[name])
