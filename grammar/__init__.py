"""Text to syntax: queries, accents and punctuations share one grammar (design, sections 4 and 6).

| stage   | modules                | from -> to                                    |
|---------|------------------------|-----------------------------------------------|
| parse   | `parser`, `lalr`       | text -> lark tree, by `rq.lark` and the forms |
| build   | `builder`, `terms`     | lark tree -> `syntax` nodes                   |
| explain | `hints`                | lark error -> `diagnostics.Diagnostic`        |
| format  | `formatter`            | `syntax` nodes -> text, in the ASCII spelling |
"""

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, render, to_json
from cedilla.grammar.expression_formatter import format_accent, format_expression, format_punctuation
from cedilla.grammar.formatter import format_query
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
