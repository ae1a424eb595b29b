"""Aggregate γ: one row per group, passed when the group is closed (paper, section 4; theory A1 to A4, 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions, predicates
from cedilla.compiler.expressions.aggregate_calls import Call
from cedilla.compiler.expressions.aggregates.aggregate_function import CONSTANTS, Carry, Takes
from cedilla.compiler.expressions.aggregates.aggregate_functions import DISTINCT, FUNCTIONS
from cedilla.compiler.expressions.scalars import scalar_functions as scalars
from cedilla.compiler.expressions.scalars import type_hints
from cedilla.compiler.expressions.scalars.function_hints import hint_for_aggregate
from cedilla.compiler.expressions.types import BOOLEAN, DOUBLE, LONG, STRING, Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.conversions import unit_of_call
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import (
    ABSENT,
    NO_STATE,
    PRESENT,
    PRESENT_IF_ALL,
    Facts,
    StateFacts,
    fold_closed,
    fold_live_units,
    fold_presence,
    fold_units,
    map_history,
)
from cedilla.compiler.facts.schemes import Memory, Schemes, folded_onto
from cedilla.compiler.operators.completion import Completion
from cedilla.compiler.operators.project import carried, presence_of
from cedilla.compiler.operators.shared.base import (
    Invariants,
    Kept,
    Operator,
    Rules,
    closing_groups,
    each,
    require,
)
from cedilla.compiler.operators.shared.conditions import condition_warnings
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import Attribute, Expression, Literal, Scalar
from cedilla.grammar.syntax.classes import lean

_NOWHERE = Span("<except>", 0, 0, 1, 1, 1, 1)


@lean
class AllBut:
    """The attributes that a function over all attributes leaves out, in addition to those of the group."""

    names: tuple[str, ...]


@lean(kw_only=True)
class Aggregate(Operator):
    """Either `function` over all attributes but `by` and `excepts` (later ones too), or named `calls`.

    `complete`: the number of tuples at which a group is known to be whole before it is closed: the size of the
    count windows that it is grouped by (theory 1.3). State: partial results of the groups that have not passed,
    in canonical values. `differences`: the calls that aggregate differences of points of a scale, as of temperatures.
    `completion`: the groups that have a row without a tuple.
    """

    by: tuple[str, ...] = field(converter=tuple)
    function: str | None = None
    excepts: tuple[str, ...] = field(default=(), converter=tuple)
    calls: dict[str, Call] = field(factory=dict[str, Call], converter=Call.parsed)
    complete: int | None = None
    differences: tuple[str, ...] = field(default=(), converter=tuple)
    completion: Completion | None = None
    remedy: ClassVar[str] = "group by a window of a punctuated attribute, too, because its groups end"
    rules: ClassVar[Rules] = Rules("A2", "A3", "A4", ignored="A1")
    keeps_order: ClassVar[Order] = Order.NONE
    instead: ClassVar[str] = (
        "first, last, collect and string_agg depend on the order of tuples: `sort[a](R)` gives one, and "
        "`top[1 by a desc per k](R)` takes the greatest value"
    )
    acts_on_output: ClassVar[bool] = True
    state: ClassVar[Kept] = Kept(
        "groups that are open then lack the tuples read before", row="group", stored="parts"
    )

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(part for call in self.calls.values() for part in call.parts)

    @property
    def grouped_by(self) -> tuple[str, ...]:
        return self.by

    @property
    def requires_order(self) -> Order:  # type: ignore[override]
        """Groups are complete when they pass, so places are enough."""
        used = [self.function] if self.function else [call.function for call in self.calls.values()]
        ordered = any(FUNCTIONS[name].ordered for name in used)
        return Order.PLACED if ordered else Order.NONE

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require(self.by, source, self.span, "`by`")
        if self.completion is not None:
            self.completion.check(self.by, source, self.span)
        if self.function is not None:
            self._check_function(self.function, self.span)
            if len(FUNCTIONS[self.function].takes) > 1:
                usage = FUNCTIONS[self.function].usage
                message = f"{self.function} of every attribute has no meaning: it takes two arguments"
                raise failure("RQ109", message, self.span, hint=f"`{usage} as name` names its arguments")
        for call in self.calls.values():
            self._check_call(call, source)
        return [
            *(warning for call in self.calls.values() for warning in self._doubtful(call, source)),
            *(
                doubt
                for call in self.calls.values()
                for part in call.parts
                for doubt in condition_warnings(part, source)
            ),
            *(
                Diagnostic(
                    "RQ110",
                    "warning",
                    f"{self.function} skips `{name}`, because its type is {source.types[name]}",
                    self.span,
                    help=f"to confirm, write `except {name}`",
                )
                for name in self.left_out(source)
            ),
        ]

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        (source,) = inputs
        units = {name: source[name] for name in self.by if name in source}
        if self.function is not None:
            others = {
                n: unit_of_call(self.function, (u,)) for n, u in source.items() if n not in self.excepts
            }
            units = {**{name: unit for name, unit in others.items() if unit is not None}, **units}
        return units

    def _check_function(self, name: str, span: Span | None) -> None:
        if name not in FUNCTIONS:
            help = hint_for_aggregate(name.lower())
            raise failure("RQ109", f"unknown aggregate function `{name}`", span, hint=help)

    def _check_call(self, call: Call, source: Facts) -> None:
        self._check_function(call.function, call.span or self.span)
        function = FUNCTIONS[call.function].with_arguments(len(call.arguments))
        if call.distinct and function.distinct is None:
            message = f"{call.function} of distinct values is not in the language"
            raise failure(
                "RQ109", message, call.span or self.span, hint=f"`distinct` goes with {', '.join(DISTINCT)}"
            )
        counts_tuples = call.function == "count" and not call.arguments and not call.distinct
        if len(call.arguments) != len(function.takes) and not counts_tuples:
            wanted = ("one argument", "two arguments", "three arguments")[len(function.takes) - 1]
            message = f"{call.function} requires {wanted}, found {len(call.arguments)}"
            hint = f"as in `{function.usage}`"
            names = [a.name for a in call.arguments if isinstance(a, Attribute)]
            if "distinct" in names:
                hint = f"`distinct` comes first: `{call.function}(distinct x)`"
            elif len(call.arguments) == 2 and len(function.takes) == 1:
                hint += f"; a condition comes after `where`: `{call.function}(x where t > 90)`"
            raise failure("RQ109", message, call.span or self.span, hint=hint)
        for argument, kind in zip(call.arguments, function.takes, strict=False):
            _check_is_plain(argument)
            _check_argument(call.function, argument, kind, source)
        if call.where is not None:
            type_ = expressions.type_of(call.where, source.types)
            if type_ != BOOLEAN:
                hint = type_hints.conversion("boolean", type_, call.where)
                raise failure(
                    "RQ103", f"`where` requires a condition, found {type_}", call.where.span, hint=hint
                )

    def _doubtful(self, call: Call, source: Facts) -> Iterator[Diagnostic]:
        if not call.distinct or call.function in ("min", "max"):  # which it does not change
            return
        (argument,) = call.columns
        if expressions.type_of(argument, source.types) == DOUBLE:
            yield Diagnostic(
                "RQ108",
                "warning",
                f"distinct values of the double `{format_expression(argument)}` may differ in their last digit only",
                argument.span,
                ("accents that convert a value and convert it back may change its last digit",),
            )

    @property
    def groups(self) -> tuple[str, ...]:
        return self.by

    def fixed_attributes(self, inputs: tuple[Facts, ...]) -> bool:
        return False

    def is_in_each(self, name: str) -> bool:
        return name in self.by

    def sums(self, source: Facts) -> Iterator[tuple[str, Tree, Span | None]]:
        for call in self.results(source).values():
            if call.function in ("sum", "histogram_quantile"):
                for name in sorted(call.computed_from):
                    yield name, _excluded(call, source), call.span

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return output.closed

    def left_out(self, source: Facts) -> dict[str, str]:
        """Attributes that the function cannot take (G37)."""
        refused = {n: self.refused_by(source.types[n]) for n in self._others(source)}
        return {name: function for name, function in refused.items() if function is not None}

    def refused_by(self, type_: Type) -> str | None:
        is_refused = self.function and not FUNCTIONS[self.function].can_take(type_)
        return self.function if is_refused else None

    def _others(self, source: Facts) -> list[str]:
        return [n for n in source.types if n not in self.by and n not in self.excepts]

    def results(self, source: Facts) -> dict[str, Call]:
        """Output attribute -> call, over an input as evolved so far (A2)."""
        if self.function is None:
            return self.calls
        skipped = self.left_out(source)
        return {
            name: Call(self.function, (Attribute(name, span=_NOWHERE),))
            for name in self._others(source)
            if name not in skipped
        }

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        over = frozenset(source.types) - frozenset(self.by)
        present = {n: fold_presence(source, source.present[n], over) for n in self.by}
        units = {n: fold_units(source, n, over) for n in self.by if n in source.units}
        types = {n: source.types[n] for n in self.by}
        for name, call in self.results(source).items():
            types[name] = _type_of(call, source)
            if call.function == "count":
                present[name] = PRESENT
                continue
            excluded = _excluded(call, source)  # feeds the result no more than what never comes (D1)
            feeding = evolve(source, closed=regions.union(source.closed, excluded))
            presence = regions.update(_presence_of(call, source), excluded, lambda _: ABSENT)
            present[name] = fold_presence(feeding, presence, over)
            form = expressions.affine(call.columns[0])
            if form is not None and form[0] in source.units:
                # Only the units of a live group show that it has no feeder.
                folded = fold_units if excluded is False else fold_live_units
                onto_argument = carried(form[1], is_difference=name in self.differences)
                units[name] = map_history(
                    folded(feeding, form[0], over), through(call.how.carry, onto_argument)
                )
        universe: dict[str, Domain] = {n: source.universe[n] for n in self.by if n in source.universe}
        return Facts(
            types,
            universe,
            # Of `by` too: a union before may have lost the attribute with one of its inputs, while groups of it wait.
            state.with_retained(present),
            units,
            fold_closed(source, over),
            source.lacking.intersection(self.by),
        )

    def needs(self, inputs: tuple[Facts, ...], side: int) -> Mapping[str, str]:
        """The groups, and like the arguments of a computed attribute what conditions read, unless optional (G20)."""
        (source,) = inputs
        chosen = frozenset[str]().union(*(call.chosen_by for call in self.calls.values()))
        needed = (n for n in source.types if n in chosen - {*self.by} and not source.may_be_undefined(n))
        return {**dict.fromkeys(self.by, "A3"), **dict.fromkeys(needed, "G20")}

    def reads(self, side: int) -> Mapping[str, str]:
        chosen = (name for call in self.calls.values() for name in sorted(call.chosen_by))
        computed = (name for call in self.calls.values() for name in sorted(call.computed_from))
        return {
            **dict.fromkeys(chosen, "G20"),
            **dict.fromkeys(computed, "2.8"),
            **dict.fromkeys(self.by, "A4"),
        }

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        group = each(self.by)
        passes, purges = f"a row for {group}, once closed", f"{group} once closed"
        if self.complete is not None:
            passes, purges = f"{passes} or once it has {self.complete} tuples", f"{purges} or written"
        if self.completion is not None:
            passes = f"{passes}; without tuples, too, for windows that begin from {self.completion.text}"
        return Invariants(passes, closing_groups(self.by), purges)

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        by = frozenset(self.by)
        grows = any(call.keeps_values for call in self.results(inputs[0]).values())
        groups = Memory(what="open groups", within=by, one_per=None if grows else by, output=True)
        return groups, Memory(what="accents for a part of a group", within=by, accents=True)

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return folded_onto(frozenset(self.by), inputs[0], promised[0])

    def arguments(self) -> dict[str, Any]:
        by: dict[str, Any] = {"by": [*self.by]} if self.by else {}
        if self.completion is not None:
            by |= self.completion.arguments()
        if self.function is not None:
            return {**by, "calls": {self.function: AllBut(self.excepts)}}
        return {**by, "calls": self.calls}

    def parameters(self) -> dict[str, object]:
        if self.function is not None:
            functions: dict[str, object] = {"all but": list(self.excepts), "function": self.function}
        else:
            functions = {"calls": [f"{call} as {name}" for name, call in self.calls.items()]}
        complete = {} if self.complete is None else {"complete at": f"{self.complete} tuples"}
        completion = {} if self.completion is None else {"complete from": self.completion.text}
        return {"by": list(self.by), **functions, **complete, **completion}


def _check_is_plain(argument: Expression) -> None:
    """Raise RQ117 where an aggregate function is inside of another."""
    if isinstance(argument, Scalar) and argument.name in FUNCTIONS and argument.name not in scalars.FUNCTIONS:
        message = f"`{argument.name}` is inside of another aggregate function"
        hint = "one after the other: `aggregate[avg(s) as m by k](aggregate[sum(x) as s by k, w](R))`"
        raise failure("RQ117", message, argument.span, hint=hint)
    for part in expressions.parts(argument):
        _check_is_plain(part)


def _check_argument(function: str, argument: Expression, kind: Takes, source: Facts) -> None:
    if kind in CONSTANTS:
        if not isinstance(argument, Literal) or not _CONSTANT[kind](argument.value):
            hint = f"as in `{FUNCTIONS[function].usage}`"
            raise failure("RQ109", f"{function} requires {_WANTED[kind]}", argument.span, hint=hint)
        return
    type_ = expressions.type_of(argument, source.types)
    if kind in ("counts", "list"):
        element = type_.element
        if element is None or not (element.is_numeric if kind == "list" else element in (Type("int"), LONG)):
            wanted = "numbers" if kind == "list" else "whole numbers"
            message = f"{function} requires a list of {wanted}, found {type_}"
            hint = "as `buckets: list of long` and `bounds: list of double` of OpenTelemetry"
            raise failure("RQ103", message, argument.span, hint=hint)
        return
    if (kind == "number" and not type_.is_numeric) or (kind == "string" and type_ != STRING):
        hint = type_hints.conversion(kind, type_, argument)
        raise failure("RQ103", f"{function} requires a {kind}, found {type_}", argument.span, hint=hint)


def _number(test: Callable[[int | Fraction], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int | Fraction) and not isinstance(value, bool) and test(value)


_CONSTANT: dict[Takes, Callable[[object], bool]] = {
    "share": _number(lambda value: 0 <= value <= 1),
    "size": _number(lambda value: value >= 1 and value == int(value)),
    "circle": _number(lambda value: value > 0),
    "text": lambda value: isinstance(value, str),
}
_WANTED: dict[Takes, str] = {
    "share": "a constant between 0 and 1",
    "size": "a whole constant above 0",
    "circle": "a constant above 0, the full circle",
    "text": "a constant string",
}


def _type_of(call: Call, source: Facts) -> Type:
    return call.how.type(expressions.type_of(call.columns[0], source.types)) if call.columns else LONG


def _excluded(call: Call, source: Facts) -> Tree:
    """Returns the region where the call's condition is never true."""
    return False if call.where is None else regions.complement(predicates.possible(call.where, source.types))


def _presence_of(call: Call, source: Facts) -> Tree:
    result: Tree = PRESENT
    for argument in call.columns:
        result = regions.combine(result, presence_of(source, argument), PRESENT_IF_ALL)
    return result


def through(carry: Carry, onto_argument: Callable[[Affine], Affine]) -> Callable[[Affine], Affine]:
    """An Alter of the attribute as one of the result; the identity where it is absorbed (theory 2.8)."""
    return lambda alter: carry(onto_argument(alter)) or IDENTITY
