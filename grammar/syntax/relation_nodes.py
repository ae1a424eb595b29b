# ruff: noqa: F403, F405
"""Syntax nodes of relations; an operator with one input states its form."""

from __future__ import annotations

from typing import ClassVar
from typing import Literal as OneOf

from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax.classes import lean
from cedilla.grammar.syntax.expression_nodes import *

JoinKind = OneOf["inner", "left", "semi", "anti"]


class OneInput(Node):
    """An operator with one input.

    `forms`: how it is written. A hole `{field:example}` names a field of the node, whose type says what fills it.
    Parts in `[...]` may be missing. The rules of the grammar, the node from a text, the text of a node and the example
    in hints are made from it (`operator_forms`). A word may have a sign, `select|σ`.
    """

    forms: ClassVar[tuple[str, ...]]
    input: Relation


@lean
class Reference(Node):
    """A source or a definition by its name."""

    name: str


@lean
class Select(OneInput):
    """`select[predicate](input)`."""

    forms: ClassVar[tuple[str, ...]] = ("select|σ[{predicate:t > 90 and s in {1, 2}}](R)",)
    predicate: Expression
    input: Relation


@lean
class ProjectItem(Node):
    """`l`, `price * 0.908 as euro` or `double(state) as t unit degC`.

    `call`: what the expression is written out from, and the relation that it reads; its unit and warnings are the
    item's.
    """

    expression: Expression
    alias: str | None = None
    unit: str | None = None
    call: tuple[AggregateCall, str] | None = None


@lean
class Project(OneInput):
    """`project[items](input)`; with `rest`, `extend[items](input)` or `project[*, items](input)`.

    With `excepts`, `project[* except note](input)`.
    """

    forms: ClassVar[tuple[str, ...]] = (
        "project|π[{items:l, t * 1.8 + 32 as f}](R)",
        "extend[{items:t * 1.8 + 32 as f}](R)",
        "project|π[* except {excepts:note}](R)",
    )
    items: tuple[ProjectItem, ...]
    input: Relation
    rest: bool = False
    excepts: tuple[str, ...] = ()


@lean
class Union(Node):
    """`left union right`."""

    left: Relation
    right: Relation


@lean
class Intersect(Node):
    """`left intersect right`, with `all` of bags."""

    left: Relation
    right: Relation
    all: bool = False


@lean
class Minus(Node):
    """`left minus right`, with `all` of bags."""

    left: Relation
    right: Relation
    all: bool = False


@lean
class JoinPair(Node):
    """`a.x = b.y`; `s` alone stands for `s = s`."""

    left: Attribute
    right: Attribute


@lean
class Join(Node):
    """`left join right on pairs`; `kind` is the word before `join`, or `inner`."""

    left: Relation
    right: Relation
    on: tuple[JoinPair, ...]
    kind: JoinKind = "inner"


@lean
class Renamed(Node):
    """`t as temperature`."""

    name: str
    alias: str


@lean
class Rename(OneInput):
    """`rename[t as temperature](input)`: all other attributes stay, later ones too."""

    forms: ClassVar[tuple[str, ...]] = ("rename|ρ[{items:old as new}](R)",)
    items: tuple[Renamed, ...]
    input: Relation


@lean
class Distinct(OneInput):
    """`distinct(input)`, or `distinct[k](input)`: the first tuple for each value of k."""

    forms: ClassVar[tuple[str, ...]] = ("distinct|δ[[{on:a, b}]](R)",)
    on: tuple[str, ...]
    input: Relation


@lean
class SortKey(Node):
    """`l desc`."""

    name: str
    descending: bool = False


@lean
class Sort(OneInput):
    """`sort[wid, l desc](input)`."""

    forms: ClassVar[tuple[str, ...]] = ("sort|τ[{keys:l, t desc}](R)",)
    keys: tuple[SortKey, ...]
    input: Relation


@lean
class Top(OneInput):
    """`top[10 by price desc per auction](input)`."""

    forms: ClassVar[tuple[str, ...]] = ("top[{count:10} by {keys:t desc} [per {per:l}]](R)",)
    count: int
    keys: tuple[SortKey, ...]
    per: tuple[str, ...]
    input: Relation


@lean
class Limit(OneInput):
    """`limit[10](input)`: the first tuples to arrive."""

    forms: ClassVar[tuple[str, ...]] = ("limit[{count:5}](R)",)
    count: int
    input: Relation


@lean
class Sample(OneInput):
    """`sample[1 in 10 by k](input)`: the tuples whose hash of `by` is in the first `count` of `parts` equal parts."""

    forms: ClassVar[tuple[str, ...]] = ("sample[{count:1} in {parts:10} by {by:k}](R)",)
    count: int
    parts: int
    by: tuple[str, ...]
    input: Relation


@lean
class CountWindow(OneInput):
    """`window[10 rows per user as n](input)`."""

    forms: ClassVar[tuple[str, ...]] = ("window|W[{size:10} rows [per {per:user}] as {alias:n}](R)",)
    size: int
    per: tuple[str, ...]
    alias: str
    input: Relation


