"""The points of an epoch: medians of consecutive values of a group, few enough for the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil, log2
from statistics import median_low

from attrs import frozen

from cedilla.runtime.jumps.groups import Group

MOST_POINTS = 1 << 11
"""So many points of an epoch are wanted, of all groups together ..."""

_LEAST_POINTS = 4
"""... but this many of each group."""

LARGEST = 1e30
"""Values beyond, NaN and infinities are not looked at."""


@frozen
class Point:
    """Consecutive tuples of a group: of each attribute the median and how many values it is of, and where they begin.

    One tuple is the least of them: its median is its value.
    """

    group: Group
    place: str
    medians: Mapping[str, float]
    counts: Mapping[str, int]


def run_bits(places: float, groups: int) -> int:
    """2 to this power consecutive places of a source are to make the points of an epoch, one a group."""
    wanted = max(_LEAST_POINTS, MOST_POINTS // max(1, groups))
    return max(0, ceil(log2(max(1.0, places / wanted))))


def points_of(
    tuples: Iterable[tuple[Group, str, Mapping[str, float | Fraction]]], bits: int
) -> Iterator[Point]:
    """The points of tuples in stream order: group, place, values of attributes. The plain form of what the engine
    computes by an aggregate."""
    runs: dict[tuple[int, Group], tuple[str, dict[str, list[float]]]] = {}
    for number, (group, place, values) in enumerate(tuples):
        _, values_of = runs.setdefault((number >> bits, group), (place, {}))
        for name, value in values.items():
            if abs(value) <= LARGEST:
                values_of.setdefault(name, []).append(float(value))
    for (_, group), (place, values_of) in runs.items():
        medians = {name: median_low(values) for name, values in values_of.items()}
        yield Point(group, place, medians, {name: len(values) for name, values in values_of.items()})
