"""Iceberg tables as outputs: an epoch is one snapshot, also if published twice; columns come; markers lie beside."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.compiler import compile_query
from cedilla.grammar import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.sinks.iceberg import IcebergSink
from tests.kit.delta_tables import rows_in
from tests.kit.errors import error_of
from tests.kit.faults import dies_after
from tests.kit.iceberg_tables import IcebergTable
from tests.kit.lines import write_lines

pytest.importorskip("pyiceberg")
pytestmark = pytest.mark.either_engine

QUERY = """
stream r(k: long, t: double unit degF, at?: timestamp, m?: decimal(6, 2), tags?: list of string) from json "in";
emit r to iceberg "lake:db.r" UNITS;
"""
ALTER = {"$accent": "[[k = 1, unit(t, degC)]]"}


class Output:
    """A query that writes into a table."""

    def __init__(
        self, spark: SparkSession, root: Path, monkeypatch: pytest.MonkeyPatch, units: str = ""
    ) -> None:
        from pyiceberg.utils.config import Config

        self.spark, self.root, self.text = spark, root, QUERY.replace(" UNITS", units)
        self.table = IcebergTable(root)
        for name, value in self.table.properties.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
        monkeypatch.setattr(
            "pyiceberg.catalog._ENV_CONFIG", Config()
        )  # it is read when the library is imported
        self.files = 0

    def write(self, *lines: dict[str, Any]) -> None:
        self.files += 1
        write_lines(self.root / "in" / f"{self.files}.jsonl", list(lines), self.files)

    def run(self, **options: Any) -> None:
        chosen = Options(
            once=True,
            sources={"r": str(self.root / "in")},
            checkpoint=str(self.root / "checkpoint"),
            files_per_epoch=1,
            **options,
        )
        run(self.text, chosen, spark=self.spark)

    def rows(self, name: str = "r") -> list[dict[str, Any]]:
        rows = self.table.catalog.load_table(f"db.{name}").scan().to_arrow().to_pylist()
        return sorted(rows, key=lambda row: (row.get("k", row.get("epoch")), row.get("place", 0)))

    def epochs(self) -> list[str | None]:
        return [of.summary["cedilla.epoch"] for of in self.table.table.snapshots()]


@pytest.fixture
def output(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Output:
    return Output(spark, tmp_path, monkeypatch)


def test_tuples_and_markers_are_rows_of_two_tables(output: Output) -> None:
    """Types are kept; an Add brings a column, which is null before it. Pyiceberg reads what it has written."""
    output.write({"k": 0, "t": 77.0, "at": "2026-01-02T03:04:05.000006Z", "m": 1.5, "tags": ["a"]})
    output.write(ALTER, {"k": 1, "t": 25.0}, {"$accent": "[[+(p: string)]]"}, {"k": 2, "t": 1.0, "p": "x"})
    output.run()
    output.write({"$punctuation": "[k < 3]"})
    output.run()
    at = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    nothing = {"at": None, "m": None, "tags": None}
    assert output.rows() == [
        {"k": 0, "t": 77.0, "at": at, "m": Decimal("1.50"), "tags": ["a"], "p": None},
        {"k": 1, "t": pytest.approx(77.0), **nothing, "p": None},
        {"k": 2, "t": 1.0, **nothing, "p": "x"},
    ]
    assert [(of["epoch"], of["kind"], of["text"]) for of in output.rows("r_markers")] == [
        (1, "accent", "[[k = 1, alter(t, y -> (y * 5 - 160) / 9, unit degC)]]"),
        (2, "accent", "[[+(p: string)]]"),
        (3, "punctuation", "[k < 3]"),
    ]
    assert output.epochs() == ["0", "1", "2"]
    assert not [*(output.root / "checkpoint" / "iceberg").rglob("*.parquet")]


def test_it_is_the_source_of_another_query(output: Output, tmp_path: Path) -> None:
    output.text = output.text.replace("UNITS", "with t in degC")
    output.write({"k": 1, "t": 32.0})
    output.run()
    text = 'stream r(k: long, t: double) from iceberg "lake:db.r";\nemit r to json "out";'
    chosen = Options(once=True, sinks={"r": str(tmp_path / "out")}, checkpoint=str(tmp_path / "reads"))
    run(text, chosen, spark=output.spark)
    (path,) = (tmp_path / "out").rglob("*tuples*")
    assert path.read_text() == '{"k":1,"t":32.0}\n'


@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_epoch_that_is_published_again_is_there_once(
    output: Output, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """The run dies after the commit record: before, between and after its two transactions (exactly once)."""
    output.write({"k": 0, "t": 77.0}, {"$punctuation": "[k < 1]"})
    with monkeypatch.context() as patch:
        dies_after(patch, IcebergSink, done)
        with pytest.raises(KeyboardInterrupt):
            output.run()
    output.write({"k": 5, "t": 1.0}, {"$punctuation": "[k < 2]"})
    output.run()
    assert [(row["k"], row["t"]) for row in output.rows()] == [(0, 77.0), (5, 1.0)]
    assert [of["text"] for of in output.rows("r_markers")] == ["[k < 1]", "[k < 2]"]


def test_other_writers_and_expiry_do_not_disturb(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that is faster makes a commit fail, which is tried again; the last epoch is known without snapshots."""
    from cedilla.runtime.connectors.formats.sinks import iceberg

    output.write({"k": 0, "t": 1.0})
    output.run()
    commit = iceberg._commit
    tried: list[int] = []

    def raced(loaded: Any, number: int, content: Any) -> None:
        tried.append(number)
        if len(tried) == 1:
            output.table.write({"k": 100, "t": 0.0})
        commit(loaded, number, content)

    monkeypatch.setattr(iceberg, "_commit", raced)
    output.write({"k": 1, "t": 2.0})
    output.run()
    output.table.expire(*output.table.snapshots()[:-1])
    output.write({"k": 2, "t": 3.0})
    output.run()
    assert [row["k"] for row in output.rows()] == [0, 1, 2, 100]
    assert tried[:1] == [1]


