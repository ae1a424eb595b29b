"""Intersect ∩: the tuples that both inputs have, as a set or as bags (theory 1.3, 2.2; G36)."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory, Schemes, both, within
from cedilla.compiler.operators.shared.base import Invariants, Kept
from cedilla.compiler.operators.shared.equality import (
    check_types,
    common_types,
    compared,
    floating,
    vacancies,
    vacated,
)
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.operators.union import Coordinated
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Intersect(Coordinated):
    """`left intersect right`: each tuple of both inputs once; with `all`, as often as both inputs have it.

    Accents are coordinated as in a union (U2, U3, U4). State: how often each tuple came on either side and
    passed, until no later tuple can change what passes. A tuple passes with the later of its two parts, so
    nothing is held.
    """

    all: bool = False
    decided_by_tuples: ClassVar[bool] = True
    state: ClassVar[Kept] = Kept("tuples read before are in no result")

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        left, right = inputs
        check_types((left, right), "intersection", self.span)
        return floating((n for n in left.types if n in right.types), common_types(inputs), self.span)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        facts = super().facts(inputs, state)
        return evolve(facts, closed=regions.union(facts.closed, self.still_vacant(inputs, state)))

    def vacancies(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> tuple[Vacancy, ...]:
        return vacancies(inputs, promised, (0, 1))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        propagates = (
            "everything that both inputs have closed, or one of them, if no tuple of it waits for the other"
        )
        if self.all:
            return Invariants(
                "each tuple as often as both inputs have it",
                propagates,
                "tuples that both inputs have equally often, and the surplus of one input once the other has closed it",
            )
        return Invariants(
            "each tuple that both inputs have, once",
            propagates,
            "tuples of one input once the other has closed them, and tuples of both once either has",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        return compared(0, self.inputs, inputs), compared(1, self.inputs, inputs)

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        common = inputs[0].types.keys() & inputs[1].types.keys()
        alone = (vacated(side, inputs, promised) for side in (0, 1))
        return both(*(within(schemes, common) for schemes in promised)).union(*alone)

    def arguments(self) -> dict[str, Any]:
        return {"all": self.all} if self.all else {}
