"""Diagnostics of every stage: their structure, their codes, and text that is safe to show.

In: a code, a message, a place. Out: text for people, or JSON. `grammar/codes.toml` has the meaning of each code.
Imports nothing of ours.
"""

from cedilla.grammar.diagnostics.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Severity,
    Span,
    failure,
    from_json,
    in_stream,
    render,
    to_json,
)

__all__ = [
    "Diagnostic",
    "DiagnosticError",
    "Severity",
    "Span",
    "failure",
    "from_json",
    "in_stream",
    "render",
    "to_json",
]
