"""Outputs that are updated (`as latest by`): rows of open groups that changed, beside the output stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import cedilla
from cedilla.compiler import compile_query
from cedilla.compiler.explain.explanation import explain_json, explain_text
from cedilla.runtime.connectors.formats.sinks.delta import DeltaSink
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.records.marker_files import is_provisional_file
from cedilla.runtime.hosts.cli.main import main
from cedilla.runtime.hosts.embedding.rewriting import rewritten
from cedilla.runtime.tools.inspect.newest_rows import newest_rows
from cedilla.runtime.tools.inspect.run_model import RunModel
from tests.kit.errors import code_of, error_of
from tests.kit.lines import read_lines
from tests.kit.query import Query
from tests.kit.stream import Item

pytestmark = pytest.mark.either_engine

QUERY = """
stream r(ts: long, k: string, x: double unit kWh) from json "in" punctuated on ts;
hours := window[10 on ts as hour](r);
s := aggregate[sum(x) as x, count() as n by hour, k](hours);
emit s LATEST to json "out";
"""
LATEST = "as latest by hour, k"
UPDATED = QUERY.replace("LATEST", LATEST)
MWH = {"$accent": "[[unit(x, MWh)]]"}


def row(ts: int, k: str, x: float) -> Item:
    return {"ts": ts, "k": k, "x": x}


def closed(ts: int) -> Item:
    return {"$punctuation": f"[ts < {ts}]"}


def stream(run: Query, emit: str = "s") -> list[list[Item]]:
    """The output of each epoch, without its provisional rows."""
    return [
        read_lines(*sorted(file for file in epoch.iterdir() if not is_provisional_file(str(file))))
        for epoch in epochs(run, emit)
    ]


def provisional(run: Query, emit: str = "s") -> list[list[Item]]:
    """The provisional rows of each epoch, in an order."""
    return [
        sorted(read_lines(*(file for file in epoch.iterdir() if is_provisional_file(str(file)))), key=str)
        for epoch in epochs(run, emit)
    ]


def epochs(run: Query, emit: str) -> list[Path]:
    return sorted((run.root / "out" / emit).glob("epoch=*"))


def marked(**values: Any) -> Item:
    return {"$provisional": True, **values}


def test_rows_of_open_groups_that_changed_come_with_each_epoch(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, UPDATED)
    run.write("r", [row(1, "a", 1.0), row(2, "b", 2.0), row(12, "b", 3.0), closed(10)])
    run.write("r", [row(13, "b", 1.0), row(22, "a", 2.0)])
    run.write("r", [row(23, "a", 2.0), closed(20)])
    run.process(files_per_epoch=1)
    assert provisional(run) == [
        [marked(hour=1, k="b", x=3.0, n=1)],
        [marked(hour=1, k="b", x=4.0, n=2), marked(hour=2, k="a", x=2.0, n=1)],
        [marked(hour=2, k="a", x=4.0, n=2)],
    ]
    assert stream(run)[2] == [{"hour": 1, "k": "b", "x": 4.0, "n": 2}, {"$punctuation": "[hour < 2]"}]
    assert [report.written for report in run.reports] == [{"s": 2}, {"s": 0}, {"s": 1}]
    reading = cedilla.read(tmp_path / "out" / "s", latest=["hour", "k"])
    rows = sorted(reading.rows(), key=lambda item: (item["hour"], item["k"]))
    assert rows[2:] == [{"hour": 1, "k": "b", "x": 4.0, "n": 2}, marked(hour=2, k="a", x=4.0, n=2)]
    assert reading.pandas()["$provisional"].sum() == 1


def test_the_stream_is_that_of_the_same_query_without(spark: SparkSession, tmp_path: Path) -> None:
    """A query that reads the output sees no provisional row either."""
    with_rows = Query(spark, tmp_path / "a", UPDATED)
    without = Query(spark, tmp_path / "b", QUERY.replace("LATEST", ""))
    for run in (with_rows, without):
        run.write("r", [row(1, "a", 1.0), row(12, "b", 3.0), MWH, row(12, "b", 3.0), closed(10)])
        run.write("r", [row(13, "b", 1.0), closed(20)])
        run.process(files_per_epoch=1)
    assert stream(with_rows) == stream(without)
    assert list(cedilla.read(tmp_path / "a" / "out" / "s").rows()) == list(
        cedilla.read(tmp_path / "b" / "out" / "s").rows()
    )
    reader = 'stream s(hour: long, k: string, x: double, n: long) from json "in"; emit s to json "out";'
    (tmp_path / "c" / "in").mkdir(parents=True)
    (tmp_path / "a" / "out" / "s").rename(tmp_path / "c" / "in" / "s")
    third = Query(spark, tmp_path / "c", reader)
    third.process()
    assert third.quarantine("s") == []
    assert [item["n"] for item in third.output("s") if "n" in item] == [1, 3]


def test_a_unit_changes_the_next_row_and_never_the_key(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that are out stay as they are: a reader decodes them by the accents before them."""
    run = Query(spark, tmp_path, QUERY.replace("k: string", "k: long unit m").replace("LATEST", LATEST))
    alter = {"$accent": "[[unit(k, km)]]"}
    run.write("r", [{"ts": 1, "k": 1000, "x": 1.0}, MWH, alter])
    run.write("r", [{"ts": 2, "k": 1, "x": 1.0}])
    run.process(files_per_epoch=1)
    assert [rows for rows in provisional(run) if rows] == [
        [marked(hour=0, k=1000, x=1.0, n=1)],
        [marked(hour=0, k=1000, x=1.001, n=2)],
    ]
    assert [item for items in stream(run) for item in items] == [
        {"$accent": "[[alter(x, y -> y / 1000, unit MWh)]]"},
        {"$accent": "[[alter(k, y -> y)]]"},  # it may have fractions now, in its unit
    ]
    (last,) = cedilla.read(tmp_path / "out" / "s", latest=["hour", "k"]).rows()
    assert last == marked(hour=0, k=1000, x=1001.0, n=2)


