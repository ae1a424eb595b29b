"""Delta tables as streams: version by version, each row once, and never past a version that takes rows back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.compiler import compile_query
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog
from cedilla.runtime.connectors.formats.parquet.table_log import TableFields
from cedilla.runtime.connectors.storage.delta import load_deltalake
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.pipeline import table_sources
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.kit.errors import error_of
from tests.kit.stream import is_tuple, read_output

deltalake = pytest.importorskip("deltalake")
pytestmark = pytest.mark.either_engine

QUERY = 'stream r(k: long, t: double) from delta "r"MARKERS;\nemit r to json "out";\n'
Row = Mapping[str, Any]


class Table:
    """A table with a query over it."""

    def __init__(self, spark: SparkSession, root: Path, markers: str = "") -> None:
        self.spark, self.root = spark, root
        self.path = str(root / "r")
        self.text = QUERY.replace("MARKERS", f' markers "{markers}"' if markers else "")
        self.reports: list[EpochReport] = []

    def write(self, *rows: Row, **options: Any) -> None:
        names = dict.fromkeys(name for row in rows for name in row)
        table = pa.table({name: [row.get(name) for row in rows] for name in names})
        deltalake.write_deltalake(self.path, table, **{"mode": "append", **options})

    def run(self, **options: Any) -> list[Row]:
        """Returns the rows of the output after one more run."""
        chosen = Options(
            once=True,
            sources={
                "r": self.path,
                **({"r.markers": str(self.root / "ops")} if "markers" in self.text else {}),
            },
            sinks={"r": str(self.root / "out")},
            checkpoint=str(self.root / "checkpoint"),
            **options,
        )
        run(self.text, chosen, spark=self.spark, on_report=self.reports.append)
        return self.output()

    def output(self) -> list[Row]:
        tuples = [item for item in read_output(self.root / "out") if is_tuple(item)]
        return sorted(tuples, key=lambda row: row["k"])


def test_versions_are_read_once_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    """Also by a run that comes later, and where clocks went back between two versions; a new column is an Add's."""
    table = Table(spark, tmp_path)
    table.write({"k": 1, "t": 1.0})
    table.write({"k": 2, "t": 212.0}, {"k": 3, "t": 32.0})
    assert [row["k"] for row in table.run()] == [1, 2, 3]
    assert [row["k"] for row in table.run()] == [1, 2, 3]
    alter = {"k": None, "t": None, "$accent": "[[k > 3, alter(t, y -> (y - 32) * 5/9)]]"}
    table.write(alter, {"k": 4, "t": 100.0, "$accent": None}, schema_mode="merge")
    os.utime(tmp_path / "r/_delta_log/00000000000000000002.json", (1, 1))
    assert table.run()[-1] == {"k": 4, "t": pytest.approx(212.0)}
    table.write({"k": 5, "t": 0.0}, schema_mode="merge")
    table.write({"k": 6, "t": 10.0}, schema_mode="merge")
    for version in (3, 4):  # the later one was written by a clock that is behind
        os.utime(tmp_path / f"r/_delta_log/{version:020}.json", (1000 - version, 1000 - version))
    assert [row["k"] for row in table.run(files_per_epoch=1)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("is_rewritten", [False, True])
def test_a_version_that_takes_rows_back_ends_the_query(
    spark: SparkSession, tmp_path: Path, is_rewritten: bool
) -> None:
    """All before it is committed; `gaps = skip` continues after it, and reports that."""
    table = Table(spark, tmp_path)
    table.write({"k": 1, "t": 1.0}, {"k": 2, "t": 2.0})
    if is_rewritten:
        deltalake.DeltaTable(table.path).update({"t": "t + 1"}, predicate="k = 2")
    else:
        deltalake.DeltaTable(table.path).delete()
    table.write({"k": 3, "t": 3.0})
    for _ in range(2):
        with pytest.raises(DiagnosticError, match=r"RQ438.*version 1"):
            table.run()
        assert [row["k"] for row in table.output()] == [1, 2]
    table.text += "set gaps = skip;\n"
    actual = table.run(yes=True)
    assert [(row["k"], row["t"]) for row in actual] == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert any("version 1" in note for note in table.reports[-1].notes)


def test_compaction_is_nothing_new(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    for k in (1, 2):
        table.write({"k": k, "t": float(k)})
    table.run()
    deltalake.DeltaTable(table.path).optimize.compact()
    table.write({"k": 3, "t": 3.0})
    assert [row["k"] for row in table.run()] == [1, 2, 3]


def test_a_file_that_is_gone_before_it_was_read(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path)
    table.write({"k": 1, "t": 1.0})
    table.run()
    table.write({"k": 2, "t": 2.0})
    deltalake.DeltaTable(table.path).optimize.compact()
    deltalake.DeltaTable(table.path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(DiagnosticError, match="RQ431"):
        table.run()
    assert [row["k"] for row in table.output()] == [1]


def test_a_log_that_was_cleaned(spark: SparkSession, tmp_path: Path) -> None:
    """A new query begins with what the table has; one that has not read what is gone, ends."""
    table = Table(spark, tmp_path)
    table.write({"k": 1, "t": 1.0})
    table.run()
    for k in (2, 3):
        table.write({"k": k, "t": float(k)})
    deltalake.DeltaTable(table.path).create_checkpoint()
    table.write({"k": 4, "t": 4.0})
    for version in (0, 1):
        (tmp_path / f"r/_delta_log/{version:020}.json").unlink()
    with pytest.raises(DiagnosticError, match=r"RQ439.*version 1 has left"):
        table.run()
    other = Table(spark, tmp_path / "other")
    other.path = table.path
    assert [row["k"] for row in other.run()] == [1, 2, 3, 4]


def test_markers_of_a_folder_stand_between_versions(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, markers="ops")
    table.write({"k": 1, "t": 50.0})
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops/1.json").write_text('{"$accent": "[[alter(t, y -> (y - 32) * 5/9)]]"}\n')
    table.write({"k": 2, "t": 10.0})
    for at, path in enumerate(
        ("r/_delta_log/" + "0" * 20 + ".json", "ops/1.json", f"r/_delta_log/{1:020}.json")
    ):
        os.utime(tmp_path / path, (1000 + at, 1000 + at))
    assert [row["t"] for row in table.run()] == [50.0, pytest.approx(50.0)]


def test_a_folder_without_a_log_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    with pytest.raises(DiagnosticError, match=r"RQ439.*has no log"):
        Table(spark, tmp_path).run()


def test_an_entry_of_the_log_may_have_every_sign(tmp_path: Path) -> None:
    add = {"path": "a.parquet", "size": 1, "dataChange": True, "stats": "a\u2028b\u0085"}
    entry = tmp_path / "_delta_log" / f"{0:020}.json"
    entry.parent.mkdir()
    entry.write_text(json.dumps({"add": add}, ensure_ascii=False) + "\n", "utf-8")
    log = DeltaLog(Files(), "r", str(tmp_path))
    added = log.added(log.entries()[0], TableFields())
    assert [file.path.rpartition("/")[2] for file in added.files] == ["a.parquet"]
    assert added.change is None


def test_a_table_of_delta_is_no_table_of_a_query() -> None:
    with pytest.raises(DiagnosticError, match="RQ473"):
        compile_query('table r(k: long) from delta "r";\nemit r to json "out";')


@pytest.fixture
def gap(spark: SparkSession, tmp_path: Path) -> Table:
    """Metres, a version that takes a row back, metres, an accent, centimetres."""
    table = Table(spark, tmp_path, markers="ops")
    table.text = table.text.replace("t: double", "t: double unit m").replace(
        'to json "out"', 'to json "out" with t in m'
    )
    table.write({"k": 1, "t": 1.0}, {"k": 2, "t": 2.0})
    deltalake.DeltaTable(table.path).delete("k = 2")
    table.write({"k": 3, "t": 3.0})
    table.write({"k": 4, "t": 400.0})
    (tmp_path / "ops").mkdir()
    marker = tmp_path / "ops" / "1.jsonl"
    marker.write_text('{"$accent": "[[unit(t, cm)]]"}\n')
    for number, moment in enumerate((10, 20, 30, 50)):
        # The clock of the writer says when a version was written.
        os.utime(table.root / f"r/_delta_log/{number:020}.json", (moment, moment))
    os.utime(marker, (40, 40))
    return table


def _values(table: Table) -> list[tuple[int, float]]:
    return [(row["k"], row["t"]) for row in table.output()]


def test_markers_wait_where_versions_stop(gap: Table) -> None:
    """A marker that is later than a version that ends the query is read after what comes between them."""
    for _ in range(2):
        with pytest.raises(DiagnosticError, match="RQ438"):
            gap.run()
        assert _values(gap) == [(1, 1.0), (2, 2.0)]
    gap.text += "set gaps = skip;\n"
    gap.run(yes=True)
    assert _values(gap) == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]


@pytest.mark.parametrize("files_per_epoch", [None, 1])
def test_markers_wait_for_versions_of_later_looks(
    gap: Table, monkeypatch: pytest.MonkeyPatch, files_per_epoch: int | None
) -> None:
    """A table with more new versions than one look reads."""
    monkeypatch.setattr(table_sources, "_MAX_VERSIONS", 1)
    gap.text += "set gaps = skip;\n"
    gap.run(files_per_epoch=files_per_epoch)
    assert _values(gap) == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]


def test_markers_wait_at_a_version_that_has_left_the_log(gap: Table) -> None:
    """Later versions are not read, so neither is a marker between."""
    gap.text += "set gaps = skip;\n"
    (gap.root / "r/_delta_log/00000000000000000002.json").rename(gap.root / "gone")
    with pytest.raises(DiagnosticError, match=r"RQ439.*version 2 has left"):
        gap.run()
    assert _values(gap) == [(1, 1.0), (2, 2.0)]
    (gap.root / "gone").rename(gap.root / "r/_delta_log/00000000000000000002.json")
    gap.run()
    assert _values(gap) == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)]


def test_a_table_under_another_path_goes_on_and_another_table_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, tmp_path)
    table.write({"k": 1, "t": 1.0})
    table.write({"k": 2, "t": 2.0})
    table.run()
    (tmp_path / "r").rename(tmp_path / "moved")
    table.path = str(tmp_path / "moved")
    table.write({"k": 3, "t": 3.0})
    assert [row["k"] for row in table.run(yes=True)] == [1, 2, 3]
    (tmp_path / "moved").rename(tmp_path / "away")
    for k in range(10, 15):
        table.write({"k": k, "t": 0.0})
    with pytest.raises(DiagnosticError, match="RQ452"):
        table.run()
    assert [row["k"] for row in table.output()] == [1, 2, 3]


def test_the_library_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    error = error_of(load_deltalake)
    assert (error.code, error.help) == ("RQ471", "pip install 'cedilla[delta]'")
