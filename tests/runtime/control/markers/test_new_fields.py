"""Fields that earlier tuples had before a marker announced them, and fields that none announces: one answer for every
cut into epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from tests.kit.lines import marker
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

QUERY = """
set drift = DRIFT;
stream r(k: int, t?: double) from json "in";
emit r to json "out";
"""
RENAMED: list[Item] = [
    {"k": 1, "t": 1.0, "temp": 5.0},
    {"k": 2, "temp": "warm"},
    {"k": 3, "t": 3.0},
    marker("[[rename(temp, t)]]"),
    {"k": 4, "temp": 4.0},
]
ADDED: list[Item] = [
    {"k": 1, "p": "early"},
    {"k": 2, "p": 2.0, "t": 1.0},
    marker("[[+(p: double)]]"),
    marker("[[+(q: string)]]"),
    {"k": 3, "p": 4.0, "q": "x"},
]


def answers(spark: SparkSession, root: Path, query: str, items: list[Item]) -> list[Any]:
    """What one file, a file for each line, and the reference give: rows and rejections, or the code that ends it."""
    results: list[Any] = []
    for parts, files_per_epoch in ((1, None), (len(items), None), (len(items), 1)):
        run = Query(spark, root / f"{parts} {files_per_epoch}", query)
        run.write_parts("r", items, parts)
        results += [_of_engine(run, files_per_epoch), _of_reference(run)]
    return results


def _of_engine(run: Query, files_per_epoch: int | None) -> Any:
    try:
        run.process(files_per_epoch)
    except DiagnosticError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return run.rows("r"), [(rejection.code, rejection.raw) for rejection in run.rejections()]


def _of_reference(run: Query) -> Any:
    try:
        simulated = run.simulate()
    except DiagnosticError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return simulated.rows("r"), [(rejection.code, rejection.raw) for rejection in simulated.rejections]


@pytest.mark.parametrize(
    ("items", "drift", "set_aside"),
    tiered(
        [
            (RENAMED, "ignore", []),
            (ADDED, "quarantine", ["RQ306", "RQ306"]),
            (RENAMED, "quarantine", ["RQ306", "RQ306"]),
            (ADDED, "ignore", []),
        ],
        2,
    ),
)
def test_a_field_counts_from_its_marker_on(
    spark: SparkSession, tmp_path: Path, items: list[Item], drift: str, set_aside: list[str]
) -> None:
    """A tuple before the first Add of an attribute, or before the first rename to a name, does not know it."""
    first, *others = answers(spark, tmp_path, QUERY.replace("DRIFT", drift), items)
    assert all(other == first for other in others)
    assert [code for code, _ in first[1]] == set_aside


@pytest.mark.parametrize("items", tiered([RENAMED, ADDED]))
def test_an_inferred_field_stays_the_attribute_that_it_was(
    spark: SparkSession, tmp_path: Path, items: list[Item]
) -> None:
    """A marker that announces a name that tuples have brought comes too late, in every cut."""
    first, *others = answers(spark, tmp_path, QUERY.replace("DRIFT", "infer"), items)
    assert first == (["RQ460"] if items is RENAMED else ["RQ208"])
    assert all(other == first for other in others)


def test_markers_before_all_tuples_end_no_epoch(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY.replace("DRIFT", "ignore"))
    adds = [marker(f"[[+(a{n}: double)]]") for n in range(5)]
    run.write("r", [*adds, marker("[[rename(temp, t)]]"), {"k": 1, "temp": 1.0}, *ADDED[2:]])
    run.process()
    assert [report.accents for report in run.reports] == [6, 2]


VALUES: dict[str, tuple[list[Any], str, list[Any]]] = {
    "a text among numbers": ([None, 0.75, "x", 2], "double", [0.75, 2.0]),
    "a fraction after a whole number": ([1, 2.5, 3], "long", [1, 3]),
    "a whole number after a fraction": ([2.5, 1, True], "double", [1.0, 2.5]),
    "a number after a text": (["x", 1, None], "string", ["1", "x"]),
    "an object and a list": ([{"a": 1}, [1, 2], "y"], "string", ['{"a": 1}', "[1, 2]", "y"]),
    "a number after true": ([True, 0, "true"], "boolean", [True]),
    "a number beyond 64 bits": ([2**70, 1, "x"], "double", [1.0, float(2**70)]),
}


@pytest.mark.parametrize("kind", tiered(VALUES, 5))
def test_the_first_value_decides_what_is_inferred(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    values, type_, kept = VALUES[kind]
    items: list[Item] = [{"k": k, "new": value} for k, value in enumerate(values)]
    first, *others = answers(spark, tmp_path, QUERY.replace("DRIFT", "infer"), items)
    assert all(other == first for other in others)
    rows, rejected = first
    assert sorted(str(row["new"]) for row in rows if row.get("new") is not None) == sorted(map(str, kept))
    assert {code for code, _ in rejected} <= {"RQ301"}
    run = Query(spark, tmp_path / "1 None", QUERY)
    assert {"$accent": f"[[+(new: {type_})]]"} in run.output("r")


def test_columns_of_a_cut_file_are_inferred_from_the_rows_before_the_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A column of Parquet counts from its first value on, not from the file's beginning."""
    run = Query(spark, tmp_path, QUERY.replace("DRIFT", "infer").replace("from json", "from parquet"))
    table = pa.table(
        {
            "k": pa.array([1, None, 2], pa.int32()),
            "t": pa.array([1.0, None, None]),
            "temp": pa.array([None, None, 2.0]),
            "$accent": pa.array([None, "[[rename(temp, t)]]", None]),
        }
    )
    run.write_table("r", table, 1)
    run.process()
    assert run.rows("r") == [{"k": 1, "t": 1.0}, {"k": 2, "t": 2.0}]
    assert run.rejections() == []
