"""Hints for clashes of types: the conversion to write."""

from __future__ import annotations

import re

from cedilla.compiler.expressions.types import Type
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import Binary, Expression, Literal

_NUMBER = re.compile(r"-?\d+(\.\d+)?")

_HOW = {
    ("number", "string"): "`double({x})` or `int({x})` reads a number from a string",
    ("number", "boolean"): "`if({x}, 1, 0)` makes a number of a condition",
    (
        "number",
        "timestamp",
    ): "`{x} - other` of two timestamps is their seconds; "
    "`timestamp_seconds(unix_seconds({x}) + 300)` is five minutes later",
    ("number", "date"): "`datediff(end, start)` counts days, `date_add({x}, 7)` is a later date",
    ("string", "any"): "`string({x})` is the text of a value",
    ("boolean", "number"): "a condition compares: `{x} > 0`",
    ("boolean", "string"): "a condition compares: `{x} = 'a'`",
    ("boolean", "any"): 'a condition compares: `{x} > "2025-01-31"`',
    ("timestamp", "string"): "`timestamp({x})` reads a timestamp from a string in ISO form",
    ("timestamp", "number"): "`timestamp_seconds({x})` is a timestamp, of seconds since 1970",
    ("date", "string"): "`date({x})` reads a date from a string in ISO form",
    ("date", "number"): "`date(timestamp_seconds({x}))` is a date, of seconds since 1970",
}
"""Kind that is required, kind that is there -> what to write."""


def conversion(wanted: str, actual: Type, expression: Expression) -> str | None:
    """Returns a hint: the conversion of a value to another type. `wanted`: `number` or the name of a type."""
    kind = "number" if actual.is_numeric else actual.name
    if kind == "number" and wanted in ("timestamp", "date") and isinstance(expression, Binary | Literal):
        return f'a {wanted} is a string in ISO form: "2025-01-31"'
    if isinstance(expression, Literal) and wanted == "boolean":
        return f"each side of `and` and `or` compares: `x = {expression.text}`"
    if isinstance(expression, Literal) and isinstance(expression.value, str):
        is_number = wanted == "number" and _NUMBER.fullmatch(expression.value)
        return f"a number is written without quotes: `{expression.value}`" if is_number else None
    how = _HOW.get((wanted, kind)) or (_HOW.get((wanted, "any")) if actual.element is None else None)
    return None if how is None else how.format(x=format_expression(expression))


def comparison(sides: tuple[Type, Type], expressions: tuple[Expression, Expression]) -> str | None:
    """Returns a hint that makes values of two types comparable: it converts the string, or else the second value."""
    (a, b), (left, right) = sides, expressions
    if isinstance(right, Literal) and isinstance(right.value, str):
        return conversion("string", a, left)
    wanted = "number" if a.is_numeric else a.name
    return conversion(wanted, b, right) or conversion("number" if b.is_numeric else b.name, a, left)
