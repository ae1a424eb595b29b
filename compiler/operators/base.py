"""What every operator says of itself (theory 1.3, 2.2; paper, section 6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

from attrs import Attribute, Factory, field, fields, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory, Scheme, Schemes
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.expression_formatter import format_expression
from cedilla.grammar.slips import meant
from cedilla.grammar.syntax import Expression, Node

Kind = Literal["add", "drop", "alter"]
KINDS: tuple[Kind, ...] = ("add", "drop", "alter")


@frozen
class Rules:
    """The rules of the theory by which an operator does what its facts say (section 2).

    `read`: of an Alter that goes on, on what the operator reads. `merged`: of an accent that waits for the other input.
    `partial`: of one that waits for other values of what its description names. `moved`: of a description by the axis
    that moves to another attribute. `needed`: of a Drop of what the operator names. `absorbed`: of an Alter that does
    not show in the result. `ignored`: of an attribute that the output does not have.
    """

    add: str
    drop: str
    alter: str
    read: str | None = None
    merged: Mapping[Kind, str] | None = None
    partial: str | None = None
    moved: str | None = None
    needed: str = "2.2"
    absorbed: str = "2.8"
    ignored: str = "P2"

    def of(self, kind: Kind) -> str:
        """The rule of an accent that goes on."""
        return {"add": self.add, "drop": self.drop, "alter": self.alter}[kind]


@frozen
class Invariants:
    """What may be passed, propagated and purged, in words (theory 1.3)."""

    passes: str
    propagates: str
    purges: str


@frozen
class Kept:
    """What an operator keeps from epoch to epoch, and what it means for results that the tuples before are lost, as an
    edit of the query may do (design, section 8).

    `restart`: what the results lack; `wrong`: what would be wrong in them, if the state of an input in `decisive` is
    lost. `apart`: the inputs whose state stays right where the other input changes. `row`: what a row that waits is
    called. `stored`: an epoch stores its new rows ("once"), partial results that are merged later ("parts"), or rows
    that may be stored already ("again").
    """

    restart: str
    wrong: str | None = None
    decisive: tuple[int, ...] = (0, 1)
    apart: tuple[int, ...] = ()
    row: str = "row"
    stored: Literal["once", "parts", "again"] = "again"


@frozen(kw_only=True)
class Operator(ABC):
    """A node of the plan. `name` is its relation's name, `inputs` those of its inputs."""

    name: str
    inputs: tuple[str, ...] = field(converter=tuple)
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)
    units: Units = field(factory=dict[str, str], eq=False, repr=False)
    """The units of the output's attributes, of those that have one. What runs knows numbers only: none in a program."""

    title: ClassVar[str]
    method: ClassVar[str]
    """What the epoch calls the operator, in generated programs."""
    rules: ClassVar[Rules]
    state: ClassVar[Kept | None] = None
    """What it keeps; `None` where each output tuple is made of tuples of the same epoch."""
    merges: ClassVar[bool] = True
    """Whether an attribute that comes from both inputs is one in the output, so that both have to be in one unit."""
    unites: ClassVar[bool] = False
    """Whether the output is every tuple of all inputs."""
    remedy: ClassVar[str | None] = None
    """What bounds its state where no promise of a source would."""
    requires_order: ClassVar[Order] = Order.NONE
    """The order that the result depends on; an input with less is refused (RQ123)."""

    instead: ClassVar[str] = "a sort by some attributes before it gives an order: `sort[a, b](R)`"
    """A hint what helps where the input has too little order."""

    @property
    def stateful(self) -> bool:
        """Whether it keeps anything from epoch to epoch."""
        return self.state is not None

    @property
    def reads_order(self) -> bool:
        """Whether the operator looks at the places of its input's tuples, where they have any."""
        return self.requires_order is not Order.NONE

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """The order of the output over the order of the inputs."""
        return inputs[0].order

    def leading(self, inputs: tuple[Arrival, ...]) -> int:
        """The input whose places the output's tuples have."""
        return 0

    @abstractmethod
    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        """Complaints about the operator over inputs as they are when the query starts; errors are raised."""

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        """The units of the output, but for those of computed attributes: an attribute keeps its own."""
        return {name: unit for units in reversed(inputs) for name, unit in units.items()}

    @abstractmethod
    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        """The output's facts from the inputs' (D1), and what the operator's state adds."""

    def named(self, side: int) -> tuple[str, ...]:
        """Returns the attributes of an input that the operator names and always needs."""
        return ()

    def needs(self, inputs: tuple[Facts, ...], side: int) -> Mapping[str, str]:
        """Returns the attributes of an input that must not be dropped (Foundation), each with the rule."""
        return dict.fromkeys(self.named(side), self.rules.needed)

    def reads(self, side: int) -> Mapping[str, str]:
        """Returns the attributes that the operator reads, each with the rule by which an accent may end there."""
        return dict.fromkeys(self.named(side), self.rules.read or self.rules.absorbed)

    @abstractmethod
    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        """Pass, propagation and purge invariants."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What the operator computes of single tuples, as its text has it."""
        return ()

    def parameters(self) -> dict[str, object]:
        """What `explain` shows in braces, as plain values."""
        return {}

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute that would be in the output twice, over inputs as evolved so far (J2, G11)."""
        return None

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """What the output promises to close, from what the inputs promise (theory 3.4).

        A scheme is promised for every value, also for those that a domain excludes: another input may have them.
        """
        return promised[0]

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        """What the operator keeps, tuples and waiting accents, and which punctuation releases it (theory 3.4)."""
        return ()

    def about(self, names: frozenset[str]) -> Operator:
        """The operator without the parts that some attributes have no part in."""
        return self

    def moved(self, mentioned: str) -> str | None:
        """Returns the rule by which a description by an attribute moves to another, if that is more than a name."""
        return self.rules.moved if mentioned == self.axis else None

    # --- what only some operators have; the rest of the code asks all of them ---

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The attributes of both inputs by which their tuples meet."""
        return ()

    @property
    def axis(self) -> str | None:
        """An attribute that grows as time does, as the operator takes it."""
        return None

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The attributes whose values make a group, of which one row comes out."""
        return None

    @property
    def fixes_units(self) -> bool:
        """Whether the units of its attributes never change after it (theory N6)."""
        return False

    def full_at(self, groups: tuple[str, ...]) -> tuple[int, Scheme] | None:
        """The number of output tuples at which a group is complete, and the attributes for each of whose values only
        one group is not (theory 1.3); `None` where only punctuation completes it."""
        return None

    def fixed_attributes(self, inputs: tuple[Facts, ...]) -> bool | None:
        """Whether accents cannot bring it an attribute; `None` where that is so if it is of all inputs."""
        return None

    def is_in_each(self, name: str) -> bool:
        """Whether the output has an attribute's value of every tuple, not of one chosen or computed from several."""
        return True

    def sums(self, source: Facts) -> Iterator[tuple[str, Tree, Span | None]]:
        """The attributes that are added, each with the tuples that are left out."""
        yield from ()

    def left_out(self, source: Facts) -> dict[str, str]:
        """The attributes that the function over all attributes cannot take, each with the function (G37)."""
        return {}

    def refused_by(self, type_: Type) -> str | None:
        """The function over all attributes that cannot take one of a type (G37)."""
        return None

    def without_partner(self, side: int) -> str:
        """What becomes of tuples of one input that meet none of the other, in words."""
        return "meet no row of it and are dropped"

    # --- state ---

    def released(self, inputs: tuple[Facts, ...]) -> tuple[Tree, ...]:
        """Of each input the region of tuples that state lets go of before the input closes it."""
        return (False,) * len(inputs)

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        """The region of state in which no row waits any more."""
        return False

    def waiting_state(self, side: int) -> str:
        """The key of the state that holds the rows of an input that wait."""
        return self.name

    def constructor(self) -> str:
        """The call that builds this operator in the generated program."""
        arguments = {
            "name": repr(self.name),
            "inputs": repr(self.inputs),
            **self.arguments(),
            "line": str(self.line),
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in arguments.items())})"

    def arguments(self) -> dict[str, str]:
        """Returns the operator's own constructor arguments as Python text, without those at their defaults."""
        common = {field.name for field in fields(Operator)}
        own = [field for field in fields(type(self)) if field.name not in common]
        values = {field: getattr(self, field.name) for field in own}
        return {
            field.name: repr(_plain(value))
            for field, value in values.items()
            if value != _default(field) or "always" in field.metadata
        }


