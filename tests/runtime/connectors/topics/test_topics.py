"""Topics of Kafka without a broker: declarations, addresses, properties, and records as lines."""

from __future__ import annotations

import json
import pickle
import platform
import socket
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import pytest
from attrs import evolve

from cedilla import Options, simulate
from cedilla.compiler import compile_query
from cedilla.compiler.plan.topics import Topic, topic_of
from cedilla.compiler.regions import PARTITION
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.records.json_objects import number_of
from cedilla.runtime.connectors.records.record_files import (
    RecordFile,
    folder_of,
    one_line,
    record_file,
    record_of,
)
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.topics.batch_client import BatchClient
from cedilla.runtime.connectors.topics.fetch_process import FetchProcess
from cedilla.runtime.connectors.topics.fetch_protocol import Answer, Position, TopicSubscription
from cedilla.runtime.connectors.topics.kafka_client import TopicState, library, settings
from cedilla.runtime.connectors.topics.query_topics import Topics
from cedilla.runtime.connectors.topics.topic_reader import TopicReader
from cedilla.runtime.connectors.topics.topic_writer import TopicWriter, key_bytes
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit import kafka
from tests.kit.errors import code_of, error_of

QUERY = """stream r(ts: long, s: int in {1, 2}, t: double)
  from kafka "one:9092,two:9092/r"
  partitioned by s;

emit r to kafka "host:9092/out?key=s";
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("one:9092,two:9092/r", "r", "RQ440"),
        ("one:9092,two:9092/r", "one:9092/a/b", "RQ440"),
        ("host:9092/out?key=s", "out", "RQ440"),
        ("two:9092/r", "two:9092/r?key=s", "RQ441"),
        ("partitioned by s", 'markers "ops"', "RQ441"),
        ("stream", "table", "RQ441"),
        ('kafka "one:9092,two:9092/r"', 'json "r"', "RQ441"),
        ("partitioned by s", "partitioned by q", "RQ102"),
        ("partitioned by s", "partitioned by s partitioned by t", "RQ001"),
        ("key=s", "key=q", "RQ449"),
        ("emit r", "emit limit[3](r)", "RQ123"),
    ],
)
def test_wrong_declarations_are_refused(old: str, new: str, expected: str) -> None:
    assert old in QUERY
    assert code_of(lambda: compile_query(QUERY.replace(old, new))) == expected


def test_an_address_has_brokers_a_topic_and_for_outputs_a_key() -> None:
    plan = compile_query(QUERY).plan
    assert topic_of(plan.sources[0].path) == Topic("one:9092,two:9092", "r")
    assert topic_of(plan.emits[0].path) == Topic("host:9092", "out", "s")
    assert plan.sources[0].partitioned == "s"
    assert format_query(parse_query(QUERY)).split() == QUERY.split()


def test_simulate_reads_recorded_records_and_writes_no_topics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DiagnosticError) as raised:
        simulate(QUERY, Options(sources={"r": str(tmp_path)}, sinks={"r": "host:9092/other"}))
    assert raised.value.diagnostics[0].code == "RQ406"
    assert "--sink r=FOLDER" in str(raised.value)
    (tmp_path / "1.jsonl").write_text('{"ts": 1, "s": 2, "t": 3.0}\n')
    simulate(QUERY, Options(sources={"r": str(tmp_path)}))  # the topic of the output is not asked for
    assert json.loads(capsys.readouterr().out) == {"ts": 1, "s": 2, "t": 3.0}


def test_the_reference_knows_partitions() -> None:
    """A marker and a heartbeat hold for their own, and a key is of the partition that has spoken of it first."""
    query = """stream r(ts: long, s: int in {1, 2}, t: double) from kafka "host:9092/r"
      partitioned by s heartbeat ts delay 10;
    emit r to json "out";"""
    plan = compile_query(query).plan
    reference = Reference(evolve(plan, sources=[evolve(plan.sources[0], partitions=2)]))
    items: list[tuple[int, dict[str, Any]]] = [
        (0, {"ts": 100, "s": 1, "t": 1.0}),
        (1, {"ts": 50, "s": 2, "t": 1.0}),
        (0, {"$accent": "[[alter(t, y -> y * 2)]]"}),
        (0, {"ts": 101, "s": 1, "t": 2.0}),
        (1, {"ts": 51, "s": 2, "t": 2.0}),
        (0, {"$end": True}),
        (0, {"ts": 90, "s": 1, "t": 2.0}),  # late by the heartbeat of its partition
        (1, {"$punctuation": "[s = 2, ts < 40]"}),
        (0, {"ts": 200, "s": 2, "t": 2.0}),  # of another partition
        (1, {"$punctuation": "[ts < 60]"}),
        (1, {"ts": 55, "s": 2, "t": 2.0}),
    ]
    rows = [
        row
        for partition, item in items
        for outputs in reference.step([("r", {**item, PARTITION: partition})])
        for row in outputs["r"].canonical
    ]
    assert [(row["ts"], row["t"]) for row in rows] == [(100, 1), (50, 1), (101, 1), (51, 2)]
    assert all(row.keys() == {"ts", "s", "t"} for row in rows)
    assert [(code, item["ts"]) for _, code, item in reference.rejected] == [
        ("RQ305", 90),
        ("RQ305", 200),
        ("RQ305", 55),
    ]


def test_files_are_named_by_the_records_that_they_hold() -> None:
    records = RecordFile("a.topic-1", 12, 100, 250)
    path = records.path("file:/checkpoint/topics/r")
    assert record_file(path) == records
    assert folder_of(path) == "file:/checkpoint/topics/r"
    assert record_file("file:/data/1.jsonl") is None
    assert records.place == "a.topic-1/12"


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (b'{"a": 1}', True),
        (b'{\n "a":\r\n 1}', True),
        (b'{"a": "x\ny"}', False),
        (b'{"a": 1}\n{"a": 2}', False),
        (b"\0\0\0\0\1\x02\n\r\xff", False),
        (b'{"a":\n' + b"[" * 12_000 + b"]" * 12_000 + b"}", False),
    ],
)
def test_a_record_is_a_line_and_breaks_inside_of_texts_stay_wrong(value: bytes, same: bool) -> None:
    line = one_line(value)
    assert b"\n" not in line
    assert b"\r" not in line
    if same:
        assert json.loads(line) == json.loads(value)
    else:
        assert record_of(line) == value
        with pytest.raises((ValueError, RecursionError), match=r"."):
            json.loads(line)


def test_properties_are_taken_and_wrong_ones_named_without_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "client.properties"
    monkeypatch.setenv("CEDILLA_KAFKA_PROPERTIES", str(file))
    file.write_text("# TLS\n\nsasl.password = a=b\n")
    assert settings("host:9092", {"x": 1})["sasl.password"] == "a=b"
    for text in ("hunter2", "group.id=hunter2", "=hunter2"):
        file.write_text(text)
        with pytest.raises(DiagnosticError) as raised:
            settings("host:9092", {})
        assert raised.value.diagnostics[0].code == "RQ443"
        assert "hunter2" not in str(raised.value)
    monkeypatch.delenv("CEDILLA_KAFKA_PROPERTIES")
    assert settings("host:9092", {})["bootstrap.servers"] == "host:9092"


def test_a_topic_that_is_made_anew_during_a_run_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its offsets are no more what was read, also where the new one is longer."""
    identities = ["old", "old", "new", "new"]
    monkeypatch.setattr("cedilla.runtime.connectors.topics.topic_reader.made", lambda *arguments: None)
    monkeypatch.setattr("cedilla.runtime.connectors.topics.topic_reader.partitions_of", lambda *arguments: 1)
    monkeypatch.setattr(TopicState, "identity", lambda *arguments: identities.pop(0))
    monkeypatch.setattr(TopicState, "is_compacted", lambda state: False)
    reader = TopicReader("r", Topic("host:9092", "r"), str(tmp_path), Files(), 10)
    reader.look()
    for _ in range(2):
        with pytest.raises(DiagnosticError) as raised:
            reader.look()
        assert raised.value.diagnostics[0].code == "RQ447"
    assert reader.identity == "old"


