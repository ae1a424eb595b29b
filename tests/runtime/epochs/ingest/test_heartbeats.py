"""A heartbeat closes at the end of each file: a tuple is late by the files before its own, in every cut into epochs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.regions import PARTITION
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.sources import wall_clock
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from tests.kit.command import cedilla
from tests.kit.errors import errors_of
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

QUERY = """
stream r(TIME, v: int) from json "in" heartbeat ts delay DELAY;
emit r to json "out";
"""


def query(type_: str = "long", delay: str = "2") -> str:
    return QUERY.replace("TIME", f"ts: {type_}").replace("DELAY", delay)


def both(run: Query, files: Sequence[Sequence[Item]], files_per_epoch: int | None) -> list[Any]:
    """The values that pass, and the lines that are set aside, by an engine as by the reference."""
    for items in files:
        run.write("r", items)
    rows, rejections = run.agreed("r", files_per_epoch)
    return [sorted(row["v"] for row in rows), [(r.place, r.code) for r in rejections]]


LATE = [
    [{"ts": 10, "v": 1}, {"ts": 3, "v": 2}],
    [{"ts": 7, "v": 3}, {"ts": 8, "v": 4}, {"ts": 20, "v": 5}],
    [{"ts": 17, "v": 6}, {"ts": 9, "v": 7}, {"ts": 30, "v": 8}, {"v": 9}],
    [{"ts": 28, "v": 10}, {"ts": 18, "v": 11}],
]


@pytest.mark.parametrize("parsed", [True, False], ids=["driver", "tasks"])
@pytest.mark.parametrize("files_per_epoch", [1, None, *tiered([2, 3], 0)])
def test_a_tuple_is_late_by_the_files_before_its_own(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files_per_epoch: int | None,
    parsed: bool,
) -> None:
    if not parsed:
        monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    actual = both(Query(spark, tmp_path, query()), LATE, files_per_epoch)
    late = [("00002.jsonl:1", "RQ305"), ("00003.jsonl:1", "RQ305"), ("00003.jsonl:2", "RQ305")]
    missing, last = ("00003.jsonl:4", "RQ302"), ("00004.jsonl:2", "RQ305")
    assert actual == [[1, 2, 4, 5, 8, 10], [*late, missing, last]]


TIMES: dict[str, tuple[str, str, list[Any]]] = {
    "timestamp": (
        "timestamp",
        "30 seconds",
        ["1970-01-01T00:01:00Z", "1970-01-01T00:00:30Z", "1970-01-01T00:00:29.999999Z"],
    ),
    "double": ("double", "0.5", [2.5, 2, 1.9999999]),
    "infinite": ("double", "0.5", ["Infinity", "NaN", 2.5, 2, "-Infinity"]),
    "decimal": ("decimal(5, 2)", "0.25", [2.25, 2, 1.99]),
}


@pytest.mark.parametrize("kind", [*tiered(TIMES, 2)])
def test_every_kind_of_time_beats_alike(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The first value comes in the first file, the last one late in the second, whatever shares the epoch."""
    type_, delay, times = TIMES[kind]
    items: list[Item] = [{"ts": time, "v": number} for number, time in enumerate(times)]
    first = len(items) - 2
    results = [
        both(Query(spark, tmp_path / str(n), query(type_, delay)), [items[:first], items[first:]], n)
        for n in (1, 2)
    ]
    late = [(f"00002.jsonl:{len(items) - first}", "RQ305")]
    assert results == [[[*range(len(items) - 1)], late]] * 2


GROWS = """
stream r(ts: long, k: int in {1, 2}, v: int) from json "in" heartbeat ts delay 2;
emit r to json "out";
"""


def test_a_file_that_an_epoch_cuts_closes_at_its_end(spark: SparkSession, tmp_path: Path) -> None:
    """A domain that grows begins an epoch in the middle of a file. The time before it counts at the file's end."""
    run = Query(spark, tmp_path, GROWS)
    run.write(
        "r", [{"ts": 10, "k": 1, "v": 1}, {"ts": 2, "k": 1, "v": 2}, {"$accent": "[[grow(k, {3})]]"}, "no"]
    )
    executor = run.executor()
    run.go_on(executor, 0)
    assert executor.last.sources["r"].reached is None  # the file is read
    assert len(run.reports) == 2
    run.write("r", [{"ts": 3, "k": 3, "v": 3}, {"ts": 8, "k": 1, "v": 4}])
    run.go_on(run.executor(), 1)
    assert sorted(row["v"] for row in run.output("r") if "v" in row) == [1, 2, 4]
    assert [(r.place, r.code) for r in run.rejections()] == [
        ("00001.jsonl:4", "RQ301"),
        ("00002.jsonl:1", "RQ305"),
    ]
    assert run.simulate().codes == ["RQ301", "RQ305"]


