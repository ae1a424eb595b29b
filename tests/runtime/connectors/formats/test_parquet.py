"""Parquet as source and sink: markers between rows, files that differ, what is wrong, pruning, chains of queries."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from math import nan
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, LongType, NullType, StringType, StructField, StructType

from cedilla import read
from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.listing import listed_files
from cedilla.runtime.connectors.formats.parquet import source
from cedilla.runtime.connectors.formats.parquet.footers import read_footers
from cedilla.runtime.connectors.formats.parquet.row_groups import (
    FoundRow,
    frame_of_parts,
    markers_in,
    parts_of,
)
from cedilla.runtime.connectors.formats.parquet.source import Parquet
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.sinks.parquet import ParquetSink
from cedilla.runtime.connectors.formats.source import InputFile, Scan
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.epochs.ingest.slices import Slice
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.tools.inspect.verify import verify
from tests.kit.command import cedilla
from tests.kit.query import Query, physical, read_columns, save_parquet
from tests.kit.stream import Item, complaints, decode, is_tuple
from tests.kit.tiers import rest, tiered
from tests.runtime.connectors.formats.parquet_files import (
    file_names,
    files_in_order,
    rows_of_file,
    write_rows,
    write_typed_rows,
)

READINGS = """
stream r(ts: long, s: int, t: double, note?: string) from parquet "in" punctuated on ts;
emit r to FORMAT "out";
"""


# --- markers and their places ---


@pytest.mark.either_engine
def test_markers_between_rows_hold_from_their_row_on(spark: SparkSession, tmp_path: Path) -> None:
    """Over several row groups, and files with and without the marker columns; an Add of what was dropped cuts
    the epoch inside a file."""
    count, altered, closed = 20_000, 7_001, 12_345
    file = save_parquet(
        spark.range(count).selectExpr(
            f"IF(id IN ({altered}, {closed}), NULL, id) AS ts",
            f"IF(id IN ({altered}, {closed}), NULL, CAST(id % 3 AS INT)) AS s",
            f"IF(id IN ({altered}, {closed}), NULL, IF(id < {altered}, 1D, 33.8D)) AS t",
            "id",
            f"IF(id = {altered}, '[[alter(t, y -> y * 9/5 + 32)]]', NULL) AS `$accent`",
            f"IF(id = {closed}, '[ts <= {closed}]', NULL) AS `$punctuation`",
        ),
        tmp_path / "in" / "r" / "1.parquet",
    )
    parquet.write_table(parquet.read_table(file).sort_by("id").drop("id"), file, row_group_size=6000)
    os.utime(file, (1, 1))
    run = Query(spark, tmp_path, READINGS.replace("FORMAT", "json"))
    write_rows(
        run, 2, [{"ts": 9, "s": 0, "t": 33.8}, {"ts": count, "s": 0, "t": 33.8}], "ts BIGINT, s INT, t DOUBLE"
    )
    write_rows(
        run,
        3,
        [
            {"ts": count + 1, "s": 1, "t": 33.8, "note": "a"},
            {"$accent": "[[-(note)]]"},
            {"ts": count + 2, "s": 1, "t": 33.8},
            {"$accent": "[[s = 1, +(note: string)]]"},
            {"ts": count + 3, "s": 1, "t": 33.8, "note": "b"},
            {"ts": count + 4, "s": 2, "t": 33.8, "note": "not yet"},
        ],
    )
    executor = run.process()
    output = run.output("r")
    rows = decode(output)
    assert len(rows) == (count - 2) + 1 + 3
    assert {round(float(row["t"]), 9) for row in rows} == {1.0}
    assert [row["note"] for row in rows if "note" in row] == ["a", "b"]
    assert list(complaints(output, {"ts", "s", "t", "note"})) == []
    assert executor.last.epoch == 1
    actual = [
        (r["code"], Path(r["position"]["file"]).name, r["position"]["line"]) for r in run.quarantine("r")
    ]
    assert sorted(actual) == [("RQ304", "3.parquet", 5), ("RQ305", "2.parquet", 0)]
    (late,) = (r["raw"] for r in run.quarantine("r") if r["code"] == "RQ305")
    assert json.loads(late) == {"ts": 9, "s": 0, "t": 33.8}


@pytest.mark.either_engine
def test_a_bad_marker_and_a_bad_file_end_the_query_at_their_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All before them is committed; once they are mended the run goes on there."""
    run = Query(spark, tmp_path, READINGS.replace("FORMAT", "json"))
    rows: list[Item] = [{"ts": n, "s": 1, "t": 1.0} for n in range(8)]
    folder = tmp_path / "in" / "r"
    write_rows(run, 1, [rows[0], {"$accent": "[[+(t: double)]]"}, rows[1]])
    whole = write_rows(run, 3, [rows[2], rows[3]]).read_bytes()
    write_rows(run, 5, [rows[5]], "ts BIGINT, s INT, t DOUBLE, `$accent` BIGINT")
    write_rows(run, 6, [rows[6]])
    for name, content in (("2", b"x"), ("3", whole[:-20]), ("4", b'{"ts": 4}\n' * 9)):
        (folder / f"{name}.parquet").write_bytes(content)
        os.utime(folder / f"{name}.parquet", (int(name), int(name)))

    def ends(code: str, note: str) -> list[int]:
        with pytest.raises(DiagnosticError) as caught:
            run.process()
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == code
        assert re.search(note, diagnostic.notes[-1])
        assert "Traceback" not in diagnostic.message
        assert "at org." not in diagnostic.message
        is_marker = code == "RQ205"
        assert any("delete line" in note for note in diagnostic.notes) == is_marker
        assert any(f"before this {'marker' if is_marker else 'file'} is" in n for n in diagnostic.notes)
        return sorted(row["ts"] for row in run.output("r") if is_tuple(row))

    assert ends("RQ205", r"/in/r/1.parquet:1: \[\[\+\(t: double\)\]\]$") == [0]
    write_rows(run, 1, [rows[0], {"$accent": "[[-(note)]]"}, rows[1]])
    assert ends("RQ414", "/in/r/2.parquet:0: .*not a Parquet file") == [0, 1]
    write_rows(run, 2, [])
    assert ends("RQ414", "/in/r/3.parquet:0: .*not a Parquet file") == [0, 1]
    (folder / "3.parquet").write_bytes(whole)
    assert ends("RQ414", "/in/r/4.parquet:0: .*not a Parquet file") == [0, 1, 2, 3]
    write_rows(run, 4, [rows[4]])
    assert ends("RQ414", r"/in/r/5.parquet:0: its column `\$accent` is bigint") == [0, 1, 2, 3, 4]
    write_rows(run, 5, [rows[5]])
    run.process()
    assert sorted(row["ts"] for row in run.output("r") if is_tuple(row)) == list(range(7))
    assert run.quarantine("r") == []


