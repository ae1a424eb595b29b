"""Tables that Spark, and the Java library of Iceberg, have written, read on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.delta_tables import DeltaTable, TableQuery
from tests.kit.errors import error_of
from tests.kit.tables import java_writes, spark_writes

pytestmark = [pytest.mark.java, pytest.mark.either_engine]

_PLAIN = "delta.`{0}/name/r`"
_BY_ID = "delta.`{0}/id/r`"
DELTA = [
    f"CREATE TABLE {_PLAIN} (k BIGINT, t DOUBLE, n INT) USING delta TBLPROPERTIES "
    "('delta.enableTypeWidening' = 'true')",
    f"INSERT INTO {_PLAIN} VALUES (1, 10.0, 1)",
    f"ALTER TABLE {_PLAIN} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    f"ALTER TABLE {_PLAIN} RENAME COLUMN t TO u",
    f"INSERT INTO {_PLAIN} VALUES (2, 20.0, 2)",
    f"ALTER TABLE {_PLAIN} ADD COLUMN (t INT)",
    f"ALTER TABLE {_PLAIN} ALTER COLUMN n TYPE BIGINT",
    f"INSERT INTO {_PLAIN} VALUES (3, 30.0, 3000000000, 7)",
    f"CREATE TABLE {_BY_ID} (k BIGINT, d DATE, at TIMESTAMP, x DOUBLE) USING delta PARTITIONED BY (d, at) "
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
    f"INSERT INTO {_BY_ID} VALUES (1, DATE'2020-01-01', TIMESTAMP'2020-01-01 10:00:00.5', 1.5)",
    f"INSERT INTO {_BY_ID} VALUES (2, NULL, NULL, 2)",
    f"ALTER TABLE {_BY_ID} RENAME COLUMN d TO day",
    f"INSERT INTO {_BY_ID} VALUES (3, DATE'2020-01-03', TIMESTAMP'2020-01-03 10:00:00', 3.5)",
]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delta")
    spark_writes(folder, [statement.format(folder) for statement in DELTA])
    return folder


@contextmanager
def before(table: DeltaTable, version: int) -> Iterator[None]:
    """The table as it was before a version: later entries of its log are aside."""
    later = [path for path in table.log.glob("*.json") if int(path.stem) >= version]
    for path in later:
        path.rename(path.with_suffix(".later"))
    yield
    for path in later:
        path.with_suffix(".later").rename(path)


def query(spark: SparkSession, root: Path, table: DeltaTable, attributes: str) -> TableQuery:
    text = f'stream r({attributes}) from delta "{table.path}";\nemit r to json "out";\n'
    return TableQuery(spark, root, text)


@pytest.mark.soak
def test_a_rename_of_spark_needs_no_accent(spark: SparkSession, delta: Path, tmp_path: Path) -> None:
    """The query starts before the mapping, and goes on after the rename, a new column of the old name, and a type that
    has widened."""
    table = DeltaTable(delta / "name")
    of = query(spark, tmp_path, table, "k: long, t: double, n: long, t_4?: long")
    with before(table, 2):
        assert of.run() == [{"k": 1, "t": 10.0, "n": 1}]
    expected = [
        {"k": 1, "t": 10.0, "n": 1},
        {"k": 2, "t": 20.0, "n": 2},
        {"k": 3, "t": 30.0, "n": 3_000_000_000, "t_4": 7},
    ]
    assert of.run() == expected
    later = query(spark, tmp_path / "later", table, "k: long, u: double, n: long, t?: int")
    expected = [{{"t": "u", "t_4": "t"}.get(name, name): v for name, v in row.items()} for row in expected]
    assert later.run() == expected
    assert later.simulated() == expected


@pytest.mark.soak
def test_partitions_of_spark_by_field_id(spark: SparkSession, delta: Path, tmp_path: Path) -> None:
    table = DeltaTable(delta / "id")
    of = query(spark, tmp_path, table, "k: long, d?: date, at?: timestamp, x: double")
    first = {"k": 1, "d": "2020-01-01", "at": "2020-01-01T10:00:00.500Z", "x": 1.5}
    with before(table, 3):
        assert [row["k"] for row in of.run()] == [1, 2]
    rows = of.run()
    assert {**rows[0], "at": rows[0]["at"].replace("500000", "500")} == first
    assert rows[1] == {"k": 2, "x": 2.0}
    assert (rows[2]["d"], rows[2]["x"]) == ("2020-01-03", 3.5)


COLUMNS = [("k", "long"), ("t", "double"), ("n", "int")]
K = 10**10
ICEBERG = [
    ("create", "r", COLUMNS, [], "2"),
    ("append", "r", {"k": K + 1, "t": 10.0, "n": 1}),
    ("rename", "r", "t", "u"),
    ("widen", "r", "n", "long"),
    ("append", "r", {"k": K + 2, "u": 20.0, "n": 3_000_000_000}),
    ("add", "r", "t", "int"),
    ("append", "r", {"k": K + 3, "u": 30.0, "n": K, "t": 7}),
    ("compact", "r", {"k": K + 1, "u": 0.0}),
    ("append", "r", {"k": K + 4, "u": 40.0, "n": K, "t": 8}),
    ("create", "old", COLUMNS, ["n"], "1"),
    ("append", "old", {"k": K + 1, "t": 0.1, "n": 5}, {"k": K + 2, "t": 0.2}),
    ("append", "old", {"k": K + 3, "t": 0.3, "n": 5}),
    ("create", "cut", COLUMNS, [], "2"),
    ("append", "cut", {"k": K + 1, "t": 1.0}),
    ("append", "cut", {"k": K + 2, "t": 2.0}),
    ("append", "cut", {"k": K + 3, "t": 3.0}),
    ("expire", "cut", 2),
    ("create", "deleted", COLUMNS, [], "2"),
    ("append", "deleted", {"k": K + 1, "t": 1.0}),
    ("delete", "deleted"),
    ("create", "gone", COLUMNS, [], "2"),
    ("append", "gone", {"k": K + 1, "t": 1.0}),
    ("delete", "gone"),
    ("append", "gone", {"k": K + 2, "t": 2.0}),
    ("expire", "gone", 2),
]


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("iceberg")
    java_writes(folder, ICEBERG)
    return folder


def over(spark: SparkSession, root: Path, table: Path, attributes: str) -> TableQuery:
    root.mkdir(exist_ok=True)
    text = f'stream r({attributes}) from iceberg "{table}";\nemit r to json "out";\n'
    return TableQuery(spark, root, text)


@pytest.mark.rest
def test_snapshots_of_the_java_library(spark: SparkSession, iceberg: Path, tmp_path: Path) -> None:
    """A rename, a name that is used again, a type that widens; a compaction, whose files have other values here, is
    passed over. A metadata file is the table before all this, and the folder the table now."""
    first = iceberg / "r" / "metadata" / "v2.metadata.json"
    of = over(spark, tmp_path, first, "k: long, t: double, n: long, t_4?: long")
    assert of.run() == [{"k": K + 1, "t": 10.0, "n": 1}]
    of.text = of.text.replace(str(first), str(iceberg / "r"))
    expected = [
        {"k": K + 1, "t": 10.0, "n": 1},
        {"k": K + 2, "t": 20.0, "n": 3_000_000_000},
        {"k": K + 3, "t": 30.0, "n": K, "t_4": 7},
        {"k": K + 4, "t": 40.0, "n": K, "t_4": 8},
    ]
    assert of.run(yes=True) == expected


@pytest.mark.rest
def test_a_table_of_the_first_version_with_partitions(
    spark: SparkSession, iceberg: Path, tmp_path: Path
) -> None:
    of = over(spark, tmp_path, iceberg / "old", "k: long, t: double, n?: int")
    expected = [{"k": K + 1, "t": 0.1, "n": 5}, {"k": K + 2, "t": 0.2}, {"k": K + 3, "t": 0.3, "n": 5}]
    assert of.run() == of.simulated() == expected


@pytest.mark.rest
def test_expired_snapshots_of_the_java_library(spark: SparkSession, iceberg: Path, tmp_path: Path) -> None:
    """A new query begins with the current files, if nothing deletes rows of them."""
    assert [row["k"] - K for row in over(spark, tmp_path, iceberg / "cut", "k: long").run()] == [1, 2, 3]
    error = error_of(over(spark, tmp_path / "gone", iceberg / "gone", "k: long").run)
    assert (error.code, "rewrite_data_files" in (error.help or "")) == ("RQ472", True)


@pytest.mark.rest
def test_delete_files_end_the_query(spark: SparkSession, iceberg: Path, tmp_path: Path) -> None:
    of = over(spark, tmp_path, iceberg / "deleted", "k: long")
    assert error_of(of.run).code == "RQ438"
    assert [row["k"] for row in of.rows()] == [K + 1]
