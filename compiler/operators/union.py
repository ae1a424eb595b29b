"""Union ∪ of two bags; no union compatibility is needed (paper, section 4; theory U1 to U4)."""

from __future__ import annotations

from typing import ClassVar

from cedilla.compiler import regions
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import (
    ABSENT,
    COMMON_HISTORY,
    NO_FEEDER,
    NO_STATE,
    PRESENT_IF_ANY,
    Facts,
    StateFacts,
)
from cedilla.compiler.facts.schemes import Memory, Schemes, both, within
from cedilla.compiler.operators.shared.base import Invariants, Operator, Rules
from cedilla.compiler.operators.shared.equality import check_types, clash, common_types
from cedilla.compiler.regions import ANYTHING, Domain, Level, Tree
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Coordinated(Operator):
    """Both inputs feed every output cell, so each accent is coordinated between them: signature (∅, all, ∅)."""

    rules: ClassVar[Rules] = Rules("U2", "U3", "U4")
    keeps_order: ClassVar[Order] = Order.NONE

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        return merged(inputs)

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute that was added to both inputs with types that no common type holds, or cannot be compared."""
        left, right = inputs
        return clash((left, right))


@lean(kw_only=True)
class Union(Coordinated):
    """`left union right`: every tuple of both."""

    unites: ClassVar[bool] = True

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        left, right = inputs
        check_types((left, right), "union", self.span)
        return []

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            "every tuple of both inputs", "everything that both inputs have closed", "stateless"
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        # A punctuation on an attribute that only one input has closes no tuples of the other.
        left, right = inputs
        common = left.types.keys() & right.types.keys()
        return both(*(within(schemes, common) for schemes in promised))

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        return tuple(
            Memory(
                what=f"accents of `{self.inputs[side]}`",
                side=1 - side,
                within=frozenset(inputs[1 - side].types),
                ends=side,
                accents=True,
            )
            for side in (0, 1)
        )


def merged(inputs: tuple[Facts, ...]) -> Facts:
    """The facts of an output whose every cell is fed by the same cell of both inputs (D1, signature (∅, all, ∅))."""
    left, right = inputs
    types = common_types(inputs)
    closed = regions.intersection(left.closed, right.closed)
    nowhere = [_impossible(left, right), _impossible(right, left)]
    present: dict[str, Tree] = {}
    units: dict[str, Tree] = {}
    for name in types:
        last = regions.combine(
            left.present.get(name, ABSENT), right.present.get(name, ABSENT), PRESENT_IF_ANY
        )
        now = regions.combine(left.live_presence(name), right.live_presence(name), PRESENT_IF_ANY)
        present[name] = regions.choose(closed, last, now)
        if name in left.units or name in right.units:
            a, b = (
                regions.update(f.live_units(name), where, lambda _: NO_FEEDER)
                for f, where in zip(inputs, nowhere, strict=True)
            )
            units[name] = regions.combine(a, b, COMMON_HISTORY)
    return Facts(
        types,
        {name: _either(name, left, right) for name in types},
        present,
        units,
        closed,
        left.lacking | right.lacking | (left.types.keys() ^ right.types.keys()),
    )


def _impossible(facts: Facts, other: Facts) -> Tree:
    """Returns the tuples that only the other input can have, by the declared domains: no cell of them waits for this
    one (D2). A growth of a list makes this input feed them, too (theory N1)."""
    result: Tree = False
    for name in facts.types.keys() & other.types.keys():
        theirs, mine = (f.universe.get(name, ANYTHING).members for f in (other, facts))
        if (more := regions.difference(theirs, mine)) is not False:
            result = regions.union(result, regions.intersection(more, regions.defined(name)))
    return result


def _either(name: str, left: Facts, right: Facts) -> Domain:
    """Returns the values that an attribute can have in the output; ⊥ too if one input lacks it."""
    undefined = Domain(Level(name, True, (), (False,)), True)
    domains = [f.universe.get(name, ANYTHING) if name in f.types else undefined for f in (left, right)]
    names = {domain.listed for domain in domains}
    return Domain(
        regions.union(*(domain.members for domain in domains)),
        all(domain.integral for domain in domains),
        names.pop() if len(names) == 1 else "",
    )
