"""Data points of OpenTelemetry are tuples: at once and point by point, on engines and without one."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types.versions import text_of
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.otlp import KINDS, PointReader
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.command import cedilla
from tests.kit.compare import same
from tests.kit.otlp import line_of, message_of, request
from tests.kit.query import Query
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import rest, tiered
from tests.runtime.connectors.formats.line_files import together_and_alone
from tests.runtime.connectors.formats.otlp_requests import (
    LINES,
    PATHS,
    QUERY,
    REASONS,
    TYPES,
    Writer,
    batches,
    check_averages,
    new,
    old,
)


@pytest.mark.parametrize("seed", tiered(range(3)))
def test_all_at_once_is_the_same_as_point_by_point(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    at_once = points = bad = 0
    for number in range(60):
        writer = Writer(1000 * seed + number, chance.choice([0, 0.001, 0.02]))
        lines = [writer.line() for _ in range(chance.choice([1, 3, 20]))]
        block = Block("\n".join(lines).encode(), 7)
        reading = batches(chance.choice([(), ("a", "c")]), plain=chance.random() < 0.7)
        rows = reading.batch(block, 1000).to_pylist()
        at_once += reading.parsed(block.text, *block.lines()) is not None
        with monkeypatch.context() as patch:
            patch.setattr(PointBatches, "parsed", lambda *_: None)
            expected = reading.batch(block, 1000).to_pylist()
        assert len(rows) == len(expected)
        for row, same_row in zip(rows, expected, strict=True):
            assert row["$position"] == same_row["$position"]
            assert row["$corrupt"] == same_row["$corrupt"]
            bad += row["$corrupt"] is not None
            assert row["$corrupt"] is not None or all(same(row[n], same_row[n]) for n in reading.types), (
                row,
                same_row,
            )
        points += len(rows)
        places = [row["$position"] for row in rows]
        assert places == sorted(set(places))
    assert at_once > 20
    assert points > 300
    assert bad > 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_is_read_at_once_though_no_point_has_some_field(kind: str) -> None:
    """A column of nothing but missing values is not in another form."""
    point = {"timeUnixNano": "1"}
    empty = {"bucketCounts": [], "explicitBounds": [], "quantileValues": []}
    for points in ([point], [{**point, **empty, "positive": {"bucketCounts": ["1", "2"]}}]):
        metric = {"name": "a", kind: {"dataPoints": points}}
        line = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]})
        block = Block(line.encode(), 0)
        assert batches(plain=True).parsed(block.text, *block.lines()) is not None


@pytest.mark.parametrize("seed", tiered(range(10), 2))
def test_small_files_together_are_each_alone(seed: int, tmp_path: Path) -> None:
    writer = Writer(seed, Random(seed).choice([0, 0.001, 0.02]))
    texts = ["\n".join(writer.line() for _ in range(writer.chance.randrange(3))).encode() for _ in range(20)]
    together, alone = together_and_alone(texts, batches(), TYPES, tmp_path, writer.chance)
    assert together.num_rows == alone.num_rows
    for row, expected in zip(together.to_pylist(), alone.to_pylist(), strict=True):
        assert (row["$position"], row["$corrupt"]) == (expected["$position"], expected["$corrupt"])
        assert all(same(row[name], expected[name]) for name in TYPES)


def test_a_request_is_read_as_its_messages_say() -> None:
    line = request(
        [
            {"metric": "a", "unit": "ms", "time": 60, "double": 1.5, "resource": {"service.name": "cart"}},
            {
                "metric": "b",
                "unit": "s",
                "time": 61.5,
                "count": 3,
                "sum": 2.5,
                "buckets": [1, 2],
                "bounds": [0.5, 1e4],
                "attributes": {"http.route": "/", "status": 200, "share": 0.5, "ok": True},
            },
            {"metric": "c", "time": 62, "int": 5, "attributes": {"http.route": ["x", "y"]}},
        ]
    )
    first, second, third = batches().batch(Block(line.encode(), 0), 1000).to_pylist()
    assert [row["$position"] for row in (first, second, third)] == [1000, 1001, 1002]
    assert (first["metric"], first["unit"], first["value"], first["service"], first["count"]) == (
        "a",
        "ms",
        1.5,
        "cart",
        None,
    )
    assert (first["kind"], first["time"].isoformat()) == ("gauge", "1970-01-01T00:01:00+00:00")
    assert (second["count"], second["sum"], second["buckets"], second["value"]) == (3, 2.5, "[1, 2]", None)
    assert second["bounds"] == "[0.5, 10000]"
    assert (second["temporality"], second["route"], second["status"], second["share"], second["ok"]) == (
        "delta",
        "/",
        200,
        0.5,
        True,
    )
    assert (third["value"], third["route"], third["unit"]) == (5.0, '["x", "y"]', None)


def with_urls(*urls: tuple[str, str]) -> Any:
    """A request of a metric for each pair of URLs, of the resource and of the scope."""
    message = message_of([{"metric": "a", "time": 1, "double": 1.0} for _ in urls])
    for resource, (of_resource, of_scope) in zip(message.resource_metrics, urls, strict=True):
        resource.schema_url, resource.scope_metrics[0].schema_url = of_resource, of_scope
        resource.scope_metrics[0].scope.version = "v1.2"
    return message


OLD, NEW = "https://opentelemetry.io/schemas/1.9.0", "https://opentelemetry.io/schemas/1.21.0"


def test_a_point_has_the_schema_of_its_scope_or_else_of_its_resource() -> None:
    message = with_urls((OLD, ""), (OLD, NEW), ("", NEW), ("", ""))
    rows = batches().batch(Block(line_of(message).encode(), 0), 0).to_pylist()
    assert [row["schema"] for row in rows] == [OLD, NEW, NEW, None]
    assert [row["conventions"] and text_of(row["conventions"]) for row in rows] == [
        "1.9.0",
        "1.21.0",
        "1.21.0",
        None,
    ]
    assert rows[0]["conventions"] < rows[1]["conventions"]
    assert {text_of(row["scope_version"]) for row in rows} == {"v1.2"}


def test_a_point_that_is_set_aside_keeps_its_schema() -> None:
    request_of = parse_line(line_of(with_urls((OLD, ""), (OLD, NEW))))
    one = PointReader({}).only(request_of, 1)
    assert one is not None
    (resource,) = one["resourceMetrics"]
    assert (resource["schemaUrl"], resource["scopeMetrics"][0]["schemaUrl"]) == (OLD, NEW)


def test_a_schema_whose_url_ends_with_no_version_sets_its_point_aside() -> None:
    line = line_of(with_urls(("https://example.org/schemas/latest", "")))
    (row,) = batches().batch(Block(line.encode(), 0), 0).to_pylist()
    assert row["$corrupt"] == '`conventions` must be a version, found "latest" (read from schema)'


@pytest.mark.parametrize("is_strict", [False, True])
def test_what_protobuf_leaves_out_has_its_default(is_strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count, the sum of a summary and `isMonotonic` are always there; the sum of a histogram is optional."""
    if is_strict:
        monkeypatch.setattr(PointBatches, "parsed", lambda *_: None)
    message = ExportMetricsServiceRequest()
    metrics = message.resource_metrics.add().scope_metrics.add().metrics
    metrics.add(name="h").histogram.data_points.add(time_unix_nano=1)
    metrics.add(name="s").summary.data_points.add(time_unix_nano=1)
    metrics.add(name="n").sum.data_points.add(time_unix_nano=1, as_int=0)
    line = line_of(message)
    assert not any(name in line for name in ("count", '"sum": 0', "isMonotonic"))
    rows = batches().batch(Block(line.encode(), 0), 0).to_pylist()
    assert [(row["count"], row["sum"], row["monotonic"], row["value"]) for row in rows] == [
        (0, None, None, None),
        (0, 0.0, None, None),
        (None, None, False, 0.0),
    ]


