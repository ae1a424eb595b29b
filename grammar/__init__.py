"""Text to syntax: queries, accents and punctuations share one grammar (design, sections 4 and 6).

| stage   | where                  | from -> to                                    |
|---------|------------------------|-----------------------------------------------|
| parse   | `parsing`              | text -> lark tree, by `rq.lark` and the forms |
| build   | `building`             | lark tree -> nodes of `syntax`                |
| explain | `hints`                | lark error -> `diagnostics.Diagnostic`        |
| format  | `formatting`           | nodes of `syntax` -> text                     |

`parser` goes from text to nodes, and `recovery` finds all errors of a text. `codes.toml` has the meaning of each code.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, render, to_json
    from cedilla.grammar.formatting.expression_formatter import (
        format_accent,
        format_expression,
        format_punctuation,
    )
    from cedilla.grammar.formatting.formatter import format_query
    from cedilla.grammar.parser import parse_accent, parse_expression, parse_punctuation, parse_query

__all__ = [
    "Diagnostic",
    "DiagnosticError",
    "Span",
    "format_accent",
    "format_expression",
    "format_punctuation",
    "format_query",
    "parse_accent",
    "parse_expression",
    "parse_punctuation",
    "parse_query",
    "render",
    "to_json",
]

_HOMES = {
    **dict.fromkeys(("Diagnostic", "DiagnosticError", "Span", "render", "to_json"), "diagnostics"),
    **dict.fromkeys(
        ("format_accent", "format_expression", "format_punctuation"), "formatting.expression_formatter"
    ),
    "format_query": "formatting.formatter",
    **dict.fromkeys(("parse_accent", "parse_expression", "parse_punctuation", "parse_query"), "parser"),
}


def __getattr__(name: str) -> Any:
    """A public name on its first use: who only reports errors needs no parser."""
    if name in _HOMES:
        return getattr(import_module(f"cedilla.grammar.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
