"""The attributes at a stream's start: declared, or inferred from its first lines."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.passes import plan_query
from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.grammar.diagnostics import DiagnosticError, Span
from cedilla.grammar.parser import parse_accent, parse_query
from cedilla.grammar.syntax import AddAttribute
from cedilla.runtime.connectors.records.json_objects import word
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.near_markers import marker_of

SAMPLE = 1000
"""The number of lines that infer a schema."""

_BEFORE = "stream s(\n"
_AFTER = '\n) from json "s"; emit s to json "o";'


@frozen
class Schema:
    """The attributes at a stream's start. If `declared`, those without `?` are required in every tuple."""

    source: Source
    declared: bool


def of_values(schema: Schema) -> Schema:
    """Returns the schema for a sender of values: the fields of records, which it does not write, may be missing."""
    attributes = [
        evolve(attribute, optional=attribute.optional or origin_text(attribute.keys) is not None)
        for attribute in schema.source.attributes
    ]
    return evolve(schema, source=evolve(schema.source, attributes=attributes))


def declared_schema(text: str) -> Schema:
    """Parses the schema `ts: long, s: int in {1, 2}, p?: double`.

    Raises `DiagnosticError` as for a `stream` declaration, with positions in `text` (source `<schema>`).
    """
    try:
        query = parse_query(f"{_BEFORE}{text}{_AFTER}", "<schema>")
        return Schema(plan_query(query).plan.sources[0], True)
    except DiagnosticError as error:
        raise DiagnosticError(evolve(d, span=_within(d.span, text)) for d in error.diagnostics) from None


def _within(span: Span | None, text: str) -> Span | None:
    """Translates a position in the declaration around a text to a position in the text."""
    if span is None:
        return None
    lines = text.split("\n")
    if not 1 < span.line <= len(lines) + 1:
        return None
    end_line, end_column = span.end_line, span.end_column
    if end_line > len(lines) + 1:
        end_line, end_column = len(lines) + 1, len(lines[-1]) + 1
    before = len(_BEFORE)
    return Span(
        span.source,
        span.start - before,
        min(span.end - before, len(text)),
        span.line - 1,
        span.column,
        end_line - 1,
        end_column,
    )


def inferred_schema(lines: Iterable[Line]) -> Schema:
    """Infers the attributes that tuples have before any Add of them; none is required.

    Numbers are doubles, including NaN and infinities among numbers. True and false are booleans; other
    values, or mixtures, are strings.
    """
    kinds: dict[str, set[str]] = {}
    added: set[str] = set()
    for line in lines:
        try:
            item = line.holds()
        except ValueError:
            continue
        if isinstance(text := item.get("$accent"), str):
            added |= _added(text)
        elif marker_of(line.text, item) is None:
            for name, value in item.items():
                if value is not None and name not in added:
                    kinds.setdefault(name, set()).add(_kind(value))
    attributes = [Attribute(name, Type(_type(kinds_of_name))) for name, kinds_of_name in kinds.items()]
    return Schema(Source(name="stream", attributes=attributes, format="json", path=""), False)


def _added(text: str) -> set[str]:
    """Returns the attribute that an accent adds, if it is an Add."""
    try:
        primitive = parse_accent(text).primitives[0]
    except DiagnosticError:
        return set()
    return {primitive.name} if isinstance(primitive, AddAttribute) else set()


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string" if word(value) is None else _WORD
    return "double" if isinstance(value, int | float | Decimal) else "string"


_WORD = "word"
"""The kind of a string that represents NaN or an infinity among doubles."""


def _type(kinds: set[str]) -> str:
    kinds = kinds - {_WORD} if "double" in kinds else kinds
    return kinds.pop() if len(kinds) == 1 and _WORD not in kinds else "string"
