"""Topics of Kafka, on a broker in KRaft mode on this machine: sources, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.runtime.connectors.formats.sinks.kafka import KafkaSink
from cedilla.runtime.connectors.topics.fetch_process import FetchProcess
from cedilla.runtime.epochs.checkpoint import journal
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.tools.inspect.run_model import RunModel
from cedilla.runtime.tools.inspect.status import read_status, status_text
from tests.kit.kafka import Broker, accent, broker, closed, row
from tests.kit.stream import decode, is_tuple
from tests.runtime.connectors.topics.topic_query import (
    COPY,
    PLAIN,
    QUERY,
    TopicQuery,
    copied,
    dying_clients,
    mend,
    started_run,
    wait_for_epochs,
)

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

CELSIUS = "[[alter(t, y -> (y - 32) * 5/9)]]"


def test_a_marker_holds_for_its_partition(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    query = TopicQuery(sail, kafka.topic("partitions"), tmp_path)
    kafka.send(
        "partitions",
        [row(0, 1, 77.0), accent(CELSIUS), row(1, 1, 25.0), closed("[ts < 60]")],
        [row(0, 2, 68.0), row(2, 2, 68.0)],
    )
    query.run()
    assert query.output == []
    kafka.send("partitions", [], [closed("[ts < 60]")])
    query.run()
    assert query.output == [{"wid": 0, "t": 72.5}, closed("[wid < 1]")]
    end = closed("[ts < 120]")
    kafka.send("partitions", [row(60, 1, 10.0), end], [accent(CELSIUS), row(61, 2, 20.0), end])
    query.run()
    announced = accent("[[alter(t, y -> (y * 5 - 160) / 9)]]")
    assert query.output[2:] == [{"wid": 1, "t": 59.0}, closed("[wid < 2]"), announced]


def test_a_key_waits_for_no_other_partition(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    text = QUERY.replace("punctuated on ts", "partitioned by s").replace(
        "by wid except ts, s", "by wid, s except ts"
    )
    query = TopicQuery(sail, kafka.topic("keys"), tmp_path, text)
    kafka.send("keys", [row(0, 1, 77.0), closed("[s = 1, ts < 60]")], [row(0, 2, 68.0), row(1, 1, 5.0)])
    query.run()
    assert query.tuples == [{"wid": 0, "s": 1, "t": 77.0}]
    kafka.send("keys", [], [row(2, 1, 5.0), closed("[s = 2, ts < 60]")])
    query.run()
    assert query.tuples[1:] == [{"wid": 0, "s": 2, "t": 68.0}]
    assert {q["code"] for q in query.quarantine()} == {"RQ305"}


def test_names_and_codes_are_those_of_a_partition(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    """Also of the key that lives in one partition."""
    text = PLAIN.replace('"ADDRESS"', '"ADDRESS" partitioned by s')
    query = TopicQuery(sail, kafka.topic("names"), tmp_path, text)
    kafka.send(
        "names",
        [
            accent("[[rename(temp, t)]]"),
            accent("[[recode(s, {1: 2, 2: 1})]]"),
            {"ts": 0, "s": 2, "temp": 1.0},
            row(1, 2, 1.0),
            accent("[[s = 2, alter(temp, y -> y * 2)]]"),
            {"ts": 2, "s": 2, "temp": 2.0},
        ],
        [row(3, 2, 1.0), {"ts": 4, "s": 2, "temp": 1.0}, row(5, 2, 1.0)],
    )
    query.run()
    assert sorted((r["ts"], r["s"], r["t"]) for r in query.tuples) == [
        (0, 1, 1.0),
        (2, 1, 1.0),
        (3, 2, 1.0),
        (5, 2, 1.0),
    ]
    assert sorted((q["position"]["file"], q["position"]["line"], q["code"]) for q in query.quarantine()) == [
        ("names/0", 3, "RQ313"),
        ("names/1", 1, "RQ313"),
    ]
    kafka.send("names", [row(6, 2, 1.0), {"ts": 7, "s": 2, "temp": 4.0}], [row(8, 2, 1.0)])
    query.run()
    assert sorted((r["ts"], r["s"], r["t"]) for r in decode(query.output))[4:] == [(7, 1, 2.0), (8, 2, 1.0)]


def test_bad_tuples_are_set_aside_with_their_offsets(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = TopicQuery(sail, kafka.topic("bad"), tmp_path, PLAIN)
    pretty = json.dumps(row(3, 1, 3.0), indent=1)
    kafka.send(
        "bad",
        [row(0, 1, 1.0), "{bad", None, row(1, 9, 1.0), '{"ts": 2,\n "s": 1, "t": "a\nb"}'],
        [b"\xff", pretty, row(4, 2, 4.0)],
    )
    query.run()
    assert sorted(item["ts"] for item in query.tuples) == [0, 3, 4]
    actual = {(q["position"]["file"], q["position"]["line"]): q["code"] for q in query.quarantine()}
    assert actual == {
        ("bad/0", 1): "RQ301",
        ("bad/0", 3): "RQ303",
        ("bad/0", 4): "RQ301",
        ("bad/1", 0): "RQ301",
    }


def test_a_bad_marker_ends_the_query_at_its_offset_and_its_copy_can_be_mended(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = TopicQuery(sail, kafka.topic("marker"), tmp_path, PLAIN)
    kafka.send("marker", [row(0, 1, 1.0), accent("[[-(tt)]]"), row(1, 1, 1.0)], [row(2, 2, 2.0)])
    refusal = query.refused()
    assert refusal.code == "RQ207"
    assert any("marker/0:1" in note for note in refusal.notes)
    mend(refusal)
    query.run()
    assert sorted(item["ts"] for item in query.tuples) == [0, 1, 2]


def test_a_near_miss_in_a_topic_is_named_and_counted(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    text = PLAIN.replace("t: double", "fee?: double")
    query = TopicQuery(sail, kafka.topic("near"), tmp_path, text)
    kafka.send("near", [{"ts": 0, "s": 1, "Fee": 1.0}, {"ts": 1, "s": 1, "Fee": 1.0}], [])
    query.run()
    (warning,) = [w for report in query.reports for w in report.warnings if w.code == "RQ361"]
    assert "did you mean `fee` by `Fee`?" in (warning.help or "")
    assert read_status(str(tmp_path / "checkpoint")).sources[0].undeclared == {"Fee": 1}


def test_heartbeats_close_partition_by_partition(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    text = QUERY.replace("punctuated on ts", "heartbeat ts delay 10")
    query = TopicQuery(sail, kafka.topic("beats"), tmp_path, text)
    kafka.send("beats", [row(0, 1, 1.0), row(500, 1, 1.0)], [row(3, 2, 3.0)])
    query.run()
    assert query.output == [closed("[wid < -1]")]
    kafka.send("beats", [], [row(4, 2, 5.0), row(80, 2, 1.0)])
    query.run()
    assert query.output[1:] == [{"wid": 0, "t": 3.0}, closed("[wid < 1]")]
    assert query.quarantine() == []


def test_added_partitions_are_read_from_their_first_record(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = TopicQuery(sail, kafka.topic("wider", 1), tmp_path)
    kafka.send("wider", [row(0, 1, 1.0), closed("[ts < 60]")])
    query.run()
    kafka.widen("wider", 2)
    kafka.send("wider", [row(60, 1, 1.0), closed("[ts < 120]")], [row(5, 2, 9.0), row(61, 2, 2.0)])
    query.run()
    assert any("2 partitions now" in note for report in query.reports for note in report.notes)
    # Closed regions stay closed, for the new partition, too; open ones wait for it.
    assert [q["code"] for q in query.quarantine()] == ["RQ305"]
    assert query.tuples == [{"wid": 0, "t": 1.0}]
    kafka.send("wider", [], [closed("[]")])
    query.run()
    assert query.tuples == [{"wid": 0, "t": 1.0}, {"wid": 1, "t": 1.5}]


def test_records_that_are_gone_are_never_passed_over_in_silence(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = TopicQuery(sail, kafka.topic("gap", 1), tmp_path, PLAIN)
    kafka.send("gap", [row(n, 1, 1.0) for n in range(3)])
    query.run()
    kafka.send("gap", [row(n, 1, 1.0) for n in range(3, 9)])
    kafka.delete_records("gap", 0, 7)
    refusal = query.refused()
    assert refusal.code == "RQ446"
    assert "records 3 to 6 of gap/0" in refusal.message
    query.run(settings={"gaps": "skip"})
    assert sorted(item["ts"] for item in query.tuples) == [0, 1, 2, 7, 8]
    assert any("records 3 to 6 of gap/0" in note for note in query.reports[-1].notes)


def test_a_topic_that_is_made_anew_is_another(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    query = TopicQuery(sail, kafka.topic("again", 1), tmp_path, PLAIN)
    kafka.send("again", [row(0, 1, 1.0)])
    query.run()
    kafka.delete("again")
    assert query.refused().code == "RQ445"
    kafka.topic("again", 1)
    kafka.send("again", [row(0, 1, 1.0), row(1, 1, 1.0)])
    assert query.refused().code == "RQ447"


def test_an_edit_brings_another_topic_and_takes_the_first(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """The topic that comes is read from its first record, the other one from where it was read to."""
    query = TopicQuery(sail, kafka.topic("first", 1), tmp_path, UNITED[0])
    kafka.send("first", [row(0, 1, 1.0)])
    query.run()
    before, address = query.text, kafka.topic("second", 2)
    query.text = UNITED[1].replace("SECOND", address).replace("OUT", str(tmp_path / "out"))
    query.text = query.text.replace("ADDRESS", before.split('"')[1])
    kafka.send("second", [row(1, 2, 2.0)], [row(2, 2, 2.0)])
    kafka.send("first", [row(3, 1, 1.0)])
    query.run(yes=True)
    assert sorted(item["ts"] for item in query.tuples) == [0, 1, 2, 3]
    query.text = UNITED[2].replace("SECOND", address).replace("OUT", str(tmp_path / "out"))
    kafka.send("second", [row(4, 2, 2.0)])
    kafka.send("first", [row(5, 1, 1.0)])
    query.run(yes=True)
    assert sorted(item["ts"] for item in query.tuples) == [0, 1, 2, 3, 4]


UNITED = [
    """stream r(ts: long, s: int, t: double) from kafka "ADDRESS";
    all := select[ts >= 0](r);
    emit all to json "OUT";""",
    """stream r(ts: long, s: int, t: double) from kafka "ADDRESS";
    stream q(ts: long, s: int, t: double) from kafka "SECOND";
    all := select[ts >= 0](r union q);
    emit all to json "OUT";""",
    """stream q(ts: long, s: int, t: double) from kafka "SECOND";
    all := select[ts >= 0](q);
    emit all to json "OUT";""",
]


def test_what_is_left_of_a_topic_that_is_made_anew_does_not_hide_it(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """Fetched records of the old topic are committed; later offsets are not used for the new one, of any length."""
    query = TopicQuery(sail, kafka.topic("left", 1), tmp_path, PLAIN)
    kafka.send("left", [row(0, 1, 1.0)])
    query.run()
    kafka.send("left", [row(1, 1, 1.0), accent("[[-(tt)]]"), row(2, 1, 1.0)])
    mend(query.refused())
    kafka.delete("left")
    kafka.topic("left", 1)
    kafka.send("left", [row(n, 2, 1.0) for n in range(10)])
    for _ in range(2):
        assert query.refused().code == "RQ447"
        assert sorted((item["s"], item["ts"]) for item in query.tuples) == [(1, 0), (1, 1), (1, 2)]


def test_an_output_is_looked_for_and_never_made(
    tmp_path_factory: pytest.TempPathFactory, kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """Also where brokers make topics that clients ask for."""
    with broker(tmp_path_factory.mktemp("making"), makes_topics=True) as making:
        query = TopicQuery(
            sail, making.topic("in"), tmp_path, COPY.replace("ADDRESS_OUT", f"{making.address}/typo")
        )
        assert query.refused().code == "RQ445"
        assert "typo" not in making.admin.list_topics(timeout=30).topics


def test_offsets_are_in_the_commit_record_and_in_status(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = TopicQuery(sail, kafka.topic("status"), tmp_path, PLAIN)
    kafka.send("status", [row(n, 1, 1.0) for n in range(25)], [row(0, 2, 1.0)])
    query.run(records_per_epoch=10)
    assert len(query.reports) >= 3
    assert len(query.tuples) == 26
    text = status_text(read_status(str(tmp_path / "checkpoint")))
    assert "next offsets: 0: 25, 1: 1" in text
    assert not list((tmp_path / "checkpoint" / "topics").rglob("*.jsonl"))


def test_the_journal_has_the_records_that_are_left(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    query = TopicQuery(sail, kafka.topic("backlog"), tmp_path, PLAIN)
    kafka.send("backlog", [row(n, 1, 1.0) for n in range(25)], [row(0, 2, 1.0)])
    left: list[int] = []

    def look(report: EpochReport) -> None:
        left.append(RunModel(str(tmp_path / "checkpoint")).read()["records_left"]["r"])

    options = Options(once=True, checkpoint=str(tmp_path / "checkpoint"), records_per_epoch=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "_COST", 0)
        patch.setattr(journal, "_PAUSE", 0.0)
        run(query.text, options, spark=sail, on_report=look)
    assert left == sorted(left, reverse=True)
    assert (0 < left[0] < 26, left[-1]) == (True, 0)


def test_secrets_are_shown_nowhere(
    kafka: Broker, sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    properties = tmp_path / "client.properties"
    monkeypatch.setenv("CEDILLA_KAFKA_PROPERTIES", str(properties))
    query = TopicQuery(sail, kafka.topic("secret"), tmp_path, PLAIN)
    kafka.send("secret", [row(0, 1, 1.0)])
    properties.write_text("sasl.username=me\nsasl.password=hunter2\nclient.id=hunter2\n")
    query.run()
    assert len(query.tuples) == 1
    for wrong in ("security.protocol=hunter2", "hunter2", "bootstrap.servers=hunter2", "no.such=hunter2"):
        properties.write_text(f"sasl.password=hunter2\n{wrong}\n")
        assert query.refused().code == "RQ443"
        assert "hunter2" not in str(query.refused())
    properties.unlink()
    assert query.refused().code == "RQ443"
    output = "".join(capfd.readouterr())
    texts = [p.read_text(errors="replace") for p in (tmp_path / "checkpoint").rglob("*") if p.is_file()]
    assert not any("hunter2" in text for text in (output, *texts))


def test_brokers_that_do_not_answer_end_the_run(sail: SparkSession, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("cedilla.runtime.connectors.topics.kafka_client.SECONDS", 0.5)
    assert TopicQuery(sail, "localhost:1/r", tmp_path).refused().code == "RQ444"


def test_on_spark(kafka: Broker, spark: SparkSession, tmp_path: Path) -> None:
    query = TopicQuery(spark, kafka.topic("spark"), tmp_path)
    kafka.send(
        "spark",
        [row(0, 1, 77.0), accent(CELSIUS), row(1, 1, 25.0), closed("[ts < 60]")],
        [row(0, 2, 68.0), "{bad", row(2, 2, 68.0), closed("[ts < 60]")],
    )
    query.run()
    assert query.output == [{"wid": 0, "t": 72.5}, closed("[wid < 1]")]
    assert [q["position"] for q in query.quarantine()] == [{"file": "spark/1", "line": 1}]


# --- outputs ---


def test_an_output_is_a_stream_in_each_partition(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    query = copied(kafka, sail, tmp_path, "through")
    kafka.send("through", [row(0, 1, 77.0), row(1, 1, 60.0)], [row(0, 2, 68.0)])
    query.run()
    both = [accent(CELSIUS), row(2, 1, 25.0), closed("[ts < 10]")]
    kafka.send("through", both, [*both[:1], row(2, 2, 20.0), *both[2:]])
    query.run()
    kafka.send("through", [row(10, 1, 25.0), closed("[]")], [closed("[]")])
    query.run()
    announced = accent("[[alter(t, y -> (y * 5 - 160) / 9)]]")
    first, second = kafka.records("through_out")
    for partition in (first, second):
        assert [i for i in partition if not is_tuple(i)] == [closed("[ts < 10]"), announced, closed("[]")]
    assert {i["s"] for i in first if is_tuple(i)}.isdisjoint(i["s"] for i in second if is_tuple(i))
    keys = kafka.keys("through_out")
    assert keys == {b"1", b"2", None}

    # Another query reads it, and understands it.
    (tmp_path / "again").mkdir()
    again = TopicQuery(sail, f"{kafka.address}/through_out", tmp_path / "again", PLAIN)
    again.run()
    tuples = sorted((i["ts"], i["s"], round(i["t"], 9)) for i in again.tuples)
    assert tuples == [(0, 1, 77.0), (0, 2, 68.0), (1, 1, 60.0), (2, 1, 77.0), (2, 2, 68.0), (10, 1, 77.0)]
    assert again.quarantine() == []


def test_the_example_goes_from_a_topic_to_a_topic(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    source, sink = kafka.topic("readings"), kafka.topic("flow")
    first = [{"ts": 0, "pump": 1, "litres": 100.0}, {"ts": 61, "pump": 1, "litres": 120.0}]
    unit = accent('[[unit(litres, "m^3")]]')
    kafka.send(
        "readings",
        [*first, unit, {"ts": 62, "pump": 1, "litres": 0.08}, {"ts": 200, "pump": 1, "litres": 0.1}],
        [{"ts": 3, "pump": 2, "litres": 50.0}, {"ts": 200, "pump": 2, "litres": 10.0}],
    )
    options = Options(
        once=True,
        checkpoint=str(tmp_path / "checkpoint"),
        sources={"readings": source},
        sinks={"flow": f"{sink}?key=pump"},
    )
    run(Path("queries/kafka/pumps.rq"), options, spark=sail)
    tuples = [item for partition in kafka.records("flow") for item in partition if is_tuple(item)]
    actual = sorted((i["minute"], i["pump"], round(i["litres"], 9)) for i in tuples)
    assert actual == [(0, 1, 0.1), (0, 2, 0.05), (1, 1, 0.1)]


POINTS = """
stream r(time: long, service: string from resource "service.name", unit: string,
         value: double unit from unit in {ms, s})
  from kafka_otlp "ADDRESS" partitioned by service metrics "latency";