def test_the_time_of_an_epoch_is_no_silence_of_the_brokers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cedilla.runtime.connectors.topics.query_topics._SILENCE", 0.5)
    process: Any = Slow([[FoundFile("1.jsonl", 0, 0)]])
    topics = Topics(Files(), str(tmp_path / "topics"), process)
    topics.begin({})
    assert topics.fetch(lambda: None)["r"]
    time.sleep(0.6)  # the epoch; meanwhile nothing has come
    assert not topics.is_done()
    assert not topics.fetch(lambda: None)["r"]
    assert not topics.is_done()
    time.sleep(0.6)
    with pytest.raises(DiagnosticError) as raised:
        topics.is_done()
    assert raised.value.diagnostics[0].code == "RQ444"
    topics.close()


def test_what_is_there_is_taken_without_waiting_and_what_went_wrong_is_raised_by_who_waits(
    tmp_path: Path,
) -> None:
    process: Any = Late()
    topics = Topics(Files(), str(tmp_path / "topics"), process)
    topics.begin({})
    assert topics.fetched() == {}
    process.answer.set_result(Answer(files={"r": [FoundFile("1.jsonl", 0, 1)]}))
    assert [file.path for file in topics.fetched()["r"]] == ["1.jsonl"]
    assert topics.is_done()
    assert topics.fetched() == {}
    assert not topics.is_done()  # the answer may have the last records
    process.answer.set_exception(failure("RQ444", "nobody answers"))
    assert topics.fetched() == {}
    with pytest.raises(DiagnosticError) as raised:
        topics.fetch(lambda: None)
    assert raised.value.diagnostics[0].code == "RQ444"
    assert process.urgent == [False, False]
    topics.close()


