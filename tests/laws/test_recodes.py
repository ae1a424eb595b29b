"""A stream that recodes means the same as without recodes: the source undoes codes (theory N3).

A small oracle knows the codes of `state` for each pair (s, k) and those of `k` for each s, and writes the same stream
in its first codes. A marker by raw values becomes one by the canonical values of each pair, one by one. If the domains
of both grow (N1), that stream has the wide ones from its start.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from random import Random

import pytest

from cedilla.compiler import regions
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.runtime.engines.plain.decoder import Decoder
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit.compare import rounded
from tests.kit.lines import as_lines
from tests.kit.seeds import soak_seeds
from tests.kit.stream import decode
from tests.kit.tiers import tiered
from tests.laws.recode_worlds import CELLS, QUERY, SCHEMA, STATES, World, outputs_of_recodes, without_rejected

WIDE = QUERY.replace("{1, 2, 3}, state", "{1, 2, 3, 4, 10, 20}, state").replace('"C"}', '"C", "x", "y", "D"}')


def check_recodes(seed: int, *, grows: bool = False) -> World:
    world = World(Random(seed), 70 if grows else 45, grows=grows)
    one, first = outputs_of_recodes(world.recoded, 1, ends=False, refused=world.refused)
    in_force = one.states["r"]
    for outputs in one.step([("r", {"$punctuation": "[]"})]):
        for emit, output in outputs.items():
            first[emit] += output.items()
    other, second = outputs_of_recodes(world.plain, 1 + seed % 5, query=WIDE)
    context = [json.dumps(item) for item in world.recoded]
    # After `else same` a strange value is itself, which the domain does not have.
    assert len(one.rejected) == world.wrong, context
    assert {code for _, code, _ in one.rejected} <= {"RQ314", "RQ303"}, context
    assert not other.rejected
    for emit in first:
        assert rounded(decode(first[emit])) == rounded(decode(second[emit])), context
    # The functions in force at the end are the same, and so are closed regions, except for codes.
    mine, theirs = in_force, outputs_of_recodes(world.plain, 1, ends=False, query=WIDE)[0].states["r"]
    for s, k in world.come(CELLS):
        for state in world.members["state"]:
            row = {"s": s, "k": k, "state": state, "t": 10**10}
            if world.raw("state", s, k, state) is None:
                continue  # none has come since
            for trees in ("units", "present"):
                state_trees = [getattr(state, trees).get("t") for state in (mine, theirs)]
                at = [None if tree is None else regions.contains(tree, row) for tree in state_trees]
                assert None in at or at[0] == at[1], (context, trees)
            codes = [("k", world.kinds[s], k)]
            codes += [("state", world.states[s, k], state)] if s in world.there else []
            for name, code, value in codes:
                mapping = regions.contains(mine.codes[name], row) if name in mine.codes else None
                image = mapping.of(value) if isinstance(mapping, ValueMapping) else value
                assert image == (value if code is None else code.get(value)), context
    return world


@pytest.mark.parametrize("seed", tiered(range(12)))
def test_a_stream_that_recodes_says_what_it_says_without(seed: int) -> None:
    check_recodes(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_recodes_in_many_cases(seed: int) -> None:
    check_recodes(seed)


@pytest.mark.parametrize(
    "seeds", tiered([range(5, 7), [*range(7, 12), 1795732505], [*range(5), *range(12, 16)]], most=2), ids=str
)
def test_what_is_new_where_codes_are_in_force_is_written_as_it_is(seeds: Sequence[int]) -> None:
    """The domains of both grow between recodes; a growth by what is another value's code is refused, and some are."""
    worlds = [check_recodes(seed, grows=True) for seed in seeds]
    assert sum(len(world.refused) for world in worlds) > 1
    assert sum("grow" in str(item) for world in worlds for item in world.recoded) > len(seeds)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_growths_among_recodes_in_many_cases(seed: int) -> None:
    check_recodes(seed, grows=True)


@pytest.mark.parametrize("seed", tiered(range(12), 2))
def test_the_decoder_undoes_recodes(seed: int) -> None:
    """The oracle that shares nothing with the engine."""
    world = World(Random(seed))
    decoder, plain = Decoder(), Decoder()
    rows = [decoder.feed(item) for item in without_rejected(world)[1]]
    wanted = [plain.feed(item) for item in world.plain]
    assert rounded([r for r in rows if r is not None]) == rounded([r for r in wanted if r is not None])


@pytest.mark.parametrize("seed", tiered(range(8), 2))
def test_a_canonical_stream_recodes_at_its_end(seed: int) -> None:
    """Later tuples are then read as without it."""
    world = World(Random(seed), nested=False)
    one, items = without_rejected(world)
    for rules in (False, True):
        out = StringIO()
        lines = as_lines(items, "r")
        canonize(lines, declared_schema(SCHEMA), out, Counter() if rules else None)
        canonical = [json.loads(line) for line in out.getvalue().splitlines()]
        tuples = [item for item in canonical if "n" in item]
        assert rounded([{**row, "t": 0} for row in tuples]) == rounded(
            [{**row, "t": 0} for row in world.plain if "n" in row]
        )
        assert rounded(decode(canonical)) == rounded(decode(world.plain))
        again, _ = outputs_of_recodes(canonical, 1, ends=False)
        assert not again.rejected
        for s, k in CELLS:
            if world.raw("k", s, k, k) is None:
                continue  # none has come since
            for state in STATES:
                row = {"s": s, "k": k, "state": state, "t": 1}
                for name in ["k", *(["state"] if s in world.there else [])]:
                    codes = [run_.states["r"].codes.get(name) for run_ in (one, again)]
                    actual = [None if tree is None else regions.contains(tree, row) for tree in codes]
                    assert getattr(actual[0], "map", None) == getattr(actual[1], "map", None)
