"""Settings of a session that results depend on, whoever computes them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.frames import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = {
    # Timestamps in files, markers and state are in UTC.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Attributes `t` and `T` are two.
    "spark.sql.caseSensitive": "true",
    # A sum of decimals keeps its last digit.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # What Spark writes by itself has no statistics, and others have given it up.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # `${env:NAME}` in a string of a query or of a marker is text: whoever writes a stream must not read the
    # environment of this process.
    "spark.sql.variable.substitute": "false",
    # How Spark reads the text of expressions.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    # A file that is damaged or missing ends the run.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Dates before 1582 stay what they are.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
}


_LEGACY = "spark.sql.legacy."
"""Settings that bring back what an older Spark computed; Cedilla uses none of them."""


def check_settings(conf: Mapping[str, str]) -> None:
    """Raise RQ474 where a user sets what results depend on to something else."""
    for name, value in conf.items():
        wanted = RESULTS.get(name, value)
        if name.startswith(_LEGACY) or value.lower() != wanted.lower():
            hint = f"leave it out: Cedilla sets it to {wanted}" if name in RESULTS else "leave it out"
            raise failure("RQ474", f"{name} = {value} changes results", hint=hint)


def set_all(session: SparkSession, settings: Mapping[str, str | None]) -> None:
    """Set settings of a session; `None` unsets one. A server that discourages one, whatever its value, only warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, value in settings.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


@contextmanager
def own_session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session for one run beside the caller's session, with the settings that results depend on.

    On Spark it is a new session of the same application. It takes the caller's settings of file systems and of
    performance (all but `RESULTS`). A session of Spark Connect has no sibling in every version: the caller's own gets
    the settings and has its old ones back afterwards.
    """
    if not is_connect(spark):
        session = spark.newSession()
        legacy = {name: None for name in session.conf.getAll if name.startswith(_LEGACY)}
        set_all(session, {**_changed(spark, session), **legacy, **RESULTS})
        yield session
        return
    before = {name: spark.conf.get(name, None) for name in RESULTS}
    changed = {name: value for name, value in RESULTS.items() if before[name] != value}
    set_all(spark, changed)
    try:
        yield spark
    finally:
        set_all(spark, {name: before[name] for name in changed})


def _changed(spark: SparkSession, fresh: SparkSession) -> dict[str, str]:
    """The settings of a session that a new one of its application lacks."""
    known = fresh.conf.getAll
    return {
        name: value
        for name, value in spark.conf.getAll.items()
        if known.get(name) != value and not name.startswith(_LEGACY)
    }