def test_only_named_metrics_are_read_and_nothing_that_has_no_value() -> None:
    line = request([{"metric": name, "time": 1, "int": 1} for name in "abca"])
    assert [
        row["metric"] for row in batches(("a", "c")).batch(Block(line.encode(), 0), 1000).to_pylist()
    ] == ["a", "c", "a"]
    empty = line.replace('"asInt": "1"', '"flags": 1', 2)
    assert [row["metric"] for row in batches().batch(Block(empty.encode(), 0), 1000).to_pylist()] == [
        "c",
        "a",
    ]
    assert batches().batch(Block(b"{}", 0), 1000).to_pylist() == []


@pytest.mark.parametrize(
    "line",
    ['{"resourceSpans": []}', '{"resourceMetrics": null}', '{"resourceMetrics": [{"scopeMetrics": 5}]}'],
)
def test_what_is_no_request_is_one_bad_line(line: str) -> None:
    (row,) = batches().batch(Block(line.encode(), 0), 1000).to_pylist()
    assert row["$corrupt"] == "the line is not an ExportMetricsServiceRequest in JSON"


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [1, rest(2)])
def test_a_stream_of_requests_on_an_engine(spark: SparkSession, tmp_path: Path, per_epoch: int) -> None:
    """A quarantined line is a request with one data point, which can be mended and sent again."""
    run = Query(spark, tmp_path, QUERY)
    for lines in LINES:
        run.write("latency", lines)
    run.process(per_epoch)
    check_averages(tmp_path / "out")
    aside = run.quarantine("latency")
    assert {(rejected["code"], rejected["reason"]) for rejected in aside} == REASONS
    for rejected in aside:
        if rejected["reason"] != "the line is not an ExportMetricsServiceRequest in JSON":
            (point,) = PointReader(TYPES, PATHS).points(parse_line(rejected["raw"]))
            assert point["metric"] in ("http.server.duration", "http.server.request.duration")
    assert sorted(rejected["position"]["line"] for rejected in aside) == [1, 1, 1, 2, 3, 4]


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", [1, rest(None)])
def test_totals_are_not_added(spark: SparkSession, tmp_path: Path, per_epoch: int | None) -> None:
    """Of 50 requests a minute a cumulative counter says 50, 100, 150, which is 300 in a sum."""
    run = Query(spark, tmp_path, QUERY)
    for minute, total in enumerate((50, 100, 150)):
        time = 60 * minute + 1
        run.write(
            "latency", [request([old("cart", time, total, total, temporality=2), old("web", time, 50, 50)])]
        )
    run.write("latency", [request([old("cart", 190, 7, 7, temporality=0)]), {"$punctuation": "[]"}])
    run.process(per_epoch)
    assert {(row["service"], row["n"]) for row in decode(run.output("averages"))} == {("web", 50)}
    aside = run.quarantine("latency")
    assert [rejected["code"] for rejected in aside] == ["RQ303", "RQ303", "RQ303", "RQ302"]
    assert all("`temporality`" in rejected["reason"] for rejected in aside)


