"""Epochs in flight: the next is started while one runs, and commits keep their order (design, section 5)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.engines.spark.columns import Columns
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.pipeline.executor import Executor
from tests.kit.query import Query
from tests.kit.stream import decode

QUERY = """
stream r(ts: long, k: int, t: double) from json "r";
w := window[10 on ts as wid](r);
q := aggregate[avg(t) as mean, count() as n by k, wid](w);
emit q to json "q";
"""


def _write_windows(run: Query, files: int, odd: dict[int, str] | None = None) -> None:
    """Files of ten tuples each; of every window half comes in one file and half in the next. `odd`: file -> a line
    before the tuples of it."""
    for number in range(files):
        rows = [{"ts": number * 10 + i, "k": i % 2, "t": float(number)} for i in range(5, 15)]
        line = [] if odd is None or number not in odd else [odd[number] + "\n"]
        run.write("r", [*line, *rows, {"$punctuation": f"[ts < {number * 10 + 10}]"}])


def _windows(run: Query) -> dict[tuple[int, int], tuple[float, int]]:
    return {(row["k"], row["wid"]): (row["mean"], row["n"]) for row in decode(run.output("q"))}


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path, QUERY)


@pytest.mark.either_engine
def test_the_next_epoch_starts_before_one_is_committed(run: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second epoch's output is held back until the third has begun to write: one after the other would stay
    there for ever. The third reads the second's state in memory, or from files: the results are the same.
    """
    _write_windows(run, 4)
    third = threading.Event()
    begun: list[int] = []
    committed: list[int] = []
    stage, commit = JsonLinesSink.stage, Checkpoint.commit

    def held_back(sink: JsonLinesSink, number: int, *tuples: Any) -> None:
        begun.append(number)
        if number == 2:
            third.set()
        if number == 1 and not third.wait(120):
            raise AssertionError("the third epoch waits for the second")
        stage(sink, number, *tuples)

    def noted(checkpoint: Checkpoint, record: Commit) -> None:
        committed.append(record.epoch)
        commit(checkpoint, record)

    monkeypatch.setattr(JsonLinesSink, "stage", held_back)
    monkeypatch.setattr(Checkpoint, "commit", noted)
    run.process(files_per_epoch=1)
    assert committed == [0, 1, 2, 3]
    assert sorted(begun) == [0, 1, 2, 3]
    assert _windows(run) == {
        **{(k, 0): (0.0, n) for k, n in ((0, 2), (1, 3))},
        **{(k, wid): _halves(k, wid) for k in (0, 1) for wid in (1, 2, 3)},
    }
    assert not (run.root / "out" / "q" / "_staging").exists()