def test_attributes_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    text = """
stream r(ts: long, k: string, x?: double) from json "in" punctuated on ts;
s := aggregate[max by k except ts](r);
emit s as latest by k to json "out";
"""
    run = Query(spark, tmp_path, text)
    run.write("r", [row(1, "a", 1.0), {"$accent": "[[+(p: double)]]"}, {**row(2, "a", 2.0), "p": 5.0}])
    run.write("r", [{"$accent": "[[-(x)]]"}, {"ts": 3, "k": "a", "p": 4.0}])
    go_on(run, 0)
    run.write("r", [{"ts": 4, "k": "a", "p": 7.0}, {"ts": 4, "k": "b", "p": 7.0}])
    go_on(run, 1)
    assert provisional(run) == [
        [marked(k="a", x=1.0)],
        [marked(k="a", x=2.0, p=5.0)],
        [marked(k="a", x=2.0, p=5.0)],
        [marked(k="a", x=2.0, p=7.0), marked(k="b", p=7.0)],
    ]
    run.write("r", [{"$accent": "[[-(k)]]"}])
    assert code_of(lambda: go_on(run, 2)) == "RQ209"


def go_on(run: Query, batch: int) -> None:
    """Another process takes what has come since."""
    executor = run.executor(files_per_epoch=1)
    try:
        run.go_on(executor, batch)
    finally:
        executor.close()


def test_projections_names_and_conditions_on_the_group_follow(spark: SparkSession, tmp_path: Path) -> None:
    """An attribute of the key may be computed from the group, and an output may have a unit of its own."""
    text = """
stream r(ts: long, k: string, x: double unit kWh) from json "in" punctuated on ts;
s := aggregate[sum(x) - min(x) as x by hour, k](window[10 on ts as hour](r));
few := select[k != "no" and from >= 0](project[hour as h, hour * 10 as from, k, x](s));
emit rename[k as name](few) as latest by h, name, from to json "out" with x in MWh;
"""
    run = Query(spark, tmp_path, text)
    (name,) = [emit.name for emit in compile_query(text).plan.emits]
    run.write("r", [row(1, "a", 1.0), row(2, "a", 2000.0), row(12, "no", 3.0)])
    run.process()
    expected = marked(**{"h": 0, "from": 0, "name": "a", "x": 2.0})
    assert provisional(run, name) == [[expected]]


