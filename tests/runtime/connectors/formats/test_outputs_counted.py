"""How many tuples an epoch has written is read off its files, whatever is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.sinks.formats import SINKS
from cedilla.runtime.connectors.storage.files import Files
from tests.kit.columns import columns_in
from tests.kit.remote_files import Elsewhere
from tests.kit.tiers import rest

pytestmark = pytest.mark.either_engine

TEXTS = (
    "CASE id % 5 WHEN 0 THEN '</r>\\n<r>' WHEN 1 THEN '\\n\\n' WHEN 2 THEN '\\r\\n\u2028' WHEN 3 THEN '' END"
)


@pytest.mark.parametrize("format_", SINKS)
@pytest.mark.parametrize(("rows", "parts"), [(0, 1), rest(1, 1), rest(1000, 1), (1000, 7), rest(3, 200)])
def test_tuples_are_counted(spark: SparkSession, tmp_path: Path, format_: str, rows: int, parts: int) -> None:
    """Texts with line ends, tags and nothing in them; an attribute that is called like its relation; files without
    tuples, which do not stay."""
    sink = SINKS[format_](Files(), str(tmp_path), "r")
    frame = (
        spark.range(rows).selectExpr("id", f"{TEXTS} AS r", "IF(id = 1, NULL, 1.5D) AS x").repartition(parts)
    )
    assert sink.stage(0, frame, columns_in(frame)) == rows
    sink.publish(0, 0)
    files = sorted((tmp_path / "epoch=000000000000").glob("*")) if rows else []
    assert all(file.name.startswith("1-tuples-") for file in files)
    assert len(files) <= min(rows, parts)
    assert (tmp_path / "epoch=000000000000").exists() is bool(rows)
    assert not (tmp_path / "_staging" / "run=000000" / "epoch=000000000000").exists()


@pytest.mark.parametrize("format_", SINKS)
def test_an_output_that_is_written_elsewhere_is_noticed(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    sink = SINKS[format_](Elsewhere(tmp_path / "far"), str(tmp_path / "out"), "r")
    with pytest.raises(DiagnosticError) as raised:
        sink.stage(0, spark.range(3), {"id": LongType()})
    assert raised.value.diagnostics[0].code == "RQ432"