@pytest.mark.either_engine
def test_the_first_results_do_not_wait_for_a_second_plan(run: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the second epoch takes long where Java has just started."""
    _write_windows(run, 3)
    executor = run.executor(1)
    committed: list[int] = []
    before_stages: dict[int, list[int]] = {}
    stage = JsonLinesSink.stage

    def noted(sink: JsonLinesSink, number: int, *tuples: Any) -> None:
        before_stages[number] = list(committed)
        stage(sink, number, *tuples)

    monkeypatch.setattr(JsonLinesSink, "stage", noted)
    executor.on_report = lambda report: committed.append(report.number)
    executor.process(0, run.files(executor))
    assert before_stages[1] == [0]
    assert committed == [0, 1, 2]


def _halves(k: int, wid: int) -> tuple[float, int]:
    """Mean and count of a window: its first half came with the file before, its second with its own."""
    early = sum(1 for ts in range(wid * 10, wid * 10 + 5) if (ts - (wid - 1) * 10) % 2 == k)
    late = sum(1 for ts in range(wid * 10 + 5, wid * 10 + 10) if (ts - wid * 10) % 2 == k)
    return ((early * (wid - 1) + late * wid) / (early + late), early + late)


@pytest.mark.either_engine
def test_what_builds_on_an_epoch_that_fails_is_done_anew(run: Query) -> None:
    """A marker that the first look overlooks is found when the epoch's tuples are counted; the next one, which is
    launched by then without it, must not be kept."""
    odd = {1: '{"\\u0024accent": "[[alter(t, y -> y * 2)]]"}'}
    _write_windows(run, 4, odd)
    executor = run.process(files_per_epoch=1)
    assert [report.accents for report in run.reports] == [0, 1, 0, 0]
    plain = Query(run.spark, run.root / "plain", QUERY)
    _write_windows(plain, 4, {1: '{"$accent": "[[alter(t, y -> y * 2)]]"}'})
    other = plain.process(files_per_epoch=1)
    assert _windows(run) == _windows(plain)
    assert executor.last.sinks == other.last.sinks


@pytest.mark.either_engine
def test_all_before_a_marker_that_ends_the_query_is_committed(run: Query) -> None:
    """It is in the epoch after the running one, and is reported once that one is committed."""
    _write_windows(run, 4, {2: '{"$accent": "[[alter(tt, y -> y * 2)]]"}'})
    with pytest.raises(DiagnosticError) as failure:
        run.process(files_per_epoch=1)
    assert [d.code for d in failure.value.diagnostics] == ["RQ207"]
    assert [report.number for report in run.reports] == [0, 1]
    assert set(_windows(run)) == {(k, wid) for k in (0, 1) for wid in (0, 1)}


@pytest.mark.either_engine
def test_a_failure_in_flight_leaves_nothing_behind(run: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second epoch cannot be written; the third, which could, was on its way. A new process does both."""
    _write_windows(run, 4)
    write = JsonLinesSink.write

    def broken(sink: JsonLinesSink, tuples: DataFrame, columns: Columns, folder: str) -> None:
        if "epoch=000000000001" in folder:
            raise OSError("no space left on device")
        write(sink, tuples, columns, folder)

    monkeypatch.setattr(JsonLinesSink, "write", broken)
    with pytest.raises(OSError, match="no space left"):
        run.process(files_per_epoch=1)
    assert [report.number for report in run.reports] == [0]
    assert {int(path.name[len("epoch=") :][:12]) for path in (run.root / "out" / "q").glob("epoch=*")} == {0}
    monkeypatch.setattr(JsonLinesSink, "write", write)
    executor = run.process(files_per_epoch=1)
    assert executor.last.epoch == 3
    assert len(_windows(run)) == 2 * 4


@pytest.mark.rest
def test_memory_is_given_back(run: Query) -> None:
    """The cache of an epoch is released when the next is committed, and all of it at the end."""
    _write_windows(run, 6)
    java: Any = run.spark.sparkContext._jsc  # type: ignore[attr-defined]
    before = set(java.getPersistentRDDs().keySet())
    held: list[int] = []
    executor: Executor = run.executor(1)
    executor.on_report = lambda report: held.append(len(set(java.getPersistentRDDs().keySet()) - before))
    executor.process(0, run.files(executor))
    assert max(held) <= 3
    assert set(java.getPersistentRDDs().keySet()) == before


@pytest.mark.either_engine
def test_a_look_counts_nothing_where_markers_fill_the_file(run: Query) -> None:
    """A file of markers only has no tuples to read."""
    run.write("r", [{"$punctuation": "[ts < 3]"}, {"$accent": "[[alter(t, y -> y + 1)]]"}])
    run.write("r", [{"$punctuation": "[ts < 4]"}, {"ts": 9, "k": 1, "t": 3.0}])
    executor = run.executor()
    (files,) = run.files(executor).values()
    looks = JsonLines().scans(run.spark, [{0: file} for file in files])
    assert [(len(look.markers), look.empty) for look in looks] == [(2, {0}), (1, set())]
    executor.process(0, {"r": files})
    assert sum(report.tuples for report in run.reports) == 1
