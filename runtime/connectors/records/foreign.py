"""Takes the contents of foreign files into Python: what is not a value there has a reason, and never an exception of a
library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import DiagnosticError, failure

MAX_BYTES = 24
"""Maximum number of bytes of a text that a reason shows."""


DAMAGED = "RQ414"
UNREADABLE_HINT = (
    "replace the file by a whole one (write elsewhere, then rename) or by one without rows, and run again"
)


def unreadable_parquet(path: str, reason: object) -> DiagnosticError:
    """Returns RQ414 for a file."""
    return failure(DAMAGED, f"{path} cannot be read as Parquet: {reason}", hint=UNREADABLE_HINT)


class Unreadable(Exception):
    """The bytes of a file that its library cannot read. The text is the reason, on one line."""


@frozen
class NoValue:
    """A value of a foreign column that Python cannot have."""

    reason: str


@contextmanager
def damage_told() -> Iterator[None]:
    """Turns the errors of a library about the bytes of a file, which are of any type, into `Unreadable`.

    Errors of the operating system have a number, and pass with it. So do a lack of memory, and diagnostics.
    """
    try:
        yield
    except (DiagnosticError, MemoryError, Unreadable):
        raise
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno is not None:
            raise
        lines = str(problem).strip().splitlines()
        raise Unreadable(lines[0] if lines else type(problem).__name__) from None


def python_values(values: Any) -> list[Any]:
    """Returns the values of an Arrow array, with `NoValue` in the place of what Python cannot have: text that is not
    UTF-8, and a moment before the year 1 or after 9999."""
    try:
        return values.to_pylist()
    except (ValueError, OverflowError):  # `UnicodeDecodeError` is a `ValueError`
        return [_python_value(value) for value in values]


def _python_value(value: Any) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError as problem:
        return NoValue(not_utf8(problem.object))
    except (ValueError, OverflowError) as problem:
        return NoValue(f"a value beyond all bounds ({problem})")


def json_value(text: str | bytes, parse_float: Callable[[str], Any] = float) -> Any:
    """Parses a JSON text. Raises `ValueError` for any other text, also for one that is nested too deeply."""
    try:
        return json.loads(text, parse_float=parse_float)
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None


def not_utf8(text: bytes) -> str:
    """Returns the reason for a text that is not UTF-8, with its first bytes."""
    more = " ..." if len(text) > MAX_BYTES else ""
    return f"bytes that are not UTF-8, {text[:MAX_BYTES].hex(' ').upper()}{more}"


def decoded(text: bytes) -> str:
    """Returns a text with replacement characters for bytes that are not UTF-8, as in Java."""
    return text.decode("utf-8", "replace")
