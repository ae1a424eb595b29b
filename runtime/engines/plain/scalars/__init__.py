"""Scalar functions in plain Python, one file per subject; `scalar_functions.py` defines their types.

Values are those of `runtime/engines/plain/evaluate.py`.
"""

from collections.abc import Callable
from typing import Any

from cedilla.runtime.engines.plain.scalars import (
    choices,
    conversions,
    encodings,
    hashes,
    histograms,
    lists,
    numbers,
    strings,
    times,
)

VALUES: dict[str, Callable[..., Any]] = {
    **numbers.VALUES,
    **choices.VALUES,
    **strings.VALUES,
    **hashes.VALUES,
    **encodings.VALUES,
    **times.VALUES,
    **conversions.VALUES,
    **histograms.VALUES,
    **lists.VALUES,
}
"""Name of a function -> its result for arguments of its kinds."""

__all__ = ["VALUES"]
