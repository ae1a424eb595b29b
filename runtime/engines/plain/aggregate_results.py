"""Aggregate functions in plain Python, over all rows of a group; `aggregate_functions.py` must agree with
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from math import atan2, ceil, cos, floor, fmod, isfinite, nan, prod, sin, sqrt
from operator import and_, or_
from typing import Any

from cedilla.compiler.expressions.aggregates import angles
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS
from cedilla.compiler.expressions.expressions import attributes
from cedilla.compiler.expressions.types import LONG, Type
from cedilla.compiler.operators import Call
from cedilla.runtime.connectors.records.rejections import beyond
from cedilla.runtime.engines.plain.evaluate import Row, evaluate
from cedilla.runtime.engines.plain.scalars.arithmetic import double, is_odd, loses_digits
from cedilla.runtime.engines.plain.scalars.histograms import histogram_quantile
from cedilla.runtime.engines.plain.scalars.numbers import rounded
from cedilla.runtime.engines.plain.scalars.order import comparable, equal, rank

ORDER = "$order"
"""The order of rows: numbers that compare as tuples arrived, or as a sort ordered them (`Plan.placed`)."""


def result(
    call: Call, rows: Sequence[Row], types: Mapping[str, Type] | None = None, type_: Type | None = None
) -> Any:
    """Applies an aggregate function to the rows of a group; undefined values do not count (theory 2.8).

    `types`: of the attributes; `type_`: of the result. A sum that does not fit its type is undefined.
    """
    if call.where is not None:
        rows = [row for row in rows if evaluate(call.where, row, types) is True]
    if not call.arguments:
        return len(rows)
    if FUNCTIONS[call.function].ordered:  # values of one place are ordered by themselves
        rows = sorted(rows, key=lambda r: (r.get(ORDER, 0), rank(evaluate(call.arguments[0], r, types))))
    values = [[evaluate(argument, row, types) for argument in call.arguments] for row in rows]
    pairs = [v for v in values if all(x is not None for x in v)]
    if call.distinct:
        firsts: dict[Any, list[Any]] = {}
        for pair in pairs:
            firsts.setdefault(comparable(pair), pair)
        pairs = [*firsts.values()]
        if call.function in ("sum", "avg"):  # doubles are added in ascending order
            pairs.sort(key=lambda v: rank(v[0]))
    if not pairs:
        return _NOTHING.get(call.function)
    if call.function == "sum":
        _check_sum(call, [v for (v,) in pairs])
    value = _FUNCTIONS[call.function](*zip(*pairs, strict=True))
    return None if call.function == "sum" and type_ is not None and not _fits(value, type_) else value


def _check_sum(call: Call, values: Sequence[Any]) -> None:
    """Raises RQ310 if an Alter came among the values, and the sum of the exact numbers before it is not kept by a
    double.
    """
    whole = [v for v in values if isinstance(v, int | Fraction)]
    if len(whole) < len(values) and loses_digits(sum(whole)):
        raise beyond(min(attributes(call.arguments[0]), default=call.function))


def _fits(value: Any, type_: Type) -> bool:
    if type_.name == "decimal":
        precision, scale = type_.parameters
        return abs(value) * 10**scale < 10**precision
    return type_ != LONG or -(2**63) <= value < 2**63


_NOTHING: dict[str, Any] = {"count": 0}


def _average(x: Sequence[Any]) -> Any:
    return sum(x) / len(x)


def _average_angle(x: Sequence[Any], circle: Sequence[Any]) -> float | None:
    """Returns the circular mean, in the arithmetic of `angles`."""
    values, full = [*map(double, x)], double(circle[0])
    if not all(map(isfinite, values)):
        return nan
    radians = [fmod(value, full) / full * angles.TURN for value in values]
    y, x_ = (float(sum(round(of(angle) * angles.UNIT) for angle in radians)) for of in (sin, cos))
    if sqrt(y * y + x_ * x_) < len(values) * (angles.MIN_LENGTH * angles.UNIT):
        return None
    direction = floor(atan2(y, x_) / angles.TURN * angles.STEPS + 0.5)
    return float(direction % angles.STEPS) * full / angles.STEPS


def _covariance(x: Sequence[Any], y: Sequence[Any], less: int = 1) -> Any:
    """Returns the covariance of a sample, or of a population if `less` is 0."""
    if len(x) <= less:
        return None
    a, b = _average(x), _average(y)
    return sum((v - a) * (w - b) for v, w in zip(x, y, strict=True)) / (len(x) - less)


def _variance(x: Sequence[Any], less: int = 1) -> Any:
    return _covariance(x, x, less)


def _stddev(x: Sequence[Any], less: int = 1) -> Any:
    variance = _variance(x, less)
    return None if variance is None else sqrt(variance)


def _mode(x: Sequence[Any]) -> Any:
    """Returns the most frequent value; of several, the least."""
    counts = Counter(map(comparable, x))
    return min(x, key=lambda value: (-counts[comparable(value)], rank(value)))


def _extreme(of: Callable[..., Any]) -> Callable[[Sequence[Any], Sequence[Any]], Any]:
    """Returns the `x` of the extreme `y`; of several, the extreme one."""
    return lambda x, y: of(zip(x, y, strict=True), key=lambda pair: (rank(pair[1]), rank(pair[0])))[0]


def _bits(of: Callable[[int, int], int]) -> Callable[[Sequence[Any]], int | None]:
    def result(x: Sequence[Any]) -> int | None:
        numbers = [int(rounded(value)) for value in x if not is_odd(value)]
        whole = [number for number in numbers if -(2**63) <= number < 2**63]
        return reduce(of, whole) if whole else None

    return result


def _quantile(x: Sequence[Any], share: Sequence[Any]) -> Any:
    values = sorted(map(double, x), key=rank)
    exact_rank = Fraction(share[0]) * (len(values) - 1)
    low, high = values[floor(exact_rank)], values[ceil(exact_rank)]
    return low if equal(low, high) else low + (high - low) * float(exact_rank - floor(exact_rank))


def _product(x: Sequence[Any]) -> float:
    return prod(sorted(map(double, x), key=rank))


def _moments(x: Sequence[Any], y: Sequence[Any]) -> tuple[Any, Any, Any]:
    a, b = _average(x), _average(y)
    return (
        sum((v - a) * (v - a) for v in x),
        sum((w - b) * (w - b) for w in y),
        sum((v - a) * (w - b) for v, w in zip(x, y, strict=True)),
    )


def _correlation(x: Sequence[Any], y: Sequence[Any]) -> Any:
    xx, yy, xy = _moments(x, y)
    return xy / sqrt(xx * yy) if len(set(x)) > 1 and len(set(y)) > 1 else None


def _slope(y: Sequence[Any], x: Sequence[Any]) -> Any:
    xx, _, xy = _moments(x, y)
    return xy / xx if len(set(x)) > 1 else None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "avg": lambda x: _average([*map(double, x)]),
    "avg_angle": _average_angle,
    "sum": sum,
    "count": lambda x, *_: len(x),
    "min": partial(min, key=rank),
    "max": partial(max, key=rank),
    "var": _variance,
    "stddev": _stddev,
    "var_pop": partial(_variance, less=0),
    "stddev_pop": partial(_stddev, less=0),
    "first": lambda x, count=None: x[0] if count is None else [*x[: count[0]]],
    "last": lambda x, count=None: x[-1] if count is None else [*x[-count[0] :]],
    "arg_max": _extreme(max),
    "arg_min": _extreme(min),
    "mode": _mode,
    "median": lambda x: _quantile(x, [Fraction(1, 2)]),
    "quantile": _quantile,
    "histogram_quantile": lambda x, y, share: histogram_quantile(zip(x, y, strict=True), share[0]),
    "collect": list,
    "string_agg": lambda x, by: by[0].join(x),
    "largest": lambda x, count: sorted(x, key=rank, reverse=True)[: count[0]],
    "smallest": lambda x, count: sorted(x, key=rank)[: count[0]],
    "product": _product,
    "bit_and": _bits(and_),
    "bit_or": _bits(or_),
    "covar": _covariance,
    "covar_pop": partial(_covariance, less=0),
    "corr": _correlation,
    "slope": _slope,
}
