"""Tables that Spark has written with the libraries of Delta and Iceberg, read on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.delta_tables import DeltaTable, TableQuery
from tests.kit.tables import spark_writes

pytestmark = [pytest.mark.rest, pytest.mark.java, pytest.mark.either_engine]

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
    spark_writes("delta", folder, [statement.format(folder) for statement in DELTA])
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
