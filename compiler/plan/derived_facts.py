"""The facts of operators, derived once for equal inputs.

An epoch derives them for its beginning, its end, and what lies between. They change only at markers, so most of
them are those of the epoch before, however many accents are in force.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from cedilla.compiler.facts.facts import Facts, StateFacts
from cedilla.compiler.operators import Operator
from cedilla.compiler.regions import Level, Tree

_KEPT = 8
"""The last results of an operator that are kept: those of two epochs, each with and without what state adds."""

_Derived = tuple[tuple[Facts, ...], StateFacts, Facts]


@define(eq=False)
class DerivedFacts:
    """Derives facts of a plan's operators, and remembers the last ones of each."""

    _last: dict[str, tuple[_Derived, ...]] = field(factory=dict[str, tuple[_Derived, ...]])

    def of(self, operator: Operator, inputs: tuple[Facts, ...], state: StateFacts) -> Facts:
        """Returns the facts of an operator's output: the same object as before if nothing differs."""
        last = self._last.get(operator.name, ())
        for inputs_before, state_before, facts in last:
            if _are_same_state(state, state_before) and all(map(_are_same, inputs, inputs_before)):
                return facts
        facts = operator.facts(inputs, state)
        self._last[operator.name] = (
            (inputs, state, facts),
            *last[: _KEPT - 1],
        )  # another thread may read the old one
        return facts


def _are_same(a: Facts, b: Facts) -> bool:
    return a is b or (
        _is_same(a.closed, b.closed)
        and _are_same_trees(a.units, b.units)
        and _are_same_trees(a.present, b.present)
        and a.types == b.types
        and a.universe == b.universe
        and a.lacking == b.lacking
    )


def _are_same_state(a: StateFacts, b: StateFacts) -> bool:
    return a is b or (_is_same(a.closed, b.closed) and _are_same_trees(a.retained, b.retained))


def _are_same_trees(a: Mapping[str, Tree], b: Mapping[str, Tree]) -> bool:
    return a is b or (a.keys() == b.keys() and all(_is_same(tree, b[name]) for name, tree in a.items()))


def _is_same(a: Tree, b: Tree) -> bool:
    """Returns True for one object, and for equal leaves. Equal trees that are two objects count as different, because
    comparing them may cost more than deriving from them."""
    return a is b or (not isinstance(a, Level) and not isinstance(b, Level) and a == b)
