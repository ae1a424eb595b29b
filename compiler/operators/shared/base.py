"""The specification of an operator (theory 1.3, 2.2; paper, section 6).

Over 400 lines, as one class lists all that a specification may state.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, cast

from attrs import field

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import unit_of_call
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory, Scheme, Schemes
from cedilla.compiler.operators.shared.vacancies import Point, Vacancy
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.diagnostics.suggestions import unknown_attribute
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import AggregateCall, Expression, Node
from cedilla.grammar.syntax.classes import lean
from cedilla.grammar.syntax.operator_forms import FORMS

Kind = Literal["add", "drop", "alter"]
KINDS: tuple[Kind, ...] = ("add", "drop", "alter")


@lean
class Rules:
    """The rules of the theory that messages cite for an operator's reactions (section 2).

    `add`, `drop`, `alter`: accents that pass. `read`: an Alter that passes, of an attribute that the operator reads.
    `merged`: accents that wait for the other input. `partial`: accents that wait for other values of a described
    attribute. `moved`: a description by the axis moves to another attribute. `needed`: a Drop of a named attribute.
    `absorbed`: the result does not show an Alter. `ignored`: the output lacks the attribute.
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
        """Returns the rule of an accent that passes."""
        return {"add": self.add, "drop": self.drop, "alter": self.alter}[kind]


@lean
class OpenGroups:
    """The attributes of rows of open groups. `names`: attributes that have the value of an attribute of the group;
    `steady`: those that do not change while a group is open."""

    names: Mapping[str, str]
    steady: frozenset[str]


@lean
class Invariants:
    """The pass, propagation and purge invariants in words (theory 1.3)."""

    passes: str
    propagates: str
    purges: str


@lean
class Kept:
    """The state of an operator between epochs, and the effect of its loss by an edit of the query (design, section 8).

    `restart`: the results that are missing then. `wrong`: the results that are wrong then, if the state of an input in
    `decisive` is lost. `apart`: the inputs whose state stays right if the other input changes. `row`: the noun for a
    waiting row. `stored`: an epoch stores new rows ("once"), partial results that are merged later ("parts"), or rows
    that may be stored already ("again").
    """

    restart: str
    wrong: str | None = None
    decisive: tuple[int, ...] = (0, 1)
    apart: tuple[int, ...] = ()
    row: str = "row"
    stored: Literal["once", "parts", "again"] = "again"


