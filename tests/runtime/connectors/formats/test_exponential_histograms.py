"""Exponential histograms of OpenTelemetry have buckets and bounds, so that quantiles come from them as from others."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, floor, log2
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.kit.otlp import framed, message_of, request
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.kit.tiers import rest, tiered

DECLARED = (
    'stream r(time: timestamp, service: string from resource "service.name" in {"cart", "web"}, unit: string, '
    "kind: string, "
    'temporality: string in {"delta"}, buckets: list of long, bounds: list of double unit from unit in {s, ms}) '
    'from otlp "in/r" punctuated on time;\n'
)
SHARES = {"p10": 0.1, "p50": 0.5, "p95": 0.95, "p99": 0.99}
CALLS = ", ".join(f"histogram_quantile(buckets, bounds, {share}) as {name}" for name, share in SHARES.items())
QUERY = (
    f"{DECLARED}windows := window[1 minute on time as minute](r);\n"
    f"merged := aggregate[{CALLS}, count() as n by service, minute](windows);\n"
    'emit merged to json "out/merged";\n'
)
END: Item = {"$punctuation": "[]"}


def index_of(value: float, scale: int) -> int:
    """The bucket of a positive value, by the definition of the data model: base**i < value <= base**(i + 1)."""
    return ceil(log2(value) * 2.0**scale) - 1


def side(values: Sequence[float], scale: int) -> tuple[int, list[int]]:
    counts = Counter(index_of(value, scale) for value in values)
    first = min(counts)
    return first, [counts[index] for index in range(first, max(counts) + 1)]


def point(
    time: float,
    values: Sequence[float],
    scale: int,
    unit: str = "s",
    service: str = "cart",
    around: float = 0,
) -> Mapping[str, Any]:
    """A point as an SDK makes it of values in seconds."""
    measured = [value * (1000 if unit == "ms" else 1) for value in values]
    sides = {
        "positive": [value for value in measured if value > around],
        "negative": [-value for value in measured if -value > around],
    }
    zeros = sum(abs(value) <= around for value in measured)
    named = {"metric": "m", "unit": unit, "time": time, "resource": {"service.name": service}}
    counted = {"scale": scale, "count": len(values), "zeros": zeros, "around": around}
    return {**named, **counted, **{name: side(some, scale) for name, some in sides.items() if some}}


def run_of(tmp_path: Path, points: Sequence[Mapping[str, Any]], query: str) -> list[Item]:
    run = Query.without_engine(tmp_path, query)
    run.write("r", [request([p]) for p in points])
    run.write("r", [END])
    return [*run.simulate().canonical("r" if "emit r " in query else "merged")]


# --- what a point has ---


@pytest.mark.parametrize(
    ("of", "buckets", "bounds"),
    [
        ({"scale": 0, "positive": (0, [1, 0, 2])}, [0, 0, 0, 1, 0, 2, 0], [0, 0, 1, 2, 4, 8]),
        ({"scale": 0, "zeros": 3}, [0, 3, 0], [0, 0]),
        ({"scale": -1, "positive": (-1, [4]), "zeros": 1}, [0, 1, 0, 4, 0], [0, 0, 0.25, 1]),
        ({"scale": 1, "positive": (2, [4])}, [0, 0, 0, 4, 0], [0, 0, 2, 2 * 2**0.5]),
        ({"scale": 0, "negative": (0, [5, 6]), "zeros": 7}, [0, 6, 5, 0, 7, 0], [-4, -2, -1, 0, 0]),
        (
            {"scale": 0, "negative": (0, [5]), "positive": (0, [8]), "zeros": 7, "around": 0.5},
            [0, 5, 0, 7, 0, 8, 0],
            [-2, -1, -0.5, 0.5, 1, 2],
        ),
        # A threshold inside of a bucket: the values of the bucket are above it.
        ({"scale": 0, "positive": (0, [8]), "zeros": 7, "around": 1.5}, [0, 7, 0, 8, 0], [0, 1.5, 1.5, 2]),
        ({"scale": 0, "positive": (1023, [1])}, [0, 0, 0, 1, 0], [0, 0, 2.0**1023, 1.7976931348623157e308]),
        ({"scale": -11, "positive": (-1, [1])}, [0, 0, 0, 1, 0], [0, 0, 0, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_proto", [False, True])
def test_a_point_has_buckets_and_bounds(
    of: Mapping[str, Any], buckets: list[int], bounds: list[float], is_proto: bool, tmp_path: Path
) -> None:
    query = DECLARED + 'emit r to json "out/r";'
    p = {"metric": "m", "unit": "s", "time": 1, "resource": {"service.name": "web"}, "count": 1, **of}
    run = Query.without_engine(tmp_path, query)
    if is_proto:
        path = tmp_path / "in" / "r" / "1.pb"
        path.parent.mkdir(parents=True)
        path.write_bytes(framed(message_of([p]).SerializeToString()))
    else:
        run.write("r", [request([p])])
    (row,) = run.simulate().canonical("r")
    assert (row["kind"], row["buckets"]) == ("exponentialHistogram", buckets)
    assert row["bounds"] == bounds


@pytest.mark.parametrize(
    ("key", "wrong", "reason"),
    [
        ("scale", 1.5, "`bounds` must be an array<double>, found an object"),
        ("zeroThreshold", -1, "`bounds` must be an array<double>, found an object"),
        ("zeroThreshold", "NaN", "`bounds` must be an array<double>, found an object"),
        ("zeroCount", 1.5, "`buckets` must be an array<long>, found a list"),
        ("positive", 5, "`buckets` must be an array<long>, found an object"),
        ("positive", {"bucketCounts": 5}, "`buckets` must be an array<long>, found an object"),
        ("positive", {"offset": True}, "`bounds` must be an array<double>, found an object"),
        ("negative", {"bucketCounts": ["x"]}, "`buckets` must be an array<long>, found a list"),
    ],
)
@pytest.mark.either_engine
def test_a_malformed_point_is_set_aside_alone(
    spark: SparkSession, key: str, wrong: object, reason: str, tmp_path: Path
) -> None:
    good = point(1, [1.0], 0)
    line = json.loads(request([good, good]))
    (metric,) = line["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    metric["exponentialHistogram"]["dataPoints"][0][key] = wrong
    run = Query(spark, tmp_path, DECLARED + 'emit r to json "out/r";')
    run.write("r", [json.dumps(line)])
    run.run()
    assert len(run.canonical("r")) == len(run.simulate().canonical("r")) == 1
    assert [r.reason for r in run.rejections()] == [r.reason for r in run.simulated.rejections]
    assert [r.reason.partition(" (")[0] for r in run.simulated.rejections] == [reason]


# --- quantiles, against the values themselves ---


def true_quantile(values: Sequence[float], share: float) -> tuple[float, float]:
    """The values around a rank: any quantile of the values is between them."""
    ordered = sorted(values)
    rank = share * len(ordered)
    return ordered[max(0, ceil(rank) - 1)], ordered[min(len(ordered) - 1, floor(rank))]


def values_of(chance: Random, count: int) -> list[float]:
    return [chance.lognormvariate(-3, 1.5) for _ in range(count)]


def random_points(chance: Random, count: int, units: Sequence[str], scales: Sequence[int]) -> list[Any]:
    """Points with the values that they were made of."""
    points: list[tuple[Mapping[str, Any], list[float]]] = []
    for _ in range(count):
        values = values_of(chance, chance.randrange(0, 40))
        values += [0.0] * chance.choice([0, 0, 0, 3])
        service, time = chance.choice(["cart", "web"]), chance.uniform(0, 120)
        points.append((point(time, values, chance.choice(scales), chance.choice(units), service), values))
    return points


def check(
    rows: Sequence[Mapping[str, Any]], points: Sequence[Any], scales: Sequence[int], units: int
) -> None:
    """No quantile is further from the truth than the widest bucket around it; two units have bounds of their own, so
    that two buckets may overlap."""
    groups: dict[tuple[str, int], list[float]] = {}
    numbers = Counter[tuple[str, int]]()
    for p, values in points:
        key = p["resource"]["service.name"], int(p["time"] // 60)
        groups.setdefault(key, []).extend(values)
        numbers[key] += 1
    widest = 2 ** (2.0 ** -min(scales))
    assert {(row["service"], row["minute"]) for row in rows} == groups.keys()
    for row in rows:
        key = row["service"], row["minute"]
        assert row["n"] == numbers[key]
        for name, share in SHARES.items():
            if not groups[key]:
                assert row.get(name) is None
                continue
            low, high = true_quantile(groups[key], share)
            slack = widest**units * (1 + 1e-9)
            assert low / slack <= float(row[name]) <= high * slack, (row, name, low, high)


@pytest.mark.parametrize("seed", tiered(range(12), 2))
@pytest.mark.parametrize(("units", "scales"), [(["s"], [3]), (["s"], [0, 2, 5]), (["s", "ms"], [3, 4])])
def test_quantiles_are_as_near_as_their_buckets(
    seed: int, units: list[str], scales: list[int], tmp_path: Path
) -> None:
    points = random_points(Random(seed), 60, units, scales)
    rows = run_of(tmp_path, [p for p, _ in points], QUERY)
    check(rows, points, scales, len(units))


def test_scales_are_added_as_if_all_had_the_least(tmp_path: Path) -> None:
    """The data model merges two histograms by that of the coarser scale. Values of one bucket of it stay in it."""
    values = values_of(Random(5), 400)
    halves = [point(1, values[:200], 4), point(2, values[200:], 1)]
    merged = run_of(tmp_path / "halves", halves, QUERY)[0]
    coarse = run_of(tmp_path / "whole", [point(1, values, 1)], QUERY)[0]
    for name in SHARES:
        assert index_of(float(merged[name]), 1) == index_of(float(coarse[name]), 1)


def test_explicit_and_exponential_histograms_are_added(tmp_path: Path) -> None:
    """As while a fleet changes its aggregation: (1, 2] has 10 values of each."""
    named = {"metric": "m", "unit": "s", "time": 1, "resource": {"service.name": "web"}}
    explicit = {**named, "count": 10, "sum": 15, "buckets": [0, 10, 0], "bounds": [1, 2]}
    exponential = {**named, "count": 10, "scale": 0, "positive": (0, [10])}
    (row,) = run_of(tmp_path, [explicit, exponential], QUERY)
    assert float(row["p50"]) == 1.5


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("units", "scales", "is_proto"),
    [(["s", "ms"], [3, 5], False), rest(["s"], [0, 3], True), rest(["s", "ms"], [-1, 8], False)],
)
def test_exponential_histograms_merge_over_epochs_and_restarts(
    spark: SparkSession, tmp_path: Path, units: list[str], scales: list[int], is_proto: bool
) -> None:
    """Each file is an epoch, and each epoch of a new run, so that partial results come from state."""
    points = random_points(Random(len(units)), 45, units, scales)
    run = Query(spark, tmp_path, QUERY)
    for number, begin in enumerate(range(0, 45, 15)):
        some = [p for p, _ in points[begin : begin + 15]]
        if is_proto:
            path = run.write("r", [], f"{number}.pb")
            path.write_bytes(framed(*[message_of([p]).SerializeToString() for p in some]))
            os.utime(
                path, (number / 10, number / 10)
            )  # before the end, which the reference finds by its time
        else:
            run.write("r", [request(some)])
        run.run()
    run.write("r", [END], "z.jsonl")
    run.run()
    rows = decode(run.output("merged"))
    check(rows, points, scales, len(units))
    expected = {(row["service"], row["minute"]): row for row in run.simulate().canonical("merged")}
    for row in run.canonical("merged"):
        same = expected[row["service"], row["minute"]]
        assert [row.get(n) for n in SHARES] == [
            same.get(n) and pytest.approx(same[n], rel=1e-9) for n in SHARES
        ]
