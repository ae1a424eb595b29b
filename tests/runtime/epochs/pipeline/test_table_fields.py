"""Tables whose columns are known by their fields: names stay those of the query's start, and values that a table keeps
in its log are fields, too."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.grammar import DiagnosticError
from tests.kit.delta_tables import DeltaTable, TableQuery
from tests.kit.errors import error_of
from tests.kit.stream import decode, read_output
from tests.kit.tiers import rest

pytest.importorskip("deltalake")
pytestmark = pytest.mark.either_engine

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.float64()), ("u", pa.float64())])


def query(spark: SparkSession, table: DeltaTable, attributes: str, more: str = "") -> TableQuery:
    """A query that gives out all attributes of a table."""
    text = f'stream r({attributes}) from delta "{table.path}"{more};\nemit r to json "out";\n'
    return TableQuery(spark, table.root, text)


@pytest.fixture(params=["name", rest("id")])
def mapped(request: pytest.FixtureRequest, tmp_path: Path) -> DeltaTable:
    table = DeltaTable(tmp_path, request.param)
    table.create(SCHEMA)
    table.write({"k": 1, "t": 10.0, "u": 1.5})
    return table


def test_renames_swaps_and_a_name_that_is_used_again_need_no_accent(
    spark: SparkSession, mapped: DeltaTable
) -> None:
    """Also in a run that comes later, and in the versions that one look reads together."""
    of = query(spark, mapped, "k: long, t?: double, u?: double, t_4?: long")
    assert of.run() == [{"k": 1, "t": 10.0, "u": 1.5}]
    mapped.call(t="v")
    mapped.write({"k": 2, "v": 20.0, "u": 2.5})
    assert of.run()[1:] == [{"k": 2, "t": 20.0, "u": 2.5}]
    mapped.call(u="v", v="u")  # both at once
    mapped.write({"k": 3, "v": 3.5, "u": 30.0})
    mapped.add_column("t", "long")
    mapped.write({"k": 4, "v": 4.5, "u": 40.0, "t": 7})
    expected = [
        {"k": 1, "t": 10.0, "u": 1.5},
        {"k": 2, "t": 20.0, "u": 2.5},
        {"k": 3, "t": 30.0, "u": 3.5},
        {"k": 4, "t": 40.0, "u": 4.5, "t_4": 7},
    ]
    assert of.run() == expected
    for note in ("has `v`, which stream `r` reads as `t`", "has `t`, which stream `r` reads as `t_4`"):
        assert note in of.notes
    assert [of.notes.count(f"has `{name}`") for name in ("t", "u", "v")] == [1, 1, 2]  # once for each change


def test_a_new_query_reads_all_files_by_the_names_of_its_start(
    spark: SparkSession, mapped: DeltaTable
) -> None:
    """A column that was dropped before is no field. The reference reads the same."""
    mapped.call(t="gone", u="t")
    mapped.write({"k": 2, "gone": 20.0, "t": 2.5})
    of = query(spark, mapped, "k: long, t: double, gone?: double")
    expected = [{"k": 1, "t": 1.5, "gone": 10.0}, {"k": 2, "t": 2.5, "gone": 20.0}]
    assert of.run() == expected
    assert of.simulated() == expected
    assert "reads as" not in of.notes


def test_names_are_kept_before_a_batch_is(
    spark: SparkSession, mapped: DeltaTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends before its first epoch, and a rename before the next run."""
    of = query(spark, mapped, "k: long, t: double, u: double")
    with monkeypatch.context() as patched:
        patched.delattr("cedilla.runtime.epochs.pipeline.executor.Executor.process")
        with pytest.raises(AttributeError):
            of.run()
    mapped.call(t="u", u="t")
    mapped.write({"k": 2, "u": 20.0, "t": 2.5})
    assert of.run() == [{"k": 1, "t": 10.0, "u": 1.5}, {"k": 2, "t": 20.0, "u": 2.5}]


def test_a_column_of_markers_is_found_by_its_field(spark: SparkSession, tmp_path: Path) -> None:
    table = DeltaTable(tmp_path, "name")
    marked = pa.schema([*SCHEMA, pa.field("$accent", pa.string())])
    table.create(marked)
    table.write({"k": 1, "t": 50.0, "u": 0.0}, schema=marked)
    table.write({"$accent": "[[alter(t, y -> (y - 32) * 5/9)]]"}, schema=marked)
    table.write({"k": 2, "t": 10.0, "u": 0.0}, schema=marked)
    of = query(spark, table, "k: long, t: double, u: double")
    assert [row["t"] for row in of.run()] == [50.0, pytest.approx(50.0)]
    of.simulated()  # it may announce the accent
    assert [float(row["t"]) for row in decode(read_output(tmp_path / "simulated"))] == [50.0, 50.0]


def test_a_column_gets_its_mapping_while_a_query_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """`ALTER TABLE ... RENAME COLUMN` asks for the mapping first, which leaves files as they are."""
    table = DeltaTable(tmp_path)
    table.create(SCHEMA)
    table.write({"k": 1, "t": 10.0, "u": 1.5})
    of = query(spark, table, "k: long, t: double, u: double")
    of.run()
    table.map_names()
    table.call(t="v")
    table.write({"k": 2, "v": 20.0, "u": 2.5})
    assert of.run() == [{"k": 1, "t": 10.0, "u": 1.5}, {"k": 2, "t": 20.0, "u": 2.5}]
    later = TableQuery(spark, tmp_path / "later", of.text.replace("t: double", "v: double"))
    assert later.run() == [{"k": 1, "v": 10.0, "u": 1.5}, {"k": 2, "v": 20.0, "u": 2.5}]


