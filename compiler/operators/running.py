"""Running: functions of the tuples up to each tuple of its key, in an order (theory N14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregate_calls import Call
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.expressions.aggregates.aggregate_parts import (
    argument_type,
)
from cedilla.compiler.expressions.counters import INCREASE_SINCE, INCREASES, Counter
from cedilla.compiler.expressions.types import LONG, Type
from cedilla.compiler.expressions.units.conversions import unit_of_call
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import (
    NO_STATE,
    PRESENT,
    PRESENT_IF_ALL,
    Facts,
    StateFacts,
    fold_closed,
    fold_presence,
    fold_units,
    map_history,
)
from cedilla.compiler.facts.schemes import Memory, Schemes, both, folded_onto
from cedilla.compiler.operators.aggregate import through
from cedilla.compiler.operators.project import carried, presence_of
from cedilla.compiler.operators.shared.base import Invariants, Kept, Operator, Rules, always, require, taken
from cedilla.compiler.operators.shared.conditions import condition_warnings
from cedilla.compiler.operators.shared.orders import Frame, Key, from_first
from cedilla.compiler.operators.shared.running_calls import (
    COUNTERS,
    DIFFERENCES,
    FUNCTIONS,
    NOWHERE,
    PLACES,
    check_call,
)
from cedilla.compiler.regions import ANYTHING, UNION, Box, Tree
from cedilla.compiler.regions.spans import spans
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.syntax import AggregateCall, Attribute, Expression, Literal
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Running(Operator):
    """`running[delta(kwh) as used per meter on ts](input)`: adds functions of the tuples of the same `per` up to each.

    The tuples of a key are in the order of `on`, pairs (attribute, descending), then of arrival. `differences`: the
    calls of differences of points of a scale. State: the tuples whose part of `on` is not closed; for each key, its
    last tuple and partial results, and as many tuples before it as a `lag` looks back.
    """

    calls: dict[str, Call] = field(converter=Call.parsed)
    per: tuple[str, ...] = field(default=(), converter=tuple)
    on: tuple[Key, ...] = field(converter=lambda keys: tuple(tuple(k) for k in keys))
    frame: Frame | None = None
    differences: tuple[str, ...] = field(default=(), converter=tuple)
    rules: ClassVar[Rules] = Rules("N14", "G13", "N14", read="N14", needed="N14")
    keeps_order: ClassVar[Order] = Order.PLACED
    state: ClassVar[Kept] = Kept(
        "tuples that wait are forgotten, and every key begins again with its next tuple", stored="once"
    )

    def arguments(self) -> dict[str, Any]:
        """Calls are texts, as Spark's functions of these names are of groups."""
        stated = {**super().arguments(), "calls": {name: str(call) for name, call in self.calls.items()}}
        return stated if self.frame is None else {**stated, "over": self.frame.text}

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(argument for call in self.calls.values() for argument in call.arguments)

    @property
    def axis(self) -> str:
        return self.on[0][0]

    @property
    def ordered_by(self) -> tuple[str, ...]:
        """The attributes of the order."""
        return tuple(name for name, _ in self.on)

    @property
    def reads_order(self) -> bool:
        return True

    @classmethod
    def unit_of_call(cls, call: AggregateCall, units: Sequence[str | None]) -> str | None:
        """Returns the unit of a result. Raises RQ142 for a counter in a unit whose zero is a point, as degC."""
        alike = {"lag": "min", "nth": "min", "delta": "stddev", **dict.fromkeys(COUNTERS, "sum")}
        alike = alike.get(call.function, call.function)
        unit = unit_of_call(alike, units[:1])
        if call.function in COUNTERS and units and units[0] is not None and unit is None:
            message = f"a counter begins at zero, and the zero of {unit_text(units[0])} is a point of a scale"
            raise failure(
                "RQ142", message, call.span, hint="`delta(x)` is the difference of values in such a unit"
            )
        return unit

    # --- checks ---

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require(self.ordered_by, source, self.span, "running function")
        require(self.per, source, self.span, "`per`")
        for name in self.ordered_by:
            if source.may_be_undefined(name):
                message = f"every tuple needs `{name}` for a running function, and it may be missing"
                raise failure("RQ115", message, self.span, hint=always(name, source))
            if name in self.per:
                hint = f"`per` names whose tuples they are: `running[lag(x) as before per k on {name}](R)`"
                raise failure("RQ104", f"`{name}` gives the order and is in `per`", self.span, hint=hint)
        if (name := next((name for name in self.calls if name in source.types), None)) is not None:
            hint = f"another name, for example `as {name}_2`"
            raise failure("RQ104", f"there is already an attribute `{name}`", self.span, hint=hint)
        for call in self.calls.values():
            check_call(call, source.types, self.frame, self.span)
        return [warning for part in self.expressions for warning in condition_warnings(part, source)]

    # --- results ---

    def place(self, name: str) -> int:
        """Returns how many tuples a `lag` looks back, or the place of an `nth`; 1 for another function."""
        match self.calls[name].arguments[1:]:
            case (Literal(int() as place),) if self.calls[name].function in ("lag", "nth"):
                return place
            case _:
                return 1

    def kept(self, name: str) -> int:
        """Returns how many of the last tuples of a key a later result is computed from, if their times do not say."""
        if self.frame is not None and self.frame.rows is not None:
            return max(self.frame.rows - 1, 1)
        return 1 if self.calls[name].function == "nth" else self.place(name)

    @property
    def depth(self) -> int:
        """The number of the last tuples of each key that state keeps, if their times do not say."""
        return max(map(self.kept, self.calls))

    def before(self, name: str) -> str:
        """Returns the column of a result's value in the tuple before."""
        return f"{name}$before"

    def earlier(self, name: str) -> str:
        """Returns the column of the last reading of a counter that differs from the one `before`."""
        return f"{name}$earlier"

    def since(self, name: str) -> str:
        """Returns the column of the latest start of a counter's readings before."""
        return f"{name}$since"

    def columns(self, name: str, types: Mapping[str, Type]) -> dict[str, Type]:
        """Returns the columns that `difference` reads in addition to attributes of these types."""
        call = self.calls[name]
        type_ = expressions.type_of(call.arguments[0], types)
        if call.function not in INCREASES:
            return {self.before(name): type_}
        read = {self.before(name): type_, self.earlier(name): type_}
        if (start := self.counter(name).start) is not None:
            read[self.since(name)] = expressions.type_of(start, types)
        return read

    def counter(self, name: str) -> Counter:
        """Returns the counter of a call."""
        return Counter.of(self.calls[name].function, self.calls[name].arguments)

    def differs(self, value: str, before: str) -> Expression:
        """Returns whether two readings of a counter differ, by column; equal ones decide nothing (theory N14)."""
        columns = {name: Attribute(column, span=NOWHERE) for name, column in (("x", value), ("y", before))}
        return expressions.written("x != y", NOWHERE, **columns)

    def difference(self, name: str) -> Expression:
        """Returns the difference of a value and the one `before`; a counter that fell began again at zero."""
        before, earlier, since = (
            Attribute(column(name), span=NOWHERE) for column in (self.before, self.earlier, self.since)
        )
        if self.calls[name].function in INCREASES:
            return self.counter(name).increase(before, earlier, since)
        (value,) = self.calls[name].arguments
        is_delta = self.calls[name].function == "delta"
        text = "value - before" if is_delta else "if(value < before, value, value - before)"
        return expressions.written(text, NOWHERE, value=value, before=before)

    def type_of(self, name: str, types: Mapping[str, Type]) -> Type:
        """Returns the type of a result over attributes of these types."""
        call = self.calls[name]
        if not call.arguments:
            return LONG
        argument = expressions.type_of(call.arguments[0], types)
        if call.function in DIFFERENCES:
            read = self.columns(name, types)
            return expressions.type_of(self.difference(name), {**types, **read})
        if call.function in ("lag", "nth", "first", "last"):
            return argument_type(argument)
        return AGGREGATES[call.function].type(argument)

    def combines_values(self, name: str) -> bool:
        return name in self.calls and self.calls[name].function in ("sum", *DIFFERENCES)

    def readings(self) -> Iterator[tuple[str, Span | None]]:
        for name, call in self.calls.items():
            if call.function in INCREASES and (counter := self.counter(name)).temporality is None:
                yield from ((read, call.span) for read in sorted(expressions.attributes(counter.value)))

    def sums(self, source: Facts) -> Iterator[tuple[str, Tree, Span | None]]:
        for call in self.calls.values():
            if call.function == "sum":
                yield from ((name, False, call.span) for name in sorted(call.computed_from))

    # --- facts ---

    def passable(self, source: Facts) -> Tree:
        """Returns the region of the tuples after which no other of their key and their part of `on` can come."""
        opened = self.opened(source)
        if regions.attributes(opened).isdisjoint(self.ordered_by):
            return regions.complement(opened)

        def image(box: dict[str, Tree]) -> Iterator[Box]:
            return from_first(box, self.on, source.universe)

        return regions.complement(regions.reshape(opened, image, UNION, False))

    def opened(self, source: Facts) -> Tree:
        """Returns the region of the keys and parts of the order that later tuples may have."""
        closed = fold_closed(source, frozenset(source.types).difference(self.named(0)))
        members = (source.universe.get(name, ANYTHING).members for name in self.ordered_by)
        return regions.intersection(regions.complement(closed), *members)

    @property
    def length(self) -> int | None:
        """The length of the frame on the axis of the order, if it has one."""
        return None if self.frame is None else self.frame.length

    def outlived(self, source: Facts) -> Tree:
        """Returns the region of the written tuples that no later result is computed from: those of keys that no later
        tuple has, or that end before the frame of a tuple which is still open."""
        if self.length is None:
            return fold_closed(source, frozenset(source.types).difference(self.per))
        name, length, opened = self.axis, self.length, self.opened(source)
        if name not in regions.attributes(opened):
            return regions.complement(opened)

        def image(box: dict[str, Tree]) -> Iterator[Box]:
            rest = {other: members for other, members in box.items() if other != name}
            if runs := spans(box.get(name, True), integral=True):
                first = runs[0][0]
                begin = None if first is None else (first[0] - length, first[1])
                yield rest if begin is None else {**rest, name: regions.interval(name, begin, None)}

        return regions.complement(regions.reshape(opened, image, UNION, False))

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return self.passable(inputs[0])

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        # A closed tuple that waits is still to come here, and every tuple of a key feeds its later results (D1).
        source = evolve(source, closed=regions.intersection(source.closed, self.passable(source)))
        over = frozenset(source.types).difference(self.per)
        types, present, units = dict(source.types), dict(source.present), dict(source.units)
        for name, call in self.calls.items():
            types[name] = self.type_of(name, source.types)
            present[name] = PRESENT
            if call.function == "count" or call.function in PLACES:
                continue
            arguments = call.arguments[:-1] if call.function == INCREASE_SINCE else call.arguments
            presence = (presence_of(source, argument) for argument in arguments)
            present[name] = fold_presence(source, reduce(_if_both, presence), over)
            form = expressions.affine(call.arguments[0])
            if form is not None and form[0] in source.units:
                onto = carried(form[1], is_difference=name in self.differences)
                units[name] = map_history(
                    fold_units(source, form[0], over), through(FUNCTIONS[call.function], onto)
                )
        return evolve(source, types=types, present=state.with_retained(present), units=units)

    # --- for people, and what bounds its state ---

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        return taken(self.calls, inputs)

    def named(self, side: int) -> tuple[str, ...]:
        return (*self.per, *self.ordered_by)

    def reads(self, side: int) -> Mapping[str, str]:
        computed = (name for call in self.calls.values() for name in sorted(call.computed_from))
        return {**dict.fromkeys(computed, "2.8"), **dict.fromkeys(self.named(side), "N14")}

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        keys, order = ", ".join(self.per) or "everything", ", ".join(self.ordered_by)
        forgets = f"and the last {self._last} of a key once {keys} is closed"
        if self.frame is not None and self.length is not None:
            forgets = f"once no tuple of the {self.frame.text.removeprefix('last ')} after them is open"
        return Invariants(
            f"each tuple, once all up to its {order} is closed{f' for its {keys}' if self.per else ''}",
            "everything that its input closes, as far as all before it is closed, too",
            f"tuples that it has written, {forgets}",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        per = frozenset(self.per)
        return (
            Memory(what="tuples that others may precede", within=self._leading, output=True),
            Memory(what=self._kept_of_key, within=per, one_per=per)
            if self.frame is None or self.length is None
            else Memory(what=f"tuples of the {self.frame.text}", within=self._leading),
        )

    @property
    def _kept_of_key(self) -> str:
        return "the last tuple of each key" if self.depth == 1 else f"a list of the last {self.depth} tuples"

    @property
    def _last(self) -> str:
        return "tuple" if self.depth == 1 else f"{self.depth} tuples"

    @property
    def _leading(self) -> frozenset[str]:
        """The key, and the first attribute of the order, if punctuation closes it from below upwards."""
        name, descending = self.on[0]
        return frozenset(self.per if descending else (*self.per, name))

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Returns the promises of the input, up to where all earlier tuples have passed."""
        return both(promised[0], folded_onto(self._leading, inputs[0], promised[0]))


def _if_both(one: Tree, other: Tree) -> Tree:
    return regions.combine(one, other, PRESENT_IF_ALL)
