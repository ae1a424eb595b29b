"""Outputs as a data source of PySpark, for batches, streams and declarative pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import cedilla
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit import ROOT
from tests.kit.lines import write_files

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double unit litre) from json "pumps" punctuated on ts;
emit pumps to json "flow";
"""
FILES = {
    "1.jsonl": b'{"ts": 1, "pump": 1, "litres": 2}\n{"$accent": "[[unit(litres, m3)]]"}\n',
    "2.jsonl": b'{"$accent": "[[+(place: string)]]"}\n{"ts": 2, "pump": 1, "litres": 0.5, "place": "x"}\n',
    "3.jsonl": b'{"ts": 3, "pump": 2, "litres": 0.25}\n',
}
CANONICAL = [(1, 2.0, None), (2, 500.0, "x"), (3, 250.0, None)]


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    """An output of three epochs, in two units."""
    write_files(tmp_path / "pumps", FILES)
    (tmp_path / "q.rq").write_text(QUERY)
    query = cedilla.query(tmp_path / "q.rq")
    arguments: dict[str, Any] = {
        "sources": {"pumps": tmp_path / "pumps"},
        "sinks": {"flow": tmp_path / "flow"},
    }
    query.run(**arguments, checkpoint=tmp_path / "ck", once=True, files_per_epoch=1, engine="sail")
    return tmp_path / "flow"


def source(flow: Path, **options: str) -> cedilla.DataSource:
    return cedilla.DataSource({"path": str(flow), **options})


def sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((row["ts"], row["litres"], row.get("place")) for row in table.to_pylist())


def batches(flow: Path, **options: str) -> list[tuple[Any, ...]]:
    data_source = source(flow, **options)
    reader: Any = data_source.reader(data_source.schema())
    return sorted_rows(pa.Table.from_batches([*reader.read(reader.partitions()[0])]))


def test_units_are_canonical_latest_or_named(flow: Path) -> None:
    query = str(flow.parent / "q.rq")
    assert batches(flow) == batches(flow, query=query) == CANONICAL
    assert batches(flow, units="latest") == [
        (ts, litres / 1000, position) for ts, litres, position in CANONICAL
    ]
    named = {"query": query, "with": "litres in cm3"}
    assert batches(flow, **named) == [(ts, litres * 1000, position) for ts, litres, position in CANONICAL]


