"""Data points of OpenTelemetry are tuples: at once and point by point, on engines and without one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.otlp import KINDS, PointReader
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.command import cedilla
from tests.kit.compare import same
from tests.kit.otlp import request
from tests.kit.query import Query
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import rest, tiered
from tests.runtime.connectors.formats.line_files import together_and_alone

TYPES = {
    "metric": Type("string"),
    "unit": Type("string"),
    "kind": Type("string"),
    "temporality": Type("string"),
    "monotonic": Type("boolean"),
    "start": Type("long"),
    "time": Type("timestamp"),
    "value": Type("double"),
    "whole": Type("long"),
    "count": Type("long"),
    "sum": Type("double"),
    "least": Type("double"),
    "buckets": Type("string"),
    "bounds": Type("string"),
    "service": Type("string"),
    "host": Type("string"),
    "route": Type("string"),
    "status": Type("int"),
    "share": Type("double"),
    "ok": Type("boolean"),
    "at": Type("timestamp"),
    "price": Type("decimal", (10, 2)),
    "library": Type("string"),
}
PATHS = {
    "least": ("min",),
    "service": ("resource", "service.name"),
    "host": ("resource", "host.name"),
    "route": ("attribute", "http.route"),
    "status": ("attribute", "status"),
    "share": ("attribute", "share"),
    "ok": ("attribute", "ok"),
    "price": ("attribute", "price"),
    "library": ("scope", "name"),
}
NUMBERS = ['"5"', '"-7"', '"0"', '"9223372036854775807"']
BOUNDS = ["0", "1", "2.50", "0.1", "1e-7", "1E+22", "-0.0", "12345678901234567890", "100000"]
ODD = [
    "5",
    "1.5",
    '"x"',
    '""',
    "null",
    "{}",
    "[]",
    "true",
    '"NaN"',
    '"007"',
    '"+5"',
    '" 5"',
    '"0x10"',
    '"9223372036854775808"',
]
ANY = ['{"stringValue": "a"}', '{"intValue": "5"}', '{"doubleValue": 1.5}', '{"boolValue": true}', "{}"]
ODD_ANY = [
    '{"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "2"}]}}',
    '{"kvlistValue": {"values": [{"key": "k", "value": {"doubleValue": 2.50}}]}}',
    '{"bytesValue": "YQ=="}',
    '{"intValue": 5}',
    '{"intValue": "x"}',
    '{"doubleValue": "NaN"}',
    '{"stringValue": 5}',
    "null",
    '"a"',
]
OF_TYPE = {
    "http.route": [0],
    "status": [1],
    "share": [1, 2],
    "ok": [3],
    "at": [],
    "price": [1],
    "service.name": [0],
    "host.name": [0, 1, 3, 4],
    "other": range(5),
}


class Writer:
    """Random requests; a part `odd` of all values has unknown types."""

    def __init__(self, seed: int, odd: float) -> None:
        self.chance, self.odd = Random(seed), odd

    def is_odd(self) -> bool:
        return self.chance.random() < self.odd

    def object(self, **fields: str) -> str:
        some = [(name, text) for name, text in fields.items() if self.chance.random() < 0.9]
        return (
            "{"
            + ", ".join(
                f'"{name}": {self.chance.choice(ODD) if self.is_odd() else text}' for name, text in some
            )
            + "}"
        )

    def list(self, write: Any, most: int) -> str:
        return f"[{', '.join(write() for _ in range(self.chance.randrange(most + 1)))}]"

    def attribute(self) -> str:
        key = self.chance.choice(list(OF_TYPE))
        usual = [ANY[n] for n in OF_TYPE[key]] or ['{"stringValue": "2026-01-02T03:04:05Z"}']
        return self.object(
            key=json.dumps(key), value=self.chance.choice([*ANY, *ODD_ANY] if self.is_odd() else usual)
        )

    def attributes(self) -> str:
        return self.list(self.attribute, 4)

    def point(self, kind: str) -> str:
        fields: dict[str, str] = {"attributes": self.attributes(), "timeUnixNano": '"1700000000123456789"'}
        fields["startTimeUnixNano"] = self.chance.choice(['"0"', '"1600000000000000000"'])
        if self.chance.random() < 0.2:
            fields["flags"] = self.chance.choice(["0", "1", "2", "3"])
        if kind in ("sum", "gauge"):
            fields |= (
                {"asInt": self.chance.choice(NUMBERS)} if self.chance.random() < 0.5 else {"asDouble": "1.5"}
            )
        else:
            fields |= {"count": self.chance.choice(NUMBERS), "sum": "2.5", "min": "0.5", "max": "7"}
            fields |= {
                "bucketCounts": self.list(lambda: self.chance.choice(NUMBERS), 3),
                "explicitBounds": self.list(lambda: self.chance.choice(BOUNDS), 4),
            }
        return self.object(**fields)

    def metric(self) -> str:
        kind = self.chance.choice([*KINDS, "histogram", "gauge"])
        data = self.object(
            dataPoints=self.list(lambda: self.point(kind), 4),
            aggregationTemporality=self.chance.choice("0123"),
            isMonotonic="true",
        )
        name, unit = self.chance.choice(['"a"', '"b"', '"c"']), self.chance.choice(['"ms"', '"s"', '""'])
        return self.object(name=name, unit=unit, **{kind: data})

    def scope(self) -> str:
        return self.object(scope='{"name": "lib"}', metrics=self.list(self.metric, 3))

    def resource(self) -> str:
        return self.object(
            resource=f'{{"attributes": {self.attributes()}}}', scopeMetrics=self.list(self.scope, 2)
        )

    def line(self) -> str:
        if self.is_odd():
            return self.chance.choice(['{"resourceSpans": []}', "{}", "5", '{"resourceMetrics": [5]}', "no"])
        return f'{{"resourceMetrics": {self.list(self.resource, 3)}}}'


def batches(metrics: tuple[str, ...] = (), *, plain: bool = False) -> PointBatches:
    types = {name: type_ for name, type_ in TYPES.items() if not plain or name not in ("whole", "price")}
    return PointBatches(types, reader=PointReader(types, PATHS, metrics))


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


QUERY = """
stream latency(time: timestamp, unit: string, service: string from resource "service.name" in {"cart", "web"},
               status?: int from attribute "http.status", count: long unit "{request}",
               temporality: string in {"delta"},
               sum: double unit from unit in {ms, s})
  from otlp "in/latency"
  punctuated on time
  metrics "http.server.duration", "http.server.request.duration";