@pytest.mark.either_engine
@pytest.mark.parametrize(
    "beside",
    [{"ts": 1, "s": 1, "t": 1.0}, {"note": "a"}, {"$punctuation": "[ts < 1]"}],
)
def test_a_marker_with_values_in_other_columns_ends_the_query(
    spark: SparkSession, tmp_path: Path, beside: Item
) -> None:
    """By statistics, or by the columns if statistics do not decide."""
    run = Query(spark, tmp_path, READINGS.replace("FORMAT", "json"))
    row: Item = {"ts": 0, "s": 1, "t": 1.0, "note": "b"}
    drop: Item = {"$accent": "[[-(note)]]"}
    write_rows(run, 1, [row, {**row, "note": None}, {**row, "note": None}, drop, {**drop, **beside}])
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ212"
    assert diagnostic.message == f"the line of a marker contains more: {', '.join(beside)}"
    assert diagnostic.notes[-1].endswith("/in/r/1.parquet:4: [[-(note)]]")
    assert len(decode(run.output("r"))) == 3


@pytest.mark.either_engine
def test_empty_folders_and_files_are_fine(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, READINGS.replace("FORMAT", "parquet"))
    assert run.process().last.epoch == -1
    run = Query(spark, tmp_path / "2", READINGS.replace("FORMAT", "parquet"))
    write_rows(run, 1, [])
    assert run.process().last.epoch == 0
    assert not (tmp_path / "2" / "out").exists()


# --- columns and types ---

TYPED = """
stream r(k: long, i?: int, l?: long, d?: double, m?: decimal(6, 2), s?: string, at?: timestamp, day?: date)
  from parquet "in";
emit r to json "out";
"""


