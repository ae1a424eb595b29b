"""Compares what an engine knows of the clocks of zones with what the compiler knows, before windows rely on both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cedilla.compiler.expressions.types import quote
from cedilla.compiler.expressions.types.zones import clock_changes
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.spark.frames import of_table

_YEARS = range(1970, 2100)


def check_clocks(spark: SparkSession, plan: Plan) -> None:
    """Compares the clocks of the zones of a plan's windows around each time when they are set, 1970 to 2099.

    Asks the engine once for each zone, and nothing if no window has one. Raises `DiagnosticError` RQ515 where the
    engine's database of zones is another than the compiler's: windows would be closed too early, or too late.
    """
    for zone in dict.fromkeys(operator.zone for operator in plan.operators if operator.zone is not None):
        moments = list(_moments(zone))
        if not moments:
            continue
        table = pa.table({"at": [at for at, _ in moments], "offset": [offset for _, offset in moments]})
        shown = f"unix_micros(from_utc_timestamp(timestamp_micros(at), {quote(zone)}))"
        other = of_table(spark, table).where(F.expr(f"{shown} != at + offset")).orderBy("at").first()
        if other is not None:
            moment = datetime.fromtimestamp(other["at"] / 10**6, UTC).isoformat()
            message = (
                f"the engine's clocks of {zone} at {moment} are not those of this machine's database of zones"
            )
            hint = "both need the same release of the tz database: a newer Java, or the system's package `tzdata`"
            raise failure("RQ515", message, hint=hint)


def _moments(zone: str) -> Iterator[tuple[int, int]]:
    """Yields moments before and after clocks are set, each with the offset from UTC, in microseconds."""
    for year in _YEARS:
        for change in clock_changes(zone, year):
            yield change.at - 1, change.before
            yield change.at, change.after
