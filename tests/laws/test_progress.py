"""Progress (theory D2): at every prefix of a stream, each cell of an output has the function that its live feeders
lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from random import Random

import pytest
from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.laws.progress_nodes import SHAPES
from tests.laws.progress_worlds import Output, World, check

LENGTH = 14
WAYS = ("item by item", "divided", "cut")
"""One marker a step; its description in two parts; several markers a step."""

Gives = Callable[[list[tuple[str, Item]]], list[Item]]


def _item(text: str) -> Item:
    return {"$accent" if text.startswith("[[") else "$punctuation": text}


@define
class _Run:
    """`gives`: takes items of sources, and returns what the output says then."""

    world: World
    gives: Gives
    output: Output
    taken: list[str] = field(factory=list[str])

    def step(self, items: Sequence[tuple[str, str]]) -> None:
        """Takes markers as one step, and checks all cells after it."""
        if not items:
            return
        self.taken.append(str(items))
        says = self.gives([(source, _item(text)) for source, text in items])
        try:
            self.output.read(says)
            check(self.world, self.output)
        except AssertionError as error:
            raise AssertionError(f"{self.world.text}\n{self.taken}\nsays {says}\n{error}") from error


def of_reference(text: str) -> Gives:
    """Gives what the reference says."""
    reference = Reference(compile_query(text).plan)

    def gives(items: list[tuple[str, Item]]) -> list[Item]:
        return [item for out in reference.step(items) for o in out.values() for item in o.items()]

    return gives


def of_engine(spark: SparkSession, root: Path) -> Callable[[str], Gives]:
    """Gives what an engine writes, with a batch for each step."""

    def begun(text: str) -> Gives:
        run = Query(spark, root, text)
        executor, batches, before = run.executor(), count(), list[Item]()
        (emit,) = executor.plan.emits  # of a stream itself, it has the stream's name

        def gives(items: list[tuple[str, Item]]) -> list[Item]:
            read = {source.name for source in executor.plan.sources}
            items = [(source, item) for source, item in items if source in read]
            if not items:
                return []
            for name in dict.fromkeys(source for source, _ in items):
                run.write(name, [item for source, item in items if source == name])
            run.go_on(executor, next(batches))
            says = run.output(emit.name)
            new = says[len(before) :]
            before[:] = says
            return new

        return gives

    return begun


def check_progress(seed: int, way: str, begun: Callable[[str], Gives] = of_reference) -> None:
    """Checks one world."""
    rng = Random(seed)
    world = World(rng, rng.random() < 0.6, SHAPES[seed % len(SHAPES)])
    run = _Run(world, begun(world.text), Output(world))
    pending: list[tuple[str, str]] = []
    for _ in range(LENGTH):
        if (marker := world.draw()) is None:
            continue
        # An attribute that comes again begins again, and a list that grows begins an epoch.
        if way == "cut" and (marker.begins or rng.random() < 0.5):
            run.step(pending)
            pending = []
        pending += [
            (marker.source, text) for text in (world.parts(marker) if way == "divided" else [marker.text])
        ]
        world.take(marker)
        if way == "cut" and not marker.begins:
            continue
        try:
            run.step(pending)
        except DiagnosticError as error:
            if error.diagnostics[0].code != "RQ222":  # a growth that would open what is closed is refused
                raise
            return
        pending = []
    run.step(pending)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "seeds",
    tiered([range(0, 37, 3), range(1, 37, 3), range(2, 37, 3), range(37, 74), range(74, 111)]),
    ids=str,
)
def test_every_live_cell_stands_where_its_feeders_agree(seeds: range, way: str) -> None:
    for seed in seeds:
        check_progress(seed, way)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_every_live_cell_stands_where_its_feeders_agree_in_many_cases(seed: int, way: str) -> None:
    check_progress(seed, way)


@pytest.mark.parametrize("seed", tiered(range(700_000, 700_037, 3)))
def test_every_live_cell_stands_there_on_an_engine(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_progress(seed, WAYS[seed % 3], of_engine(sail, tmp_path))


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(200))
def test_every_live_cell_stands_there_on_an_engine_in_many_cases(
    sail: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_progress(seed, WAYS[seed % 3], of_engine(sail, tmp_path))
