"""Functions of SQL whose value changes from call to call: an epoch that is redone must give the same."""

from __future__ import annotations

from cedilla.grammar.diagnostics import DiagnosticError, Span, failure

NAMES = {
    *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"),
    *("now", "current_timestamp", "current_date", "curdate", "current_time"),
    *("localtimestamp", "unix_timestamp", "today", "getdate", "sysdate"),
    *("systimestamp", "utcnow", "proctime", "current_row_timestamp", "clock_timestamp"),
    *("current_timezone", "current_user", "user", "session_user", "current_database", "current_schema"),
    *("version", "spark_partition_id", "input_file_name"),
}

_PLAIN = {"user", "version", "random", "rand", "shuffle", "uuid", "uniform"}


def is_changing(name: str) -> bool:
    """Returns True if a name without parentheses is a SQL function whose value changes."""
    return name.lower() in NAMES - _PLAIN


def refused(name: str, span: Span | None) -> DiagnosticError:
    """Returns the error of a function that gives another value each time (RQ117)."""
    message = f"`{name}` is not allowed, because an epoch that is repeated must give the same result"
    return failure("RQ117", message, span, hint="let a source send the value as an attribute")
