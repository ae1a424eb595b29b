"""Iceberg tables as streams: snapshot by snapshot, each row once, by the ids of fields."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.storage.iceberg import load_pyiceberg
from cedilla.runtime.epochs.pipeline import table_sources
from tests.kit.delta_tables import TableQuery
from tests.kit.errors import error_of
from tests.kit.iceberg_tables import IcebergTable
from tests.kit.tiers import rest, tiered

pytest.importorskip("pyiceberg")
pytestmark = pytest.mark.either_engine

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.float64()), ("n", pa.int32())])


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    table = IcebergTable(tmp_path)
    table.create(SCHEMA)
    table.write({"k": 1, "t": 10.0, "n": 1})
    return table


def query(spark: SparkSession, table: IcebergTable, attributes: str, more: str = "") -> TableQuery:
    text = f'stream r({attributes}) from iceberg "{table.path}"{more};\nemit r to json "out";\n'
    return TableQuery(spark, table.root, text)


def test_appends_are_read_once_by_the_names_of_the_start(spark: SparkSession, table: IcebergTable) -> None:
    """A rename, a swap, a name that is used again and a type that widens, before and after restarts."""
    from pyiceberg.types import LongType, StringType

    of = query(spark, table, "k: long, t: double, n: long, t_4?: string")
    assert of.run() == [{"k": 1, "t": 10.0, "n": 1}]
    assert of.run() == [{"k": 1, "t": 10.0, "n": 1}]
    table.alter(lambda of: of.rename_column("t", "u"))
    table.alter(lambda of: of.update_column("n", LongType()))
    table.write({"k": 2, "u": 20.0, "n": 5_000_000_000})
    table.swap("k", "n")
    table.write({"n": 3, "u": 30.0, "k": 7})
    table.alter(lambda of: of.add_column("t", StringType()))
    table.write({"n": 4, "u": 40.0, "k": 8, "t": "x"})
    expected = [
        {"k": 1, "t": 10.0, "n": 1},
        {"k": 2, "t": 20.0, "n": 5_000_000_000},
        {"k": 3, "t": 30.0, "n": 7},
        {"k": 4, "t": 40.0, "n": 8, "t_4": "x"},
    ]
    assert of.run() == expected
    assert "has `t`, which stream `r` reads as `t_4`" in of.notes
    later = TableQuery(
        spark, table.root / "later", of.text.replace("t: double", "u: double").replace("t_4", "t")
    )
    names = {"t": "u", "t_4": "t", "k": "n", "n": "k"}
    renamed = [{names[name]: value for name, value in row.items()} for row in expected]
    assert sorted(later.run(), key=lambda row: row["n"]) == renamed
    assert sorted(later.simulated(), key=lambda row: row["n"]) == renamed


def test_accents_name_the_schema_and_the_snapshot_of_a_row(spark: SparkSession, table: IcebergTable) -> None:
    from pyiceberg.types import StringType

    table.alter(lambda of: of.add_column("note", StringType()))
    table.write({"k": 2, "t": 0.5, "n": 1})
    attributes = (
        'schema: int from record "schema", at: long from record "snapshot", k: long, t: double unit l'
    )
    of = query(spark, table, attributes)
    of.text = "accent r [[schema >= 1, unit(t, m3)]];".join(of.text.rsplit("\n", 1))
    of.text = of.text.replace('to json "out"', 'to json "out" with t in l')
    first, second = table.snapshots()
    expected = [
        {"schema": 0, "at": first, "k": 1, "t": 10.0},
        {"schema": 1, "at": second, "k": 2, "t": 500.0},
    ]
    assert of.run() == expected


def test_a_column_may_have_the_name_of_a_field_of_records(spark: SparkSession, tmp_path: Path) -> None:
    table = IcebergTable(tmp_path)
    table.create(pa.schema([("k", pa.int64()), ("schema", pa.string())]))
    table.write({"k": 1, "schema": "x"})
    of = query(spark, table, 'k: long, schema: int from record "schema"')
    assert of.run() == of.simulated() == [{"k": 1, "schema": 0}]
    other = query(spark, IcebergTable(tmp_path), "k: long, schema: string")
    other.root = tmp_path / "other"
    assert other.run() == [{"k": 1, "schema": "x"}]


@pytest.mark.parametrize("is_rewritten", [False, rest(True)])
def test_a_snapshot_that_takes_rows_back_ends_the_query(
    spark: SparkSession, table: IcebergTable, is_rewritten: bool
) -> None:
    """All before it is committed; `gaps = skip` continues after it, and reports that."""
    table.write({"k": 2, "t": 20.0, "n": 2}, {"k": 3, "t": 30.0, "n": 2})
    table.table.delete("k = 3" if is_rewritten else "n = 2")
    taken = table.snapshots()[-1]
    table.write({"k": 4, "t": 40.0, "n": 4})
    of = query(spark, table, "k: long, t: double")
    for _ in range(2):
        with pytest.raises(
            DiagnosticError,
            match=rf"RQ438.*snapshot {taken} .*{'rewrites' if is_rewritten else 'deletes'} rows",
        ):
            of.run()
        assert [row["k"] for row in of.rows()] == [1, 2, 3]
    of.text += "set gaps = skip;\n"
    assert [row["k"] for row in of.run(yes=True)] == [1, 2, 3, 4]
    assert f"snapshot {taken}" in of.notes


def test_snapshots_that_have_expired(spark: SparkSession, table: IcebergTable) -> None:
    """Loudly where they were not read; a new query begins with what the table has."""
    of = query(spark, table, "k: long, t: double")
    of.run()
    for k in (2, 3):
        table.write({"k": k, "t": float(k)})
    first, second, _ = table.snapshots()
    table.expire(first)
    assert [row["k"] for row in of.run()] == [1, 2, 3]  # what expired was read
    table.write({"k": 4, "t": 4.0})
    table.write({"k": 5, "t": 5.0})
    table.expire(second, *table.snapshots()[-3:-1])
    with pytest.raises(DiagnosticError, match=r"RQ439.*snapshots between \d+ and \d+ have left the log"):
        of.run()
    later = TableQuery(spark, table.root / "later", of.text)
    assert [row["k"] for row in later.run()] == [1, 2, 3, 4, 5]


def test_a_rollback_is_told(spark: SparkSession, table: IcebergTable) -> None:
    table.write({"k": 2, "t": 2.0})
    of = query(spark, table, "k: long, t: double")
    of.run()
    first, second = table.snapshots()
    table.table.manage_snapshots().rollback_to_snapshot(first).commit()
    table.write({"k": 3, "t": 3.0})
    with pytest.raises(DiagnosticError, match=rf"RQ438.*snapshot {second} .*no longer in the history"):
        of.run()
    of.text += "set gaps = skip;\n"
    of.run(yes=True)
    table.write({"k": 4, "t": 4.0})
    assert [row["k"] for row in of.run()] == [1, 2, 4]


PARTITIONS = pa.schema(
    [
        *(("k", pa.int64()), ("d", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("s", pa.string())),
        *(("b", pa.bool_()), ("n", pa.int32()), ("e", pa.decimal128(5, 2)), ("local", pa.timestamp("us"))),
    ]
)


def test_partitions_are_fields_also_where_files_lack_them(spark: SparkSession, tmp_path: Path) -> None:
    """Files that came from Hive have neither the columns of partitions nor ids of fields."""
    table = IcebergTable(tmp_path)
    table.create(PARTITIONS, ("d", "at", "s", "b", "n", "e", "local"))
    moment = 1_577_872_800_000_005  # 2020-01-01T10:00:00.000005Z
    table.add_bare(pa.table({"k": [1]}), (18262, moment, "a b/c=d%", True, -3, Decimal("1.50"), moment))
    table.add_bare(pa.table({"k": [2]}), (None,) * 7)
    attributes = "k: long, d?: date, at?: timestamp, s?: string, b?: boolean, n?: int, e?: decimal(5, 2)"
    of = query(spark, table, f"{attributes}, local?: timestamp")
    assert error_of(of.run).code == "RQ414"
    with table.table.transaction() as change:
        change.set_properties({"schema.name-mapping.default": '[{"field-id": 1, "names": ["k"]}]'})
    of = TableQuery(spark, tmp_path / "mapped", of.text)
    texts = {"at": "2020-01-01T10:00:00.000005Z", "local": "2020-01-01T10:00:00.000005Z"}
    expected = [{"k": 1, "d": "2020-01-01", "s": "a b/c=d%", "b": True, "n": -3, "e": 1.5, **texts}, {"k": 2}]
    assert of.run() == expected
    assert of.simulated() == expected


def test_partitions_that_files_have(spark: SparkSession, tmp_path: Path) -> None:
    table = IcebergTable(tmp_path)
    table.create(SCHEMA, ("t", "n"))
    table.write({"k": 1, "t": 0.1, "n": 3}, {"k": 2})
    of = query(spark, table, "k: long, t?: double, n?: int")
    assert of.run() == of.simulated() == [{"k": 1, "t": 0.1, "n": 3}, {"k": 2}]


def test_a_table_of_a_catalog(
    spark: SparkSession, table: IcebergTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the library's own configuration; restarts go on, and the reference reads it, too."""
    from pyiceberg.utils.config import Config

    for name, value in table.properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
    monkeypatch.setattr(
        "pyiceberg.catalog._ENV_CONFIG", Config()
    )  # the library reads them when it is imported
    of = query(spark, table, "k: long, t: double")
    of.text = of.text.replace(str(table.path), "lake:db.r")
    assert of.run() == [{"k": 1, "t": 10.0}]
    table.write({"k": 2, "t": 2.0})
    assert of.run() == of.simulated() == [{"k": 1, "t": 10.0}, {"k": 2, "t": 2.0}]
    of.text = of.text.replace("lake:db.r", "lake:db.nothing")
    assert error_of(lambda: of.run(yes=True)).code == "RQ439"
    of.text = of.text.replace("lake:", "other:")
    error = error_of(lambda: of.run(yes=True))
    assert error.code == "RQ530"
    assert "PYICEBERG_CATALOG__OTHER__URI" in (error.help or "")


