"""Random cases of domains that grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item
from tests.laws.reference_runs import Items, accepted, bag
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import ALL, World, canonical, stream, world


def before(world: World) -> str:
    """The query's text when the fleet had two members."""
    return world.text.replace("k: int in {1, 2, 3}", "k: int in {1, 2}", 2)


def without_newcomer(items: Items) -> Items:
    """Returns a stream without its new member: no tuples of it, and no marker that names it."""
    return [
        (source, item)
        for source, item in items
        if item.get("k") != 3
        and not any("k = 3" in str(item.get(m, "")) for m in ("$accent", "$punctuation"))
    ]


def random_case(
    rng: Random, size: int, length: int, kinds: tuple[str, ...] = ALL
) -> tuple[World, Plan, Items, int]:
    """A query, its plan when the fleet had two members, a valid stream, and after how many items the third comes."""
    made = world(rng, size, kinds)
    small = compile_query(before(made)).plan
    items = accepted(made.plan, stream(rng, length))
    bound = rng.randint(0, len(items))
    early = accepted(small, without_newcomer(items[:bound]))
    return made, small, accepted(made.plan, [*early, *items[bound:]]), len(early)


def meaning(
    made: World, items: Items, rejected: Sequence[tuple[str, str, Mapping[str, Any]]], context: str
) -> Counter[Any]:
    """Returns the result of the query for a whole stream without its rejected tuples, late ones of the newcomer."""
    rest = list(items)
    for source, code, item in rejected:
        assert code == "RQ305", context
        assert item["k"] == 3, context  # only the newcomer's, where its past is closed
        rest.remove((source, dict(item)))
    return bag(evaluate_plan(made.plan, canonical(rest))[made.plan.emits[0].relation])


GROWTHS: Items = [(source, {"$accent": "[[grow(k, {3})]]"}) for source in ("r", "s")]


def from_table(world: World) -> str:
    """The query's text where both streams have their domain from a table."""
    return 'table fleet(k: int) from json "fleet";' + world.text.replace(
        "k: int in {1, 2, 3}", "k: int in fleet.k", 2
    )


def feed(reference: Reference, emit: str, items: Items, output: list[Item]) -> None:
    """Adds to `output` what an emit says of items. Raises `DiagnosticError` where a marker ends the query."""
    for item in items:
        for outputs in reference.step([item]):
            output += outputs[emit].items()
