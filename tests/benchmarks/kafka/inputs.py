"""Readings in a topic and the same lines in files; a broker on this machine that has the topic."""

from __future__ import annotations

import atexit
import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from attrs import frozen

from cedilla.runtime.connectors.topics.kafka_client import library
from tests.benchmarks.contest import BUILD, INPUTS
from tests.benchmarks.inputs import in_order
from tests.benchmarks.kafka.install import install as install_connector
from tests.kit.kafka import Broker, broker
from tests.kit.kafka import install as install_broker

START = 1_700_000_400
WINDOW, EXTENT, KEYS = 60, 600, 50
"""Seconds of a window, seconds of event time in an epoch, and different sensors."""
ADDRESS = BUILD / "kafka" / "address"


@frozen
class Size:
    """Readings of an epoch, epochs, and partitions."""

    rows: int
    epochs: int
    partitions: int = 4

    @property
    def name(self) -> str:
        """That of the topic."""
        return f"readings-{self.rows}x{self.epochs}x{self.partitions}"

    @property
    def folder(self) -> Path:
        """Files with the same lines, one for each partition and epoch."""
        return INPUTS / "kafka" / self.name

    @property
    def records(self) -> int:
        """Those of an epoch, markers too."""
        return self.rows + self.partitions

    @property
    def closed(self) -> str:
        """SQL: the windows that everybody has written when the input ends."""
        return f"(wid + 1) * {WINDOW} <= {self.last_second(self.epochs - 1)}"

    def last_second(self, epoch: int) -> int:
        """The greatest event time of an epoch: what a watermark without delay comes to."""
        return START + epoch * EXTENT + ((self.rows - 1) * EXTENT) // self.rows

    def lines(self) -> Iterator[list[list[str]]]:
        """The tuples of each epoch by partition, in order of time."""
        chosen = random.Random(1)
        for epoch in range(self.epochs):
            first = START + epoch * EXTENT
            lines = [
                f'{{"ts": {first + row * EXTENT // self.rows}, "s": {chosen.randrange(KEYS)}, '
                f'"t": {chosen.randrange(400) / 4}, "site": "north-1"}}'
                for row in range(self.rows)
            ]
            yield [lines[partition :: self.partitions] for partition in range(self.partitions)]

    def punctuation(self, epoch: int) -> str:
        return f'{{"$punctuation": "[ts < {self.last_second(epoch)}]"}}'


def prepare(size: Size) -> None:
    """Write both, and start the broker; what is there already is left as it is."""
    install_connector()
    install_broker()
    _write_files(size)
    running = _running()
    if size.name not in running.admin.list_topics(timeout=30).topics:
        running.topic(size.name, size.partitions)
        _send(running, size)


def topic(size: Size) -> str:
    """The address of the topic, for whichever process."""
    return f"{ADDRESS.read_text()}/{size.name}"


@cache
def _running() -> Broker:
    """A broker that ends with this process."""
    opened, folder = ExitStack(), ADDRESS.parent
    shutil.rmtree(folder, ignore_errors=True)
    started = opened.enter_context(broker(folder))
    atexit.register(opened.close)
    ADDRESS.write_text(started.address)
    return started


def _write_files(size: Size) -> None:
    """The last file of an epoch ends with the punctuation: files are one stream."""
    if size.folder.exists():
        return
    with in_order(size.folder) as folder:
        for epoch, parts in enumerate(size.lines()):
            for partition, lines in enumerate(parts):
                end = [size.punctuation(epoch)] if partition == size.partitions - 1 else []
                text = "\n".join([*lines, *end]) + "\n"
                (folder / f"{epoch:06d}-{partition}.json").write_text(text)


def _send(running: Broker, size: Size) -> None:
    """Each partition has the punctuation behind its tuples of an epoch."""
    own = {"linger.ms": 20, "queue.buffering.max.messages": 2_000_000, "queue.buffering.max.kbytes": 1 << 20}
    producer = library().Producer({"bootstrap.servers": running.address, **own})
    for epoch, parts in enumerate(size.lines()):
        for partition, lines in enumerate(parts):
            for line in [*lines, size.punctuation(epoch)]:
                producer.produce(size.name, line, partition=partition)
        if producer.flush(60):
            raise OSError("the broker takes no records")
