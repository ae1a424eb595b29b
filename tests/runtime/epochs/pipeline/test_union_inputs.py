"""Sources that only unions read, and sources without tuples: how many DataFrames an epoch has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.epochs.pipeline import running_epoch
from tests.kit.compare import values_of
from tests.kit.query import Query

QUERY = """
set suspect = off;
stream a(k: long, v: double) from json "a" punctuated on k;
stream b(k: long, v: double) from json "b" punctuated on k;
stream c(v: double, k: long) from json "c" punctuated on k;
stream d(k: long, v: double) from json "d" punctuated on k;
stream e(k: long, v: double) from json "e" punctuated on k;
all := a union b union c union d union select[v > 1](e);
emit all to json "all";
"""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each Arrow table of a source that becomes a DataFrame."""
    rows: list[int] = []
    made: Callable[..., Any] = running_epoch.in_one_part

    def noted(spark: SparkSession, table: Any) -> Any:
        rows.append(table.num_rows)
        return made(spark, table)

    monkeypatch.setattr(running_epoch, "in_one_part", noted)
    return rows


@pytest.mark.either_engine
def test_sources_of_one_union_are_read_together(
    spark: SparkSession, tmp_path: Path, tables: list[int]
) -> None:
    run = Query(spark, tmp_path, QUERY)
    for number, name in enumerate("abcde"):
        run.write(name, [{"k": number, "v": 1.0}, {"k": number + 10, "v": 2.0}])
    run.process()
    assert sorted(tables) == [2, 2, 6]  # c has its attributes in another order, e goes through a selection
    assert values_of(run.canonical("all"), "k", "v") == sorted(
        [(n, 1.0) for n in range(4)] + [(n + 10, 2.0) for n in range(5)]
    )


@pytest.mark.either_engine
def test_what_an_accent_has_changed_is_read_by_itself(
    spark: SparkSession, tmp_path: Path, tables: list[int]
) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("a", [{"k": 1, "v": 1.0}])
    run.write("b", [{"$accent": "[[alter(v, y -> y * 2)]]"}, {"k": 2, "v": 8.0}, {"k": 3}])
    run.write("d", [{"k": 4, "v": 3.0}, "nothing"])
    run.process()
    assert tables == [1]
    assert values_of(run.canonical("all"), "k", "v") == [(1, 1.0), (2, 4.0), (4, 3.0)]
    assert [len(run.quarantine(name)) for name in "abd"] == [0, 1, 1]


@pytest.mark.either_engine
def test_an_epoch_of_one_source_is_not_united_with_the_quiet_ones(
    spark: SparkSession, tmp_path: Path, tables: list[int]
) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("b", [{"k": 2, "v": 8.0}])
    run.process()
    assert tables == [1]
    assert values_of(run.canonical("all"), "k", "v") == [(2, 8.0)]
