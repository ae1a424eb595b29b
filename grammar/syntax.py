"""Syntax of queries and markers as frozen nodes (design, sections 4 and 6).

Two nodes are equal when they say the same thing: where they were written (`span`) is not compared.
Unicode spellings (`≠`, `∧`, `σ`) leave no trace; nodes carry the ASCII ones.

Over 400 lines, as the nodes refer to each other: expressions, relations, statements and markers are one tree.
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

SECOND = "second"
"""The unit of a length of time as a number."""

BinaryOperator = OneOf["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "and", "or"]
Comparator = OneOf["=", "!=", "<", "<=", ">", ">="]
JoinKind = OneOf["inner", "left", "semi", "anti"]


@frozen(kw_only=True)
class Node:
    """A node knows the text it was written as."""

    span: Span = field(eq=False, repr=False)


# --- expressions ---


@frozen(cache_hash=True)
class Attribute(Node):
    """`t` or, with the relation it comes from, `sensors.t`."""

    name: str
    qualifier: str | None = None


@frozen(cache_hash=True)
class Literal(Node):
    """A constant. Numbers are exact: `0.908` is the fraction 227/250. `text` is the constant as written.

    `unit` is that of a number, `30 degC`; a length of time, `5 minutes`, is its number of seconds.
    """

    value: int | Fraction | str | bool
    text: str
    unit: str | None = None


@frozen(cache_hash=True)
class Unary(Node):
    """`-x` or `not x`."""

    operator: OneOf["-", "not"]
    operand: Expression


@frozen(cache_hash=True)
class Binary(Node):
    """Arithmetic, comparison or connective of two operands."""

    operator: BinaryOperator
    left: Expression
    right: Expression


@frozen(cache_hash=True)
class InSet(Node):
    """`x in {1, 2}`, negated: `x not in {1, 2}`."""

    operand: Expression
    values: tuple[Literal, ...]
    negated: bool = False


@frozen(cache_hash=True)
class InRange(Node):
    """`x in [1, 10)`, negated: `x not in [1, 10)`."""

    operand: Expression
    range: RangePattern
    negated: bool = False


@frozen(cache_hash=True)
class Scalar(Node):
    """`floor(x)`: a scalar function of Spark SQL by its name; inside an aggregate also one of many tuples, which
    alone may have `distinct` or a condition. `written`: the name as the text has it, where it has capitals."""

    name: str
    arguments: tuple[Expression, ...] = ()
    distinct: bool = False
    where: Expression | None = None
    written: str | None = field(default=None, eq=False, repr=False)


@frozen(cache_hash=True)
class Branch(Node):
    """`when condition then value` of a `case`."""

    condition: Expression
    value: Expression


@frozen(cache_hash=True)
class Case(Node):
    """`case when a then b else c end`: the value of the first branch whose condition is true."""

    branches: tuple[Branch, ...]
    otherwise: Expression | None = None


Expression = Attribute | Literal | Unary | Binary | InSet | InRange | Scalar | Case


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
    """`[1, 10)`; a side without a bound is open."""

    low: Literal | None
    high: Literal | None
    low_closed: bool
    high_closed: bool


@frozen
class Wildcard(Node):
    """`*`: every value, the undefined one too."""


@frozen
class TableColumn(Node):
    """`devices.s` as a domain: the values that an attribute has in a table."""

    table: str
    attribute: str


@frozen
class Condition(Node):
    """The condition on one attribute."""

    attribute: str
    pattern: Comparison | SetPattern | RangePattern | Wildcard


# --- statements ---


@frozen
class Measure(Node):
    """`300` or `5 minutes` (unit `minute`). `name`: that of the constant that it is written as."""

    value: Fraction
    unit: str | None = None
    name: str | None = field(default=None, eq=False)


@frozen
class TypeName(Node):
    """One of `TYPES`; only `decimal` has parameters, precision and scale.

    In the accents of outputs also `array`, which alone has an `element`.
    """

    name: str
    parameters: tuple[int, ...] = ()
    element: TypeName | None = None


@frozen
class UnitFrom(Node):
    """`unit from u in {degF, degC}`: each tuple's own `u` names the unit."""

    attribute: str
    units: tuple[str, ...]


@frozen
class Origin(Node):
    """`from "address.city"`, a path of keys; or, with a `root`, `from labels "service.name"`, two keys as they are."""

    text: str
    root: str | None = None


@frozen
class AttributeDeclaration(Node):
    """`p?: double`, `t: double unit degF`, `s: int in {1, 2, 3}`, `s: int in devices.s` or
    `city: string from "address.city"`."""

    name: str
    type: TypeName
    optional: bool = False
    domain: SetPattern | RangePattern | TableColumn | None = None
    unit: str | UnitFrom | None = None
    origin: Origin | None = None


