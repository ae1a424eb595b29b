"""Join ⋈, inner, on equal attributes, and what all joins share (paper, section 4; theory J1 to J4, G10 to G14).

Over 400 lines, as the base of all joins and of semi and anti joins is one subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, ClassVar

from attrs import field

from cedilla.compiler import regions
from cedilla.compiler.expressions.types.decimals import is_exact
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.exact_conversions import have_common_type
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import (
    ABSENT,
    COMMON_HISTORY,
    NO_STATE,
    PRESENT_IF_ALL,
    PRESENT_IF_ANY,
    Facts,
    StateFacts,
    fold_closed,
    fold_live_units,
)
from cedilla.compiler.facts.schemes import (
    Memory,
    Schemes,
    beyond,
    both,
    folded_onto,
    is_finite,
    ordered,
    renamed,
    without_finite,
)
from cedilla.compiler.operators.shared.base import KINDS, Invariants, Kept, Operator, Rules, require
from cedilla.compiler.operators.shared.equality import floating, no_decimal
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions import ANYTHING, UNION, Box, Domain, Tree, Universe
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean

_NOTHING: frozenset[str] = frozenset()


def _as_pairs(pairs: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((left, right) for left, right in pairs)


@lean(kw_only=True)
class Matching(Operator):
    """The common part of all joins. `on`: pairs (left attribute, right attribute) whose values must be equal.

    An undefined value equals nothing, not even another one.
    """

    on: tuple[tuple[str, str], ...] = field(converter=_as_pairs)
    rules: ClassVar[Rules] = Rules("J2", "J3", "G12", needed="J3", absorbed="J4")

    def named(self, side: int) -> tuple[str, ...]:
        return self.keys(side)

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        left, right = inputs
        for a, b in self.on:
            require((a,), left, self.span, "the left input of the join")
            require((b,), right, self.span, "the right input of the join")
            ours, theirs = left.types[a], right.types[b]
            if ours == theirs:
                continue
            difference = f"`{a}` is {ours} on the left, `{b}` is {theirs} on the right"
            if not (is_exact(ours) and is_exact(theirs)):
                hint = f"`extend[{ours.name}({b}) as {b}_key](R)` converts one of them before the join"
                raise failure("RQ103", f"a join requires equal types: {difference}", self.span, hint=hint)
            if not have_common_type(ours, theirs):
                raise no_decimal(f"a join requires a common type: {difference}", (ours, theirs), self.span)
        return floating((a for a, _ in self.on), left.types, self.span)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        return self.on

    def keys(self, side: int) -> tuple[str, ...]:
        """The join attributes of one input, 0 left and 1 right."""
        return tuple(dict.fromkeys(pair[side] for pair in self.on))

    def _others(self, facts: Facts, side: int) -> frozenset[str]:
        return frozenset(facts.types) - frozenset(self.keys(side))

    def purge(self, inputs: tuple[Facts, ...]) -> tuple[Tree, Tree]:
        """Regions of left and of right tuples that meet no later tuple (theory 1.3, Keep of Join)."""
        return self._purged(inputs, 0), self._purged(inputs, 1)

    def released(self, inputs: tuple[Facts, ...]) -> tuple[Tree, Tree]:
        """Returns the regions of left and of right tuples that state forgets.

        As `purge`, except for an input that has ended: its tuples beyond the domain of the other stay, because they
        do not come again, and the domain may grow (theory N1).
        """
        return self._released(inputs, 0), self._released(inputs, 1)

    def _released(self, inputs: tuple[Facts, ...], side: int) -> Tree:
        if inputs[side].closed is not True:
            return self._purged(inputs, side)
        other = inputs[1 - side]
        return self._renamed(fold_closed(other, self._others(other, 1 - side)), 1 - side)

    def _purged(self, inputs: tuple[Facts, ...], side: int) -> Tree:
        mine, other = inputs[side], inputs[1 - side]
        closed = fold_closed(other, self._others(other, 1 - side))
        strange = (self._strange(a, b, mine, other) for a, b in zip(*self._pairs(side), strict=True))
        region = regions.union(self._renamed(closed, 1 - side), *strange)
        return True if regions.covers(region, mine.universe) else region

    @staticmethod
    def _strange(name: str, theirs: str, mine: Facts, other: Facts) -> Tree:
        """The values of a join attribute that no tuple of the other input can have; ⊥ is one."""
        values_there = regions.renamed(_defined(theirs, other), name)
        values = mine.universe.get(name, ANYTHING).members
        return regions.possible_difference(values, values_there, mine.universe)

    def _pairs(self, side: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The join attributes of one input, and those of the other, pair by pair."""
        return tuple(pair[side] for pair in self.on), tuple(pair[1 - side] for pair in self.on)

    def _renamed(self, tree: Tree, side: int) -> Tree:
        """A region over one input, with its join attributes by the other input's names."""
        if all(a == b for a, b in self.on):
            return tree
        keys, others = self._pairs(side)

        def image(box: dict[str, Tree]) -> list[Box]:
            moved = {name: members for name, members in box.items() if name not in keys}
            for name, theirs in zip(keys, others, strict=True):
                members = regions.renamed(box.get(name, True), theirs)
                moved[theirs] = regions.intersection(moved.get(theirs, True), members)
            return [moved]

        return regions.reshape(tree, image, UNION, False)

    def met(self, inputs: tuple[Facts, ...]) -> Universe:
        """Returns the values of the join attributes of two tuples that meet: those that both inputs allow, never ⊥."""
        left, right = inputs
        met: dict[str, Domain] = {}
        for a, b in self.on:
            two = [f.universe.get(n, ANYTHING) for f, n in ((left, a), (right, b))]
            integral, listed = any(type_.integral for type_ in two), two[0].listed or two[1].listed
            for name in (a, b):
                members = (regions.renamed(_defined(n, f), name) for n, f in ((a, left), (b, right)))
                before = met.get(name, ANYTHING)
                met[name] = Domain(
                    regions.intersection(before.members, *members),
                    before.integral or integral,
                    before.listed or listed,
                )
        return met

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        return self.side_memory(0, inputs), self.side_memory(1, inputs)

    def side_memory(self, side: int, inputs: tuple[Facts, ...]) -> Memory:
        """Tuples of one input, until the other has closed their keys.

        Those with a key that no tuple of the other can have are not kept, so a finite domain there holds here too.
        """
        other = inputs[1 - side]
        return Memory(
            what=f"tuples of `{self.inputs[side]}`",
            side=1 - side,
            within=frozenset(self.keys(1 - side)),
            ends=side,
            finite=frozenset(pair[side] for pair in self.on if is_finite(pair[1 - side], other)),
            undefined=False,
        )

    @property
    def vacant_sides(self) -> tuple[int, ...]:
        """The inputs whose vacant regions are closed in the output."""
        return (0,)

    def met_schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Returns the schemes that both inputs close together (J2): of left tuples, those that the left closes, with a
        key that the right closes."""
        right = folded_onto(frozenset(self.keys(1)), inputs[1], promised[1])
        return both(promised[0], renamed(without_finite(right, inputs[1]), {b: a for a, b in self.on}))

    def vacated(self, side: int, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Returns the schemes of one input that are closed once no tuple is kept (J1), and not by both inputs anyway.

        The other input promises to close the keys, so that each kept tuple leaves at some time.
        """
        other, (mine, theirs) = 1 - side, self._pairs(side)
        keys = folded_onto(frozenset(theirs), inputs[other], promised[other])
        met = both(promised[side], renamed(keys, dict(zip(theirs, mine, strict=True))))
        return beyond(promised[side], met) if keys else frozenset()

    def vacancies(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> tuple[Vacancy, ...]:
        return tuple(
            Vacancy.of(side, scheme, inputs[side])
            for side in self.vacant_sides
            for scheme in ordered(self.vacated(side, inputs, promised))
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        alone = (self.vacated(side, inputs, promised) for side in self.vacant_sides)
        return self.met_schemes(inputs, promised).union(*alone)

    def keyless(self, side: int) -> Tree:
        """Returns the tuples of one input that lack a join attribute: they meet nothing."""
        return regions.union(*(regions.complement(regions.defined(name)) for name in self.keys(side)))

    def gone(self, inputs: tuple[Facts, ...], side: int) -> Tree:
        """Returns the region of one input's tuples that no vacant region has to go around: they do not come out
        later."""
        return self.purge(inputs)[side]

    def arguments(self) -> dict[str, Any]:
        return {"on": [a if a == b else f"{a} = {b}" for a, b in self.on]}


def _defined(name: str, facts: Facts) -> Tree:
    return regions.intersection(regions.defined(name), facts.universe.get(name, ANYTHING).members)


def released_too_much(
    was: Operator, now: Operator, side: int, before: Mapping[str, Facts], after: Mapping[str, Facts]
) -> Tree:
    """Returns the tuples of one input that a join has forgotten and that could meet tuples of an edited query, or of a
    wider domain (theory N1); `False` without such tuples."""
    gone = was.released(tuple(before[name] for name in was.inputs))[side]
    gone_now = now.released(tuple(after[name] for name in now.inputs))[side]
    return regions.possible_difference(gone, gone_now, before[was.inputs[side]].universe)


@lean(kw_only=True)
class Join(Matching):
    """`left join right on pairs`: every pair of tuples that agree; equal names leave one attribute.

    State: the tuples of each side that a later tuple of the other side may still meet.
    """

    rules: ClassVar[Rules] = Rules(
        "J2", "J3", "G12", merged=dict.fromkeys(KINDS, "J1"), partial="J1", needed="J3", absorbed="J4"
    )
    state: ClassVar[Kept] = Kept("tuples read before meet none that come later", apart=(0, 1))
    merges: ClassVar[bool] = False

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """With a table it is the stream's; of two streams neither's tuples come first."""
        if not any(source.bounded for source in inputs):
            return Order.NONE
        return inputs[self.leading(inputs)].order

    def leading(self, inputs: tuple[Arrival, ...]) -> int:
        return 0 if inputs[1].bounded else 1

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        warnings = super().check(inputs)
        for name in self._twice(inputs):
            raise failure(
                "RQ107",
                f"both inputs of the join have `{name}`",
                self.span,
                hint=f"join on it, too: `on ..., {name}`; or rename it in one "
                f"input, `rename[{name} as {name}_2](R)`, or leave it out by a `project`",
            )
        return warnings

    def shared(self) -> frozenset[str]:
        """The join attributes that both inputs call by one name."""
        return frozenset(a for a, b in self.on if a == b)

    def _twice(self, inputs: tuple[Facts, ...]) -> Set[str]:
        """Attributes of both inputs that are not joined on, in the left one's order: they have moved from one to the
        other."""
        left, right = inputs
        shared = self.shared()
        return dict.fromkeys(n for n in left.types if n in right.types and n not in shared).keys()

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        """Returns the facts of pairs: closed is what both inputs have closed (J2), and what one has closed and keeps no
        tuple of (J1).

        >>> from attrs import evolve
        >>> from cedilla.compiler.compile import compile_query
        >>> plan = compile_query('''
        ...   stream orders(id: long, item: string) from json "orders" punctuated on id;
        ...   stream payments(id: long, at: long) from json "payments" punctuated on id;
        ...   paid := orders join payments on id;
        ...   emit paid to json "paid";
        ... ''').plan
        >>> paid, before = plan.operator_of["paid"], regions.interval
        >>> orders = evolve(plan.start["orders"], closed=before("id", None, (10, 0)))
        >>> payments = evolve(plan.start["payments"], closed=before("id", None, (7, 0)))
        >>> print(paid.facts((orders, payments)).closed)  # J2
        id < 7: True, else False
        >>> # Order 8 alone is kept until it is paid, so no further pair has another id below 10.
        >>> vacant = paid.vacant(Vacancy(0, ("id",)), (orders, payments), kept=[(8,)])
        >>> print(paid.facts((orders, payments), StateFacts(closed=vacant)).closed)  # J1
        id = 8: False, id < 10: True, else False
        """
        left, right = inputs
        shared = self.shared()
        own = dict.fromkeys(n for f in inputs for n in f.types if n not in shared)
        # An attribute may have moved from one input to the other: never in both at once (`conflict`).
        present = {
            n: regions.combine(left.present.get(n, ABSENT), right.present.get(n, ABSENT), PRESENT_IF_ANY)
            for n in own
        }
        present = state.with_retained(present)
        present |= {n: regions.combine(left.present[n], right.present[n], PRESENT_IF_ALL) for n in shared}
        units = {n: tree for f in inputs for n, tree in f.units.items() if n in own}
        for name in {*left.units, *right.units} & {*shared, *self._twice(inputs)}:
            over = [self._others(f, side) if name in shared else _NOTHING for side, f in enumerate(inputs)]
            a, b = (fold_live_units(f, name, dropped) for f, dropped in zip(inputs, over, strict=True))
            units[name] = regions.combine(a, b, COMMON_HISTORY)
        return Facts(
            {**left.types, **right.types, **left.types},
            {**left.universe, **right.universe, **self._either(inputs), **self.met(inputs)},
            present,
            units,
            regions.union(
                regions.intersection(*(self.output_of(s, inputs, inputs[s].closed) for s in (0, 1))),  # J2
                self.still_vacant(inputs, state),  # J1
            ),
            left.lacking | right.lacking,
        )

    def _either(self, inputs: tuple[Facts, ...]) -> Universe:
        """Returns the values that a moved attribute can have."""
        domains = {n: [f.universe.get(n, ANYTHING) for f in inputs] for n in self._twice(inputs)}
        return {
            n: Domain(regions.union(*(d.members for d in two)), all(d.integral for d in two))
            for n, two in domains.items()
        }

    def output_of(self, side: int, inputs: tuple[Facts, ...], region: Tree) -> Tree:
        """Returns the pairs of a region of one input, by both names of a join attribute: `a = b` holds of pairs, so
        either will do. An attribute that has moved may be undefined in that input."""
        closed = self._closed(inputs, region)
        return regions.union(closed, self._renamed(closed, side))

    def _closed(self, inputs: tuple[Facts, ...], closed: Tree) -> Tree:
        for name in self._twice(inputs) & regions.attributes(closed):
            without = {name: Domain(regions.complement(regions.defined(name)))}
            closed = regions.intersection(closed, regions.forall(closed, {name}, without))
        return closed

    @property
    def vacant_sides(self) -> tuple[int, ...]:
        return (0, 1)

    def gone(self, inputs: tuple[Facts, ...], side: int) -> Tree:
        return regions.union(self.released(inputs)[side], self.keyless(side))

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute that both inputs have now (J2, G11)."""
        left, right = inputs
        both = (
            n for n in self._twice(inputs) if left.may_have(n) is not False and right.may_have(n) is not False
        )
        return next(both, None)

    def met_schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Either name of a key will do."""
        met = both(*promised)
        every = {name: name for facts in inputs for name in facts.types}
        turned = [{**every, **dict(self.on)}, {**every, **{b: a for a, b in self.on}}]
        return met.union(*(renamed(met, other) for other in turned))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        (left, right), names = self.inputs, [", ".join(self.keys(side)) for side in (0, 1)]
        return Invariants(
            "each pair of tuples with equal join attributes",
            "everything that both inputs have closed by the join attributes, or one of them, if no tuple of it is kept",
            f"tuples of `{left}` once `{right}` has closed their {names[1]}, and tuples of `{right}` once `{left}` "
            f"has closed their {names[0]}",
        )


@lean(kw_only=True)
class Filtering(Matching):
    """Semi and anti join: left tuples, each at most once, chosen by whether the right has a tuple of their key.

    Nothing of the right reaches the output: its accents matter only where they would change a key, and keys
    are compared canonically.
    """

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        return dict(inputs[0])

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        """Left tuples wait for the right, unless all of it is there."""
        left, right = inputs
        return left.order if right.bounded else min(left.order, Order.PLACED)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        left, _ = inputs
        return Facts(
            left.types,
            left.universe,
            state.with_retained(left.present),  # closed tuples may still wait
            left.units,
            regions.union(
                regions.intersection(left.closed, self.purge(inputs)[0]), self.still_vacant(inputs, state)
            ),
            left.lacking,
        )

    def output_of(self, side: int, inputs: tuple[Facts, ...], region: Tree) -> Tree:
        return region if side == 0 else False

    def _invariants(self, passes: str) -> Invariants:
        (left, right), names = self.inputs, [", ".join(self.keys(side)) for side in (0, 1)]
        return Invariants(
            passes,
            f"everything that `{left}` has closed, if `{right}` has closed its {names[1]} or no tuple of it is kept",
            f"tuples of `{left}` at their match or once `{right}` has closed their {names[1]}, and values of "
            f"{names[1]} once `{left}` has closed {names[0]}",
        )
