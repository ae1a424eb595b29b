"""Files that move or change after a run has listed them, and before it has read them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.epochs.checkpoint.arrivals import Arrivals
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine
QUERIES = {
    form: f'stream r(k: long) from {form} "r" punctuated on k;\nemit r to json "out";\n'
    for form in ("json", "parquet")
}
Change = Callable[[Path], object]


def rows(query: Query) -> list[int]:
    return sorted(row["k"] for row in query.output("r") if is_tuple(row))


def write(query: Query, number: int, *keys: int) -> Path:
    """Writes a file, and returns its path."""
    if "parquet" in query.query:
        table = pa.table({"k": pa.array(keys, pa.int64())})
        return query.write_table("r", table, number)
    return query.write("r", [{"k": key} for key in keys])


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Changes something once, after the next batch of files was listed."""
    original = Arrivals.batch

    def batch(arrivals: Arrivals, listed: object) -> object:
        made = original(arrivals, listed)  # type: ignore[arg-type]
        monkeypatch.setattr(Arrivals, "batch", original)
        change()
        return made

    monkeypatch.setattr(Arrivals, "batch", batch)


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 10])


def aside(path: Path) -> None:
    path.rename(path.with_name(f"_{path.name}"))


@pytest.mark.parametrize(
    ("form", "change", "code"),
    tiered(
        [
            ("json", cut, "RQ459"),
            ("json", aside, "RQ431"),
            ("parquet", cut, "RQ414"),
            ("parquet", aside, "RQ431"),
        ]
    ),
)
def test_a_file_that_is_cut_or_goes_before_it_is_read_is_told_in_the_same_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, change: Change, code: str
) -> None:
    """Nothing of its epoch is committed; with the file in its place the next run goes on."""
    query = Query(spark, tmp_path, QUERIES[form])
    write(query, 1, 1)
    query.run()
    path = write(query, 2, 2, 3)
    shutil.copy2(path, tmp_path / "kept")
    meanwhile(monkeypatch, lambda: change(path))
    with pytest.raises(DiagnosticError, match=code):
        query.run()
    assert rows(query) == [1]
    shutil.copy2(tmp_path / "kept", path)
    query.run()
    assert rows(query) == [1, 2, 3]


# --- a batch that continues ----------------------------------------------------------------------------------

BAD, GOOD = '{"$accent": "[["}', '{"$punctuation": "[k < 2]"}'


def stopped(query: Query, *lines: Item) -> Path:
    """Returns the last of three files, at whose bad marker a run has ended; the first one is `app.jsonl`."""
    query.write("r", [{"k": 1}], "app.2.jsonl")
    query.write("r", [*lines, BAD], "app.1.jsonl")
    path = query.write("r", [{"k": 3}], "app.jsonl")
    with pytest.raises(DiagnosticError, match=r"RQ0\d\d"):
        query.run()
    return path


def rotate(folder: Path) -> None:
    for number in (2, 1, 0):
        name = f"app.{number}.jsonl" if number else "app.jsonl"
        (folder / name).rename(folder / f"app.{number + 1}.jsonl")


def mend(path: Path) -> None:
    path.write_text(path.read_text().replace(BAD, GOOD))


@pytest.mark.parametrize("with_new", [True, False])
def test_files_of_a_batch_that_are_rotated_before_they_are_read_are_read_once(
    spark: SparkSession, tmp_path: Path, with_new: bool
) -> None:
    query = Query(spark, tmp_path, QUERIES["json"])
    folder = stopped(query).parent
    rotate(folder)
    mend(folder / "app.2.jsonl")
    if with_new:
        query.write("r", [{"k": 4}], "app.jsonl")
    query.run()
    assert rows(query) == ([1, 3, 4] if with_new else [1, 3])


def test_a_file_that_is_read_in_part_and_replaced_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Its lines would be counted in the other one; a backup elsewhere, or a file in its place, lets the run go on."""
    query = Query(spark, tmp_path, QUERIES["json"])
    folder = stopped(query, {"k": 2}).parent
    bad = folder / "app.1.jsonl"
    shutil.copy2(bad, folder / "app.1.jsonl.bak")
    mend(bad)
    with pytest.raises(
        DiagnosticError, match=r"RQ452.*app\.1\.jsonl.*after 1 of its lines.*app\.1\.jsonl\.bak has"
    ):
        query.run()
    (folder / "app.1.jsonl.bak").rename(folder / "_app.1.jsonl")
    query.run()
    assert rows(query) == [1, 2, 3]


def test_a_file_that_is_read_in_part_whose_place_another_one_takes_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As a rotation does without a new file."""
    query = Query(spark, tmp_path, QUERIES["json"])
    folder = stopped(query, {"k": 2}).parent
    rotate(folder)
    mend(folder / "app.2.jsonl")
    with pytest.raises(DiagnosticError, match=r"RQ452.*app\.1\.jsonl.*after 1 of its lines.*app\.jsonl was"):
        query.run()