@frozen
class Heartbeat(Node):
    """`heartbeat ts delay 10 seconds`."""

    attribute: str
    delay: Measure


@frozen
class MarkerFolder(Node):
    """`markers "ops"`, or `markers only "ops"`: no marker counts but those of the folder."""

    path: str
    only: bool = False


@frozen
class Metrics(Node):
    """`metrics "http.server.duration", "http.server.request.duration"`."""

    names: tuple[str, ...]


@frozen
class PartitionedBy(Node):
    """`partitioned by s`."""

    attribute: str


@frozen
class OrderedBy(Node):
    """`ordered by name`."""


@frozen
class StreamDeclaration(Node):
    """A source. A clause `punctuated on s, ts` is one scheme: attributes a promised punctuation names.

    `markers`: a folder of markers beside that of the tuples; `metrics`: those whose data points are read;
    `partitioned`: the attribute each of whose values comes from one partition of a topic; `by_name`: files are read in
    the order of their names; `markers_only`: markers among the tuples are bad tuples.
    """

    kind: OneOf["stream", "table"]
    name: str
    attributes: tuple[AttributeDeclaration, ...]
    format: str
    path: str
    punctuated: tuple[tuple[str, ...], ...] = ()
    heartbeat: Heartbeat | None = None
    format_span: Span | None = field(default=None, eq=False, repr=False)
    markers: str | None = None
    metrics: tuple[str, ...] = ()
    partitioned: str | None = None
    by_name: bool = False
    markers_only: bool = False


@frozen
class OperatorDeclaration(Node):
    """`operator smooth(R) foundation {t} merge {} accumulate {s} returns (...) from "module:function";`

    (paper, section 6). `returns` is `None` where the output has the attributes of the inputs.
    """

    name: str
    inputs: tuple[str, ...]
    function: str
    foundation: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    accumulate: tuple[str, ...] = ()
    returns: tuple[AttributeDeclaration, ...] | None = None


@frozen
class Setting(Node):
    """`set drop = eager;`, `set longest_line = 64 MiB;`: a name and a value of `settings.SETTINGS`."""

    name: str
    value: str


@frozen
class Let(Node):
    """`let rate = 0.9;`: a name for a constant or a length of time."""

    name: str
    value: Constant


@frozen
class Definition(Node):
    """`name := relation;`."""

    name: str
    relation: Relation


@frozen
class FixedUnit(Node):
    """`t in degC`."""

    name: str
    unit: str


@frozen
class Emit(Node):
    """`emit relation to json "out";`, with `in original units` never encoded; `units`: `with t in degC`."""

    relation: Relation
    format: str
    path: str
    original_units: bool = False
    units: tuple[FixedUnit, ...] = ()
    format_span: Span | None = field(default=None, eq=False, repr=False)


Constant = Literal | Measure
Statement = StreamDeclaration | OperatorDeclaration | Setting | Let | Definition | Emit


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
    """`l`, `price * 0.908 as euro` or `double(state) as t unit degC`."""

    expression: Expression
    alias: str | None = None
    unit: str | None = None


@frozen
class Project(Node):
    """`project[items](input)`; with `rest`, `extend[items](input)` or `project[*, items](input)`."""

    items: tuple[ProjectItem, ...]
    input: Relation
    rest: bool = False


@frozen
class Union(Node):
    """`left union right`."""

    left: Relation
    right: Relation


@frozen
class Intersect(Node):
    """`left intersect right`, with `all` of bags."""

    left: Relation
    right: Relation
    all: bool = False


@frozen
class Minus(Node):
    """`left minus right`, with `all` of bags."""

    left: Relation
    right: Relation
    all: bool = False


@frozen
class JoinPair(Node):
    """`a.x = b.y`; `s` alone stands for `s = s`."""

    left: Attribute
    right: Attribute


@frozen
class Join(Node):
    """`left join right on pairs`; `kind` is the word before `join`, or `inner`."""

    left: Relation
    right: Relation
    on: tuple[JoinPair, ...]
    kind: JoinKind = "inner"


@frozen
class Renamed(Node):
    """`t as temperature`."""

    name: str
    alias: str


@frozen
class Rename(Node):
    """`rename[t as temperature](input)`: all other attributes stay, later ones too."""

    items: tuple[Renamed, ...]
    input: Relation


@frozen
class Distinct(Node):
    """`distinct(input)`, or `distinct[k](input)`: the first tuple for each value of k."""

    on: tuple[str, ...]
    input: Relation


