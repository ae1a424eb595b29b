"""Aggregate functions in plain Python, over all rows of a group: what `compiler/functions.py` must agree with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, isnan, prod, sqrt
from typing import Any

from cedilla.compiler.functions import FUNCTIONS
from cedilla.compiler.operators import Call
from cedilla.runtime.evaluate import Row, evaluate

ORDER = "$order"
"""A row's place: numbers that compare as tuples have arrived, or as a sort has put them (`Plan.placed`)."""


def comparable(value: Any) -> Any:
    """A value as a key of a dictionary."""
    return tuple(value) if isinstance(value, list) else value


def rank(value: Any) -> Any:
    """A value to order by, as Spark orders: ⊥ first, NaN last."""
    if value is None:
        return (0, 0)
    return (2, 0) if isinstance(value, float) and isnan(value) else (1, value)


def result(call: Call, rows: Sequence[Row]) -> Any:
    """An aggregate function over the rows of a group; undefined values do not count (theory 2.8)."""
    if call.where is not None:
        rows = [row for row in rows if evaluate(call.where, row) is True]
    if not call.arguments:
        return len(rows)
    if FUNCTIONS[call.function].ordered:  # values of one place are told apart by themselves
        rows = sorted(rows, key=lambda r: (r.get(ORDER, 0), rank(evaluate(call.arguments[0], r))))
    values = [[evaluate(argument, row) for argument in call.arguments] for row in rows]
    pairs = [v for v in values if all(x is not None for x in v)]
    if call.distinct:
        pairs = list({tuple(map(comparable, v)): v for v in pairs}.values())
    return _FUNCTIONS[call.function](*zip(*pairs, strict=True)) if pairs else _NOTHING.get(call.function)


_NOTHING: dict[str, Any] = {"count": 0}


def _average(x: Sequence[Any]) -> Any:
    return sum(x) / len(x)


def _variance(x: Sequence[Any]) -> Any:
    if len(x) < 2:
        return None
    mean = _average(x)
    return sum((v - mean) ** 2 for v in x) / (len(x) - 1)


def _stddev(x: Sequence[Any]) -> Any:
    variance = _variance(x)
    return None if variance is None else sqrt(variance)


def _quantile(x: Sequence[Any], share: Sequence[Any]) -> Any:
    ordered = sorted(x)
    place = Fraction(share[0]) * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * float(place - low)


def _moments(x: Sequence[Any], y: Sequence[Any]) -> tuple[Any, Any, Any]:
    a, b = _average(x), _average(y)
    return (
        sum((v - a) ** 2 for v in x),
        sum((w - b) ** 2 for w in y),
        sum((v - a) * (w - b) for v, w in zip(x, y, strict=True)),
    )


def _correlation(x: Sequence[Any], y: Sequence[Any]) -> Any:
    xx, yy, xy = _moments(x, y)
    return xy / sqrt(xx * yy) if len(set(x)) > 1 and len(set(y)) > 1 else None


def _slope(y: Sequence[Any], x: Sequence[Any]) -> Any:
    xx, _, xy = _moments(x, y)
    return xy / xx if len(set(x)) > 1 else None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "avg": _average,
    "sum": sum,
    "count": lambda x, *_: len(x),
    "min": min,
    "max": max,
    "var": _variance,
    "stddev": _stddev,
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "median": lambda x: _quantile(x, [Fraction(1, 2)]),
    "quantile": _quantile,
    "collect": list,
    "largest": lambda x, count: sorted(x, reverse=True)[: count[0]],
    "smallest": lambda x, count: sorted(x)[: count[0]],
    "product": prod,
    "corr": _correlation,
    "slope": _slope,
}
