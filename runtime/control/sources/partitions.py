"""Partitions of a topic in the control plane (theory D1, G38, N9).

A topic is the union of its partitions, each an ordered stream with markers of its own. The state of its source
therefore has one more attribute, `regions.PARTITION`. A marker describes tuples of its own partition. Projecting that
attribute away gives the facts of the topic. An added partition is a domain that grows (theory N1).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Facts, fold_closed, fold_presence, fold_units
from cedilla.compiler.regions import PARTITION, Domain, Tree, Universe

_OVER = frozenset({PARTITION})
TYPE = Type("int")
"""Type of a partition's number."""


def region_of(partition: int) -> Tree:
    """Returns the tuples of a partition."""
    return regions.values(PARTITION, [partition])


def with_partitions(universe: Universe, count: int | None) -> Universe:
    """Returns the domains of attributes in a topic with `count` partitions; `None`: the source is not a topic."""
    return (
        universe
        if count is None
        else {**universe, PARTITION: Domain(regions.values(PARTITION, range(count)), True)}
    )


def within(region: Tree, partition: int | None) -> Tree:
    """Returns the part of a region in a partition; `None`: in all partitions."""
    return region if partition is None else regions.intersection(region, region_of(partition))


def merge_partitions(facts: Facts) -> Facts:
    """Merges the facts of a topic over its partitions; each partition is one feeder (D1)."""
    if PARTITION not in facts.universe:
        return facts
    return evolve(
        facts,
        universe={name: domain for name, domain in facts.universe.items() if name != PARTITION},
        present={name: fold_presence(facts, tree, _OVER) for name, tree in facts.present.items()},
        units={name: fold_units(facts, name, _OVER) for name in facts.units},
        closed=fold_closed(facts, _OVER),
    )


def anywhere(region: Tree, universe: Universe) -> Tree:
    """Returns the tuples of a region in any partition."""
    return regions.exists(region, _OVER, universe)


def described(facts: Facts) -> Mapping[str, Type]:
    """Returns the types of all attributes that regions over facts may name, including the partition."""
    return {**facts.types, PARTITION: TYPE} if PARTITION in facts.universe else facts.types
