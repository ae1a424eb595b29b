# ruff: noqa: F403, F405
"""Syntax nodes of statements: sources, settings, definitions, outputs and whole queries."""

from __future__ import annotations

from typing import Literal as OneOf

from attrs import field

from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax.classes import lean
from cedilla.grammar.syntax.marker_nodes import *
from cedilla.grammar.syntax.relation_nodes import *


@lean
class TableColumn(Node):
    """`devices.s` as a domain: the values that an attribute has in a table."""

    table: str
    attribute: str


@lean
class UnitFrom(Node):
    """`unit from u in {degF, degC}`: each tuple's own `u` names the unit."""

    attribute: str
    units: tuple[str, ...]


@lean
class Origin(Node):
    """`from "a.b" or "c"`, paths of keys; or, with a `root`, `from labels "service.name"`, two plain keys."""

    text: str
    root: str | None = None
    others: tuple[str, ...] = ()


@lean
class AttributeDeclaration(Node):
    """`p?: double unit degF`, `s: int in devices.s`, `x: double decimal "," or "."`, `at: timestamp zone "UTC"`.
    `decimal`: the signs, `,` or `,.`. `default`: the value of tuples without it, as in `x: double default 0`."""

    name: str
    type: TypeName
    optional: bool = False
    domain: SetPattern | RangePattern | TableColumn | None = None
    unit: str | UnitFrom | None = None
    origin: Origin | None = None
    decimal: str | None = None
    zone: str | None = None
    default: Literal | None = None


@lean
class Heartbeat(Node):
    """`heartbeat ts delay 10 seconds within 1 day of now`."""

    attribute: str
    delay: Measure
    within: Measure | None = None


@lean
class MarkerFolder(Node):
    """`markers "ops"`, or `markers only "ops"`: no marker counts but those of the folder."""

    path: str
    only: bool = False


@lean
class Metrics(Node):
    """`metrics "http.server.request.duration" over "http.server.duration", "jvm.memory.used"`.

    `over`: pairs of a metric and the next one that it replaces.
    """

    names: tuple[str, ...]
    over: tuple[tuple[str, str], ...] = ()


@lean
class NoneWords(Node):
    """`none {"NA", "-"}`."""

    words: tuple[str, ...]


UNFOLDINGS = {"element": "each", "entry": "each entry", "text": "parsed"}
"""Kinds of steps, and the words before their paths."""


@lean
class Unfold(Node):
    """`each "items"`, `each entry "devices"` or `parsed "payload"`: a step before attributes are read from a line."""

    kind: OneOf["element", "entry", "text"]
    path: str

    @property
    def words(self) -> str:
        """The words before its path."""
        return UNFOLDINGS[self.kind]


@lean
class PartitionedBy(Node):
    """`partitioned by s`."""

    attribute: str


@lean
class Registry(Node):
    """`registry "http://host:8081"`."""

    address: str


@lean
class Latest(Node):
    """`as latest by k`, of a source or an output."""

    key: tuple[str, ...]


@lean
class Changes(Node):
    """`format debezium by id`, or `format debezium by id as latest by id`."""

    format: str
    keys: tuple[str, ...]
    latest: tuple[str, ...] | None = None


@lean
class OrderedBy(Node):
    """`ordered by name`."""


@lean
class StreamDeclaration(Node):
    """A source. A clause `punctuated on s, ts` is one scheme: attributes a promised punctuation names.

    `markers`: a folder of markers, in addition to that of the tuples; `metrics`: those whose data points are read;
    `over`: pairs of these: if an instance sends both, the first is taken; `partitioned`: each value of
    this attribute comes from one partition of a topic; `by_name`: files are read in the order of their names;
    `markers_only`: markers among the tuples are bad tuples; `none`: texts of fields that mean an undefined value;
    `registry`: the address of the schemas of the records of a topic; `changes`: its tuples are rows in the
    events of a change stream; `unfolded`: how a line becomes several tuples or other objects, in order.
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
    registry: str | None = None
    changes: Changes | None = None
    unfolded: tuple[Unfold, ...] = ()


@lean
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


@lean
class Setting(Node):
    """`set drop = eager;`, `set longest_line = 64 MiB;`: a name and a value of `settings.SETTINGS`."""

    name: str
    value: str


@lean
class Let(Node):
    """`let rate = 0.9;`: a name for a constant or a length of time."""

    name: str
    value: Constant


@lean
class Definition(Node):
    """`name := relation;`."""

    name: str
    relation: Relation


@lean
class FixedUnit(Node):
    """`t in degC`."""

    name: str
    unit: str


@lean
class Emit(Node):
    """`emit relation to json "out";`, with `in original units` never encoded; `units`: `with t in degC`; `latest`: the
    key of `as latest by k`."""

    relation: Relation
    format: str
    path: str
    original_units: bool = False
    units: tuple[FixedUnit, ...] = ()
    latest: tuple[str, ...] = ()
    format_span: Span | None = field(default=None, eq=False, repr=False)
    latest_span: Span | None = field(default=None, eq=False, repr=False)


Constant = Literal | Measure


@lean
class StatedAccent(Node):
    """`accent pumps [[firmware >= 1098, unit(power, kW)]];`: an accent before the first tuple of a source."""

    source: str
    accent: AccentText


@lean
class StatedFile(Node):
    """`accent pumps from file "changes.rqm";`: accents of a source, one a line of the file."""

    source: str
    path: str


@lean
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


@lean
class Query(Node):
    """A whole `.rq` text."""

    statements: tuple[Statement, ...]
