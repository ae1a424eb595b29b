"""Delta tables as outputs: an epoch is one version, also if it is published twice; columns come; markers lie beside."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.formats.sinks.delta import DeltaSink
from tests.kit.errors import code_of
from tests.kit.faults import dies_after
from tests.kit.query import Query

deltalake = pytest.importorskip("deltalake")
pytestmark = pytest.mark.either_engine

QUERY = """
stream r(k: long, t: double unit degF, at?: timestamp, m?: decimal(6, 2)) from json "in";
emit r to delta "out" UNITS;
"""
ALTER = {"$accent": "[[k = 1, unit(t, degC)]]"}


def delta_query(spark: SparkSession, root: Path, units: str = "") -> Query:
    return Query(spark, root, QUERY.replace("UNITS", units))


def table_rows(run: Query, name: str = "r") -> list[dict[str, Any]]:
    rows = deltalake.DeltaTable(str(run.root / "out" / name)).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: row.get("k", row.get("place")))


def markers(run: Query) -> list[tuple[int, str, str]]:
    rows = deltalake.DeltaTable(str(run.root / "out" / "r_markers")).to_pyarrow_table().to_pylist()
    return [(m["epoch"], m["kind"], m["text"]) for m in sorted(rows, key=lambda m: (m["epoch"], m["place"]))]


def test_tuples_and_markers_are_rows_of_two_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Types are kept; an Add brings a column, which is null before it."""
    run = delta_query(spark, tmp_path)
    run.write("r", [{"k": 0, "t": 77.0, "at": "2026-01-02T03:04:05.000006Z", "m": 1.5}])
    run.write(
        "r", [ALTER, {"k": 1, "t": 25.0}, {"$accent": "[[+(p: string)]]"}, {"k": 2, "t": 1.0, "p": "x"}]
    )
    run.write("r", [{"$punctuation": "[k < 3]"}])
    run.process(files_per_epoch=1)
    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert table_rows(run) == [
        {"k": 0, "t": 77.0, "at": at, "m": Decimal("1.50"), "p": None},
        {"k": 1, "t": pytest.approx(77.0), "at": None, "m": None, "p": None},
        {"k": 2, "t": 1.0, "at": None, "m": None, "p": "x"},
    ]
    assert markers(run) == [
        (1, "accent", "[[k = 1, alter(t, y -> (y * 5 - 160) / 9, unit degC)]]"),
        (2, "accent", "[[+(p: string)]]"),
        (3, "punctuation", "[k < 3]"),
    ]
    epochs = [commit.get("cedilla.epoch") for commit in deltalake.DeltaTable(f"{tmp_path}/out/r").history()]
    assert epochs == ["2", "1", "0"]
    assert not list((tmp_path / "checkpoint" / "delta").rglob("*.parquet"))


def test_with_fixed_units_it_is_a_plain_table(spark: SparkSession, tmp_path: Path) -> None:
    run = delta_query(spark, tmp_path, "with t in degC")
    run.write("r", [{"k": 0, "t": 77.0}, ALTER, {"k": 1, "t": 25.0}])
    run.write("r", [{"k": 2, "t": 77.0}, {"k": 1, "t": 25.0}])
    run.process(files_per_epoch=1)
    assert [row["t"] for row in table_rows(run)] == pytest.approx([25.0] * 4)
    assert not (tmp_path / "out" / "r_markers").exists()


@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_epoch_that_is_published_again_is_there_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """The run dies after the commit record: before, between and after its two transactions (exactly once)."""
    run = delta_query(spark, tmp_path)
    run.write("r", [{"k": 0, "t": 77.0}, {"$punctuation": "[k < 1]"}])
    with monkeypatch.context() as patch:
        dies_after(patch, DeltaSink, done)
        with pytest.raises(KeyboardInterrupt):
            run.process()
    run.write("r", [{"k": 5, "t": 1.0}, {"$punctuation": "[k < 2]"}])
    executor = run.executor()
    executor.process(0, {"r": run.files(executor)["r"][:1]})
    executor.process(1, {"r": run.files(executor)["r"][1:]})
    assert [(row["k"], row["t"]) for row in table_rows(run)] == [(0, 77.0), (5, 1.0)]
    assert markers(run) == [(0, "punctuation", "[k < 1]"), (1, "punctuation", "[k < 2]")]


def test_a_column_never_takes_values_of_another_type(spark: SparkSession, tmp_path: Path) -> None:
    """The library would cut fractions off. The epoch is not committed, and those before it are."""
    run = delta_query(spark, tmp_path)
    run.write("r", [{"k": 2, "t": 1.0}])
    run.write("r", [{"$accent": "[[alter(k, y -> y / 4)]]"}, {"k": 0.5, "t": 1.0}])
    assert code_of(lambda: run.process(files_per_epoch=1)) == "RQ470"
    assert [row["k"] for row in table_rows(run)] == [2]
    assert (
        code_of(lambda: run.process(files_per_epoch=1)) == "RQ470"
    )  # of the table, as another process sees it


def test_a_table_takes_no_two_columns_that_differ_only_in_case(spark: SparkSession, tmp_path: Path) -> None:
    """The library would refuse them after the commit, in every later run."""
    run = delta_query(spark, tmp_path)
    run.write("r", [{"k": 2, "t": 1.0}])
    run.write("r", [{"$accent": "[[+(T: double)]]"}, {"k": 3, "t": 1.0, "T": 2.0}])
    assert code_of(lambda: run.process(files_per_epoch=1)) == "RQ360"
    assert [row["k"] for row in table_rows(run)] == [2]
    assert code_of(lambda: run.process(files_per_epoch=1)) == "RQ360"


def test_a_new_checkpoint_does_not_write_into_an_old_table(spark: SparkSession, tmp_path: Path) -> None:
    run = delta_query(spark, tmp_path)
    run.write("r", [{"k": 2, "t": 1.0}])
    run.process()
    (tmp_path / "checkpoint").rename(tmp_path / "old")
    assert code_of(run.process) == "RQ405"


def test_a_table_that_cannot_be_written_ends_the_run_with_its_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = delta_query(spark, tmp_path)
    run.write("r", [{"k": 2, "t": 1.0}])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "r").write_text("none")
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ431"
    assert "Not a directory" in diagnostic.message
    assert "\x1b" not in diagnostic.message
    (tmp_path / "out" / "r").unlink()
    run.process()
    assert [row["k"] for row in table_rows(run)] == [2]
