"""Files of Parquet as sources have them, and the files of an output."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.records.marker_files import in_stream_order
from tests.kit.query import Query, save_parquet
from tests.kit.stream import Item

COLUMNS = "ts BIGINT, s INT, t DOUBLE, note STRING, `$accent` STRING, `$punctuation` STRING"

ARROW = {"BIGINT": pa.int64(), "INT": pa.int32(), "DOUBLE": pa.float64(), "STRING": pa.string()}


def write_rows(run: Query, number: int, items: Sequence[Item], columns: str = COLUMNS) -> Path:
    """A file of the source `r`, as others than Spark write it."""
    parts = [column.split(" ") for column in columns.replace("`", "").split(", ")]
    table = pa.Table.from_pylist(
        list(items), schema=pa.schema([(name, ARROW[type_]) for name, type_ in parts])
    )
    return run.write_table("r", table, number)


def rows_of_file(spark: SparkSession, path: Path) -> list[Item]:
    """The rows of a file as it has them, without what is null; of a file of markers its lines."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    rows = spark.read.parquet(str(path)).collect()
    return [{name: v for name, v in row.asDict().items() if v is not None} for row in rows]


def file_names(folder: Path) -> list[str]:
    return [re.sub("-0000.", "", file.name) for file in files_in_order(folder)]


def files_in_order(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch=*/*"), key=lambda file: in_stream_order(str(file)))


def write_typed_rows(run: Query, number: int, **columns: str) -> Path:
    """A file of one row for each value, whose columns are given as SQL."""
    frame = run.spark.sql(f"SELECT {', '.join(f'{sql} AS `{name}`' for name, sql in columns.items())}")
    return save_parquet(frame, run.root / "in" / "r" / f"{number}.parquet")
