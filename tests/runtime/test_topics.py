"""Topics of Kafka without a broker: declarations, addresses, properties, and records as lines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from cedilla import Options, simulate
from cedilla.compiler import compile_query
from cedilla.compiler.plan.topics import Topic, topic_of
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.engines.files import Files, FoundFile
from cedilla.runtime.items.record_files import RecordFile, folder_of, record_file
from cedilla.runtime.topics.client import settings
from cedilla.runtime.topics.reader import TopicReader, one_line
from cedilla.runtime.topics.topics import Topics
from tests import kafka

QUERY = """stream r(ts: long, s: int in {1, 2}, t: double)
  from kafka "one:9092,two:9092/r"
  partitioned by s;

emit r to kafka "host:9092/out?key=s";
"""


def code(text: str) -> str:
    with pytest.raises(DiagnosticError) as raised:
        compile_query(text)
    return raised.value.diagnostics[0].code


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
    assert code(QUERY.replace(old, new)) == expected


def test_an_address_has_brokers_a_topic_and_for_outputs_a_key() -> None:
    plan = compile_query(QUERY).plan
    assert topic_of(plan.sources[0].path) == Topic("one:9092,two:9092", "r")
    assert topic_of(plan.emits[0].path) == Topic("host:9092", "out", "s")
    assert plan.sources[0].partitioned == "s"
    assert format_query(parse_query(QUERY)).split() == QUERY.split()


def test_simulate_reads_recorded_records_and_no_topics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DiagnosticError) as raised:
        simulate(QUERY)
    assert raised.value.diagnostics[0].code == "RQ406"
    assert "--source r=FOLDER" in str(raised.value)
    (tmp_path / "1.jsonl").write_text('{"ts": 1, "s": 2, "t": 3.0}\n')
    simulate(QUERY, Options(sources={"r": str(tmp_path)}, sinks={"r": "-"}))
    assert json.loads(capsys.readouterr().out) == {"ts": 1, "s": 2, "t": 3.0}


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
    ],
)
def test_a_record_is_a_line_and_breaks_inside_of_texts_stay_wrong(value: bytes, same: bool) -> None:
    line = one_line(value)
    assert b"\n" not in line
    assert b"\r" not in line
    if same:
        assert json.loads(line) == json.loads(value)
    else:
        with pytest.raises(ValueError, match=r"."):
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
    monkeypatch.setattr("cedilla.runtime.topics.reader.made", lambda *given: None)
    monkeypatch.setattr("cedilla.runtime.topics.reader.partitions_of", lambda *given: 1)
    monkeypatch.setattr("cedilla.runtime.topics.reader.identity_of", lambda topic: identities.pop(0))
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
    monkeypatch.setattr("cedilla.runtime.topics.topics._SILENCE", 0.5)
    reader: Any = Slow([[FoundFile("1.jsonl", 0, 0)]])
    topics = Topics(Files(), str(tmp_path / "topics"), {"r": reader})
    topics.begin({})
    assert topics.fetch(lambda: None)["r"]
    time.sleep(0.6)  # the epoch; meanwhile nothing has come
    assert not topics.fetch(lambda: None)["r"]
    assert not topics.is_done()
    time.sleep(0.6)
    with pytest.raises(DiagnosticError) as raised:
        topics.is_done()
    assert raised.value.diagnostics[0].code == "RQ444"
    topics.close()


class Slow:
    """A reader of some files, whose topic has more."""

    topic, is_at_end = Topic("host:9092", "r"), False

    def __init__(self, files: list[list[FoundFile]]) -> None:
        self.left = files

    def begin(self, offsets: object, identity: object) -> None:
        """From its first record."""

    def fetch(self) -> list[FoundFile]:
        return self.left.pop(0) if self.left else []

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