@pytest.mark.rest
@pytest.mark.either_engine
def test_files_of_one_folder_may_differ_in_columns_and_types(spark: SparkSession, tmp_path: Path) -> None:
    """A wider type is read; a value that does not fit is rejected with its row, and never silently null."""
    run = Query(spark, tmp_path, TYPED)
    good: dict[int, tuple[dict[str, str], Item]] = {
        1: ({"i": "7Y", "l": "7", "d": "7", "m": "7S"}, {"i": 7, "l": 7, "d": 7.0, "m": 7.0}),
        2: ({"i": "7L", "d": "7L", "m": "7L"}, {"i": 7, "d": 7.0, "m": 7.0}),
        3: ({"d": "CAST(0.5 AS FLOAT)", "m": "1.5000"}, {"d": 0.5, "m": 1.5}),
        4: ({"l": "CAST(7 AS DECIMAL(20, 0))", "d": "0.25"}, {"l": 7, "d": 0.25}),
        5: ({"s": "8"}, {"s": "8"}),
        20: ({"s": "1e30D"}, {"s": "1.0E30"}),
        21: ({"s": "CAST(1e-7 AS FLOAT)"}, {"s": "1.0E-7"}),
        22: ({"s": "20000000D"}, {"s": "2.0E7"}),
        23: ({"s": "-0D"}, {"s": "-0.0"}),
        6: ({"s": "array(1, 2)"}, {"s": "[1,2]"}),
        7: ({"s": "CAST('é' AS BINARY)"}, {"s": "é"}),
        8: ({"at": "TIMESTAMP_NTZ'2013-01-31 01:02:03'"}, {"at": "2013-01-31T01:02:03.000000Z"}),
        9: ({"day": "DATE'1000-01-31'", "at": "TIMESTAMP'1000-01-31 00:00:00'"},
            {"day": "1000-01-31", "at": "1000-01-31T00:00:00.000000Z"}),
        24: ({"i": "-7D", "l": "7D", "m": "1.25D"}, {"i": -7, "l": 7, "m": 1.25}),
        10: ({"d": "CAST(NULL AS STRING)", "i": "CAST(NULL AS DOUBLE)"}, {}),
    }  # fmt: skip
    bad: dict[int, dict[str, str]] = {
        11: {"d": "'12.5'"},
        12: {"i": "3000000000L"},
        13: {"l": "1.5D"},
        25: {"l": "9007199254740992D"},
        14: {"m": "1.005"},
        15: {"m": "10000L"},
        16: {"at": "'2013-01-31'"},
        17: {"s": "unhex('ff')"},
        18: {"day": "true"},
        19: {"l": "CAST(1.5 AS DECIMAL(4, 1))"},
    }
    for number, columns in {**{n: c for n, (c, _) in good.items()}, **bad}.items():
        write_typed_rows(run, number, k=f"{number}L", **columns)
    run.agreed()
    output = {row["k"]: row for row in run.output("r")}
    assert output == {number: {"k": number, **values} for number, (_, values) in good.items()}
    rejected = {json.loads(r["raw"])["k"]: r for r in run.quarantine("r")}
    assert {number: r["code"] for number, r in rejected.items()} == dict.fromkeys(bad, "RQ301")
    assert json.loads(rejected[11]["raw"]) == {"k": 11, "d": "12.5"}
    reasons = {number: r["reason"] for number, r in rejected.items()}
    assert (reasons[11], reasons[15]) == (
        '`d` must be a double, found "12.5"',
        "`m` must be a decimal(6,2), found 10000",
    )
    # Not shown in the row's text: a moment of a string, bytes for a string, digits that may be lost.
    assert reasons[16] == "`at` must be a timestamp, found a value of a column of type string"
    assert reasons[17] == "`s` must be a string, found a value of a column of type binary"
    assert reasons[25] == "`l` must be a long, found a value of a column of type double"


@pytest.mark.either_engine
@pytest.mark.parametrize("drift", tiered(["infer", "ignore", "quarantine"]))
def test_columns_that_nothing_announced(spark: SparkSession, tmp_path: Path, drift: str) -> None:
    run = Query(spark, tmp_path, f"set drift = {drift};" + TYPED)
    write_typed_rows(run, 1, k="1L", new="1Y", at2="TIMESTAMP'2013-01-31 00:00:00'")
    write_typed_rows(run, 2, k="2L", new="CAST(1.5 AS FLOAT)")
    write_typed_rows(run, 3, k="3L", many="array(1)")
    write_typed_rows(run, 4, k="4L")
    run.agreed()
    tuples = {row["k"]: row for row in run.output("r") if is_tuple(row)}
    rejected = {json.loads(r["raw"])["k"]: r["code"] for r in run.quarantine("r")}
    if drift == "ignore":
        assert tuples == {k: {"k": k} for k in (1, 2, 3, 4)}
        assert rejected == {}
    elif drift == "quarantine":
        assert tuples == {4: {"k": 4}}
        assert rejected == {1: "RQ306", 2: "RQ306", 3: "RQ306"}
    else:
        assert tuples == {
            1: {"k": 1, "new": 1, "at2": "2013-01-31T00:00:00.000000Z"},
            4: {"k": 4},
        }
        assert rejected == {2: "RQ301", 3: "RQ306"}
        added = sorted(i["$accent"] for i in run.output("r") if "$accent" in i)
        assert added == ["[[+(at2: timestamp)]]", "[[+(new: long)]]"]


