"""Pass and propagation against all completions of small streams (theory 1.1): certain answers.

Domains are finite and small, so every way in which a stream can continue is tried: any set of further tuples
outside the closed region. What has passed must be in the result of every completion (sound), all that is in
every one must have passed (maximal, where the table says so), and no completion may bring a tuple that an
output punctuation has closed.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.runtime.reference.node import inside
from cedilla.runtime.reference.reference import Reference
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


def check_certain(rng: Random, query: str, maximal: bool) -> None:
    plan = compile_query(f"{SOURCES} q := {query}; emit q to json 'out';").plan
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
    context = f"{query}\n" + "\n".join(history)
    open_rows = {n: [row for row in DOMAIN if not decoders[n].closed(row)] for n in rows}
    certain: Counter[Any] | None = None
    have = bag(passed)
    closed = reference.sinks["q"].closed
    reads_s = any("s" in operator.inputs for operator in plan.operators)
    further_s = completions(rng, open_rows["s"]) if reads_s else [[]]
    for more_r in completions(rng, open_rows["r"]):
        for more_s in further_s:
            result = evaluate_plan(plan, {"r": rows["r"] + more_r, "s": rows["s"] + more_s})["q"]
            actual = bag(result)
            assert have <= actual, f"passed, but not in a completion {more_r} {more_s}\n{context}"
            for key in actual - have:
                assert not inside(closed, dict(key)), f"{dict(key)} comes after its punctuation\n{context}"
            certain = actual if certain is None else certain & actual
    if maximal:
        assert certain is not None
        assert have == certain, f"certain, but not passed\n{context}"


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
