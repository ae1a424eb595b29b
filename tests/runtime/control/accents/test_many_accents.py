"""Hundreds of accents at points, in one epoch and in later ones, through real Spark: decoded, encoded, checked."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.kit.query import Query
from tests.kit.stream import Decoder, Item
from tests.runtime.control.accents.streams import KEYS, epochs_of_accents

pytestmark = pytest.mark.either_engine

QUERY = """
stream r(id: long, s: int, t: double, u?: double) from json "in";
hot := select[id >= 0](r);
emit hot to json "out/hot";
"""


@pytest.mark.rest
def test_all_epochs_come_out_as_they_mean(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    decoder = Decoder()
    expected: dict[int, dict[str, Any]] = {}
    for number, items in enumerate(epochs_of_accents(random.Random(3))):
        for item in items:
            if row := decoder.feed(
                {k: Fraction(v) if not isinstance(v, str) else v for k, v in item.items()}
            ):
                expected[int(row["id"])] = {
                    name: round(float(Fraction(value)), 9) for name, value in row.items()
                }
        path = run.write("r", items)
        executor = run.executor()  # as each time a new process would have one
        new = [file for file in run.files(executor)["r"] if file.path.endswith(path.name)]
        executor.process(number, {"r": new})
        assert run.reports[-1].quarantined == {}, number
    out = Decoder()
    actual: dict[int, dict[str, Any]] = {}
    for path in sorted((tmp_path / "out" / "hot").rglob("*.jsonl")):
        for line in path.read_text().splitlines():
            item = json.loads(line)
            if row := out.feed({k: Fraction(v) if not isinstance(v, str) else v for k, v in item.items()}):
                actual[int(row["id"])] = {
                    name: round(float(Fraction(value)), 9) for name, value in row.items()
                }
    assert actual == expected
    assert list((tmp_path / "checkpoint" / "trees").iterdir())


def test_what_comes_after_its_punctuation_or_before_its_add_is_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, QUERY)
    closed: list[Item] = [{"$punctuation": f"[s = {s}]"} for s in range(0, 2 * KEYS, 2)]
    adds: list[Item] = [{"$accent": f"[[s = {s}, +(p: double)]]"} for s in range(1, 2 * KEYS, 2)]
    run.write("r", [{"id": 1, "s": 4, "t": 1.0}, {"id": 2, "s": 7, "t": 1.0, "p": 1.0}, *closed, *adds])
    run.write(
        "r",
        [{"id": 3, "s": 4, "t": 1.0}, {"id": 4, "s": 7, "t": 1.0, "p": 1.0}, {"id": 5, "s": -1, "t": 1.0}],
    )
    run.process(files_per_epoch=1)
    assert [report.quarantined for report in run.reports] == [{}, {}, {"RQ305": 1}]