a := aggregate[avg(value) as value by service](r);
emit a to json "OUT" with value in ms;
"""


def test_records_are_requests_of_data_points(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    """In JSON and protobuf. Markers are records among them, and what is set aside has its offset."""
    from tests.kit.otlp import message_of, request

    def points(service: str, unit: str, *values: float) -> Any:
        of = {"metric": "latency", "unit": unit, "time": 1, "resource": {"service.name": service}}
        readings = [{**of, "double": value} for value in values]
        return message_of(readings).SerializeToString() if unit == "s" else request(readings)

    query = TopicQuery(sail, kafka.topic("points"), tmp_path, POINTS)
    kafka.send(
        "points",
        [points("cart", "ms", 100.0, 200.0), points("cart", "furlong", 1.0), points("cart", "s", 0.6)],
        [points("web", "s", 0.5), points("other", "s", 7.0)],
    )
    kafka.send("points", [closed('[service = "cart"]')], [closed('[service = "web"]')])
    query.run()
    actual = {item["service"]: pytest.approx(item["value"]) for item in query.tuples}
    assert actual == {"cart": 300.0, "web": 500.0}
    (aside,) = query.quarantine()
    assert (aside["position"]["file"], aside["position"]["line"]) == ("points/0", 1)
    assert json.loads(aside["raw"])["resourceMetrics"]


def test_a_new_checkpoint_does_not_write_into_an_old_output(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = copied(kafka, sail, tmp_path, "old")
    kafka.send("old", [row(0, 1, 1.0)])
    query.run()
    assert query.refused(checkpoint=str(tmp_path / "other")).code == "RQ405"
    kafka.delete("old_out")
    kafka.topic("old_out")
    kafka.send("old", [row(1, 1, 1.0)])
    assert query.refused().code == "RQ447"


class Killed(BaseException):
    """Ends a run in the middle of a step."""


@pytest.mark.parametrize(
    "step", ["begin_transaction", "send_offsets_to_transaction", "commit_transaction", "deleted"]
)
def test_an_epoch_that_is_written_again_is_seen_once(
    kafka: Broker, sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    query = copied(kafka, sail, tmp_path, f"once-{step}", 1)
    kafka.send(f"once-{step}", [row(0, 1, 1.0)])
    query.run()
    kafka.send(f"once-{step}", [row(1, 1, 1.0), row(2, 2, 1.0)])

    def die(*arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if step == "deleted":
            patch.setattr(KafkaSink, "forget", die)
        else:
            patch.setattr("cedilla.runtime.connectors.topics.topic_writer.made", dying_clients(step, die))
        with pytest.raises(Killed):
            query.run()
    query.run()
    kafka.send(f"once-{step}", [row(3, 2, 1.0)])
    query.run()
    (records,) = kafka.records(f"once-{step}_out")
    assert sorted(item["ts"] for item in records) == [0, 1, 2, 3]


def test_a_driver_that_is_killed_writes_each_tuple_once(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = copied(kafka, sail, tmp_path, "output")
    kafka.send("output", [row(n, 1, 1.0) for n in range(2000)], [row(n, 2, 1.0) for n in range(2000)])
    for epochs in (2, 5, 9):
        running = started_run(query, "--records-per-epoch", "100")
        end = time.monotonic() + 60
        while sum(kafka.ends("output_out")) < epochs * 100:
            assert time.monotonic() < end, (query.folder / "log").read_text()
            time.sleep(0.05)
        running.kill()
        running.wait()
    query.run()
    tuples = [(item["s"], item["ts"]) for partition in kafka.records("output_out") for item in partition]
    assert sorted(tuples) == [(s, n) for s in (1, 2) for n in range(2000)]


def test_a_killed_driver_goes_on_where_it_was(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    query = TopicQuery(sail, kafka.topic("killed"), tmp_path, PLAIN)
    kafka.send("killed", [row(n, 1, 1.0) for n in range(3000)], [row(n, 2, 1.0) for n in range(3000)])
    for epochs in (2, 5):
        running = started_run(query, "--records-per-epoch", "150")
        wait_for_epochs(query, epochs)
        running.kill()
        running.wait()
    query.run()
    assert sorted((item["s"], item["ts"]) for item in query.tuples) == [
        (s, n) for s in (1, 2) for n in range(3000)
    ]


def test_records_that_come_while_a_batch_runs_are_part_of_it(
    kafka: Broker, sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are found again if the run is killed after each step of that, and no file stays that is done."""
    query = TopicQuery(sail, kafka.topic("growing"), tmp_path, PLAIN)
    kafka.send("growing", [row(n, 1, 1.0) for n in range(3000)], [row(n, 2, 1.0) for n in range(3000)])
    keep, commit = Checkpoint.keep_order, Checkpoint.commit
    grown: list[int] = []
    batches: set[int] = set()

    def killed_when_kept(checkpoint: Checkpoint, batch: int, files: Any) -> None:
        keep(checkpoint, batch, files)
        if not batches:  # however fast the first ones were fetched, these come while they are read
            kafka.send("growing", *([row(n, s, 1.0) for n in range(3000, 4000)] for s in (1, 2)))
        if batch in batches:
            grown.append(batch)
            if len(grown) == 1:
                raise Killed
        batches.add(batch)

    def killed_when_committed(checkpoint: Checkpoint, record: Any) -> None:
        commit(checkpoint, record)
        if len(grown) == 2:
            grown.append(record.batch)
            raise Killed

    monkeypatch.setattr(Checkpoint, "keep_order", killed_when_kept)
    monkeypatch.setattr(Checkpoint, "commit", killed_when_committed)
    for _ in range(2):
        with pytest.raises(Killed):
            query.run(records_per_epoch=300)
    query.run(records_per_epoch=300)
    assert sorted((item["s"], item["ts"]) for item in query.tuples) == [
        (s, n) for s in (1, 2) for n in range(4000)
    ]
    assert not list((tmp_path / "checkpoint" / "topics").rglob("*.jsonl"))


