"""Reduces an epoch to points: medians of consecutive values of a group, few enough for the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil, log2
from statistics import median_low

from attrs import frozen

from cedilla.runtime.control.change_detection.groups import Group

MAX_TUPLES = 1 << 13
"""The most tuples of an epoch that are a point each, so that the cut into epochs decides nothing."""

TARGET_POINTS = 1 << 11
"""The target number of points of a larger epoch, of all groups together ..."""

_MIN_POINTS_OF_GROUP = 4
"""... and the minimum for each group."""

MAX_VALUE = 1e30
"""Larger values, NaN and infinities are ignored."""


@frozen
class Point:
    """Consecutive tuples of a group: median and number of values of each attribute, and the first place.

    A point may be a single tuple: its median is its value.
    """

    group: Group
    place: str
    medians: Mapping[str, float]
    counts: Mapping[str, int]


def run_bits(places: float, groups: int) -> int:
    """Returns the number of low bits of a place to ignore, so that runs of places make the points of an
    epoch.
    """
    wanted = max(_MIN_POINTS_OF_GROUP, TARGET_POINTS // max(1, groups))
    return max(0, ceil(log2(max(1.0, places / wanted))))


def points_of(
    tuples: Iterable[tuple[Group, str, Mapping[str, float | Fraction]]], bits: int
) -> Iterator[Point]:
    """Yields the points of tuples in stream order: group, place, values of attributes.

    The engine computes the same by an aggregate.
    """
    runs: dict[tuple[int, Group], tuple[str, dict[str, list[float]]]] = {}
    for number, (group, position, values) in enumerate(tuples):
        _, values_of = runs.setdefault((number >> bits, group), (position, {}))
        for name, value in values.items():
            if abs(value) <= MAX_VALUE:
                values_of.setdefault(name, []).append(float(value))
    for (_, group), (position, values_of) in runs.items():
        medians = {name: median_low(values) for name, values in values_of.items()}
        yield Point(group, position, medians, {name: len(values) for name, values in values_of.items()})
