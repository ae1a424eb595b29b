"""Top: the best tuples of each group, passed when the group is closed (theory 1.3, G42)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, field

from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts, fold_closed
from cedilla.compiler.facts.schemes import Memory, Schemes, folded_onto
from cedilla.compiler.operators.shared.base import (
    Invariants,
    Kept,
    Operator,
    Rules,
    closing_groups,
    each,
    require,
)
from cedilla.compiler.operators.shared.orders import Key
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Top(Operator):
    """`top[count by keys per groups](input)`: the first `count` tuples of each group, ties in order of arrival.

    State: of each group that is open, the best `count` tuples of every epoch, in canonical values.
    """

    count: int
    keys: tuple[Key, ...] = field(converter=lambda keys: tuple(tuple(k) for k in keys))
    per: tuple[str, ...] = field(default=(), converter=tuple)
    rules: ClassVar[Rules] = Rules("G42", "G13", "G12", read="3.2", needed="G42")
    keeps_order: ClassVar[Order] = Order.PLACED
    acts_on_output: ClassVar[bool] = True
    state: ClassVar[Kept] = Kept("groups that are open then lack the tuples read before", stored="parts")

    @property
    def reads_order(self) -> bool:
        return True

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require((name for name, _ in self.keys), source, self.span, "top")
        require(self.per, source, self.span, "`per`")
        return []

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        return evolve(
            source,
            present=state.with_retained(source.present),
            # A closed tuple of an open group may be among the best when the group closes.
            closed=fold_closed(source, frozenset(source.types).difference(self.per)),
        )

    def is_in_each(self, name: str) -> bool:
        return False

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return output.closed

    def named(self, side: int) -> tuple[str, ...]:
        return (*self.per, *(name for name, _ in self.keys))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        group = each(self.per)
        return Invariants(
            f"the best {self.count} of {group}, once closed", closing_groups(self.per), f"{group} once closed"
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        per = frozenset(self.per)
        return (Memory(what="the best of open groups", within=per, one_per=per, output=True),)

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return folded_onto(frozenset(self.per), inputs[0], promised[0])
