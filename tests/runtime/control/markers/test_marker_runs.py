"""Runs of markers about single values as one step are what they are one by one: states, warnings, stops (R2, G33)."""

from __future__ import annotations

import random

import pytest

from cedilla.compiler import compile_query
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers import advance as advancing
from cedilla.runtime.control.markers.advance import advance
from tests.kit.marker_runs import compare, one_by_one, started
from tests.kit.seeds import soak_seeds
from tests.kit.tiers import tiered
from tests.kit.work import calls
from tests.runtime.control.markers.random_markers import accents, stream

STREAM = """
stream r(ts: long, s: int{domain}, l: string in {{"a", "b"}}, t: double unit degC, n: int, u?: double,
  x: double unit degC, k: string, v: double, w: double)
  from json "r" punctuated on ts;
"""
QUERIES = [
    STREAM.format(domain="") + 'hot := select[t > 10](r); emit hot to json "out";',
    STREAM.format(domain=" in [0, 14)") + 'g := aggregate[sum(t) as total by s](r); emit g to json "out";',
    STREAM.format(domain=" in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}")
    + "other := project[s, ts as ts2, n as p](r); both := r join other on s; set accents = strict;"
    + 'emit both to json "out";',
]


BEFORE = {
    "a recode": ['[[recode(k, {"x": "y"})]]'],
    "a recode of some": ['[[l = "a", recode(k, {"x": "y"}, else same)]]'],
    "a swap": ["[[swap(v, w)]]"],
    "a swap of some": ["[[s < 5, swap(v, w)]]"],
    "a falling function": ["[[alter(v, y -> -y)]]"],
    "a name": ["[[rename(kk, k)]]"],
    "missing values": ["[[missing(u, {-9})]]"],
    "a swap that it describes": ["[[t > 5, swap(v, w)]]", "[[s = 3, alter(t, y -> y * 2)]]"],
    "a recode that it describes": ['[[t > 5, recode(k, {"x": "y"}, else same)]]'],
    "a swap of the altered one": ['[[l = "a", swap(t, x)]]'],
}
"""Accents of other attributes, mostly; a run about a value of `s` is one step after them, too."""


def check_runs(seed: int) -> None:
    rng = random.Random(seed)
    before = rng.choice([[], *BEFORE.values()])
    compare(compile_query(rng.choice(QUERIES)).plan, list(stream(rng)), *before)


@pytest.mark.parametrize("first", tiered(range(0, 400, 20), 4))
def test_what_runs_do_is_what_their_markers_do_one_by_one(first: int) -> None:
    for seed in range(first, first + 20):
        check_runs(seed)


DOUBLED = accents(", alter(t, y -> y * 2)", range(9))
CASES = {
    "drops of what is dropped": [*accents(", -(u)", range(9)), *accents(", -(u)", range(5, 14))],
    "values that are altered": [*DOUBLED, *accents(", t < 5, +(p: double)", range(9))],
    "values that are closed": [*DOUBLED, *(("punctuation", f"[s = {s}, t < 5]") for s in range(9))],
    "the attribute twice": accents(", s < 6, -(u)", range(9)),
    "itself altered": [("accent", '[[l = "a", alter(s, y -> y * 2)]]'), *accents(", -(u)", range(9))],
    "one of many that is wrong": [
        *accents(", +(p: double)", range(3, 5)),
        *accents(", +(p: double)", range(9)),
    ],
    "one of many that is repeated": [*DOUBLED, *accents(", alter(t, y -> y * 2)", range(4, 14))],
    "several of each": [
        line for two in zip(DOUBLED, accents(", -(u)", range(9)), strict=True) for line in two
    ],
    "beyond the domain": accents(", -(u)", range(9, 18)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("query", [0, 1])
def test_runs_that_are_not_plain(case: str, query: int) -> None:
    lines = [MarkerLine(*line, n, next=n + 1) for n, line in enumerate(CASES[case], 1)]
    compare(compile_query(QUERIES[query]).plan, [*lines, None])


@pytest.mark.parametrize("before", ["nothing", *BEFORE][:-3])
def test_a_run_is_one_step(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    singles: list[MarkerLine] = []
    apply = advancing._with_next  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(
        advancing, "_with_next", lambda *arguments: (singles.append(arguments[3]), apply(*arguments))[1]
    )
    plan = compile_query(QUERIES[0]).plan
    for rest in (", alter(t, y -> y * 2)", ", +(p: double)", ", -(u)"):
        lines = [MarkerLine("accent", f"[[s = {s}{rest}]]", s, next=s + 1) for s in range(1, 1001)]
        effects = advance(plan, started(plan, *BEFORE.get(before, ())), {"r": lines})
        assert effects.accents == 1000 or effects.stops
        assert len(singles) < 20
        singles.clear()


@pytest.mark.parametrize("before", [[], *BEFORE.values()][:3])
def test_single_markers_cost_as_much_whatever_is_recoded(before: list[str]) -> None:
    """Each one made a tree of the functions of all tuples, of all attributes."""
    plan = compile_query(QUERIES[0]).plan
    states = started(plan, *before)

    def work(count: int) -> int:
        lines = [MarkerLine("accent", f"[[s = {s}, alter(t, y -> y * 2)]]", s) for s in range(count)]
        return calls(lambda: one_by_one(plan, states, lines))

    assert work(180) < 4 * work(60)


@pytest.mark.soak
@pytest.mark.parametrize("first", soak_seeds(20_000)[::500])
def test_runs_of_more_streams(first: int) -> None:
    for seed in range(first, first + 500):
        check_runs(seed)