def test_a_count_window_shows_what_it_has_so_far(spark: SparkSession, tmp_path: Path) -> None:
    text = """
stream r(ts: long, k: string, x: double) from json "in";
s := aggregate[sum(x) as x by w, k](window[3 rows per k as w](r));
emit s as latest by w, k to json "out";
"""
    run = Query(spark, tmp_path, text)
    run.write("r", [row(1, "a", 1.0), row(2, "a", 1.0)])
    run.write("r", [row(3, "a", 1.0), row(4, "b", 1.0)])
    run.process(files_per_epoch=1)
    assert provisional(run) == [[marked(w=0, k="a", x=2.0)], [marked(w=0, k="b", x=1.0)]]
    assert stream(run) == [[], [{"w": 0, "k": "a", "x": 3.0}]]


def test_histograms_are_shown_too(spark: SparkSession, tmp_path: Path) -> None:
    text = """
stream r(ts: long, k: string, x: double) from json "in";
s := aggregate[median(x) as x by k](r);
emit s as latest by k to json "out";
"""
    run = Query(spark, tmp_path, text)
    run.write("r", [row(1, "a", 1.0), row(2, "a", 3.0), row(2, "b", 3.0)])
    run.write("r", [row(3, "a", 9.0)])
    run.process(files_per_epoch=1)
    assert provisional(run)[1] == [marked(k="a", x=3.0)]


def test_only_groups_that_changed_are_written(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, UPDATED)
    run.write("r", [row(1, f"k{number}", 1.0) for number in range(500)])
    for ts in (2, 3, 4):
        run.write("r", [row(ts, "k7", 1.0), row(ts, "new", 1.0)])
    run.write("r", [closed(1)])
    run.process(files_per_epoch=1)
    assert [len(rows) for rows in provisional(run)] == [500, 2, 2, 2, 0]
    assert [item["n"] for item in provisional(run)[3]] == [4, 3]


def test_without_the_clause_no_output_has_provisional_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two outputs of one aggregate, of which one is updated: the other stages nothing more."""
    staged: list[str] = []
    stage = JsonLinesSink.stage_provisional

    def counts(sink: JsonLinesSink, *rows: Any) -> None:
        staged.append(sink._path)
        stage(sink, *rows)

    monkeypatch.setattr(JsonLinesSink, "stage_provisional", counts)
    run = Query(spark, tmp_path, UPDATED + 'emit s to json "other";')
    run.write("r", [row(1, "a", 1.0)])
    run.process()
    assert [Path(path).name for path in staged] == ["s"]
    assert not (tmp_path / "out" / "s_2").exists()


@pytest.mark.parametrize("step", ["stage_provisional", "publish"])
def test_an_epoch_that_dies_is_written_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Before the commit its rows are forgotten, after it they are published by the next run."""
    run = Query(spark, tmp_path, UPDATED)
    run.write("r", [row(1, "a", 1.0)])
    go_on(run, 0)

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    run.write("r", [row(2, "a", 1.0)])
    with monkeypatch.context() as patch:
        patch.setattr(JsonLinesSink, step, dies)
        with pytest.raises(KeyboardInterrupt):
            go_on(run, 1)
    go_on(run, 1)
    run.write("r", [row(3, "a", 1.0)])
    go_on(run, 2)
    assert provisional(run) == [[marked(hour=0, k="a", x=float(n), n=n)] for n in (1, 2, 3)]


