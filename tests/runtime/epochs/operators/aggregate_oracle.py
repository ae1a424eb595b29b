"""Aggregate functions in plain Python, and the rows that tests give them."""

from __future__ import annotations

import cmath
import math
import statistics
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import pytest

from tests.kit.stream import Item

Values = Sequence[Any]


def same(actual: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    if expected is None or isinstance(expected, str | int):
        return actual == expected
    return float(actual) == pytest.approx(float(expected), rel=1e-12)


def quantile(share: float) -> Callable[[Values], float]:
    def of(x: Values) -> float:
        ordered, rank = sorted(x), share * (len(x) - 1)
        low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
        return low + (high - low) * (rank - math.floor(rank))

    return of


def direction(circle: float) -> Callable[[Values], float]:
    def of(x: Values) -> float:
        mean = sum(cmath.exp(2j * math.pi * float(value) / circle) for value in x)
        return round(cmath.phase(mean) / 2 / math.pi % 1 * 360e9) / 360e9 * circle

    return of


def unlike(function: Callable[[Values], Any]) -> Callable[[Values], Any]:
    return lambda x: function(list(dict.fromkeys(x)))


def of(name: str, function: Callable[[Values], Any], least: int = 1) -> Callable[[list[Item]], Any]:
    """A function of the defined values of an attribute; undefined for fewer values than `least`."""

    def result(rows: list[Item]) -> Any:
        values = [row[name] for row in rows if name in row]
        return function(values) if len(values) >= least else None

    return result


def where(
    condition: Callable[[Item], bool], result: Callable[[list[Item]], Any]
) -> Callable[[list[Item]], Any]:
    return lambda rows: result([row for row in rows if condition(row)])


def correlation(rows: list[Item]) -> float | None:
    pairs = [(row["t"], row["n"]) for row in rows if "n" in row]
    x, y = [p[0] for p in pairs], [p[1] for p in pairs]
    return statistics.correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else None


def covariance(population: bool) -> Callable[[list[Item]], float]:
    def of(rows: list[Item]) -> float:
        pairs = [(row["t"], float(row["n"])) for row in rows if "n" in row]
        x, y = [p[0] for p in pairs], [p[1] for p in pairs]
        value = statistics.covariance(x, y)
        return value * (len(x) - 1) / len(x) if population else value

    return of


def extreme(x: str, y: str, end: Callable[..., Any]) -> Callable[[list[Item]], Any]:
    return lambda rows: end((row[y], row[x]) for row in rows if x in row and y in row)[1]


def slope(rows: list[Item]) -> float:
    return statistics.linear_regression([row["ts"] for row in rows], [row["t"] for row in rows]).slope


CALLS: dict[str, Callable[[list[Item]], Any]] = {
    "avg(t)": of("t", statistics.fmean),
    "avg(distinct n)": of("n", unlike(statistics.fmean)),
    "avg_angle(t, 7)": of("t", direction(7)),
    "avg_angle(n, 9)": of("n", direction(9)),
    "avg(t * 2 where s = 1 and n > 1)": where(
        lambda r: r["s"] == 1 and r.get("n", 0) > 1, of("t", lambda x: statistics.fmean(x) * 2)
    ),
    "sum(n)": of("n", sum),
    "sum(t)": of("t", sum),
    "sum(distinct n)": of("n", unlike(sum)),
    "sum(distinct n where t > 4)": where(lambda r: r["t"] > 4, of("n", unlike(sum))),
    "count()": len,
    "count(n)": of("n", len, 0),
    "count(where t > 9)": lambda rows: sum(r["t"] > 9 for r in rows),
    'count(where l in {"a", "b"} or n = 3)': lambda rows: sum(
        r["l"] in "ab" or r.get("n") == 3 for r in rows
    ),
    "count(distinct n)": of("n", unlike(len), 0),
    "count(distinct l where t > 99)": lambda rows: 0,
    "min(n)": of("n", min),
    "max(l)": of("l", max),
    "max(distinct t)": of("t", max),
    "var(t)": of("t", statistics.variance, 2),
    "stddev(n)": of("n", statistics.stdev, 2),
    "var_pop(n)": of("n", statistics.pvariance),
    "stddev_pop(t)": of("t", statistics.pstdev),
    "covar(t, n)": covariance(population=False),
    "covar_pop(n, t)": covariance(population=True),
    "mode(n)": of("n", lambda x: min(statistics.multimode(x))),
    "mode(l)": of("l", lambda x: min(statistics.multimode(x))),
    "arg_max(n, l)": extreme("n", "l", max),
    "arg_min(t, n)": extreme("t", "n", min),
    "arg_max(l, t where s = 1)": where(lambda r: r["s"] == 1, extreme("l", "t", max)),
    "bit_and(n where n > 3)": where(lambda r: r.get("n", 0) > 3, of("n", lambda x: reduce(and_, x))),
    "bit_or(ts)": of("ts", lambda x: reduce(or_, x)),
    "bit_or(t * 2.6)": of("t", lambda x: reduce(or_, (math.floor(v * 2.6 + 0.5) for v in x))),
    "string_agg(l, ', {}\\'')": of("l", ", {}'".join),
    "string_agg(distinct l, '')": of("l", unlike("".join)),
    "first(n, 2)": of("n", lambda x: x[:2]),
    "last(t, 3)": of("t", lambda x: x[-3:]),
    "last(l, 99)": of("l", list),
    "first(n)": of("n", lambda x: x[0]),
    "last(n)": of("n", lambda x: x[-1]),
    "first(l where t > 8)": where(lambda r: r["t"] > 8, of("l", lambda x: x[0])),
    "last(t)": of("t", lambda x: x[-1]),
    "median(t)": of("t", statistics.median),
    "median(n)": of("n", statistics.median),
    "quantile(t, 0.9)": of("t", quantile(0.9)),
    "quantile(n, 0)": of("n", min),
    "quantile(-n, 1)": of("n", lambda x: -min(x)),
    "collect(t)": of("t", list),
    "collect(n)": of("n", list),
    "collect(distinct n)": of("n", unlike(list)),
    "collect(distinct l)": of("l", unlike(list)),
    "largest(t, 3)": of("t", lambda x: sorted(x, reverse=True)[:3]),
    "smallest(n, 2)": of("n", lambda x: sorted(x)[:2]),
    "smallest(l, 99)": of("l", sorted),
    "product(t + 1)": of("t", lambda x: math.prod(v + 1 for v in x)),
    "product(distinct n)": of("n", unlike(math.prod)),
    "corr(t, n)": correlation,
    "slope(t, ts)": slope,
}