def test_a_table_of_others_may_have_partitions(output: Output) -> None:
    """Its columns are those of the output, and more; a stream reads what was written."""
    output.table.create(pa.schema([("k", pa.int64()), ("t", pa.float64()), ("note", pa.string())]), ("k",))
    output.write({"k": 1, "t": 1.0}, {"k": 2, "t": 2.0})
    output.run()
    assert [(row["k"], row["t"], row["note"]) for row in output.rows()] == [(1, 1.0, None), (2, 2.0, None)]


def test_a_column_never_takes_values_of_another_type(output: Output) -> None:
    output.write({"k": 2, "t": 1.0})
    output.write({"$accent": "[[alter(k, y -> y / 4)]]"}, {"k": 0.5, "t": 1.0})
    for _ in range(2):
        assert error_of(output.run).code == "RQ470"
    assert [row["k"] for row in output.rows()] == [2]


def test_a_new_checkpoint_does_not_write_where_another_one_has(output: Output, tmp_path: Path) -> None:
    output.write({"k": 2, "t": 1.0})
    output.run()
    (tmp_path / "checkpoint").rename(tmp_path / "aside")
    assert error_of(output.run).code == "RQ405"


def test_what_no_catalog_commits_is_refused(output: Output) -> None:
    with pytest.raises(DiagnosticError, match=r"RQ531.*not a table of a catalog"):
        compile_query('stream r(k: long) from json "in";\nemit r to iceberg "out";')
    output.write({"k": 2, "t": 1.0})
    assert error_of(lambda: output.run(sinks={"r": str(output.root / "out")})).code == "RQ531"
    output.text = output.text.replace("lake:", "other:")
    assert error_of(output.run).code == "RQ530"


def test_simulate_writes_into_folders_only(output: Output, tmp_path: Path) -> None:
    output.write({"k": 2, "t": 1.0})
    sources = {"r": str(tmp_path / "in")}
    simulate(output.text, Options(sources=sources, sinks={"r": str(tmp_path / "out")}))
    assert rows_in(tmp_path / "out") == [{"k": 2, "t": 1.0}]
    options = Options(sources=sources, sinks={"r": "lake:db.r"})
    assert error_of(lambda: simulate(output.text, options)).code == "RQ406"
