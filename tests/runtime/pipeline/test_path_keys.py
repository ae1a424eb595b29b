"""Keys in the names of folders are no columns: a run and a simulation tell them once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime import simulate
from cedilla.runtime.records.file_names import path_keys
from cedilla.runtime.terminal.options import Options
from tests.kit.query import Query

QUERY = 'stream y(k: int, region?: string) from json "y";\nemit y to json "out";\n'


@pytest.mark.either_engine
def test_keys_in_paths_are_told_once_a_run(spark: SparkSession, tmp_path: Path) -> None:
    """By `simulate`, by a run, and by the next one if there are new files."""
    run = Query(spark, tmp_path, QUERY)

    def write(day: int) -> None:
        for region in "ns":
            (tmp_path / "in" / "y" / f"region={region}" / f"day={day}").mkdir(parents=True)
            run.write("y", [{"k": 1}], f"region={region}/day={day}/1.jsonl")

    write(1)
    warnings: list[Diagnostic] = []
    simulate(QUERY, Options(sources=run.options().sources), on_warning=warnings.append)
    message = "folders of `y` have keys in their names, `region`, `day`, and these values are not read"
    assert [(warning.code, warning.message) for warning in warnings] == [("RQ347", message)]
    for day in (2, 3):
        run.reports.clear()
        run.run(files_per_epoch=1)
        notes = [note for report in run.reports for note in report.notes if "RQ347" in note]
        assert notes == [f"RQ347: {message}"]
        write(day)


def test_the_folder_of_a_source_and_epochs_of_outputs_are_no_keys() -> None:
    key = "file:/d/y/region=n/1.parquet"
    assert path_keys("y", "file:/d/y", ["file:/d/y/0.parquet", key]) is not None
    assert path_keys("y", "file:/d/y/region=n", [key]) is None
    assert path_keys("y", "file:/d/y", ["file:/d/y/epoch=000000000000/1.jsonl"]) is None
    assert path_keys("y", "file:/d/y", ["file:/d/y/a=b.jsonl"]) is None
