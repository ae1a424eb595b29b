"""The recent history of a run, which status, metrics and the live page show."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest
from attrs import evolve
from pyarrow import parquet as pq
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.lines.tuple_statistics import value_counts
from cedilla.runtime.connectors.formats.source import MAX_VALUES, Batch
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.checkpoint.journal import MAX_MEMBERS, EpochEntry, Journal, ReadAccent, rates
from cedilla.runtime.tools.inspect.status import read_status
from tests.kit.query import Query
from tests.kit.tiers import rest

QUERY = """
stream pumps(ts: long, pump: int in {1, 2, 3}, litres: double unit L) from json "pumps" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "out";
"""
ACCENT = {"$accent": "[[pump = 1, unit(litres, m3)]]"}


def entry(number: int, **more: object) -> EpochEntry:
    return EpochEntry(number, 10, 5, 0.5, {"plan": 0.1}, {"RQ311": 1}, (7, 70), **more)  # type: ignore[arg-type]


def pump_lines(first: int) -> list[dict[str, object]]:
    return [{"ts": first + n, "pump": 1 + n % 2, "litres": 2.0} for n in range(4)]


@pytest.mark.either_engine
@pytest.mark.parametrize("how", ["by the driver", "kept", "written"])
def test_an_epoch_counts_tuples_by_described_value_whoever_parses_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how != "by the driver":
        monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    if how == "written":
        monkeypatch.setattr(costs, "KEPT_PARSED", 0)
    query = Query(spark, tmp_path, QUERY)
    query.write("pumps", [*pump_lines(0), ACCENT, "{'not': json}", *pump_lines(10)])
    executor = query.process()
    executor.close()
    journal = json.loads((query.root / "checkpoint" / "journal.json").read_text())
    members = journal["members"]["pumps"]["pump"]  # type: ignore[index]
    assert {name: record[1] for name, record in members.items()} == {"1": 4, "2": 4}
    (accent,) = journal["accents"]  # type: ignore[misc]
    assert (accent["text"], accent["file"].rpartition("/")[2]) == (ACCENT["$accent"], "00001.jsonl")
    text = (tmp_path / "in" / "pumps" / "00001.jsonl").read_text()
    assert text[accent["place"] :].startswith('{"$accent"')
    (bucket,) = journal["epochs"]  # type: ignore[misc]
    assert (bucket["tuples"], bucket["rejected"], bucket["rows"] > 0) == (8, {"RQ301": 1}, True)


def journal_of(query: Query) -> dict[str, Any]:
    return json.loads((query.root / "checkpoint" / "journal.json").read_text())


def totals(query: Query, source: str = "pumps") -> dict[str, dict[str, int]]:
    """The tuples of each value of each attribute in the journal."""
    members = journal_of(query)["members"][source]
    return {name: {v: record[1] for v, record in of.items()} for name, of in members.items()}


TABLES = """
stream pumps(ts: long, pump: int in {1, 2, 3}, place?: string, on?: boolean) from parquet "pumps" punctuated on ts;
emit pumps to json "out";
"""


def written(query: Query, number: int, columns: dict[str, pa.Array], **options: Any) -> None:
    """A file of Parquet of the source."""
    folder = query.root / "in" / "pumps"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table(columns), path, **options)
    os.utime(path, (number, number))


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_values_in_parquet_are_counted_whatever_the_type_of_a_column(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    """A marker is no tuple, a column may be missing, and a file has several row groups."""
    query = Query(spark, tmp_path, TABLES)
    places = pa.array(["north", "south", None, "north"])
    written(query, 1, {"ts": pa.array(range(4)), "pump": pa.array([1, 2, 1, 1], pa.int8()), "place": places})
    more = {
        "ts": pa.array([5, 6, None]),
        "pump": pa.array([2, 9, None]),
        "place": places[:3].dictionary_encode(),
    }
    written(query, 2, {**more, "$punctuation": pa.array([None, None, "[ts < 7]"])}, row_group_size=1)
    written(query, 3, {"ts": pa.array([7], pa.int32()), "place": pa.array([b"s\xc3\xbcd"])})
    query.process(files_per_epoch).close()
    assert totals(query) == {"pump": {"1": 3, "2": 2, "9": 1}}


def test_texts_in_parquet_are_counted_and_columns_of_very_many_are_not(
    sail: SparkSession, tmp_path: Path
) -> None:
    text = """stream pumps(ts: long, name: string, place?: string) from parquet "pumps"; emit pumps to json "out";"""
    query = Query(sail, tmp_path, text)
    count = MAX_VALUES + 1
    names, places = pa.array(map(str, range(count))), pa.array(["süd", None, "north"] * (count // 3 + 1))
    written(query, 1, {"ts": pa.array(range(count)), "name": names, "place": places[:count]})
    query.process().close()
    assert totals(query)["place"] == {"süd": (count + 2) // 3, "north": count // 3}
    assert totals(query).get("name", {}) == {}


IDS = """
stream events(ts: long, id: string) from json "events" punctuated on ts;
emit events to json "out";
"""


@pytest.fixture
def counted_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each column, or piece of one, whose values are counted."""
    rows: list[int] = []
    count = pyarrow.compute.value_counts  # type: ignore[attr-defined]

    def noted(column: pa.ChunkedArray) -> pa.StructArray:
        rows.append(len(column))
        return count(column)

    monkeypatch.setattr(pyarrow.compute, "value_counts", noted)
    return rows


