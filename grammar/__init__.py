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

from typing import TYPE_CHECKING

from cedilla.grammar.first_use import on_first_use

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
# Public names are imported on first use: who only reports errors needs no parser.
__getattr__ = on_first_use(__name__, _HOMES)
