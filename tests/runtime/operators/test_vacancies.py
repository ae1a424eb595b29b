"""Vacant regions: an operator closes what its input has closed and of which it keeps nothing (theory 2.9; E5, J1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.query import Query
from tests.kit.stream import Item

GAP = [{"k": 9}, {"k": 1}, {"$punctuation": "[k in [4, 6]]"}]


def both(run: Query, emit: str, files_per_epoch: int | None = None) -> list[Item]:
    """The lines that an engine writes, which are those of the reference."""
    run.process(files_per_epoch)
    assert run.simulate().output(emit) == run.output(emit)
    return run.output(emit)


@pytest.mark.either_engine
def test_a_sort_closes_a_gap_in_which_nothing_waits(spark: SparkSession, tmp_path: Path) -> None:
    """E5: what is above the sort is decided while 1 and 9 wait, in every epoch and in the reference (sort-gap2)."""
    run = Query(
        spark,
        tmp_path,
        """
        stream a(k: int) from json "a" punctuated on k;
        stream c(k: int) from json "c" punctuated on k;
        s := sort[k](a);
        rest := c minus s;
        emit s to json "s";
        emit rest to json "rest";
        """,
    )
    run.write("a", GAP)
    run.write("c", [{"k": 5}])
    assert both(run, "s") == [{"$punctuation": "[k in [4, 7)]"}]
    assert run.output("rest") == [{"k": 5}] == run.simulated.output("rest")