# --- chains ---


@pytest.mark.either_engine
def test_an_output_in_parquet_is_another_querys_input(spark: SparkSession, tmp_path: Path) -> None:
    """JSON to Parquet to JSON: the same stream, in columns that come and go with the accents; killed between
    the epochs."""
    declared = "(ts: long, l: string, t: double, at?: timestamp, day?: date, m?: decimal(6, 2))"
    first = Query(spark, tmp_path / "1", f'stream r{declared} from json "in"; emit r to parquet "o";')
    rows: list[Item] = [
        {
            "ts": 1,
            "l": ' "b"\n',
            "t": 1.5,
            "at": "2013-01-31T00:00:00.250000Z",
            "day": "2013-01-31",
            "m": 1.25,
        },
        {"ts": 2, "l": "", "t": 1e300},
        {"ts": 3, "l": "x", "t": -0.5, "p": 1 << 60},
    ]
    markers: list[Item] = [
        {"$accent": '[[l = "x", +(p: long)]]'},
        {"$punctuation": "[ts <= 2]"},
        {"$accent": "[[alter(t, y -> y * 2)]]"},
        {"$accent": '[[l = "x", -(p)]]'},
        {"$accent": "[[-(at)]]"},
    ]
    first.write("r", rows[:2])
    first.write("r", [markers[0], rows[2], *markers[1:]])
    first.write("r", [{"$accent": '[[l = "3", +(q: long)]]'}, {"ts": 4, "l": "3", "t": 2.0, "q": 1}])
    for epoch in range(3):
        executor = first.executor()
        files = {"r": first.files(executor)["r"][epoch : epoch + 1]}
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ParquetSink, "publish", Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                executor.process(epoch, files)
    first.executor()
    out = tmp_path / "1" / "out" / "r"
    assert file_names(out) == [
        "1-tuples.parquet",
        *(
            "_0-adds.jsonl",
            "1-tuples.parquet",
            "_2-punctuations.jsonl",
            "_3-alters.jsonl",
            "_4-drops.jsonl",
        ),
        *("_0-adds.jsonl", "1-tuples.parquet"),
    ]
    tuples = [spark.read.parquet(str(file)).schema for file in sorted(out.glob("*/1-tuples*"))]
    assert [schema.names for schema in tuples] == [
        ["ts", "l", "t", "at", "day", "m"],
        ["ts", "l", "t", "at", "day", "m", "p"],
        ["ts", "l", "t", "day", "m", "q"],
    ]
    types = {field.name: field.dataType.simpleString() for schema in tuples for field in schema.fields}
    assert types == {"ts": "bigint", "l": "string", "t": "double", "at": "timestamp", "day": "date",
                     "m": "decimal(6,2)", "p": "bigint", "q": "bigint"}  # fmt: skip
    items = [item for file in files_in_order(out) for item in rows_of_file(spark, file)]
    assert items[0] == {
        **rows[0], "at": datetime(2013, 1, 31, 0, 0, 0, 250_000), "day": date(2013, 1, 31), "m": Decimal("1.25"),
    }  # fmt: skip
    merged = spark.read.option("mergeSchema", True).parquet(str(out))
    assert set(merged.columns) == {*types, "epoch"}
    assert merged.count() == 4

    second = Query(spark, tmp_path / "2", f'stream r{declared} from parquet "in"; emit r to json "o";')
    (tmp_path / "2" / "in").mkdir(parents=True)
    out.rename(tmp_path / "2" / "in" / "r")
    executor = second.process(files_per_epoch=2)
    assert second.quarantine("r") == []
    output = second.output("r")
    assert sorted(decode(output), key=itemgetter("ts")) == [*rows, {"ts": 4, "l": "3", "t": 1.0, "q": 1}]
    assert sorted(i["$accent"] for i in output if "$accent" in i) == sorted(
        ['[[l = "3", +(q: long)]]', *(i["$accent"] for i in [markers[0], *markers[2:]])]
    )
    assert executor.last.sources["r"].closed == first.executor().last.sources["r"].closed