minutes := window[1 minute on time as minute](latency);
totals := aggregate[sum(sum) as total, sum(count) as n by service, minute](minutes);
averages := project[service, minute, total / n as average, n](totals);
points := project[service, time, status, count](latency);
emit averages to json "out/averages" with average in ms;
emit points to json "out/points";
"""


def old(service: str, time: float, sum_: float, count: int = 1, **more: Any) -> dict[str, Any]:
    named = {"metric": "http.server.duration", "unit": "ms", "time": time, "count": count, "sum": sum_}
    return {**named, "resource": {"service.name": service}, **more}


def new(service: str, time: float, sum_: float, count: int = 1, **more: Any) -> dict[str, Any]:
    return {**old(service, time, sum_, count, **more), "metric": "http.server.request.duration", "unit": "s"}


LINES: list[list[Item | str]] = [
    [
        request(
            [old("cart", 1, 100), old("web", 2, 300, 2), {"metric": "jvm", "unit": "By", "time": 2, "int": 5}]
        ),
        request([new("cart", 30, 0.3), old("web", 31, 60)]),
        {"$accent": '[[service = "web", -(status)]]'},
        request(
            [
                old("web", 32, 60, attributes={"http.status": 200}),
                new("cart", 33, 0.1, attributes={"http.status": 404}),
            ]
        ),
        {"$punctuation": '[time < "1970-01-01T00:01:00Z"]'},
    ],
    [
        request(
            [
                new("cart", 61, 0.2),
                new("cart", 59, 5.0),
                {**new("web", 62, 0.4), "unit": "us"},
                new("db", 62, 1),
            ]
        ),
        '{"resourceSpans": []}',
        request([new("cart", 62, 0.2, attributes={"http.status": "bad"}), new("web", 63, 0.5)]),
        {"$punctuation": "[]"},
    ],
]
AVERAGES = [
    {"service": "cart", "minute": 0, "n": 3, "average": 500 / 3},
    {"service": "cart", "minute": 1, "n": 1, "average": 200},
    {"service": "web", "minute": 0, "n": 3, "average": 120},
    {"service": "web", "minute": 1, "n": 1, "average": 500},
]
REASONS = {
    ("RQ301", "the line is not an ExportMetricsServiceRequest in JSON"),
    ("RQ301", '`status` is no int: "bad" (read from attribute.`http.status`)'),
    ("RQ303", "`service` is outside its declared domain (read from resource.`service.name`)"),
    (
        "RQ304",
        "`status` is defined where it does not exist: before its add or after its drop "
        "(read from attribute.`http.status`)",
    ),
    ("RQ305", "a punctuation has closed the tuple's region"),
    ("RQ311", "`sum` is in a unit that its declaration does not name"),
}


def approximate(item: Mapping[str, Any]) -> Item:
    return {
        name: value if isinstance(value, str) else pytest.approx(float(value)) for name, value in item.items()
    }


def check_averages(folder: Path) -> None:
    actual = sorted(decode(read_output(folder / "averages")), key=lambda row: (row["service"], row["minute"]))
    assert [approximate(row) for row in actual] == AVERAGES
    points = decode(read_output(folder / "points"))
    assert sorted((row["service"], row["time"], row.get("status")) for row in points) == [
        ("cart", "1970-01-01T00:00:01.000000Z", None),
        ("cart", "1970-01-01T00:00:30.000000Z", None),
        ("cart", "1970-01-01T00:00:33.000000Z", 404),
        ("cart", "1970-01-01T00:01:01.000000Z", None),
        ("web", "1970-01-01T00:00:02.000000Z", None),
        ("web", "1970-01-01T00:00:31.000000Z", None),
        ("web", "1970-01-01T00:01:03.000000Z", None),
    ]


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
    assert '`status` is no int: "x" (read from attribute.`http.status`)' in bad.output


def test_a_query_of_requests_is_the_same_in_its_program() -> None:
    compiled = compile_query(QUERY)
    metrics = ("http.server.duration", "http.server.request.duration")
    assert compiled.plan.sources[0].metrics == metrics
    assert load(compiled)[0].sources[0] == compiled.plan.sources[0]
