"""Session settings that affect results, on every engine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.spark.frames import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS = {
    # Timestamps in files, markers and state are in UTC.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Attributes `t` and `T` are different.
    "spark.sql.caseSensitive": "true",
    # A sum of decimals keeps its last digit.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # Spark's default has no statistics, and is deprecated elsewhere.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # `${env:NAME}` in a string of a query or of a marker is text: writers of a stream must not read the environment of
    # this process.
    "spark.sql.variable.substitute": "false",
    # The syntax of expressions in Spark.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    # A file that is damaged or missing ends the run.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Dates before 1582 remain unchanged.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
}

WITHOUT_PLACES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Keeps PySpark from looking up the place of each call in the program. That would be in generated code. It costs Spark
some messages to the JVM for each call, and loads notebooks' packages where they are installed."""

_LEGACY = "spark.sql.legacy."
"""Prefix of settings that restore results of an older Spark; Cedilla uses none of them."""


def check_settings(conf: Mapping[str, str]) -> None:
    """Raises `DiagnosticError` RQ474 if a user changes a setting that affects results."""
    for name, value in conf.items():
        wanted = RESULTS.get(name, value)
        if name.startswith(_LEGACY) or value.lower() != wanted.lower():
            hint = f"leave it out: Cedilla sets it to {wanted}" if name in RESULTS else "leave it out"
            raise failure("RQ474", f"{name} = {value} changes results", hint=hint)


def set_all(session: SparkSession, settings: Mapping[str, str | None]) -> None:
    """Sets settings of a session; `None` unsets one. Deprecated settings cause only a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, value in settings.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


@contextmanager
def own_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Opens a session for one run, separate from the caller's session, with the settings that affect results.

    On Spark it is a new session of the same application, with the caller's settings for file systems and performance
    (all except `RESULTS`). Not every version of Spark Connect can open a second session. There the caller's own session
    gets the settings, and its old ones return afterwards.
    """
    if not is_connect(spark):
        session = spark.newSession()
        legacy = {name: None for name in session.conf.getAll if name.startswith(_LEGACY)}
        _inherit(session, _changed(spark, session))
        set_all(session, {**legacy, **RESULTS})
        yield session
        return
    with changed_settings(spark, RESULTS):
        yield spark


@contextmanager
def changed_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Changes settings of a session; the old ones return afterwards."""
    before = {name: session.conf.get(name, None) for name in settings}
    changed = {name: value for name, value in settings.items() if before[name] != value}
    try:
        set_all(session, changed)
        yield
    finally:
        set_all(session, {name: before[name] for name in changed})


def _inherit(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Sets settings of another session. Those of the whole application, which a session of a stream lists too, stay."""
    from pyspark.errors import AnalysisException

    for name, value in settings.items():
        try:
            set_all(session, {name: value})
        except AnalysisException as problem:
            if problem.getCondition() != "CANNOT_MODIFY_CONFIG":
                raise


def _changed(spark: SparkSession, fresh: SparkSession) -> dict[str, str]:
    """Returns the settings of a session that a new one of its application lacks."""
    settings = fresh.conf.getAll
    return {
        name: value
        for name, value in spark.conf.getAll.items()
        if settings.get(name) != value and not name.startswith(_LEGACY)
    }
