"""Count window: numbers the tuples of each key and tags them with the window that they fall into (theory 1.3)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import NO_STATE, PRESENT, Facts, StateFacts, fold_closed
from cedilla.compiler.facts.schemes import Memory, Scheme
from cedilla.compiler.operators.shared.base import Invariants, Kept, Operator, Rules, require, taken
from cedilla.compiler.regions import Domain, Tree
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class CountWindow(Operator):
    """`window[size rows per keys as alias](input)`: tuple number i of its key, from 0 in order of arrival, gets
    alias = i div size, and passes at once. Without keys, all tuples are of one key.

    State: how many tuples of each key have come.
    """

    size: int
    per: tuple[str, ...] = field(default=(), converter=tuple)
    alias: str
    rules: ClassVar[Rules] = Rules("W1", "W2", "W4", needed="W2")
    state: ClassVar[Kept] = Kept(
        "it counts from 0", wrong="windows that were counted before would come again"
    )
    requires_order: ClassVar[Order] = Order.ARRIVAL

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require(self.per, source, self.span, "`per`")
        if self.alias in source.types:
            message = f"the window's name `{self.alias}` is an attribute already"
            raise failure(
                "RQ104", message, self.span, hint=f"another name, for example `as {self.alias}_window`"
            )
        return []

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        """Each output cell has one feeder, the input cell without the window's name (D1)."""
        (source,) = inputs
        return evolve(
            source,
            types={**source.types, self.alias: LONG},
            universe={**source.universe, self.alias: Domain(regions.defined(self.alias), True)},
            present={**source.present, self.alias: PRESENT},
        )

    def full_at(self, groups: tuple[str, ...]) -> tuple[int, Scheme] | None:
        return (self.size, frozenset(self.per)) if {*self.per, self.alias} <= set(groups) else None

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        return taken((self.alias,), inputs)

    def purge(self, inputs: tuple[Facts, ...]) -> Tree:
        """The region of keys that no later tuple has."""
        (source,) = inputs
        return fold_closed(source, frozenset(source.types) - frozenset(self.per))

    def named(self, side: int) -> tuple[str, ...]:
        return self.per

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        keys = ", ".join(self.per) or "everything"
        return Invariants(
            "every tuple, with the number of its window",
            "everything that its input closes",
            f"counters once {keys} is closed",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        per = frozenset(self.per)
        return (Memory(what="counters", within=per, one_per=per, counts=True),)
