"""Fields of records on a broker: accents by the id of a schema, CloudEvents in binary mode, recorded files."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options
from cedilla.produce import Stream
from cedilla.runtime.tools.simulation.simulation import simulate
from tests.kit.command import cedilla
from tests.kit.kafka import Broker, accent, closed
from tests.kit.stream import is_tuple, read_output
from tests.runtime.connectors.topics.topic_query import TopicQuery, mend

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

SCHEMAS = """
stream r(id: int from record "schema", ts: long, s: int in {1, 2}, t?: double unit degF)
  from kafka "ADDRESS"
  punctuated on ts;
accent r [[id = 2, rename(temp, t)]];
accent r [[id = 2, unit(temp, degC)]];
w := window[60 on ts as wid](r);
a := aggregate[avg by wid except ts, s, id](w);
emit a to json "OUT" with t in degF;
"""


def framed(schema: int, item: dict[str, Any]) -> bytes:
    """Returns a tuple as a serializer of JSON Schema writes it."""
    return b"\0" + schema.to_bytes(4) + json.dumps(item).encode()


def check_schemas(kafka: Broker, query: TopicQuery, name: str) -> None:
    """Old and new producers write into the same partitions at the same time, in two runs with a restart between."""
    for begin in (0, 60):
        old = framed(1, {"ts": begin, "s": 1, "t": 50.0}), framed(1, {"ts": begin + 3, "s": 2, "t": 68.0})
        new = (
            framed(2, {"ts": begin + 1, "s": 1, "temp": 10.0}),
            framed(2, {"ts": begin + 4, "s": 2, "temp": 20.0}),
        )
        end = json.dumps(closed(f"[ts < {begin + 60}]"))
        kafka.send(name, [old[0], new[0], old[0], end], [new[1], old[1], new[1], end])
        query.run()
    assert query.tuples == [{"wid": 0, "t": pytest.approx(59.0)}, {"wid": 1, "t": pytest.approx(59.0)}]
    assert query.quarantine() == []


def test_accents_by_the_id_of_a_schema(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    check_schemas(kafka, TopicQuery(sail, kafka.topic("schemas"), tmp_path, SCHEMAS), "schemas")


def test_accents_by_the_id_of_a_schema_on_spark(kafka: Broker, spark: SparkSession, tmp_path: Path) -> None:
    check_schemas(kafka, TopicQuery(spark, kafka.topic("schemas_spark"), tmp_path, SCHEMAS), "schemas_spark")


KEY = 'key?: string from record "key", '
KEYED = f"""
stream r({KEY}t: double) from kafka "ADDRESS";
emit r to json "OUT";
"""
EVENTS = """
stream r(kind: string from header "ce_type", at: timestamp from header "ce_time", key?: string from record "key",
         p: int from record "partition", o: long from record "offset", sent: timestamp from record "timestamp",
         pump: int, litres: double)
  from kafka "ADDRESS";
emit select[kind = "org.example.reading"](r) to json "OUT";
"""


def test_events_of_the_cloud_in_binary_mode(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    """Their attributes are headers. A record without one, or with a wrong one, is set aside."""
    query = TopicQuery(sail, kafka.topic("events"), tmp_path, EVENTS)
    headers = {"ce_type": "org.example.reading", "ce_time": "2026-01-02T03:04:05Z"}
    moment = 1_700_000_000_005
    reading = {"pump": 1, "litres": 2.5}
    kafka.send_record("events", reading, headers=headers, key="ä", timestamp=moment)
    kafka.send_record("events", accent("[[alter(litres, y -> y / 1000)]]"))
    kafka.send_record("events", reading, 1, headers={**headers, "ce_type": "org.example.alarm"})
    kafka.send_record("events", {**reading, "litres": 2500}, headers=headers, timestamp=moment)
    kafka.send_record("events", reading, headers={**headers, "ce_time": "noon"})
    kafka.send_record("events", reading, headers={"ce_time": "2026-01-02T03:04:05Z"})
    kafka.send_record("events", reading, headers=headers, key=b"\xff")
    query.run()
    both = {
        "kind": "org.example.reading",
        "at": "2026-01-02T03:04:05.000000Z",
        "sent": "2023-11-14T22:13:20.005000Z",
        "p": 0,
        "pump": 1,
    }
    first, second = query.tuples
    assert first == {**both, "key": "ä", "o": 0, "litres": 2.5}
    assert second == {**both, "o": 2, "litres": 2_500_000.0}
    assert [(q["position"]["line"], q["code"]) for q in query.quarantine()] == [
        (3, "RQ301"),
        (4, "RQ302"),
        (5, "RQ301"),
    ]
    assert (
        query.quarantine()[0]["reason"]
        == '`at` must be a timestamp, found "noon" (read from header "ce_time")'
    )
    assert b"\xff" in b64decode(query.quarantine()[2]["bytes"])
    # What reads the topic without an engine gives the same.
    simulate(query.text, Options(sinks={"out": str(tmp_path / "simulated")}))
    assert [item for item in read_output(tmp_path / "simulated") if is_tuple(item)] == query.tuples


def test_recorded_files_have_the_fields_in_their_lines(sail: SparkSession, tmp_path: Path) -> None:
    """A file takes the place of a topic: its tuples have what the reader of a topic would add."""
    folder = tmp_path / "recorded"
    folder.mkdir()
    header = {
        "@record.header.ce_type": "org.example.reading",
        "@record.header.ce_time": "2026-01-02T03:04:05Z",
    }
    fields = {"@record.partition": 0, "@record.offset": 7, "@record.timestamp": "2026-01-02T03:04:06Z"}
    (folder / "1.jsonl").write_text(json.dumps({**header, **fields, "pump": 1, "litres": 2.5}) + "\n")
    query = TopicQuery(sail, "localhost:1/none", tmp_path, EVENTS)
    query.run(sources={"r": str(folder)})
    assert [item["o"] for item in query.tuples] == [7]


POINTS = """
stream r(time: long, unit: string, host?: string from header "host", o: long from record "offset",
         value: double unit from unit in {ms, s})
  from kafka_otlp "ADDRESS" metrics "latency";
