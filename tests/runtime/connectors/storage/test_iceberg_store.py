"""Tables of Iceberg in an object store, against a server of this machine that speaks the protocol of S3."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from tests.kit.delta_tables import rows_in

pytest.importorskip("pyiceberg")

READS = 'stream r(k: long, t: double) from iceberg "in";\nemit r to json "out";\n'


@pytest.mark.rest
def test_a_table_in_a_store_is_read_by_its_folder(sail: SparkSession, tmp_path: Path, bucket: str) -> None:
    """With the account of the environment; a run that comes later reads what is new, by the same names."""
    from pyiceberg.catalog import load_catalog

    server = {"s3.endpoint": os.environ["AWS_ENDPOINT_URL"]}
    catalog = load_catalog("s", type="sql", uri=f"sqlite:///{tmp_path / 'c.db'}", warehouse=bucket, **server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.r", pa.schema([("k", pa.int64()), ("t", pa.float64())]))

    def read() -> list[tuple[int, float]]:
        chosen = Options(
            once=True,
            sources={"r": table.location()},
            sinks={"r": str(tmp_path / "out")},
            checkpoint=str(tmp_path / "reads"),
        )
        run(READS, chosen, spark=sail)
        return [(row["k"], row["t"]) for row in rows_in(tmp_path / "out")]

    table.append(pa.table({"k": [1], "t": [1.0]}))
    assert read() == [(1, 1.0)]
    with table.update_schema() as change:
        change.rename_column("t", "u")
    table.append(pa.table({"k": [2], "u": [2.0]}))
    assert read() == [(1, 1.0), (2, 2.0)]
