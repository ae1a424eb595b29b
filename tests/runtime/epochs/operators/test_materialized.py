"""Rows that several jobs of an epoch read, on Sail, which keeps none: the partial results of aggregates are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.readwriter import DataFrameWriter

from cedilla.runtime.connectors.formats.lines.written_tuples import Group, Tuples
from cedilla.runtime.engines.spark import costs
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.kit.tiers import rest

HOT = """
stream r(ts: long, k: int, t: double) from json "r" punctuated on ts, k;
counts := aggregate[count() as n by k, wid](window[10 every 5 on ts as wid](select[t > 0](r)));
most := aggregate[max(n) as n by wid](counts);
hot := counts semi join most on wid, n;
emit hot to json "hot";
"""
"""Like query 5 of NEXMark: closed keys pass before their windows, so that all three operators have state."""


@pytest.fixture
def run(sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Query:
    """Four files, an epoch each, read by tasks. Tuples of the second are all left out by the select."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    run = Query(sail, tmp_path, HOT)
    for number in range(4):
        rows: list[Item | str] = [
            {"ts": number * 10 + i, "k": number * 3 + i % 3, "t": 0.0 if number == 1 else 1.0}
            for i in range(10)
        ]
        closed = [f"[ts < {number * 10 + 8}]", f"[k < {number * 3 + 1}]"]
        run.write("r", [*rows, *({"$punctuation": pattern} for pattern in closed)])
    return run


def hot(run: Query) -> list[str]:
    return sorted(map(str, decode(run.output("hot"))))