def test_a_metadata_file_is_a_table_as_it_was(spark: SparkSession, table: IcebergTable) -> None:
    file = table.table.metadata_location.removeprefix("file://")
    table.write({"k": 2, "t": 2.0})
    of = query(spark, table, "k: long, t: double")
    of.text = of.text.replace(str(table.path), file)
    assert of.run() == [{"k": 1, "t": 10.0}]


def test_two_metadata_files_with_one_number_are_refused(spark: SparkSession, table: IcebergTable) -> None:
    """A writer that lost a commit leaves its file, and only the catalog knows which counts."""
    newest = max((table.path / "metadata").glob("*.metadata.json"))
    (newest.parent / f"{newest.name[:5]}-other.metadata.json").write_bytes(newest.read_bytes())
    error = error_of(query(spark, table, "k: long").run)
    assert error.code == "RQ439"
    assert "CATALOG:NAMESPACE.TABLE" in (error.help or "")


def test_another_table_at_the_same_place_is_refused(spark: SparkSession, table: IcebergTable) -> None:
    import shutil

    of = query(spark, table, "k: long, t: double")
    of.run()
    table.catalog.drop_table("db.r")
    shutil.rmtree(table.path)
    table.create(SCHEMA)
    table.write({"k": 9, "t": 9.0})
    assert error_of(of.run).code == "RQ452"


