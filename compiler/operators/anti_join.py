"""Anti join ▷: the left tuples that meet no right tuple (theory 1.3, G42)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import Memory
from cedilla.compiler.operators.join import Filtering
from cedilla.compiler.operators.shared.base import Invariants, Kept
from cedilla.compiler.regions import Tree
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class AntiJoin(Filtering):
    """`left anti join right on pairs`: each left tuple once, when no right tuple can have its key any more.

    A tuple that lacks a join attribute meets nothing and passes at once. State: the left tuples without a
    match that a later right tuple may meet, and the right keys that a later left tuple may have.
    """

    decided_by_tuples: ClassVar[bool] = True
    state: ClassVar[Kept] = Kept(
        "tuples that wait in it are forgotten",
        wrong="tuples would pass that have met a right one",
        decisive=(1,),
        apart=(1,),
    )

    def without_partner(self, side: int) -> str:
        return "pass as those that it does not have" if side == 1 else super().without_partner(side)

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return self.purge(inputs)[0]

    def waiting_state(self, side: int) -> str:
        return f"{self.name}.left"

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        left, right = super().memory(inputs)
        return evolve(left, output=True), right

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        left, right = self.inputs
        return self._invariants(
            f"each tuple of `{left}` without a match, once `{right}` has closed its {', '.join(self.keys(1))}",
        )
