"""One pass over an epoch's tuples: markers are found before it, tuples are counted by it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Observation, SparkSession

from cedilla.compiler import regions
from cedilla.compiler.codegen import sql
from cedilla.compiler.expressions.types import LONG, Type
from cedilla.compiler.regions import POSITION
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.jobs import Jobs, wait_all
from cedilla.runtime.engines.spark.tuning import Tuning
from tests.kit.query import Query
from tests.kit.stream import decode


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(
        spark,
        tmp_path,
        'stream r(k: int, t: double) from json "r"; q := select[k > 0](r); emit q to json "q";',
    )


@pytest.mark.either_engine
def test_no_marker_is_overlooked(run: Query) -> None:
    """However a marker is written."""
    run.write(
        "r", [{"k": 1, "t": 3.0}, '{"\\u0024accent": "[[alter(t, y -> y * 2)]]"}\n', {"k": 1, "t": 8.0}]
    )
    run.process()
    assert sorted(row["t"] for row in decode(run.output("q"))) == [3, 4]
    assert [report.accents for report in run.reports] == [1]


@pytest.mark.either_engine
def test_a_marker_in_a_list_is_spoilt(run: Query) -> None:
    """A list is nothing. Tuples after it may be in new units, so the query ends there."""
    run.write("r", [{"k": 1, "t": 3.0}, '[{"$accent": "[[alter(t, y -> y * 2)]]"}]\n', {"k": 1, "t": 8.0}])
    with pytest.raises(DiagnosticError, match="RQ212"):
        run.process()
    assert [row["t"] for row in decode(run.output("q"))] == [3]


@pytest.mark.either_engine
def test_tuples_are_counted_once_however_they_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """By a limit that reads a part, by no emit, or by two; rejected ones by code."""
    text = """
    stream r(k: int, t: double) from json "r"; stream s(k: int) from json "s";
    q := limit[2](r); p := select[k > 0](r); j := s semi join r on k;
    """
    run = Query(spark, tmp_path, f'{text} emit q to json "q"; emit p to json "p"; emit j to json "j";')
    run.write("r", [{"k": i, "t": 1.0} for i in range(10)] + [{"k": 3}, "no json\n"])
    run.write("s", [{"k": 1}, {"k": "x"}])
    run.process()
    (report,) = run.reports
    assert report.tuples == 11
    assert report.quarantined == {"RQ301": 2, "RQ302": 1}


@pytest.mark.either_engine
@pytest.mark.parametrize("early", [(0, 0), (8, 1)])
def test_counts_that_were_taken_too_early_are_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: tuple[int, int]
) -> None:
    """Two jobs read the same rows from memory; the one that is done first may know of too few."""
    counts = Observation.get

    def taken_early(observation: Observation) -> dict[str, Any]:
        observed = counts.fget(observation)  # type: ignore[attr-defined]
        return observed if isinstance(observed.get("counts", ""), str) else {"counts": early}

    run = Query(spark, tmp_path, 'stream r(k: int) from json "r"; p := distinct(r); emit p to json "p";')
    run.write("r", [*({"k": i} for i in range(7)), {"k": "x"}, {"$punctuation": "[k < 7]"}])
    monkeypatch.setattr(Observation, "get", property(taken_early))
    run.process()
    (report,) = run.reports
    assert (report.tuples, report.quarantined) == (7, {"RQ301": 1})
    assert [row["raw"] for row in run.quarantine("r")] == ['{"k": "x"}']


def test_small_epochs_have_settings_of_their_own(spark: SparkSession) -> None:
    """Settings of the user stay, and the session is restored at the end."""
    names = ("spark.sql.codegen.wholeStage", "spark.sql.shuffle.partitions")
    before = [str(spark.conf.get(name)) for name in names]
    tuning = Tuning(spark, {"spark.sql.shuffle.partitions": before[1]})
    tuning.choose(costs.SMALL_EPOCH - 1)
    assert [spark.conf.get(name) for name in names] == ["false", before[1]]
    tuning.choose(costs.SMALL_EPOCH)
    assert [spark.conf.get(name) for name in names] == before
    assert spark.conf.get("spark.sql.adaptive.enabled") == "false"
    tuning.choose(costs.MEDIUM_EPOCH)
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    tuning.choose(costs.SENT_INPUT - 1, costs.MEDIUM_EPOCH)
    assert spark.conf.get("spark.sql.adaptive.enabled") == "false", "few tuples meet a large state"
    tuning.choose(0)
    tuning.restore()
    assert [spark.conf.get(name) for name in names] == before


JOINED = """
stream placement(s: int, l: string) from json "in" punctuated on s;
stream readings(ts: long, s: int, t: double) from json "in" punctuated on ts;
located := readings join placement on s;
sums := aggregate[sum(t) as t by l, ts](located);
emit sums to json "out";
"""


def test_small_epochs_shuffle_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Each job of a join and an aggregate has one stage, also where both read state."""
    run = Query(spark, tmp_path, JOINED)
    run.write("placement", [{"s": 1, "l": "a"}, {"s": 2, "l": "b"}, {"$punctuation": "[]"}])
    for n in range(3):
        run.write("readings", [{"ts": n + k, "s": s, "t": 1.0} for k in (0, 1) for s in (1, 2)])
        run.write("readings", [{"$punctuation": f"[ts <= {n}]"}])
    tracker = spark.sparkContext.statusTracker()
    before = {*tracker.getJobIdsForGroup(None)}
    run.process(files_per_epoch=2)
    assert [row["t"] for row in run.canonical("sums") if row["l"] == "a"] == [1.0, 2.0, 2.0]
    jobs = [tracker.getJobInfo(job) for job in {*tracker.getJobIdsForGroup(None)} - before]
    assert len(jobs) >= 3
    assert [len(job.stageIds) for job in jobs if job] == [1] * len(jobs)