def test_an_edit_adds_the_clause_and_takes_it_away_with_a_new_checkpoint_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, QUERY.replace("LATEST", ""))
    run.write("r", [row(1, "a", 1.0), closed(1)])
    go_on(run, 0)
    run.query = UPDATED
    run.write("r", [row(2, "a", 1.0)])
    go_on(run, 1)
    assert provisional(run)[-1] == [marked(hour=0, k="a", x=2.0, n=2)]
    for other in (UPDATED.replace("by hour, k to", "by k, hour to"), QUERY.replace("LATEST", "")):
        run.query = other
        assert code_of(run.executor) == "RQ402"


def test_an_edit_keeps_provisional_rows_only_where_final_ones_come(
    spark: SparkSession, tmp_path: Path
) -> None:
    """If the state of a group begins again, or another condition leaves it out, its row would stay for ever."""
    query = UPDATED.replace("emit s ", "t := project[*, x * 2 as twice](select[hour >= 0](s)); emit t ")
    run = Query(spark, tmp_path, query)
    run.write("r", [row(1, "a", 1.0), row(12, "a", 1.0)])
    go_on(run, 0)
    for words, others in (
        ("sum(x) as x", "max(x) as x"),
        ("hour >= 0", "hour >= 1"),
        ("](r);", "](select[x > 1](r));"),
    ):
        run.query = query.replace(words, others)
        error = error_of(run.executor)
        assert (error.code, "would stay" in str(error.notes)) == ("RQ402", True), others
    run.query = query.replace("x * 2", "x * 3")
    run.write("r", [row(13, "a", 1.0), closed(20)])
    run.run(yes=True)
    assert sorted((item for item in stream(run, "t")[-1] if "n" in item), key=str) == [
        {"hour": 0, "k": "a", "x": 1.0, "n": 1, "twice": 3.0},
        {"hour": 1, "k": "a", "x": 2.0, "n": 2, "twice": 6.0},
    ]


def test_explain_and_status_say_so() -> None:
    plan = compile_query(UPDATED).plan
    assert "emit s -> json out, latest by hour, k" in explain_text(plan)
    assert "a provisional row for each open group that has changed" in explain_text(plan)
    assert explain_json(plan)["emits"][0]["latest_by"] == ["hour", "k"]


def test_frames_of_a_program_have_final_rows() -> None:
    """Its outputs may be written as Parquet, which has no provisional rows."""
    (emit,) = rewritten(compile_query(UPDATED), {}, {"s": "elsewhere"}, "parquet").plan.emits
    assert (emit.latest, emit.format) == ((), "parquet")


def test_read_prints_the_last_row_of_each_key(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Query(spark, tmp_path, UPDATED)
    run.write("r", [row(1, "a", 1.0), row(12, "a", 1.0), closed(10)])
    run.write("r", [row(12, "a", 1.0)])
    run.process(files_per_epoch=1)
    folder = str(tmp_path / "out" / "s")
    assert main(["read", folder, "--latest", "hour, k"], standalone_mode=False) is None
    lines = capsys.readouterr().out.splitlines()
    assert sorted(map(json.loads, lines), key=str) == [
        marked(hour=1, k="a", x=2.0, n=2),
        {"hour": 0, "k": "a", "x": 1.0, "n": 1},
    ]
    reading = cedilla.read(folder, latest=["hours", "k"])
    assert code_of(lambda: [*reading.rows()]) == "RQ557"
    assert code_of(lambda: next(reading.follow())) == "RQ557"
    assert code_of(lambda: reading.spark(spark)) == "RQ557"


# --- tables of Delta -------------------------------------------------------------------------------------------------

TABLE = UPDATED.replace("to json", "to delta")


def table_rows(run: Query) -> list[dict[str, Any]]:
    deltalake = pytest.importorskip("deltalake")
    rows = deltalake.DeltaTable(str(run.root / "out" / "s")).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda item: (item["hour"], item["k"] or ""))


