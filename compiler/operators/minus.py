"""Difference −: the left tuples that the right input never has, as a set or as bags (theory 1.3, E1, E9, E10)."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory, Schemes, both, within
from cedilla.compiler.operators.shared.base import Invariants, Kept, Operator, Rules
from cedilla.compiler.operators.shared.equality import (
    check_types,
    clash,
    common_types,
    compared,
    floating,
    vacancies,
    vacated,
)
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions import Domain, Tree
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Minus(Operator):
    """`left minus right`: a left tuple once the right input has closed it without having it; with `all`, as
    often as the left has it more than the right.

    The output evolves as the left input does. State: how often each tuple came on either side and passed,
    until no later tuple can change what passes.
    """

    all: bool = False
    rules: ClassVar[Rules] = Rules("G36", "G13", "G36", ignored="G36")
    keeps_order: ClassVar[Order] = Order.NONE
    decided_by_tuples: ClassVar[bool] = True
    state: ClassVar[Kept] = Kept(
        "tuples read before are in no result, and exclude none",
        wrong="tuples would pass that the right input has excluded",
    )

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        left, right = inputs
        check_types((left, right), "difference", self.span)
        return floating((n for n in left.types if n in right.types), common_types(inputs), self.span)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        left, _ = inputs
        return evolve(
            left,
            present=state.with_retained(left.present),
            closed=regions.union(
                regions.intersection(left.closed, self.decided(inputs)), self.still_vacant(inputs, state)
            ),
        )

    def vacancies(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> tuple[Vacancy, ...]:
        return vacancies(inputs, promised, (0,))

    def output_of(self, side: int, inputs: tuple[Facts, ...], region: Tree) -> Tree:
        return region if side == 0 else False

    def decided(self, inputs: tuple[Facts, ...]) -> Tree:
        """The region of left tuples that the right input has closed: they have passed or never will."""
        left, right = inputs
        missing = right.types.keys() - left.types.keys()  # no left tuple is defined on these
        undefined = {n: Domain(regions.complement(regions.defined(n))) for n in missing}
        return regions.exists(right.closed, missing, undefined)

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute that was added to both inputs with types that cannot be compared."""
        left, right = inputs
        return clash((left, right))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        left, right = (f"`{name}`" for name in self.inputs)
        propagates = (
            f"everything that both inputs have closed, or {left} alone, if {right} has decided its tuples"
        )
        if self.all:
            return Invariants(
                f"each tuple as often as {left} has it more than {right}, once {right} has closed it",
                propagates,
                "tuples that both inputs have equally often, and the surplus of one input once the other has closed it",
            )
        return Invariants(
            f"each tuple of {left} that {right} has closed without having it, once",
            propagates,
            f"tuples of {right}, and tuples that it has written, once {left} has closed them",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        passed = Memory(what="tuples that it has written", within=frozenset(inputs[0].types), ends=0)
        return evolve(compared(0, self.inputs, inputs), output=True), compared(1, self.inputs, inputs), passed

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        combined = both(promised[0], within(promised[1], inputs[0].types.keys()))
        return combined | vacated(0, inputs, promised)

    def arguments(self) -> dict[str, Any]:
        return {"all": self.all} if self.all else {}