def _default(field: Attribute[Any]) -> object:
    return field.default.factory() if isinstance(field.default, Factory) else field.default  # type: ignore[misc]


def _plain(value: Any) -> object:
    """Returns the text of expressions and types, also inside a dict; other values are their own text."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, Node):
        return format_expression(cast("Expression", value))
    return str(value) if isinstance(value, Type) else value


def require(attribute: str, facts: Facts, span: Span | None, of: str) -> None:
    """Raise RQ102 unless the attribute exists when the query starts."""
    if attribute not in facts.types:
        help = meant(attribute, facts.types, "attributes")
        raise failure("RQ102", f"unknown attribute `{attribute}` in {of}", span, hint=help)


def require_axis(attribute: str, names: Sequence[str], facts: Facts, span: Span | None, of: str) -> None:
    """Raise unless windows can be cut along an attribute (RQ102, RQ103, RQ115) and be called `names` (RQ104)."""
    require(attribute, facts, span, of)
    type_ = facts.types[attribute]
    if not type_.is_numeric and type_.name != "timestamp":
        raise failure("RQ103", f"a {of} requires a number or a timestamp, `{attribute}` is {type_}", span)
    if facts.may_be_undefined(attribute):
        raise failure(
            "RQ115",
            f"a {of} requires an attribute that every tuple has, `{attribute}` may be missing",
            span,
            hint=always(attribute, facts),
        )
    for name in names:
        if name in facts.types:
            raise failure("RQ104", f"the {of}'s name `{name}` is an attribute already", span)


def always(attribute: str, facts: Facts) -> str:
    """A hint how to have an attribute that every tuple has."""
    if attribute in facts.lacking:
        return f"an input of a union or left join lacks `{attribute}`: a projection of it can compute one"
    return f"`{attribute}: {facts.types[attribute]}` without `?` declares so"


def listed(names: object) -> str:
    """A set of names as `explain` prints it."""
    written = [str(n) for n in names]  # type: ignore[attr-defined]
    return "{" + ", ".join(written) + "}" if written else "∅"


def taken(names: Iterable[str], inputs: tuple[Facts, ...]) -> str | None:
    """A name that an operator gives, where its input has come to have an attribute of that name."""
    (source,) = inputs
    return next((name for name in names if source.may_have(name) is not False), None)
