"""Topics and brokers that change under a run: made again, compacted, away. Each ends by a code before a wrong tuple is
visible, or is right."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.plan.topics import topic_of
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.sinks.kafka import KafkaSink
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics import topic_writer
from cedilla.runtime.connectors.topics.fetch_protocol import Begin, Connect, Take, TopicSubscription
from cedilla.runtime.connectors.topics.fetch_worker import _Fetcher
from cedilla.runtime.connectors.topics.kafka_client import TopicState
from cedilla.runtime.connectors.topics.topic_reader import TopicReader
from cedilla.runtime.connectors.topics.topic_writer import Record, TopicWriter
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.kit.errors import error_of
from tests.kit.kafka import Broker, accent, row
from tests.kit.tiers import soak
from tests.runtime.connectors.topics.topic_query import (
    COPY,
    PLAIN,
    TopicQuery,
    copied,
    started_run,
    wait_for_epochs,
)

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

CELSIUS = "[[alter(t, y -> (y - 32) * 5/9)]]"


def make_again(kafka: Broker, name: str) -> None:
    """Deletes a topic and makes another one of its name and size."""
    partitions = len(kafka.ends(name))
    kafka.delete(name)
    kafka.topic(name, partitions)


class Told(list[EpochReport]):
    """Reports of epochs that are told to a function, after their outputs are published."""

    def __init__(self, to: Callable[[EpochReport], None]) -> None:
        super().__init__()
        self.append = to  # type: ignore[method-assign]


@pytest.mark.parametrize("moment", ["between epochs", "amid a transaction"])
def test_an_output_that_is_made_again_during_a_run_gets_nothing(
    kafka: Broker, sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Its accents are in the old topic, so each later number there would be in another unit."""
    name = f"remade_{moment[:3]}"
    query = copied(kafka, sail, tmp_path, name, 1)
    kafka.send(name, [row(0, 1, 77.0), accent(CELSIUS), row(1, 1, 25.0)], [accent(CELSIUS)])
    query.run()
    assert accent("[[alter(t, y -> (y * 5 - 160) / 9)]]") in kafka.records(f"{name}_out")[0]
    kafka.send(name, [row(n, 1, 10.0) for n in range(2, 40)])
    records_of, made = KafkaSink._records, list[str]()

    def records(sink: KafkaSink, *arguments: Any) -> Iterator[Any]:
        epoch = list(records_of(sink, *arguments))
        yield epoch[0]
        if moment == "amid a transaction" and not made:
            made.append(name)
            make_again(kafka, f"{name}_out")
        yield from epoch[1:]

    def report(_: EpochReport) -> None:
        if moment == "between epochs" and not made:
            made.append(name)
            make_again(kafka, f"{name}_out")

    monkeypatch.setattr(KafkaSink, "_records", records)
    query.reports = Told(report)
    assert query.refused(records_per_epoch=10).code == "RQ447"
    assert made
    assert kafka.records(f"{name}_out") == [[]]
    assert query.refused().code == "RQ447"  # the next run, too


