"""Outputs that are updated: provisional rows change no output stream, and the last row of each key is always the
aggregate of all that has come (theory 1.3, A2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import cedilla
from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.runtime.connectors.records.marker_files import MARK
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.query import Query
from tests.kit.strategies import BRIEF
from tests.kit.stream import Decoder, Item
from tests.kit.tiers import tiered
from tests.laws.edges import read
from tests.laws.reference_runs import TABLE, Items, accepted, bag, cut, decoded, run
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import SOURCES, canonical, stream

CALLS = (
    "avg(v) as m",
    "sum(v) as m",
    "count() as n",
    "max(v) as m",
    "min(q) as m",
    "avg(v where k > 1) as m",
)


@frozen
class Updated:
    """A random query with an output that is updated, and the same without."""

    text: str
    key: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        return compile_query(self.text).plan

    @property
    def name(self) -> str:
        """The name of the output."""
        return self.plan.emits[0].name

    @property
    def without(self) -> Plan:
        return compile_query(self.text.replace(f" as latest by {', '.join(self.key)}", "")).plan


def updated(rng: Random) -> Updated:
    """Windows of any step over one or two streams, grouped by number, key or both, then some of what may follow."""
    base = rng.choice(["r", "r union s", "select[v > 0](r)"])
    step = rng.choice(["", " every 2", " every 1"])
    by = rng.choice([("w",), ("k",), ("k", "w"), ("w", "k")])
    call = rng.choice(CALLS)
    result = call.rpartition(" ")[2]
    after, key = rng.choice(
        [
            ("groups", by),
            (f"project[*, {result} * 2 as twice](groups)", by),
            (f"rename[{by[0]} as g](groups)", ("g", *by[1:])),
            (f"select[{by[0]} >= 1](groups)", by),
        ]
    )
    text = f"""{SOURCES}
base := {base};
windows := window[4{step} on ts as w](base);
groups := aggregate[{call}, count() as every by {", ".join(by)}](windows);
shown := {after};
emit shown as latest by {", ".join(key)} to json "out";"""
    return Updated(text, key)


@given(seed=st.integers(0, 2**32))
@BRIEF
def test_the_last_row_of_each_key_is_the_aggregate_of_what_has_come(seed: int) -> None:
    rng = Random(seed)
    made = updated(rng)
    items = accepted(made.plan, stream(rng, 40))
    steps = cut(rng, items)
    reference, decoder = Reference(made.plan), Decoder(read)
    last: dict[tuple[Any, ...], Item] = {}
    so_far: Items = []
    reference.step(TABLE)
    for step in steps:
        so_far += step
        for outputs in reference.step(step):
            for row in shown(decoder, outputs[made.name]):
                last[tuple(row.get(name) for name in made.key)] = row
        expected = evaluate_plan(made.plan, canonical(so_far))[made.name]
        assert bag(unmarked(last.values())) == bag(expected), f"seed {seed}\n{made.text}"


@given(seed=st.integers(0, 2**32))
@BRIEF
def test_the_output_stream_is_that_without_provisional_rows(seed: int) -> None:
    """In canonical values and closed regions: the key alone stays in its units."""
    rng = Random(seed)
    made = updated(rng)
    items = accepted(made.plan, stream(rng, 40))
    steps = cut(rng, items)
    mine, plain = run(made.plan, steps), run(made.without, steps)
    context = f"seed {seed}\n{made.text}"
    assert bag(mine.passed) == bag(plain.passed), context
    assert bag(decoded(mine.output)) == bag(decoded(plain.output)), context
    assert not any(f"alter({name}," in str(item) for item in mine.output for name in made.key), context
    others = [item for item in plain.output if not any(f"alter({name}," in str(item) for name in made.key)]
    if others == plain.output:
        assert mine.output == plain.output, context


def shown(decoder: Decoder, output: Output) -> Iterator[Item]:
    """The canonical rows of a step, provisional ones too, which are written as its tuples are."""
    adds, tuples, *rest = output.parts()
    for part in (adds, output.marked, tuples, *rest):
        for item in part:
            if (row := decoder.feed(item)) is not None:
                yield row


def unmarked(rows: Any) -> list[Item]:
    return [{name: value for name, value in row.items() if name != MARK} for row in rows]


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(40), 3, 8))
def test_the_last_rows_of_a_run_are_those_of_the_reference(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """As `cedilla read` gives them after each epoch, with marks; other processes go on in between."""
    rng = Random(seed)
    made = updated(rng)
    parts = cut(rng, accepted(made.plan, stream(rng, 40)))
    query, folder = Query(spark, tmp_path, made.text), tmp_path / "out" / made.name
    query.write("d", [item for _, item in TABLE])
    reference, decoder = Reference(made.plan), Decoder(read)
    reference.step(TABLE)
    last: dict[tuple[Any, ...], Item] = {}
    executor = query.executor()
    for number, part in enumerate(parts):
        by_source = {s: [item for name, item in part if name == s] for s in ("r", "s")}
        for source, items in by_source.items():
            query.write(source, items)
        if rng.random() < 0.3:
            executor.close()
            executor = query.executor()
        query.go_on(executor, number)
        for outputs in reference.step(
            [(source, item) for source, items in by_source.items() for item in items]
        ):
            for row in shown(decoder, outputs[made.name]):
                last[tuple(row.get(name) for name in made.key)] = row
        rows = [*cedilla.read(folder, latest=made.key).rows()] if folder.exists() else []
        assert bag(rows) == bag([*last.values()]), f"seed {seed}\n{made.text}"
    executor.close()
