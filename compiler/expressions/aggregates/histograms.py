"""Quantiles of histograms: counts by bucket, and the bounds between the buckets, as OpenTelemetry and Prometheus have
them.

A histogram is an array of structs: a bound `b`, the last one infinite, the count `c` of the bucket below it, and the
number `n` of histograms that have this bound. Several histograms are added bound by bound. How many values lie up to a
bound is known if all of them have it, so that histograms of different bounds are merged by their common ones.
`runtime/engines/plain/scalars/histograms.py` takes the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler.expressions.aggregates.aggregate_parts import let
from cedilla.compiler.expressions.types import Type

_END = "double('Infinity')"
_EMPTY = "CAST(array() AS ARRAY<STRUCT<b: DOUBLE, c: DOUBLE, n: BIGINT>>)"
_LAST = "get(h, size(h) - 1)"


def histogram(buckets: str, bounds: str) -> str:
    """Writes a histogram; undefined unless the bounds are finite and rise, and each lies between two buckets."""
    is_one = (
        "size(h.b) > 0 AND size(h.c) = size(h.b) + 1 AND array_sort(array_distinct(h.b)) = h.b "
        f"AND get(h.b, size(h.b) - 1) < {_END} AND get(h.b, 0) > double('-Infinity')"
    )
    entry = f"named_struct('b', coalesce(get(h.b, i), {_END}), 'c', CAST(v AS DOUBLE), 'n', 1L)"
    entries = f"transform(h.c, (v, i) -> {entry})"
    return let(f"named_struct('c', {buckets}, 'b', {bounds})", "h", f"IF({is_one}, {entries}, NULL)")


def merged(histograms: str) -> str:
    """Writes the sum of an array of histograms. Those of one layout, as one producer sends them, need no search."""
    have_same = "transform(a, x -> x.b) = transform(e, x -> x.b)"
    added = "transform(a, (x, i) -> named_struct('b', x.b, 'c', x.c + get(e, i).c, 'n', x.n + get(e, i).n))"
    step = f"IF({have_same}, {added}, IF(size(a) = 0, e, {_by_bounds('concat(a, e)')}))"
    return f"aggregate({histograms}, {_EMPTY}, (a, e) -> {step})"


def _by_bounds(entries: str) -> str:
    """Adds the entries of each bound."""
    last = "get(s, size(s) - 1)"
    both = f"named_struct('b', v.b, 'c', {last}.c + v.c, 'n', {last}.n + v.n)"
    step = f"IF({last}.b = v.b, concat(slice(s, 1, size(s) - 1), array({both})), concat(s, array(v)))"
    return f"aggregate(array_sort({entries}), {_EMPTY}, (s, v) -> {step})"


def quantile(histogram: str, share: str) -> str:
    """Writes a quantile: linear inside of a bucket, from 0 in the first one, and the last bound beyond it. Undefined
    for no values, or without a common bound."""
    up_to = "(a.all + e.c)"
    part = f"(a.rank - a.up_to) / nullif({up_to} - a.up_to, 0)"
    value = (
        f"CASE WHEN a.value IS NOT NULL OR {up_to} <= a.up_to OR {up_to} < a.rank THEN a.value "
        f"WHEN e.b = {_END} THEN a.low "
        f"WHEN a.low IS NULL THEN IF(e.b > 0, e.b * ({part}), e.b) "
        f"ELSE a.low + (e.b - a.low) * ({part}) END"
    )
    none = "CAST(NULL AS DOUBLE)"
    rank = f"{share} * aggregate(h, 0D, (a, e) -> a + e.c)"
    start = f"named_struct('all', 0D, 'up_to', 0D, 'low', {none}, 'value', {none}, 'rank', {rank}, 'n', {_LAST}.n)"
    common = f"named_struct('all', {up_to}, 'up_to', {up_to}, 'low', e.b, 'value', {value}, 'rank', a.rank, 'n', a.n)"
    other = f"named_struct('all', {up_to}, 'up_to', a.up_to, 'low', a.low, 'value', a.value, 'rank', a.rank, 'n', a.n)"
    return let(histogram, "h", f"aggregate(h, {start}, (a, e) -> IF(e.n = a.n, {common}, {other})).value")


def quantile_of_one(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the quantile of the histogram of one tuple."""
    buckets, bounds, share = arguments
    return quantile(histogram(buckets, bounds), share)
