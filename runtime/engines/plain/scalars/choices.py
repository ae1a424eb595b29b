"""Functions that choose one of several values, or test if a value is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cedilla.runtime.engines.plain.scalars.comparisons import compare


def _best(better: str) -> Callable[..., Any]:
    def best(*arguments: Any) -> Any:
        choice: Any = None
        for value in arguments:
            if value is not None and (choice is None or compare(better, value, choice)):
                choice = value
        return choice + 0.0 if isinstance(choice, float) else choice  # of two zeros, the one without a sign

    return best


def _coalesce(*arguments: Any) -> Any:
    return next((value for value in arguments if value is not None), None)


def _null_if(x: Any, y: Any) -> Any:
    return None if x is not None and y is not None and compare("=", x, y) else x


VALUES: dict[str, Callable[..., Any]] = {
    "greatest": _best(">"),
    "least": _best("<"),
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nvl2": lambda x, y, z: z if x is None else y,
    "if": lambda condition, x, y: x if condition else y,
    "nullif": _null_if,
    "isnull": lambda x: x is None,
    "isnotnull": lambda x: x is not None,
}