@pytest.mark.parametrize("content", tiered(["{}", "", '{"format-version": 2, "table-uuid": 1}', "\0"]))
def test_metadata_that_is_none_is_a_code(spark: SparkSession, table: IcebergTable, content: str) -> None:
    newest = max((table.path / "metadata").glob("*.metadata.json"))
    newest.write_text(content)
    assert error_of(query(spark, table, "k: long").run).code == "RQ439"


def test_a_manifest_that_is_gone_or_damaged_is_a_code(spark: SparkSession, table: IcebergTable) -> None:
    of = query(spark, table, "k: long")
    (manifest,) = (table.path / "metadata").glob("*-m0.avro")
    content = manifest.read_bytes()
    manifest.write_bytes(content[: len(content) // 2])
    assert error_of(of.run).code in ("RQ439", "RQ431")
    manifest.unlink()
    assert error_of(of.run).code == "RQ431"


def test_a_folder_without_metadata_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = IcebergTable(tmp_path)
    table.path.mkdir(parents=True)
    assert error_of(query(spark, table, "k: long").run).code == "RQ439"


def test_a_table_without_rows_is_fine(spark: SparkSession, tmp_path: Path) -> None:
    table = IcebergTable(tmp_path)
    table.create(SCHEMA)
    of = query(spark, table, "k: long, t: double")
    assert of.run() == []
    table.alter(lambda of: of.rename_column("t", "u"))
    table.write({"k": 1, "u": 2.0})
    assert of.run() == [{"k": 1, "t": 2.0}]


def test_markers_wait_for_snapshots_of_later_looks(
    spark: SparkSession, table: IcebergTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sources, "_MAX_VERSIONS", 1)
    table.write({"k": 2, "t": 20.0})
    (table.root / "ops").mkdir()
    (table.root / "ops" / "1.jsonl").write_text('{"$accent": "[[alter(t, y -> y * 10)]]"}\n')
    table.write({"k": 3, "t": 300.0})
    of = query(spark, table, "k: long, t: double", f' markers "{table.root / "ops"}"')
    assert [row["t"] for row in of.run()] == [10.0, 20.0, 300.0]


def test_what_iceberg_cannot_be_in_a_query() -> None:
    with pytest.raises(DiagnosticError, match="RQ473"):
        compile_query('table r(k: long) from iceberg "r";\nemit r to json "out";')
    with pytest.raises(DiagnosticError, match=r"RQ503.*no field `version`"):
        compile_query('stream r(k: long from record "version") from iceberg "r";\nemit r to json "out";')


def test_the_library_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyiceberg", "pyiceberg.catalog", "pyiceberg.table"):
        monkeypatch.setitem(sys.modules, name, None)
    error = error_of(load_pyiceberg)
    assert (error.code, error.help) == ("RQ471", "pip install 'cedilla[iceberg]'")
