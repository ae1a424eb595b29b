"""Anti join ▷: the left tuples that meet no right tuple (theory 1.3, G42)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, frozen

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import Memory
from cedilla.compiler.operators.base import Invariants
from cedilla.compiler.operators.join import Filtering


@frozen(kw_only=True)
class AntiJoin(Filtering):
    """`left anti join right on pairs`: each left tuple once, when no right tuple can have its key any more.

    A tuple that lacks a join attribute meets nothing and passes at once. State: the left tuples without a
    match that a later right tuple may meet, and the right keys that a later left tuple may have.
    """

    title: ClassVar[str] = "Anti join"
    method: ClassVar[str] = "anti_join"

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        left, right = super().memory(inputs)
        return evolve(left, output=True), right

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        right = ", ".join(self.keys(1))
        return self._invariants(
            f"left tuples without a match once {right} is closed on the right",
            "left tuples at their match or",
        )
