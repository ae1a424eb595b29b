"""Left outer join ⟕: joined tuples, and left tuples that meet none (theory 1.3, G42)."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts
from cedilla.compiler.facts.schemes import Memory, Schemes
from cedilla.compiler.operators.join import Join, Matching
from cedilla.compiler.operators.shared.base import Invariants, Kept
from cedilla.compiler.regions import ANYTHING, Tree
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class LeftJoin(Join):
    """`left left join right on pairs`: the tuples of the join, and each left tuple that meets none, without the
    right's attributes, when no right tuple can have its key any more.

    State: the join's. Left tuples that have met a right one are stored separately from the others.
    """

    state: ClassVar[Kept] = Kept(
        "tuples that wait in it are forgotten",
        wrong="tuples would pass alone that have met a right one",
        decisive=(1,),
        apart=(0, 1),
    )

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """Left tuples that stay alone have no place among the pairs of a right stream."""
        left, right = inputs
        return left.order if right.bounded else Order.NONE

    def leading(self, inputs: tuple[Arrival, ...]) -> int:
        return 0

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        left, right = inputs
        joined = super().facts(inputs, state)
        optional = [name for name in right.types if name not in left.types]
        alone = {name: left.universe.get(name, ANYTHING) for name in self.keys(0)}
        for name in optional:
            domain = joined.universe.get(name, ANYTHING)
            undefined = regions.complement(regions.defined(name))
            alone[name] = evolve(domain, members=regions.union(domain.members, undefined))
        # A closed left tuple that can meet nothing more does not come, nor do its pairs. Other pairs may be closed;
        # only tuples with an attribute of the right are known to be pairs.
        done = regions.intersection(self._closed(inputs, left.closed), self.purge(inputs)[0])
        paired = regions.union(*(regions.defined(name) for name in optional))
        return evolve(
            joined,
            universe={**joined.universe, **alone},
            present={**joined.present, **{n: left.present[n] for n in self.shared()}},
            closed=regions.union(
                done, regions.intersection(joined.closed, paired), self.still_vacant(inputs, state)
            ),
            lacking=left.lacking | (joined.types.keys() - left.types.keys()),
        )

    @property
    def vacant_sides(self) -> tuple[int, ...]:
        return (0,)

    def met_schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return Matching.met_schemes(self, inputs, promised)

    def gone(self, inputs: tuple[Facts, ...], side: int) -> Tree:
        return Matching.gone(self, inputs, side)

    def without_partner(self, side: int) -> str:
        return "come without its attributes" if side == 1 else super().without_partner(side)

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return self.purge(inputs)[0]

    def waiting_state(self, side: int) -> str:
        return f"{self.name}.waiting"

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        left, right = super().memory(inputs)
        return evolve(left, output=True), right

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        joined = super().invariants(inputs)
        left, right = self.inputs
        return evolve(
            joined,
            passes=f"{joined.passes}, and each tuple of `{left}` without a match once `{right}` has closed its "
            f"{', '.join(self.keys(1))}",
        )
