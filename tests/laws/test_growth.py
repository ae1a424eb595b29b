"""A domain that grows in the middle of a stream (theory N1): nothing is lost, and no announcement is revoked."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan, TableColumn
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.control.domains.table_domains import with_values
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.strategies import HEAVY
from tests.kit.stream import Item, complaints, decode
from tests.kit.tiers import tiered
from tests.laws.growth_cases import GROWTHS, feed, from_table, meaning, random_case
from tests.laws.reference_runs import TABLE, Items, Ran, bag, cut, first_attributes, readable, run
from tests.laws.worlds import COMPLETED
from tests.runtime.epochs.checkpoint.plan_edits import edited


def check_growth(rng: Random, size: int, length: int) -> str:
    """One random case; how it went: `refused` where something closed would be opened again."""
    made, small, items, cut = random_case(rng, size, length)
    context = f"{made.text}\n{cut} of " + "\n".join(f"{source} {item}" for source, item in items)
    (emit,) = made.plan.emits
    reference, output = Reference(small), list[Item]()
    feed(reference, emit.name, [*TABLE, *items[:cut]], output)
    assert reference.rejected == [], context
    changes, grown = edited(reference, made.text)
    if changes.effect == "new checkpoint":
        return "refused"
    if changes.effect == "continues after":
        return "let go"  # what an input had of the newcomer before is to be sent again
    kick = ("r", {"$punctuation": "[ts < -1000]"})
    feed(grown, emit.name, [kick, *items[cut:]], output)
    assert bag(decode(output)) == meaning(made, items, grown.rejected, context), context
    initial = first_attributes(made.plan.start[emit.relation])
    assert list(complaints(output, initial)) == [], context
    readable(small, output, context)
    return "grown"


@pytest.mark.parametrize("seeds", tiered([range(3), range(3, 12)]), ids=str)
def test_a_stream_that_grows_says_what_the_wide_one_says(seeds: range) -> None:
    """And most streams do grow, otherwise it would say nothing."""
    went = [check_growth(rng, rng.randint(1, 4), 40) for rng in map(Random, seeds)]
    assert went.count("grown") > len(seeds) / 2


@pytest.mark.soak
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_growth_in_many_cases(seed: int) -> None:
    rng = Random(seed)
    check_growth(rng, rng.randint(1, 6), rng.randint(10, 60))


# --- growth by a marker (N1) ---


def check_marker(rng: Random, size: int, length: int) -> str:
    """One random case in which both streams say at a random place that they have a new member."""
    made, small, items, bound = random_case(rng, size, length)
    items = [*items[:bound], *GROWTHS, *items[bound:]]
    context = f"{made.text}\n" + "\n".join(f"{source} {item}" for source, item in items)
    if (ways := ways_to_run(rng, small, items, context)) is None:
        return "refused"
    late = ways[0].reference.rejected
    expected = meaning(made, items, late, context)
    for ran in ways:
        assert ran.reference.rejected == late, context
        assert bag(decode(ran.output)) == expected, context
        readable(small, ran.output, context)
    return "grown"


def ways_to_run(rng: Random, plan: Plan, items: Items, context: str) -> tuple[Ran, ...] | None:
    """Returns runs of one item an epoch, of random epochs with all state, and of one epoch, none of whose outputs takes
    back what it has announced; `None` if what a member would open is closed."""
    try:
        whole = run(plan, [[item] for item in items])
    except DiagnosticError as error:
        if [diagnostic.code for diagnostic in error.diagnostics] != ["RQ222"]:
            raise
        return None
    ways = whole, run(plan, cut(rng, items), purge=False), run(plan, [items])
    initial = first_attributes(plan.start[plan.emits[0].relation])
    for ran in ways:
        assert list(complaints(ran.output, initial)) == [], context
    return ways


@pytest.mark.parametrize("seeds", tiered([range(3), range(3, 12)]), ids=str)
def test_a_stream_that_says_how_it_grows_says_what_the_wide_one_says(seeds: range) -> None:
    """And most streams do grow, otherwise it would say nothing."""
    went = [check_marker(rng, rng.randint(1, 4), 40) for rng in map(Random, seeds)]
    assert went.count("grown") > len(seeds) / 2


def check_empty_groups(rng: Random, size: int, length: int) -> str:
    """One random case of groups that no tuple came to. Which of them a new member has depends on what was closed when
    it came, so the wide stream says others; but every cut into epochs says the same."""
    made, small, items, bound = random_case(rng, size, length, COMPLETED)
    items = [*items[:bound], *GROWTHS, *items[bound:]]
    context = f"{made.text}\n" + "\n".join(f"{source} {item}" for source, item in items)
    if (ways := ways_to_run(rng, small, items, context)) is None:
        return "refused"
    for ran in ways:
        assert bag(decode(ran.output)) == bag(decode(ways[0].output)), context
    return "grown"


@pytest.mark.parametrize("seeds", tiered([range(12)], 0), ids=str)
def test_groups_without_tuples_of_a_new_member_do_not_depend_on_the_cut(seeds: range) -> None:
    """And most streams do grow, otherwise it would say nothing."""
    went = [check_empty_groups(rng, rng.randint(1, 3), 40) for rng in map(Random, seeds)]
    assert went.count("grown") > len(seeds) / 2


@pytest.mark.soak
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_growth_by_markers_in_many_cases(seed: int) -> None:
    rng = Random(seed)
    check_marker(rng, rng.randint(1, 6), rng.randint(10, 60))


def _grown_output(relation: str, before: str) -> list[Item]:
    """What a relation over `s` says for a punctuation, a growth by 7, and a tuple of it."""
    text = (
        f"stream s(k: long in {{0, 2, 3}}, v: double) from json 'in'; q := {relation}; emit q to json 'out';"
    )
    plan = compile_query(text).plan
    items = [{"$punctuation": before}, {"$accent": "[[grow(k, {7})]]"}, {"k": 7, "v": 1.0}]
    output = list[Item]()
    feed(Reference(plan), plan.emits[0].name, [("s", item) for item in items], output)
    return output


def test_an_output_closes_no_value_that_may_come_later() -> None:
    """The other values of `k >= 1` are closed, but 7 may come."""
    assert _grown_output("s", "[k >= 1, k <= 5]") == [
        {"$punctuation": "[k in [1, 6)]"},
        {"$accent": "[[grow(k, {7})]]"},
        {"k": 7, "v": 1.0},
    ]


def test_a_growth_is_refused_once_an_output_is_closed_for_all_old_values() -> None:
    """The selection closes 0 and the punctuation the others, so that readers take all below 5 for closed (N1)."""
    with pytest.raises(DiagnosticError) as caught:
        _grown_output("select[k > 0](s)", "[k > 0, k < 5, v < 5]")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ222"
    assert diagnostic.message == (
        "the domain of `k` cannot grow: output `q` cannot continue: readers would take tuples of "
        "[v < 5] for late, because it has closed this for all old values"
    )


def test_a_growth_is_refused_once_sessions_are_closed_for_all_old_values() -> None:
    """Their state has closed them up to `v < 5`, whatever `k` is; 7 would bring another session."""
    with pytest.raises(DiagnosticError) as caught:
        _grown_output("session[3 on v as w](select[k > 0](s))", "[k > 0, k < 5, v < 5]")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ222"
    assert "Session `q` cannot continue: its inputs have closed something together" in diagnostic.message


# --- growth of a table that gives the domain (N1) ---

FLEET = TableColumn("fleet", "k")


def check_table(rng: Random, size: int, length: int) -> str:
    """One random case in which the table that gives both streams their domain has a new row at a random place."""
    made, _, items, bound = random_case(rng, size, length)
    text = from_table(made)
    small = with_values(compile_query(text).plan, {FLEET: frozenset({1, 2})})
    context = f"{text}\n{bound} of " + "\n".join(f"{source} {item}" for source, item in items)
    (emit,) = made.plan.emits
    reference, output = Reference(small), list[Item]()
    feed(reference, emit.name, [("fleet", {"$punctuation": "[]"}), *TABLE, *items[:bound]], output)
    assert reference.rejected == [], context
    try:
        reference.grow({FLEET: frozenset({2, 3})})  # 1 has gone from the table: it stays in the domain
    except DiagnosticError as error:
        if [diagnostic.code for diagnostic in error.diagnostics] != ["RQ222"]:
            raise
        return "refused"
    feed(reference, emit.name, items[bound:], output)
    assert bag(decode(output)) == meaning(made, items, reference.rejected, context), context
    initial = first_attributes(small.start[emit.relation])
    assert list(complaints(output, initial)) == [], context
    readable(small, output, context)
    return "grown"


@pytest.mark.parametrize("seeds", tiered([range(3), range(3, 12)]), ids=str)
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