def test_records_that_are_left_are_those_from_the_committed_offsets_on(tmp_path: Path) -> None:
    process: Any = Late()
    ends = {0: 9, 1: 5, 2: 4}
    process.positions = {"r": evolve(Late.positions["r"], partitions=3, ends=ends)}
    topics = Topics(Files(), str(tmp_path / "topics"), process)
    read = {"r": {"id": "id", "offsets": {"0": 2, "1": 7}}}  # a commit knows nothing of a new partition
    assert topics.left(read) == {"r": 7}
    assert topics.left({}) == {}
    topics.close()


class Late:
    """A process whose answers the test gives."""

    subscriptions = (TopicSubscription("r", Topic("host:9092", "r"), "topics/r", 10, False, 1.0),)
    positions: ClassVar = {"r": Position(1, "id", {}, {}, {0: 9}, True)}

    def __init__(self) -> None:
        self.urgent: list[bool] = []

    def begin(self, offsets: object, identities: object) -> Answer:
        return Answer()

    def take(self, *, urgent: bool) -> Future[Answer]:
        self.urgent.append(urgent)
        self.answer = Future[Answer]()
        return self.answer

    def close(self) -> None:
        """Nothing is open."""


class Slow:
    """A process that has fetched some files, of a topic that has more."""

    subscriptions = (TopicSubscription("r", Topic("host:9092", "r"), "topics/r", 10, False, 1.0),)
    positions: ClassVar = {"r": Position(1, "id", {}, {}, {0: 9}, False)}

    def __init__(self, files: list[list[FoundFile]]) -> None:
        self.left = files

    def begin(self, offsets: object, identities: object) -> Answer:
        return Answer()

    def take(self, *, urgent: bool) -> Future[Answer]:
        answer = Future[Answer]()
        answer.set_result(Answer(files={"r": self.left.pop(0)} if self.left else {}))
        return answer

    def close(self) -> None:
        """Nothing is open."""


