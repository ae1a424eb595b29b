"""Syntax of queries and markers as frozen nodes (design, sections 4 and 6).

Two nodes are equal when they say the same thing: where they were written (`span`) is not compared.
Unicode spellings (`≠`, `∧`, `σ`) leave no trace; nodes carry the ASCII ones.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal as OneOf

from attrs import field, frozen

from cedilla.grammar.diagnostics import Span

TYPES = ("int", "long", "double", "decimal", "string", "boolean", "timestamp", "date")
"""Names of attribute types."""

UNITS = ("millisecond", "second", "minute", "hour", "day", "week")
"""Units of a measure, singular; texts may also write the plural."""

SETTINGS: dict[str, tuple[str, ...]] = {
    "accents": ("accumulate", "strict"),
    "drop": ("exact", "eager"),
    "invalid": ("quarantine", "abort"),
    "late": ("quarantine", "abort", "ignore"),
    "drift": ("ignore", "infer", "quarantine", "abort"),
}
"""Settings of a query and their values, the default first (paper, section 6.2)."""

BinaryOperator = OneOf["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "and", "or"]
Comparator = OneOf["=", "!=", "<", "<=", ">", ">="]


@frozen(kw_only=True)
class Node:
    """A node knows the text it was written as."""

    span: Span = field(eq=False, repr=False)


# --- expressions ---


@frozen
class Attribute(Node):
    """`t` or, with the relation it comes from, `sensors.t`."""

    name: str
    qualifier: str | None = None


@frozen
class Literal(Node):
    """A constant. Numbers are exact: `0.908` is the fraction 227/250. `text` is the constant as written."""

    value: int | Fraction | str | bool
    text: str


@frozen
class Unary(Node):
    """`-x` or `not x`."""

    operator: OneOf["-", "not"]
    operand: Expression


@frozen
class Binary(Node):
    """Arithmetic, comparison or connective of two operands."""

    operator: BinaryOperator
    left: Expression
    right: Expression


@frozen
class InSet(Node):
    """`x in {1, 2}`, negated: `x not in {1, 2}`."""

    operand: Expression
    values: tuple[Literal, ...]
    negated: bool = False


@frozen
class InRange(Node):
    """`x in [1, 10)`, negated: `x not in [1, 10)`."""

    operand: Expression
    range: RangePattern
    negated: bool = False


Expression = Attribute | Literal | Unary | Binary | InSet | InRange


# --- patterns, shared by domains, descriptions and punctuations ---


@frozen
class Comparison(Node):
    """`<= 600`."""

    operator: Comparator
    value: Literal


@frozen
class SetPattern(Node):
    """`{1, 2, 3}`: at least one value."""

    values: tuple[Literal, ...]


@frozen
class RangePattern(Node):
    """`[1, 10)`; a missing bound is no bound."""

    low: Literal | None
    high: Literal | None
    low_closed: bool
    high_closed: bool


@frozen
class Wildcard(Node):
    """`*`: every value, the undefined one too."""


@frozen
class Condition(Node):
    """What one attribute must satisfy."""

    attribute: str
    pattern: Comparison | SetPattern | RangePattern | Wildcard


# --- statements ---


@frozen
class Measure(Node):
    """`300` or `5 minutes` (unit `minute`)."""

    value: Fraction
    unit: str | None = None


@frozen
class TypeName(Node):
    """One of `TYPES`; only `decimal` has parameters, precision and scale."""

    name: str
    parameters: tuple[int, ...] = ()


@frozen
class AttributeDeclaration(Node):
    """`p?: double` or `s: int in {1, 2, 3}`."""

    name: str
    type: TypeName
    optional: bool = False
    domain: SetPattern | RangePattern | None = None


@frozen
class Heartbeat(Node):
    """`heartbeat ts delay 10 seconds`."""

    attribute: str
    delay: Measure


@frozen
class StreamDeclaration(Node):
    """A source. A clause `punctuated on s, ts` is one scheme: attributes a promised punctuation names."""

    kind: OneOf["stream", "table"]
    name: str
    attributes: tuple[AttributeDeclaration, ...]
    format: str
    path: str
    punctuated: tuple[tuple[str, ...], ...] = ()
    heartbeat: Heartbeat | None = None


@frozen
class Setting(Node):
    """`set drop = eager;`: name and value are found in `SETTINGS`."""

    name: str
    value: str


@frozen
class Definition(Node):
    """`name := relation;`."""

    name: str
    relation: Relation


@frozen
class Emit(Node):
    """`emit relation to json "out";`, with `in original units` never encoded."""

    relation: Relation
    format: str
    path: str
    original_units: bool = False


Statement = StreamDeclaration | Setting | Definition | Emit


@frozen
class Query(Node):
    """A whole `.rq` text."""

    statements: tuple[Statement, ...]


# --- relations ---


@frozen
class Reference(Node):
    """A source or a definition by its name."""

    name: str


@frozen
class Select(Node):
    """`select[predicate](input)`."""

    predicate: Expression
    input: Relation


@frozen
class ProjectItem(Node):
    """`l` or `price * 0.908 as euro`."""

    expression: Expression
    alias: str | None = None


@frozen
class Project(Node):
    """`project[items](input)`."""

    items: tuple[ProjectItem, ...]
    input: Relation


@frozen
class Union(Node):
    """`left union right`."""

    left: Relation
    right: Relation


@frozen
class JoinPair(Node):
    """`a.x = b.y`; `s` alone stands for `s = s`."""

    left: Attribute
    right: Attribute


@frozen
class Join(Node):
    """`left join right on pairs`."""

    left: Relation
    right: Relation
    on: tuple[JoinPair, ...]


@frozen
class Window(Node):
    """`window[length every every on on as alias](input)`; tumbling without `every`."""

    length: Measure
    every: Measure | None
    on: str
    alias: str
    input: Relation


@frozen
class AggregateCall(Node):
    """`avg(t) as mean`, `count() as n`."""

    function: str
    argument: Expression | None
    alias: str


@frozen
class Aggregate(Node):
    """`aggregate[avg by l except ts](input)` or `aggregate[avg(t) as mean by l](input)`.

    The first form has `function` and `excepts`, the second `calls`, with `function` and `excepts` None.
    """

    function: str | None
    calls: tuple[AggregateCall, ...]
    by: tuple[str, ...]
    excepts: tuple[str, ...] | None
    input: Relation


Relation = Reference | Select | Project | Union | Join | Window | Aggregate


# --- markers ---


@frozen
class Inverse(Node):
    """The third argument of an alter, `y -> y / 2`."""

    parameter: str
    body: Expression


@frozen
class AddAttribute(Node):
    """`+(p: double)`."""

    name: str
    type: TypeName


@frozen
class DropAttribute(Node):
    """`-(p)`."""

    name: str


@frozen
class AlterAttribute(Node):
    """`alter(t, y -> y * 2)`; `inverse` only when it was written."""

    name: str
    parameter: str
    body: Expression
    inverse: Inverse | None = None


Primitive = AddAttribute | DropAttribute | AlterAttribute


@frozen
class AccentText(Node):
    """`[[description, primitive]]` (paper, section 2): the description is a conjunction, possibly empty."""

    description: tuple[Condition, ...]
    primitive: Primitive


@frozen
class PunctuationText(Node):
    """`[ts <= 600, s = 2]`; no conditions, written `[]` or `[*]`, end the stream."""

    conditions: tuple[Condition, ...]
