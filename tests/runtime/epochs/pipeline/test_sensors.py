"""The paper's standing query on random accented-punctuated streams, through Spark, against plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.sensor_streams import PLACES, QUERY, averages, cut, random_stream, wild_stream
from tests.kit.stream import Item, complaints, decode
from tests.kit.tiers import tiered

Generator = Callable[[random.Random, int], list[Item]]


def check_averages(
    spark: SparkSession, root: Path, seed: int, length: int, generate: Generator = random_stream
) -> None:
    rng = random.Random(seed)
    stream = generate(rng, length)
    places = [*PLACES, {"$punctuation": "[]"}]
    expected = averages(stream, PLACES, 10)
    for attempt in range(2):
        run = Query(spark, root / str(attempt), QUERY)
        for part in cut(rng, stream):
            run.write("sensors", part)
        for part in cut(rng, places):
            run.write("placement", part)
        run.process(files_per_epoch=rng.choice([1, 2, None]))
        assert run.quarantine("sensors") == []
        output = run.output("average")
        assert list(complaints(output, {"l", "wid", "t"})) == []
        rows = decode(output)
        actual = {(r["l"], r["wid"]): r for r in rows}
        assert len(actual) == len(rows), "a group was passed twice"
        assert actual.keys() == expected.keys()
        for key, row in actual.items():
            assert {n: float(v) for n, v in row.items() if n not in ("l", "wid")} == pytest.approx(
                expected[key], abs=1e-9, rel=1e-12
            )


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(4)))
def test_decoded_output_is_the_plain_average_however_the_input_is_cut(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_averages(spark, tmp_path, seed, 60)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(60))
def test_decoded_output_is_the_plain_average_on_longer_streams(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_averages(spark, tmp_path, seed, 200)


@pytest.mark.rest
@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(3), most=1))
def test_any_described_subset_may_change(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_averages(spark, tmp_path, seed, 60, wild_stream)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(60))
def test_any_described_subset_may_change_on_longer_streams(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_averages(spark, tmp_path, seed, 150, wild_stream)
