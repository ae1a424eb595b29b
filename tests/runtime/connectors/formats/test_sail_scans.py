"""Scans of Parquet by Sail: which files it reads by itself, with which values, and what it would miss."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isnan, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile
from pyspark.sql import SparkSession

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.formats.parquet import source
from cedilla.runtime.connectors.formats.parquet.row_groups import values_in
from cedilla.runtime.connectors.formats.parquet.sail_scans import Stays, is_of_sail
from cedilla.runtime.connectors.formats.parquet.source import Parquet
from cedilla.runtime.connectors.formats.source import InputFile
from tests.kit.errors import error_of
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple

QUERY = """
stream r(k: long, v: string, x: double) from parquet "in";
some := select[x > 1](r);
emit some to json "out";
"""
ROWS = pa.table({"k": [1, 2, 3], "v": ["a", "b", "c"], "x": [nan, 1.0, 2.0]})


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The columns that tasks read, or the driver for markers."""
    columns_read = set[str]()
    original = ParquetFile.iter_batches

    def watched(file: Any, *options: Any, columns: list[str], **more: Any) -> Iterator[pa.RecordBatch]:
        columns_read.update(columns)
        return original(file, *options, columns=columns, **more)

    monkeypatch.setattr(ParquetFile, "iter_batches", watched)
    return columns_read


def tuples(run: Query) -> list[Item]:
    return sorted(filter(is_tuple, run.output("some")), key=lambda row: row["k"])


def test_sail_reads_files_of_valid_tuples_by_itself(
    sail: SparkSession, tmp_path: Path, by_tasks: set[str]
) -> None:
    """With columns in another order, of another type, and with another name of the folder."""
    run = Query(sail, tmp_path, QUERY)
    run.write_table("r", ROWS, 1)
    run.write_table("r/h=1", ROWS.select(["x", "v", "k"]).set_column(0, "x", pa.array([3, 0, 4])), 2)
    run.process()
    expected = [(1, "a", "NaN"), (1, "a", 3.0), (3, "c", 2.0), (3, "c", 4.0)]
    assert sorted(((row["k"], row["v"], row["x"]) for row in tuples(run)), key=str) == expected
    assert "k" not in by_tasks


def test_units_of_earlier_epochs_are_undone_in_a_scan(
    sail: SparkSession, tmp_path: Path, by_tasks: set[str]
) -> None:
    """The epoch of the accent itself needs the positions of tuples."""
    run = Query(sail, tmp_path, QUERY)
    executor = run.executor()
    accent = pa.table({"$accent": ["[[alter(x, y -> y * 10)]]"]})
    for number, table in enumerate((ROWS, accent, ROWS), 1):
        run.write_table("r", table, number)
        run.go_on(executor, number - 1)
    assert "k" not in by_tasks
    assert [row["k"] for row in tuples(run)] == [1, 1, 3]


@pytest.mark.parametrize("case", ["a marker between", "a hidden name", "a dictionary", "an order"])
def test_other_files_are_read_by_tasks(
    sail: SparkSession, tmp_path: Path, by_tasks: set[str], case: str
) -> None:
    """Sail would take the marker for a tuple, pass over the file, or refuse the column; it gives no order."""
    text = QUERY.replace("(r);", "(limit[2](r));") if case == "an order" else QUERY
    run = Query(sail, tmp_path, text.replace("k:", "k?:").replace("v:", "v?:").replace("x:", "x?:"))
    table = ROWS
    if case == "a marker between":
        table = pa.concat_tables([ROWS, pa.table({"$punctuation": ["[k < 9]"]})], promote_options="default")
    if case == "a dictionary":
        table = ROWS.set_column(1, "v", ROWS["v"].dictionary_encode())
    path = run.write_table("r", table, 1)
    if case == "a hidden name":
        files = {0: InputFile(str(path.rename(path.with_name(".1.parquet"))))}
        types = {name: Type(kind) for name, kind in (("k", "long"), ("v", "string"), ("x", "double"))}
        assert Parquet().read(sail, files, types, "").unplaced is None
        return
    run.process()
    assert [row["k"] for row in tuples(run)] == ([1] if case == "an order" else [1, 3])
    assert "k" in by_tasks


