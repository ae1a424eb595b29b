"""Quantiles of histograms: counts by bucket, and the bounds between the buckets, as OpenTelemetry and Prometheus have
them.

A histogram is an array of entries, structs: the bounds `low` and `high` of a bucket with values, and their `count`.
Histograms are added entry by entry, whatever their buckets. A quantile spreads the values of each entry evenly between
its bounds, so that entries may overlap. Values below the first bound begin at 0, or are at the bound if it is not above
0. Values beyond the last one are at that bound.
`runtime/engines/plain/scalars/histograms.py` takes the same steps.

No lambda reads an array from outside of itself, because Sail copies it for each element.
"""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler.expressions.aggregates.aggregate_parts import let
from cedilla.compiler.expressions.types import Type

ENTRIES = "ARRAY<STRUCT<low: DOUBLE, high: DOUBLE, count: DOUBLE>>"
_LAST = "get(h.b, size(h.b) - 1)"


def histogram(buckets: str, bounds: str) -> str:
    """Writes a histogram; undefined unless the bounds are finite and do not fall, and each lies between two buckets."""
    is_one = (
        "size(h.b) > 0 AND size(h.c) = size(h.b) + 1 AND array_sort(h.b) = h.b "
        f"AND {_LAST} < double('Infinity') AND get(h.b, 0) > double('-Infinity')"
    )
    lows = "concat(array(least(get(h.b, 0), 0D)), h.b)"
    entries = f"CAST(arrays_zip({lows}, concat(h.b, array({_LAST})), h.c) AS {ENTRIES})"
    with_values = f"IF({is_one}, filter({entries}, e -> e.count > 0), NULL)"
    return let(f"named_struct('c', {buckets}, 'b', {bounds})", "h", with_values)


_ENDS = (
    "array_sort(flatten(transform(h, e -> IF(e.low < e.high, array("
    "named_struct('at', e.low, 'open', 1L, 'count', 0D, 'slope', e.count / (e.high - e.low)), "
    "named_struct('at', e.high, 'open', -1L, 'count', e.count, 'slope', -e.count / (e.high - e.low))), "
    "array(named_struct('at', e.low, 'open', 0L, 'count', e.count, 'slope', 0D))))))"
)
"""Both ends of each entry `h` in ascending order: how many entries begin there, the values of those that end, and the
change of the values by unit."""


def quantile(histogram: str, share: str) -> str:
    """Writes a quantile, undefined without values: the least place with this share of the values up to it.

    It passes over the ends of entries. `at`: the last end; `count`: the values of entries that ended; `part`: those of
    the `open` entries up to there. These are set to 0 where no entry is open, so that nothing is lost by rounding.
    """
    part = "(a.part + a.slope * (e.at - coalesce(a.at, e.at)))"
    is_none_open = "a.open + e.open = 0"
    left = f"IF({is_none_open}, 0D, {part} - IF(e.open < 0, e.count, 0D))"
    before, up_to = "(a.count + a.part)", f"(a.count + {part})"
    value = (
        f"CASE WHEN a.value IS NOT NULL THEN a.value WHEN {up_to} >= a.rank AND {up_to} > {before} "
        f"THEN a.at + (e.at - a.at) * ((a.rank - {before}) / ({up_to} - {before})) "
        f"WHEN a.count + e.count + {left} >= a.rank THEN e.at END"
    )
    step = (
        f"named_struct('at', e.at, 'open', a.open + e.open, 'count', a.count + e.count, 'part', {left}, "
        f"'slope', IF({is_none_open}, 0D, a.slope + e.slope), 'value', {value}, 'rank', a.rank)"
    )
    none, rank = "CAST(NULL AS DOUBLE)", f"{share} * aggregate(h, 0D, (a, e) -> a + e.count)"
    start = (
        f"named_struct('at', {none}, 'open', 0L, 'count', 0D, 'part', 0D, 'slope', 0D, "
        f"'value', {none}, 'rank', {rank})"
    )
    return let(histogram, "h", f"aggregate({_ENDS}, {start}, (a, e) -> {step}).value")


def quantile_of_one(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the quantile of the histogram of one tuple."""
    buckets, bounds, share = arguments
    return quantile(histogram(buckets, bounds), share)
