"""Whole runs with everything in an object store: the requests of an epoch are counted, and a run that dies at each of
its changes gives what an undisturbed one gives."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from attrs import evolve
from pyarrow import parquet
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.runtime.connectors.storage import stores
from cedilla.runtime.connectors.storage.files import Files, name_of
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.integrity import inspect
from cedilla.runtime.epochs.pipeline.program import run as run_for_ever

pytestmark = pytest.mark.rest

AVERAGES = """
stream r(ts: long, s: int, t: double) from json "in" punctuated on ts;
m := aggregate[avg(t) as m by wid, s](window[70 on ts as wid](r));
emit m to json "m";
"""
SEVERAL = f"""{AVERAGES}
d := distinct[s, ts](r);
emit d to parquet "d";
n := aggregate[count() as n by s](r);
emit n as latest by s to json "n";
"""
SINKS = ("m", "d", "n")


def put(bucket: str, number: int) -> None:
    rows = [{"ts": number * 100 + n, "s": n % 3, "t": 1.5 * n} for n in range(50)]
    lines = [*rows, {"$punctuation": f"[ts < {number * 100 + 100}]"}]
    Files().write(f"{bucket}/in/{number:04}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def options(bucket: str, folder: str, *sinks: str) -> Options:
    home = f"{bucket}/{folder}"
    return Options(
        once=True,
        files_per_epoch=1,
        sources={"r": f"{bucket}/in"},
        sinks={name: f"{home}/{name}" for name in sinks},
        checkpoint=f"{home}/checkpoint",
    )


def test_the_requests_of_an_epoch(sail: SparkSession, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file, an epoch with state and an output of one file and a punctuation. Those of the engine itself are not
    counted."""
    from aiobotocore.client import AioBaseClient

    requests: Counter[str] = Counter()
    asked, by_epoch = AioBaseClient._make_api_call, list[Counter[str]]()

    async def counted(client: Any, operation: str, arguments: Any) -> Any:
        requests[operation] += 1
        return await asked(client, operation, arguments)

    def committed(report: object) -> None:
        by_epoch.append(Counter(requests))
        put(bucket, len(by_epoch))
        requests.clear()

    put(bucket, 0)
    monkeypatch.setattr(AioBaseClient, "_make_api_call", counted)
    chosen = evolve(options(bucket, "run", "m"), once=False, interval=0.01)
    with pytest.raises(KeyboardInterrupt):
        run_for_ever(AVERAGES, chosen, spark=sail, on_report=committed, ended=lambda: len(by_epoch) == 6)
    for epoch in by_epoch[2:]:
        assert epoch["CopyObject"] == 2, "the tuples and the punctuation, once each"
        assert epoch.total() <= 25, epoch


class Death(BaseException):
    """The end of the process."""


class Mortal:
    """A store whose process ends before a change; later ones change nothing either."""

    changes = 0
    left: int | None = None

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        if name in ("call_s3", "cp_file", "pipe_file", "rm_file", "rm"):
            Mortal.changes += 1
            if Mortal.left is not None:
                Mortal.left -= 1
                if Mortal.left < 0:
                    raise Death
        return getattr(self._system, name)


@pytest.fixture
def _mortal(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = stores.RemoteStore.__init__

    def mortal(store: stores.RemoteStore, scheme: str) -> None:
        begin(store, scheme)
        store._system = Mortal(store._system)

    monkeypatch.setattr(stores.RemoteStore, "__init__", mortal)
    monkeypatch.setattr(Mortal, "left", None)


def content(path: str) -> dict[str, list[str]]:
    """The lines and rows of an output by epoch and kind of file; tuples in no order."""
    files, lines = Files(), dict[str, list[str]]()
    for folder in files.folders(path, "epoch="):
        for name in files.names(f"{path}/{folder}"):
            kind = f"{folder}/{name.lstrip('_')[:8]}"
            file = f"{path}/{folder}/{name}"
            if name.endswith(".parquet"):
                with files.open(file) as stream:
                    rows = [str(row) for row in parquet.read_table(stream).to_pylist()]
            else:
                rows = files.read(file).splitlines()
            lines[kind] = sorted([*lines.get(kind, ()), *rows])
    return lines


def is_beginning(actual: dict[str, list[str]], expected: dict[str, list[str]]) -> bool:
    """Returns True if each file of markers that is seen has all before it."""
    last = max((kind for kind in actual if "1-" not in kind), default="")
    return all(actual.get(kind) == lines for kind, lines in expected.items() if kind < last)


@pytest.mark.usefixtures("_mortal")
@pytest.mark.parametrize("count", [2, pytest.param(12, marks=pytest.mark.faults)])
def test_a_run_that_dies_at_each_change_gives_what_an_undisturbed_run_gives(
    sail: SparkSession, bucket: str, count: int
) -> None:
    """At the first change of a run, then at the second one of the next, and so on, until a run goes through: at each
    step of an epoch, and of what a run does after a death."""
    for number in range(count):
        put(bucket, number)
    run(SEVERAL, options(bucket, "calm", *SINKS), spark=sail)
    calm = {sink: content(f"{bucket}/calm/{sink}") for sink in SINKS}
    deaths, is_over = 0, False
    while not is_over:
        Mortal.left = deaths
        try:
            run(SEVERAL, options(bucket, "run", *SINKS), spark=sail)
            is_over = True
        except Death:
            deaths += 1
        Mortal.left = None
        for sink in SINKS:
            assert is_beginning(content(f"{bucket}/run/{sink}"), calm[sink]), f"{sink} after {deaths} deaths"
    assert deaths > count
    assert {sink: content(f"{bucket}/run/{sink}") for sink in SINKS} == calm
    files = Files()
    whole = inspect(SealedFiles(files, f"{bucket}/run/checkpoint"), None)
    assert (whole.problems, whole.unnamed, whole.torn) == ((), (), None)
    assert [
        name_of(file.path) for sink in SINKS for file in files.tree(f"{bucket}/run/{sink}/_staging")
    ] == []
