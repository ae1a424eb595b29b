"""Quantiles of histograms, by the steps of `compiler/expressions/aggregates/histograms.py`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import double


def histogram_quantile(histograms: Iterable[tuple[Any, Any]], share: Any) -> float | None:
    """Returns a quantile of several histograms, given as buckets and bounds."""
    counts, having, number = defaultdict[float, float](float), Counter[float](), 0
    for buckets, bounds in histograms:
        if _is_one(values := [*map(double, buckets)], ends := [*map(double, bounds)]):
            number += 1
            for bound, count in zip((*ends, inf), values, strict=True):
                counts[bound] += count
                having[bound] += 1
    bounds = sorted(counts)
    up_to = accumulate(float(counts[bound]) for bound in bounds)
    common = [entry for entry in zip(bounds, up_to, strict=True) if having[entry[0]] == number]
    return _quantile(common, double(share))


def _is_one(buckets: Sequence[float], bounds: Sequence[float]) -> bool:
    rises = all(one < other for one, other in pairwise((-inf, *bounds, inf)))
    return bool(bounds) and len(buckets) == len(bounds) + 1 and rises


def _quantile(entries: Sequence[tuple[float, float]], share: float) -> float | None:
    passed, low = 0.0, None
    rank = share * entries[-1][1] if entries else 0.0
    for bound, count in entries:
        if count > passed and count >= rank:
            if bound == inf:
                return low
            part = (rank - passed) / (count - passed)
            if low is None:
                return bound * part if bound > 0 else bound
            return low + (bound - low) * part
        passed, low = count, bound
    return None


VALUES: dict[str, Callable[..., Any]] = {
    "histogram_quantile": lambda buckets, bounds, share: histogram_quantile([(buckets, bounds)], share),
}
