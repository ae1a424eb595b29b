"""Limit: the first n tuples to arrive; then everything is closed (theory 1.3)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import ENDS, Schemes
from cedilla.compiler.operators.shared.base import Invariants, Kept, Operator, Rules
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Limit(Operator):
    """`limit[count](input)`. State: how many tuples have passed."""

    count: int
    rules: ClassVar[Rules] = Rules("1.3", "1.3", "1.3")
    state: ClassVar[Kept] = Kept("it counts from 0", wrong="more tuples would pass than the limit")
    requires_order: ClassVar[Order] = Order.ARRIVAL

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        return []

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        return evolve(source, closed=regions.union(source.closed, state.closed, self.count == 0))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            f"the first {self.count} tuples",
            f"everything that its input closes, and everything after {self.count} tuples",
            "its count once it has reached that number",
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return ENDS