def test_a_job_that_fails_is_heard_of() -> None:
    jobs = Jobs()
    done: list[int] = []
    jobs.start(lambda: done.append(1))
    jobs.start(lambda: 1 // 0)
    started = jobs.take()
    with pytest.raises(ZeroDivisionError):
        wait_all(started)
    assert done == [1]
    assert jobs.take() == ()
    jobs.close()


@pytest.mark.either_engine
def test_moments_keep_their_microseconds(spark: SparkSession, tmp_path: Path) -> None:
    """In every text: Spark's own default cuts them off."""
    text = 'stream r(at: timestamp) from json "r"; q := select[at > timestamp("2013-01-31")](r); '
    run = Query(spark, tmp_path, f'{text} p := project[at](q); emit q to json "q"; emit p to xml "p";')
    run.write("r", [{"at": "2013-01-31T00:00:00.123456Z"}])
    run.process()
    (row,) = decode(run.output("q"))
    assert row == {"at": "2013-01-31T00:00:00.123456Z"}
    (file,) = (tmp_path / "out" / "p").glob("epoch=*/1-tuples-*")
    assert "<at>2013-01-31T00:00:00.123456Z</at>" in file.read_text()


@pytest.mark.either_engine
def test_values_of_attributes_that_nobody_uses_are_looked_at_too(spark: SparkSession, tmp_path: Path) -> None:
    """All jobs of an epoch parse all attributes, or they would not agree on which rows are corrupt, and such a row
    would be in no output and in no quarantine."""
    text = "stream r(k: int, a: string, b?: string, c?: long) from json 'r' punctuated on k; "
    run = Query(spark, tmp_path, f"{text} q := project[k](r); emit q to json 'q';")
    accent = {"$accent": "[[k > 1, alter(c, y -> y * 2)]]"}
    run.write("r", [{"k": 1, "a": "x", "b": "y", "c": "z"}, accent, {"k": 2, "a": "x"}])
    run.process()
    assert decode(run.output("q")) == [{"k": 2}]
    (rejected,) = run.quarantine("r")
    assert (rejected["code"], rejected["position"]["line"]) == ("RQ301", 1)


def test_other_constants_need_no_other_code(spark: SparkSession) -> None:
    """Each epoch closes more: the code that Spark generates for it is the same, and compiled already."""
    types = {"ts": LONG, "t": Type("double"), "at": Type("timestamp")}
    values = (
        "nullif(id, 7L) AS ts",
        "double(nullif(id, 7L)) AS t",
        "timestamp_seconds(nullif(id, 7L)) AS at",
    )
    frame = spark.range(20).selectExpr(*values, "id AS `$position`")

    def of(bound: int) -> tuple[list[str], list[int]]:
        late = regions.interval("t", (Fraction(bound), False), None)
        placed = regions.interval(POSITION, (Fraction(bound + 2), False), None)
        moment = regions.interval("at", None, (Fraction(1_000_000 * (bound - 3)), False))
        early = regions.interval("ts", None, (Fraction(bound - 2), False))
        region = regions.union(early, moment, regions.intersection(late, placed))
        chosen = frame.where(sql.predicate(region, types))
        stages = chosen._jdf.queryExecution().debug().codegenToSeq()  # type: ignore[attr-defined]
        code = [stages.apply(i)._2() for i in range(stages.length())]
        return code, [row[3] for row in chosen.collect()]

    (code, rows), (other_code, other_rows) = of(5), of(10)
    assert rows == [0, 1, 2, *range(8, 20)]
    assert other_rows == [*range(7), *range(12, 20)]
    assert len(code) == 1
    assert code == other_code
