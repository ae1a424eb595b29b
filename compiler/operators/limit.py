"""Limit: the first n tuples to arrive; then everything is closed (theory 1.3)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import ENDS, Schemes
from cedilla.compiler.operators.base import HeldDrops, Invariants, Kind, Operator, Reaction, Signature
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic

OPEN = "$open"
"""What a limit knows from its state, in `HeldDrops`: the region of tuples that may still pass."""


@frozen(kw_only=True)
class Limit(Operator):
    """`limit[count](input)`. State: how many tuples have passed."""

    count: int
    title: ClassVar[str] = "Limit"
    method: ClassVar[str] = "limit"
    stateful: ClassVar[bool] = True
    requires_order: ClassVar[Order] = Order.ARRIVAL

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        return []

    def facts(self, inputs: tuple[Facts, ...], held: HeldDrops = {}) -> Facts:  # noqa: B006
        (source,) = inputs
        still: Tree = held.get(OPEN, self.count > 0)
        return evolve(source, closed=regions.union(source.closed, regions.complement(still)))

    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        return Signature()

    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        return Reaction("propagates", "1.3", (attribute,), mentions)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            f"the first {self.count} tuples",
            f"every punctuation; everything after {self.count}",
            "its count once that is reached",
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return ENDS

    def parameters(self) -> dict[str, object]:
        return {"count": self.count}

    def arguments(self) -> dict[str, str]:
        return {"count": str(self.count)}
