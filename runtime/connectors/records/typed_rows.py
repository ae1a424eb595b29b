"""Rows of files with typed columns as tuples.

A row is an object like that of a line of JSON. Its columns decide more: a column of texts has no times, although the
same text in a line of JSON is one. A double is a whole number only if no digit of it can be lost. The module
`formats.parquet.conversions` has the same rules in SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from decimal import Decimal
from typing import Any

from cedilla.compiler.expressions.types import LARGEST, Type
from cedilla.runtime.connectors.records.json_objects import JsonObject, NoObject, json_text
from cedilla.runtime.connectors.records.values import value_of_json


class TypedRow(JsonObject):
    """The row of a file, without its nulls. `kinds`: column -> its type, by the name that engines give it."""

    kinds: Mapping[str, str] = {}

    def with_fields(self, types: Mapping[str, Type]) -> JsonObject:
        """Returns the row with a `NoObject` for each value that only a line of JSON may have for its attribute."""
        wrong = [
            name
            for name, type_ in types.items()
            if (value := self.get(name)) is not None
            and not _fits(self.kinds[name], type_, value)
            and _is_read(type_, value)
        ]
        if not wrong:
            return self
        row = copy(self)
        row.update(dict.fromkeys(wrong, NoObject()))
        return row

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        return {name: value_text(self[name], self.kinds[name]) for name in names}

    def shown(self, name: str) -> str:
        if isinstance(self[name], NoObject):
            return f"a value of a column of type {self.kinds[name]}"
        return super().shown(name)


def value_text(value: Any, kind: str) -> str:
    """Returns the text of another value for an attribute of type `string`, as engines write it."""
    if kind == "float":
        import numpy as np

        return java_text(float(str(np.float32(value))))
    if kind == "double":
        return java_text(float(value))
    return compact_text(value)


def java_text(value: float) -> str:
    """Returns a finite double as Java writes it."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    if not abs(value) < float("inf"):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{exponent + len(digits) - 1}"


def compact_text(value: Any) -> str:
    """Returns a value of JSON as engines write it, without blanks and without undefined values of objects."""
    if isinstance(value, dict):
        fields = (f"{json_text(str(n))}:{compact_text(v)}" for n, v in value.items() if v is not None)  # type: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        return f"{{{','.join(fields)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(compact_text, value))}]"  # type: ignore[reportUnknownArgumentType]
    return json_text(value)


WHOLE = ("tinyint", "smallint", "int", "bigint")
"""The types of whole numbers."""
_DOUBLE = ("float", "double")
_NESTED = ("array<", "map<", "struct<")
_EXACT_DIGITS = 15
"""Number of digits up to which each decimal is a distinct double."""


def _fits(kind: str, type_: Type, value: Any) -> bool:
    """Returns True if a value of a column is one of a type."""
    is_number = kind in (*WHOLE, *_DOUBLE) or kind.startswith("decimal(")
    match type_.name:
        case "string" | "version":
            others = ("string", "binary", "boolean", "date", "timestamp", "timestamp_ntz")
            return is_number or kind in others or kind.startswith(_NESTED)
        case "double":
            return is_number
        case "int" | "long" | "decimal":
            return is_number and (kind not in _DOUBLE or _is_exact(value, type_))
        case "timestamp":
            return kind in ("timestamp", "timestamp_ntz")
        case _:
            return kind == type_.spark.lower()


def _is_exact(value: Any, type_: Type) -> bool:
    """Returns True if a double is a whole number or a decimal of a type, and no digit of it can be lost."""
    number = float(value)
    digits = min(type_.parameters[1], _EXACT_DIGITS) if type_.parameters else 0
    if not digits:
        return number.is_integer() and abs(number) < LARGEST
    scaled = round(number * 10.0**digits)
    return abs(scaled) < 10**_EXACT_DIGITS and scaled / 10.0**digits == number


def _is_read(type_: Type, value: Any) -> bool:
    """Returns True if the value of a line of JSON would be of a type."""
    try:
        value_of_json(type_, value)
    except ValueError:
        return False
    return True