def test_without_the_jars_of_the_broker_its_tests_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho '[ERROR] no route to host'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setattr(kafka, "HOME", tmp_path / "home")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(OSError, match="no route to host"):
        kafka.install()


SUBSCRIPTIONS = (TopicSubscription("r", Topic("localhost:1", "r"), "topics/r", 10, False, 0.5),)


def test_a_process_that_always_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    process = FetchProcess(SUBSCRIPTIONS, Files())
    with pytest.raises(DiagnosticError) as raised:
        process.connect()
    process.close()
    assert raised.value.diagnostics[0].code == "RQ450"


STARTER = """
import time
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.fetch_process import FetchProcess
started = FetchProcess((), Files())
started.connect()
print(started.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.rest
def test_the_process_ends_with_a_run_that_is_killed() -> None:
    run = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    fetching = psutil.Process(int(run.stdout.readline()))
    run.kill()
    run.wait()
    run.stdout.close()
    with suppress(psutil.NoSuchProcess):
        end = time.monotonic() + 30
        while fetching.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end
            time.sleep(0.05)


WORKER = """
import resource
from cedilla.runtime.connectors.topics import fetch_worker
def work(fetcher):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        texts = [b"x" * (30 << 20) for _ in range(3)]
        del texts
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, flush=True)
fetch_worker._Fetcher.work = work
fetch_worker.main()
"""


def test_the_process_takes_memory_for_records_once() -> None:
    """Texts that follow each other take the same pages."""
    ours, of_worker = socket.socketpair()
    with ours, of_worker:
        done = subprocess.run(
            [sys.executable, "-c", WORKER],
            stdin=of_worker.fileno(),
            capture_output=True,
            text=True,
            check=True,
        )
    pages = int(done.stdout)
    assert pages < 2 * 3 * 7680 if platform.libc_ver()[0] == "glibc" else pages > 0


def test_the_process_loads_neither_a_parser_nor_operators() -> None:
    """Also not with what it is sent."""
    program = f"""
import pickle, sys
from cedilla.runtime.connectors.topics import fetch_worker
pickle.loads({pickle.dumps(SUBSCRIPTIONS)!r})
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = {*done.stdout.split()}
    ours = {name for name in modules if name.startswith("cedilla.")}
    parts = ("grammar.parser", "grammar.hints", "compiler.operators", "compiler.passes", "runtime.control")
    assert not {name for name in ours if name.startswith(tuple(f"cedilla.{part}" for part in parts))}
    assert modules.isdisjoint(("lark", "pint", "pyarrow", "pyspark"))
    assert len(ours) < 90


def test_secrets_are_neither_sent_nor_in_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[Any, Any]] = []

    def started(command: Any, **options: Any) -> Any:
        begun.append((command, options))
        raise OSError("none")

    monkeypatch.setattr("cedilla.runtime.connectors.topics.fetch_process.subprocess.Popen", started)
    with pytest.raises(OSError, match="none"):
        FetchProcess(SUBSCRIPTIONS, Files()).connect()
    ((command, options),) = begun
    assert command[1:] == ["-m", "cedilla.runtime.connectors.topics.fetch_worker"]
    assert "env" not in options


class Consumer:
    """A client that has some records of the first partition, each with its offset."""

    def __init__(self, values: list[tuple[int, bytes | None]]) -> None:
        self.left = [library().Message("r", partition=0, offset=at, value=value) for at, value in values]

    def consume(self, most: int, seconds: float) -> list[Any]:
        some, self.left = self.left[:most], self.left[most:]
        return some


