"""The tuples of the next epoch are read while the engine computes this one, and each file is read once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.lines import blocks
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.source import Batch, Numbered
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.pipeline.running_epoch import EpochStarter, RunningEpoch
from tests.kit.query import Query
from tests.kit.stream import Item

QUERY = """
{settings}
stream r(ts: long, k: int, t: double) from json "r" punctuated on ts;
q := aggregate[avg(t) as mean, count() as n by k, wid](window[10 on ts as wid](r));
emit q to json "q";
"""


class Reads:
    """The reads of files: the number of the file, if it was read ahead, and the last epoch that was planned then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: int | None = None) -> None:
        """`fails`: the number of a file that cannot be read in the background."""
        self.planned = -1
        self.of: list[tuple[int, bool, int]] = []
        read, start = JsonLines.read, EpochStarter.start

        def noted(format_: JsonLines, spark: SparkSession, files: Numbered, *rest: Any) -> Batch:
            (file,) = files.values()
            number, is_ahead = (
                int(Path(file.path).stem) - 1,
                threading.current_thread() is not threading.main_thread(),
            )
            self.of.append((number, is_ahead, self.planned))
            if is_ahead and number == fails:
                raise OSError("no memory")
            return read(format_, spark, files, *rest)

        def planned(starter: EpochStarter, *rest: Any, **sizes: bool) -> RunningEpoch:
            self.planned = rest[0].epoch + 1
            return start(starter, *rest, **sizes)

        monkeypatch.setattr(JsonLines, "read", noted)
        monkeypatch.setattr(EpochStarter, "start", planned)

    @property
    def ahead(self) -> list[int]:
        return [number for number, is_ahead, _ in self.of if is_ahead]

    @property
    def when_planned(self) -> list[int]:
        return [number for number, is_ahead, _ in self.of if not is_ahead]


@pytest.fixture
def run(sail: SparkSession, tmp_path: Path) -> Query:
    return Query(sail, tmp_path, QUERY.format(settings=""))


def write(run: Query, files: int, lines: dict[int, Item] | None = None) -> None:
    """Files of ten tuples, an epoch each; half of every window comes with the next file. `lines`: file -> its first
    line."""
    for number in range(files):
        rows = [{"ts": number * 10 + i, "k": i % 2, "t": float(number)} for i in range(5, 15)]
        first = [] if lines is None or number not in lines else [lines[number]]
        run.write("r", [*first, *rows, {"$punctuation": f"[ts < {number * 10 + 10}]"}])


def agrees(run: Query) -> bool:
    actual, expected = (
        sorted(map(str, rows)) for rows in (run.canonical("q"), run.simulate().canonical("q"))
    )
    return len(actual) > 4 and actual == expected


def test_each_epoch_but_the_first_is_read_ahead_and_none_further_ahead(
    run: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run has the tuples of three epochs in memory at most: two that are under way, and one more."""
    write(run, 6)
    reads = Reads(monkeypatch)
    run.process(files_per_epoch=1)
    assert reads.when_planned == [0]
    assert reads.ahead == [1, 2, 3, 4, 5]
    assert all(number <= planned + 1 for number, _, planned in reads.of)
    assert [report.number for report in run.reports] == [*range(6)]
    assert agrees(run)


def test_an_epoch_with_accents_is_read_when_they_are_known(
    run: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may change the types of what is read; the epoch after it is read ahead with the new ones."""
    write(run, 5, {2: {"$accent": "[[+(u: double)]]"}, 4: {"$accent": "[[alter(t, y -> y * 2)]]"}})
    reads = Reads(monkeypatch)
    run.process(files_per_epoch=1)
    assert (reads.when_planned, reads.ahead) == ([0, 2, 4], [1, 3])
    assert agrees(run)


def test_what_turns_out_to_be_of_other_types_is_read_again(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No accent says that the third file has one more attribute."""
    run = Query(sail, tmp_path, QUERY.format(settings="set drift = infer;"))
    write(run, 4, {2: {"ts": 26, "k": 1, "t": 3.0, "more": 1}})
    reads = Reads(monkeypatch)
    run.process(files_per_epoch=1)
    assert (reads.when_planned, reads.ahead) == ([0, 2], [1, 2, 3])
    assert agrees(run)


def test_a_read_ahead_that_fails_is_done_again_behind_the_epoch_that_runs(
    run: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(run, 5)
    reads = Reads(monkeypatch, fails=3)
    run.process(files_per_epoch=1)
    assert reads.when_planned == [0, 3]
    assert [report.number for report in run.reports] == [*range(5)]
    assert agrees(run)


@pytest.mark.parametrize("kept", [0, costs.KEPT_PARSED])
def test_a_crash_leaves_nothing_of_what_was_read_ahead(
    run: Query, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """The second epoch cannot be written. By then the third is planned, and the fourth is read, into memory or into
    files. A new run does them all."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    monkeypatch.setattr(costs, "KEPT_PARSED", kept)
    write(run, 5)
    stage, is_read = JsonLinesSink.stage, threading.Event()
    reads = Reads(monkeypatch)
    read = JsonLines.read

    def noted(format_: JsonLines, spark: SparkSession, files: Numbered, *rest: Any) -> Batch:
        batch = read(format_, spark, files, *rest)
        if 3 in reads.ahead:
            is_read.set()
        return batch

    def broken(sink: JsonLinesSink, number: int, *tuples: Any) -> int | None:
        if number == 1:
            assert is_read.wait(60)
            raise OSError("no space left on device")
        return stage(sink, number, *tuples)

    with monkeypatch.context() as full:
        full.setattr(JsonLines, "read", noted)
        full.setattr(JsonLinesSink, "stage", broken)
        with pytest.raises(OSError, match="no space left"):
            run.process(files_per_epoch=1)
    assert [report.number for report in run.reports] == [0]
    assert not [*run.root.rglob("scratch/**/*.parquet")]
    run.process(files_per_epoch=1)
    assert [report.number for report in run.reports] == [*range(5)]
    assert agrees(run)


@pytest.mark.parametrize(("kept", "times"), [(costs.KEPT_SEARCHED, 1), (0, 2)])
def test_the_search_for_markers_leaves_the_parser_what_it_read(
    run: Query, monkeypatch: pytest.MonkeyPatch, kept: int, times: int
) -> None:
    """Up to a bound; more is read twice."""
    opened = Counter[str]()
    open_part = blocks.opened_part

    def noted(part: Part) -> Any:
        opened[part.path] += 1
        return open_part(part)

    monkeypatch.setattr(blocks, "opened_part", noted)
    monkeypatch.setattr(costs, "KEPT_SEARCHED", kept)
    write(run, 4, {2: {"$accent": "[[alter(t, y -> y * 2)]]"}})
    run.process(files_per_epoch=1)
    assert [*opened.values()] == [times] * 4
    assert agrees(run)