STORED: Mapping[str, tuple[str, pa.Array]] = {
    "large": ("string", pa.array(["a", None, "é"], pa.large_string())),
    "u8": ("int", pa.array([255, None, 0], pa.uint8())),
    "u32": ("long", pa.array([2**32 - 1, None, 0], pa.uint32())),
    "i8": ("int", pa.array([-128, None, 0], pa.int8())),
    "flag": ("boolean", pa.array([True, None, False])),
    "date": ("date", pa.array([date(1960, 1, 2), None, date(9999, 12, 31)])),
    "ms": (
        "timestamp",
        pa.array([datetime(1960, 1, 2, 3, tzinfo=UTC), None, None], pa.timestamp("ms", "UTC")),
    ),
    "zone": ("timestamp", pa.array([datetime(2000, 1, 2), None, None], pa.timestamp("us", "Europe/Zurich"))),
    "local": ("timestamp", pa.array([datetime(2100, 1, 2, 3, 4, 5), None, None], pa.timestamp("us"))),
    "decimal": ("decimal", pa.array([Decimal("1.25"), None, Decimal("-9.99")], pa.decimal128(3, 2))),
    "float": ("double", pa.array([0.1, None, nan], pa.float32())),
    "whole": ("double", pa.array([1, None, 3], pa.int32())),
    "a.b": ("long", pa.array([1, None, 2])),
    "d`e": ("long", pa.array([1, None, 2])),
}


def test_a_scan_has_the_values_of_tasks(sail: SparkSession, tmp_path: Path) -> None:
    run = Query(sail, tmp_path, "")
    path = run.write_table("r", pa.table({name: values for name, (_, values) in STORED.items()}), 1)
    files = {0: InputFile(str(path))}
    for name, (kind, _) in STORED.items():
        types = {name: Type(kind, (3, 2) if kind == "decimal" else ())}
        batch = Parquet().read(sail, files, types, "")
        assert batch.unplaced is not None, name
        of_tasks, of_scan = (frame.toArrow() for frame in (batch.rows, batch.unplaced.rows()))  # type: ignore
        assert of_scan.schema.field(0).type == of_tasks.schema.field(0).type, name
        assert shown(of_scan, name) == shown(of_tasks, name), name


def shown(table: pa.Table, name: str) -> list[Any]:
    values = table.column(name).to_pylist()
    return ["NaN" if isinstance(value, float) and isnan(value) else value for value in values]


@pytest.mark.parametrize("change", [Path.unlink, lambda path: shutil.copy(path, path.with_name("2"))])
def test_a_file_that_was_away_is_noticed(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """Sail has no rows for a file that it does not find. A copy in its place has another number."""
    path = tmp_path / "1"
    path.write_bytes(b"1")
    stays = Stays.of([str(path)])
    stays.check()
    change(path)
    if path.exists():
        path.with_name("2").rename(path)
    error = error_of(stays.check)
    assert (error.code, error.message) == (
        "RQ414",
        f"{path} cannot be read as Parquet: it has changed while it was read",
    )


def test_an_epoch_whose_file_was_away_is_computed_again(
    sail: SparkSession, tmp_path: Path, by_tasks: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Query(sail, tmp_path, QUERY)
    path = run.write_table("r", ROWS, 1)
    opened = source.Unplaced

    def away(rows: Callable[[], Any], check: Callable[[], None]) -> Any:
        def without_file() -> Any:
            frame = rows()
            path.rename(path.with_name("away"))
            return frame.where("k > 0")

        def back() -> None:
            shutil.copy(path.with_name("away"), path)
            check()

        return opened(without_file, back)

    monkeypatch.setattr(source, "Unplaced", away)
    run.process()
    assert [row["k"] for row in tuples(run)] == [1, 3]
    assert "k" in by_tasks


def test_only_errors_of_scans_are_of_sail() -> None:
    assert is_of_sail(RuntimeError("Parquet argument error: Parquet error: EOF"))
    assert not is_of_sail(RuntimeError("[DIVIDE_BY_ZERO] Division by zero."))


def test_a_dictionary_of_all_texts_is_not_made_where_they_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows say that there are very many: the column is not read as a whole."""
    run = Query.without_engine(tmp_path, "")
    rows = 100_000
    columns = {"many": pa.array(range(rows)).cast(pa.string()), "one": pa.array(["a"] * rows)}
    path = run.write_table("r", pa.table(columns), 1, row_group_size=50_000)
    read: list[list[str]] = []
    original = ParquetFile.read_row_group

    def watched(file: Any, number: int, columns: list[str], **options: Any) -> pa.Table:
        read.append(columns)
        return original(file, number, columns=columns, **options)

    monkeypatch.setattr(ParquetFile, "read_row_group", watched)
    assert values_in(str(path), {"many": "many", "one": "one"}, 0, rows) == {"many": None, "one": {"a": rows}}
    assert read == [["one"], ["one"]]
