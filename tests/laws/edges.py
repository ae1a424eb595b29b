"""Attributes of every type with the values at which engines differ, for the random worlds."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from random import Random
from typing import Any

from attrs import frozen

_GREAT = Decimal("1234567890123456789012345678.0123456789")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?")


WORDS = ("NaN", "Infinity", "-Infinity")
"""Doubles as JSON has them that are no numbers there."""


@frozen
class Edge:
    """An attribute: its type, and the values that it takes, as JSON has them."""

    type: str
    values: tuple[Any, ...]
    ordered: bool = True

    @property
    def is_list(self) -> bool:
        """True if its values are lists, of which no condition is."""
        return self.type.startswith("array<")

    @property
    def declared(self) -> str:
        """The type as a stream declares it."""
        return f"list of {self.type[len('array<') : -1]}" if self.is_list else self.type

    @property
    def constants(self) -> tuple[Any, ...]:
        """The values that a query can write; there are no words for NaN and infinities."""
        return tuple(value for value in self.values if value not in WORDS or self.type == "string")

    def constant(self, value: Any) -> str:
        """A value as a query or a marker writes it."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float):
            return repr(value).replace("e+", "e")
        return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{value:f}"


ODD = "zodd"
"""The attribute of NaN, infinities and great doubles, with which everything is calculated."""
CENTS = "zcent"
"""The attribute of amounts as people write them, with which everything is calculated, exactly. It is altered by `EXACT`
only: another function would make doubles of it."""
WIDE = "zwide"
"""The attribute of amounts of so many digits that their sums are in two parts; Alters make doubles of them. They are
exact in binary."""
LIST = "zlist"
"""The attribute of lists of numbers; Alters are of their elements."""
EXACT = ("y -> y * 100", "y -> y / 100", "y -> y * 8", "y -> y + 0.5", "y -> y * 1.25 - 3", "y -> 3 - y")
"""Functions under which decimals keep all of their digits (theory N12)."""
# Names begin with `z`: no arithmetic is done with the others.
EDGES = {
    CENTS: Edge("decimal(10, 2)", tuple(map(Decimal, ("0.29", "0.57", "2.30", "-0.30", "0.00", "19.99")))),
    WIDE: Edge("decimal(38, 6)", tuple(map(Decimal, ("0.25", "-0.50", "2.75", "1048576.50", "0.000000")))),
    "zbig": Edge("long", (2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 0)),
    "zint": Edge("int", (2**31 - 1, -(2**31), 0, 7)),
    "zreal": Edge("double", (1e300, -1e300, -0.0, 0.0, 0.1, 2.0**53 + 2)),
    "zsum": Edge("decimal(38, 10)", (_GREAT, -_GREAT, Decimal("0.0000000001"), Decimal(0), Decimal("0.5"))),
    "zwhole": Edge(
        "decimal(38, 0)", (Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(2**53 + 1), Decimal(2**53))
    ),
    "zname": Edge("string", ("", " ", 'a"b', "ä", "🦀", "null", "$x", "\\", "a\nb", "1,2]")),
    "zat": Edge(
        "timestamp",
        (
            *("0001-01-01T00:00:00.000000Z", "1582-10-10T00:00:00.000000Z", "1900-01-01T00:00:00.000001Z"),
            *("1969-12-31T23:59:59.999999Z", "2024-02-29T12:00:00.000001Z", "9999-12-31T23:59:59.999999Z"),
        ),
    ),
    "zday": Edge("date", ("0001-01-01", "1582-10-10", "1969-12-31", "2024-02-29", "9999-12-31")),
    "zflag": Edge("boolean", (True, False), ordered=False),
    # Exact in binary, under all functions of the worlds.
    LIST: Edge("array<double>", ([], [0.5], [2.0, 0.5], [3.0, 0.0, 3.0]), ordered=False),
    # Of one sign, for what 1e300 - 1e300 + 1 is depends on the order of addition.
    ODD: Edge("double", (*WORDS, 1e300, -0.0, 0.0, 0.5, 3.0)),
}


SMALL = (0, 1, -3, 2**31 - 1, 1 - 2**31)
"""Values of numbers that are altered: exact as doubles, in every unit that a random stream may come to."""
BEYOND = (2**53, 2**53 + 1, 2**63 - 1, -(2**63))
"""Refused from the first Alter on (RQ310)."""


def is_number(name: str) -> bool:
    """Returns True if an edge attribute can be altered."""
    return EDGES[name].type.startswith(("int", "long", "double", "decimal", "array<double"))


def tame(name: str) -> bool:
    """Returns True if an attribute has small values."""
    return not name.startswith("z")


def is_odd(name: str) -> bool:
    """Returns True if an attribute has values of `ODD`, or values that are calculated from them."""
    return name.split("_", maxsplit=1)[0] == ODD


def is_cents(name: str) -> bool:
    """Returns True if an attribute has values of `CENTS`, or values that are calculated from them."""
    return name.split("_", maxsplit=1)[0] == CENTS


def calculable(name: str) -> bool:
    """Returns True if an attribute has values to calculate with."""
    return tame(name) or is_odd(name) or is_cents(name) or name.split("_", maxsplit=1)[0] == WIDE


def result_of(name: str, short: str) -> str:
    """The name of what is computed from an attribute: it tells where it comes from, unless that is tame."""
    return short if tame(name) else f"{name}_{short}"


def edge_of(name: str) -> Edge | None:
    """The edge attribute that a name comes from, through renaming."""
    return EDGES.get(name.split("_", maxsplit=1)[0])


def condition(rng: Random, name: str, edge: Edge, *, one: bool = False) -> str:
    """A condition on an attribute, as queries and markers have it; `one`: for one value."""
    value = edge.constant(rng.choice(edge.constants))
    if one or not edge.ordered:
        return f"{name} = {value}"
    several = sorted({rng.choice(edge.constants) for _ in range(2)}, key=key)
    if rng.random() < 0.3:
        return f"{name} in {{{', '.join(map(edge.constant, several))}}}"
    return f"{name} {rng.choice(['=', '!=', '<', '<=', '>', '>='])} {value}"


def key(value: Any) -> Any:
    """A value of JSON as one that compares with its like: moments and days as such, numbers exactly."""
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    if isinstance(value, float) and isfinite(value):
        return Fraction(repr(value))  # as its constant is written
    return Fraction(value) if isinstance(value, Decimal) else value


def read(attribute: str, value: Any) -> Any:
    """The reader of streams (`tests.kit.stream`): NaN comes after every other number."""
    if not is_odd(attribute):
        return key(value)
    number = float(value) if value in WORDS else key(value)
    return (number != number, 0 if number != number else number)