def test_all_jobs_read_what_one_has_computed(run: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with results is parsed once and read once. The results are the reference's, and nothing of it is left."""
    parsed, read = Counter[str](), Counter[str]()
    parse, of_part = Tuples.parsed, Tuples.of_part

    def watch_parser(tuples: Tuples, group: Group) -> Iterator[pa.RecordBatch]:
        parsed.update(Path(part.path).stem for part in group)
        return parse(tuples, group)

    def watch_reader(tuples: Tuples, group: Group, number: int) -> Iterator[pa.RecordBatch]:
        read.update(Path(part.path).stem for part in group)
        return of_part(tuples, group, number)

    monkeypatch.setattr(Tuples, "parsed", watch_parser)
    monkeypatch.setattr(Tuples, "of_part", watch_reader)
    monkeypatch.setattr(costs, "MATERIALIZED", 0)
    run.process(files_per_epoch=1)
    assert {count[f"0000{number}"] for number in (1, 3, 4) for count in (parsed, read)} == {1}
    assert len(hot(run)) > 4
    assert hot(run) == sorted(map(str, decode(run.simulate().output("hot"))))
    assert not [*run.root.rglob("scratch/**/*.parquet")]


def test_new_keys_of_distinct_are_looked_up_in_a_large_state_once(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output and state read them from a file; each would read the input and the whole state, too."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    monkeypatch.setattr(costs, "LARGE_STATE", 0)
    run = Query(
        sail, tmp_path, 'stream r(k: int) from json "r";\nout := distinct(r);\nemit out to json "out";\n'
    )
    for number in range(4):
        run.write("r", [{"k": number + k} for k in range(5)])
    read, of_part = Counter[str](), Tuples.of_part

    def watch_reader(tuples: Tuples, group: Group, number: int) -> Iterator[pa.RecordBatch]:
        read.update(Path(part.path).stem for part in group)
        return of_part(tuples, group, number)

    monkeypatch.setattr(Tuples, "of_part", watch_reader)
    run.process(files_per_epoch=1)
    # By the two joins of one job; the first epoch has no state, and two jobs.
    assert dict(read) == {f"0000{number}": 2 for number in (1, 2, 3, 4)}
    assert sorted(row["k"] for row in decode(run.output("out"))) == [*range(8)]


def test_what_two_operators_read_of_an_aggregate_is_computed_once(
    run: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partial results become files for its state and its output, and its output for both operators that read it."""
    folders = set[str]()
    parquet = DataFrameWriter.parquet

    def watched(writer: DataFrameWriter, path: str) -> None:
        folders.add(path.partition("/rows/")[2])
        parquet(writer, path)

    monkeypatch.setattr(DataFrameWriter, "parquet", watched)
    monkeypatch.setattr(costs, "MATERIALIZED", 0)
    run.process(files_per_epoch=1)
    assert folders - {""} == {"counts", "counts.passed", "most"}
    assert hot(run) == sorted(map(str, decode(run.simulate().output("hot"))))


def test_a_small_epoch_writes_nothing_for_its_jobs(run: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is Sail asked to keep rows: each request would wait for its busy threads."""
    paths: list[str] = []
    parquet = DataFrameWriter.parquet

    def watched(writer: DataFrameWriter, path: str) -> None:
        paths.append(path)
        parquet(writer, path)

    monkeypatch.setattr(DataFrameWriter, "parquet", watched)
    for request in ("persist", "unpersist"):
        monkeypatch.setattr(DataFrame, request, None)
    run.process(files_per_epoch=1)
    assert hot(run) == sorted(map(str, decode(run.simulate().output("hot"))))
    assert all("/state/" in path for path in paths)


def _chain(run: Query, joins: int) -> None:
    """A stream that is joined with others, one after the other, and two epochs of each."""
    streams = [
        f'stream r{n}(k: long, v{n}: double) from json "r{n}" punctuated on k;' for n in range(joins + 1)
    ]
    chain = [f"j{n} := {f'j{n - 1}' if n > 1 else 'r0'} join r{n} on k;" for n in range(1, joins + 1)]
    run.query = "\n".join([*streams, *chain, f'emit j{joins} to json "o";'])
    for number in range(joins + 1):
        for epoch in range(2):
            tuples: list[Item | str] = [
                {"k": k, f"v{number}": k + 0.5} for k in range(3 * epoch, 3 * epoch + 3)
            ]
            run.write(f"r{number}", [*tuples, {"$punctuation": f"[k < {3 * epoch}]"}], f"{epoch}.jsonl")


@pytest.mark.parametrize("joins", [7, rest(14)])
def test_jobs_of_a_deep_plan_compute_a_few_operators_each(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joins: int
) -> None:
    """Each join has a job that stores what comes to it. What three joins give is written, also in a small epoch."""
    run = Query(sail, tmp_path, "")
    _chain(run, joins)
    names: list[str] = []
    parquet = DataFrameWriter.parquet

    def watched(writer: DataFrameWriter, path: str) -> None:
        if "/rows/" in path:
            names.append(Path(path).name)
        parquet(writer, path)

    monkeypatch.setattr(DataFrameWriter, "parquet", watched)
    run.process(files_per_epoch=1)
    below = [f"j{n}.passed" for n in range(costs.DEEP, joins, costs.DEEP)]
    assert names == below * 2
    emit = f"j{joins}"
    assert len(run.rows(emit)) == 6
    assert run.rows(emit) == run.simulate().rows(emit)
    assert not [*tmp_path.rglob("scratch/*/*")]


def test_rows_that_cannot_be_written_end_the_query_behind_the_epoch_before(
    run: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new run goes on from there, in other epochs."""
    monkeypatch.setattr(costs, "MATERIALIZED", 0)
    parquet = DataFrameWriter.parquet

    def broken(writer: DataFrameWriter, path: str) -> None:
        parquet(writer, path)
        if "scratch" in path and "epoch=000000000002" in path:
            raise OSError("no space left on device")

    with monkeypatch.context() as full:
        full.setattr(DataFrameWriter, "parquet", broken)
        with pytest.raises(OSError, match="no space left"):
            run.process(files_per_epoch=1)
    assert [report.number for report in run.reports] == [0, 1]
    assert not [*run.root.rglob("scratch/**/*.parquet")]
    run.process()
    assert hot(run) == sorted(map(str, decode(run.simulate().output("hot"))))
