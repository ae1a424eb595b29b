"""Random expressions over exact numbers, and rows of values that people write and of edge values."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.spark.columns import type_named

SCHEMA = {
    "b": "int",
    "n": "bigint",
    "d": "decimal(10,2)",
    "v": "decimal(18,4)",
    "q": "decimal(38,18)",
    "w": "decimal(38,0)",
    "z": "decimal(32,30)",
    "x": "double",
    "f": "boolean",
}
_WRITTEN = (
    "0.29",
    "0.57",
    "2.30",
    "1.005",
    "0.1",
    "-0.3",
    "4.35",
    "0",
    "1",
    "-7",
    "100",
    "19.99",
    "12345.67",
    "0.0625",
)
_EDGES: dict[str, tuple[Any, ...]] = {
    "b": (2**31 - 1, -(2**31), None),
    "n": (2**63 - 1, -(2**63), 2**53 + 1, None),
    "d": ("99999999.99", "-99999999.99", None),
    "v": ("99999999999999.9999", "-99999999999999.9999", "0.0001", None),
    "q": ("9" * 20 + "." + "9" * 18, "-9." + "9" * 18, "0." + "0" * 17 + "1", "9007199254740993.1", None),
    "w": ("9" * 38, "-" + "9" * 38, "9" * 37, "1" + "0" * 19, "9007199254740993", None),
    "z": ("99." + "9" * 30, "-99." + "9" * 30, "8." + "0" * 29 + "1", "0." + "0" * 29 + "1", None),
    "x": (0.1 + 0.2, 1e300, -0.0, None),
    "f": (True, False, None),
}
_PLACES = {"d": 2, "v": 4, "q": 18, "w": 0, "z": 30}
CONSTANTS = (
    "0",
    "1",
    "0.01",
    "0.1",
    "0.3",
    "100",
    "29",
    "1000",
    "0.0001",
    "1.19",
    "3",
    "7",
    "0.005",
    "2.54",
    "1e-7",
    "0.5",
    "60",
)


def row(rng: Random) -> dict[str, Any]:
    """A value of each attribute: of three, one is an edge value."""
    return {name: _value(rng, name) for name in SCHEMA}


def _value(rng: Random, name: str) -> Any:
    text = rng.choice(_EDGES[name]) if rng.random() < 0.3 or name == "f" else rng.choice(_WRITTEN)
    if not isinstance(text, str):
        return text
    match name:
        case "b" | "n":
            return int(float(text))
        case "x":
            return float(text)
        case _:
            places = _PLACES[name]
            whole, _, after = text.partition(".")
            whole = whole[-2:] if name == "z" else whole  # it has two digits there
            return Decimal(f"{whole}.{after[:places]}" if places else whole)


def number(rng: Random, size: int) -> str:
    """An expression of a number."""
    if size <= 0:
        return rng.choice((*"bndvqwzx", *"bndvn", *CONSTANTS))
    return rng.choice(_NUMBERS)(rng, size - 1)


def condition(rng: Random, size: int) -> str:
    """A condition on numbers."""
    x, y, constant = number(rng, size - 1), number(rng, size - 1), rng.choice(CONSTANTS)
    low, high = sorted(rng.sample(CONSTANTS, 2), key=float)
    return rng.choice(
        (
            f"({x} {rng.choice(('=', '!=', '<', '<=', '>', '>='))} {rng.choice((y, constant))})",
            f"({x} in {{{constant}, {rng.choice(CONSTANTS)}, {rng.choice(CONSTANTS)}}})",
            f"({x} in [{low}, {high}))",
            f"isnull({x})",
        )
    )


def expression(rng: Random) -> str:
    """A number, a condition or a text."""
    size = rng.randint(1, 3)
    return rng.choice(
        (
            number(rng, size),
            number(rng, size),
            condition(rng, size),
            f"string({_exact(rng, size)})",
            f"{rng.choice(('int', 'long', 'floor', 'round', 'abs'))}({number(rng, size)}) = {rng.choice(CONSTANTS)}",
            f"boolean({_exact(rng, size)})",
            f"hash({number(rng, size)})",
            f"substring('0123456789', {_exact(rng, size)})",
        )
    )


def _exact(rng: Random, size: int) -> str:
    """An expression of a number that is no double, whose texts have a notation of their own."""
    x = rng.choice("bndvqwz")
    return rng.choice((x, f"({x} {rng.choice('+-*%')} {rng.choice(CONSTANTS[:8])})"))


def _arithmetic(rng: Random, size: int) -> str:
    return f"({number(rng, size)} {rng.choice('++--***/%%')} {number(rng, rng.randint(0, size))})"


def _call(rng: Random, size: int) -> str:
    x, y = number(rng, size), number(rng, rng.randint(0, size))
    return rng.choice(
        (
            f"floor({x})",
            f"ceil({x})",
            f"round({x}, {rng.randint(0, 5)})",
            f"round({rng.choice('bndvzx')}, -{rng.randint(1, 15)})",
            f"abs({x})",
            f"mod({x}, {y})",
            f"pmod({x}, {y})",
            f"bround({x})",
            f"int({x})",
            f"long({x})",
            f"double({x})",
            f"(-{x})",
        )
    )


def _choice(rng: Random, size: int) -> str:
    x, y, z = (number(rng, rng.randint(0, size)) for _ in range(3))
    return rng.choice(
        (
            f"coalesce({x}, {y})",
            f"greatest({x}, {y}, {z})",
            f"least({x}, {y})",
            f"nullif({x}, {y})",
            f"if(f, {x}, {y})",
            f"case when {condition(rng, size)} then {x} when f then {y} else {z} end",
        )
    )


_NUMBERS: tuple[Callable[[Random, int], str], ...] = (_arithmetic, _arithmetic, _arithmetic, _call, _choice)


TYPES = {name: type_named(kind) for name, kind in SCHEMA.items()}


def mismatches(spark: SparkSession, texts: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """The expressions whose type or value is another one on the engine than in the reference, bit by bit."""
    schema = ", ".join(f"{name} {kind}" for name, kind in SCHEMA.items())
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
    parsed = [parse_expression(text) for text in texts]
    columns = [f"{expression_sql.sql(e, TYPES)} AS x{i}" for i, e in enumerate(parsed)]
    result = frame.selectExpr(*columns)
    wrong = [
        f"{text}: {field.dataType.simpleString()}, said to be {stated}"
        for text, e, field in zip(texts, parsed, result.schema.fields, strict=True)
        if (stated := expressions.type_of(e, TYPES)) != type_named(field.dataType.simpleString())
    ]
    for row, values in zip(rows, result.collect(), strict=True):
        for text, e, value in zip(texts, parsed, values, strict=True):
            expected = evaluate(e, row, TYPES)
            if not _same(value, expected):
                wrong.append(f"{text} of {row}: {value!r}, {expected!r} in the reference")
    return wrong


def _same(value: Any, expected: Any) -> bool:
    if value is None or expected is None or isinstance(value, bool | str):
        return value == expected
    if isinstance(value, float):
        return value == expected or (math.isnan(value) and math.isnan(expected))
    return not isinstance(expected, float) and Fraction(value) == expected
