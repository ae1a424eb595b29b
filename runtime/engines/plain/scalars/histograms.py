"""Quantiles of histograms, by the steps of `compiler/expressions/aggregates/histograms.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import double

_Entry = tuple[float, float]


def histogram_quantile(histograms: Iterable[tuple[Any, Any]], share: Any) -> float | None:
    """Returns a quantile of several histograms, given as buckets and bounds."""
    counts = defaultdict[_Entry, float](float)
    for buckets, bounds in histograms:
        if _is_one(values := [*map(double, buckets)], ends := [*map(double, bounds)]):
            lows, highs = (min(ends[0], 0.0), *ends), (*ends, ends[-1])
            for low, high, count in zip(lows, highs, values, strict=True):
                if count > 0:
                    counts[low, high] += count
    return _quantile(counts, double(share))


def _is_one(buckets: Sequence[float], bounds: Sequence[float]) -> bool:
    is_finite = all(-inf < bound < inf for bound in bounds)
    return (
        bool(bounds)
        and len(buckets) == len(bounds) + 1
        and is_finite
        and all(a <= b for a, b in pairwise(bounds))
    )


def _ends(counts: Mapping[_Entry, float]) -> Iterator[tuple[float, int, float, float]]:
    """Yields the ends of entries: the place, how many entries begin, the values of one that ends, and the change of the
    values by unit."""
    for (low, high), count in counts.items():
        if low < high:
            slope = count / (high - low)
            yield low, 1, 0.0, slope
            yield high, -1, count, -slope
        else:
            yield low, 0, count, 0.0


def _quantile(counts: Mapping[_Entry, float], share: float) -> float | None:
    rank = share * sum(counts.values())
    last, is_open, ended, part, slope = None, 0, 0.0, 0.0, 0.0
    for at, begin, count, change in sorted(_ends(counts)):
        before = ended + part
        part += 0.0 if last is None else slope * (at - last)
        if last is not None and (up_to := ended + part) >= rank and up_to > before:
            return last + (at - last) * ((rank - before) / (up_to - before))
        last, is_open, ended, slope = at, is_open + begin, ended + count, slope + change
        part -= count if begin < 0 else 0.0
        if not is_open:
            part, slope = 0.0, 0.0
        if ended + part >= rank:
            return at
    return None


VALUES: dict[str, Callable[..., Any]] = {
    "histogram_quantile": lambda buckets, bounds, share: histogram_quantile([(buckets, bounds)], share),
}