PARTITIONS = pa.schema(
    [
        ("k", pa.int64()),
        ("d", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("n", pa.int32()),
        ("e", pa.decimal128(5, 2)),
    ]
)
MOMENT = datetime(2020, 1, 1, 10, 0, 0, 5, UTC)
PARTITIONED = [
    {"k": 1, "d": date(2020, 1, 1), "at": MOMENT, "s": "a b/c=d%", "b": True, "n": -3, "e": Decimal("1.50")},
    {"k": 2},
]


@pytest.mark.parametrize("mode", ["none", rest("name"), rest("id")])
def test_values_of_partitions_come_from_the_log(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    """Of each type, of none, and of a partition that was renamed; the reference reads the same."""
    table = DeltaTable(tmp_path, mode)
    table.create(PARTITIONS, partition_by=["d", "at", "s", "b", "n", "e"])
    table.write(*PARTITIONED, schema=PARTITIONS)
    attributes = "k: long, d?: date, at?: timestamp, s?: string, b?: boolean, n?: int, e?: decimal(5, 2)"
    of = query(spark, table, f'{attributes}, v: long from record "version"')
    values = {"d": "2020-01-01", "at": "2020-01-01T10:00:00.000005Z", "s": "a b/c=d%", "b": True, "n": -3}
    expected = [{"k": 1, **values, "e": 1.5, "v": 1}, {"k": 2, "v": 1}]
    assert of.run() == expected
    assert of.simulated() == expected
    if mode == "none":
        return
    table.call(d="day", s="d")
    renamed = pa.schema([of.with_name({"d": "day", "s": "d"}.get(of.name, of.name)) for of in PARTITIONS])
    table.write({"k": 3, "day": date(2021, 1, 1), "d": "z"}, schema=renamed)
    assert of.run()[2:] == [{"k": 3, "d": "2021-01-01", "s": "z", "v": 3}]


def test_a_snapshot_of_a_partitioned_table(spark: SparkSession, tmp_path: Path) -> None:
    """A table whose log has lost its first versions; the library says what its files are."""
    import deltalake

    table = DeltaTable(tmp_path, "name")
    table.create(PARTITIONS, partition_by=["d", "at", "s", "b", "n", "e"])
    table.write(*PARTITIONED, schema=PARTITIONS)
    deltalake.DeltaTable(table.path).create_checkpoint()
    for version in (0, 1):
        (table.log / f"{version:020}.json").unlink()
    table.entry({"commitInfo": {}})
    (table.log / f"{0:020}.json").rename(table.log / f"{2:020}.json")
    attributes = "k: long, d?: date, at?: timestamp, s?: string, b?: boolean, n?: int, e?: decimal(5, 2)"
    of = query(spark, table, attributes)
    first, second = of.run()
    assert (first["d"], first["at"], first["b"], first["e"]) == (
        "2020-01-01",
        "2020-01-01T10:00:00.000005Z",
        True,
        1.5,
    )
    assert second == {"k": 2}


def test_a_partition_that_is_not_of_the_type_sets_its_tuples_aside(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DeltaTable(tmp_path)
    table.write({"k": 1, "s": "x"}, partition_by=["s"])
    table.write({"k": 2, "s": "7"})
    of = query(spark, table, "k: long, s: long")
    assert of.run() == [{"k": 2, "s": 7}]
    (line,) = (tmp_path / "checkpoint" / "quarantine" / "r").glob("*.jsonl")
    assert "RQ301" in line.read_text()


def test_types_widen_from_file_to_file(spark: SparkSession, mapped: DeltaTable) -> None:
    of = query(spark, mapped, "k: long, t: double, u: double, n?: double")
    mapped.add_column("n", "integer")
    mapped.write({"k": 2, "t": 0.0, "u": 0.0, "n": 7}, schema=pa.schema([*SCHEMA, ("n", pa.int32())]))
    mapped.retype("n", "double")
    mapped.write({"k": 3, "t": 0.0, "u": 0.0, "n": 7.5})
    assert [row.get("n") for row in of.run()] == [None, 7.0, 7.5]


@pytest.mark.parametrize(
    ("actions", "message", "hint"),
    [
        (
            [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["variantType"]}}],
            "asks for variantType",
            "DROP FEATURE variantType",
        ),
        (None, "has given up its column mapping", "a new checkpoint"),
    ],
)
def test_what_no_reader_of_files_can_know_is_refused(
    spark: SparkSession, tmp_path: Path, actions: list[dict[str, object]] | None, message: str, hint: str
) -> None:
    table = DeltaTable(tmp_path, "name")
    table.create(SCHEMA)
    table.write({"k": 1, "t": 1.0, "u": 1.0})
    of = query(spark, table, "k: long, t: double, u: double")
    of.run()
    if actions is None:
        table.unmap()
    else:
        table.entry(*actions)
    error = error_of(of.run)
    assert error.code == "RQ472"
    assert message in error.message
    assert hint in (error.help or "")


def test_a_version_that_takes_rows_back_ends_a_query_over_mapped_columns(
    spark: SparkSession, mapped: DeltaTable
) -> None:
    import deltalake

    deltalake.DeltaTable(mapped.path).delete()
    with pytest.raises(DiagnosticError, match=r"RQ438.*version 2"):
        query(spark, mapped, "k: long, t: double, u: double").run()
