"""Checks the paths of declared attributes, their decimal commas and their zones."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler.expressions.types.zones import check_zone
from cedilla.compiler.plan import Attribute
from cedilla.compiler.plan.field_paths import (
    TEXT,
    FieldPath,
    overlap,
    path_text,
)
from cedilla.compiler.plan.formats import FORMATS, WITH_TEXTS
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure


def _check_text(declared: syntax.AttributeDeclaration, origin: syntax.Origin) -> None:
    if declared.type.name not in ("int", "long", "double", "decimal"):
        message = f"`{declared.name}` has the type {declared.type.name}, and `from text` reads numbers"
        hint = f'`from "{origin.text}"` reads a text unchanged'
        raise failure("RQ164", message, origin.span, hint=hint)


def _check_comma(declared: syntax.AttributeDeclaration, format_: str) -> None:
    if declared.type.name not in ("double", "decimal"):
        message = (
            f"`{declared.name}` has the type {declared.type.name}, and only numbers have a decimal comma"
        )
        raise failure(
            "RQ164", message, declared.span, hint='`decimal ","` is for `double` and `decimal(p, s)`'
        )
    if not FORMATS[format_].texts:
        message = (
            f"`{declared.name}` has a decimal comma, and format `{format_}` has no texts of numbers here"
        )
        raise failure(
            "RQ164",
            message,
            declared.span,
            hint=f"decimal commas are for {', '.join(WITH_TEXTS)}",
        )


def _check_zone(declared: syntax.AttributeDeclaration, zone: str, format_: str) -> None:
    if declared.type.name != "timestamp":
        message = f"`{declared.name}` has the type {declared.type.name}, and only a timestamp has a zone"
        raise failure("RQ174", message, declared.span, hint='`at: timestamp zone "Europe/Berlin"`')
    if not FORMATS[format_].texts:
        message = f"`{declared.name}` has a zone, and format `{format_}` has no texts of times"
        hint = f"zones are for {', '.join(WITH_TEXTS)}; elsewhere a timestamp is a moment"
        raise failure("RQ174", message, declared.span, hint=hint)
    check_zone(zone, declared.span)


def _check_alternatives(
    node: syntax.StreamDeclaration, declared: syntax.AttributeDeclaration, origin: syntax.Origin
) -> None:
    is_plain = origin.root is None and declared.decimal is None and declared.zone is None
    if origin.others and not (is_plain and FORMATS[node.format].has_alternatives):
        hint = '`from "PATH" or "PATH"`, in `json`, `kafka` and `csv`, without a decimal comma or a zone'
        message = "`or` is between paths or names of columns"
        raise failure("RQ242", message, origin.span, hint=hint)


def check_field_paths(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Checks the paths of a declaration.

    Raises RQ146 for a path in a flat format, RQ145 if two attributes come from one key, or one from inside
    another, RQ164 if an attribute that is read from a text, or has a decimal comma, is not such a number, RQ173 and
    RQ174 for zones, and RQ242 for alternatives that are not paths.
    """
    taken: dict[FieldPath, str] = {}
    for declared in node.attributes:
        if (origin := declared.origin) is not None and origin.root == TEXT:
            _check_text(declared, origin)
        if declared.decimal is not None:
            _check_comma(declared, node.format)
        if declared.zone is not None:
            _check_zone(declared, declared.zone, node.format)
        attribute = attributes[declared.name]
        every = (attribute.keys or (declared.name,), *attribute.others)
        span = declared.span if declared.origin is None else declared.origin.span
        is_column = (
            FORMATS[node.format].has_columns and declared.origin is not None and declared.origin.root is None
        )
        if (
            declared.origin is not None
            and FORMATS[node.format].fields not in ("objects", "points")
            and not (is_column or origin_text(attribute.keys))
        ):
            message = f"`{declared.name}` has a path, and tuples of format `{node.format}` are flat here"
            hint = (
                "paths are for `json`, `kafka` and `otlp`, names of columns for `csv`; "
                "elsewhere an attribute has its column's name"
            )
            if declared.origin.root == TEXT:
                hint = f"leave `from text` out: `{declared.name}: {declared.type.name}`"
            raise failure("RQ146", message, span, hint=hint)
        if declared.origin is not None:
            _check_alternatives(node, declared, declared.origin)
        if (twice := next((keys for keys in every if every.count(keys) > 1), None)) is not None:
            message = f"`{declared.name}` has the path {path_text(twice)} twice"
            raise failure("RQ145", message, span, hint="leave one of them out")
        for keys in every:
            _check_own(declared.name, keys, taken, span)
        taken |= dict.fromkeys(every, declared.name)


def _check_own(name: str, keys: FieldPath, taken: Mapping[FieldPath, str], span: Span) -> None:
    for other, of in taken.items():
        if overlap(other, keys):
            message = f"`{name}` is read from {path_text(keys)}, and `{of}` from {path_text(other)}"
            raise failure("RQ145", message, span, hint="each attribute has a value of its own")
