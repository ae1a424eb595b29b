"""A topic is the union of its partitions (theory D1, G38, N9): the facts of a stream whose markers hold for partitions
are those of a `union` of streams, one for each."""

from __future__ import annotations

import random

import pytest
from attrs import evolve

from cedilla.compiler import compile_query, regions
from cedilla.compiler.facts.facts import ORIGINAL
from cedilla.compiler.plan import derive
from cedilla.compiler.regions import PARTITION
from cedilla.runtime.connectors.records.marker import NEXT_FILE, MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.partitions import region_of
from tests.kit.tiers import tiered
from tests.runtime.control.sources.partitioned import (
    COLUMNS,
    TOPIC,
    plan_by_key,
    plan_of_topic,
    random_markers,
    say_the_same,
    states_of,
)

UNION = f"""
stream r0{COLUMNS} from json "r0";
stream r1{COLUMNS} from json "r1";
r := r0 union r1;
emit r to json "out";
"""


@pytest.mark.parametrize("seed", tiered(range(80), 25))
def test_facts_are_those_of_a_union(seed: int) -> None:
    rng = random.Random(seed)
    one, two = plan_of_topic(), compile_query(UNION).plan
    states, apart = states_of(one), states_of(two)
    for number, (partition, kind, text) in enumerate(random_markers(rng), 1):
        position = partition * NEXT_FILE + number
        here = advance(one, states, {"r": [MarkerLine(kind, text, position, partition=partition)]})
        of_union = advance(two, apart, {f"r{partition}": [MarkerLine(kind, text, number)]})
        assert bool(here.stops) == bool(of_union.stops)
        if not here.stops:
            states = {n: s.next_epoch() for n, s in here.states.items()}
            apart = {n: s.next_epoch() for n, s in of_union.states.items()}
        together = derive(two, {n: s.facts() for n, s in apart.items()})["r"]
        assert say_the_same(states["r"].facts(), together), (number, text)


def test_a_new_partition_begins_as_the_stream_did_and_opens_nothing() -> None:
    plan = plan_of_topic()
    states = states_of(plan)
    lines = [
        MarkerLine(kind, text, partition * NEXT_FILE + 1, partition=partition)
        for partition in (0, 1)
        for kind, text in (("accent", "[[alter(t, y -> y * 2)]]"), ("punctuation", "[ts < 10]"))
    ]
    state = advance(plan, states, {"r": lines}).states["r"].next_epoch()
    (history,) = set(regions.leaves(state.facts().live_units("t"))) - {()}
    assert len(history) == 2

    grown = state.grow(PARTITION, region_of(2)).next_epoch()
    assert regions.is_empty(
        regions.difference(state.facts().closed, grown.facts().closed), grown.facts().universe
    )
    assert set(regions.leaves(grown.facts().live_units("t"))) - {()} == {ORIGINAL}
    assert regions.contains(grown.closed, {PARTITION: 2, "ts": 9, "s": 1, "t": 1})
    assert not regions.contains(grown.closed, {PARTITION: 2, "ts": 10, "s": 1, "t": 1})


def test_keys_that_live_in_one_partition_wait_for_no_other() -> None:
    """`partitioned by s`: who speaks of a key is its partition (theory N9)."""
    text = TOPIC.replace('"host:9092/r"', '"host:9092/r" partitioned by s')
    plan = compile_query(text).plan
    plan = evolve(plan, sources=[evolve(source, partitions=2) for source in plan.sources])
    lines = [
        MarkerLine(
            kind, text.replace("K", str(partition + 1)), partition * NEXT_FILE + position, partition=partition
        )
        for partition in (0, 1)
        for position, (kind, text) in enumerate(
            [("accent", "[[s = K, alter(t, y -> y * 2)]]"), ("punctuation", "[s = K, ts < 10]")], 1
        )
    ]
    first = advance(plan, states_of(plan), {"r": lines[:2]}).states["r"].next_epoch()
    assert regions.contains(first.facts().closed, {"ts": 9, "s": 1, "t": 1})
    assert not regions.contains(first.facts().closed, {"ts": 9, "s": 2, "t": 1})
    histories = first.facts().live_units("t")
    assert [len(regions.contains(histories, {"ts": 20, "s": s, "t": 1})) for s in (1, 2)] == [2, 1]
    # Tuples from other partitions are late.
    assert regions.contains(first.closed, {PARTITION: 1, "ts": 20, "s": 1, "t": 1})
    assert not regions.contains(first.closed, {PARTITION: 0, "ts": 20, "s": 1, "t": 1})

    both = advance(plan, states_of(plan), {"r": lines}).states["r"].next_epoch().facts()
    histories = both.live_units("t")
    assert [len(regions.contains(histories, {"ts": 20, "s": s, "t": 1})) for s in (1, 2)] == [2, 2]
    assert regions.is_empty(
        regions.difference(regions.interval("ts", None, (10, 0)), both.closed), both.universe
    )


def gone(*texts: tuple[int, str]) -> set[tuple[int, int]]:
    """Returns the partitions and keys that are closed after markers, each with its partition."""
    plan = plan_by_key()
    lines = [
        MarkerLine(
            "accent" if text.startswith("[[") else "punctuation",
            text,
            partition * NEXT_FILE + number,
            partition=partition,
        )
        for number, (partition, text) in enumerate(texts, 1)
    ]
    effects = advance(plan, states_of(plan), {"r": lines})
    assert not effects.stops
    closed = effects.states["r"].closed
    row = {"ts": 90, "t": 1}
    return {(p, s) for p in (0, 1) for s in (1, 2) if regions.contains(closed, {**row, PARTITION: p, "s": s})}


def test_the_first_marker_about_a_key_says_where_it_lives() -> None:
    """A marker that is sent to all partitions must not close the key in each for the sake of the others."""
    first = (0, "[[s = 1, alter(t, y -> y * 2)]]")
    assert gone(first) == {(1, 1)}
    assert gone(first, (1, "[[s = 1, alter(t, y -> y * 2)]]")) == {(1, 1)}
    assert gone(first, (1, "[s = 1, ts < 10]"), (1, "[s in {1, 2}, ts < 10]")) == {(1, 1), (0, 2)}


def test_a_key_is_said_in_the_codes_of_its_partition() -> None:
    """The 2 of a partition that has recoded its keys is the canonical 1; the 2 of others is another key."""
    assert gone((0, "[[recode(s, {1: 2, 2: 1})]]"), (0, "[s = 2, ts < 10]")) == {(1, 1)}


def test_a_marker_about_all_keys_claims_none() -> None:
    plan = plan_by_key()
    for text in ("[ts < 10]", "[s >= 1, ts < 10]"):
        marker = MarkerLine("punctuation", text, 1, partition=0)
        state = advance(plan, states_of(plan), {"r": [marker]}).states["r"]
        assert not regions.contains(state.closed, {PARTITION: 1, "ts": 9, "s": 1, "t": 1})
