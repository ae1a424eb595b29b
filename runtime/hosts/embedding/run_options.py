"""Options of a run by their names, and the session that a program has already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import fields

from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.runtime.epochs.options.options import Options, wrong

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def options_of(values: Mapping[str, Any]) -> Options:
    """Returns options by name. Raises `DiagnosticError` RQ477 for an unknown name."""
    names = [option.name for option in fields(Options)]
    for name in values:
        if name not in names:
            raise wrong(f"unknown option `{name}`", did_you_mean(name, names, "options"))
    return Options(**values)


def active_session(options: Options) -> SparkSession | None:
    """Returns the session of Spark in this process, unless options choose another engine or settings."""
    if options.engine not in (None, "spark") or options.master or options.remote or options.conf:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    return None if SparkContext._active_spark_context is None else SparkSession.getActiveSession()