def test_the_greatest_time_of_half_a_file_outlives_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, GROWS)
    run.write("r", [{"ts": 10, "k": 1, "v": 1}, {"$accent": "[[grow(k, {3})]]"}, {"ts": 1, "k": 3, "v": 2}])
    run.write("r", [{"ts": 7, "k": 3, "v": 3}, {"ts": 9, "k": 3, "v": 4}])
    executor = run.executor()

    def stop() -> bool:
        return True

    with pytest.raises(KeyboardInterrupt):
        executor.process(0, run.files(executor), stop)
    assert executor.last.sources["r"].reached == 10
    assert executor.last.sources["r"].closed is False
    again = run.executor()
    assert again.last.sources["r"].reached == 10
    again.process(0, run.files(again))
    assert sorted(row["v"] for row in run.output("r") if "v" in row) == [1, 2, 4]
    assert [(r.place, r.code) for r in run.rejections()] == [("00002.jsonl:1", "RQ305")]


def test_nothing_is_counted_twice_unless_a_file_has_late_tuples(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics of what the driver has parsed give the times of files; no job asks for them."""
    counted, counts = intake.counted, list[int]()

    def watched(*of: Any) -> intake.ReadCounts:
        counts.append(len(of))
        return counted(*of)

    monkeypatch.setattr(intake, "counted", watched)
    run = Query(spark, tmp_path, query())
    for number in range(4):
        run.write("r", [{"ts": 10 * number + n, "v": n} for n in range(5)])
    executor = run.executor()
    run.go_on(executor, 0)
    assert counts == []
    run.write("r", [{"ts": 60, "v": 1}])
    run.write("r", [{"ts": 50, "v": 2}, {"ts": 70, "v": 3}])
    run.go_on(executor, 1)
    assert counts == [2]


def test_a_partition_is_late_by_its_own_files() -> None:
    """The reference closes a partition at the end of a fetched batch, which is a file."""
    text = query().replace('json "in"', 'kafka "host:9092/r"')
    plan = compile_query(text).plan
    reference = Reference(evolve(plan, sources=[evolve(plan.sources[0], partitions=2)]))
    items: list[Item] = [
        *({"ts": ts, "v": ts, PARTITION: partition} for partition, ts in ((0, 100), (1, 50), (0, 97))),
        {"$end": True},
        *({"ts": ts, "v": ts, PARTITION: partition} for partition, ts in ((0, 97), (1, 97), (1, 47))),
    ]
    reference.step([("r", item) for item in items])
    assert [(code, item["ts"], item[PARTITION]) for _, code, item in reference.rejected] == [
        ("RQ305", 97, 0),
        ("RQ305", 47, 1),
    ]


def test_late_tuples_name_the_time_that_has_moved_the_heartbeat(spark: SparkSession, tmp_path: Path) -> None:
    """A clock in the future makes all later tuples late, in every later run; a normal disorder is not worth a note."""
    run = Query(spark, tmp_path, query("timestamp", "10 seconds"))
    first = ["2024-01-01T00:00:05Z", "2024-01-01T00:00:50Z"]
    wrong = ["2038-01-19T03:14:07Z", "2024-01-01T00:01:10Z"]
    for number, times in enumerate([first, wrong, ["2024-01-01T00:01:20Z", "2024-01-01T00:02:30Z"]]):
        run.write("r", [{"ts": time, "v": number} for time in times])
    run.run(files_per_epoch=1)
    run.write("r", [{"ts": "2024-01-01T00:04:00Z", "v": 3}])
    run.run()
    notes = [[note for note in report.notes if "greatest" in note] for report in run.reports]
    greatest = f'the greatest `ts` is "2038-01-19T03:14:07Z", in file:{tmp_path}/in/r/00002.jsonl'
    named = f"{greatest}:1, and"
    assert [*map(len, notes)] == [0, 0, 1, 1], notes
    assert notes[2][0].startswith("2 tuples are late (RQ305)")
    assert f"{named} 2 are late since" in notes[2][0]
    assert notes[3][0].startswith("1 tuple is late (RQ305)")
    assert f"{named} 3 are late since" in notes[3][0], "the other run counts on"
    assert "`within 1 day of now` after its delay, or a domain" in notes[-1][0]
    status = cedilla("status", str(tmp_path / "checkpoint")).output
    assert f'closed: ts < "2038-01-19T03:13:57Z"; {greatest}, and 3 are late since' in status


def test_a_run_that_ends_by_late_tuples_names_it_too(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, f"set late = abort; {query()}")
    for time in (10, 1):
        run.write("r", [{"ts": time, "v": 1}])
    (error,) = errors_of(lambda: run.process(files_per_epoch=1))
    assert "the greatest `ts` is 10, in " in error.notes[-1]


@pytest.mark.parametrize("kind", [*tiered(["decimal(20, 3)", "double", "long"], 1)])
def test_the_line_of_the_greatest_time_is_found_for_every_kind_of_time(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Late tuples of its own file come before it, and do not count as late since."""
    run = Query(spark, tmp_path, query(kind, "2"))
    for times in ([10], [3, 11, 1000000, 12], [13, 14, 15, 16]):
        run.write("r", [{"ts": time, "v": 1} for time in times])
    run.run()
    (note,) = (note for report in run.reports for note in report.notes if "tuples are late" in note)
    assert "00002.jsonl:3, and 4 are late since; if a clock" in note
    assert note.startswith("5 tuples are late")


def test_a_greatest_time_whose_file_is_gone_has_no_line(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, query())
    path = run.write("r", [{"ts": 1000, "v": 1}])
    run.run()
    path.unlink()
    run.write("r", [{"ts": 1, "v": 1}])
    run.run()
    assert any(f"in/r/{path.name}, and 1 is late since" in note for note in run.reports[-1].notes)


NOW = 1_704_067_200_000_000  # 2024-01-01
GUARDED = """
stream r(ts: timestamp, v: int) from json "in" heartbeat ts delay 10 seconds within 1 day of now;
emit r to json "out";
"""
AHEAD = [
    [{"ts": "2023-12-31T23:00:00Z", "v": 1}, {"ts": "2024-01-02T00:00:00Z", "v": 2}],
    [{"ts": "2024-01-02T00:00:00.000001Z", "v": 3}, {"ts": "2024-01-02T00:00:00Z", "v": 4}],
    [{"ts": "2038-01-19T03:14:07Z", "v": 5}],
    [{"ts": "2024-01-01T23:59:50Z", "v": 6}, {"ts": "2024-01-01T23:59:49Z", "v": 7}],
]


@pytest.mark.parametrize("parsed", [True, *tiered([False], 0)], ids=["driver", "tasks"])
@pytest.mark.parametrize("files_per_epoch", [1, *tiered([None, 2], 0)])
def test_a_time_ahead_of_the_clock_does_not_beat(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files_per_epoch: int | None,
    parsed: bool,
) -> None:
    """It is set aside; a tuple that is as far ahead as `within` admits counts. Later ones are late by that one only."""
    if not parsed:
        monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    monkeypatch.setattr(wall_clock, "now", lambda: NOW)
    run = Query(spark, tmp_path, GUARDED)
    assert both(run, AHEAD, files_per_epoch) == [
        [1, 2, 4, 6],
        [("00002.jsonl:1", "RQ368"), ("00003.jsonl:1", "RQ368"), ("00004.jsonl:2", "RQ305")],
    ]


def test_a_replay_takes_what_is_no_longer_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall_clock, "now", lambda: NOW * 2)
    run = Query.without_engine(tmp_path, GUARDED)
    for items in AHEAD:
        run.write("r", items)
    assert run.simulate().codes == ["RQ305"] * 2


def test_validate_judges_by_the_clock_of_each_tuple(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer lives for long: what is ahead today is not tomorrow."""
    monkeypatch.setattr(wall_clock, "now", lambda: NOW)
    checker = StreamChecker(Schema(compile_query(GUARDED).plan.sources[0], declared=True))
    line = Line(json.dumps(AHEAD[1][0]), "1")
    assert [d.code for d in checker.take(line)[1]] == ["RQ368"]
    monkeypatch.setattr(wall_clock, "now", lambda: NOW + 1)
    assert checker.take(line)[1] == []
