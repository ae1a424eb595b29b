"""Buckets and bounds of many exponential histograms at once, as `records.exponential` has them one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import frozen

from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.formats.otlp.levels import Refused
from cedilla.runtime.connectors.records.exponential import bound

pc: Any = pyarrow.compute

_Whole = Callable[[pa.Array], pa.Array]
"""Parses whole numbers of 64 bits, which JSON writes as texts."""


@frozen
class _Side:
    """The buckets of one sign: of each point the first index and the number of buckets, and all counts."""

    first: Places
    lengths: Places
    counts: Places

    @classmethod
    def of(cls, points: pa.StructArray, name: str, whole: _Whole) -> _Side:
        side = points.field(name)
        lists = pc.struct_field(side, "bucketCounts")
        if lists.flatten().null_count:
            raise Refused
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
        return cls(_numbers(pc.struct_field(side, "offset")), lengths, whole(lists.flatten()).to_numpy())

    @property
    def ends(self) -> Places:
        """The number of bounds of each point."""
        return np.where(self.lengths > 0, self.lengths + 1, 0)


def buckets(points: pa.StructArray, whole: _Whole) -> pa.ListArray:
    """Returns the counts of all buckets of each point."""
    negative, positive = (_Side.of(points, name, whole) for name in ("negative", "positive"))
    starts, offsets = _starts(negative.ends + 3 + positive.ends)
    counts = np.zeros(offsets[-1], np.int64)
    reversed_ = -_ranges(1 - np.cumsum(negative.lengths), negative.lengths)
    counts[_ranges(starts + 1, negative.lengths)] = negative.counts[reversed_]
    around = starts + 1 + negative.ends
    counts[around] = _numbers(whole(points.field("zeroCount")))
    counts[_ranges(around + 2, positive.lengths)] = positive.counts
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(counts))


def bounds(points: pa.StructArray, whole: _Whole) -> pa.ListArray:
    """Returns the bounds between the buckets of each point."""
    negative, positive = (_Side.of(points, name, whole) for name in ("negative", "positive"))
    scales, around = (
        _numbers(points.field("scale")),
        pc.fill_null(points.field("zeroThreshold"), 0.0).to_numpy(),
    )
    if not ((around >= 0) & np.isfinite(around)).all():
        raise Refused
    starts, offsets = _starts(negative.ends + 2 + positive.ends)
    values = np.empty(offsets[-1])

    def ends(indices: Places, lengths: Places) -> Any:
        powers = _powers(indices, np.repeat(scales, lengths))
        return np.maximum(np.repeat(around, lengths), powers)

    down = -_ranges(-negative.first - negative.lengths, negative.ends)
    values[_ranges(starts, negative.ends)] = -ends(down, negative.ends)
    middle = starts + negative.ends
    values[middle] = np.where(negative.lengths > 0, 0.0 - around, 0.0)
    values[middle + 1] = around
    values[_ranges(middle + 2, positive.ends)] = ends(_ranges(positive.first, positive.ends), positive.ends)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


def _powers(indices: Places, scales: Places) -> Any:
    """Returns 2**(index * 2**-scale). Each distinct power is computed as a single point has it."""
    with np.errstate(over="ignore", under="ignore"):
        exponents = np.ldexp(indices.astype(float), np.clip(-scales, -5000, 5000).astype(np.int32))
    distinct, numbers = np.unique(exponents, return_inverse=True)
    return np.array([*map(bound, distinct.tolist())], float)[numbers.ravel()]


def _numbers(values: pa.Array) -> Places:
    return pc.fill_null(values, 0).to_numpy()


def _starts(lengths: Places) -> tuple[Places, Places]:
    """Returns where each list begins, and these places with the end of the last one."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return offsets[:-1], offsets


def _ranges(first: Places, lengths: Places) -> Places:
    """Returns the numbers of several ranges, one range after the other.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    starts, offsets = _starts(lengths)
    return np.repeat(first - starts, lengths) + np.arange(offsets[-1])
