"""Sort τ: tuples in the order of their keys, over all epochs (theory 1.3, E2 to E5, 3.2, G42)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.facts.arrival import Arrival, Order
from cedilla.compiler.facts.facts import NO_STATE, Facts, StateFacts, fold_closed
from cedilla.compiler.facts.schemes import Memory, Schemes, both, folded_onto, ordered
from cedilla.compiler.operators.shared.base import Invariants, Kept, Operator, Rules, always, require
from cedilla.compiler.operators.shared.orders import Key
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions import ANYTHING, Domain, Tree, Universe
from cedilla.compiler.regions.spans import spans
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Sort(Operator):
    """`sort[a, b desc](input)`. `keys`: pairs (attribute, descending); ties in order of arrival.

    `settled`: the input's tuples do not come in order. So ties wait for each other, and are ordered by their
    places, if they have any, and by their values. The pass `order` sets it.

    State: the tuples before which another may still come, in canonical values, because these are compared.
    """

    keys: tuple[Key, ...] = field(converter=lambda keys: tuple(tuple(k) for k in keys))
    settled: bool = False
    rules: ClassVar[Rules] = Rules("G42", "G13", "G12", read="3.2", needed="G42")
    state: ClassVar[Kept] = Kept("tuples that wait in it are forgotten", stored="once")

    @property
    def reads_order(self) -> bool:
        return True

    def order(self, inputs: tuple[Arrival, ...]) -> Order:
        return Order.ARRIVAL

    def over(self, inputs: tuple[Arrival, ...]) -> Sort:
        return evolve(self, settled=inputs[0].order is not Order.ARRIVAL)

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require(self.named(0), source, self.span, "sort")
        for name in self.named(0):
            if source.may_be_undefined(name):
                raise failure(
                    "RQ115",
                    f"every tuple needs `{name}` for a sort, and it may be missing",
                    self.span,
                    hint=always(name, source),
                )
        return []

    @property
    def axis(self) -> str:
        return self.keys[0][0]

    def passed(self, inputs: tuple[Facts, ...], output: Facts) -> Tree:
        return self.passable(inputs[0])

    def passable(self, source: Facts) -> Tree:
        """The keys of the tuples that may be written: all that comes strictly before them is closed (E4), and where
        ties have to wait, all that ties with them too (E2)."""
        closed = fold_closed(source, frozenset(source.types).difference(self.named(0)))
        passable = prefix(closed, self.keys, source.universe)
        return regions.intersection(passable, closed) if self.settled else passable

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        # A closed tuple has been written or never comes if its key is passable, or if none waits (theory 1.3; E3, E5).
        passable = regions.intersection(source.closed, self.passable(source))
        return Facts(
            source.types,
            source.universe,
            state.with_retained(source.present),
            source.units,
            regions.union(passable, self.still_vacant(inputs, state)),
            source.lacking,
        )

    def vacancies(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> tuple[Vacancy, ...]:
        (source,), (schemes,) = inputs, promised
        by_key = any(self.axis in scheme for scheme in schemes)
        promises = schemes if by_key else schemes | {frozenset(self.named(0))}
        return tuple(Vacancy.of(0, scheme, source, self.axis) for scheme in ordered(promises))

    def named(self, side: int) -> tuple[str, ...]:
        return tuple(name for name, _ in self.keys)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        keys, others = ", ".join(self.named(0)), "before it or equal to it" if self.settled else "before it"
        return Invariants(
            f"each tuple, in order, once all tuples {others} by {keys} are closed",
            "everything that its input closes, once no tuple of it waits",
            "tuples that it has written",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        return (Memory(what="tuples that others may precede", within=self._leading_below, output=True),)

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        """Returns the schemes of the output: the input closes a region, and all that sorts before it."""
        return both(promised[0], folded_onto(self._leading_below, inputs[0], promised[0]))

    @property
    def _leading_below(self) -> frozenset[str]:
        """The first key, if ascending: punctuation is taken to close it from below upwards (`ts < c`)."""
        name, descending = self.keys[0]
        return frozenset[str]() if descending else frozenset({name})


def prefix(closed: Tree, keys: Sequence[Key], universe: Universe) -> Tree:
    """`{t : every t' strictly before t is in closed}`, a region over the keys; ⊥ comes last (E2, E3, E4).

    `closed` is a region over the keys. Its intersection with the result is the corrected Initial: all up to t,
    t too, is closed.
    """
    if not keys:
        return True
    (name, descending), *rest = keys
    domain = universe.get(name, ANYTHING)
    opened = regions.exists(regions.complement(closed), {k for k, _ in rest}, universe)
    opened = regions.intersection(opened, domain.members)
    if opened is False:
        return True
    before, first = _frontier(opened, name, domain, descending)
    # The next key decides among the tuples with the first open value, if there is one.
    inside = regions.exists(regions.intersection(closed, first), {name}, {})
    return regions.union(before, regions.intersection(first, prefix(inside, rest, universe)))


def _frontier(opened: Tree, name: str, domain: Domain, descending: bool) -> tuple[Tree, Tree]:
    """The values before all open ones, and the set of the first open one, empty where no value is the first."""
    runs = spans(opened, integral=domain.integral)
    if not runs:
        return regions.defined(name), regions.complement(regions.defined(name))
    bound = runs[-1][1] if descending else runs[0][0]
    if bound is None:
        return False, False
    value, after = bound
    if not descending:
        return regions.interval(name, None, bound), False if after else regions.values(name, [value])
    last = [value - 1] if domain.integral else [value] if after else []
    return regions.interval(name, bound, None), regions.values(name, last)
