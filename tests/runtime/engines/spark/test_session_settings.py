"""Results depend on no setting of the caller's session, and on nothing in the environment (issue: no way in)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla import Options, run
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.spark.settings import RESULTS, check_settings
from tests.kit.lines import write_lines
from tests.kit.stream import read_output

CLOCK = """
stream events(at: timestamp, id: string) from json "{folder}/events" punctuated on at;
emit project[id, hour(at) as h, string(at) as text, string(date(at)) as d](events) to json "{folder}/out";
"""
VARIABLES = """
stream r(k: string) from json "{folder}/r";
emit extend[k = "${{env:HOME}}" as known, "${{env:HOME}}" as mine](r) to json "{folder}/out";
"""


def with_settings(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    """A session as a caller may have one."""
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


OTHERS = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
}


@pytest.mark.spark
def test_a_session_of_another_time_zone_gives_the_same_results(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "events/1.jsonl", [{"at": "2025-03-01T02:30:00Z", "id": "a\\b"}])
    session = with_settings(spark, OTHERS)
    run(CLOCK.format(folder=tmp_path), Options(once=True, checkpoint=str(tmp_path / "ck")), spark=session)
    (row,) = read_output(tmp_path / "out")
    assert row == {"id": "a\\b", "h": 2, "text": "2025-03-01 02:30:00", "d": "2025-03-01"}
    assert {name: session.conf.get(name) for name in OTHERS} == OTHERS


@pytest.mark.spark
def test_a_function_of_epochs_gets_frames_with_the_checked_settings(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_lines(tmp_path / "events/1.jsonl", [{"at": "2025-03-01T02:30:00Z", "id": "a"}])
    zones: list[str | None] = []

    def on_epoch(frame: DataFrame | None, markers: object, epoch: int) -> None:
        assert frame is not None
        zones.append(frame.sparkSession.conf.get("spark.sql.session.timeZone"))

    options = Options(once=True, checkpoint=str(tmp_path / "ck"))
    run(CLOCK.format(folder=tmp_path), options, on_epoch, with_settings(spark, OTHERS))
    assert zones == ["UTC"]


@pytest.mark.either_engine
def test_text_that_looks_like_a_variable_is_text(spark: SparkSession, tmp_path: Path) -> None:

    accent = {"$accent": '[[k = "${env:HOME}", +(p: double)]]'}
    write_lines(tmp_path / "r/1.jsonl", [{"k": os.environ["HOME"]}, {"k": "${env:HOME}"}, accent])
    run(VARIABLES.format(folder=tmp_path), Options(once=True, checkpoint=str(tmp_path / "ck")), spark=spark)
    rows = [item for item in read_output(tmp_path / "out") if "$accent" not in item]
    assert [(row["known"], row["mine"]) for row in rows] == [(False, "${env:HOME}"), (True, "${env:HOME}")]


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_setting_that_results_depend_on_is_refused_with_another_value(name: str) -> None:
    check_settings({name: RESULTS[name]})
    with pytest.raises(DiagnosticError, match="RQ474") as caught:
        check_settings({name: "another", "spark.sql.shuffle.partitions": "3"})
    assert name in str(caught.value)


def test_settings_that_bring_back_an_older_spark_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="RQ474"):
        check_settings({"spark.sql.legacy.timeParserPolicy": "LEGACY"})


def test_a_run_with_such_a_setting_starts_no_engine(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    conf = {"spark.sql.variable.substitute": "true"}
    with pytest.raises(DiagnosticError, match="RQ474"):
        run(VARIABLES.format(folder=tmp_path), Options(once=True, conf=conf))
