"""A broker of Kafka on this machine, in KRaft mode: its jars from Maven Central (by `mvn`), in `build/kafka`."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import define, field

from cedilla.runtime.connectors.topics.kafka_client import library
from cedilla.runtime.engines.spark import java
from tests.kit import ROOT
from tests.kit.stream import Item

VERSION = "4.1.1"
HOME = ROOT / "build" / "kafka" / VERSION
_SECONDS = 60.0
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>{name}</groupId><artifactId>{name}</artifactId><version>1</version><dependencies><dependency>
<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
</dependency></dependencies></project>"""
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable={makes_topics}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
"""


def install() -> Path:
    """The folder of the broker's jars. Raises `OSError` without `mvn`, or where it cannot load them."""
    return copied_jars(HOME, "org.apache.kafka", "kafka_2.13", VERSION)


def copied_jars(home: Path, group: str, artifact: str, version: str) -> Path:
    """A folder with the jars of an artifact and of what it requires, from Maven Central if it is not there yet. Raises
    `OSError` without `mvn`, or where it cannot load them."""
    jars = home / "jars"
    if jars.exists():
        return jars
    if shutil.which("mvn") is None:
        raise FileNotFoundError(f"the jars of {artifact} come from Maven Central: `mvn` is required")
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if jars.exists():
            return jars
        pom = _POM.format(name="jars", group=group, artifact=artifact, version=version)
        (home / "pom.xml").write_text(pom)
        aside = home / "_jars"
        copy = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={aside}")
        done = subprocess.run(
            ["mvn", "-q", "-B", *copy], cwd=home, check=False, stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            output = next(iter(done.stdout.strip().splitlines()), f"exit status {done.returncode}")
            raise OSError(f"the jars of {artifact} cannot be had from Maven Central: {output}")
        aside.rename(jars)
    return jars


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


@define(eq=False)
class Broker:
    """A broker that can be stopped and started again with what it has."""

    folder: Path
    port: int = field(factory=_free_port)
    makes_topics: bool = False
    """True: the broker creates a topic that is asked for and does not exist."""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    def start(self) -> None:
        config = self.folder / "server.properties"
        if not config.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            config.write_text(
                _PROPERTIES.format(
                    port=self.port,
                    controller=_free_port(),
                    folder=self.folder,
                    makes_topics=str(self.makes_topics).lower(),
                )
                + "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            )
            identity = ("format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(config))
            subprocess.run(self._java("kafka.tools.StorageTool", *identity), check=True, capture_output=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(config)), stdout=log, stderr=subprocess.STDOUT
            )
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            with suppress(OSError):
                socket.create_connection(("localhost", self.port), 1).close()
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def _java(self, program: str, *arguments: str) -> list[str]:
        executable = str(java.ensure() / "bin" / "java")
        memory = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        return [executable, *memory, "-cp", f"{install()}{os.sep}*", program, *arguments]

    def stop(self) -> None:
        """End it at once, as a loss of power would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    # --- topics ---

    @property
    def admin(self) -> Any:
        return library("confluent_kafka.admin").AdminClient({"bootstrap.servers": self.address})

    def topic(self, name: str, partitions: int = 2, **config: str) -> str:
        """A new topic; its address. `config`: its configuration, with `_` for points."""
        admin = self.admin  # which has to live until it is done
        properties = {key.replace("_", "."): value for key, value in config.items()}
        topic = library("confluent_kafka.admin").NewTopic(name, partitions, 1, config=properties)
        admin.create_topics([topic])[name].result(_SECONDS)
        end = time.monotonic() + _SECONDS
        while not self._has_leaders(name, partitions):
            assert time.monotonic() < end, f"{name} has no leaders"
        return f"{self.address}/{name}"

    def _has_leaders(self, name: str, partitions: int) -> bool:
        """Returns True once a new topic answers, which takes a while on a busy machine."""
        try:
            return len(self.ends(name)) == partitions
        except library().KafkaException:
            return False

    def configure(self, name: str, **config: str) -> None:
        """Changes the configuration of a topic."""
        of, admin = library("confluent_kafka.admin"), self.admin
        entries = [
            of.ConfigEntry(key.replace("_", "."), value, incremental_operation=of.AlterConfigOpType.SET)
            for key, value in config.items()
        ]
        resource = of.ConfigResource(of.ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        (done,) = admin.incremental_alter_configs([resource]).values()
        done.result(_SECONDS)

    def delete(self, name: str) -> None:
        admin = self.admin
        admin.delete_topics([name], operation_timeout=30)[name].result(_SECONDS)

    def widen(self, name: str, partitions: int) -> None:
        admin = self.admin
        admin.create_partitions([library("confluent_kafka.admin").NewPartitions(name, partitions)])[
            name
        ].result(_SECONDS)

    def delete_records(self, name: str, partition: int, before: int) -> None:
        admin = self.admin
        (done,) = admin.delete_records([library().TopicPartition(name, partition, before)]).values()
        done.result(_SECONDS)

    def send(self, name: str, *partitions: Sequence[Item | str | bytes | None]) -> None:
        """Records for each partition in their order."""
        producer = library().Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        for number, items in enumerate(partitions):
            for item in items:
                value = json.dumps(item) if isinstance(item, dict) else item
                producer.produce(name, value, partition=number)
        assert producer.flush(_SECONDS) == 0

    def send_record(self, name: str, value: Item | bytes, partition: int = 0, **more: Any) -> None:
        """A record with a key, headers or a time, as `Producer.produce` takes them."""
        producer = library().Producer({"bootstrap.servers": self.address})
        text = json.dumps(value) if isinstance(value, dict) else value
        producer.produce(name, text, partition=partition, **more)
        assert producer.flush(_SECONDS) == 0

    def transaction(self, name: str, *items: Item) -> Any:
        """A producer amid a transaction that has sent records."""
        producer = library().Producer({"bootstrap.servers": self.address, "transactional.id": "tests"})
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        for item in items:
            producer.produce(name, json.dumps(item), partition=0)
        assert producer.flush(_SECONDS) == 0
        return producer

    def records(self, name: str) -> list[list[Item]]:
        """Returns the committed records of a topic, by partition."""
        return [[json.loads(value) for _, value in partition] for partition in self._read(name)]

    def keys(self, name: str) -> set[bytes | None]:
        """Returns the keys of the records of a topic."""
        return {key for partition in self._read(name) for key, _ in partition}

    def ends(self, name: str) -> list[int]:
        """Returns the ends of the partitions of a topic."""
        consumer = self._consumer()
        parts = [library().TopicPartition(name, p) for p in range(self._count(consumer, name))]
        ends = [consumer.get_watermark_offsets(part, timeout=_SECONDS)[1] for part in parts]
        consumer.close()
        return ends

    def _consumer(self) -> Any:
        own = {"group.id": "tests", "enable.auto.commit": False, "enable.partition.eof": True}
        return library().Consumer(
            {"bootstrap.servers": self.address, "isolation.level": "read_committed", **own}
        )

    @staticmethod
    def _count(consumer: Any, name: str) -> int:
        return len(consumer.list_topics(name, timeout=_SECONDS).topics[name].partitions)

    def _read(self, name: str) -> list[list[tuple[bytes | None, bytes]]]:
        consumer = self._consumer()
        left = self._count(consumer, name)
        consumer.assign([library().TopicPartition(name, p, 0) for p in range(left)])
        result: list[list[tuple[bytes | None, bytes]]] = [[] for _ in range(left)]
        while left:
            message = consumer.poll(_SECONDS)
            assert message is not None
            if message.error() is None:
                result[message.partition()].append((message.key(), message.value()))
            else:
                assert message.error().code() == library().KafkaError._PARTITION_EOF, message.error()
                left -= 1
        consumer.close()
        return result


@contextmanager
def broker(folder: Path, *, makes_topics: bool = False) -> Iterator[Broker]:
    """A broker whose data lie in a folder."""
    started = Broker(folder, makes_topics=makes_topics)
    started.start()
    try:
        yield started
    finally:
        started.stop()


def row(ts: int, s: int, t: float) -> Item:
    """A tuple of a sensor."""
    return {"ts": ts, "s": s, "t": t}


def accent(text: str) -> Item:
    """A record that is an accent."""
    return {"$accent": text}


def closed(pattern: str) -> Item:
    """A record that is a punctuation."""
    return {"$punctuation": pattern}
