"""Records that are taken without an object for each are those that objects give, and each is given back once."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from attrs import frozen

from cedilla.compiler.plan.topics import Topic, topic_of
from cedilla.runtime.connectors.records.marker_files import MARKED_LINE
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics import batch_client
from cedilla.runtime.connectors.topics.batch_client import BatchClient
from cedilla.runtime.connectors.topics.kafka_client import library
from cedilla.runtime.connectors.topics.record_runs import MessageClient, PendingRecords, Problem, Run
from cedilla.runtime.connectors.topics.topic_reader import TopicReader
from tests.kit import ROOT
from tests.kit.compiler import has_compiler
from tests.kit.errors import error_of
from tests.kit.kafka import Broker, accent, closed, row
from tests.kit.seeds import soak_seeds

pytest.importorskip("confluent_kafka")

TOPIC = Topic("host:9092", "r")


@frozen
class Record:
    """A record, or the `error` of a partition with its reason as the value."""

    partition: int
    offset: int
    value: bytes | None
    error: int = 0


class _Message(ctypes.Structure):
    """`rd_kafka_message_t`."""

    _fields_ = (
        ("error", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("value", ctypes.c_char_p),
        ("length", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_length", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


class Library:
    """Functions of librdkafka that have some records. `given_back`: how often each message was destroyed."""

    def __init__(self, records: Sequence[Record], last_error: int = 0) -> None:
        self._messages = [
            _Message(r.error, None, r.partition, r.value, len(r.value or b""), None, 0, r.offset)
            for r in records
        ]
        self.left, self.last_error = list(self._messages), last_error
        self.given_back = Counter[int]()

    def client(self) -> BatchClient:
        pointers = ctypes.POINTER(ctypes.POINTER(_Message))
        consume = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_int, pointers, ctypes.c_size_t)
        destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        functions = {
            "consume_batch_queue": consume(self._consume),
            "message_destroy": destroy(lambda address: self.given_back.update([address])),
            "last_error": lambda: self.last_error,
        }
        return BatchClient(TOPIC, functions, 0, 0)

    def _consume(self, queue: int, milliseconds: int, places: Any, most: int) -> int:
        some, self.left = self.left[:most], self.left[most:]
        for number, message in enumerate(some):
            places[number] = ctypes.pointer(message)
        return -1 if self.last_error else len(some)

    @property
    def all_once(self) -> Counter[int]:
        return Counter(ctypes.addressof(message) for message in self._messages)


class Consumer:
    """A client that has some records as objects."""

    def __init__(self, records: Sequence[Record]) -> None:
        of = library()
        self.left = [
            of.Message(
                "r", r.partition, r.offset, value=r.value, error=of.KafkaError(r.error) if r.error else None
            )
            for r in records
        ]

    def consume(self, most: int, seconds: float) -> list[Any]:
        some, self.left = self.left[:most], self.left[most:]
        return some


def is_built() -> bool:
    return batch_client._batches is not None


def taken(client: MessageClient | BatchClient, most: int) -> Iterator[Run | Problem]:
    """All records of a client."""
    while some := [*client.take(most, 0.0)]:
        yield from some


def lines(all_taken: Iterable[Run | Problem]) -> Mapping[int, tuple[bytes, list[int]]]:
    """The text and the offsets of the lines of each partition."""
    pending: dict[int, PendingRecords] = {}
    for one in all_taken:
        if isinstance(one, Run):
            pending.setdefault(one.partition, PendingRecords()).add(one)
    return {
        partition: (b"\n".join(of.texts), [at for offsets in of.offsets for at in offsets])
        for partition, of in pending.items()
    }


def ends(all_taken: Iterable[Run | Problem]) -> list[tuple[int, int]]:
    """The partition and the end of each run."""
    return [(one.partition, one.end) for one in all_taken if isinstance(one, Run)]


ODD = [
    None,
    b"",
    b"\n",
    b"{\r\n}",
    b'{"a": "x\ny"}',
    b'\0\0\0\0\7{"a": 1}',
    b"\1" + b"u" * 16 + b"{}",
    b"\n\x05hello\x10\x01",
    b"\xff\xfe",
    b"\t{}",
    b"\x1f",
    MARKED_LINE + b', "a": 1}',
    MARKED_LINE,
    MARKED_LINE[:-1],
    b'{"$punctuation": "[]"}',
]


def random_records(chance: Random) -> list[Record]:
    """Records of some partitions, with gaps, of which some are no plain lines."""
    ends = [chance.randrange(5) for _ in range(3)]
    records: list[Record] = []
    partition, share = 0, chance.choice([0, 0.02, 0.3])
    for number in range(chance.randrange(1, 60)):
        partition = partition if chance.random() < 0.8 else chance.randrange(3)
        ends[partition] += 1 if chance.random() < 0.9 else 3
        plain = b'{"n": %d, "x": "%b"}' % (number, b"y" * chance.randrange(20))
        value = chance.choice(ODD) if chance.random() < share else plain
        records.append(Record(partition, ends[partition], value))
    return records


def check(seeds: Iterable[int]) -> None:
    """Compares the lines of random records, and the ends of their runs, with those that objects give."""
    for seed in seeds:
        chance = Random(seed)
        records, most = random_records(chance), chance.choice([1, 7, 100])
        fake = Library(records)
        actual = [*taken(fake.client(), most)]
        expected = [*taken(MessageClient(TOPIC, Consumer(records)), most)]
        assert lines(actual) == lines(expected), seed
        assert ends(actual) == ends(expected), seed
        assert fake.given_back == fake.all_once, seed


def check_module(file: str, seeds: Iterable[int]) -> None:
    """Does so with another module of the extension."""
    spec = spec_from_file_location("_batches", file)
    assert spec is not None
    assert spec.loader is not None
    batch_client._batches = module_from_spec(spec)
    spec.loader.exec_module(batch_client._batches)
    check(seeds)


def test_the_extension_is_there_where_there_is_a_compiler() -> None:
    assert has_compiler() == is_built()


@pytest.mark.skipif(not is_built(), reason="without a compiler each record is an object")
class TestWithExtension:
    def test_records_are_those_that_objects_give(self) -> None:
        check(range(300))

    @pytest.mark.soak
    @pytest.mark.parametrize("seed", soak_seeds(1))
    def test_no_record_makes_it_read_or_write_elsewhere(self, seed: int, tmp_path: Path) -> None:
        """With the address sanitizer, which sees each access outside of a record."""
        source = ROOT / "runtime" / "connectors" / "topics" / "batches.c"
        checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared", "-fPIC"]
        module = tmp_path / "_batches.abi3.so"
        headers = f"-I{sysconfig.get_path('include')}"
        subprocess.run(["cc", "-g", "-O1", *checks, headers, source, "-o", module], check=True)
        asked = subprocess.run(
            ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        )
        settings = {
            "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": "detect_leaks=0",
            "LD_PRELOAD": asked.stdout.strip(),
        }
        program = f"from {__name__} import check_module; check_module({str(module)!r}, range({seed}, {seed + 20_000}))"
        subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, env={**os.environ, **settings})

    def test_plain_records_are_one_text(self) -> None:
        """However many there are."""
        records = [Record(2, 7 + n, b'{"n": %d}' % n) for n in range(5000)]
        (run,) = Library(records).client().take(10_000, 0.0)
        text = b"\n".join(record.value or b"" for record in records)
        assert run == Run(2, range(7, 5007), text, 5007)

    def test_errors_come_after_records(self) -> None:
        """They say which partition has ended or what its broker refuses."""
        errors, reason = library().KafkaError, b"Broker: \xff"
        eof, away = errors._PARTITION_EOF, errors._TRANSPORT
        records = [
            Record(0, 5, None, eof),
            Record(1, 1, b"{}"),
            Record(-1, -1001, reason, away),
            Record(1, 2, b"{}"),
        ]
        first, second, end, other = Library(records).client().take(10, 0.0)
        assert [first, second] == [Run(1, range(1, 2), b"{}", 2), Run(1, range(2, 3), b"{}", 3)]
        assert isinstance(end, Problem)
        assert (end.partition, end.offset, end.error.code()) == (0, 5, eof)
        assert isinstance(other, Problem)
        assert (other.partition, other.error.code(), other.error.str()) == (-1, away, "Broker: \ufffd")

    def test_a_library_that_refuses_is_named(self) -> None:
        client = Library([], library().KafkaError._STATE).client()
        error = error_of(lambda: [*client.take(10, 0.0)])
        assert error.code == "RQ444"
        assert "Erroneous state" in error.message


@pytest.mark.parametrize("lacks", ["extension", "functions", "property"])
def test_without_what_it_requires_there_is_no_such_client(
    lacks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are then taken as objects."""
    if lacks == "extension":
        monkeypatch.setattr(batch_client, "IS_THERE", False)
    else:
        monkeypatch.setattr(batch_client, "IS_THERE", True)
    if lacks == "functions":
        monkeypatch.setattr(batch_client, "_FUNCTIONS", {"no_such_function": (None, [])})
    own = {"no.such.property": 1} if lacks == "property" else {}
    assert BatchClient.of(TOPIC, own) is None