@pytest.mark.rest
def test_arrays_and_tasks_of_a_write(spark: SparkSession, tmp_path: Path) -> None:
    """Several tasks write, each its file; none of them is empty."""
    query = """
    stream r(ts: long, t: double) from json "in";
    lists := aggregate[collect(t) as all by ts](r);
    emit lists to parquet "out";
    """
    run = Query(spark, tmp_path, query)
    run.write("r", [*({"ts": n % 5, "t": float(n)} for n in range(20)), {"$punctuation": "[ts < 5]"}])
    run.process()
    files = files_in_order(tmp_path / "out" / "lists")
    rows = [item for file in files for item in rows_of_file(spark, file) if "ts" in item]
    assert sorted((i["ts"], sorted(i["all"])) for i in rows) == [
        (n, [n, n + 5.0, n + 10, n + 15]) for n in range(5)
    ]
    sink = ParquetSink(Files(), str(tmp_path / "out2"), "r")
    sink.stage(0, spark.range(8, numPartitions=4).where("id >= 2"), {"id": LongType()})
    sink.publish(0, 0)
    sink.tidy(0)
    (epoch,) = (tmp_path / "out2").glob("epoch=*")
    assert [file.name for file in sorted(epoch.iterdir())] == [f"1-tuples-0000{n}.parquet" for n in range(3)]
    assert [row["id"] for file in sorted(epoch.iterdir()) for row in rows_of_file(spark, file)] == list(
        range(2, 8)
    )
    sink.stage(1, spark.range(8).where("id > 8"), {"id": LongType()})
    sink.publish(1, 0)
    sink.tidy(1)
    assert len(list((tmp_path / "out2").iterdir())) == 1
    many = tuple(f'[[l = "é {n}", +(q: long)]]' for n in range(400))
    sink.stage(2, None, {})
    sink.stage_markers(2, Markers(adds=many, drops=many[:2]))
    sink.publish(2, 0)
    (epoch,) = (tmp_path / "out2").glob("epoch=*2")
    read = [rows_of_file(spark, epoch / name) for name in ("_0-adds.jsonl", "_4-drops.jsonl")]
    assert read == [[{"$accent": text} for text in texts] for texts in (many, many[:2])]


TABLE = """
stream r(ts: long, s: int in {1, 2}, t: double unit litre, n?: long) from json "in" punctuated on ts;
emit r to parquet "o" with t in m3;
"""
PLAIN: list[list[Item]] = [
    [
        {"ts": 1, "s": 1, "t": 100.0, "n": 2**60},
        {"ts": 2, "s": 2, "t": 140.0, "n": 1},
        {"$punctuation": "[ts < 5]"},
    ],
    [{"$punctuation": "[ts < 7]"}],
    [{"$accent": "[[s = 1, +(hot: boolean)]]"}, {"$accent": "[[s = 2, alter(t, y -> y / 1000)]]"}],
    [
        {"ts": 8, "s": 1, "t": 1.0, "n": 3, "hot": True},
        {"ts": 9, "s": 2, "t": 1.0, "n": 3},
        {"$punctuation": "[]"},
    ],
]


def table_of(spark: SparkSession, root: Path) -> Path:
    """An output in a fixed unit, with markers in every epoch and epochs without tuples."""
    run = Query(spark, root, TABLE)
    for items in PLAIN:
        run.write("r", items)
    run.process(1)
    return next((root / "out").iterdir())


