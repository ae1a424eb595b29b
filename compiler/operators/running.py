"""Running: functions of the tuples up to each tuple of its key, in the order of an attribute (theory N14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregate_calls import Call
from cedilla.compiler.expressions.aggregates.aggregate_function import Carry
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.expressions.aggregates.aggregate_parts import (
    argument_type,
    same_alter,
    scaled_alter,
    slope_of_alter,
)
from cedilla.compiler.expressions.counters import INCREASE, INCREASE_SINCE, INCREASES, Counter
from cedilla.compiler.expressions.scalars import type_hints
from cedilla.compiler.expressions.types import LONG, STRING, Type
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
from cedilla.compiler.operators.shared.base import (
    Invariants,
    Kept,
    Operator,
    Rules,
    require,
    require_axis,
    taken,
)
from cedilla.compiler.operators.shared.conditions import condition_warnings
from cedilla.compiler.regions import ANYTHING, UNION, Box, Tree
from cedilla.compiler.regions.spans import spans
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.formatting.expression_formatter import called, format_expression, unit_text
from cedilla.grammar.syntax import AggregateCall, Attribute, Expression

LAST = ("lag", "delta", "delta resets")
"""The functions of the tuple before; their state is its value."""
FUNCTIONS: dict[str, Carry] = {
    "lag": same_alter,
    "delta": slope_of_alter,
    "delta resets": scaled_alter,
    **dict.fromkeys(INCREASES, scaled_alter),
    **{name: AGGREGATES[name].carry for name in ("sum", "count", "min", "max", "avg")},
}
"""Function -> the Alter of its result for one of its argument; `None` absorbs it (theory 2.8, N14)."""
_COUNTERS = ("delta resets", *INCREASES)
"""Functions of counters, which begin again at zero."""
_DIFFERENCES = ("delta", *_COUNTERS)
_MAX_DIGITS = 28
"""Digits of a decimal whose running sum has ten more."""
_NOWHERE = Span("<running>", 0, 0, 1, 1, 1, 1)


@frozen(kw_only=True)
class Running(Operator):
    """`running[delta(kwh) as used per meter on ts](input)`: adds functions of the tuples of the same `per` up to each.

    The tuples of a key are in the order of `on`, then of arrival. `differences`: the calls of differences of points of
    a scale. State: the tuples whose part of `on` is not closed; for each key, its last tuple and partial results.
    """

    calls: dict[str, Call] = field(converter=Call.parsed)
    per: tuple[str, ...] = field(default=(), converter=tuple)
    on: str
    differences: tuple[str, ...] = field(default=(), converter=tuple)
    rules: ClassVar[Rules] = Rules("N14", "G13", "N14", read="N14", needed="N14")
    keeps_order: ClassVar[Order] = Order.PLACED
    state: ClassVar[Kept] = Kept(
        "tuples that wait are forgotten, and every key begins again with its next tuple", stored="once"
    )

    def arguments(self) -> dict[str, Any]:
        """Calls are texts, as Spark's functions of these names are of groups."""
        return {**super().arguments(), "calls": {name: str(call) for name, call in self.calls.items()}}

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(argument for call in self.calls.values() for argument in call.arguments)

    @property
    def axis(self) -> str:
        return self.on

    @property
    def reads_order(self) -> bool:
        return True

    @classmethod
    def unit_of_call(cls, call: AggregateCall, units: Sequence[str | None]) -> str | None:
        """Returns the unit of a result. Raises RQ142 for a counter in a unit whose zero is a point, as degC."""
        alike = {"lag": "min", "delta": "stddev", **dict.fromkeys(_COUNTERS, "sum")}
        alike = alike.get(call.function, call.function)
        unit = unit_of_call(alike, units[:1])
        if call.function in _COUNTERS and units and units[0] is not None and unit is None:
            message = f"a counter begins at zero, and the zero of {unit_text(units[0])} is a point of a scale"
            raise failure(
                "RQ142", message, call.span, hint="`delta(x)` is the difference of values in such a unit"
            )
        return unit

    # --- checks ---

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require_axis(self.on, (), source, self.span, "running function")
        require(self.per, source, self.span, "`per`")
        if self.on in self.per:
            hint = f"`per` names whose tuples they are: `running[lag(x) as before per k on {self.on}](R)`"
            raise failure("RQ104", f"`{self.on}` gives the order and is in `per`", self.span, hint=hint)
        if (name := next((name for name in self.calls if name in source.types), None)) is not None:
            hint = f"another name, for example `as {name}_2`"
            raise failure("RQ104", f"there is already an attribute `{name}`", self.span, hint=hint)
        for call in self.calls.values():
            self._check_call(call, source)
        return [warning for part in self.expressions for warning in condition_warnings(part, source)]

    def _check_call(self, call: Call, source: Facts) -> None:
        span = call.span or self.span
        if call.function not in FUNCTIONS:
            named = (name for name in FUNCTIONS if name != INCREASE_SINCE)
            usages = [called(name, (Attribute("x", span=_NOWHERE),)) for name in named]
            guess = did_you_mean(call.function, FUNCTIONS, "functions")
            raise failure(
                "RQ109",
                f"unknown running function `{call.function}`",
                span,
                hint=guess if guess and guess.startswith("did") else f"functions are {', '.join(usages)}",
            )
        if call.where is not None or call.distinct:
            hint = "tuples are selected before: `running[...](select[t > 90](R))`"
            raise failure("RQ109", "a running function has no condition and no `distinct`", span, hint=hint)
        counts = {"count": (0, 1), INCREASE: (1, 2), INCREASE_SINCE: (2, 3)}.get(call.function, (1,))
        if len(call.arguments) not in counts:
            arguments = [Attribute(name, span=_NOWHERE) for name in ("x", "begin")][: counts[0] or 1]
            usage = called(call.function, tuple(arguments))
            raise failure("RQ109", f"{call.function} requires one argument", span, hint=f"as in `{usage}`")
        if call.function in INCREASES:
            _check_counter(Counter.of(call.function, call.arguments), source.types)
        for argument in call.arguments[:1]:
            type_ = expressions.type_of(argument, source.types)
            if call.function in ("sum", "avg", *_DIFFERENCES) and not type_.is_numeric:
                hint = type_hints.conversion("number", type_, argument)
                raise failure(
                    "RQ103", f"{call.function} requires a number, found {type_}", argument.span, hint=hint
                )
            if call.function == "sum" and type_.name == "decimal" and type_.parameters[0] > _MAX_DIGITS:
                text = format_expression(argument)
                message = f"a running sum of {type_} may have more than 38 digits, the most of a decimal"
                scale = min(type_.parameters[1], _MAX_DIGITS)
                hint = f"at most decimal({_MAX_DIGITS}, {scale}), or `double({text})`"
                raise failure("RQ103", message, argument.span, hint=hint)

    # --- results ---

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
        columns = {name: Attribute(column, span=_NOWHERE) for name, column in (("x", value), ("y", before))}
        return expressions.written("x != y", _NOWHERE, **columns)

    def difference(self, name: str) -> Expression:
        """Returns the difference of a value and the one `before`; a counter that fell began again at zero."""
        before, earlier, since = (
            Attribute(column(name), span=_NOWHERE) for column in (self.before, self.earlier, self.since)
        )
        if self.calls[name].function in INCREASES:
            return self.counter(name).increase(before, earlier, since)
        (value,) = self.calls[name].arguments
        is_delta = self.calls[name].function == "delta"
        text = "value - before" if is_delta else "if(value < before, value, value - before)"
        return expressions.written(text, _NOWHERE, value=value, before=before)

    def type_of(self, name: str, types: Mapping[str, Type]) -> Type:
        """Returns the type of a result over attributes of these types."""
        call = self.calls[name]
        if not call.arguments:
            return LONG
        argument = expressions.type_of(call.arguments[0], types)
        if call.function in _DIFFERENCES:
            read = self.columns(name, types)
            return expressions.type_of(self.difference(name), {**types, **read})
        return argument_type(argument) if call.function == "lag" else AGGREGATES[call.function].type(argument)

    def combines_values(self, name: str) -> bool:
        return name in self.calls and self.calls[name].function in ("sum", *_DIFFERENCES)

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
        closed = fold_closed(source, frozenset(source.types) - {*self.per, self.on})
        domain = source.universe.get(self.on, ANYTHING)
        opened = regions.intersection(regions.complement(closed), domain.members)
        if self.on not in regions.attributes(opened):
            return regions.complement(opened)

        def image(box: dict[str, Tree]) -> Iterator[Box]:
            rest = {name: members for name, members in box.items() if name != self.on}
            if runs := spans(box.get(self.on, True), integral=domain.integral):
                first = runs[0][0]
                yield rest if first is None else {**rest, self.on: regions.interval(self.on, first, None)}

        return regions.complement(regions.reshape(opened, image, UNION, False))

    def closed_keys(self, source: Facts) -> Tree:
        """Returns the region of the keys that no later tuple has."""
        return fold_closed(source, frozenset(source.types).difference(self.per))

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
            if call.function == "count":
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
        return (*self.per, self.on)

    def reads(self, side: int) -> Mapping[str, str]:
        computed = (name for call in self.calls.values() for name in sorted(call.computed_from))
        return {**dict.fromkeys(computed, "2.8"), **dict.fromkeys(self.named(side), "N14")}

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        keys = ", ".join(self.per) or "everything"
        return Invariants(
            f"each tuple, once all up to its {self.on} is closed{f' for its {keys}' if self.per else ''}",
            "everything that its input closes, as far as all before it is closed, too",
            f"tuples that it has written, and the last tuple of a key once {keys} is closed",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        per = frozenset(self.per)
        return (
            Memory(what="tuples that others may precede", within=per | {self.on}, output=True),
            Memory(what="the last tuple of each key", within=per, one_per=per),
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Returns the promises of the input, up to where all earlier tuples have passed."""
        onto = frozenset({*self.per, self.on})
        return both(promised[0], folded_onto(onto, inputs[0], promised[0]))


def _check_counter(counter: Counter, types: Mapping[str, Type]) -> None:
    """Raises RQ103 for a temporality that is no text, or a start that is no time."""
    if counter.temporality is not None:
        type_ = expressions.type_of(counter.temporality, types)
        if type_ != STRING:
            message = f"the temporality of a point is a string, found {type_}"
            hint = "`increase(x, temporality)`, of tuples with `delta` or `cumulative`"
            raise failure("RQ103", message, counter.temporality.span, hint=hint)
    if counter.start is not None:
        type_ = expressions.type_of(counter.start, types)
        if type_.name not in ("timestamp", "int", "long"):
            message = f"the start of a counter is a timestamp or a whole number, found {type_}"
            hint = "`increase(x since begin)`, with `begin: timestamp`"
            raise failure("RQ103", message, counter.start.span, hint=hint)


def _if_both(one: Tree, other: Tree) -> Tree:
    return regions.combine(one, other, PRESENT_IF_ALL)
