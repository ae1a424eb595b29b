"""SQL of functions of lists: their elements, sums and extremes, and texts that are split."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cedilla.compiler.expressions.scalars.scalar_sql import Writer
from cedilla.compiler.expressions.types import DOUBLE, Type, quote


def element_at(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes an element by its place from 1, or from the end if negative; undefined without one."""
    values, number = arguments
    behind = f"size({values}) + {number}"
    index = f"CASE WHEN {number} > 0 THEN {number} - 1 WHEN {number} < 0 AND {behind} >= 0 THEN {behind} END"
    return f"get({values}, {index})"


def total(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the sum of a list, undefined for an empty one and beyond a long."""
    (values,) = arguments
    summed = _of_doubles(values) if types[0].element == DOUBLE else _of_longs(values)
    return f"IF(size({values}) > 0, {summed}, NULL)"


def average(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the mean of a list, undefined for an empty one."""
    (values,) = arguments
    return f"IF(size({values}) > 0, {_of_doubles(values)} / CAST(size({values}) AS DOUBLE), NULL)"


def best(name: str) -> Writer:
    """Returns a writer of the greatest or the least element; of two zeros, the one without a sign."""

    def sql(arguments: Sequence[str], types: Sequence[Type]) -> str:
        text = f"{name}({arguments[0]})"
        return f"({text} + 0D)" if types[0].element == DOUBLE else text

    return sql


def split(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the parts of a text between separators, which engines take as a regular expression."""
    text, separator = arguments
    return f"split({text}, {separator})"


def pattern(separator: str) -> str:
    """Returns the regular expression of a text, as SQL."""
    return quote(re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", separator))


def _of_doubles(values: str) -> str:
    return f"aggregate({values}, 0D, (a, e) -> a + CAST(e AS DOUBLE))"


def _of_longs(values: str) -> str:
    return f"aggregate({values}, 0L, (a, e) -> try_add(a, CAST(e AS BIGINT)))"
