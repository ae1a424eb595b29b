"""The statistics in footers of Parquet files, against Spark's own reader and the values themselves."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats.parquet.footers import Footer, read_footers
from cedilla.runtime.connectors.formats.parquet.types import Settings, Unknown, columns_of
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics

LEAVES = """
int32 | int64 | int96 | boolean | float | double | binary | fixed_len_byte_array(7)
int32 INT_8 | int32 INT_16 | int32 INT_32 | int64 INT_64 | int32 UINT_8 | int32 UINT_16 | int32 UINT_32 | int64 UINT_64
int32 INTEGER(8,true) | int64 INTEGER(64,false) | int32 DATE
int32 TIME_MILLIS | int64 TIME_MICROS | int64 TIME(MICROS,false) | int64 TIME(NANOS,true)
int64 TIMESTAMP_MILLIS | int64 TIMESTAMP_MICROS | int64 TIMESTAMP(MILLIS,true) | int64 TIMESTAMP(MILLIS,false)
int64 TIMESTAMP(MICROS,false) | int64 TIMESTAMP(NANOS,true) | int64 TIMESTAMP(NANOS,false)
binary UTF8 | binary STRING | binary ENUM | binary JSON | binary BSON
int32 DECIMAL(9,2) | int32 DECIMAL(1,0) | int64 DECIMAL(18,5) | int64 DECIMAL(9,5)
binary DECIMAL(38,10) | binary DECIMAL(20,0) | binary DECIMAL(50,10)
fixed_len_byte_array(5) DECIMAL(10,3) | fixed_len_byte_array(16) DECIMAL(38,38) | fixed_len_byte_array(20) DECIMAL(40,3)
fixed_len_byte_array(16) UUID | fixed_len_byte_array(2) FLOAT16 | fixed_len_byte_array(12) INTERVAL
"""
NESTED = """
repeated int32 a;
repeated group a { optional int32 x; }
repeated binary a (UTF8);
optional group a (LIST) { repeated group list { optional int32 element; } }
optional group a (LIST) { repeated group bag { optional int32 array_element; } }
required group a (LIST) { repeated int32 array; }
optional group a (LIST) { repeated group array { optional int32 x; } }
optional group a (LIST) { repeated group a_tuple { optional int32 x; } }
optional group a (LIST) { repeated group element { optional int32 x; optional int64 y; } }
optional group a (LIST) { repeated group list { optional int64 element (TIMESTAMP(NANOS,true)); } }
optional group a (LIST) { repeated group list { optional group element (LIST) { repeated group list { required binary element (UTF8); } } } }
optional group a (LIST) { repeated group list { optional group element { optional int32 x; required group y { optional double z; } } } }
optional group a (LIST) { repeated group list { optional int32 element (UINT_32); } }
optional group a (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }
optional group a (MAP_KEY_VALUE) { repeated group map { required binary key (UTF8); optional int32 value; } }
optional group a (MAP) { repeated group map (MAP_KEY_VALUE) { required binary key (UTF8); required group value (LIST) { repeated int32 array; } } }
optional group a { optional int32 x; optional int32 y (TIME_MILLIS); }
optional group a { optional int32 x; optional group y { repeated int32 z; } }
optional group a { optional group b { optional group c { optional int96 d; } } }
"""  # noqa: E501


FIELDS = [
    *(
        f"optional {kind} a {f'({annotation})' if annotation else ''};"
        for line in LEAVES.strip().split("\n")
        for kind, _, annotation in (leaf.strip().partition(" ") for leaf in line.split("|"))
    ),
    "required int64 a;",
    *NESTED.strip().split("\n"),
]


@pytest.mark.rest
def test_types_are_those_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    """Between two columns that keep their types, so that the columns after a nested one are found, too."""
    wrong: list[tuple[str, str | None, str | None]] = []
    for number, field in enumerate(FIELDS):
        file = tmp_path / f"{number}.parquet"
        # A file without rows, by Parquet's own library: what no writer of today writes is in files, too.
        jvm: Any = spark._jvm
        schema = jvm.org.apache.parquet.schema.MessageTypeParser.parseMessageType(
            f"message m {{ optional int32 before; {field} optional binary after (UTF8); }}"
        )
        conf: Any = spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
        writer = jvm.org.apache.parquet.hadoop.ParquetFileWriter(
            conf, schema, jvm.org.apache.hadoop.fs.Path(str(file))
        )
        writer.start()
        writer.end(jvm.java.util.HashMap())
        actual = columns_of(parquet.read_metadata(file).schema, Settings())
        assert [str(actual[name].kind) for name in ("before", "after")] == ["IntegerType()", "StringType()"]
        kind = actual["a"].kind
        here = None if isinstance(kind, Unknown) else kind.simpleString()
        try:
            of_spark = spark.read.parquet(str(file)).schema["a"].dataType.simpleString()
        except PySparkException:
            of_spark = None
        # Scans read these as longs, and tasks read these by pyarrow.
        if here != of_spark and (here, of_spark) not in (("timestamp_ns", None), ("float", None)):
            wrong.append((field, here, of_spark))
    assert wrong == []


def footer(spark: SparkSession, tmp_path: Path, table: pa.Table, **options: Any) -> Footer:
    path = tmp_path / "1.parquet"
    parquet.write_table(table, path, **options)
    (file_footer,) = read_footers(spark, [str(path)])
    return file_footer


MOMENT = datetime(1960, 2, 3, 4, 5, 6, 789_000, UTC)
MICROS = (MOMENT - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6


@pytest.mark.parametrize("rows_per_group", [2, 100])
def test_ranges_are_those_of_the_values(spark: SparkSession, tmp_path: Path, rows_per_group: int) -> None:
    """Over all row groups, one of which has only nulls; a list before them changes nothing."""
    table = pa.table(
        {
            "many": pa.array([[1], [], None, [2, 3], [4], [5]]),
            "byte": pa.array([3, None, None, None, -7, 5], pa.int8()),
            "long": pa.array([3, None, None, None, -(2**62), 2**62], pa.int64()),
            "day": pa.array([date(1950, 1, 1), None, None, None, date(9999, 12, 31), None]),
            "ms": pa.array([MOMENT, None, None, None, None, MOMENT], pa.timestamp("ms", "UTC")),
            "us": pa.array([MOMENT, None, None, None, None, MOMENT], pa.timestamp("us", "UTC")),
            "unsigned": pa.array([1, None, None, None, None, 2**32 - 1], pa.uint32()),
            "decimal": pa.array([Decimal("1.25")] * 6, pa.decimal128(9, 2)),
            "double": pa.array([1.0, float("nan"), None, None, None, -1.0]),
            "string": pa.array(["a", None, None, None, None, "ä" * 1000]),
            "nothing": pa.nulls(6),
            "none": pa.array([None] * 6, pa.int32()),
        }
    )
    file_footer = footer(spark, tmp_path, table, row_group_size=rows_per_group, coerce_timestamps=None)
    assert file_footer.rows == 6
    assert file_footer.problem is None
    assert dict(file_footer.ranges) == {
        "byte": ColumnStatistics(3, -7, 5),
        "long": ColumnStatistics(3, -(2**62), 2**62),
        "day": ColumnStatistics(
            4, date(1950, 1, 1).toordinal() - 719_163, date(9999, 12, 31).toordinal() - 719_163
        ),
        "ms": ColumnStatistics(4, int(MICROS), int(MICROS)),
        "us": ColumnStatistics(4, int(MICROS), int(MICROS)),
        "unsigned": ColumnStatistics(4),
        "decimal": ColumnStatistics(0),
        "double": ColumnStatistics(3),
        "string": ColumnStatistics(4),
        "none": ColumnStatistics(6),
    }


def test_what_spark_writes_has_the_same_ranges(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(1000).selectExpr(
        "id",
        "CAST(id AS INT) AS i",
        "timestamp_micros(id - 500) AS at",
        "date_from_unix_date(CAST(id AS INT) - 500) AS day",
        "IF(id % 4 = 0, NULL, id) AS some",
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "out"))
    (file,) = (tmp_path / "out").glob("*.parquet")
    (file_footer,) = read_footers(spark, [str(file)])
    assert dict(file_footer.ranges) == {
        "id": ColumnStatistics(0, 0, 999),
        "i": ColumnStatistics(0, 0, 999),
        "at": ColumnStatistics(0, -500, 499),
        "day": ColumnStatistics(0, -500, 499),
        "some": ColumnStatistics(250, 1, 999),
    }


def test_without_statistics_nothing_is_promised(spark: SparkSession, tmp_path: Path) -> None:
    """A marker may be anywhere then."""
    table = pa.table({"k": [1, 2], "$accent": pa.array([None, None], pa.string())})
    assert footer(spark, tmp_path, table).marked is False
    file_footer = footer(spark, tmp_path, table, write_statistics=False)
    assert (file_footer.ranges, file_footer.marked, file_footer.rows) == ({}, True, 2)
    file_footer = footer(spark, tmp_path, table, write_statistics=["$accent"])
    assert (file_footer.ranges, file_footer.marked) == ({}, False)


def test_columns_of_nothing_have_no_type_and_no_markers(spark: SparkSession, tmp_path: Path) -> None:
    """pandas writes such columns if all values are missing; Spark has the type of the nulls' storage."""
    table = pa.table({"k": [1], "note": pa.nulls(1), "$accent": pa.nulls(1)})
    file_footer = footer(spark, tmp_path, table)
    assert {name: str(kind) for name, kind in file_footer.columns.items()} == {
        "k": "LongType()",
        "note": "NullType()",
        "$accent": "NullType()",
    }
    assert (file_footer.marked, file_footer.problem) == (False, None)