PUNCTUATION = b'{"$punctuation": "[ts < 5]"}'


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([(5, b"{}"), (6, b"{}")], [("5-7", b"{}\n{}\n", None)]),
        # The last record of a transaction says that it is one; what has no value is passed over.
        ([(5, b"{}"), (7, b'{"b": 1}')], [("5-8", b'{}\n{"b": 1}\n', [5, 7])]),
        ([(5, b"{}"), (6, None), (7, b"1")], [("5-8", b"{}\n1\n", [5, 7])]),
        ([(7, b"{}"), (8, b"{}")], [("5-9", b"{}\n{}\n", [7, 8])]),
        ([(5, None)], [("5-6", b"\n", None)]),
        # Files end after markers, so that each is known to be valid or not.
        (
            [(5, b"{}"), (6, PUNCTUATION), (7, b"1")],
            [("5-7", b"{}\n" + PUNCTUATION + b"\n", None), ("7-8", b"1\n", None)],
        ),
        (
            [(6, b"{}"), (8, PUNCTUATION), (9, b"1"), (12, PUNCTUATION)],
            [
                ("5-9", b"{}\n" + PUNCTUATION + b"\n", [6, 8]),
                ("9-13", b"1\n" + PUNCTUATION + b"\n", [9, 12]),
            ],
        ),
        ([(n, PUNCTUATION) for n in range(5, 25)], [("5-25", (PUNCTUATION + b"\n") * 20, None)]),
    ],
)
def test_files_have_the_records_and_where_any_are_missing_their_offsets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    values: list[tuple[int, bytes | None]],
    expected: list[tuple[str, bytes, list[int] | None]],
) -> None:
    monkeypatch.setattr(
        "cedilla.runtime.connectors.topics.topic_reader.made", lambda *arguments: Consumer(values)
    )
    monkeypatch.setattr("cedilla.runtime.connectors.topics.topic_reader.partitions_of", lambda *arguments: 1)
    monkeypatch.setattr(TopicState, "identity", lambda *arguments: "one")
    monkeypatch.setattr(TopicState, "is_compacted", lambda state: False)
    monkeypatch.setattr(BatchClient, "of", lambda *arguments: None)
    reader = TopicReader("r", Topic("host:9092", "r"), str(tmp_path), Files(), len(values))
    reader.offsets = {0: 5}
    actual: list[tuple[str, bytes, list[int] | None]] = []
    for file in reader.fetch():
        records, text = record_file(file.path), Path(file.path.removeprefix("file:")).read_bytes()
        assert records is not None
        assert file.length == len(text)
        offsets = Path(records.offsets_path(str(tmp_path)))
        known_offsets = np.load(offsets).tolist() if offsets.exists() else None
        actual.append((f"{records.begin}-{records.end}", text, known_offsets))
        if text.strip():
            last = text.count(b"\n")
            assert Part(file.path, 0).shown(last) == (
                records.begin + last - 1 if known_offsets is None else known_offsets[-1]
            )
    assert actual == expected
    assert reader.offsets == {0: values[-1][0] + 1}


@pytest.mark.parametrize(("text", "key"), [("0.12345678901234567891", None), ("0.5", None), ("5.00", "5.0")])
def test_a_key_has_all_digits_of_a_decimal(text: str, key: str | None) -> None:
    assert key_bytes(number_of(text)).decode() == (key or text)


class Refusing:
    """A client whose brokers end each transaction."""

    def begin_transaction(self) -> None:
        raise library().KafkaException(library().KafkaError(library().KafkaError._TIMED_OUT))

    def init_transactions(self, seconds: float) -> None: ...

    def close(self) -> None: ...


def test_an_epoch_that_brokers_refuse_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cedilla.runtime.connectors.topics.topic_writer.made", lambda *arguments: Refusing())
    writer = TopicWriter(Topic("host:9092", "out"), "out")
    error = error_of(lambda: writer.write(3, []))
    assert error.code == "RQ448"
    assert error.message.startswith("epoch 3 was not written to `out`: ")


def test_the_client_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    error = error_of(library)
    assert (error.code, error.help) == ("RQ442", "pip install 'cedilla[kafka]'")


def test_a_question_that_no_broker_answers_is_an_error() -> None:
    state = TopicState(Topic("localhost:1", "none"), "nobody reads", 0.5)
    assert [error_of(ask).code for ask in (state.identity, state.is_compacted)] == ["RQ444", "RQ444"]
