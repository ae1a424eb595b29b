"""The diagnostics that end functions."""

from __future__ import annotations

from collections.abc import Callable

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError


def errors_of(function: Callable[[], object]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that end a function; none for one that returns."""
    try:
        function()
    except DiagnosticError as error:
        return error.diagnostics
    return ()


def error_of(function: Callable[[], object]) -> Diagnostic:
    """Returns the first diagnostic that ends a function; fails for one that returns."""
    errors = errors_of(function)
    assert errors, "no error"
    return errors[0]


def error_text(function: Callable[[], object]) -> str:
    """Returns code, message and hint of the only error that ends a function: `RQ102 message; hint`."""
    (error,) = errors_of(function)
    return f"{error.code} {error.message}; {error.help}"


def code_of(function: Callable[[], object]) -> str | None:
    """Returns the code of the first error that ends a function; `None` for one that returns."""
    errors = errors_of(function)
    return errors[0].code if errors else None


def place_of(error: Diagnostic) -> str:
    """Returns the last note of an error, without the folder: `FILE:LINE: TEXT`."""
    return error.notes[-1].rpartition("/")[2]
