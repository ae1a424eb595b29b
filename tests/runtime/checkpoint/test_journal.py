"""The recent history of a run, which status, metrics and the live page show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.checkpoint.journal import MAX_MEMBERS, EpochEntry, Journal, ReadAccent, rates
from cedilla.runtime.engines import costs
from cedilla.runtime.storage.files import Files
from tests.kit.query import Query

QUERY = """
stream pumps(ts: long, pump: int in {1, 2, 3}, litres: double unit L) from json "pumps" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "out";
"""
ACCENT = {"$accent": "[[pump = 1, unit(litres, m3)]]"}


def entry(number: int, **more: object) -> EpochEntry:
    return EpochEntry(number, 10, 5, 0.5, {"plan": 0.1}, {"RQ311": 1}, (7, 70), **more)  # type: ignore[arg-type]


def stored(query: Query) -> dict[str, object]:
    return json.loads((query.root / "checkpoint" / "journal.json").read_text())


def lines(first: int) -> list[dict[str, object]]:
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
    query.write("pumps", [*lines(0), ACCENT, "{'not': json}", *lines(10)])
    executor = query.process()
    executor.close()
    journal = stored(query)
    members = journal["members"]["pumps"]["pump"]  # type: ignore[index]
    assert {name: record[1] for name, record in members.items()} == {"1": 4, "2": 4}
    (accent,) = journal["accents"]  # type: ignore[misc]
    assert (accent["text"], accent["file"].rpartition("/")[2]) == (ACCENT["$accent"], "00001.jsonl")
    text = (tmp_path / "in" / "pumps" / "00001.jsonl").read_text()
    assert text[accent["place"] :].startswith('{"$accent"')
    (bucket,) = journal["epochs"]  # type: ignore[misc]
    assert (bucket["tuples"], bucket["rejected"], bucket["rows"] > 0) == (8, {"RQ301": 1}, True)


def test_values_of_a_renamed_attribute_are_counted_together(sail: SparkSession, tmp_path: Path) -> None:
    query = Query(sail, tmp_path, QUERY)
    renamed = [{"ts": 9, "id": 3, "litres": 1.0}]
    query.write("pumps", [*lines(0), {"$accent": "[[rename(id, pump)]]"}, *renamed])
    query.process().close()
    members = stored(query)["members"]["pumps"]["pump"]  # type: ignore[index]
    assert {name: record[1] for name, record in members.items()} == {"1": 2, "2": 2, "3": 1}


def test_a_journal_goes_on_after_a_restart_and_stays_small(tmp_path: Path) -> None:
    now = [1000.0]
    home = str(tmp_path)
    (tmp_path / "plan.json").touch()
    journal = Journal.open(Files(), home, lambda: now[0])
    accent = ReadAccent("pumps", "[[unit(litres, m3)]]", "1.jsonl", 0, True)
    warning = Diagnostic("RQ218", "warning", "twice")
    for number in range(2000):
        now[0] += 5
        many = {"pumps": {"pump": {number: 1, "a": 2}}}
        journal.note(entry(number, accents=[accent], count=1, warnings=[warning], members=many))
    journal.write()
    journal = Journal.open(Files(), home, lambda: now[0])
    content = journal.content
    assert content["accents_read"] == 2000
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
    assert (tmp_path / "journal.json").stat().st_size < 200_000


def test_tuples_of_the_last_minute_come_from_two_counts() -> None:
    records = {"now": [119.0, 9, 1, 30, 60], "before": [59.0, 9, 0, 60, 0], "long ago": [1.0, 9, -5, 60, 60]}
    assert dict(rates(records, 90.0)) == {"now": 60.0, "before": 30.0, "long ago": 0.0}


def test_a_checkpoint_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    journal = Journal.open(Files(), str(tmp_path / "gone"))
    journal.note(entry(0))
    assert not (tmp_path / "gone").exists()


def test_a_damaged_journal_begins_again_and_one_in_a_store_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "journal.json").write_text('{"version": 1, "epo')
    assert Journal.open(Files(), str(tmp_path)).content["epochs"] == []
    assert Journal.open(Files(), "s3://bucket/checkpoint").path is None
