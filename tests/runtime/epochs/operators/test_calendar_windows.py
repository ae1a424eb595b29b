"""Windows of a calendar: an engine's numbers and bounds are those of the compiler, whatever clocks do."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.calendars import UNITS, Calendar
from cedilla.compiler.expressions.types.zones import ClockChange, clock_changes
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.spark import clocks
from cedilla.runtime.engines.spark.frames import of_table
from tests.kit.calendars import HOUR, ZONES
from tests.kit.seeds import soak_seeds
from tests.kit.tiers import tiered

STARTS = (0, HOUR // 2, 2 * HOUR + HOUR // 2, 6 * HOUR)
QUERY = """
stream r(at: timestamp, v: double) from json "r" punctuated on at;
sums := aggregate[sum(v) as total by begin, end](window[1 day on at zone "Europe/Berlin" as [begin, end]](r));
emit sums to json "out";
"""


def moments(rng: Random, zone: str) -> list[int]:
    """Moments near those at which clocks are set, and some others, also in years without periods."""
    years = rng.sample(range(1901, 2099), 12)
    changes = [change.at for year in years for change in clock_changes(zone, year)]
    near = [at + d for at in changes for d in (-2 * HOUR, -1, 0, 1, HOUR // 2, HOUR - 1, HOUR, 2 * HOUR)]
    others = [rng.randrange(-(2 * 10**9), 4 * 10**9) * 10**6 for _ in range(20)]
    return [*near, *others, -(3 * 10**9) * 10**6, 5 * 10**9 * 10**6]


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", [*tiered([0, 1], 1, 2), *soak_seeds(10)])
def test_an_engine_finds_the_periods_of_the_compiler(spark: SparkSession, seed: int) -> None:
    rng = Random(seed)
    for zone in ZONES:
        calendar = Calendar(rng.choice(UNITS), rng.randint(1, 4), zone, rng.choice(STARTS))
        times = moments(rng, zone)
        frame = of_table(spark, pa.table({"t": times})).select("t", F.expr("timestamp_micros(t)").alias("at"))
        frame = frame.withColumn("k", F.expr(calendar.shown_sql("at")))
        frame = frame.withColumn("k", F.expr(calendar.number_sql("at", "k")))
        begin = F.expr(f"unix_micros({calendar.begin_sql('k')})").alias("begin")
        rows = {row["t"]: (row["k"], row["begin"]) for row in frame.select("t", "k", begin).collect()}
        numbers = {t: calendar.number(t) for t in times}
        assert rows == {t: (k, None if k is None else calendar.begin(k)) for t, k in numbers.items()}, (
            calendar
        )


@pytest.mark.either_engine
def test_other_clocks_of_an_engine_end_the_query(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = compile_query(QUERY).plan
    assert plan is not None
    clocks.check_clocks(spark, plan)

    def another(zone: str, year: int) -> tuple[ClockChange, ...]:
        changes = clock_changes(zone, year)
        return tuple(c._replace(at=c.at - HOUR) for c in changes) if year == 2031 else changes

    monkeypatch.setattr(clocks, "clock_changes", another)
    with pytest.raises(DiagnosticError) as refused:
        clocks.check_clocks(spark, plan)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "RQ515"
    assert "Europe/Berlin at 2031-03-30" in diagnostic.message


def test_a_query_without_such_windows_asks_the_engine_nothing() -> None:
    plan = compile_query(QUERY.replace('zone "Europe/Berlin" ', "")).plan
    assert plan is not None
    clocks.check_clocks(None, plan)  # pyright: ignore[reportArgumentType]