emit r to json "OUT" with value in ms;
"""


def test_data_points_have_the_fields_of_their_records(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """Of requests in JSON and in protobuf."""
    from tests.kit.otlp import line_of, message_of

    query = TopicQuery(sail, kafka.topic("points_of", 1), tmp_path, POINTS)
    points = message_of([{"metric": "latency", "unit": "s", "time": 1, "double": n} for n in (0.5, 2.0)])
    kafka.send_record("points_of", line_of(points).encode(), headers={"host": "a"})
    kafka.send_record("points_of", points.SerializeToString(), headers={"host": "b"})
    kafka.send_record(
        "points_of",
        message_of([{"metric": "latency", "unit": "h", "time": 1, "double": 1}]).SerializeToString(),
    )
    query.run()
    actual = [(item["host"], item["o"], item["value"]) for item in query.tuples]
    assert actual == [("a", 0, 500.0), ("a", 0, 2000.0), ("b", 1, 500.0), ("b", 1, 2000.0)]
    (aside,) = query.quarantine()
    assert json.loads(aside["raw"])["@record.offset"] == 2
    simulate(query.text, Options(sinks={"out": str(tmp_path / "simulated")}))
    assert [item for item in read_output(tmp_path / "simulated") if is_tuple(item)] == query.tuples


def test_tools_read_the_fields_and_a_sender_writes_values(kafka: Broker, tmp_path: Path) -> None:
    address = kafka.topic("sender", 1)
    query = tmp_path / "q.rq"
    query.write_text(
        f"""stream r(k: string from record "key", ts: long) from kafka "{address}" punctuated on ts;
        emit r to json "out";"""
    )
    with Stream(address, query=query) as sender:
        sender.tuple(ts=1)
        sender.punctuate("ts < 2")
    kafka.send_record("sender", {"ts": 3}, key="a")
    checked = cedilla("validate", address, "--query", str(query))
    assert checked.exit_code == 1
    assert "1 error (RQ302: 1)" in checked.output
    assert "sender/0:0" in checked.output


def test_a_field_is_not_added_while_records_wait_that_lack_it(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """A bad marker has ended the run within a batch, before its last records."""
    query = TopicQuery(sail, kafka.topic("waiting", 1), tmp_path, KEYED.replace(KEY, ""))
    kafka.send_record("waiting", {"t": 1.5}, key="a")
    kafka.send_record("waiting", accent("[[rename(t, ]]"))
    kafka.send_record("waiting", {"t": 2.5}, key="b")
    refused = query.refused()
    without = query.text
    query.text = KEYED.replace("ADDRESS", f"{kafka.address}/waiting").replace("OUT", str(tmp_path / "out"))
    error = query.refused(yes=True)
    assert (error.code, 'reads `record "key"`' in error.message) == ("RQ527", True)
    query.text, edited = without, query.text
    mend(refused)
    query.run()
    query.text = edited
    kafka.send_record("waiting", {"t": 3.5}, key="c")
    query.run(yes=True)
    assert query.tuples[-3:] == [{"t": 1.5}, {"t": 2.5}, {"t": 3.5, "key": "c"}]
