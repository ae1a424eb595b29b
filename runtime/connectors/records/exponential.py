"""Exponential histograms of OpenTelemetry as buckets and bounds, as those with explicit bounds have them.

A bucket of index i has the values above base**i, up to base**(i + 1), where base = 2**(2**-scale). Each bound is the
double that is nearest to a power of 2 whose exponent is exact. So the bounds of a scale are among those of each greater
scale, and histograms of different scales are added without a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import exp2, inf, ldexp
from sys import float_info
from typing import Any, cast

NAME = "exponentialHistogram"
_LEAST = -1100
"""An exponent below that of the least double."""


def bound(exponent: float) -> float:
    """Returns a power of 2, or the nearest finite double.

    >>> bound(1.5), bound(-3000), bound(3000) < inf
    (2.8284271247461903, 0.0, True)
    """
    return float_info.max if exponent >= float_info.max_exp else exp2(max(exponent, _LEAST))


def exponent(index: int, scale: int) -> float:
    """Returns the exponent of the lower bound of a bucket: index * 2**-scale."""
    try:
        return ldexp(index, -scale)
    except OverflowError:
        return inf if index > 0 else -inf


def buckets_of(zeros: Any, negative: Sequence[Any], positive: Sequence[Any]) -> list[Any]:
    """Returns the counts of all buckets. `zeros`: that of values around 0.

    >>> buckets_of(5, [1, 2], [3, 4])
    [0, 2, 1, 0, 5, 0, 3, 4, 0]
    """
    below = [*reversed(negative), 0] if negative else []
    return [0, *below, zeros, *([0, *positive] if positive else []), 0]


def bounds_of(scale: int, around: float, negative: tuple[int, int], positive: tuple[int, int]) -> list[float]:
    """Returns the bounds between the buckets. `around`: the greatest value around 0. `negative`, `positive`: the first
    index, and the number of buckets.

    Zero has its own place, from 0 or, if there are negative buckets, from -around.

    >>> bounds_of(0, 0.5, (0, 0), (1, 2))
    [0.0, 0.5, 2.0, 4.0, 8.0]
    >>> bounds_of(0, 0.5, (0, 1), (-3, 1))
    [-2.0, -1.0, -0.5, 0.5, 0.5, 0.5]
    """

    def ends(first: int, count: int) -> list[float]:
        indices = range(first, first + count + 1) if count else ()
        return [max(around, bound(exponent(index, scale))) for index in indices]

    below = [-end for end in reversed(ends(*negative))]
    return [*below, 0.0 - around if below else 0.0, around, *ends(*positive)]


def listed(
    point: Mapping[str, Any], name: str, whole: Callable[[Any], Any], number: Callable[[Any], Any]
) -> Any:
    """Returns the field `buckets` or `bounds` of a data point; of a malformed one the part that is wrong, an object.

    `whole` and `number` read a whole number of 64 bits and a double. Parts that protobuf leaves out are 0 or empty.
    """
    counts: dict[str, list[Any]] = {}
    first: dict[str, Any] = {}
    for key in ("negative", "positive"):
        side: Any = _present(point, key, {})
        listed = _present(side, "bucketCounts", []) if isinstance(side, dict) else None
        if not isinstance(listed, list):
            return {key: side}
        counts[key] = [whole(count) for count in cast(list[Any], listed)]
        first[key] = whole(_present(side, "offset", 0))
    if name == "buckets":
        return buckets_of(whole(_present(point, "zeroCount", 0)), counts["negative"], counts["positive"])
    scale, around = whole(_present(point, "scale", 0)), number(_present(point, "zeroThreshold", 0))
    wrong = {key: value for key, value in {"scale": scale, **first}.items() if not _is_number(value, int)}
    if not _is_number(around, int | float | Decimal) or not 0 <= around < inf:
        wrong["zeroThreshold"] = around
    sides = ((first[key], len(counts[key])) for key in ("negative", "positive"))
    return wrong or bounds_of(scale, float(around), *sides)


def _present(of: Mapping[str, Any], key: str, default: Any) -> Any:
    return default if (value := of.get(key)) is None else value


def _is_number(value: Any, type_: Any) -> bool:
    return isinstance(value, type_) and not isinstance(value, bool)
