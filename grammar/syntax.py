# ruff: noqa: F403, F405
# One namespace for the nodes of three modules.
"""Syntax of queries and markers as frozen nodes (design, sections 4 and 6).

Two nodes are equal when they say the same thing: where they were written (`span`) is not compared.
Unicode spellings (`≠`, `∧`, `σ`) leave no trace; nodes carry the ASCII ones. `syntax` has the nodes of expressions and
relations, too, which `expression_nodes` and `relation_nodes` define.
"""

from __future__ import annotations

from typing import Literal as OneOf

from attrs import evolve, field, frozen

from cedilla.grammar.diagnostics import Span
from cedilla.grammar.relation_nodes import *

TYPES = ("int", "long", "double", "decimal", "string", "boolean", "timestamp", "date")
"""Names of attribute types."""

UNITS = ("millisecond", "second", "minute", "hour", "day", "week")
"""Units of a measure, singular; texts may also write the plural."""

SECOND = "second"
"""The unit of a length of time as a number."""


@frozen
class TableColumn(Node):
    """`devices.s` as a domain: the values that an attribute has in a table."""

    table: str
    attribute: str


# --- statements ---


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
    """`from "a.b" or "c"`, paths of keys; or, with a `root`, `from labels "service.name"`, two keys as they are."""

    text: str
    root: str | None = None
    others: tuple[str, ...] = ()


@frozen
class AttributeDeclaration(Node):
    """`p?: double unit degF`, `s: int in devices.s`, `x: double decimal "," or "."`, `at: timestamp zone "UTC"`."""

    name: str
    type: TypeName
    optional: bool = False
    domain: SetPattern | RangePattern | TableColumn | None = None
    unit: str | UnitFrom | None = None
    origin: Origin | None = None
    decimal_comma: bool = False
    or_point: bool = False
    zone: str | None = None


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
    """`metrics "http.server.request.duration" over "http.server.duration", "jvm.memory.used"`.

    `over`: pairs of a metric and the next one that it replaces.
    """

    names: tuple[str, ...]
    over: tuple[tuple[str, str], ...] = ()


@frozen
class NoneWords(Node):
    """`none {"NA", "-"}`."""

    words: tuple[str, ...]


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

    `markers`: a folder of markers beside that of the tuples; `metrics`: those whose data points are read; `over`: pairs
    of these, of which the first is taken where an instance sends both;
    `partitioned`: the attribute each of whose values comes from one partition of a topic; `by_name`: files are read in
    the order of their names; `markers_only`: markers among the tuples are bad tuples; `none`: texts of fields that mean
    an undefined value.
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
    none: tuple[str, ...] = ()
    over: tuple[tuple[str, str], ...] = ()


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


@frozen
class StatedAccent(Node):
    """`accent pumps [[firmware >= 1098, unit(power, kW)]];`: an accent before the first tuple of a source."""

    source: str
    accent: AccentText


@frozen
class StatedFile(Node):
    """`accent pumps from file "changes.rqm";`: accents of a source, one a line of the file."""

    source: str
    path: str


@frozen
class Use(Node):
    """`use "streams.rq";`: the statements of a file in its place."""

    path: str


Statement = (
    StreamDeclaration
    | OperatorDeclaration
    | Setting
    | Let
    | UnitDefinition
    | Use
    | StatedAccent
    | StatedFile
    | Definition
    | Emit
)


@frozen
class Query(Node):
    """A whole `.rq` text."""

    statements: tuple[Statement, ...]


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
class Points(Node):
    """`by points {(0, 0), (35.4, 100)}`: a function that is linear between points."""

    points: tuple[tuple[Literal, Literal], ...]


@frozen
class AlterAttribute(Node):
    """`alter(t, y -> y * 2)`; `inverse` only when it was written. `unit`: what values are in from there on,
    `alter(t, y -> y / 1000, unit km)`. `parameter` is empty for a function by points."""

    name: str
    parameter: str
    body: Expression | Points
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
class SetZone(Node):
    """`zone(at, "Europe/Berlin")`: times without an offset are local times of the zone from here on."""

    name: str
    zone: str


@frozen
class RenameAttribute(Node):
    """`rename(temp, t)`, `rename("state.temp", t)`: `field` is the new name or path, `name` is `t`."""

    name: str
    field: str


@frozen
class RecodeAttribute(Node):
    """`recode(k, {"M": "male", "F": "female"})`: each pair a value as it was and as it is from here on. With
    `else same`, other values stay."""

    name: str
    codes: tuple[tuple[Literal, Literal], ...]
    else_same: bool = False


@frozen
class MissingValues(Node):
    """`missing(x, {-999, 9999.9})`: these values mean undefined; without values, each value is itself again."""

    name: str
    values: tuple[Literal, ...]


@frozen
class SwapAttributes(Node):
    """`swap(a, b)`: each of two attributes has the place of the other."""

    name: str
    other: str


AtSource = RenameAttribute | RecodeAttribute | MissingValues | SwapAttributes
Primitive = AddAttribute | DropAttribute | AlterAttribute | GrowDomain | SetUnit | SetZone | AtSource


@frozen
class AccentText(Node):
    """`[[description, primitive]]` (paper, section 2): the description is a conjunction, possibly empty."""

    description: tuple[Condition, ...]
    primitives: tuple[Primitive, ...]
    """One, or the same change of several attributes: `unit({day, total}, kWh)`."""

    @property
    def primitive(self) -> Primitive:
        """The only primitive. Raises `ValueError` if there are several; `singles` has each."""
        (primitive,) = self.primitives
        return primitive

    @property
    def singles(self) -> tuple[AccentText, ...]:
        """The accents of one attribute each, which hold together."""
        if len(self.primitives) == 1:
            return (self,)
        return tuple(evolve(self, primitives=(primitive,)) for primitive in self.primitives)


@frozen
class PunctuationText(Node):
    """`[ts <= 600, s = 2]`; no conditions, written `[]` or `[*]`, end the stream."""

    conditions: tuple[Condition, ...]