def test_records_of_a_source_that_is_made_again_are_not_committed(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """Also those that are fetched before the run looks for its topic again."""
    query = TopicQuery(sail, kafka.topic("remade", 1), tmp_path, PLAIN)
    kafka.send("remade", [row(0, 1, 77.0), accent(CELSIUS)])
    running = started_run(query, "--interval", "0.1")
    wait_for_epochs(query, 1)
    make_again(kafka, "remade")
    kafka.send("remade", [row(n, 2, 68.0) for n in range(800)])
    assert running.wait(60) != 0
    assert "RQ447" in (tmp_path / "log").read_text()
    assert [item["s"] for item in query.tuples] == [1]


def test_fetched_records_are_checked_before_they_are_handed_over(kafka: Broker, tmp_path: Path) -> None:
    topic = topic_of(kafka.topic("handed", 1))
    fetcher = _Fetcher(None)  # type: ignore[arg-type]
    subscription = TopicSubscription("r", topic, str(tmp_path), 100, skips=False, seconds=30.0)
    assert not fetcher._answer(Connect((subscription,))).failure
    assert not fetcher._answer(Begin({}, {}, {})).failure
    kafka.send("handed", [row(0, 1, 1.0)])
    while not fetcher._ready:
        fetcher._fetch()
    make_again(kafka, "handed")
    answer = fetcher._answer(Take())
    assert [failure.code for failure in answer.failure] == ["RQ447"]
    assert not answer.files


def test_a_compacted_topic_is_read_only_where_gaps_are_skipped(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    query = TopicQuery(sail, kafka.topic("compacted", 1, cleanup_policy="compact,delete"), tmp_path, PLAIN)
    kafka.send_record("compacted", row(0, 1, 1.0), key="1")
    refusal = query.refused()
    assert refusal.code == "RQ504"
    assert "`compacted`" in refusal.message
    query.run(settings={"gaps": "skip"})
    assert [item["ts"] for item in query.tuples] == [0]


def test_a_topic_that_becomes_compacted_ends_the_run(kafka: Broker, tmp_path: Path) -> None:
    topic = topic_of(kafka.topic("policy", 1))
    reader = TopicReader("r", topic, str(tmp_path), Files(), 10)
    reader.look()
    kafka.configure("policy", cleanup_policy="compact")
    assert error_of(reader.look).code == "RQ504"
    reader.skips = True
    reader.look()


def test_an_output_is_no_compacted_topic(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    address = kafka.topic("whole")
    kafka.topic("whole_out", cleanup_policy="compact")
    query = TopicQuery(sail, address, tmp_path, COPY.replace("ADDRESS_OUT", f"{address}_out?key=s"))
    kafka.send("whole", [row(0, 1, 1.0)])
    assert query.refused().code == "RQ504"
    assert kafka.ends("whole_out") == [0, 0]


def test_an_account_that_may_not_ask_for_the_policy_is_told_so_once(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TopicState, "is_compacted", lambda state: None)
    reader = TopicReader("r", topic_of(kafka.topic("secretive", 1)), str(tmp_path), Files(), 10)
    reader.look()
    (note,) = reader.notes
    assert "it is not known if `secretive` is compacted" in note


def test_brokers_that_take_no_offset_end_the_transaction(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own call never ends if all brokers were away for some seconds."""
    writer = TopicWriter(topic_of(kafka.topic("stuck", 1)), "stuck")
    writer.write(0, [(0, None, b"{}")])
    never = threading.Event()
    writer._producer = Stuck(writer._producer, never)
    with monkeypatch.context() as patch:
        patch.setattr(topic_writer, "SECONDS", 0.5)
        error = error_of(lambda: writer.write(1, [(0, None, b"{}")]))
    never.set()
    assert error.code == "RQ448"
    again = TopicWriter(writer.topic, "stuck")
    assert again.next_epoch() == 1


class Stuck:
    """A producer whose call with offsets waits for something that does not come."""

    def __init__(self, of: Any, event: threading.Event) -> None:
        self._of, self._event = of, event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def send_offsets_to_transaction(self, *arguments: Any) -> None:
        self._event.wait()


@pytest.mark.parametrize("seconds", [5, soak(12)])
def test_brokers_that_are_away_during_a_transaction_do_not_stop_the_run_for_good(
    kafka: Broker, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The epoch is there once, by this writer or, after an error, by the next one."""
    monkeypatch.setattr(topic_writer, "SECONDS", 12.0)
    topic = topic_of(kafka.topic(f"away{seconds}", 1))
    writer = TopicWriter(topic, f"away{seconds}")
    writer.write(0, [(0, None, b"0")])
    back: list[threading.Thread] = []

    def leave() -> None:
        time.sleep(seconds)
        kafka.start()

    def records() -> Iterator[Record]:
        yield 0, None, b"1"
        kafka.stop()
        back.append(threading.Thread(target=leave))
        back[0].start()

    with suppress(DiagnosticError):
        writer.write(1, records())
    back[0].join()
    writer.close()
    again = TopicWriter(topic, f"away{seconds}")
    if again.next_epoch() == 1:
        again.write(1, [(0, None, b"1")])
    assert kafka.records(topic.name) == [[0, 1]]