def test_types_of_arrow_are_seen_as_they_are_stored(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "word": pa.array(["a"]).dictionary_encode(),
            "large": pa.array([[1]], pa.large_list(pa.int8())),
            "lasts": pa.array([1], pa.duration("ms")),
            "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.uint64())),
            "in": pa.array([{"x": 1, "y": {"z": "a"}}]),
            "inner": pa.array([{"x": 1}], pa.struct([("x", pa.timestamp("ns"))])),
            "nanos": pa.array([1], pa.timestamp("ns", "UTC")),
            "naive": pa.array([1], pa.timestamp("us")),
        }
    )
    file_footer = footer(spark, tmp_path, table)
    assert {name: kind.simpleString() for name, kind in file_footer.columns.items()} == {
        "word": "string",
        "large": "array<tinyint>",
        "lasts": "bigint",
        "map": "map<string,decimal(20,0)>",
        "in": "struct<x:bigint,y:struct<z:string>>",
        "inner": "struct<x: timestamp[ns]>",
        "nanos": "timestamp_ns",
        "naive": "timestamp_ntz",
    }


def test_settings_change_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "1.parquet"
    nanos, naive, raw = pa.timestamp("ns"), pa.timestamp("us"), pa.binary()
    table = pa.table({"n": pa.array([1], nanos), "u": pa.array([1], naive), "b": pa.array([b"a"], raw)})
    parquet.write_table(table, path)
    changed = Settings(nanos_as_long=True, binary_as_string=True, infers_ntz=False)
    columns_ = columns_of(parquet.read_metadata(path).schema, changed)
    kinds = {name: column.kind.simpleString() for name, column in columns_.items() if column.kind}
    assert kinds == {"n": "bigint", "u": "timestamp", "b": "string"}


@pytest.mark.parametrize("content", [b"", b"x", b'{"ts": 4}\n' * 9, b"PAR1" + b"\0" * 90 + b"PAR1"])
def test_what_is_no_parquet_has_a_problem(spark: SparkSession, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1.parquet"
    path.write_bytes(content)
    (file_footer,) = read_footers(spark, [str(path)])
    assert file_footer.problem is not None
    assert file_footer.problem.startswith("it is not a Parquet file, or cut off (")
    assert "\n" not in file_footer.problem


def test_a_file_that_is_gone_has_a_problem(spark: SparkSession, tmp_path: Path) -> None:
    footers = read_footers(spark, [f"{tmp_path}/{number}.parquet" for number in range(3)])
    assert [file_footer.problem for file_footer in footers] == ["No such file or directory"] * 3
