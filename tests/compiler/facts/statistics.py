"""Statistics of samples, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any


def variance(sample: Sequence[Fraction]) -> Fraction:
    mean = Fraction(sum(sample), len(sample))
    return Fraction(sum((v - mean) ** 2 for v in sample), len(sample) - 1)


def quantile(sample: Sequence[Any], share: Fraction) -> Any:
    ordered, rank = sorted(sample), share * (len(sample) - 1)
    low, high = ordered[floor(rank)], ordered[ceil(rank)]
    return low + (high - low) * (rank - floor(rank))