@pytest.mark.parametrize("options", [{}, {"query": "q.rq", "with": "litres in m3"}])
def test_a_stream_reads_each_epoch_once(
    flow: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    """Epochs before are read for their accents, however the stream is cut."""
    monkeypatch.chdir(flow.parent)
    data_source = source(flow, **options)
    schema = data_source.schema()
    reader: Any = data_source.streamReader(schema)
    assert reader.initialOffset() == {"epoch": -1}
    assert reader.latestOffset() == {"epoch": 2}
    factor = 1000 if options else 1
    for cuts in ([-1, 2], [-1, 0, 1, 2], [-1, 1, 2]):
        parts = [reader.partitions({"epoch": a}, {"epoch": b}) for a, b in pairwise(cuts)]
        tables = [pa.Table.from_batches([*reader.read(part)]) for (part,) in parts]
        assert [row for table in tables for row in sorted_rows(table)] == [
            (ts, litres / factor, position) for ts, litres, position in CANONICAL
        ]


EXACT = """
stream pumps(ts: long, n: long unit ms, cost: decimal(12, 3) unit litre, t: double unit degF)
  from json "pumps"
  punctuated on ts;
sums := aggregate[sum(n) as n, sum(cost) as cost, collect(t) as all by w](window[10 on ts as w](pumps));
emit sums to json "sums";
"""


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """An output of whole numbers, decimals and lists with units."""
    write_files(
        tmp_path / "pumps",
        {"1.jsonl": b'{"ts": 1, "n": 9007199254740993, "cost": 140.125, "t": 50}\n{"$punctuation": "[]"}\n'},
    )
    (tmp_path / "q.rq").write_text(EXACT)
    simulate(
        tmp_path / "q.rq",
        Options(sources={"pumps": str(tmp_path / "pumps")}, sinks={"sums": str(tmp_path / "sums")}),
    )
    return tmp_path / "sums"


def read_all(flow: Path, schema: Any = None, **options: str) -> list[dict[str, Any]]:
    reading = source(flow, query=str(flow.parent / "q.rq"), **options)
    reader: Any = reading.reader(schema or reading.schema())
    return pa.Table.from_batches([*reader.read(reader.partitions()[0])]).to_pylist()


def test_whole_numbers_decimals_and_lists_are_exact_in_named_units(sums: Path) -> None:
    (row,) = read_all(sums, **{"with": "n in s, cost in m3, all in degC"})
    assert row == {
        "w": 0,
        "n": Decimal("9007199254740.993"),
        "cost": Decimal("0.140125"),
        "all": [10.0],
    }
    (row,) = read_all(sums, **{"with": "n in us, cost in ft**3"})
    assert row["n"] == 9007199254740993000
    assert row["cost"] == pytest.approx(4.9484676)
    with pytest.raises(cedilla.DiagnosticError, match="RQ490"):
        read_all(sums, **{"with": "n in ps"})


def test_a_value_that_the_schema_does_not_hold_is_refused(sums: Path) -> None:
    for type_ in (pa.int64(), pa.decimal128(12, 2)):
        with pytest.raises(cedilla.DiagnosticError, match="RQ423"):
            read_all(sums, from_arrow_schema(pa.schema([("cost", type_)])), **{"with": "cost in ft**3"})


def test_options_that_do_not_fit_are_refused(flow: Path) -> None:
    schema = from_arrow_schema(pa.schema([("ts", pa.int64())]))
    query = str(flow.parent / "q.rq")
    for options, expected in (
        ({"untis": "latest"}, "did you mean `units`?"),
        ({"with": "litres in m3"}, "units are known by the query"),
        ({"query": query, "with": "ts in s"}, "attributes with units: litres in"),
        ({"query": query, "with": "litres in kWh"}, "different kinds of quantity"),
    ):
        with pytest.raises(cedilla.DiagnosticError, match="RQ490") as caught:
            source(flow, **options).reader(schema)
        assert expected in f"{caught.value.diagnostics[0].message} {caught.value.diagnostics[0].help}"
    with pytest.raises(cedilla.DiagnosticError, match="RQ490"):
        source(flow, units="latest").streamReader(schema)
    with pytest.raises(cedilla.DiagnosticError, match="RQ421"):
        source(flow.parent / "none").schema()


@pytest.mark.rest
def test_spark_reads_an_output_by_its_format(spark: SparkSession, flow: Path) -> None:
    def tuples(frame: DataFrame) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, frame.select("ts", "litres", "place").collect()))

    spark.dataSource.register(
        cedilla.DataSource
    )  # PySpark looks for packages on disk: this one is editable here
    frame = spark.read.format("cedilla").load(str(flow))
    assert tuples(frame) == CANONICAL
    stream = spark.readStream.format("cedilla").schema(frame.schema).load(str(flow))
    started = stream.writeStream.format("memory").queryName("flow_rows").trigger(availableNow=True)
    started.option("checkpointLocation", str(flow.parent / "stream")).start().awaitTermination()
    assert tuples(spark.table("flow_rows")) == CANONICAL


PIPELINE = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()


@dp.materialized_view
def totals():
    rows = spark.read.format("cedilla").load({flow!r})
    return rows.groupBy("pump").agg(F.sum("litres").alias("litres"))
"""


@pytest.mark.soak
@pytest.mark.java
def test_a_declarative_pipeline_reads_an_output(flow: Path) -> None:
    project = flow.parent / "project"
    write_files(
        project,
        {
            "spark-pipeline.yml": json.dumps(
                {
                    "name": "pumps",
                    "storage": (project / "storage").as_uri(),
                    "libraries": [{"glob": {"include": "steps/**"}}],
                }
            ).encode(),
            "steps/totals.py": PIPELINE.format(flow=str(flow)).encode(),
        },
    )
    command = Path(sys.executable).parent / "spark-pipelines"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment["PYTHONPATH"] = str(ROOT / ".links")
    done = subprocess.run(
        [str(command), "run", "--spec", str(project / "spark-pipeline.yml")],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    files = [*(project / "spark-warehouse").rglob("*.parquet")]
    rows = sorted(row["litres"] for file in files for row in pq.read_table(file).to_pylist())
    assert rows == [250.0, 502.0]
