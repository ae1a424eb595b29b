"""Queries over topics, clients that end amid a transaction, and runs in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.topics.kafka_client import made
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.kit.kafka import Broker
from tests.kit.stream import Item, is_tuple, read_output

QUERY = """
stream r(ts: long, s: int in {1, 2}, t: double) from kafka "ADDRESS" punctuated on ts;
w := window[60 on ts as wid](r);
a := aggregate[avg by wid except ts, s](w);
emit a to json "OUT";
"""

PLAIN = """
stream r(ts: long, s: int in {1, 2}, t: double) from kafka "ADDRESS";
emit r to json "OUT";
"""


class TopicQuery:
    """A query over a topic of its own, with an output and a checkpoint."""

    def __init__(self, spark: SparkSession, address: str, folder: Path, text: str = QUERY) -> None:
        self.spark, self.folder = spark, folder
        self.text = text.replace("ADDRESS", address).replace("OUT", str(folder / "out"))
        self.reports: list[EpochReport] = []

    def run(self, **options: Any) -> None:
        options = {"once": True, "checkpoint": str(self.folder / "checkpoint"), **options}
        run(self.text, Options(**options), spark=self.spark, on_report=self.reports.append)

    @property
    def output(self) -> list[Item]:
        return read_output(self.folder / "out")

    @property
    def tuples(self) -> list[Item]:
        return [item for item in self.output if is_tuple(item)]

    def quarantine(self) -> list[Item]:
        files = sorted((self.folder / "checkpoint" / "quarantine" / "r").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def refused(self, **options: Any) -> Any:
        with pytest.raises(DiagnosticError) as raised:
            self.run(**options)
        (diagnostic,) = raised.value.diagnostics
        return diagnostic


def mend(refusal: Any) -> None:
    """Make the second line of a copy empty, which holds a bad marker."""
    (copy,) = (p for note in refusal.notes for p in note.split() if p.endswith(".jsonl:2"))
    file = Path(copy.removesuffix(":2").removeprefix("file:"))
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], "", *lines[2:]]) + "\n")


COPY = PLAIN.replace('to json "OUT"', 'to kafka "ADDRESS_OUT"')


def copied(kafka: Broker, sail: SparkSession, folder: Path, name: str, partitions: int = 2) -> TopicQuery:
    """A query that copies a topic `name` to one `name_out`, by key."""
    address = kafka.topic(name)
    kafka.topic(f"{name}_out", partitions)
    return TopicQuery(sail, address, folder, COPY.replace("ADDRESS_OUT", f"{address}_out?key=s"))


def dying_clients(step: str, die: Any) -> Any:
    """Clients as they are made, but for one function."""

    class Dying:
        def __init__(self, of: Any) -> None:
            self.of = of

        def __getattr__(self, name: str) -> Any:
            return die if name == step else getattr(self.of, name)

    def make(kind: str, *arguments: Any) -> Any:
        client = made(kind, *arguments)
        return Dying(client) if kind == "Producer" else client

    return make


def started_run(query: TopicQuery, *options: str) -> subprocess.Popen[bytes]:
    file = query.folder / "q.rq"
    file.write_text(query.text)
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "run", str(file), "--engine", "sail"]
    checkpoint = ["--checkpoint", str(query.folder / "checkpoint"), *options]
    with (query.folder / "log").open("ab") as log:
        return subprocess.Popen([*command, *checkpoint], stdout=log, stderr=log)


def wait_for_epochs(query: TopicQuery, epochs: int) -> None:
    end = time.monotonic() + 60
    while len(list((query.folder / "out").glob("epoch=*"))) < epochs:
        assert time.monotonic() < end, (query.folder / "log").read_text()
        time.sleep(0.02)
