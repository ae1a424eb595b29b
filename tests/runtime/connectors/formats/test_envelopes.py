"""Drift inside of envelopes: tuples of Debezium, CloudEvents and Kafka Connect as the flat ones in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.envelopes import FLAT, ROWS, in_envelope
from tests.kit.query import Query
from tests.kit.tiers import tiered


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