def test_a_row_of_a_table_takes_the_place_of_the_one_with_its_key(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An undefined part of the key equals another one, and a value that is gone does not stay."""
    pytest.importorskip("deltalake")
    run = Query(spark, tmp_path, TABLE.replace("k: string", "k?: string").replace("count()", "max(x)"))
    run.write("r", [row(1, "a", 1.0), {"ts": 2, "x": 2.0}])
    run.process()
    assert table_rows(run) == [
        {"hour": 0, "k": None, "x": 2.0, "n": 2.0, "provisional": True},
        {"hour": 0, "k": "a", "x": 1.0, "n": 1.0, "provisional": True},
    ]
    run.write("r", [{"ts": 3, "x": 2.0}, row(12, "a", 1.0), closed(10)])
    executor = run.executor()
    executor.process(1, {"r": run.files(executor)["r"][1:]})
    assert table_rows(run) == [
        {"hour": 0, "k": None, "x": 4.0, "n": 2.0, "provisional": False},
        {"hour": 0, "k": "a", "x": 1.0, "n": 1.0, "provisional": False},
        {"hour": 1, "k": "a", "x": 1.0, "n": 1.0, "provisional": True},
    ]


def test_a_table_has_null_where_a_value_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """With `drop = eager` a Drop takes the values of open groups at once, and their column."""
    pytest.importorskip("deltalake")
    text = """set drop = eager;
stream r(ts: long, k: string, x?: double, hour: long) from json "in" punctuated on ts;
s := aggregate[max by k, hour except ts](r);
emit s as latest by k, hour to delta "out";
"""
    run = Query(spark, tmp_path, text)
    run.write("r", [{"hour": 0, **row(1, "a", 1.0)}, {"$accent": "[[+(p: double)]]"}])
    run.write("r", [{"$accent": "[[-(x)]]"}, {"hour": 0, "ts": 2, "k": "a", "p": 1.0}])
    run.write("r", [{"hour": 0, "ts": 3, "k": "a", "p": 1.0}])
    run.process(files_per_epoch=1)
    assert table_rows(run) == [{"k": "a", "hour": 0, "x": None, "p": 1.0, "provisional": True}]


def test_the_page_shows_rows_of_the_stream_and_none_of_a_table_that_is_rewritten(
    spark: SparkSession, tmp_path: Path
) -> None:
    pytest.importorskip("deltalake")
    run = Query(spark, tmp_path, UPDATED + 'emit s as latest by hour, k to delta "table";')
    run.write("r", [row(1, "a", 1.0), row(12, "a", 1.0), closed(10)])
    run.process()
    model = RunModel(str(tmp_path / "checkpoint"))
    model.read()
    assert model.folder is not None
    folder = model.folder
    assert [item["hour"] for item in newest_rows(folder, "s", "as written")["rows"]] == [0]
    assert code_of(lambda: newest_rows(folder, "s_2", "as written")) == "RQ412"


def test_an_epoch_is_merged_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run dies right after the table has the epoch."""
    pytest.importorskip("deltalake")
    run = Query(spark, tmp_path, TABLE)
    run.write("r", [row(1, "a", 1.0)])
    go_on(run, 0)
    merge = DeltaSink.merge

    def dies(sink: DeltaSink, table: str, number: int, rows: Any) -> None:
        merge(sink, table, number, rows)
        raise KeyboardInterrupt

    run.write("r", [row(2, "a", 1.0)])
    with monkeypatch.context() as patch:
        patch.setattr(DeltaSink, "merge", dies)
        with pytest.raises(KeyboardInterrupt):
            go_on(run, 1)
    go_on(run, 1)
    run.write("r", [row(3, "a", 1.0)])
    go_on(run, 2)
    assert table_rows(run) == [{"hour": 0, "k": "a", "x": 3.0, "n": 3, "provisional": True}]


def test_an_attribute_that_comes_later_may_not_be_called_provisional(
    spark: SparkSession, tmp_path: Path
) -> None:
    pytest.importorskip("deltalake")
    text = """
stream r(ts: long, k: string) from json "in" punctuated on ts;
emit aggregate[max by k except ts](r) as latest by k to delta "out";
"""
    run = Query(spark, tmp_path, text)
    run.write("r", [{"$accent": "[[+(Provisional: double)]]"}, {"ts": 1, "k": "a", "Provisional": 1.0}])
    assert code_of(run.process) == "RQ556"
