"""Functions of lists, which have defined elements only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cedilla.runtime.engines.plain.scalars.arithmetic import double, in_range
from cedilla.runtime.engines.plain.scalars.choices import VALUES as CHOICES


def _element_at(values: Sequence[Any], number: int) -> Any:
    index = number - 1 if number > 0 else len(values) + number
    return values[index] if number and 0 <= index < len(values) else None


def _sum(values: Sequence[Any]) -> Any:
    if not values:
        return None
    if not all(isinstance(value, int) for value in values):
        return _of_doubles(values)
    total: int | None = 0
    for value in values:  # a sum that leaves a long on the way is undefined, as on engines
        total = None if total is None else in_range(total + value)
    return total


def _of_doubles(values: Sequence[Any]) -> float:
    total = 0.0
    for value in values:
        total += double(value)
    return total


def _best(name: str) -> Callable[[Sequence[Any]], Any]:
    return lambda values: CHOICES[name](*values) if values else None


VALUES: dict[str, Callable[..., Any]] = {
    "size": len,
    "element_at": _element_at,
    "list_sum": _sum,
    "list_avg": lambda values: _of_doubles(values) / len(values) if values else None,
    "list_min": _best("least"),
    "list_max": _best("greatest"),
    "split": lambda text, separator: text.split(separator),
}
