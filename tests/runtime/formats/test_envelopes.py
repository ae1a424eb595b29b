"""Drift inside of envelopes: tuples of Debezium, CloudEvents and Kafka Connect as the flat ones in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

FLAT = 'stream r(n: long, power?: double) from json "r"; emit r to json "out";'
ROWS: Sequence[Item] = [
    {"n": 1, "power": 1.5},
    {"n": 2, "powr": 2.5},
    {"n": 3, "power": 3.5, "powr": None},
    {"n": 4, "power": 4.5, "more": {"a": 1}},
    {"n": 5, "powr": 2**62, "a.b": 1},
]
ENVELOPES = {
    "connect": ('"payload.{}"', lambda row: {"schema": {"type": "struct"}, "payload": row, "ts_ms": 17}),
    "debezium": (
        '"payload.after.{}"',
        lambda row: {"payload": {"before": None, "after": row, "op": "c", "ts_ms": 17}, "schema": None},
    ),
    "cloudevents": ('"data.{}"', lambda row: {"specversion": "1.0", "id": "a-1", "data": row, "powr": "x"}),
}


def in_envelope(kind: str) -> tuple[str, list[Item]]:
    """Returns the query and the tuples in envelopes of a kind."""
    path, wrapped = ENVELOPES[kind]
    declared = f"n: long from {path.format('n')}, power?: double from {path.format('power')}"
    return FLAT.replace("n: long, power?: double", declared), [wrapped(row) for row in ROWS]


@pytest.mark.either_engine
@pytest.mark.parametrize("parts", tiered([1, 5]))
@pytest.mark.parametrize("drift", tiered(["infer", "quarantine", "ignore"], 2))
@pytest.mark.parametrize("kind", tiered(["cloudevents", "connect", "debezium"]))
def test_tuples_in_an_envelope_drift_as_flat_ones(
    spark: SparkSession, tmp_path: Path, kind: str, drift: str, parts: int
) -> None:
    """Flat tuples and those in an envelope give the same rows, and reject the same ones, also file by file."""
    query, wrapped = in_envelope(kind)
    flat = Query.without_engine(tmp_path / "flat", f"set drift = {drift};{FLAT}")
    inside = Query(spark, tmp_path / "inside", f"set drift = {drift};{query}")
    flat.write_parts("r", ROWS, parts)
    inside.write_parts("r", wrapped, parts)
    _, rejections = inside.agreed("r", 1)
    expected = flat.simulate()
    assert inside.simulated.rows("r") == expected.rows("r")
    assert [(r.place, r.code) for r in rejections] == [(r.place, r.code) for r in expected.rejections]


@pytest.mark.either_engine
def test_a_field_inside_whose_name_another_attribute_has_is_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = 'set drift = infer; stream r(power: long from "payload.x") from json "r"; emit r to json "out";'
    run = Query(spark, tmp_path, query)
    run.write("r", [{"payload": {"x": 1}}, {"payload": {"x": 2, "power": 3}}])
    rows, rejections = run.agreed("r", 1)
    assert [row["power"] for row in rows] == [1]
    assert [(r.line, r.code) for r in rejections] == [(2, "RQ362")]
    assert sum(report.quarantined.get("RQ362", 0) for report in run.reports) == 1
