"""Semi join ⋉: the left tuples that meet a right tuple (theory 1.3, G42)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.operators.join import Filtering
from cedilla.compiler.operators.shared.base import Invariants, Kept
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class SemiJoin(Filtering):
    """`left semi join right on pairs`: each left tuple once, as soon as the right has a tuple of its key.

    State: the left tuples without a match that a later right tuple may meet, and the right keys that a later
    left tuple may have.
    """

    decided_by_tuples: ClassVar[bool] = True
    state: ClassVar[Kept] = Kept("tuples that wait in it are forgotten", apart=(1,))

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        facts = super().facts(inputs, state)
        met = {name: domain for name, domain in self.met(inputs).items() if name in self.keys(0)}
        return evolve(facts, universe={**facts.universe, **met})

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return self._invariants(f"each tuple of `{self.inputs[0]}` at its first match")
