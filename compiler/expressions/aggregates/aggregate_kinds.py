"""The types of the partial results of aggregate functions, which state stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from cedilla.compiler.expressions.types import DOUBLE, LONG, Type

Kind: TypeAlias = "Type | str | list[Kind] | dict[str, Kind]"
"""A type of a partial result: one of the language; `x` or `y`, that of an argument; `order`, that of the order of
arrival; a list of one kind, an array; a mapping, a struct."""

SPLIT_DIGITS = 28
"""Decimals of more digits are summed in two parts. The lower part has this many digits, and leaves ten for the number
of decimals."""

_WHOLE = Type("decimal", (38, 0))
_PLACED: Kind = {"o": "order", "v": "x"}
_KINDS: Mapping[str, Kind] = {
    "total": DOUBLE,
    "n": LONG,
    "sin": _WHOLE,
    "cos": _WHOLE,
    "odd": LONG,
    "min": "x",
    "max": "x",
    "spread": {"n": LONG, "mean": DOUBLE, "m2": DOUBLE},
    "joint": {"n": LONG, "mx": DOUBLE, "my": DOUBLE, "xx": DOUBLE, "yy": DOUBLE, "xy": DOUBLE},
    "min_x": "x",
    "max_x": "x",
    "min_y": "y",
    "max_y": "y",
    "values": [DOUBLE],
    "set": ["x"],
    "all": ["x"],
    "best": ["x"],
    "extreme": {"o": "y", "v": "x"},
    "ends": [_PLACED],
    "bits": LONG,
    "end": _PLACED,
    "list": [_PLACED],
    "product": DOUBLE,
    "histogram": [{"low": DOUBLE, "high": DOUBLE, "count": DOUBLE}],
}
WITHOUT_BOUND = frozenset({"values", "set", "all", "list"})
"""Partial results that contain the values of a group."""


def kind_of(part: str, arguments: Mapping[str, Type]) -> Kind:
    """Returns the type of a partial result by its suffix. `arguments`: the types of the arguments `x` and `y`."""
    return _kind_of_sum(arguments["x"]) if part == "sum" else _KINDS[part]


def _kind_of_sum(argument: Type) -> Kind:
    """Returns the type of a sum that has all its digits."""
    if argument.name == "decimal":
        digits, scale = argument.parameters
        total = Type("decimal", (38, scale))
        return {"high": LONG, "low": total} if digits > SPLIT_DIGITS else total
    if argument == LONG:
        return _WHOLE
    return LONG if argument.is_integral else DOUBLE
