"""Public complaints about changed data: each is right, or refused with a code."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.cases import all_at_once
from tests.kit.complaints import Complaint, complaints
from tests.kit.query import Query
from tests.kit.tiers import soak

ALL = complaints()
ON_AN_ENGINE = ("C03", "C07", "C15")
"""Those that an engine runs outside of `make soak`: several attributes, a unit of each tuple, two accents."""


def test_every_complaint_is_there_once() -> None:
    assert [complaint.name for complaint in ALL] == [f"C{number:02}" for number in range(1, 55)]


@pytest.mark.parametrize("complaint", ALL, ids=str)
def test_a_complaint_is_right_or_refused_as_it_says(tmp_path: Path, complaint: Complaint) -> None:
    query = Query.without_engine(tmp_path, "")
    end = all_at_once(query, complaint.case, query.simulate)
    if end.expected:
        end.check(query.simulated.output, query.simulated.codes)
        assert "quarantine" in end.expected or query.simulated.codes == []


@pytest.mark.either_engine
@pytest.mark.parametrize(
    "complaint",
    [complaint if complaint.name in ON_AN_ENGINE else soak(complaint) for complaint in ALL],
    ids=str,
)
def test_an_engine_gives_the_same(spark: SparkSession, tmp_path: Path, complaint: Complaint) -> None:
    query = Query(spark, tmp_path, "")
    end = all_at_once(query, complaint.case, query.process)
    if end.expected:
        end.check(
            query.output, [line["code"] for source in query.sources() for line in query.quarantine(source)]
        )