@pytest.mark.parametrize("how", ["by the driver", "kept", "written"])
def test_very_many_values_are_counted_once_in_a_run_and_not_to_the_end(
    sail: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    counted_rows: list[int],
    how: str,
) -> None:
    """What is read ahead is asked for before that is known, and is not read again."""
    if how != "by the driver":
        monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    if how == "written":
        monkeypatch.setattr(costs, "KEPT_PARSED", 0)
    reads, read = list[int](), JsonLines.read

    def noted(format_: JsonLines, *rest: Any) -> Batch:
        reads.append(len(rest[1]))
        return read(format_, *rest)

    monkeypatch.setattr(JsonLines, "read", noted)
    query = Query(sail, tmp_path, IDS)
    count = 3 * MAX_VALUES
    for number in range(5):
        query.write("events", [{"ts": number, "id": f"{number} {n}"} for n in range(count)])
    query.process(files_per_epoch=1).close()
    assert len(query.reports) == len(reads) == 5
    # The tasks of the second epoch have counted before the first is committed.
    assert counted_rows == [2 * MAX_VALUES] * (2 if how == "written" else 1)
    assert journal_of(query)["members"] == {}


def test_few_values_are_counted_in_pieces_that_double(counted_rows: list[int]) -> None:
    ids = pa.chunked_array([pa.array([f"{n % 7}" for n in range(70_000)]), pa.array([None, "0"])])
    assert value_counts(ids) == {"0": 10_001, **{str(n): 10_000 for n in range(1, 7)}}
    assert counted_rows == [20_000, 20_000, 30_002]
    rising = pa.chunked_array([pa.array([n // 4 for n in range(60_000)])])
    assert value_counts(rising) is None
    assert counted_rows[3:] == [20_000, 20_000, 20_000]


def test_nothing_is_counted_where_nobody_can_see_it(
    sail: SparkSession, tmp_path: Path, counted_rows: list[int]
) -> None:
    """The checkpoint of a run over data goes with the run."""
    rows = [{"ts": n, "id": str(n)} for n in range(10)]
    results = run(IDS, spark=sail, sources={"events": rows})
    assert results is not None
    assert len(results["events"]) == 10
    query = Query(sail, tmp_path, IDS)
    assert counted_rows == []
    query.write("events", rows)
    query.process().close()
    assert counted_rows == [10]


def test_a_journal_that_could_not_be_written_counts_nothing_more(tmp_path: Path) -> None:
    class Full(Files):
        def write(self, path: str, content: str | bytes, *, durable: bool = True) -> None:
            raise failure("RQ431", "no space is left")

    (tmp_path / "plan.json").touch()
    journal = Journal.open(Full(), str(tmp_path))
    assert journal.counts("pumps", "pump")
    journal.note(entry(0, members={"pumps": {"pump": {1: 1}}}))
    assert not journal.counts("pumps", "pump")


def test_an_attribute_of_very_many_values_has_no_record(tmp_path: Path) -> None:
    """Its old values would be silent for ever. The next run counts again."""
    (tmp_path / "plan.json").touch()
    journal = Journal.open(Files(), str(tmp_path), lambda: 0.0)
    journal.note(entry(0, members={"pumps": {"pump": {1: 1}, "id": {"a": 1}}}))
    journal.note(entry(1, members={"pumps": {"pump": {1: 1}, "id": None}}))
    assert (journal.counts("pumps", "pump"), journal.counts("pumps", "id")) == (True, False)
    journal.write()
    journal = Journal.open(Files(), str(tmp_path))
    assert [*journal.content["members"]["pumps"]] == ["pump"]
    assert journal.counts("pumps", "id")
    # Each epoch has few, and all of them since the last write are very many.
    for first in range(0, MAX_VALUES + 2000, 1000):
        many = dict.fromkeys(range(first, first + 1000), 1)
        journal.note(entry(2, members={"pumps": {"pump": many}}))
        journal._next = float("inf")
    assert not journal.counts("pumps", "pump")


def test_values_of_a_delta_table_are_counted(sail: SparkSession, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    query = Query(sail, tmp_path, QUERY.replace('json "pumps"', 'delta "pumps"'))
    home = str(tmp_path / "in" / "pumps")
    for first in (0, 10):
        rows = pump_lines(first)
        deltalake.write_deltalake(home, pa.Table.from_pylist(rows), mode="append")
    options = Options(once=True, sources={"pumps": home}, sinks={"flow": str(tmp_path / "out")})
    options = evolve(options, checkpoint=str(tmp_path / "checkpoint"))
    run(query.query, options, spark=sail)
    assert totals(query) == {"pump": {"1": 4, "2": 4}}
    deltalake.write_deltalake(home, pa.Table.from_pylist(pump_lines(20)), mode="append")
    assert read_status(str(tmp_path / "checkpoint")).backlog == {"pumps": 1}
    deltalake.DeltaTable(home).optimize.compact()
    assert read_status(str(tmp_path / "checkpoint")).backlog == {"pumps": 1}
    run(query.query, options, spark=sail)
    assert read_status(str(tmp_path / "checkpoint")).backlog == {"pumps": 0}


@pytest.mark.parametrize("how", ["by the driver", "kept", "written"])
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_file_that_a_marker_cuts_is_counted_once(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, form: str
) -> None:
    """The tuples before a bad marker count in the epoch that it ends, those after it once it is mended."""
    if how != "by the driver":
        monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    if how == "written":
        monkeypatch.setattr(costs, "KEPT_PARSED", 0)
    query = Query(sail, tmp_path, QUERY.replace('json "pumps"', f'{form} "pumps"'))
    bad = {"$accent": "[[pump = 1, alter(litres, y -> y * y)]]"}

    def write(marker: dict[str, str]) -> None:
        items = [*pump_lines(0), marker, *pump_lines(10)]
        if form == "json":
            query.write("pumps", items, "1.jsonl")
        else:
            names = ("ts", "pump", "litres", "$accent")
            written(query, 1, {name: pa.array([item.get(name) for item in items]) for name in names})

    write(bad)
    executor = query.executor()
    with pytest.raises(DiagnosticError):
        executor.process(0, query.files(executor))
    executor.close()
    assert totals(query) == {"pump": {"1": 2, "2": 2}}
    write(ACCENT)
    query.process().close()
    assert totals(query) == {"pump": {"1": 4, "2": 4}}


def test_values_of_a_renamed_attribute_are_counted_together(sail: SparkSession, tmp_path: Path) -> None:
    query = Query(sail, tmp_path, QUERY)
    renamed = [{"ts": 9, "id": 3, "litres": 1.0}]
    query.write("pumps", [*pump_lines(0), {"$accent": "[[rename(id, pump)]]"}, *renamed])
    query.process().close()
    members = json.loads((query.root / "checkpoint" / "journal.json").read_text())["members"]["pumps"]["pump"]  # type: ignore[index]
    assert {name: record[1] for name, record in members.items()} == {"1": 2, "2": 2, "3": 1}


@pytest.mark.rest
def test_a_journal_goes_on_after_a_restart_and_stays_small(tmp_path: Path) -> None:
    now = [1000.0]
    home = str(tmp_path)
    (tmp_path / "plan.json").touch()
    journal = Journal.open(Files(), home, lambda: now[0])
    accent = ReadAccent("pumps", "[[unit(litres, m3)]]", "1.jsonl", 0, True)
    warning = Diagnostic("RQ218", "warning", "twice")
    for number in range(1100):
        now[0] += 5
        more = range(2_000, 1_998 + MAX_MEMBERS) if number == 1099 else ()
        many = {"pumps": {"pump": {"a": 2, number: 1, **dict.fromkeys(more, 1)}}}
        journal.note(entry(number, accents=[accent], count=1, warnings=[warning], members=many))
    journal.write()
    journal = Journal.open(Files(), home, lambda: now[0])
    content = journal.content
    assert content["accents_read"] == 1100
    assert (len(content["accents"]), len(content["warnings"]), len(content["epochs"])) == (300, 50, 360)
    assert len(content["members"]["pumps"]["pump"]) == MAX_MEMBERS
    assert content["epochs"][-1] | {"start": 0} == {
        "start": 0,
        "epochs": 1,
        "tuples": 10,
        "written": 5,
        "seconds": 0.5,
        "slowest": 0.5,
        "phases": {"plan": 0.1},
        "rejected": {"RQ311": 1},
        "rows": 7,
        "bytes": 70,
    }
    assert (tmp_path / "journal.json").stat().st_size < 150_000 + 50 * MAX_MEMBERS


def test_the_last_epochs_are_written_while_a_run_waits(tmp_path: Path) -> None:
    now = [1000.0]
    (tmp_path / "plan.json").touch()
    journal = Journal.open(Files(), str(tmp_path), lambda: now[0])

    def epochs() -> int:
        journal.write_due()
        return Journal.open(Files(), str(tmp_path)).content["totals"]["epochs"]

    journal.note(entry(0))
    now[0] += 0.5
    journal.note(entry(1))
    assert epochs() == 1
    now[0] += 0.6
    assert epochs() == 2
    (tmp_path / "journal.json").unlink()
    assert epochs() == 0


def test_tuples_of_the_last_minute_come_from_two_counts() -> None:
    records = {"now": [119.0, 9, 1, 30, 60], "before": [59.0, 9, 0, 60, 0], "long ago": [1.0, 9, -5, 60, 60]}
    assert dict(rates(records, 90.0)) == {"now": 60.0, "before": 30.0, "long ago": 0.0}


def test_a_checkpoint_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    journal = Journal.open(Files(), str(tmp_path / "gone"))
    journal.note(entry(0))
    assert not (tmp_path / "gone").exists()


def test_a_damaged_journal_begins_again(tmp_path: Path) -> None:
    (tmp_path / "journal.json").write_text('{"version": 1, "epo')
    assert Journal.open(Files(), str(tmp_path)).content["epochs"] == []
