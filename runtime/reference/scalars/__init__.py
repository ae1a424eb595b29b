"""Scalar functions in plain Python, one file per subject; what they take and give is said in `scalar_functions.py`.

Values are those of `runtime/reference/evaluate.py`.
"""

from collections.abc import Callable
from typing import Any

from cedilla.runtime.reference.scalars import choices, conversions, hashes, numbers, strings, times

VALUES: dict[str, Callable[..., Any]] = {
    **numbers.VALUES,
    **choices.VALUES,
    **strings.VALUES,
    **hashes.VALUES,
    **times.VALUES,
    **conversions.VALUES,
}
"""What each function gives for arguments as it takes them, by the function's first name."""

__all__ = ["VALUES"]
