"""What every operator says of itself (theory 1.3, 2.2; paper, section 6)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from attrs import field, frozen

from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory, Schemes
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.slips import meant
from cedilla.grammar.syntax import Expression

Kind = Literal["add", "drop", "alter"]
KINDS: tuple[Kind, ...] = ("add", "drop", "alter")


@frozen
class Signature:
    """Foundation, Merge and Accumulator attributes of the input (paper, section 6.2)."""

    foundation: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    accumulate: tuple[str, ...] = ()


@frozen
class Invariants:
    """What may be passed, propagated and purged, in words (theory 1.3)."""

    passes: str
    propagates: str
    purges: str


@frozen
class Reaction:
    """What an operator does with an accent on one attribute.

    `passes`: the output attributes that carry the accent on; `mentions`: the attributes that its
    description names after the operator.
    """

    kind: Literal["propagates", "coordinates", "accumulates", "absorbed", "ignored", "aborts"]
    rule: str
    passes: tuple[str, ...] = ()
    mentions: frozenset[str] = frozenset()


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
    stateful: ClassVar[bool] = False
    requires_order: ClassVar[Order] = Order.NONE
    """The order that the result depends on; an input with less is refused (RQ123)."""

    instead: ClassVar[str] = "a sort by some attributes before it gives an order: `sort[a, b](R)`"
    """A hint what helps where the input has too little order."""

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

    @abstractmethod
    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        """The operator's attribute profiles over the attributes of its inputs."""

    @abstractmethod
    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        """What happens to an accent on `attribute` whose description names `mentions`, from input `side`."""

    @abstractmethod
    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        """Pass, propagation and purge invariants."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What the operator computes of single tuples, as its text has it."""
        return ()

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """What `explain` shows in braces, as plain values."""

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

    def constructor(self) -> str:
        """The call that builds this operator in the generated program."""
        arguments = {
            "name": repr(self.name),
            "inputs": repr(self.inputs),
            **self.arguments(),
            "line": str(self.line),
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in arguments.items())})"

    @abstractmethod
    def arguments(self) -> dict[str, str]:
        """The operator's own constructor arguments, as Python text."""


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


def windowed(
    kind: Kind,
    attribute: str,
    mentions: frozenset[str],
    on: str,
    names: Sequence[str],
    per: Sequence[str],
    mentioned: str,
) -> Reaction:
    """What a window on an attribute, per keys, does with an accent (W1 to W5); `mentioned`: the rule for those
    described by the attribute, which are described by the first of the window's names from here on."""
    if kind == "drop" and attribute in (*per, on):
        return Reaction("aborts", "W2")
    if kind == "alter" and attribute == on:
        return Reaction("absorbed", "W3")
    if kind == "add" and attribute in names:
        return Reaction("aborts", "J2")
    if on in mentions:
        return Reaction("propagates", mentioned, (attribute,), mentions - {on} | {names[0]})
    rule = {"add": "W1", "drop": "W2", "alter": "W4"}[kind]
    return Reaction("propagates", rule, (attribute,), mentions)