# --- a broker ------------------------------------------------------------------------------------------------------


@pytest.mark.rest
def test_files_have_the_same_records_of_a_topic(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of transactions, which leave gaps: those that are aborted have no records."""
    monkeypatch.setattr(batch_client, "IS_THERE", is_built())  # the rest is run without extensions, too
    address = kafka.topic("as_batches", 2)
    plain = [row(n, 1, n / 4) for n in range(3000)]
    kafka.send("as_batches", [*plain, closed("[ts < 60]"), *plain], [*ODD, *plain, *ODD])
    aborted = kafka.transaction("as_batches", *plain[:20])
    aborted.abort_transaction(60)
    kafka.transaction("as_batches", *plain[:20], accent("[[-(t)]]")).commit_transaction(60)
    kafka.send("as_batches", [*plain])
    contents: list[dict[str, bytes]] = []
    for are_batches in (True, False):
        folder = tmp_path / str(are_batches)
        reader = TopicReader("r", topic_of(address), str(folder), Files(), 4000)
        assert isinstance(reader._records, BatchClient if is_built() else MessageClient)
        if not are_batches:
            reader._records = MessageClient(reader.topic, reader._consumer)
        reader.begin({}, None)
        fetched(reader)
        assert reader.ends == dict(enumerate(kafka.ends("as_batches")))
        contents.append(content(folder))
    assert contents[0] == contents[1]
    assert [len(text.splitlines()) for text in contents[0].values()] == [9022, 3000 + 2 * len(read_of_odd())]


def read_of_odd() -> list[bytes]:
    """Those of the odd values that are a line."""
    return [value for value in ODD if value is not None and not value.startswith(MARKED_LINE)]


def content(folder: Path) -> dict[str, bytes]:
    """The lines of each partition, each with its offset: where files end depends on when records come."""
    texts: dict[str, bytes] = {}
    for file in sorted(folder.rglob("*.jsonl")):
        begin = int(file.name.partition("-")[0])
        numbers = file.with_name(f"_{file.stem}.npy")
        lines_there = file.read_bytes().split(b"\n")[:-1]
        offsets = np.load(numbers).tolist() if numbers.exists() else range(begin, begin + len(lines_there))
        lines_ = b"".join(b"%d %b\n" % pair for pair in zip(offsets, lines_there, strict=True))
        texts[file.parent.name] = texts.get(file.parent.name, b"") + lines_
    return texts


@pytest.mark.rest
@pytest.mark.parametrize("are_batches", [True, False])
def test_records_that_are_deleted_before_they_are_fetched_are_a_gap(
    kafka: Broker, tmp_path: Path, are_batches: bool
) -> None:
    """A reader that accepts gaps continues after them; another one ends."""
    name = f"late_{are_batches}"
    address = kafka.topic(name, 1)
    kafka.send(name, [row(n, 1, 1.0) for n in range(10)])
    kafka.delete_records(name, 0, 7)
    for skips in (True, False):
        reader = TopicReader("r", topic_of(address), str(tmp_path / str(skips)), Files(), 100, skips)
        if not are_batches:
            reader._records = MessageClient(reader.topic, reader._consumer)
        reader.offsets, reader.goals, reader._assigned = {0: 2}, {0: 10}, {0}
        reader._records.assign({0: 2})  # they were there then
        if not skips:
            assert error_of(partial(fetched, reader)).code == "RQ446"
            continue
        fetched(reader)
        (note,) = reader.notes
        assert "records 2 to 6 of" in note
        assert reader.offsets == {0: 10}
        assert [*content(tmp_path / str(skips)).values()] == [
            b"".join(b'%d {"ts": %d, "s": 1, "t": 1.0}\n' % (n, n) for n in range(7, 10))
        ]


def fetched(reader: TopicReader) -> None:
    """Fetches all records that a topic had."""
    while not reader.is_at_end:
        reader.fetch()
