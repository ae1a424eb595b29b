"""A source's control plane against plain Python, element by element, without Spark."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from cedilla.compiler import compile_query, regions
from cedilla.compiler.facts.facts import ABSENT
from cedilla.compiler.facts.marker_parser import read_accent, read_punctuation
from cedilla.compiler.regions import POSITION
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.tree_files import dump_tree, load_tree
from tests.kit.seeds import soak_seeds
from tests.kit.sensor_streams import QUERY, wild_stream
from tests.kit.stream import Decoder, Item
from tests.kit.tiers import tiered


def follow(stream: list[Item]) -> SourceState:
    """The state after every marker, with the index of its item as its place."""
    plan = compile_query(QUERY).plan
    source = plan.sources[0]
    state = SourceState.start(source, plan.droppable[source.name])
    for position, item in enumerate(stream):
        if "$accent" in item:
            state = with_accent(state, read_accent(item["$accent"], state.types), position)
        elif "$punctuation" in item:
            state = state.punctuate(read_punctuation(item["$punctuation"], state.types), position)
    return state


def check_state(seed: int, length: int) -> None:
    """At its own place, every tuple gets its canonical values, and is closed iff a punctuation before says so."""
    stream = wild_stream(random.Random(seed), length)
    state = follow(stream)
    decoder = Decoder()
    probes = [
        {"ts": ts, "s": s, "t": Fraction(t), "p": Fraction(7)}
        for ts in (0, 20, 50)
        for s in (1, 2, 3)
        for t in (0, 950)
    ]
    for position, item in enumerate(stream):
        expected = decoder.feed(item)
        if expected is not None:
            row = {**{name: Fraction(value) for name, value in item.items()}, POSITION: position}
            actual = {
                name: regions.contains(state.originals.placed.get(name, IDENTITY), row)(row[name])
                for name in item
            }
            assert actual == expected, f"item {position}"
        for probe in probes:
            # A punctuation counts from its own place on, so just after it.
            closed = regions.contains(state.placed_closed, {**probe, POSITION: position + Fraction(1, 2)})
            assert closed == decoder.closed(probe), f"item {position}: {probe}"


@pytest.mark.parametrize("seed", tiered(range(40), 12))
def test_every_tuple_is_decoded_and_judged_as_its_place_demands(seed: int) -> None:
    check_state(seed, 80)


@pytest.mark.soak
@pytest.mark.parametrize("first", soak_seeds(2000)[::100])
def test_every_tuple_is_decoded_and_judged_on_longer_streams(first: int) -> None:
    for seed in range(first, first + 100):
        check_state(seed, 150)


def test_an_attributes_own_map_follows_its_new_values() -> None:
    """Found by a random stream: t is told apart by p, then p by t, then t changes once more (G22)."""
    stream: list[Item] = [
        {"$accent": "[[+(p: double)]]"},
        {"$accent": "[[p > 57, alter(t, y -> y * 2)]]"},
        {"$accent": "[[t > 26, alter(p, y -> y + 100)]]"},
        {"$accent": "[[p > 51, alter(t, y -> y * 1000)]]"},
        {"ts": 1, "s": 1, "t": 90.25, "p": 55.0},
    ]
    row = {name: Fraction(value) for name, value in stream[-1].items()}
    state = follow(stream)
    decoder = Decoder()
    expected = [decoder.feed(item) for item in stream][-1]
    assert expected is not None
    assert regions.contains(state.original["t"], row)(row["t"]) == expected["t"]


def test_presence_is_of_tuples_whose_raw_values_a_description_names() -> None:
    """After an Alter, a description of t speaks of the new t; what it says holds of canonical tuples (G22)."""
    altered: list[Item] = [{"$accent": "[[alter(t, y -> y / 10)]]"}, {"$accent": "[[t >= 5, +(p: double)]]"}]
    dropped: list[Item] = [*altered, {"$accent": "[[t >= 8, -(p)]]"}]
    rows = [{"ts": 1, "s": 1, "t": Fraction(t)} for t in (7, 49, 50, 79, 80)]
    for stream, expected in (
        (altered, (False, False, True, True, True)),
        (dropped, (False, False, True, True, False)),
    ):
        present = follow(stream).present["p"]
        assert tuple(regions.contains(present, row) is not ABSENT for row in rows) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_state_survives_its_way_through_a_commit(seed: int) -> None:
    state = follow(wild_stream(random.Random(seed), 80))
    for tree in (state.closed, *state.present.values()):
        kind = type(next(leaf for _, leaf in regions.boxes(tree)))
        assert load_tree(dump_tree(tree), kind) == tree


def test_what_is_closed_is_forgotten() -> None:
    """Punctuate, then accent, again and again: what is kept does not grow (theory 1.4, 3.2)."""
    plan = compile_query('stream r(ts: long, v: double) from json "r"; emit r to json "out";').plan
    state = SourceState.start(plan.sources[0], plan.droppable["r"])
    for n in range(60):
        state = state.punctuate(read_punctuation(f"[ts < {n}]", state.types), 0)
        state = with_accent(
            state, read_accent(f"[[ts >= {n}, alter(v, y -> y * 2)]]", state.types), 1
        ).next_epoch()
    assert len(state.units["v"].cuts) <= 1