@lean(kw_only=True)
class Operator(ABC):
    """A node of the plan. `name` is its relation's name, `inputs` those of its inputs."""

    name: str
    inputs: tuple[str, ...] = field(converter=tuple)
    line: int = field(default=0, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)
    units: Units = field(factory=dict[str, str], eq=False, repr=False)
    """Output attribute -> its unit, if it has one. Generated programs contain none, because a run computes with numbers
    only."""

    title: ClassVar[str]
    """The operator's name for people, `Left join`: that of its class, unless it says another."""
    method: ClassVar[str]
    """Its name for files and pages: `left_join` of the class `LeftJoin`."""
    call: ClassVar[str]
    """The method of the epoch for it in programs: Spark's word if that is another, as `where`."""
    rules: ClassVar[Rules]
    state: ClassVar[Kept | None] = None
    """Its state between epochs; `None` if each output tuple comes from tuples of one epoch."""
    acts_on_output: ClassVar[bool] = False
    """Closed regions of inputs change its rows and state only through regions that it closes itself, as with groups."""
    decided_by_tuples: ClassVar[bool] = False
    """A tuple of one input decides a kept one of the other, so that it is kept no longer."""
    merges: ClassVar[bool] = True
    """An attribute of both inputs is one attribute of the output, so both inputs need the same unit."""
    unites: ClassVar[bool] = False
    """The output contains every tuple of all inputs, and nothing else."""
    remedy: ClassVar[str | None] = None
    """Advice that bounds its state if no promise of a source does."""
    requires_order: ClassVar[Order] = Order.NONE
    """The order that the result depends on; an input with less is refused (RQ123)."""

    keeps_order: ClassVar[Order] = Order.ARRIVAL
    """The most that the output keeps of its input's order."""
    instead: ClassVar[str] = "a sort by some attributes before it gives an order: `sort[a, b](R)`"
    """A hint for an input with too little order."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        words = re.findall("[A-Z][a-z]*", cls.__name__)
        cls.method = "_".join(words).lower()
        if "call" not in vars(cls):
            cls.call = cls.method
        if "title" not in vars(cls):
            cls.title = " ".join(words).capitalize()

    @property
    def stateful(self) -> bool:
        """True if it keeps state between epochs."""
        return self.state is not None

    @property
    def reads_order(self) -> bool:
        """True if the operator uses the places of its input's tuples."""
        return self.requires_order is not Order.NONE

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """Returns the order of the output for the order of the inputs."""
        return min(inputs[0].order, self.keeps_order)

    def over(self, inputs: tuple[Arrival, ...]) -> Operator:
        """Returns the operator over inputs in some orders; the pass `order` calls it."""
        return self

    def leading(self, inputs: tuple[Arrival, ...]) -> int:
        """Returns the input that gives the output's tuples their places."""
        return 0

    @abstractmethod
    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        """Returns warnings about the operator over the inputs at the start of the query. Raises errors."""

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        """Returns the units of the output, except for computed attributes: an attribute keeps its unit."""
        return {name: unit for units in reversed(inputs) for name, unit in units.items()}

    @abstractmethod
    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        """Returns the output's facts from those of the inputs (D1) and of the operator's state."""

    def named(self, side: int) -> tuple[str, ...]:
        """Returns the attributes of an input that the operator names and always needs."""
        return ()

    def needs(self, inputs: tuple[Facts, ...], side: int) -> Mapping[str, str]:
        """Returns the attributes of an input that must not be dropped (Foundation), each with the rule."""
        return dict.fromkeys(self.named(side), self.rules.needed)

    def reads(self, side: int) -> Mapping[str, str]:
        """Returns the attributes that the operator reads, each with the rule for an accent that ends there."""
        return dict.fromkeys(self.named(side), self.rules.read or self.rules.absorbed)

    @abstractmethod
    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        """Returns the pass, propagation and purge invariants."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions that the operator computes tuple by tuple."""
        return ()

    def required(self) -> Expression | None:
        """Returns the condition that every output tuple satisfies as an input tuple; `None` without one."""
        return None

    @property
    def grouped_by(self) -> tuple[str, ...] | None:
        """The attributes that name a group, whose row changes while it is open (theory A2); `None` if rows are final
        when they pass."""
        return None

    @property
    def filled(self) -> frozenset[str]:
        """The attributes of its input for which it fills in defaults, if it changes nothing else; else none."""
        return frozenset()

    def of_open_groups(self, rows: OpenGroups, types: Mapping[str, Type]) -> OpenGroups | None:
        """Returns its rows of open groups by those of its input; `None` if it passes final rows only. `types`: of the
        input."""
        return None

    def arguments(self) -> dict[str, Any]:
        """Returns the parameters that programs state: the filled holes of its form, by the words before them.

        Texts are in the words of the query. The key of calls by the names of their results is `calls`.
        """
        forms = [form for form in FORMS.values() if form.node.__name__ == type(self).__name__]
        holes = forms[0].holes if len(forms) == 1 else ()
        values = {hole.key: _plain(getattr(self, hole.field)) for hole in holes}
        return {key: value for key, value in values.items() if value not in (None, [])}

    def parameters(self) -> dict[str, object]:
        """Returns the parameters that `explain` shows, as plain values."""
        return {key: _argument_for_people(key, value) for key, value in self.arguments().items()}

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """Returns an attribute that the output would have twice, over inputs as evolved so far (J2, G11)."""
        return None

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Returns the schemes that the output promises to close, from those of the inputs (theory 3.4).

        A scheme is promised for every value, also for those that a domain excludes: another input may have them.
        """
        return promised[0]

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        """Returns the kept tuples and waiting accents, each with the punctuation that releases it (theory 3.4)."""
        return ()

    def about(self, names: frozenset[str]) -> Operator:
        """Returns the operator with only those parts that concern some attributes."""
        return self

    def moved(self, mentioned: str) -> str | None:
        """Returns the rule for a description by an attribute that moves to another; `None` if only the name changes."""
        return self.rules.moved if mentioned == self.axis else None

    @classmethod
    def unit_of_call(cls, call: AggregateCall, units: Sequence[str | None]) -> str | None:
        """Returns the unit of a call's result, from those of its arguments."""
        return unit_of_call(call.function, units)

    # --- what only some operators have; the rest of the code asks all of them ---

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of attributes that must be equal in tuples that meet."""
        return ()

    @property
    def axis(self) -> str | None:
        """An attribute that the operator uses as a time that grows."""
        return None

    @property
    def zone(self) -> str | None:
        """The zone whose clocks decide which tuples are together."""
        return None

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The attributes of a group; each group gives one row."""
        return None

    @property
    def fixes_units(self) -> bool:
        """True if the units of its attributes never change after it (theory N6)."""
        return False

    def full_at(self, groups: tuple[str, ...]) -> tuple[int, Scheme] | None:
        """Returns the number of tuples that complete a group, and the keys that have only one incomplete group each
        (theory 1.3); `None` if only punctuation completes a group."""
        return None

    def fixed_attributes(self, inputs: tuple[Facts, ...]) -> bool | None:
        """Returns True if accents cannot add attributes to it; `None` if that depends on its inputs."""
        return None

    def is_in_each(self, name: str) -> bool:
        """Returns True if the output has an attribute's value of every tuple, not one of several tuples."""
        return True

    def combines_values(self, name: str) -> bool:
        """Returns True if an attribute of the output is a difference or sum of several values, not one of them."""
        return False

    def choices_of(self, name: str) -> tuple[str, ...]:
        """Returns the attributes of the output that are chosen from an attribute and others, as by `if(c, x, y)`."""
        return ()

    def sums(self, source: Facts) -> Iterator[tuple[str, Tree, Span | None]]:
        """Yields the attributes that it sums, each with the region of tuples that it leaves out, and the place."""
        yield from ()

    def readings(self) -> Iterator[tuple[str, Span | None]]:
        """Yields the attributes that it reads as counters in every tuple, each with the place."""
        yield from ()

    def left_out(self, source: Facts) -> dict[str, str]:
        """Returns the attributes that the function over all attributes cannot take, each with the function (G37)."""
        return {}

    def refused_by(self, type_: Type) -> str | None:
        """Returns the function over all attributes, if it cannot take an attribute of a type (G37)."""
        return None

    def without_partner(self, side: int) -> str:
        """Describes the effect on tuples of the other input that meet no row of one input."""
        return "meet no row of it and are dropped"

    @property
    def loads(self) -> tuple[str, str] | None:
        """The name of the operator in the query and the module of Python that it loads, if it loads one."""
        return None

    # --- state ---

    def released(self, inputs: tuple[Facts, ...]) -> tuple[Tree, ...]:
        """Returns for each input the region of tuples that state drops because no later tuple can meet them."""
        return (False,) * len(inputs)

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        """Returns the region of state without waiting rows."""
        return False

    # --- vacant regions: closed, and nothing of them is kept (`vacancies`) ---

    def vacancies(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> tuple[Vacancy, ...]:
        """Returns how the operator finds vacant regions. `inputs`: their facts at the start; `promised`: the schemes
        that they promise to close."""
        return ()

    def closed_for(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Tree:
        """Returns the tuples of an input that do not come any more; none once an attribute of the names is gone."""
        source = inputs[vacancy.side]
        return source.closed if source.types.keys() >= set(vacancy.names) else False

    def closable(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Tree:
        """Returns the region over a vacancy's names that is vacant but for tuples that are kept."""
        closed, universe = self.closed_for(vacancy, inputs), inputs[vacancy.side].universe
        return regions.forall(closed, regions.attributes(closed).difference(vacancy.names), universe)

    def vacant(self, vacancy: Vacancy, inputs: tuple[Facts, ...], kept: Iterable[Point]) -> Tree:
        """Returns the output tuples that never come again, because a region of an input is vacant. `kept`: the tuples
        in `closable` that may still come out, as points over the names."""
        region = vacancy.around(self.closable(vacancy, inputs), kept)
        return self.output_of(
            vacancy.side, inputs, regions.intersection(region, self.closed_for(vacancy, inputs))
        )

    def output_of(self, side: int, inputs: tuple[Facts, ...], region: Tree) -> Tree:
        """Returns the output tuples that come of a region of one input."""
        return region

    def still_vacant(self, inputs: tuple[Facts, ...], state: StateFacts) -> Tree:
        """Returns what state has closed, without the part that a growth of a domain has opened since (N1)."""
        if state.closed is False:
            return False
        closed = (self.output_of(side, inputs, facts.closed) for side, facts in enumerate(inputs))
        return regions.intersection(state.closed, regions.union(*closed))

    def waiting_state(self, side: int) -> str:
        """Returns the key of the state with the waiting rows of an input."""
        return self.name


def _plain(value: Any) -> Any:
    """Returns a field's value with texts for keys and expressions."""
    match value:
        case (str() as name, bool() as descending):
            return f"{name} desc" if descending else name
        case tuple():
            return [_plain(item) for item in cast("tuple[object, ...]", value)]
        case Node():
            return format_expression(cast("Expression", value))
        case _:
            return value


def _argument_for_people(key: str, value: Any) -> object:
    """Returns an argument with texts for calls and new names."""
    if not isinstance(value, Mapping):
        return value
    pairs = cast("Mapping[str, object]", value).items()
    return [f"{v} as {k}" if key == "calls" else f"{k} as {v}" for k, v in pairs]


def measured(length: Fraction, type_: Type) -> int | str:
    """Returns a length on an attribute of a type as an argument: `300`, `"5 minutes"`."""
    return int(length) if type_.name != "timestamp" and length.denominator == 1 else type_.length_text(length)


def require(attributes: Iterable[str], facts: Facts, span: Span | None, of: str) -> None:
    """Raise RQ102 unless the attributes exist when the query starts."""
    for attribute in attributes:
        if attribute in facts.types:
            continue
        if attribute in ("asc", "desc"):
            help = f"a direction comes after its key, without a comma: `a {attribute}`"
            raise failure("RQ102", f"unknown attribute `{attribute}` in {of}", span, hint=help)
        raise unknown_attribute(attribute, facts.types, span, f"in {of}")


def require_axis(attribute: str, names: Sequence[str], facts: Facts, span: Span | None, of: str) -> None:
    """Raise unless windows can be cut along an attribute (RQ102, RQ103, RQ115) and be called `names` (RQ104)."""
    require((attribute,), facts, span, of)
    type_ = facts.types[attribute]
    if not type_.is_axis:
        fitting = [name for name, t in facts.types.items() if t.is_axis]
        hint = f"attributes that are one: {', '.join(fitting)}" if fitting else "`extend` computes one"
        message = f"a {of} requires a number or a timestamp, `{attribute}` is {type_}"
        raise failure("RQ103", message, span, hint=hint)
    if facts.may_be_undefined(attribute):
        raise failure(
            "RQ115",
            f"every tuple needs `{attribute}` for a {of}, and it may be missing",
            span,
            hint=always(attribute, facts),
        )
    for name in names:
        if name in facts.types:
            message = f"the {of} cannot be named `{name}`, because there is already an attribute `{name}`"
            raise failure("RQ104", message, span, hint=f"another name, for example `as {name}_{of}`")


def always(attribute: str, facts: Facts) -> str:
    """A hint how to have an attribute that every tuple has."""
    if attribute in facts.lacking:
        return f"an input of a union or left join lacks `{attribute}`: a projection of it can compute one"
    type_ = facts.types[attribute]
    declared = type_ if type_.element is None else f"list of {type_.element}"
    return f"declare it without `?`: `{attribute}: {declared}`"


def listed(names: object) -> str:
    """A set of names as `explain` prints it."""
    texts = [str(n) for n in names]  # type: ignore[attr-defined]
    return "{" + ", ".join(texts) + "}" if texts else "∅"


def each(names: Sequence[str]) -> str:
    """A group as invariants name it, by the attributes that its tuples agree on."""
    return f"each {', '.join(names)}" if names else "all tuples"


def closing_groups(names: Sequence[str]) -> str:
    """The punctuations of an operator that gives a result for each group."""
    return (
        f"values of {', '.join(names)} once no tuple with them can come"
        if names
        else "everything once its input ends"
    )


def taken(names: Iterable[str], inputs: tuple[Facts, ...]) -> str | None:
    """A name that an operator gives, where its input has come to have an attribute of that name."""
    (source,) = inputs
    return next((name for name in names if source.may_have(name) is not False), None)
