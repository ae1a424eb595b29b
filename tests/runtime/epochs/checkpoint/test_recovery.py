"""A run that is killed, at any moment, and started again gives what an undisturbed run gives."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline import program
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.faults import content
from tests.kit.java import SHORT_LIVED
from tests.kit.query import Query
from tests.kit.sensor_streams import PLACES, QUERY, random_stream
from tests.kit.stream import Item, is_tuple


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def prepared(spark: SparkSession, root: Path, seed: int) -> Query:
    stream = random_stream(random.Random(seed), 50)
    run = Query(spark, root, QUERY)
    run.write("placement", [*PLACES, {"$punctuation": "[]"}])
    for part in (stream[:15], [*stream[15:35], "not json"], stream[35:]):
        run.write("sensors", part)
    return run


def finish(run: Query, on_death: Callable[[], None] = lambda: None) -> None:
    """Run until it comes to its end, again after each death. One that comes while an epoch is started on top of another
    ends with it: that epoch is computed again."""
    while True:
        try:
            run.process(files_per_epoch=1)
            return
        except Killed:
            on_death()


PLACES_TO_DIE: dict[str, tuple[Any, str, bool]] = {
    "before the tuples are read": (intake, "read", False),
    "while state is written": (StateStore, "append", True),
    "before tuples are staged": (JsonLinesSink, "stage", False),
    "after tuples are staged": (JsonLinesSink, "stage", True),
    "after markers are staged": (JsonLinesSink, "stage_markers", True),
    "before the commit": (Checkpoint, "commit", False),
    "between commit and publication": (Checkpoint, "commit", True),
    "after publication": (JsonLinesSink, "publish", True),
    "before old state is deleted": (StateStore, "commit", False),
}


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("undisturbed")
    prepared(spark, root, 7).process(files_per_epoch=1)
    return root


@pytest.mark.either_engine
def test_death_at_one_place_after_the_other_changes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path
) -> None:
    """Each process dies where the last one did not."""
    left = list(PLACES_TO_DIE.values())

    def mortal(owner: Any, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            dies = bool(left) and left[0][:2] == (owner, name)
            late = dies and left.pop(0)[2]
            result = original(*args, **kwargs) if late or not dies else None
            if dies:
                raise Killed
            return result

        return call

    for owner, name in {(owner, name) for owner, name, _ in PLACES_TO_DIE.values()}:
        monkeypatch.setattr(owner, name, mortal(owner, name, getattr(owner, name)))
    run = prepared(spark, tmp_path, 7)
    finish(run)
    assert left == []
    assert_undisturbed(run, undisturbed)


@pytest.mark.rest
@pytest.mark.parametrize(("most", "death"), list(product((1, 9), PLACES_TO_DIE)))
def test_death_in_any_epoch_changes_nothing(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: Path,
    most: int,
    death: str,
) -> None:
    """Also if it comes again and again, `most` times at most."""
    owner, name, late = PLACES_TO_DIE[death]
    original: Callable[..., Any] = getattr(owner, name)
    calls, last, gap = 0, 3, 3
    deaths: list[int] = []

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls, last, gap
        calls += 1
        if calls == last and len(deaths) < most:  # each process lives a little longer than the one before
            gap += 2
            last += gap
            if late:
                original(*args, **kwargs)
            raise Killed
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, dying)
    run = prepared(spark, tmp_path, 7)
    finish(run, lambda: deaths.append(calls))
    assert 0 < len(deaths) <= most
    assert_undisturbed(run, undisturbed)


def assert_undisturbed(run: Query, undisturbed: Path) -> None:
    """Output and quarantine are those of a run that went through."""
    assert content(run.root, rejected=False) == content(undisturbed, rejected=False)
    assert run.quarantine("sensors") == [
        {
            **line,
            "position": {
                **line["position"],
                "file": line["position"]["file"].replace(str(undisturbed), str(run.root)),
            },
        }
        for line in Query(run.spark, undisturbed, QUERY).quarantine("sensors")
    ]


def start(root: Path) -> subprocess.Popen[bytes]:
    """`cedilla run` as a user starts it, in a process of its own."""
    command = [
        sys.executable,
        "-c",
        "from cedilla.runtime.hosts.cli.main import main; main()",
        "run",
        str(root / "q.rq"),
    ]
    options = ["--once", "--files-per-epoch", "1", "--checkpoint", str(root / "checkpoint")]
    paths = ["--source", f"sensors={root}/in/sensors", "--source", f"placement={root}/in/placement"]
    sink = ["--sink", f"average={root}/out/average"]
    return subprocess.Popen(
        [*command, *options, *paths, *sink],
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "SPARK_SUBMIT_OPTS": SHORT_LIVED},
    )


@pytest.mark.rest
@pytest.mark.parametrize("where", ["here", "in a process of its own"])
def test_a_killed_process_continues_where_it_was(
    spark: SparkSession, tmp_path: Path, undisturbed: Path, where: str
) -> None:
    """SIGKILL to the whole process group as soon as an epoch is committed. Another process continues, by the
    checkpoint's record of files."""
    prepared(spark, tmp_path, 7)
    (tmp_path / "q.rq").write_text(QUERY)
    process = start(tmp_path)
    commits = tmp_path / "checkpoint" / "commits"
    deadline = time.monotonic() + 600
    while not (commits.exists() and any(commits.glob("*.json"))):
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    if where == "here":
        # The same in this process, which has a session already.
        options = Options(
            once=True,
            files_per_epoch=1,
            checkpoint=str(tmp_path / "checkpoint"),
            sources={name: str(tmp_path / "in" / name) for name in ("sensors", "placement")},
            sinks={"average": str(tmp_path / "out" / "average")},
        )
        program.run(tmp_path / "q.rq", options, spark=spark)
    else:
        final = start(tmp_path)
        errors = final.communicate(timeout=600)[1].decode()
        assert final.returncode == 0, errors
    assert content(tmp_path, rejected=False) == content(undisturbed, rejected=False)


@pytest.mark.either_engine
def test_running_again_and_again_as_files_arrive_is_one_run(spark: SparkSession, tmp_path: Path) -> None:
    """Each `--once` is a micro-batch of its own on the same checkpoint."""
    run = Query(spark, tmp_path, QUERY)
    run.write("placement", [*PLACES, {"$punctuation": "[]"}])
    rows: list[Item] = [{"ts": ts, "s": 1 + ts % 3, "t": float(ts)} for ts in range(30)]
    start = 0
    for batch, until in enumerate((10, 20, 30)):
        run.write("sensors", [*rows[start:until], {"$punctuation": f"[ts < {until}]"}])
        executor = run.executor()
        files = run.files(executor)
        arrived = {
            name: listed[-1:] if name == "sensors" or batch == 0 else [] for name, listed in files.items()
        }
        executor.process(batch, arrived)
        executor.process(batch, arrived)  # Spark may deliver a committed batch again
        start = until
    actual = [i for i in run.output("average") if is_tuple(i)]
    assert len(actual) == 6
    assert sum(i["t"] for i in actual) == pytest.approx(sum(range(30)) / 5)
