"""One run of each kind of accent and of each format, on an engine and by the reference: what `make quick` asks of
runs, with the examples of operators (`docs/test_examples.py`). A kind that is new needs a case here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import frozen
from pyspark.sql import SparkSession

from cedilla.compiler import changes
from cedilla.compiler.changes import ALL
from cedilla.compiler.plan.formats import FORMATS, SOURCES
from tests.kit.otlp import request
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.runtime.control.accents.streams_in_formats import write

pytestmark = [pytest.mark.either_engine, pytest.mark.quick]


@frozen
class Change:
    """An accent of a stream that is declared with an attribute, a tuple after it, and its values in the query."""

    declared: str
    accent: str
    raw: Item
    canonical: Item


ACCENTS = {
    changes.Add: Change("t?: double", "+(p: double)", {"t": 1.0, "p": 2.0}, {"t": 1.0, "p": 2.0}),
    changes.Drop: Change("t?: double", "-(t)", {}, {}),
    changes.Alter: Change("t: double", "alter(t, y -> y * 9/5 + 32)", {"t": 68.0}, {"t": 20.0}),
    changes.ToUnit: Change("t: double unit degC", "unit(t, degF)", {"t": 68.0}, {"t": 20.0}),
    changes.Rename: Change("t: double", "rename(temp, t)", {"temp": 5.0}, {"t": 5.0}),
    changes.Recode: Change(
        'k: string in {"M", "F"}', 'recode(k, {"M": "1", "F": "2"})', {"k": "1"}, {"k": "M"}
    ),
    changes.SourceAlter: Change("t: double", "alter(t, y -> 240 / y)", {"t": 30.0}, {"t": 8.0}),
    changes.ToLevel: Change("t: double unit mW", "unit(t, dBm)", {"t": 20.0}, {"t": 100.0}),
    changes.Missing: Change("t?: double", "missing(t, {-999})", {"t": -999.0}, {}),
    changes.Swap: Change("a: double, b: double", "swap(a, b)", {"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 2.0}),
    changes.Grow: Change("s: int in {1, 2}", "grow(s, {3})", {"s": 3}, {"s": 3}),
    changes.ToZone: Change(
        "at: timestamp",
        'zone(at, "Europe/Berlin")',
        {"at": "2026-01-01T01:00:00"},
        {"at": "2026-01-01T00:00:00.000000Z"},
    ),
    changes.ToSign: Change("x: double", 'decimal(x, ",")', {"x": "1,5"}, {"x": 1.5}),
}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_tuple_after_an_accent_has_its_canonical_values(
    spark: SparkSession, tmp_path: Path, kind: type
) -> None:
    change = ACCENTS[kind]
    query = f'stream r(n: long, {change.declared}) from json "r"; emit r to json "out";'
    run = Query(spark, tmp_path, query)
    run.write("r", [{"$accent": f"[[{change.accent}]]"}, {"n": 1, **change.raw}])
    assert run.agreed()[1] == []
    assert run.canonical("r") == [{"n": 1, **change.canonical}]


TUPLES: list[Item] = [{"n": 1, "t": 50.0, "city": "Oslo"}, {"n": 2, "t": 86.0}]
STREAM = 'stream r(n: long, t: double, city?: string) from {} "r" markers "ops"; emit r to json "out";'
POINTS = """
stream r(n: long from attribute "n", t: double from "value", city?: string from attribute "city")
  from otlp "r" markers "ops";
emit r to json "out";
"""


def write_delta(path: Path, rows: list[Item]) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(path.parent, pa.Table.from_pylist(rows), mode="append")


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
    "otlp": write_otlp,
    **{n: in_format(n) for n in ("csv", "json", "parquet", "xml")},
}
OF_SERVERS = {"kafka", "kafka_otlp"}
"""Their records come from a broker, which is written in Java (`connectors/topics/test_kafka.py`)."""


@pytest.mark.parametrize("format_", [name for name in SOURCES if name not in OF_SERVERS])
def test_a_format_brings_tuples_after_an_accent(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    run = Query(spark, tmp_path, POINTS if format_ == "otlp" else STREAM.format(format_))
    run.write("r.markers", [{"$accent": "[[alter(t, y -> y * 9/5 + 32)]]"}])
    WRITTEN[format_](tmp_path / "in" / "r" / f"1.{format_}", TUPLES)
    run.run()
    expected = [{**row, "t": canonical} for row, canonical in zip(TUPLES, (10.0, 30.0), strict=True)]
    assert run.canonical("r") == expected
    if FORMATS[format_].simulated:
        assert run.simulate().canonical("r") == expected
