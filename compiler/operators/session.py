"""Session: tags each tuple with the start of its session, once the session is closed (theory 1.3, G29)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import LONG, Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.facts.facts import (
    ABSENT,
    COMMON_HISTORY,
    NO_FEEDER,
    NO_STATE,
    PRESENT_IF_ANY,
    Facts,
    StateFacts,
    fold_closed,
)
from cedilla.compiler.facts.schemes import Memory, Schemes, ordered
from cedilla.compiler.operators.shared.base import (
    Invariants,
    Kept,
    Operator,
    Rules,
    measured,
    require,
    require_axis,
    taken,
)
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.regions import ANYTHING, POSITION, UNION, Box, Domain, Level, Operation, Tree
from cedilla.compiler.regions.spans import spans
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.syntax.classes import lean


@lean(kw_only=True)
class Session(Operator):
    """`session[gap on attribute per keys as alias](input)`.

    The tuples of a key, in the order of the attribute, are one session as long as each comes less than `gap`
    after the one before. `gap` is in units of the attribute's axis (microseconds for timestamps).
    State: the tuples of open sessions, in canonical values.
    """

    gap: Fraction = field(converter=Fraction)
    on: str
    per: tuple[str, ...] = field(default=(), converter=tuple)
    alias: str
    on_type: Type = LONG
    rules: ClassVar[Rules] = Rules("W1", "W2", "W4", absorbed="W3", needed="W2", moved="G29")
    keeps_order: ClassVar[Order] = Order.PLACED
    state: ClassVar[Kept] = Kept("sessions that are open then lack the tuples read before", stored="once")

    @property
    def axis(self) -> str:
        return self.on

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        (source,) = inputs
        return {**source, **({self.alias: source[self.on]} if self.on in source else {})}

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require_axis(self.on, (self.alias,), source, self.span, "session")
        require(self.per, source, self.span, "`per`")
        if self.on in self.per:
            hint = f"`per` names whose sessions they are: `session[5 minutes on {self.on} per user as s](R)`"
            message = f"`{self.on}` is the session's attribute and in `per`"
            raise failure("RQ104", message, self.span, hint=hint)
        if self.gap <= 0:
            raise failure("RQ105", "a session requires a gap above 0", self.span, hint="as in `5 minutes`")
        return []

    # --- which sessions are closed ---

    def closed_times(self, source: Facts) -> Tree:
        """A tree over `per` whose leaves are the runs of times at which no tuple of the key comes any more.

        Times that the domain excludes count as closed.
        """
        keys = frozenset(self.per)
        folded = fold_closed(source, frozenset(source.types) - keys - {self.on})
        domain = source.universe.get(self.on, ANYTHING)
        never = regions.complement(domain.members)
        moved = regions.union(*(self._time_last(tree) for tree in (folded, never)))

        def runs(tree: Tree) -> Tree:
            if isinstance(tree, Level) and tree.attribute != POSITION:
                return regions.map_children(tree, runs)
            return spans(tree, integral=domain.integral)

        return runs(moved)

    def _time_last(self, tree: Tree) -> Tree:
        """The time as the last level of a tree, by the name of the pseudo-attribute that is always last."""
        if self.on not in regions.attributes(tree):
            return tree

        def image(box: dict[str, Tree]) -> Iterator[Box]:
            times = regions.renamed(box.get(self.on, True), POSITION)
            yield {n: members for n, members in box.items() if n != self.on} | {POSITION: times}

        return regions.reshape(tree, image, UNION, False)

    def vacancies(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> tuple[Vacancy, ...]:
        """Returns those of tuples, and those of starts of sessions, which have the alias in the place of the times."""
        (source,), (schemes,) = inputs, promised
        if not any(self.on in scheme for scheme in schemes):
            schemes |= {frozenset({self.on, *self.per})}
        tuples = tuple(Vacancy.of(0, scheme, source, self.on) for scheme in ordered(schemes))
        starts = tuple(
            Vacancy(0, tuple(self.alias if name == self.on else name for name in vacancy.names))
            for vacancy in tuples
            if self.on in vacancy.names and {self.on, *self.per}.issuperset(vacancy.names)
        )
        return tuples + starts

    def closed_for(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Tree:
        """Returns the closed tuples, or the starts at which none comes any more.

        A later tuple is in a session that is open now, or comes to one, or begins one. The start of its session is the
        time of a tuple of the key: of one that is still to come, or of the first one of a session that is open.
        """
        if self.alias not in vacancy.names:
            return super().closed_for(vacancy, inputs)
        (source,) = inputs
        return self._as_starts(fold_closed(source, source.types.keys() - {self.on, *self.per}))

    def closable(self, vacancy: Vacancy, inputs: tuple[Facts, ...]) -> Tree:
        if self.alias not in vacancy.names:
            return super().closable(vacancy, inputs)
        (source,) = inputs
        times = {self.on if name == self.alias else name for name in vacancy.names}
        return self._as_starts(fold_closed(source, source.types.keys() - times))

    def _as_starts(self, times: Tree) -> Tree:
        def image(box: dict[str, Tree]) -> Iterator[Box]:
            starts = regions.renamed(box.get(self.on, True), self.alias)
            yield {n: members for n, members in box.items() if n != self.on} | {self.alias: starts}

        return regions.reshape(times, image, UNION, False)

    # --- facts ---

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        domain = source.universe.get(self.on, ANYTHING)
        started = evolve(domain, members=regions.renamed(domain.members, self.alias))
        present = {n: self._presence(n, source, domain) for n in source.present}
        closed_keys = fold_closed(source, frozenset(source.types).difference(self.per))
        return Facts(
            {**source.types, self.alias: source.types[self.on]},
            {**source.universe, self.alias: started},
            {
                **state.with_retained(present),
                self.alias: present[self.on],
            },
            # W3: units of the session's own attribute end here; it leaves in canonical values (G27).
            {
                n: self._up(source.live_units(n), COMMON_HISTORY, NO_FEEDER, domain)
                for n in source.units
                if n != self.on
            },
            regions.union(closed_keys, self.still_vacant(inputs, state)),
            source.lacking,
        )

    def _presence(self, name: str, source: Facts, domain: Domain) -> Tree:
        """As in `fold_presence`: a start that no later tuple can have keeps its last presence."""
        tree = source.present[name]
        if self.on not in regions.attributes(tree):
            return tree
        live = self._up(regions.complement(source.closed), UNION, False, domain)
        last, now = (self._up(p, PRESENT_IF_ANY, ABSENT, domain) for p in (tree, source.live_presence(name)))
        return regions.choose(regions.complement(live), last, now)

    def still_vacant(self, inputs: tuple[Facts, ...], state: StateFacts) -> Tree:
        if state.closed is False:
            return False
        (source,) = inputs
        starts = self._as_starts(fold_closed(source, source.types.keys() - {self.on, *self.per}))
        return regions.intersection(state.closed, regions.union(source.closed, starts))

    def _up(self, tree: Tree, operation: Operation, start: Tree, domain: Domain) -> Tree:
        """Returns a tree over times as a tree over starts: times at or after a start may feed it (D1, G29)."""
        if self.on not in regions.attributes(tree):
            return tree

        def image(box: dict[str, Tree]) -> Iterator[Box]:
            rest = {name: members for name, members in box.items() if name != self.on}
            times = regions.intersection(box.get(self.on, True), domain.members)
            if runs := spans(times, integral=domain.integral):
                last = runs[-1][1]
                yield rest if last is None else {**rest, self.alias: regions.interval(self.alias, None, last)}

        return regions.reshape(tree, image, operation, start)

    # --- description ---

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        return taken((self.alias,), inputs)

    def named(self, side: int) -> tuple[str, ...]:
        return (*self.per, self.on)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        keys = "".join(f"{name}, " for name in self.per)
        return Invariants(
            f"the tuples of a session, once {keys}{self.on} is closed from one gap before it to one gap after it",
            f"everything that its input closes, once no tuple of it waits, and {self.alias} where no session can begin",
            "tuples that it has written",
        )

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        return (Memory(what="tuples of open sessions", within=frozenset({self.on, *self.per}), output=True),)

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        return promised[0] | {
            scheme - {self.on} | {self.alias}
            for scheme in promised[0]
            if self.on in scheme and scheme <= {self.on, *self.per}
        }

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "gap": measured(self.gap, self.on_type)}
