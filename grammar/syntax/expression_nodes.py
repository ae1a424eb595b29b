"""Syntax nodes of expressions, patterns, types and lengths of time."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal as OneOf

from attrs import evolve, field, frozen

from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax.classes import lean

BinaryOperator = OneOf["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "and", "or"]
Comparator = OneOf["=", "!=", "<", "<=", ">", ">="]

TYPES = ("int", "long", "double", "decimal", "string", "boolean", "timestamp", "date", "version")
"""Names of attribute types."""

MICROSECONDS = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
"""The microseconds of units of time."""
UNITS = tuple(MICROSECONDS)
"""Units of a measure, singular; texts may also write the plural."""

CALENDAR_UNITS = ("month", "quarter", "year")
"""Units of a `Period` without a fixed length."""

SECOND = "second"
"""The unit of a length of time as a number."""


@lean(kw_only=True)
class Node:
    """A node knows the text it was written as."""

    span: Span = field(eq=False, repr=False)


@frozen(cache_hash=True, repr=False)
class Attribute(Node):
    """`t` or, with the relation it comes from, `sensors.t`."""

    name: str
    qualifier: str | None = None


@frozen(cache_hash=True, repr=False)
class Literal(Node):
    """A constant. Numbers are exact: `0.908` is the fraction 227/250. `text` is the constant as written.

    `unit` is that of a number, `30 degC`; a length of time, `5 minutes`, is its number of seconds.
    """

    value: int | Fraction | str | bool
    text: str
    unit: str | None = None


@frozen(cache_hash=True, repr=False)
class Unary(Node):
    """`-x` or `not x`."""

    operator: OneOf["-", "not"]
    operand: Expression


@frozen(cache_hash=True, repr=False)
class Binary(Node):
    """Arithmetic, comparison or connective of two operands."""

    operator: BinaryOperator
    left: Expression
    right: Expression


@frozen(cache_hash=True, repr=False)
class InSet(Node):
    """`x in {1, 2}`, negated: `x not in {1, 2}`."""

    operand: Expression
    values: tuple[Literal, ...]
    negated: bool = False


@frozen(cache_hash=True, repr=False)
class InRange(Node):
    """`x in [1, 10)`, negated: `x not in [1, 10)`."""

    operand: Expression
    range: RangePattern
    negated: bool = False


@frozen(cache_hash=True, repr=False)
class Scalar(Node):
    """`floor(x)`: a scalar function of Spark SQL by its name; inside an aggregate also one of many tuples, which
    alone may have `distinct` or a condition. `written`: the name as the text has it, where it has capitals."""

    name: str
    arguments: tuple[Expression, ...] = ()
    distinct: bool = False
    where: Expression | None = None
    written: str | None = field(default=None, eq=False, repr=False)


@frozen(cache_hash=True, repr=False)
class Branch(Node):
    """`when condition then value` of a `case`."""

    condition: Expression
    value: Expression


@frozen(cache_hash=True, repr=False)
class Case(Node):
    """`case when a then b else c end`: the value of the first branch whose condition is true."""

    branches: tuple[Branch, ...]
    otherwise: Expression | None = None


Expression = Attribute | Literal | Unary | Binary | InSet | InRange | Scalar | Case


def signed_constant(expression: Expression) -> Literal | None:
    """Returns a constant with its sign; a negative number is the opposite of another. `None` for others."""
    match expression:
        case Unary("-", Literal(int() | Fraction() as value) as positive) if not isinstance(value, bool):
            return evolve(positive, value=-value, text=f"-{positive.text}", span=expression.span)
        case Literal():
            return expression
        case _:
            return None


# --- patterns, shared by domains, descriptions and punctuations ---


@lean
class Comparison(Node):
    """`<= 600`."""

    operator: Comparator
    value: Literal


@lean
class SetPattern(Node):
    """`{1, 2, 3}`: at least one value."""

    values: tuple[Literal, ...]


@lean
class RangePattern(Node):
    """`[1, 10)`; a side without a bound is open."""

    low: Literal | None
    high: Literal | None
    low_closed: bool
    high_closed: bool


@lean
class Wildcard(Node):
    """`*`: every value, the undefined one too."""


@lean
class Condition(Node):
    """The condition on one attribute."""

    attribute: str
    pattern: Comparison | SetPattern | RangePattern | Wildcard


@lean
class Measure(Node):
    """`300` or `5 minutes` (unit `minute`). `name`: that of the constant that it is written as."""

    value: Fraction
    unit: str | None = None
    name: str | None = field(default=None, eq=False)


Period = Measure
"""A measure that may also be of a unit of `CALENDAR_UNITS`."""
Text = str
"""A string in quotes."""


@lean
class TypeName(Node):
    """One of `TYPES`; only `decimal` has parameters, precision and scale.

    In the accents of outputs also `array`, which alone has an `element`.
    """

    name: str
    parameters: tuple[int, ...] = ()
    element: TypeName | None = None


@lean
class UnitDefinition(Node):
    """`unit EUR;`, `unit ct = EUR / 100;`: a unit of the query, of its own dimension or a multiple of others."""

    name: str
    value: Expression | None = None
