"""Buckets and bounds of OpenTelemetry are lists of numbers in the unit of their metric; quantiles come from them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from tests.kit.errors import error_of
from tests.kit.otlp import framed, line_of, message_of, request
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.kit.tiers import rest, tiered

DECLARED = (
    'stream r(time: timestamp, service: string from resource "service.name" in {"cart", "web"}, unit: string, '
    'temporality: string in {"delta"}, buckets: list of long, bounds: list of double unit from unit in {s, ms}) '
    'from otlp "in/r" punctuated on time;\n'
)
MERGED = (
    "windows := window[1 minute on time as minute](r);\n"
    "merged := aggregate[histogram_quantile(buckets, bounds, 0.5) as p50, "
    "histogram_quantile(buckets, bounds, 0.95) as p95, count() as n by service, minute](windows);\n"
)
QUERY = f'{DECLARED}{MERGED}emit merged to json "out/merged" with p95 in ms;\n'
END: Item = {"$punctuation": "[]"}


def point(
    time: float, buckets: Sequence[int], bounds: Sequence[float], unit: str = "s", service: str = "cart"
) -> Mapping[str, Any]:
    counted = {"count": sum(buckets), "sum": 1.0, "buckets": buckets, "bounds": bounds}
    return {"metric": "m", "unit": unit, "time": time, "resource": {"service.name": service}, **counted}


# --- one histogram ---


@pytest.mark.parametrize(
    ("buckets", "bounds", "share", "expected"),
    [
        ([0, 10, 0], [1, 2], 0.5, 1.5),
        ([4, 4, 0], [1, 2], 0.25, 0.5),  # from 0 in the first bucket
        ([4, 0], [-1], 0.5, -1),  # nothing is known below it
        ([1, 1, 2], [1, 2], 0.9, 2),  # beyond the last bound
        ([0, 3, 0, 5, 0], [1, 2, 3, 4], 0, 1),  # the least bucket with a value
        ([0, 3, 0, 5, 0], [1, 2, 3, 4], 1, 4),
        ([0, 3, 0, 5, 0], [1, 2, 3, 4], 0.375, 2),  # exactly at the end of a bucket
        ([0, 0], [1], 0.5, None),
        ([1, 2], [1, 2], 0.5, None),  # a bucket is missing
        ([1, 2, 3], [2, 1], 0.5, None),
        ([1, 2, 3], [1, 1], 0.5, 1),  # a bucket of one value
        ([5, 2, 3], [0, 0], 0.4, 0),
        ([7], [], 0.5, None),
    ],
)
def test_a_quantile_is_linear_inside_of_its_bucket(
    buckets: list[int], bounds: list[float], share: float, expected: float | None, tmp_path: Path
) -> None:
    query = DECLARED.replace("bounds:", "bounds?:").replace("buckets:", "buckets?:")
    query += f'one := project[histogram_quantile(buckets, bounds, {share}) as q](r); emit one to json "out";'
    run = Query.without_engine(tmp_path, query)
    run.write("r", [request([point(1, buckets, bounds)])])
    (row,) = run.simulate().canonical("one")
    assert row.get("q") == expected


# --- many histograms ---


def expected_quantile(points: Sequence[Mapping[str, Any]], share: Fraction) -> Fraction | None:
    """By exact numbers, in seconds: the place with so many values up to it, if each bucket has its values evenly."""
    entries: list[tuple[Fraction, Fraction, int]] = []
    for p in points:
        bounds = [Fraction(str(bound)) / (1000 if p["unit"] == "ms" else 1) for bound in p["bounds"]]
        ends = zip([Fraction(0), *bounds], [*bounds, bounds[-1]], p["buckets"], strict=True)
        entries += [end for end in ends if end[2]]
    rank = share * sum(count for _, _, count in entries)

    def values(at: Fraction, at_it: bool = True) -> Fraction:
        """Up to a place, with those that are at it or without."""
        parts = [
            Fraction(a < at or (at_it and a == at))
            if a == b
            else min(Fraction(1), max(Fraction(0), (at - a) / (b - a)))
            for a, b, _ in entries
        ]
        return sum((count * part for (_, _, count), part in zip(entries, parts, strict=True)), Fraction(0))

    low: Fraction | None = None
    for at in sorted({end for entry in entries for end in entry[:2]}):
        if low is not None and values(low) < values(at, False) >= rank:
            return low + (at - low) * (rank - values(low)) / (values(at, False) - values(low))
        if values(at) >= rank:
            return at
        low = at
    return None


LAYOUTS: Mapping[str, Sequence[Sequence[float]]] = {
    "s": [(0.005, 0.01, 0.025, 0.1, 1), (0.01, 0.1, 1, 10), (0.0025, 0.005, 0.01)],
    "ms": [(5, 10, 25, 100, 1000), (10, 100, 1000, 2500), (2.5, 5, 10), (7,)],
}


def random_points(chance: Random, count: int, layouts: int) -> list[Mapping[str, Any]]:
    points: list[Mapping[str, Any]] = []
    for _ in range(count):
        unit = chance.choice(["s", "ms"])
        bounds = chance.choice(LAYOUTS[unit][:layouts])
        buckets = [chance.choice([0, 0, 1, 5, 40]) for _ in range(len(bounds) + 1)]
        points.append(point(chance.uniform(0, 180), buckets, bounds, unit, chance.choice(["cart", "web"])))
    return points


def check(rows: Sequence[Mapping[str, Any]], points: Sequence[Mapping[str, Any]]) -> None:
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for p in points:
        groups.setdefault((p["resource"]["service.name"], int(p["time"] // 60)), []).append(p)
    assert {(row["service"], row["minute"]) for row in rows} == groups.keys()
    for row in rows:
        of = groups[row["service"], row["minute"]]
        for name, share, factor in (("p50", Fraction(1, 2), 1), ("p95", Fraction(95, 100), 1000)):
            expected = expected_quantile(of, share)
            assert row.get(name) == (expected and pytest.approx(float(expected * factor))), (row, of)


@pytest.mark.parametrize("seed", tiered(range(20), 2))
def test_quantiles_of_random_histograms_without_an_engine(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    points = random_points(chance, 40, chance.choice([1, 2, 4]))
    run = Query.without_engine(tmp_path, QUERY)
    run.write("r", [request([p]) for p in points])
    run.write("r", [END])
    check(decode(run.simulate().output("merged")), points)


@pytest.mark.either_engine
@pytest.mark.parametrize(("layouts", "is_proto"), [(2, False), rest(1, True), rest(4, False)])
def test_histograms_of_both_units_merge_over_epochs_and_restarts(
    spark: SparkSession, tmp_path: Path, layouts: int, is_proto: bool
) -> None:
    """Each file is an epoch, and each epoch of a new run, so that partial results come from state."""
    points = random_points(Random(layouts), 60, layouts)
    run = Query(spark, tmp_path, QUERY)
    for number, start in enumerate(range(0, 60, 15)):
        some = points[start : start + 15]
        if is_proto:
            path = tmp_path / "in" / "r" / f"{number}.pb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(framed(*[message_of([p]).SerializeToString() for p in some]))
            os.utime(
                path, (number / 10, number / 10)
            )  # before the end, which the reference finds by its time
        else:
            run.write("r", [request([p]) for p in some])
        run.run()
    run.write("r", [END], "z.jsonl")
    run.run()
    check(decode(run.output("merged")), points)
    assert run.simulate().rows("merged") == run.rows("merged")


@pytest.mark.either_engine
def test_histograms_are_added_beside_all_other_functions(spark: SparkSession, tmp_path: Path) -> None:
    """Entries of histograms become rows of their own, which no other result counts, also not by a constant."""
    query = (
        DECLARED.replace("unit: string,", "unit: string, count: long,")
        + MERGED.partition("merged :=")[0]
        + "others := aggregate[histogram_quantile(buckets, bounds, 0.5) as p50, "
        "histogram_quantile(buckets, bounds, 0.5 where unit = 's') as seconds, "
        "count() as n, count(unit where unit = 'ms') as in_ms, sum(if(true, 1, 2)) as ones, sum(count) as total, "
        "avg(count) as mean, stddev(count) as spread, corr(count, count) as r, min(time) as first, "
        "max(unit) as last, quantile(count, 0.5) as half, mode(unit) as usual, count(distinct unit) as units, "
        "last(unit) as latest, collect(count) as all_of_them, arg_max(unit, count) as most, largest(count, 2) as top, "
        "bit_or(count) as bits by service, minute](windows);\n"
        'emit others to json "out/others";\n'
    )
    points = random_points(Random(3), 30, 2)
    run = Query(spark, tmp_path, query)
    for start in range(0, 30, 10):
        run.write("r", [request([p]) for p in points[start : start + 10]])
        run.run()
    run.write("r", [END], "z.jsonl")
    run.run()
    expected = {(row["service"], row["minute"]): row for row in decode(run.simulate().output("others"))}
    rows = decode(run.output("others"))
    assert len(rows) == len(expected) > 3
    for row in rows:
        same_row = expected[row["service"], row["minute"]]
        assert row.keys() == same_row.keys()
        for name, value in row.items():
            is_plain = isinstance(value, str | list)
            assert value == (same_row[name] if is_plain else pytest.approx(float(same_row[name]))), (
                name,
                row,
            )


@pytest.mark.either_engine
@pytest.mark.parametrize(
    "windows",
    [
        "window[2 minutes every 1 minute on time as minute](r)",
        rest("session[30 seconds on time per service as minute](r)"),
        rest("window[5 rows per service as minute](r)"),
    ],
)
def test_histograms_are_added_over_windows_of_each_kind(
    spark: SparkSession, tmp_path: Path, windows: str
) -> None:
    """Overlapping ones by panes, those of a count when they are full."""
    query = f"{DECLARED}windows := {windows};\n" + MERGED.partition("\n")[2]
    run = Query(spark, tmp_path, f'{query}emit merged to json "out/merged";\n')
    points = sorted(random_points(Random(3), 30, 2), key=lambda p: p["time"])
    for start in range(0, 30, 10):
        run.write("r", [request([p]) for p in points[start : start + 10]])
        run.run()
    run.write("r", [END], "z.jsonl")
    run.run()
    expected = {(row["service"], str(row["minute"])): row for row in run.simulate().canonical("merged")}
    rows = run.canonical("merged")
    assert len(rows) == len(expected) > 1
    for row in rows:
        same_row = expected[row["service"], str(row["minute"])]
        assert row.get("p95") == (same_row.get("p95") and pytest.approx(same_row["p95"])), (row, same_row)
        assert row["n"] == same_row["n"]


@pytest.mark.either_engine
def test_lists_are_canonical_inside_and_announced_outside(spark: SparkSession, tmp_path: Path) -> None:
    query = f'{DECLARED}bounds_of := unnest[bounds as bound](r);\nemit bounds_of to json "out/bounds_of";'
    run = Query(spark, tmp_path, query)
    run.write("r", [request([point(1, [1, 2], [5], "ms"), point(2, [1, 2], [0.005]), point(3, [4, 0], [7])])])
    run.write("r", [request([point(61, [1, 2], [25], "ms")]), END])
    run.process(files_per_epoch=1)
    assert in_order(run.canonical("bounds_of")) == [
        (0.005, [0.005], [1, 2]),
        (0.005, [0.005], [1, 2]),
        (0.025, [0.025], [1, 2]),
        (7, [7], [4, 0]),
    ]
    sent = [row["bounds"] for row in run.output("bounds_of") if "bounds" in row]
    assert [25.0] in sent  # in the unit that the output has announced
    assert in_order(run.simulate().canonical("bounds_of")) == in_order(run.canonical("bounds_of"))


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, list[float], list[int]]]:
    return sorted((float(row["bound"]), [*map(float, row["bounds"])], row["buckets"]) for row in rows)


def test_quantiles_of_summaries_are_lists_in_the_unit_of_the_metric(tmp_path: Path) -> None:
    message = ExportMetricsServiceRequest()
    metric = message.resource_metrics.add().scope_metrics.add().metrics.add(name="gc", unit="ms")
    of = metric.summary.data_points.add(count=4, time_unix_nano=1)
    for share, value in ((0, 0), (0.5, 12), (1, 250)):
        of.quantile_values.add(quantile=share, value=value)
    query = (
        "stream r(unit: string, quantiles: list of double, quantile_values: list of double unit from unit in {s, ms}) "
        'from otlp "in/r"; emit r to json "out";'
    )
    run = Query.without_engine(tmp_path, query)
    run.write("r", [line_of(message)])
    (row,) = run.simulate().canonical("r")
    assert (row["quantiles"], row["quantile_values"]) == ([0, 0.5, 1], [0, 0.012, 0.25])


# --- what is refused ---


def refused(query: str, declared: str = DECLARED) -> str:
    error = error_of(lambda: compile_query(f'{declared}{query}\nemit x to json "o";'))
    return f"{error.code} {error.message}"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("x := project[histogram_quantile(unit, bounds, 0.5) as q](r);", "RQ103 .* a list of counts, found string"),
        ("x := project[histogram_quantile(buckets, unit, 0.5) as q](r);", "RQ103 .* a list of bounds, found string"),
        ("x := project[histogram_quantile(buckets, bounds, 2) as q](r);", "RQ103 .* a constant between 0 and 1"),
        ("x := project[histogram_quantile(buckets, bounds) as q](r);", "RQ103 .* requires 3 arguments, found 2"),
        ("x := aggregate[histogram_quantile(unit, bounds, 0.5) as q](r);", "RQ103 .* list of whole numbers, found.*"),
        ("x := aggregate[histogram_quantile(bounds, 0.5) as q](r);", "RQ109 .* requires three arguments, found 2"),
        ("x := aggregate[histogram_quantile(buckets, bounds, 2) as q](r);", "RQ109 .* a constant between 0 and 1"),
        ("accent r [[service = \"web\", alter(buckets, y -> y * 2)]]; x := r;", "RQ208 `buckets` is of type array.*"),
    ],
)  # fmt: skip
def test_what_is_no_histogram_is_refused(query: str, message: str) -> None:
    assert re.match(message, refused(query)), refused(query)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("buckets: list of long", "buckets: list of string", "RQ149 `buckets` of a data point cannot have the type.*"),
        ("unit: string", 'unit: string, tags: list of string from attribute "tags"', "RQ149 `tags` is a list.*"),
        ('string in {"delta"}', "string", "RQ161 sum of `buckets`: `buckets` of a cumulative data point is a total.*"),
        ("bounds: list of double", "bounds: string", "RQ144 `bounds` is string.*"),
    ],
)  # fmt: skip
def test_what_points_do_not_have_is_refused(old: str, new: str, message: str) -> None:
    x = MERGED.replace("merged :=", "x :=")
    assert re.match(message, refused(x, DECLARED.replace(old, new))), refused(x, DECLARED.replace(old, new))
