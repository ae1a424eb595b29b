"""Aggregate γ: one row per group, passed when the group is closed (paper, section 4; theory A1 to A4, 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler import expressions
from cedilla.compiler.affine import IDENTITY, Affine
from cedilla.compiler.evolution import (
    PRESENT,
    Facts,
    fold_closed,
    fold_presence,
    fold_units,
    hold,
    map_history,
)
from cedilla.compiler.functions import FUNCTIONS, Function
from cedilla.compiler.operators.base import (
    Held,
    Invariants,
    Kind,
    Operator,
    Reaction,
    Signature,
    fail,
    require,
)
from cedilla.compiler.operators.project import carried, presence_of
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.types import LONG, Type
from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.formatter import format_expression
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Attribute, Expression


@frozen
class Call:
    """`avg(t)`: a function and its argument; `count()` has none."""

    function: str
    argument: Expression | None = None

    @classmethod
    def parse(cls, text: str) -> Call:
        """A call from its own `str()`."""
        function, _, rest = text.partition("(")
        argument = rest.removesuffix(")")
        return cls(function, parse_expression(argument) if argument else None)

    def __str__(self) -> str:
        return f"{self.function}({format_expression(self.argument) if self.argument is not None else ''})"

    @property
    def reads(self) -> frozenset[str]:
        return frozenset() if self.argument is None else expressions.attributes(self.argument)


_NOWHERE = Span("<except>", 0, 0, 1, 1, 1, 1)


def _parsed(calls: Mapping[str, Call | str]) -> dict[str, Call]:
    return {name: Call.parse(c) if isinstance(c, str) else c for name, c in calls.items()}


@frozen(kw_only=True)
class Aggregate(Operator):
    """Either `function` over all attributes but `by` and `excepts` (later ones too), or named `calls`.

    State: partial results of the groups that are not closed, in canonical values.
    """

    by: tuple[str, ...] = field(converter=tuple)
    function: str | None = None
    excepts: tuple[str, ...] = field(default=(), converter=tuple)
    calls: dict[str, Call] = field(factory=dict[str, Call], converter=_parsed)
    title: ClassVar[str] = "Aggregate"
    stateful: ClassVar[bool] = True

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        for name in self.by:
            require(name, source, self.span, "`by`")
        for name in [self.function] if self.function else [call.function for call in self.calls.values()]:
            if name not in FUNCTIONS:
                raise fail(
                    "RQ109",
                    f"unknown aggregate function `{name}`",
                    self.span,
                    f"known: {', '.join(FUNCTIONS)}",
                )
        for call in self.calls.values():
            self._check_call(call, source)
        return [
            Diagnostic(
                "RQ110",
                "warning",
                f"`{name}` is {source.types[name]}: {self.function} leaves it out",
                self.span,
                help=f"`except {name}` says so",
            )
            for name in self.left_out(source)
        ]

    def _check_call(self, call: Call, source: Facts) -> None:
        if call.argument is None:
            if call.function != "count":
                raise fail("RQ109", f"{call.function} requires an argument", self.span)
            return
        found = expressions.type_of(call.argument, source.types)
        if FUNCTIONS[call.function].numeric and not found.is_numeric:
            raise fail("RQ103", f"{call.function} requires a number, found {found}", call.argument.span)

    def left_out(self, source: Facts) -> list[str]:
        """Attributes that the function cannot take (G37)."""
        return [n for n in self._others(source) if not self.takes(source.types[n])]

    def takes(self, type_: Type) -> bool:
        """Whether the function over all attributes can take one of a type."""
        return self.function is None or type_.is_numeric or not FUNCTIONS[self.function].numeric

    def _others(self, source: Facts) -> list[str]:
        return [n for n in source.types if n not in self.by and n not in self.excepts]

    def results(self, source: Facts) -> dict[str, Call]:
        """Output attribute -> call, over an input as evolved so far (A2)."""
        if self.function is None:
            return self.calls
        skipped = self.left_out(source)
        return {
            name: Call(self.function, Attribute(name, span=_NOWHERE))
            for name in self._others(source)
            if name not in skipped
        }

    def facts(self, inputs: tuple[Facts, ...], held: Held = {}) -> Facts:  # noqa: B006
        (source,) = inputs
        over = frozenset(source.types) - frozenset(self.by)
        present: dict[str, Tree] = {n: fold_presence(source, source.present[n], over) for n in self.by}
        units = {n: fold_units(source, n, over) for n in self.by if n in source.units}
        types = {n: source.types[n] for n in self.by}
        results = self.results(source)
        for name, call in results.items():
            function = FUNCTIONS[call.function]
            types[name] = (
                LONG
                if call.argument is None
                else function.type(expressions.type_of(call.argument, source.types))
            )
            if call.function == "count":
                present[name] = PRESENT
                continue
            assert call.argument is not None
            presence = fold_presence(source, presence_of(source, call.argument), over)
            present[name] = hold(presence, held.get(name, False))
            form = expressions.affine(call.argument)
            if form is not None and form[0] in source.units:
                units[name] = map_history(fold_units(source, form[0], over), _through(function, form[1]))
        universe: dict[str, Domain] = {n: source.universe[n] for n in self.by if n in source.universe}
        return Facts(types, universe, present, units, fold_closed(source, over))

    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        (source,) = inputs
        return Signature(
            foundation=self.by, accumulate=tuple(name for name in source.types if name not in self.by)
        )

    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        if attribute in self.by:
            if kind == "drop":
                return Reaction("aborts", "A3")
            return self._carried(kind, "A2" if kind == "add" else "A4", (attribute,), mentions)
        if self.function is not None:
            users = {} if attribute in self.excepts else {attribute: self.function}
        else:
            users = {n: c.function for n, c in self.calls.items() if attribute in c.reads}
        if not users:
            return Reaction("ignored", "A1")
        if kind != "alter":
            carried_on = tuple(n for n, f in users.items() if f != "count")
            return self._carried(kind, "A2" if kind == "add" else "A3", carried_on, mentions)
        carried_on = tuple(n for n, f in users.items() if FUNCTIONS[f].carry(IDENTITY) is not None)
        return self._carried(kind, "A4", carried_on, mentions)

    def _carried(self, kind: Kind, rule: str, passes: tuple[str, ...], mentions: frozenset[str]) -> Reaction:
        if not passes:
            return Reaction("absorbed", "2.8")
        kept = mentions & frozenset(self.by)
        if mentions <= kept:
            return Reaction("propagates", rule, passes, kept)
        return Reaction("accumulates", rule, passes, kept)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        group = ", ".join(self.by) or "everything"
        return Invariants(f"rows of closed groups ({group})", f"closed {group}", f"groups closed on {group}")

    def parameters(self) -> dict[str, object]:
        if self.function is not None:
            return {"by": list(self.by), "all but": list(self.excepts), "function": self.function}
        return {"by": list(self.by), "calls": [f"{call} as {name}" for name, call in self.calls.items()]}

    def arguments(self) -> dict[str, str]:
        if self.function is not None:
            given: dict[str, object] = {"by": self.by, "function": self.function, "excepts": self.excepts}
        else:
            given = {"by": self.by, "calls": {name: str(call) for name, call in self.calls.items()}}
        return {key: repr(value) for key, value in given.items()}

    def code(self, inputs: tuple[str, ...]) -> str:
        if self.function is not None:
            rest = f"all_but={list(self.excepts)!r}, function={self.function!r}"
        else:
            rest = f"calls={ {name: str(call) for name, call in self.calls.items()}!r}"
        return f"e.aggregate({self.name!r}, {inputs[0]}, by={list(self.by)!r}, {rest})"


def _through(function: Function, argument: Affine) -> Callable[[Affine], Affine]:
    """An Alter of the attribute as one of the result; the identity where it is absorbed (theory 2.8)."""
    onto_argument = carried(argument)

    def carry(alter: Affine) -> Affine:
        return function.carry(onto_argument(alter)) or IDENTITY

    return carry
