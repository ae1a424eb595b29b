"""A stream that renames attributes means the same as without renames: the source undoes them (theory N2).

A small oracle knows by which name each pair (s, q) brings `t` and `p`, and writes the same stream by the names of the
query: what a marker says by another name, it says for the pairs that have this name, one by one.
"""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from random import Random

import pytest

from cedilla.compiler import regions
from cedilla.runtime.engines.plain.decoder import Decoder
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit.compare import rounded
from tests.kit.lines import as_lines
from tests.kit.seeds import soak_seeds
from tests.kit.stream import decode, flat
from tests.kit.tiers import tiered
from tests.laws.rename_worlds import NAMES, SCHEMA, World, outputs_of_renames
from tests.laws.unit_worlds import CELLS


def check_renames(seed: int) -> None:
    world = World(Random(seed))
    one, first = outputs_of_renames(world.renamed, 1)
    other, second = outputs_of_renames(world.plain, 1 + seed % 5)
    context = [json.dumps(item) for item in world.renamed]
    assert Counter(code for _, code, _ in one.rejected) == world.wrong, context
    assert not other.rejected
    for emit in first:
        assert rounded(decode(first[emit])) == rounded(decode(second[emit])), context
    # The functions in force at the end are the same, and so are closed regions, except for names.
    one, other = (
        outputs_of_renames(world.renamed, 1, ends=False)[0],
        outputs_of_renames(world.plain, 1, ends=False)[0],
    )
    mine, theirs = (run_.states["r"] for run_ in (one, other))
    possible = regions.union(regions.complement(regions.defined("p")), mine.facts().may_have("p"))
    closed = [regions.intersection(state.closed, possible) for state in (mine, theirs)]
    for this, that in (closed, closed[::-1]):
        assert regions.is_empty(regions.difference(this, that), mine.universe), context
    for s, q in CELLS:
        for name, names in world.names.items():
            for trees in ("units", "present", "original"):
                state_trees = [getattr(state, trees).get(name) for state in (mine, theirs)]
                at = [
                    None if tree is None else regions.contains(tree, {"s": s, "q": q}) for tree in state_trees
                ]
                if trees == "present" or (None not in at and (s, q) in world.there.get(name, CELLS)):
                    assert at[0] == at[1], (context, trees, name)
            here = mine.names.here.get(name, name)
            assert regions.contains(here, {"s": s, "q": q}) == names[s, q], context


@pytest.mark.parametrize("seed", tiered(range(24), 2))
def test_a_stream_that_renames_says_what_it_says_without(seed: int) -> None:
    check_renames(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_renames_in_many_cases(seed: int) -> None:
    check_renames(seed)


@pytest.mark.parametrize("seed", tiered(range(16), 2))
def test_the_decoder_undoes_renames(seed: int) -> None:
    """The oracle that shares nothing with the engine; of tuples with right names."""
    world = World(Random(seed))
    one, _ = outputs_of_renames(world.renamed, 1)
    wrong = [id(item) for _, _, item in one.rejected]
    decoder, plain = Decoder(), Decoder()
    rows = [decoder.feed(flat(item)) for item in world.renamed if id(item) not in wrong]
    wanted = [plain.feed(item) for item in world.plain]
    assert rounded([r for r in rows if r is not None]) == rounded([r for r in wanted if r is not None])


@pytest.mark.parametrize("seed", tiered(range(16), 2))
def test_a_canonical_stream_renames_at_its_end(seed: int) -> None:
    """Later tuples are then read as without it."""
    world = World(Random(seed))
    one, _ = outputs_of_renames(world.renamed, 1, ends=False)
    wrong = [id(item) for _, _, item in one.rejected]
    right = [item for item in world.renamed if id(item) not in wrong]
    for rules in (False, True):
        out = StringIO()
        lines = as_lines(right, "r")
        canonize(lines, declared_schema(SCHEMA), out, Counter() if rules else None)
        items = [json.loads(line) for line in out.getvalue().splitlines()]
        assert rounded(decode(items)) == rounded(decode(world.plain))
        assert all(item.keys() <= {"n", "s", "q", "t", "p"} for item in items if "s" in item)
        again, _ = outputs_of_renames(items, 1, ends=False)
        assert not again.rejected
        for s, q in CELLS:
            for name in NAMES:
                trees = [run_.states["r"].names.here.get(name, name) for run_ in (one, again)]
                actual = {regions.contains(tree, {"s": s, "q": q}) for tree in trees}
                assert len(actual) == 1 or (s, q) not in world.there.get(name, CELLS)
