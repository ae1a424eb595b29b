"""Queries over topics of two partitions, random markers of them, and facts that say the same."""

from __future__ import annotations

import random

from attrs import evolve

from cedilla.compiler import compile_query, regions
from cedilla.compiler.facts.facts import ABSENT, Facts
from cedilla.compiler.plan import Plan
from cedilla.runtime.control.sources.source_state import SourceState

COLUMNS = "(ts: long, s: int in {1, 2}, t: double, p?: double)"

TOPIC = f'stream r{COLUMNS} from kafka "host:9092/r"; emit r to json "out";'


def plan_of_topic() -> Plan:
    plan = compile_query(TOPIC).plan
    return evolve(plan, sources=[evolve(source, partitions=2) for source in plan.sources])


def states_of(plan: Plan) -> dict[str, SourceState]:
    return {s.name: SourceState.start(s, frozenset({"t", "p"})) for s in plan.sources}


def random_markers(rng: random.Random) -> list[tuple[int, str, str]]:
    """Markers, each with its partition and kind; some do not fit, and are left out where that shows."""
    made: list[tuple[int, str, str]] = []
    for _ in range(rng.randrange(1, 9)):
        where = rng.choice(["", "s = 1, ", "s = 2, ", "ts >= 10, "])
        what = rng.choice(
            ["alter(t, y -> y * 2)", "alter(t, y -> y + 1)", "+(p: double)", "-(p)", "-(t)", "+(t: double)"]
        )
        closed = rng.choice(["[ts < 10]", "[s = 1]", "[ts < 30, s = 2]", "[ts < 20]", "[]"])
        text, kind = (f"[[{where}{what}]]", "accent") if rng.random() < 0.7 else (closed, "punctuation")
        made.append((rng.randrange(2), kind, text))
    return made


def say_the_same(first: Facts, second: Facts) -> bool:
    """Returns True if facts agree about all tuples that may come."""
    universe = first.universe
    if not regions.is_empty(regions.difference(first.closed, second.closed), universe):
        return False
    if not regions.is_empty(regions.difference(second.closed, first.closed), universe):
        return False
    differs = regions.Operation(lambda a, b: None, lambda a, b: a != b)
    pairs = [(first.present.get(n, ABSENT), second.present.get(n, ABSENT)) for n in first.types]
    pairs += [(first.live_units(n), second.live_units(n)) for n in first.types]
    live = regions.complement(first.closed)
    return all(
        regions.is_empty(regions.intersection(regions.combine(one, other, differs), live), universe)
        for one, other in pairs
    )


def plan_by_key() -> Plan:
    plan = compile_query(TOPIC.replace('"host:9092/r"', '"host:9092/r" partitioned by s')).plan
    return evolve(plan, sources=[evolve(source, partitions=2) for source in plan.sources])