def test_a_fetching_process_that_is_killed_is_followed_by_another(
    kafka: Broker, sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before records are asked for, and while unrecorded ones are fetched; the output is the same."""
    query = TopicQuery(sail, kafka.topic("fetching"), tmp_path, PLAIN)
    kafka.send("fetching", [row(n, 1, 1.0) for n in range(3000)], [row(n, 2, 1.0) for n in range(3000)])
    killed: list[int] = []
    begin, take = FetchProcess.begin, FetchProcess.take

    def kill(process: FetchProcess) -> None:
        if len(killed) < 4 and process.pid is not None and process.pid not in killed:
            killed.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)

    def killed_at_first(process: FetchProcess, *arguments: Any) -> Any:
        kill(process)
        return begin(process, *arguments)

    def killed_then(process: FetchProcess, *, urgent: bool) -> Any:
        answer = take(process, urgent=urgent)
        if len(killed) < 2:
            kill(process)
            return answer
        answer.result()
        time.sleep(0.1)  # it fetches what comes next
        kill(process)
        return answer

    monkeypatch.setattr(FetchProcess, "begin", killed_at_first)
    monkeypatch.setattr(FetchProcess, "take", killed_then)
    query.run(records_per_epoch=500)
    assert len(killed) == 4
    assert sorted((item["s"], item["ts"]) for item in query.tuples) == [
        (s, n) for s in (1, 2) for n in range(3000)
    ]
    assert not list((tmp_path / "checkpoint" / "topics").rglob("*.jsonl"))


def test_a_broker_that_is_started_again_is_read_on(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    query = TopicQuery(sail, kafka.topic("restarted"), tmp_path, PLAIN)
    kafka.send("restarted", [row(0, 1, 1.0)], [row(0, 2, 1.0)])
    running = started_run(query, "--interval", "0.1")
    wait_for_epochs(query, 1)
    kafka.stop()
    time.sleep(1)
    kafka.start()
    kafka.send("restarted", [row(1, 1, 1.0)], [row(1, 2, 1.0)])
    wait_for_epochs(query, 2)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(30) == 130, (tmp_path / "log").read_text()
    query.run()
    assert sorted((item["s"], item["ts"]) for item in query.tuples) == [(1, 0), (1, 1), (2, 0), (2, 1)]
