"""Join ⋈, inner, on equal attributes (paper, section 4; theory J1 to J4, G10 to G14)."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler import regions
from cedilla.compiler.evolution import ABSENT, COMMON, LEAST, MOST, Facts, fold_closed, fold_units, hold
from cedilla.compiler.operators.base import (
    Held,
    Invariants,
    Kind,
    Operator,
    Reaction,
    Signature,
    fail,
    require,
)
from cedilla.compiler.regions import ANYTHING, UNION, Box, Domain, Tree
from cedilla.grammar.diagnostics import Diagnostic

_NOTHING: frozenset[str] = frozenset()


@frozen(kw_only=True)
class Join(Operator):
    """`left join right on pairs`. `on`: pairs (left attribute, right attribute); equal names leave one attribute.

    State: the tuples of each side that a later tuple of the other side may still meet.
    """

    on: tuple[tuple[str, str], ...] = field(converter=lambda pairs: tuple(tuple(p) for p in pairs))
    title: ClassVar[str] = "Join"
    stateful: ClassVar[bool] = True

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        left, right = inputs
        for a, b in self.on:
            require(a, left, self.span, "the left input of the join")
            require(b, right, self.span, "the right input of the join")
            if left.types[a] != right.types[b] and not (
                left.types[a].is_integral and right.types[b].is_integral
            ):
                found = f"`{a}` is {left.types[a]} on the left, `{b}` is {right.types[b]} on the right"
                raise fail("RQ103", f"a join requires equal types: {found}", self.span)
        for name in left.types.keys() & right.types.keys():
            if name not in self._shared():
                raise fail(
                    "RQ107",
                    f"`{name}` comes from both inputs of the join",
                    self.span,
                    "a projection of one input can rename or leave out the attribute (theory J2)",
                )
        return [
            Diagnostic(
                "RQ108",
                "warning",
                f"equality on the floating attribute `{a}`",
                self.span,
                ("values that were altered and altered back may differ in the last digit",),
            )
            for a, _ in self.on
            if left.types[a].name == "double"
        ]

    def _shared(self) -> frozenset[str]:
        return frozenset(a for a, b in self.on if a == b)

    def keys(self, side: int) -> tuple[str, ...]:
        """The join attributes of one input, 0 left and 1 right."""
        return tuple(pair[side] for pair in self.on)

    def facts(self, inputs: tuple[Facts, ...], held: Held = {}) -> Facts:  # noqa: B006
        left, right = inputs
        shared = self._shared()
        own = dict.fromkeys(n for f in inputs for n in f.types if n not in shared)
        # An attribute may have moved from one input to the other: never in both at once (`conflict`).
        present = {
            n: regions.combine(left.present.get(n, ABSENT), right.present.get(n, ABSENT), MOST) for n in own
        }
        present = {n: hold(p, held.get(n, False)) for n, p in present.items()}
        present |= {n: regions.combine(left.present[n], right.present[n], LEAST) for n in shared}
        units = {n: tree for f in inputs for n, tree in f.units.items() if n in own}
        for name in {*left.units, *right.units} & {*shared, *(left.types.keys() & right.types.keys())}:
            over = [self._others(f, side) if name in shared else _NOTHING for side, f in enumerate(inputs)]
            a, b = (fold_units(f, name, dropped) for f, dropped in zip(inputs, over, strict=True))
            units[name] = regions.combine(a, b, COMMON)
        types = {**right.types, **left.types}
        return Facts(
            {n: types[n] for n in (*left.types, *(n for n in right.types if n not in left.types))},
            {**left.universe, **right.universe} | {n: _both(n, left, right) for n in shared},
            present,
            units,
            regions.intersection(
                *(self._by_either_name(f.closed, side) for side, f in enumerate(inputs))
            ),  # J2
        )

    def _by_either_name(self, closed: Tree, side: int) -> Tree:
        """What one input has closed, said of joined tuples: `a = b` holds of them, so either name will do."""
        return regions.union(closed, self._renamed(closed, side))

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute that both inputs have now (J2, G11)."""
        left, right = inputs
        twice = (left.types.keys() & right.types.keys()) - self._shared()
        return next(
            (n for n in twice if left.may_have(n) is not False and right.may_have(n) is not False), None
        )

    def _others(self, facts: Facts, side: int) -> frozenset[str]:
        return frozenset(facts.types) - frozenset(self.keys(side))

    def purge(self, inputs: tuple[Facts, ...]) -> tuple[Tree, Tree]:
        """Regions of left and of right tuples that meet no later tuple (theory 1.3, Keep of Join)."""
        closed = [fold_closed(facts, self._others(facts, side)) for side, facts in enumerate(inputs)]
        return self._renamed(closed[1], 1), self._renamed(closed[0], 0)

    def _renamed(self, tree: Tree, side: int) -> Tree:
        """A region over one input, with its join attributes by the other input's names."""
        if all(a == b for a, b in self.on):
            return tree
        keys = self.keys(side)

        def image(box: dict[str, Tree]) -> list[Box]:
            moved = {name: members for name, members in box.items() if name not in keys}
            for name, theirs in zip(keys, self.keys(1 - side), strict=True):
                members = regions.renamed(box.get(name, True), theirs)
                moved[theirs] = regions.intersection(moved.get(theirs, True), members)
            return [moved]

        return regions.reshape(tree, image, UNION, False)

    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        names = tuple(dict.fromkeys(name for pair in self.on for name in pair))
        return Signature(foundation=names, merge=names)

    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        if kind == "drop" and attribute in self.keys(side):
            return Reaction("aborts", "J3")
        if attribute in self._shared():  # else each input's attribute goes its own way (D1)
            return Reaction("coordinates", "J1", (attribute,), mentions & frozenset(self.keys(side)))
        if kind == "add":
            other = inputs[1 - side]
            aborts = attribute in other.types and other.may_have(attribute) is not False
            return Reaction("aborts" if aborts else "propagates", "J2", (attribute,), mentions)
        return Reaction("propagates", "J3" if kind == "drop" else "G12", (attribute,), mentions)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        left, right = (", ".join(self.keys(side)) for side in (0, 1))
        return Invariants(
            "every joined tuple",
            f"what both inputs have closed on {left}",
            f"left tuples once {right} is closed on the right, right tuples once {left} is closed on the left",
        )

    def parameters(self) -> dict[str, object]:
        return {"on": [a if a == b else f"{a} = {b}" for a, b in self.on]}

    def arguments(self) -> dict[str, str]:
        return {"on": repr(self.on)}

    def code(self, inputs: tuple[str, ...]) -> str:
        return f"e.join({self.name!r}, {inputs[0]}, {inputs[1]}, on={list(self.on)!r})"


def _both(name: str, left: Facts, right: Facts) -> Domain:
    """What a join attribute can be: a value that both inputs allow, never ⊥."""
    domains = [facts.universe.get(name, ANYTHING) for facts in (left, right)]
    members = regions.intersection(regions.defined(name), *(domain.members for domain in domains))
    return Domain(members, any(domain.integral for domain in domains))
