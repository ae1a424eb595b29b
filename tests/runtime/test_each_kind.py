"""One run of each kind of accent and of each format, on an engine and by the reference: what `make quick` asks of
runs, with the examples of operators (`docs/test_examples.py`). A kind that is new needs a case here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.compiler.plan.formats import SOURCES
from tests.kit.accents import CHANGES, EXAMPLES, ROW, STREAM
from tests.kit.iceberg_tables import IcebergTable
from tests.kit.otlp import request
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import rest
from tests.runtime.control.accents.streams_in_formats import write

pytestmark = [pytest.mark.either_engine, pytest.mark.quick]


@pytest.mark.parametrize("kind", [name if name in CHANGES else rest(name) for name in EXAMPLES])
def test_a_tuple_after_an_accent_has_its_canonical_values(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    example, run = EXAMPLES[kind], Query(spark, tmp_path, STREAM)
    run.write("r", [ROW, {"$accent": example.accent}, example.written])
    assert run.agreed()[1] == []
    assert run.canonical("r") == [ROW, example.meant]


TUPLES: list[Item] = [{"n": 1, "t": 50.0, "city": "Oslo"}, {"n": 2, "t": 86.0}]
IN_FORMAT = 'stream r(n: long, t: double, city?: string) from {} "r" markers "ops"; emit r to json "out";'
POINTS = """
stream r(n: long from attribute "n", t: double from "value", city?: string from attribute "city")
  from otlp "r" markers "ops";
emit r to json "out";
"""


def write_delta(path: Path, rows: list[Item]) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(path.parent, pa.Table.from_pylist(rows), mode="append")


def write_iceberg(path: Path, rows: list[Item]) -> None:
    pytest.importorskip("pyiceberg")
    table = IcebergTable(path.parents[2] / "catalog")
    content = pa.Table.from_pylist(rows)
    table.create(content.schema, location=f"file://{path.parent}")
    table.table.append(content)


def write_otlp(path: Path, rows: list[Item]) -> None:
    points = [
        {
            "metric": "m",
            "time": 0,
            "double": row["t"],
            "attributes": {n: v for n, v in row.items() if n != "t"},
        }
        for row in rows
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(request(points) + "\n")


def in_format(name: str) -> Callable[[Path, list[Item]], None]:
    return lambda path, rows: write(path, rows, name)


WRITTEN = {
    "delta": write_delta,
    "iceberg": write_iceberg,
    "otlp": write_otlp,
    **{n: in_format(n) for n in ("csv", "json", "parquet", "xml")},
}
OF_SERVERS = {"kafka", "kafka_otlp"}
"""Their records come from a broker, which is written in Java (`connectors/topics/test_kafka.py`)."""


@pytest.mark.parametrize("format_", [name for name in SOURCES if name not in OF_SERVERS])
def test_a_format_brings_tuples_after_an_accent(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    run = Query(spark, tmp_path, POINTS if format_ == "otlp" else IN_FORMAT.format(format_))
    run.write("r.markers", [{"$accent": "[[alter(t, y -> y * 9/5 + 32)]]"}])
    WRITTEN[format_](tmp_path / "in" / "r" / f"1.{format_}", TUPLES)
    run.run()
    expected = [{**row, "t": canonical} for row, canonical in zip(TUPLES, (10.0, 30.0), strict=True)]
    assert run.canonical("r") == expected
    assert run.simulate().canonical("r") == expected
