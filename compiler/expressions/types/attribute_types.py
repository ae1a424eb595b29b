"""Attribute types: their constants in markers, in SQL and in the control plane (design, section 4).

Control-plane values are exact and ordered as Spark orders them: whole numbers and fractions, timestamps as
microseconds and dates as days since 1970-01-01 (UTC), versions as their keys, strings, booleans.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from attrs import frozen

from cedilla.compiler.expressions.types.moments import day_of, loses_digits, moment_of
from cedilla.compiler.expressions.types.versions import key_of, text_of
from cedilla.compiler.expressions.types.zones import NoMoment
from cedilla.compiler.regions import Bound, Value
from cedilla.compiler.regions.affine import exact
from cedilla.grammar.formatting.expression_formatter import decimal_text
from cedilla.grammar.syntax import MICROSECONDS, UNITS, Literal, Measure, TypeName

_SPARK = {
    "int": "INT",
    "long": "BIGINT",
    "double": "DOUBLE",
    "string": "STRING",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP",
    "date": "DATE",
    "version": "STRING",
}
# Spark 4 reads only these words differently if a column has that name.
_VALUES = {
    *("null", "true", "false", "not", "current_path"),
    # Sail's words of this kind; Spark's others are not values in Sail either.
    *("all", "distinct", "table", "current_date", "current_timestamp", "current_user"),
}
_MAX_DOUBLE = Fraction(sys.float_info.max)
FARTHEST = 2 * Fraction(sys.float_info.max)
"""The value of infinities and NaN in the control plane: no constant is beyond it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = {
    "timestamp": (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND,
    "date": (date.min - _EPOCH.date()).days,
}
_LAST = {
    "timestamp": (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND,
    "date": (date.max - _EPOCH.date()).days,
}
_AXES = {"timestamp": "unix_micros", "date": "unix_date"}


@frozen
class Type:
    """An attribute's type; `str()` writes it as the language does.

    `element` is the type of an array's elements. Aggregates make arrays, and sources may declare lists of strings.
    `zone` is that of timestamps whose texts have no offset, while a source reads them; canonical ones are in UTC.
    """

    name: str
    parameters: tuple[int, ...] = ()
    element: Type | None = None
    zone: str | None = None

    @classmethod
    def of(cls, node: TypeName) -> Type:
        return cls(node.name, node.parameters, None if node.element is None else cls.of(node.element))

    @classmethod
    def parse(cls, text: str) -> Type:
        """Parses a type from its own `str()`."""
        if text.startswith("array<"):
            return array_of(cls.parse(text[len("array<") : -1]))
        name, _, rest = text.partition("(")
        return cls(name, tuple(int(p) for p in rest.rstrip(")").split(",")) if rest else ())

    def __str__(self) -> str:
        if self.element is not None:
            return f"array<{self.element}>"
        return f"{self.name}({','.join(map(str, self.parameters))})" if self.parameters else self.name

    @property
    def depth(self) -> int:
        """The number of arrays around the values, 0 for other types."""
        return 0 if self.element is None else 1 + self.element.depth

    @property
    def innermost(self) -> Type:
        """The type of the values in an array, however deep; of another type itself."""
        return self if self.element is None else self.element.innermost

    @property
    def is_numeric(self) -> bool:
        return self.name in ("int", "long", "double", "decimal")

    @property
    def has_units(self) -> bool:
        """True if an Alter can change the values: numbers, and arrays of numbers element by element."""
        return self.is_numeric if self.element is None else self.element.has_units

    @property
    def is_altered_at_sources(self) -> bool:
        """True if an Alter can change the values of a source: numbers, and lists of doubles element by element."""
        return self.is_numeric or self.element == DOUBLE

    @property
    def is_axis(self) -> bool:
        """True if values have distances: numbers and timestamps."""
        return self.is_numeric or self.name == "timestamp"

    @property
    def is_integral(self) -> bool:
        """True if control-plane values are whole numbers, so that `<= 5` and `< 6` are the same."""
        return self.name in ("int", "long", "timestamp", "date")

    @property
    def first(self) -> int | None:
        """The first value that has a text, if there is one."""
        return _FIRST.get(self.name)

    @property
    def last(self) -> int | None:
        """The last value that has a text, if there is one."""
        return _LAST.get(self.name)

    @property
    def ends(self) -> tuple[int | Fraction, int | Fraction] | None:
        """The least and the greatest value of the type, if it has such."""
        match self.name:
            case "int" | "long":
                greatest = 2 ** (31 if self.name == "int" else 63) - 1
                return -greatest - 1, greatest
            case "decimal":
                digits, places = self.parameters
                greatest = exact(Fraction(10**digits - 1, 10**places))
                return -greatest, greatest
            case "timestamp" | "date":
                return _FIRST[self.name], _LAST[self.name]
            case _:
                return None

    def within(self, cut: Bound) -> Bound:
        """Returns a cut as one at a value of the type, because SQL has no constants for others.

        After the greatest `long` comes 2^63, a double, which engines take for equal to it.
        """
        if self.ends is None:
            return cut
        least, greatest = self.ends
        if cut[0] > greatest:  # type: ignore[operator]
            return greatest, 1
        return (least, 0) if cut[0] < least else cut  # type: ignore[operator]

    def has(self, value: Value) -> bool:
        """Returns True if a value lies between the ends of the type."""
        return self.ends is None or self.ends[0] <= value <= self.ends[1]  # type: ignore[operator]

    @property
    def spark(self) -> str:
        """The type's name in Spark SQL."""
        if self.element is not None:
            return f"ARRAY<{self.element.spark}>"
        return str(self).upper() if self.name == "decimal" else _SPARK[self.name]

    def value(self, literal: Literal) -> Value:
        """Returns the control-plane value of a constant.

        Raises `ValueError` with the reason if it is not of this type, `NoMoment` for a local time without one moment.
        """
        value = literal.value
        if self.is_numeric:
            if isinstance(value, bool | str):
                raise ValueError(f"{literal.text} is not a number")
            return exact(value)
        if self.name == "boolean":
            if not isinstance(value, bool):
                raise ValueError(f"{literal.text} is neither true nor false")
            return value
        if self.element is not None:
            raise ValueError(f"{literal.text} is not an array")
        if not isinstance(value, str):
            raise ValueError(f"{literal.text} is not a string")
        if self.name == "version":
            return key_of(value)
        if self.name not in _AXES:
            return value
        try:
            moment = self.moment(value)
        except NoMoment:
            raise
        except ValueError:
            raise ValueError(f"{literal.text} is not a {self.name} in ISO form") from None
        if loses_digits(value):
            raise ValueError(f"{literal.text} has digits beyond microseconds")
        return moment

    def moment(self, text: str) -> int:
        """Parses a timestamp or a date of a stream to its control-plane value.

        Raises `ValueError` for other texts, `NoMoment` for a local time without one moment.
        """
        if self.name == "date":
            return (day_of(text) - _EPOCH.date()).days
        return (moment_of(text, self.zone) - _EPOCH) // _MICROSECOND

    def measure(self, measure: Measure) -> int | Fraction:
        """Returns a length or delay on this type's axis. Raises `ValueError` if the unit does not fit."""
        if self.name == "timestamp":
            if measure.unit is None:
                raise ValueError("a length of time requires a unit, for example `5 minutes`")
            return exact(measure.value * MICROSECONDS[measure.unit])
        if measure.unit is not None:
            raise ValueError(
                f"a length in {measure.unit}s requires a timestamp, or a number with a unit of time"
            )
        return exact(measure.value)

    def length_text(self, length: Fraction) -> str:
        """Writes a length on this type's axis as the language does, in the largest unit that divides it."""
        if self.name != "timestamp":
            return decimal_text(length)
        unit = next((u for u in reversed(UNITS) if length % MICROSECONDS[u] == 0), UNITS[0])
        count = length / MICROSECONDS[unit]
        return f"{decimal_text(count)} {unit}{'' if count == 1 else 's'}"

    def axis(self, value: str) -> str:
        """Writes a value as a control-plane value in SQL: moments and days are whole numbers."""
        return f"{_AXES[self.name]}({value})" if self.name in _AXES else value

    def sql(self, value: Value) -> str:
        """Writes the value as a Spark SQL literal."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return quote(value)
        if self.name == "timestamp":
            return f"TIMESTAMP'{_moment(value).isoformat(sep=' ')}'"
        if self.name == "date":
            return f"DATE'{_day(value)}'"
        if isinstance(value, int) and self.name in ("int", "long") and abs(value) < 2**63:
            return str(value) if abs(value) < 2**31 else f"{value}L"
        is_exact = self.name == "decimal" or (isinstance(value, int) and self.name in ("int", "long"))
        if is_exact and (literal := _literal(value)) is not None:
            return literal
        if abs(value) > _MAX_DOUBLE:
            return f"double('{'-' if value < 0 else ''}Infinity')"
        return f"{float(value)!r}D"

    def member(self, text: str, values: Iterable[Value]) -> str:
        """Writes a test that a value is one of several.

        Engines hash a long list, and some then distinguish -0.0 from 0.0.
        """
        tested = f"{text} + 0D" if self.name == "double" else text
        return f"{tested} IN ({', '.join(map(self.sql, values))})"

    def wire(self, value: Value) -> str:
        """Writes the value as a constant in an accent or punctuation."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            value = text_of(value) if self.name == "version" else value
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        if self.name == "timestamp":
            return f'"{_moment(value).isoformat().replace("+00:00", "Z")}"'
        if self.name == "date":
            return f'"{_day(value)}"'
        if isinstance(value, int):
            return str(value)
        exactly = _decimal(value, MAX_DIGITS if self.name == "decimal" else 17)
        return f"{Decimal(repr(float(value))) if exactly is None else exactly:f}"


def finite(value: float) -> float | Fraction:
    """Returns a double for the control plane, which does not distinguish NaN from infinity."""
    if isfinite(value):
        return value
    return -FARTHEST if value < 0 else FARTHEST


def _moment(value: int | Fraction) -> datetime:
    return _EPOCH + int(value) * _MICROSECOND


def _day(value: int | Fraction) -> date:
    return _EPOCH.date() + timedelta(days=int(value))


MAX_DIGITS = 38
"""The digits of the widest decimal of engines."""


def _literal(value: int | Fraction) -> str | None:
    """Writes the number as a decimal of Spark SQL, if one has all its digits."""
    exactly = _decimal(value, MAX_DIGITS)
    text = "" if exactly is None else f"{exactly:f}"
    return f"{text}BD" if text and len(text.lstrip("-0").replace(".", "")) <= MAX_DIGITS else None


def _decimal(value: int | Fraction, most: int) -> Decimal | None:
    """Returns the number in decimal notation, if that has at most `most` digits after the point."""
    number = Fraction(value)
    for digits in range(most + 1):
        scaled = number * 10**digits
        if scaled.denominator == 1:
            # Without arithmetic, which rounds to 28 digits.
            return Decimal((int(scaled < 0), tuple(map(int, str(abs(int(scaled))))), -digits))
    return None


def decimal_notation(value: int | Fraction) -> str | None:
    """Writes the number in digits, if it has few enough."""
    exactly = _decimal(value, MAX_DIGITS)
    return None if exactly is None else f"{exactly:f}"


def quote(text: str) -> str:
    """Writes a Spark SQL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def column(name: str) -> str:
    """Writes an attribute's name as a Spark SQL column."""
    plain = name.isidentifier() and name.isascii() and name.lower() not in _VALUES
    return name if plain else f"`{name.replace('`', '``')}`"


def array_of(element: Type) -> Type:
    """Returns the type of arrays of a type."""
    return Type("array", element=element)


DOUBLE = Type("double")
LARGEST = 2**53
"""Doubles hold every whole number with a smaller absolute value; they cannot distinguish this one from the
next (RQ310).
"""
LONG = Type("long")
BOOLEAN = Type("boolean")
STRING = Type("string")
TIMESTAMP = Type("timestamp")
VERSION = Type("version")