@lean
class Session(OneInput):
    """`session[5 minutes on ts per user as sid](input)`."""

    forms: ClassVar[tuple[str, ...]] = (
        "session[{gap:5 minutes} on {on:at} [per {per:user}] as {alias:s}](R)",
    )
    gap: Measure
    on: str
    per: tuple[str, ...]
    alias: str
    input: Relation


@lean
class Rows(Node):
    """`5 rows`."""

    count: int


@lean
class Ties(Node):
    """`all with ties`."""


@lean
class Running(OneInput):
    """`running[delta(kwh) as used, sum(n) as total per meter on ts](input)`.

    `on`: the attributes of the order, `on at, price desc`. `frame`: the last tuples that the functions see, all without
    one: `over last 5 rows`, `over last 10 minutes`; or all with the tuples of the same place: `over all with ties`.
    """

    forms: ClassVar[tuple[str, ...]] = (
        "running[{calls:avg(kwh) as mean, sum(n) as total} [per {per:meter}] on {on:ts} "
        "[over {frame:last 5 rows}]](R)",
    )
    calls: tuple[AggregateCall | ProjectItem, ...]
    per: tuple[str, ...]
    on: tuple[SortKey, ...]
    frame: Rows | Measure | Ties | None
    input: Relation


@lean
class Unnest(OneInput):
    """`unnest[tags as tag](input)`: each tuple once for each element of a list."""

    forms: ClassVar[tuple[str, ...]] = ("unnest[{on:tags} as {alias:tag}](R)",)
    on: str
    alias: str
    input: Relation


@lean
class Applied(Node):
    """`smooth(R)`: a declared operator over its inputs."""

    operator: str
    inputs: tuple[Relation, ...]


@lean
class Window(OneInput):
    """`window[length every every on on as alias](input)`, tumbling without `every`, or `window[length on on zone zone
    starting starting as alias](input)`, a period of a calendar.

    Two names, `as [begin, end]`, are those of the window's bounds; one is that of its number.
    """

    forms: ClassVar[tuple[str, ...]] = (
        "window|W[{length:5 minutes} [every {every:1 minute}] on {on:at} as {alias:w}](R)",
        'window|W[{length:1 day} on {on:at} zone {zone:"Europe/Berlin"} [starting {starting:"06:00"}] as {alias:w}](R)',
    )
    length: Period
    every: Measure | None
    on: str
    zone: Text | None
    starting: Text | None
    alias: str | tuple[str, str]
    input: Relation


WEIGHTED = "weighted by duration"
"""The words after `avg(x)` of a mean over time."""
CARRIED = " carried"
"""The end of the name of a function whose value of an earlier window counts where a window has none."""
SINCE = "since"
"""The word before the time when a counter began, `increase(x since begin)`."""
COUNTED = ("increase", "rate")
"""The functions of a counter, which may have `SINCE`."""


@lean
class AggregateCall(Node):
    """`avg(t) as mean`, `count() as n`, `count(distinct s where t > 9) as hot`."""

    function: str
    arguments: tuple[Expression, ...]
    alias: str
    distinct: bool = False
    where: Expression | None = None

    @classmethod
    def of(cls, call: Scalar, alias: str, span: Span) -> AggregateCall:
        """Returns a call with a name."""
        return cls(call.name, call.arguments, alias, call.distinct, call.where, span=span)

    @property
    def expression(self) -> Scalar:
        """The call without its name."""
        return Scalar(self.function, self.arguments, self.distinct, self.where, span=self.span)


@lean
class Aggregate(OneInput):
    """`aggregate[avg by l except ts](input)` or `aggregate[avg(t) as mean by l](input)`.

    The first form has `function` and `excepts`, the second `calls`, with `function` and `excepts` None. A call may be
    computed from several, `max(t) - min(t) as range`. With `complete from begin to end`, a group without tuples has a
    row, too, if its window begins there.
    """

    forms: ClassVar[tuple[str, ...]] = (
        "aggregate|γ[{calls:avg(t) as mean, count() as n} [by {by:l, w}]](R)",
        "aggregate|γ[{function:avg} [by {by:l}] [except {excepts:at}]](R)",
        "aggregate|γ[{calls:count() as n} by {by:l, w} complete from {begin:0} [to {end:100}]](R)",
    )
    function: str | None
    calls: tuple[AggregateCall | ProjectItem, ...]
    by: tuple[str, ...]
    excepts: tuple[str, ...] | None
    begin: Literal | None
    end: Literal | None
    input: Relation


TwoInputs = Union | Intersect | Minus | Join
Relation = Reference | OneInput | TwoInputs | Applied

OPERATORS: tuple[type[OneInput], ...] = (
    *(
        Select,
        Project,
        Rename,
        Distinct,
        Sort,
        Top,
        Limit,
        Sample,
        Window,
        CountWindow,
        Session,
        Running,
        Unnest,
        Aggregate,
    ),
)
"""The operators with one input, in the order of messages."""