def test_a_stream_of_requests_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = Query.without_engine(tmp_path, QUERY)
    for lines in LINES:
        run.write("latency", lines)
    rejected: list[tuple[str, str]] = []
    simulate(
        QUERY,
        Options(sinks={"averages": "out/averages", "points": "out/points"}),
        on_rejected=lambda line, code: rejected.append((code, line.reason)),
    )
    check_averages(tmp_path / "out")
    assert set(rejected) == REASONS


CHANGING = """
stream r(metric: string, value: double, route?: string from attribute "http.route") from otlp "in/r";
emit r to json "out";
"""
CHANGED: list[Item | str] = [
    request([{"metric": "a", "time": 1, "double": 1.0, "attributes": {"zone": "x", "http.route": "/"}}]),
    {"$accent": "[[+(zone: string)]]"},
    {"$accent": "[[rename(path, route)]]"},
    request(
        [
            {"metric": "b", "time": 1, "double": 1.0, "attributes": {"zone": "y", "path": "/b"}},
            {"metric": "c", "time": 1, "double": 1.0, "attributes": {"zone": "y", "http.route": "/c"}},
            {"metric": "d", "time": 1, "double": 1.0},
        ]
    ),
]
"""Cases: accents add and rename attributes of the data point."""


def check_changed(tuples: list[Item]) -> None:
    actual = sorted((row["metric"], row.get("zone"), row.get("route")) for row in tuples)
    assert actual == [("a", None, "/"), ("b", "y", "/b"), ("d", None, None)]


@pytest.mark.either_engine
def test_attributes_that_accents_bring_on_an_engine(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, CHANGING)
    run.write("r", CHANGED[:1])
    run.write("r", CHANGED[1:])
    run.process(files_per_epoch=1)
    check_changed(decode(run.output("r")))
    assert [line["code"] for line in run.quarantine("r")] == ["RQ313"]


def test_attributes_that_accents_bring_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Query.without_engine(tmp_path, CHANGING).write("r", CHANGED)
    rejected: list[str] = []
    simulate(CHANGING, Options(sinks={"r": "out"}), on_rejected=lambda line, code: rejected.append(code))
    check_changed(decode(read_output(tmp_path / "out")))
    assert rejected == ["RQ313"]
    (tmp_path / "q.rq").write_text(CHANGING)
    valid = cedilla("validate", "in/r", "--query", "q.rq", "--format", "json")
    assert [finding["code"] for finding in json.loads(valid.output)["findings"]] == ["RQ313"]


def test_one_stream_tools_read_data_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    lines = [request([old("cart", 1, 100)]), request([new("cart", 2, 0.1), new("web", 2, 0.1)])]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    of = ["r.jsonl", "--query", "q.rq"]
    valid = cedilla("validate", *of)
    assert valid.exit_code == 0, valid.output
    assert "3 tuples" in valid.output
    output = cedilla("canonize", *of).output
    assert json.loads(output.splitlines()[0]) == {
        "time": "1970-01-01T00:00:01.000000Z",
        "unit": "ms",
        "service": "cart",
        "count": 1,
        "temporality": "delta",
        "sum": 100.0,
    }
    (tmp_path / "bad.jsonl").write_text(request([old("cart", 1, 100, attributes={"http.status": "x"})]))
    bad = cedilla("validate", "bad.jsonl", "--query", "q.rq")
    assert '`status` must be an int, found "x" (read from attribute.`http.status`)' in bad.output


def test_a_query_of_requests_is_the_same_in_its_program() -> None:
    compiled = compile_query(QUERY)
    metrics = ("http.server.duration", "http.server.request.duration")
    assert compiled.plan.sources[0].metrics == metrics
    assert load(compiled)[0].sources[0] == compiled.plan.sources[0]