@pytest.mark.either_engine
def test_readers_of_tables_pass_over_the_markers_of_an_output(spark: SparkSession, tmp_path: Path) -> None:
    """No row without values, no column of markers, and whole numbers stay whole."""
    out = table_of(spark, tmp_path)
    assert any(file.name.startswith("_") for file in out.glob("epoch=*/*"))
    frame = pandas.read_parquet(out)
    assert [*frame["ts"]] == [1, 2, 8, 9]
    assert frame["n"].dtype == "int64"
    assert frame["n"].sum() == 2**60 + 7
    assert not [name for name in frame.columns if "$" in name]
    assert dataset.dataset(out, partitioning="hive").count_rows() == 4
    files = [str(file) for file in out.glob("*/*.parquet")]
    assert [*dataset.dataset(files).to_table().sort_by("ts").column("t").to_pylist()] == [
        0.1,
        0.14,
        0.001,
        1.0,
    ]
    rows = spark.read.option("mergeSchema", "true").parquet(str(out)).collect()
    assert sorted((row["ts"], row["hot"]) for row in rows) == [(1, None), (2, None), (8, True), (9, None)]


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_such_an_output_and_one_of_old_are_streams(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    """With all markers at their places, by every reader; a run goes on in an output whose markers are rows."""
    out = table_of(spark, tmp_path / "new")
    old = tmp_path / "old"
    for number, file in enumerate(files_in_order(out)):
        epoch = old / file.parent.name
        epoch.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".parquet" or number > 6:
            (epoch / file.name).write_bytes(file.read_bytes())
        else:
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            parquet.write_table(pa.Table.from_pylist(lines), epoch / f"{file.stem.strip('_')}.parquet")
    assert file_names(old) != file_names(out)
    text = TABLE.replace("from json", "from parquet").replace(
        'emit r to parquet "o" with t in m3', 'emit r to json "o"'
    )
    actual: list[list[Item]] = []
    for name, folder in (("new", out), ("old", old)):
        again = Query(spark, tmp_path / f"{name} again", text.replace("litre", "m3"))
        (again.root / "in").mkdir(parents=True)
        (again.root / "in" / "r").symlink_to(folder)
        again.process(files_per_epoch)
        actual.append(again.output("r"))
        assert not again.quarantine("r")
        assert [row["ts"] for row in read(folder).rows()] == [1, 2, 8, 9]
    markers = [[item for item in items if not is_tuple(item)] for items in actual]
    assert markers[0] == markers[1]
    assert {"$punctuation": "[]"} in markers[0]
    assert any("+(hot" in str(item) for item in markers[0])
    assert sorted(map(str, decode(actual[0]))) == sorted(map(str, decode(actual[1])))


@pytest.mark.either_engine
def test_an_output_of_markers_alone_is_read(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path / "1", TABLE)
    run.write("r", PLAIN[1])
    run.process()
    (out,) = (tmp_path / "1" / "out").iterdir()
    assert file_names(out) == ["_2-punctuations.jsonl"]
    assert list(read(out).rows()) == []
    again = Query(spark, tmp_path / "2", READINGS.replace("FORMAT", "json"))
    (tmp_path / "2" / "in").mkdir(parents=True)
    (tmp_path / "2" / "in" / "r").symlink_to(out)
    again.process()
    assert again.output("r") == [{"$punctuation": "[ts < 7]"}]


# --- what is read ---


@pytest.mark.either_engine
def test_conditions_find_nan_which_statistics_leave_out(spark: SparkSession, tmp_path: Path) -> None:
    """Spark passed over the row group, whose greatest value was 0.5; NaN is greater than all numbers."""
    for kind in (pa.float64(), pa.float32()):
        folder = tmp_path / str(kind)
        (folder / "in" / "r").mkdir(parents=True)
        table = pa.table({"k": pa.array([1, 2], pa.int64()), "x": pa.array([nan, 0.5], kind)})
        parquet.write_table(table, folder / "in" / "r" / "1.parquet")
        text = 'stream r(k: long, x: double) from parquet "in"; big := select[x > 0.7](r); emit big to json "out";'
        run = Query(spark, folder, text)
        run.process()
        assert [row["k"] for row in run.output("big") if is_tuple(row)] == [1], kind


@pytest.mark.rest
def test_pruned_columns_and_pushed_filters_reach_the_scan(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no accents in force on them, in the frame and in a run; of columns that are converted too, where Spark can
    undo that."""
    wide = ", ".join(f"c{n}?: double" for n in range(8))
    text = f'stream r(ts: long, t: double, v: string, {wide}) from parquet "in";'
    text += 'emit project[ts, t](select[ts >= 50 and v = "a"](r)) to json "out";'
    columns = [f"id * {n} AS c{n}" for n in range(8)]
    folder = tmp_path / "in" / "r"
    save_parquet(
        spark.range(100).selectExpr("id AS ts", "CAST(id AS DOUBLE) AS t", "'a' AS v", *columns),
        folder / "1.parquet",
    )
    save_parquet(
        spark.range(100).selectExpr("CAST(id AS INT) AS ts", "CAST(id AS DOUBLE) AS t", "'a' AS v"),
        folder / "2.parquet",
    )
    run = Query(spark, tmp_path, text)
    executor = run.executor()
    source = executor.plan.source_of["r"]
    form = Parquet()
    files = listed_files(Files(), source.path)
    assert form.scans(spark, [dict(enumerate(files))]) == [Scan(())]
    frame = intake.tuples(spark, source, executor.last.sources["r"], Slice(form, tuple(files)))
    plans = [physical(frame.where("`$reject` IS NULL").select("ts", "t", "v").where("ts >= 50"))]
    write = JsonLinesSink.write

    def watched(sink: JsonLinesSink, tuples: DataFrame, *rest: Any) -> None:
        plans.append(physical(tuples))
        write(sink, tuples, *rest)

    monkeypatch.setattr(JsonLinesSink, "write", watched)
    executor.process(0, {"r": files})
    (emit,) = executor.plan.emits
    assert len(decode(run.output(emit.name))) == 100
    assert len(plans) == 2
    pushed = [re.findall(r"PushedFilters: \[([^\]]*)\]", plan) for plan in plans]
    for plan, filters in zip(plans, pushed, strict=True):
        assert read_columns(plan) == ["ts:bigint,t:double,v:string", "ts:int,t:double,v:string"]
        assert len(filters) == 2
        assert all("GreaterThanOrEqual(ts,50)" in scan for scan in filters)
    assert all("EqualTo(v,a)" in scan for scan in pushed[-1])  # although its bytes are tested after it


def test_markers_read_their_columns_only_and_only_where_they_are(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Query(spark, tmp_path, READINGS.replace("FORMAT", "json"))
    write_rows(run, 1, [{"ts": 1, "s": 1, "t": 1.0}])  # has the columns, and no markers
    write_rows(run, 2, [{"ts": 1, "s": 1, "t": 1.0}], "ts BIGINT, s INT, t DOUBLE")
    write_rows(run, 3, [{"$punctuation": "[ts < 2]"}, {"$accent": "[[-(note)]]"}])
    write_rows(run, 4, [{}, {"$punctuation": "[ts < 3]"}], "ts BIGINT, `$punctuation` STRING")
    files = listed_files(Files(), str(tmp_path / "in" / "r"))
    read: list[tuple[str, Mapping[str, str]]] = []

    def watched(path: str, names: Mapping[str, str]) -> list[FoundRow]:
        read.append((Path(path).name, names))
        return markers_in(path, names)

    monkeypatch.setattr(source, "markers_in", watched)
    actual = Parquet().markers(spark, dict(enumerate(files)))
    assert [(m.kind, m.text, m.position) for m in actual] == [
        ("punctuation", "[ts < 2]", 2 << 47),
        ("accent", "[[-(note)]]", (2 << 47) + 1),
        ("punctuation", "[ts < 3]", (3 << 47) + 1),
    ]
    assert sorted((name, [*columns]) for name, columns in read) == [
        ("3.parquet", ["$accent", "$punctuation"]),
        ("4.parquet", ["$punctuation"]),
    ]


@pytest.mark.either_engine
def test_a_damaged_page_of_markers_ends_the_query_there(spark: SparkSession, tmp_path: Path) -> None:
    """The footer is whole."""
    run = Query(spark, tmp_path, READINGS.replace("FORMAT", "json"))
    path = write_rows(run, 1, [{"ts": 1, "s": 1, "t": 1.0}, {"$punctuation": "[ts < 2]"}])
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * (len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    assert caught.value.diagnostics[0].code == "RQ414"


LIKE_SPARK = pa.table(
    {
        "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
        "large": pa.array(["a", None, "é"], pa.large_string()),
        "u8": pa.array([255, None, 0], pa.uint8()),
        "u32": pa.array([2**32 - 1, None, 0], pa.uint32()),
        "u64": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "i8": pa.array([-128, None, 0], pa.int8()),
        "date64": pa.array([date(1960, 1, 2), None, date(9999, 12, 31)], pa.date64()),
        "ms": pa.array(
            [datetime(1960, 1, 2, 3, 4, 5, 6000), None, None], pa.timestamp("ms", "Europe/Zurich")
        ),
        "local": pa.array([datetime(2100, 1, 2, 3, 4, 5), None, None], pa.timestamp("us")),
        "length": pa.array([5, None, -5], pa.duration("us")),
        "decimal": pa.array([Decimal("1.25"), None, Decimal("-9.99")], pa.decimal128(3, 2)),
        "fixed": pa.array([b"abc", None, b"\x00\x01\x02"], pa.binary(3)),
        "float": pa.array([0.1, None, 1e30], pa.float32()),
        "list": pa.array([[1, None], None, []], pa.list_(pa.uint16())),
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
        "struct": pa.array([{"x": 1, "y": ["z"]}, None, {"x": None, "y": None}]),
        "a.b": pa.array([1, None, 2]),
        "void": pa.nulls(3),
    }
)


@pytest.mark.rest
@pytest.mark.parametrize("int96", [False, True])
def test_tasks_read_what_spark_reads(spark: SparkSession, tmp_path: Path, int96: bool) -> None:
    """Types that another writer has stored; in parts, with the places of rows."""
    path = str(tmp_path / "1.parquet")
    parquet.write_table(LIKE_SPARK, path, row_group_size=1, use_deprecated_int96_timestamps=int96)
    (footer,) = read_footers(spark, [path])
    kinds = {name: kind for name, kind in footer.columns.items() if not isinstance(kind, NullType)}
    assert [name for name in LIKE_SPARK.column_names if name not in kinds] == ["void"]
    schema = StructType([StructField(name, kind) for name, kind in kinds.items() if kind is not None])
    assert len(schema) == len(kinds)
    parts = [*parts_of(InputFile(path), 3, footer.groups, 1)]
    assert [(part.begin, part.end, part.index) for part in parts] == [(0, 1, 0), (1, 2, 1), (2, 3, 2)]
    assert [(p.begin, p.end) for p in parts_of(InputFile(path), 3, footer.groups, 1 << 20)] == [(0, 3)]
    rows = frame_of_parts(spark, parts, schema, {}, is_tested=False).orderBy("`$position`").collect()
    assert [(row["$file"], row["$position"]) for row in rows] == [(path, (3 << 47) + n) for n in range(3)]
    assert [row[:-3] for row in rows] == [
        tuple(row) for row in spark.read.schema(schema).parquet(path).collect()
    ]


def test_nan_of_any_form_is_one_and_bytes_that_are_no_text_are_seen(
    sail: SparkSession, tmp_path: Path
) -> None:
    """Sail takes the other ones for numbers below all."""
    other = struct.unpack("<d", (0xFFF8 << 48 | 1).to_bytes(8, "little"))[0]
    texts = pa.array([b"a", b"\xff", None])
    columns = {
        "x": pa.array([other, float("nan"), 1.0]),
        "s": pa.StringArray.from_buffers(3, *texts.buffers()[1:], texts.buffers()[0]),
    }
    path = str(tmp_path / "1.parquet")
    parquet.write_table(pa.table(columns), path)
    (footer,) = read_footers(sail, [path])
    schema = StructType([StructField("x", DoubleType()), StructField("s", StringType())])
    rows = frame_of_parts(sail, [*parts_of(InputFile(path), 0, footer.groups, 1)], schema, {}, is_tested=True)
    assert rows.where("x > 2D AND x = double('NaN')").count() == 2
    texts = [(row["s"], row["$bad"]) for row in rows.orderBy("`$position`").collect()]
    assert texts == [("a", None), ("\ufffd", "`s` has bytes that are not UTF-8, FF"), (None, None)]


# --- the command line ---


def test_tools_take_parquet(spark: SparkSession, tmp_path: Path) -> None:
    """`verify` compares the reference with a run over Parquet; the tools of streams read it, too."""
    run = Query(spark, tmp_path, "")
    rows: list[Item] = [{"ts": n, "s": n % 2, "t": 50.0 + n} for n in range(6)]
    write_rows(run, 1, [*rows[:2], {"$accent": "[[s = 1, alter(t, y -> (y - 32) * 5/9)]]"}, *rows[2:4]])
    write_rows(run, 2, [{"$punctuation": "[ts < 4]"}, *rows[4:], {"$punctuation": "[]"}])
    query = f"""
    stream r(ts: long, s: int, t: double) from parquet "{tmp_path}/in/r" punctuated on ts;
    means := aggregate[avg(t) as mean by w](window[2 on ts as w](r));
    emit means to parquet "{tmp_path}/out";
    emit r to json "{tmp_path}/out2";
    """
    plan, flow = load(compile_query(query))
    verdicts = verify(plan, flow, Options())
    assert [(v.emit, v.tuples, v.holds) for v in verdicts] == [("means", 3, True), ("r", 6, True)]
    assert not (tmp_path / "out").exists()
    file = tmp_path / "q.rq"
    file.write_text(query)
    simulated = cedilla("simulate", str(file))
    assert simulated.exit_code == 0
    assert simulated.stdout.count('"mean": ') == 3
    for tool in ("validate", "canonize"):
        done = cedilla(tool, str(tmp_path / "in" / "r"), "--query", str(file))
        assert done.exit_code == 0, done.output


@pytest.mark.either_engine
def test_half_floats_are_read_in_columns_and_in_lists(spark: SparkSession, tmp_path: Path) -> None:
    """Next to a file with floats, file by file, after a restart; a value that is null is undefined."""
    text = 'stream r(k: int, t?: double, l?: string) from parquet "in";\nemit r to json "out";\n'
    run = Query(spark, tmp_path, text)
    for number, kind in enumerate((pa.float16(), pa.float32()), 1):
        halves = pa.array([20.5, None, float("inf")], pa.float32()).cast(kind)
        lists = pa.array([[1.5, 2.25], None, []], pa.list_(pa.float32())).cast(pa.list_(kind))
        run.write_table("r", pa.table({"k": [1, 2, 3], "t": halves, "l": lists}), number)
        run.go_on(run.executor(), number - 1)
    one = [{"k": 1, "t": 20.5, "l": "[1.5,2.25]"}, {"k": 2}, {"k": 3, "t": "Infinity", "l": "[]"}]
    assert [*filter(is_tuple, run.output("r"))] == one + one
    assert run.quarantine("r") == []
