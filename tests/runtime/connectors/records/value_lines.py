"""Values as each format writes them in a line."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.records.values import value_of_json

TYPES = {
    name: Type.parse(text)
    for name, text in {
        "i": "int",
        "l": "long",
        "x": "double",
        "m": "decimal(5,1)",
        "w": "decimal(38,0)",
        "f": "decimal(38,38)",
        "s": "string",
        "b": "boolean",
        "at": "timestamp",
        "day": "date",
    }.items()
}
NUMBERS = (
    *(
        "0",
        "-0",
        "5",
        "-5",
        "5.0",
        "-5.000",
        "5e0",
        "50e-1",
        "5E+0",
        "0.0",
        "-0.0",
        "0e9",
        "1.5",
        "1.50",
        "1.05",
    ),
    *("1.005", "-0.004", "0.1", "1e-38", "1e-39", "9999.9", "9999.95", "10000", "99999", "1e4", "1E2"),
    *("2147483647", "2147483647.0", "2147483648", "-2147483648", "-2147483649.0", "9007199254740993"),
    *("9007199254740993.0", "9007199254740993.5", "9223372036854775807", "9223372036854775807.00", "9.3e18"),
    *(
        "9223372036854775808",
        "-9223372036854775808.0",
        "9" * 38,
        "1" + "0" * 38,
        "1e37",
        "1e38",
        "1e400",
        "-1e-400",
    ),
    *("0." + "0" * 60 + "1", "5." + "0" * 60, "12345678901234567890.5"),
)
"""Numbers in the notation of JSON."""


def as_json(name: str, text: str, number: int) -> list[str]:
    as_number = [f'{{"n": {number}, "{name}": {text}}}'] if text in NUMBERS else []
    return [
        *as_number,
        json.dumps({"n": number, name: text}),
        json.dumps({"n": number, name: text}, ensure_ascii=False),
    ]


def as_csv(name: str, text: str, number: int) -> list[str]:
    quoted = ['"' + text.replace('"', '""') + '"', text if "," not in text else '""']
    return [
        ",".join([str(number), *(field if column == name else "" for column in TYPES)]) for field in quoted
    ]


def as_xml(name: str, text: str, number: int) -> list[str]:
    return [f"<r><n>{number}</n><{name}>{text}</{name}></r>"]


def as_otlp(name: str, text: str, number: int) -> list[str]:
    values = [{"stringValue": text}]
    if text in NUMBERS:
        values += [{"intValue": text}, {"doubleValue": "@"}]
    points = ({"asInt": str(number), "attributes": [{"key": name, "value": value}]} for value in values)
    return [request(point).replace('"@"', text) for point in points]


def request(point: Mapping[str, Any]) -> str:
    metrics = [{"gauge": {"dataPoints": [point]}}]
    return json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]})


FORMATS = {"json": as_json, "csv": as_csv, "xml": as_xml, "otlp": as_otlp}


def is_value(type_: Type, text: str) -> bool:
    """Returns True if a number of JSON is one of a type, by its digits."""
    number, name = Fraction(text), type_.name
    if name in ("int", "long"):
        bits = 31 if name == "int" else 63
        return number.denominator == 1 and -(2**bits) <= number < 2**bits
    if name == "decimal":
        precision, scale = type_.parameters
        scaled = number * 10**scale
        return scaled.denominator == 1 and abs(scaled) < 10**precision
    return name == "string" or (name == "double" and abs(number) <= sys.float_info.max)


def of_double(type_: Type, value: float | None) -> Any:
    """The double as the type, by the digits that it is written with; `None` where it is none."""
    if value is None or not math.isfinite(value):
        return None
    number = Fraction(repr(value))
    digits = min(type_.parameters[1], 15) if type_.parameters else 0
    scaled = number * 10**digits
    if scaled.denominator != 1 or abs(scaled) >= (10**15 if digits else 2**53):
        return None
    try:
        return value_of_json(type_, Decimal(repr(value)))
    except ValueError:
        return None
