"""Converts JSON values to those of the plain reference, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.moments import day_of, moment_of
from cedilla.compiler.expressions.types.versions import key_of
from cedilla.runtime.connectors.records.json_objects import is_text, json_text, read_strings, word
from cedilla.runtime.connectors.records.nested import Paths
from cedilla.runtime.connectors.records.path_keys import Keys, key_values
from cedilla.runtime.connectors.records.rejections import NO_OBJECT, OTHER_KEY, fault_in
from cedilla.runtime.connectors.records.typed_rows import WHOLE, TypedRow
from cedilla.runtime.connectors.records.values import decimal_of_json, elements_of, whole_of_json
from cedilla.runtime.control.markers.unannounced import INFERRED, inferred
from cedilla.runtime.engines.plain.node import control
from cedilla.runtime.engines.plain.scalars.arithmetic import double
from cedilla.runtime.engines.plain.scalars.versions import Version


def read_value(type_: Type, value: Any) -> Any:
    """Converts a JSON value to a type, as Spark's JSON reader does; raises `ValueError` for other values."""
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    match type_.name:
        case "int" | "long" if (whole := whole_of_json(type_, _plain(value))) is not None:
            return whole
        case "double" if (odd := word(value)) is not None:
            return odd
        case "double" if number and math.isfinite(nearest := double(value)):
            return nearest
        case "decimal" if (decimal := decimal_of_json(type_, _plain(value))) is not None:
            return decimal
        case "boolean" if isinstance(value, bool):
            return value
        case "string" if is_text(text := value if isinstance(value, str) else json_text(value)):
            return text
        case "timestamp" if isinstance(value, str):
            return moment_of(value, type_.zone)
        case "date" if isinstance(value, str):
            return day_of(value)
        case "version" if isinstance(value, str):
            key_of(value)
            return Version(value)
        case "array" if type_.element is not None:
            return [read_value(type_.element, element) for element in elements_of(value)]
        case _:
            pass
    raise ValueError(f"{value!r} is not a value of type {type_}")


def _plain(value: Any) -> Any:
    """Returns a double of Python as the decimal with the fewest digits."""
    return Decimal(repr(value)) if isinstance(value, float) else value


def write_value(type_: Type, value: Any) -> Any:
    """Converts a value for a JSON line, as Spark's JSON writer does."""
    match value:
        case list():
            return [write_value(type_.element or type_, element) for element in value]
        case bool():
            return value
        case str():
            return str(value)
        case datetime():
            text = value.astimezone(UTC).isoformat(timespec="microseconds")
            return text.replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case _ if type_.name == "decimal":
            return _decimal(value, type_.parameters[1])
        case Fraction() | float():
            return int(value) if type_.is_integral else double(value)
        case int() if type_.name == "double":
            return double(value)
        case _:
            return value


def _decimal(value: Fraction | int, scale: int) -> Decimal:
    """Returns a decimal with `scale` decimal places."""
    sign, digits = int(value < 0), str(abs(int(Fraction(value) * 10**scale)))
    return Decimal((sign, tuple(map(int, digits)), -scale))


def misfit_of(item: Mapping[str, Any], types: Mapping[str, Type]) -> str:
    """Returns the fault of the first value of a tuple that is not of its attribute's type."""
    values = read_strings(item, types)
    wrong = (n for n, type_ in types.items() if values.get(n) is not None and not _fits(type_, values[n]))
    name = next(wrong, None)
    return NO_OBJECT if name is None else fault_in(item, name, types[name])


def _fits(type_: Type, value: Any) -> bool:
    try:
        read_value(type_, value)
    except ValueError:
        return False
    return True


def fault_of_keys(keys: Keys, types: Mapping[str, Type], paths: Paths, fields: dict[str, Any]) -> str | None:
    """Adds the values of keys in the path of a file to the fields of a tuple; returns the first fault of them."""
    read: dict[str, Any] = {}
    for name, value, fault in key_values(keys, types, paths):
        try:
            read[name] = read_value(types[name], value)
        except ValueError:
            return fault
    differing = (name for name in read if control(fields.setdefault(name, read[name])) != control(read[name]))
    name = next(differing, None)
    return None if name is None else f"{OTHER_KEY} {name}"


def inferred_of(item: Mapping[str, Any], name: str, value: Any) -> Type | None:
    """Returns the type that a field gives its attribute: by its column, else by its value; `None` for a column without
    one."""
    if not isinstance(item, TypedRow):
        return inferred(value)
    kind = item.kinds[name]
    return INFERRED.get({"float": "double", **dict.fromkeys(WHOLE, "bigint")}.get(kind, kind))
