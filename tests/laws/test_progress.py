"""Progress (theory D2): at every prefix of a stream, each cell of an output stands where its live feeders lead it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from attrs import define, field

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.reference.reference import Reference
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.laws.progress_nodes import SHAPES
from tests.laws.progress_worlds import Output, World, check

LENGTH = 14
WAYS = ("item by item", "divided", "cut")
"""One marker a step; its description in two parts; several markers a step."""


def _item(text: str) -> Item:
    return {"$accent" if text.startswith("[[") else "$punctuation": text}


@define
class _Run:
    world: World
    reference: Reference
    output: Output
    taken: list[str] = field(factory=list[str])

    def step(self, items: Sequence[tuple[str, str]]) -> None:
        """Takes markers as one step, and checks all cells after it."""
        if not items:
            return
        self.taken.append(str(items))
        outputs = self.reference.step([(source, _item(text)) for source, text in items])
        says = [item for out in outputs for o in out.values() for item in o.items()]
        try:
            self.output.read(says)
            check(self.world, self.output)
        except AssertionError as error:
            raise AssertionError(f"{self.world.text}\n{self.taken}\nsays {says}\n{error}") from error


def check_progress(seed: int, way: str) -> None:
    """Checks one world."""
    rng = Random(seed)
    world = World(rng, rng.random() < 0.6, SHAPES[seed % len(SHAPES)])
    run = _Run(world, Reference(compile_query(world.text).plan), Output(world))
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
@pytest.mark.parametrize("seeds", tiered([range(12), range(12, 220)]), ids=str)
def test_every_live_cell_stands_where_its_feeders_agree(seeds: range, way: str) -> None:
    for seed in seeds:
        check_progress(seed, way)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_every_live_cell_stands_where_its_feeders_agree_in_many_cases(seed: int, way: str) -> None:
    check_progress(seed, way)
