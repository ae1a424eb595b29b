"""Partitions of a topic in the control plane (theory D1, G38, N9).

A topic is the union of its partitions, each an ordered stream with markers of its own. So the state of its source is
over one more attribute, `regions.PARTITION`: a marker describes tuples of its own partition, and the facts of the topic
are what is left when that attribute is projected away. A partition that is added is a domain that grows (theory N1).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Facts, fold_closed, fold_presence, fold_units
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.compiler.regions import PARTITION, Domain, Tree, Universe

_OVER = frozenset({PARTITION})
TYPE = Type("int")
"""That of the number of a partition."""


def region_of(partition: int) -> Tree:
    """The tuples of a partition."""
    return regions.values(PARTITION, [partition])


def with_partitions(universe: Universe, count: int | None) -> Universe:
    """The values that attributes may have in a topic of so many partitions; `None`: it is no topic."""
    return (
        universe
        if count is None
        else {**universe, PARTITION: Domain(regions.values(PARTITION, range(count)), True)}
    )


def within(region: Tree, partition: int | None) -> Tree:
    """What of a region is in a partition; `None`: in any."""
    return region if partition is None else regions.intersection(region, region_of(partition))


def accent_within(accent: Accent, partition: int | None) -> Accent:
    """An accent as it holds for the partition that it stands in."""
    return evolve(accent, description=within(accent.description, partition))


def punctuation_within(punctuation: Punctuation, partition: int | None) -> Punctuation:
    """A punctuation as it holds for the partition that it stands in."""
    return evolve(punctuation, pattern=within(punctuation.pattern, partition))


def together(facts: Facts) -> Facts:
    """The facts of a topic, from those by partition: one feeder each (D1)."""
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
    """The tuples of a region, whichever partition they come from."""
    return regions.exists(region, _OVER, universe)


def described(facts: Facts) -> Mapping[str, Type]:
    """The types of all that regions over facts may name, the partition too."""
    return {**facts.types, PARTITION: TYPE} if PARTITION in facts.universe else facts.types