@frozen
class SortKey(Node):
    """`l desc`."""

    name: str
    descending: bool = False


@frozen
class Sort(Node):
    """`sort[wid, l desc](input)`."""

    keys: tuple[SortKey, ...]
    input: Relation


@frozen
class Top(Node):
    """`top[10 by price desc per auction](input)`."""

    count: int
    keys: tuple[SortKey, ...]
    per: tuple[str, ...]
    input: Relation


@frozen
class Limit(Node):
    """`limit[10](input)`: the first tuples to arrive."""

    count: int
    input: Relation


@frozen
class Sample(Node):
    """`sample[1 in 10 by k](input)`: the tuples whose hash of `by` is in the first `count` of `parts` equal parts."""

    count: int
    parts: int
    by: tuple[str, ...]
    input: Relation


@frozen
class CountWindow(Node):
    """`window[10 rows per user as n](input)`."""

    size: int
    per: tuple[str, ...]
    alias: str
    input: Relation


@frozen
class Session(Node):
    """`session[5 minutes on ts per user as sid](input)`."""

    gap: Measure
    on: str
    per: tuple[str, ...]
    alias: str
    input: Relation


@frozen
class Applied(Node):
    """`smooth(R)`: a declared operator over its inputs."""

    operator: str
    inputs: tuple[Relation, ...]


@frozen
class Window(Node):
    """`window[length every every on on as alias](input)`; tumbling without `every`.

    Two names, `as [begin, end]`, are those of the window's bounds; one is that of its number.
    """

    length: Measure
    every: Measure | None
    on: str
    alias: str | tuple[str, str]
    input: Relation


@frozen
class AggregateCall(Node):
    """`avg(t) as mean`, `count() as n`, `count(distinct s where t > 9) as hot`."""

    function: str
    arguments: tuple[Expression, ...]
    alias: str
    distinct: bool = False
    where: Expression | None = None


@frozen
class Aggregate(Node):
    """`aggregate[avg by l except ts](input)` or `aggregate[avg(t) as mean by l](input)`.

    The first form has `function` and `excepts`, the second `calls`, with `function` and `excepts` None. A call may be
    computed from several, `max(t) - min(t) as range`.
    """

    function: str | None
    calls: tuple[AggregateCall | ProjectItem, ...]
    by: tuple[str, ...]
    excepts: tuple[str, ...] | None
    input: Relation


OneInput = (
    Select
    | Project
    | Rename
    | Distinct
    | Sort
    | Top
    | Limit
    | Sample
    | Window
    | CountWindow
    | Session
    | Aggregate
)
TwoInputs = Union | Intersect | Minus | Join
Relation = Reference | OneInput | TwoInputs | Applied


# --- markers ---


@frozen
class Inverse(Node):
    """The third argument of an alter, `y -> y / 2`."""

    parameter: str
    body: Expression


@frozen
class AddAttribute(Node):
    """`+(p: double)`, `+(p: double unit hPa)`."""

    name: str
    type: TypeName
    unit: str | None = None


@frozen
class DropAttribute(Node):
    """`-(p)`."""

    name: str


@frozen
class AlterAttribute(Node):
    """`alter(t, y -> y * 2)`; `inverse` only when it was written. `unit`: what values are in from there on,
    `alter(t, y -> y / 1000, unit km)`."""

    name: str
    parameter: str
    body: Expression
    inverse: Inverse | None = None
    unit: str | None = None


@frozen
class GrowDomain(Node):
    """`grow(s, {3, 4})`."""

    name: str
    members: SetPattern


@frozen
class SetUnit(Node):
    """`unit(t, degC)`."""

    name: str
    unit: str


@frozen
class RenameAttribute(Node):
    """`rename(temp, t)`: `field` is `temp`, `name` is `t`."""

    name: str
    field: str


@frozen
class RecodeAttribute(Node):
    """`recode(k, {"M": "male", "F": "female"})`: each pair a value as it was and as it is from here on."""

    name: str
    codes: tuple[tuple[Literal, Literal], ...]


Primitive = (
    AddAttribute | DropAttribute | AlterAttribute | GrowDomain | SetUnit | RenameAttribute | RecodeAttribute
)


@frozen
class AccentText(Node):
    """`[[description, primitive]]` (paper, section 2): the description is a conjunction, possibly empty."""

    description: tuple[Condition, ...]
    primitive: Primitive


@frozen
class PunctuationText(Node):
    """`[ts <= 600, s = 2]`; no conditions, written `[]` or `[*]`, end the stream."""

    conditions: tuple[Condition, ...]
