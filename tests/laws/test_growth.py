"""A domain that grows in the middle of a stream (theory N1): nothing is lost, nothing that was said is taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan, TableColumn
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.control.domains.table_domains import with_values
from cedilla.runtime.reference.reference import Reference
from tests.kit.strategies import HEAVY
from tests.kit.stream import Item, complaints, decode
from tests.kit.tiers import tiered
from tests.laws.relational import evaluate_plan
from tests.laws.test_reference import TABLE, Items, accepted, bag, cut, readable, run
from tests.laws.worlds import ALL, World, canonical, stream, world
from tests.runtime.checkpoint.plan_edits import edited


def before(world: World) -> str:
    """The query's text when the fleet had two members."""
    return world.text.replace("k: int in {1, 2, 3}", "k: int in {1, 2}", 2)


def without_newcomer(items: Items) -> Items:
    """What a stream says before its new member is known of: no tuples of it, and no marker that names it."""
    return [
        (source, item)
        for source, item in items
        if item.get("k") != 3
        and not any("k = 3" in str(item.get(m, "")) for m in ("$accent", "$punctuation"))
    ]


def drive(reference: Reference, emit: str, items: Items, output: list[Item]) -> None:
    for item in items:
        for outputs in reference.step([item]):
            output += outputs[emit].items()


def random_case(rng: Random, size: int, length: int) -> tuple[World, Plan, Items, int]:
    """A query, its plan when the fleet had two members, a valid stream, and after how many items the third comes."""
    made = world(rng, size, ALL)
    small = compile_query(before(made)).plan
    items = accepted(made.plan, stream(rng, length))
    bound = rng.randint(0, len(items))
    early = accepted(small, without_newcomer(items[:bound]))
    return made, small, accepted(made.plan, [*early, *items[bound:]]), len(early)


def meaning(
    made: World, items: Items, rejected: Sequence[tuple[str, str, Mapping[str, Any]]], told: str
) -> Counter[Any]:
    """What the query says of a whole stream but for its rejected tuples, which are late ones of the newcomer."""
    rest = list(items)
    for source, code, item in rejected:
        assert code == "RQ305", told
        assert item["k"] == 3, told  # only the newcomer's, where its past is closed
        rest.remove((source, dict(item)))
    return bag(evaluate_plan(made.plan, canonical(rest))[made.plan.emits[0].relation])


def check(rng: Random, size: int, length: int) -> str:
    """One random case; how it went: `refused` where something closed would be opened again."""
    made, small, items, cut = random_case(rng, size, length)
    told = f"{made.text}\n{cut} of " + "\n".join(f"{source} {item}" for source, item in items)
    (emit,) = made.plan.emits
    reference, output = Reference(small), list[Item]()
    drive(reference, emit.name, [*TABLE, *items[:cut]], output)
    assert reference.rejected == [], told
    changes, grown = edited(reference, made.text)
    if changes.effect == "new checkpoint":
        return "refused"
    if changes.effect == "continues after":
        return "let go"  # what an input had of the newcomer before is to be sent again
    kick = ("r", {"$punctuation": "[ts < -1000]"})
    drive(grown, emit.name, [kick, *items[cut:]], output)
    assert bag(decode(output)) == meaning(made, items, grown.rejected, told), told
    start = made.plan.start[emit.relation]
    initial = {name for name in start.types if start.may_have(name) is not False}
    assert list(complaints(output, initial)) == [], told
    return "grown"


@pytest.mark.parametrize("seeds", tiered([range(12), range(12, 40)]), ids=str)
def test_a_stream_that_grows_says_what_the_wide_one_says(seeds: range) -> None:
    """And most streams do grow, otherwise it would say nothing."""
    went = [check(rng, rng.randint(1, 4), 40) for rng in map(Random, seeds)]
    assert went.count("grown") > len(seeds) / 2


@pytest.mark.soak
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_growth_in_many_cases(seed: int) -> None:
    rng = Random(seed)
    check(rng, rng.randint(1, 6), rng.randint(10, 60))


