"""How folders are looked at: not all the time, together with those of their markers, and whether they are there."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.listing import in_order
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.connectors.storage.stores import News
from cedilla.runtime.engines.spark.memory import MemoryGrowth
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolders
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline import discovery
from cedilla.runtime.epochs.pipeline.executor import Executor
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.epochs.pipeline.program import MemoryLimitExceeded, start
from cedilla.runtime.epochs.pipeline.source_folders import SourceFolders
from cedilla.runtime.epochs.pipeline.table_sources import TableSources
from tests.kit.lines import write_lines
from tests.kit.stream import is_tuple, read_output
from tests.kit.tiers import rest


def test_folders_are_not_looked_at_all_the_time() -> None:
    looks: list[int] = []
    ends = time.monotonic() + 0.2

    def look() -> dict[str, Any]:
        looks.append(1)
        return {}

    def wait(idle: bool) -> None:
        if time.monotonic() > ends:
            raise KeyboardInterrupt

    tables = TableSources(SealedFiles(Files(), ""), {}, False, print, {})
    folders: Any = SimpleNamespace(look=look, tables=tables, cost=0.0)
    executor: Any = SimpleNamespace(topics=None, checkpoint=SimpleNamespace(check_there=lambda: None))
    with pytest.raises(KeyboardInterrupt):
        discovery._look(executor, folders, 0.0, lambda files: False, wait)
    assert 1 <= len(looks) <= 30


class _Busy(Files):
    """Files of which some come between two listings."""

    def __init__(self, between: Callable[[str], None]) -> None:
        super().__init__()
        self.between = between

    def news(self, path: str, earlier: Mapping[str, int], unsure: Set[str]) -> News:
        result = super().news(path, earlier, unsure)
        self.between(path)
        return result


@pytest.mark.parametrize("first", ["r", "ops"])
def test_markers_do_not_overtake_tuples_that_come_while_folders_are_listed(
    tmp_path: Path, first: str
) -> None:
    """Whichever folder is listed first: what comes next to it in the order of times is read with it, or later."""
    query = f'stream r(k: long) from json "{tmp_path}/r" markers "{tmp_path}/ops";\nemit r to json "out";\n'
    plan, _ = load(compile_query(query))
    for n, (folder, name) in enumerate((("r", "1"), ("ops", "2"), ("r", "3"), ("ops", "4")), 1):
        (tmp_path / folder).mkdir(exist_ok=True)
        if n == 1:
            write_lines(tmp_path / folder / name, ["{}"], n)

    def between(path: str) -> None:
        if path.endswith(first) and not (tmp_path / "ops" / "4").exists():
            for n, folder in ((2, "ops"), (3, "r"), (4, "ops")):
                write_lines(tmp_path / folder / str(n), ["{}"], n)

    files = _Busy(between)
    tables, known_folders = (
        TableSources(SealedFiles(files, ""), {}, False, print, {}),
        KnownFolders(str(tmp_path)),
    )
    folders = SourceFolders(files, plan, plan.sources, tables, known_folders, print)
    collected: list[str] = []
    for _ in range(3):
        listed = folders.look()["r"]
        for file in in_order(listed.data, listed.markers, listed.stop):
            if (name := file.path.rpartition("/")[2]) not in collected:
                collected.append(name)
    assert collected == ["1", "2", "3", "4"]


# --- folders that go away ------------------------------------------------------------------------------------

QUERY = """
stream r(ts: long, k: long) from json "r" punctuated on ts;
table names(k: long, name: string) from json "names";
named := r join names on k;
w := window[10 on ts as w](named);
n := aggregate[count() as n by name, w](w);
emit n to json "n";
"""


def _minute(root: Path, number: int) -> None:
    lines = [{"ts": number * 10, "k": 1}, {"$punctuation": f"[ts < {number * 10 + 10}]"}]
    aside = root / f"_{number}"
    write_lines(aside, lines, number)
    aside.rename(root / "r" / f"{number}.jsonl")


class _Run:
    """A run in a thread, and what it has said."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.said: list[str] = []
        self.failure: BaseException | None = None
        self._stop = MemoryGrowth()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        plan, flow = load(compile_query(QUERY))
        options = Options(
            interval=0.02,
            checkpoint=str(self.root / "ck"),
            sources={name: str(self.root / name) for name in ("r", "names")},
            sinks={"n": str(self.root / "out")},
        )
        say = self.said.append
        try:
            start(plan, flow, options, lambda report: None, self.spark, on_step=say, growth=self._stop)
        except BaseException as problem:
            self.failure = problem

    def __enter__(self) -> _Run:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.exceeds_limit = True
        self._thread.join()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        ends = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < ends, (self.said, self.failure)
            time.sleep(0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("r", "names"):
        (tmp_path / name).mkdir()
    write_lines(tmp_path / "names" / "1.jsonl", ['{"k": 1, "name": "a"}'], 1)
    _minute(tmp_path, 0)
    _minute(tmp_path, 1)
    return tmp_path


def _counts(root: Path) -> list[int]:
    return sorted(item["w"] for item in read_output(root / "out") if is_tuple(item))


@pytest.mark.either_engine
def test_a_source_folder_that_goes_away_is_waited_for(spark: SparkSession, root: Path) -> None:
    """That is said, and what comes back with it is not new."""
    with _Run(spark, root) as run:
        run.wait_for(lambda: _counts(root) == [0, 1])
        (root / "r").rename(root / "away")
        gone = f"{root}/r of stream `r` is not there any more: the run waits for it"
        run.wait_for(lambda: gone in run.said)
        shutil.copytree(root / "away", root / "r")
        _minute(root, 2)
        run.wait_for(lambda: _counts(root) == [0, 1, 2])
        assert run.said.count(gone) == run.said.count(f"{root}/r of stream `r` is back") == 1
    assert isinstance(run.failure, MemoryLimitExceeded)


@pytest.mark.either_engine
def test_a_log_is_rotated_while_a_run_reads_it(spark: SparkSession, root: Path) -> None:
    with _Run(spark, root) as run:
        for number in (2, 3, 4):
            _minute(root, number)
            run.wait_for(lambda: _counts(root) == [*range(number + 1)])  # noqa: B023
            if (root / "r/log.1").exists():
                (root / "r/log.1").rename(root / "r/log.2")
            if (root / "r/log").exists():
                (root / "r/log").rename(root / "r/log.1")
            (root / f"r/{number}.jsonl").rename(root / "r/log")
    assert isinstance(run.failure, MemoryLimitExceeded)


@pytest.mark.either_engine
@pytest.mark.parametrize("lost", ["ck", "ck/state", "ck/commits"])
def test_a_checkpoint_that_goes_away_ends_the_run(spark: SparkSession, root: Path, lost: str) -> None:
    """Before anything is written; put back, the next run goes on where this one was."""
    with _Run(spark, root) as run:
        run.wait_for(lambda: _counts(root) == [0, 1])
        (root / lost).rename(root / "away")
        _minute(root, 2)
        run.wait_for(lambda: run.failure is not None)
    assert isinstance(run.failure, DiagnosticError)
    assert run.failure.diagnostics[0].code == "RQ451"
    assert _counts(root) == [0, 1]
    (root / "away").rename(root / lost)
    with _Run(spark, root) as run:
        run.wait_for(lambda: _counts(root) == [0, 1, 2])


@pytest.mark.either_engine
def test_a_segment_without_its_files_ends_the_run(spark: SparkSession, root: Path) -> None:
    """A job that cleans up old files leaves such a segment; also at the start of a run."""
    with _Run(spark, root) as run:
        run.wait_for(lambda: _counts(root) == [0, 1])
    for file in (root / "ck" / "state").rglob("*.parquet"):
        file.unlink()
    _minute(root, 2)
    with _Run(spark, root) as run:
        run.wait_for(lambda: run.failure is not None)
    assert "RQ451" in str(run.failure)
    assert _counts(root) == [0, 1]


@pytest.mark.either_engine
def test_a_source_folder_that_comes_back_with_other_files_ends_the_run(
    spark: SparkSession, root: Path
) -> None:
    """Under the names of those that were read they would never be read."""
    with _Run(spark, root) as run:
        run.wait_for(lambda: _counts(root) == [0, 1])
        (root / "r").rename(root / "away")
        run.wait_for(lambda: any("not there any more" in message for message in run.said))
        (root / "_r").mkdir()
        for number in (0, 1):
            write_lines(root / "_r" / f"{number}.jsonl", ['{"ts": 100, "k": 1}'], number)
        (root / "_r").rename(root / "r")
        run.wait_for(lambda: run.failure is not None)
    assert "RQ452" in str(run.failure)


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_a_file_that_vanishes_before_it_is_read_stops_all_that_is_later(
    spark: SparkSession, root: Path, monkeypatch: pytest.MonkeyPatch, files_per_epoch: int | None
) -> None:
    """It comes back, or an empty one in its place."""
    process = Executor.process

    def vanish(self: Executor, *arguments: Any) -> None:
        if (root / "r" / "2.jsonl").exists():
            (root / "r" / "2.jsonl").rename(root / "_2")
        process(self, *arguments)

    def once() -> None:
        plan, flow = load(compile_query(QUERY))
        options = Options(
            once=True,
            files_per_epoch=files_per_epoch,
            checkpoint=str(root / "ck"),
            sources={name: str(root / name) for name in ("r", "names")},
            sinks={"n": str(root / "out")},
        )
        start(plan, flow, options, lambda report: None, spark)

    _minute(root, 2)
    _minute(root, 3)
    monkeypatch.setattr(Executor, "process", vanish)
    for _ in range(2):
        with pytest.raises(DiagnosticError, match=r"RQ431.*2\.jsonl"):
            once()
        assert _counts(root) == ([] if files_per_epoch is None else [0, 1])
    monkeypatch.setattr(Executor, "process", process)
    (root / "r" / "2.jsonl").write_text("")
    once()
    assert _counts(root) == [0, 1, 3]
