"""Distinct δ: the first of equal tuples, or of tuples with equal keys (theory 1.3, Dup-elim; G36, G42)."""

from __future__ import annotations

from typing import ClassVar

from attrs import field

from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts, fold_closed
from cedilla.compiler.facts.schemes import Memory
from cedilla.compiler.operators.shared.base import Invariants, Kept, Operator, Rules, require
from cedilla.compiler.operators.shared.equality import floating
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Distinct(Operator):
    """`distinct(input)`; `distinct[on](input)` looks at some attributes only and passes the first to arrive.

    State: the tuples, or keys, that have passed and may come again.
    """

    on: tuple[str, ...] = field(default=(), converter=tuple)
    rules: ClassVar[Rules] = Rules("G42", "G42", "G42", needed="G42")
    state: ClassVar[Kept] = Kept(
        "a tuple that passed before passes once more", wrong="tuples would pass that have passed before"
    )
    instead: ClassVar[str] = (
        "`top[1 by a per k](R)` chooses the tuple of each key by its values, `distinct(project[k](R))` passes keys only"
    )

    @property
    def requires_order(self) -> Order:  # type: ignore[override]
        """Of tuples with equal keys the first counts; of equal tuples any will do."""
        return Order.ARRIVAL if self.on else Order.NONE

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """Which of equal tuples comes first is known only where they come in order."""
        return Order.ARRIVAL if inputs[0].order is Order.ARRIVAL else Order.NONE

    def keys(self, source: Facts) -> tuple[str, ...]:
        """The attributes that are compared, over an input as evolved so far."""
        return self.on or tuple(source.types)

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require(self.on, source, self.span, "distinct")
        return floating(self.keys(source), source.types, self.span)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        return source

    def purge(self, inputs: tuple[Facts, ...]) -> Tree:
        """The region of tuples, or keys, that never come again (theory 1.3, Keep of Dup-elim)."""
        (source,) = inputs
        return fold_closed(source, frozenset(source.types) - frozenset(self.keys(source)))

    def named(self, side: int) -> tuple[str, ...]:
        return self.on

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        if not self.on:
            return Invariants(
                "the first of equal tuples", "everything that its input closes", "tuples that are closed"
            )
        keys = ", ".join(self.on)
        return Invariants(
            f"the first tuple of each {keys}",
            "everything that its input closes",
            f"values of {keys} that are closed",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        key = frozenset(self.on or inputs[0].types)
        return (Memory(what="tuples that it has written", within=key, one_per=key),)