# --- growth by a marker (N1) ---


GROWTHS: Items = [(source, {"$accent": "[[grow(k, {3})]]"}) for source in ("r", "s")]


def check_marker(rng: Random, size: int, length: int) -> str:
    """One random case in which both streams say at a random place that they have a new member."""
    made, small, items, bound = random_case(rng, size, length)
    items = [*items[:bound], *GROWTHS, *items[bound:]]
    told = f"{made.text}\n" + "\n".join(f"{source} {item}" for source, item in items)
    try:
        whole = run(small, [[item] for item in items])
    except DiagnosticError as error:
        if [each.code for each in error.diagnostics] != ["RQ222"]:
            raise
        return "refused"
    late = whole.reference.rejected
    expected = meaning(made, items, late, told)
    start = small.start[made.plan.emits[0].relation]
    initial = {name for name in start.types if start.may_have(name) is not False}
    for ran in (whole, run(small, cut(rng, items), purge=False), run(small, [items])):
        assert ran.reference.rejected == late, told
        assert bag(decode(ran.output)) == expected, told
        assert list(complaints(ran.output, initial)) == [], told
        readable(small, ran.output, told)
    return "grown"


@pytest.mark.parametrize("seeds", tiered([range(12), range(12, 40)]), ids=str)
def test_a_stream_that_says_how_it_grows_says_what_the_wide_one_says(seeds: range) -> None:
    """And most streams do grow, otherwise it would say nothing."""
    went = [check_marker(rng, rng.randint(1, 4), 40) for rng in map(Random, seeds)]
    assert went.count("grown") > len(seeds) / 2


@pytest.mark.soak
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_growth_by_markers_in_many_cases(seed: int) -> None:
    rng = Random(seed)
    check_marker(rng, rng.randint(1, 6), rng.randint(10, 60))


# --- growth of a table that gives the domain (N1) ---

FLEET = TableColumn("fleet", "k")


def from_table(world: World) -> str:
    """The query's text where both streams have their domain from a table."""
    return 'table fleet(k: int) from json "fleet";' + world.text.replace(
        "k: int in {1, 2, 3}", "k: int in fleet.k", 2
    )


def check_table(rng: Random, size: int, length: int) -> str:
    """One random case in which the table that gives both streams their domain has a new row at a random place."""
    made, _, items, bound = random_case(rng, size, length)
    text = from_table(made)
    small = with_values(compile_query(text).plan, {FLEET: frozenset({1, 2})})
    told = f"{text}\n{bound} of " + "\n".join(f"{source} {item}" for source, item in items)
    (emit,) = made.plan.emits
    reference, output = Reference(small), list[Item]()
    drive(reference, emit.name, [("fleet", {"$punctuation": "[]"}), *TABLE, *items[:bound]], output)
    assert reference.rejected == [], told
    try:
        reference.grow({FLEET: frozenset({2, 3})})  # 1 has gone from the table: it stays in the domain
    except DiagnosticError as error:
        if [each.code for each in error.diagnostics] != ["RQ222"]:
            raise
        return "refused"
    drive(reference, emit.name, items[bound:], output)
    assert bag(decode(output)) == meaning(made, items, reference.rejected, told), told
    start = small.start[emit.relation]
    initial = {name for name in start.types if start.may_have(name) is not False}
    assert list(complaints(output, initial)) == [], told
    readable(small, output, told)
    return "grown"


@pytest.mark.parametrize("seeds", tiered([range(12), range(12, 40)]), ids=str)
def test_a_table_that_grows_says_what_the_long_one_says(seeds: range) -> None:
    """And most streams do grow, otherwise it would say nothing."""
    went = [check_table(rng, rng.randint(1, 4), 40) for rng in map(Random, seeds)]
    assert went.count("grown") > len(seeds) / 2


@pytest.mark.soak
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_growth_by_tables_in_many_cases(seed: int) -> None:
    rng = Random(seed)
    check_table(rng, rng.randint(1, 6), rng.randint(10, 60))
