"""Requests of OpenTelemetry in protobuf are read as the JSON of the same requests."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict, ParseError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pyspark.sql import SparkSession

from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.formats.otlp.source import RequestPart
from cedilla.runtime.connectors.records.otlp_proto import NO_MESSAGE, line_of, request_lines
from cedilla.runtime.connectors.records.record_files import one_line, record_of
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.options.options import Options
from tests.kit.compare import same
from tests.kit.errors import error_of
from tests.kit.otlp import framed, message_of
from tests.kit.query import Query
from tests.kit.stream import decode, read_output
from tests.kit.tiers import rest, tiered
from tests.runtime.connectors.formats.otlp_requests import (
    LINES,
    QUERY,
    TYPES,
    Writer,
    batches,
)

NOTHING = "in protobuf"


def messages_of(seed: int, count: int) -> list[bytes]:
    """Random requests, serialized by the messages of OpenTelemetry."""
    writer, messages = Writer(seed, 0), list[bytes]()
    while len(messages) < count:
        line = json.loads(writer.line().replace('"-7"', '"7"'))
        try:
            message = ParseDict(line, ExportMetricsServiceRequest(), ignore_unknown_fields=True)
        except ParseError:  # JSON may have what messages have not
            continue
        if all(m.name for r in message.resource_metrics for s in r.scope_metrics for m in s.metrics):
            messages.append(message.SerializeToString())
    return messages


def rows_of(path: Path, **part: Any) -> list[dict[str, Any]]:
    read = batches()
    part.setdefault("longest", 1 << 20)
    return [
        row
        for block in RequestPart(str(path), 0, reader=read.reader, **part).blocks()
        for row in read.batch(block, 0).to_pylist()
    ]


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_messages_at_once_are_their_lines_of_json(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, messages = Random(seed), messages_of(seed, 40)
    file = tmp_path / "proto"
    file.write_bytes(framed(*messages))
    monkeypatch.setattr(costs, "BLOCK", chance.choice([100, 5_000, 1 << 20]))
    at_once = rows_of(file)
    strict = list[dict[str, Any]]()
    with monkeypatch.context() as patch:
        patch.setattr(PointBatches, "parsed", lambda *_: None)
        strict = rows_of(file)
    records = tmp_path / "json"
    records.write_text("".join(f"{line.text}\n" for line in request_lines(file)))
    lines = rows_of(records)
    assert len(at_once) == len(strict) == len(lines) > 20
    for row, same_row, of_line in zip(at_once, strict, lines, strict=True):
        assert row["$position"] == same_row["$position"]
        assert row["$corrupt"] == same_row["$corrupt"] == of_line["$corrupt"]
        if row["$corrupt"] is None:
            assert all(same(row[n], same_row[n]) and same(row[n], of_line[n]) for n in TYPES), (row, of_line)
    cuts = sorted(chance.sample(range(1, file.stat().st_size), 5))
    parts = [
        rows_of(file, begin=begin, end=end) for begin, end in zip([0, *cuts], [*cuts, None], strict=True)
    ]
    assert [row["$position"] for part in parts for row in part] == [row["$position"] for row in at_once]


def test_usual_messages_are_not_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        {"metric": "a", "unit": "s", "time": n, "double": n / 2, "attributes": {"http.route": "/"}}
        for n in range(50)
    ]
    file = tmp_path / "proto"
    file.write_bytes(framed(*[message_of([point]).SerializeToString() for point in points]))

    def refused(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(PointBatches, "parse_rows", refused)
    assert [row["value"] for row in rows_of(file)] == [n / 2 for n in range(50)]


GOOD = message_of([{"metric": "a", "time": 1, "double": 1.5}]).SerializeToString()
CUT = "the message is cut off: its length is {} bytes, and {} are there"


@pytest.mark.parametrize(
    ("data", "faults"),
    [
        (framed(GOOD)[:-3], [CUT.format(len(GOOD), len(GOOD) - 3)]),
        (framed(GOOD) + b"\0\0", [None, "the file ends inside of a length, after 2 of 4 bytes"]),
        (framed(GOOD) + b"\0\0\1\0abc", [None, CUT.format(256, 3)]),
        (framed(b"\xff\xff", GOOD), [NO_MESSAGE, None]),
        (framed(b"\x08\x01", GOOD), [NO_MESSAGE, None]),
        (framed(GOOD, b"", GOOD), [None, None]),
        (framed(GOOD, b"\n" * 5000, GOOD), [None, "the line is longer than", None]),
    ],
)
def test_damaged_messages_are_set_aside_alone(
    data: bytes, faults: Sequence[str | None], tmp_path: Path
) -> None:
    file = tmp_path / "proto"
    file.write_bytes(data)
    rows = rows_of(file, longest=4_000)
    assert [row["$corrupt"] and row["$corrupt"][:23] for row in rows] == [f and f[:23] for f in faults]
    lines = [line for line in request_lines(file, 4_000) if line.text != "{}"]
    assert [line.fault[:23] or None for line in lines] == [f and f[:23] for f in faults]


def test_spans_are_no_metrics(tmp_path: Path) -> None:
    message = ExportTraceServiceRequest()
    span = message.resource_spans.add().scope_spans.add().spans.add(name="GET", kind=2)
    span.span_id = b"\xff" * 8
    file = tmp_path / "proto"
    file.write_bytes(framed(message.SerializeToString()))
    assert [row["$corrupt"] for row in rows_of(file)] == [NO_MESSAGE]


def test_a_record_keeps_its_bytes_even_if_they_look_like_a_marker() -> None:
    message = message_of([{"metric": '"$accent', "time": 1, "int": 7}]).SerializeToString()
    assert record_of(one_line(message)) == message
    assert json.loads(line_of(one_line(message)))["resourceMetrics"]
    assert one_line(b'\n{"a":\n 1}') == b' {"a":  1}'


PROTO = QUERY.replace("punctuated on time", "heartbeat time delay 1 hour")


@pytest.mark.either_engine
@pytest.mark.parametrize("is_packed", [False, rest(True)])
def test_a_stream_of_messages_on_an_engine_and_without(
    spark: SparkSession, tmp_path: Path, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is set aside is a request of JSON, or the bytes of what is none, with the number of its message."""
    run = Query(spark, tmp_path, PROTO)
    folder = tmp_path / "in" / "latency"
    folder.mkdir(parents=True, exist_ok=True)
    messages = [
        ParseDict(json.loads(line), ExportMetricsServiceRequest()).SerializeToString()
        for lines in LINES
        for line in lines
        if isinstance(line, str) and "resourceMetrics" in line
    ]
    data = framed(*messages, b"\x08\x01") + b"\0\0\0\7ab"
    path = folder / ("a.pb.gz" if is_packed else "a.pb")
    path.write_bytes(gzip.compress(data) if is_packed else data)
    run.process()
    points = sorted((row["service"], row["time"]) for row in decode(run.output("points")))
    assert len(points) == 9
    aside = run.quarantine("latency")
    broken = [rejected for rejected in aside if rejected["code"] == "RQ301" and "raw" in rejected]
    assert {rejected["position"]["line"] for rejected in broken if NOTHING in rejected["reason"]} == {6}
    assert any(CUT.format(7, 2) == r["reason"] and r["position"]["line"] == 7 for r in broken)
    assert all(json.loads(r["raw"])["resourceMetrics"] for r in aside if r["position"]["line"] < 6)
    monkeypatch.chdir(tmp_path)
    rejected = list[tuple[str, str]]()
    simulate(
        PROTO,
        Options(sinks={"averages": "alone/averages", "points": "alone/points"}),
        on_rejected=lambda line, code: rejected.append((code, line.reason)),
    )
    assert sorted(rejected) == sorted((r["code"], r["reason"]) for r in aside)
    assert (
        sorted((row["service"], row["time"]) for row in decode(read_output(tmp_path / "alone" / "points")))
        == points
    )


def test_messages_without_the_package_have_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "proto"
    file.write_bytes(framed(GOOD))
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2", None)
    error = error_of(lambda: rows_of(file))
    assert (error.code, error.help) == ("RQ506", "pip install 'cedilla[otlp]'")
    assert error_of(lambda: [*request_lines(file)]).code == "RQ506"
