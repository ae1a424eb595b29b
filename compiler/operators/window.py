"""Window W: tags each tuple with the windows that it falls into (paper, section 4; theory W1 to W5, G24 to G28)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf
from typing import Any, ClassVar

from attrs import Factory, evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions.calendars import Boundary, Calendar
from cedilla.compiler.expressions.step_functions import Extents
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.facts import (
    ABSENT,
    COMMON_HISTORY,
    NO_FEEDER,
    NO_STATE,
    PRESENT_IF_ANY,
    Facts,
    StateFacts,
)
from cedilla.compiler.facts.schemes import Memory, Schemes
from cedilla.compiler.operators.shared.base import (
    Invariants,
    Operator,
    Rules,
    measured,
    require_axis,
    taken,
)
from cedilla.compiler.regions import ANYTHING, UNION, Box, Domain, Operation, Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.grammar.syntax.classes import lean


def bounds_of(
    names: tuple[str, str], length: Fraction, step: Fraction, calendar: Calendar | None = None
) -> dict[str, Affine | Boundary]:
    """The names of the bounds of window k, each with the bound as a function of k."""
    begin, end = names
    if calendar is not None:
        return {begin: Boundary(calendar, 0), end: Boundary(calendar, 1)}
    return {begin: Affine(step, 0), end: Affine(step, length)}


@lean(kw_only=True)
class Window(Operator):
    """`window[length every step on attribute as alias](input)`.

    The alias is the whole number k of the window [k·step, k·step + length) on the attribute's axis, which for
    timestamps counts microseconds since 1970-01-01 UTC; two aliases are for the bounds of the window. Tumbling
    when step = length, else a tuple gets a copy per window. Length and step are in units of the axis
    (microseconds for timestamps). With a `calendar`, window k is its period k, and the length is only about that of
    one.
    """

    length: Fraction = field(converter=Fraction)
    step: Fraction = field(converter=Fraction, default=Factory(lambda self: self.length, takes_self=True))
    on: str
    alias: str | tuple[str, str]
    on_type: Type = LONG
    calendar: Calendar | None = None
    rules: ClassVar[Rules] = Rules("W1", "W2", "W4", absorbed="W3", needed="W2", moved="W5")

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that tell windows apart; descriptions name the first."""
        return (self.alias,) if isinstance(self.alias, str) else self.alias

    @property
    def bounds(self) -> dict[str, Affine | Boundary]:
        """The bounds by their names; none where the alias is the window's number."""
        return (
            {}
            if isinstance(self.alias, str)
            else bounds_of(self.alias, self.length, self.step, self.calendar)
        )

    @property
    def axis(self) -> str:
        return self.on

    @property
    def zone(self) -> str | None:
        return None if self.calendar is None else self.calendar.zone

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        (source,) = inputs
        unit = source.get(self.on)
        return {**source, **({} if unit is None else dict.fromkeys(self.bounds, unit))}

    @property
    def gives(self) -> Type:
        """The type of what tells windows apart."""
        if isinstance(self.alias, str) or self.on_type.name == "int":
            return LONG
        return DOUBLE if self.on_type.name == "decimal" else self.on_type

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require_axis(self.on, self.names, source, self.span, "window")
        if len(set(self.names)) < len(self.names):
            hint = "the start and the end have names of their own: `as [began, ended]`"
            raise failure("RQ104", f"`{self.names[0]}` is the name of both bounds", self.span, hint=hint)
        if self.step <= 0 or self.length < self.step:
            raise self._without_windows()
        whole = Affine(self.step, self.length).is_whole and self.length < 2**63
        if self.bounds and self.gives.is_integral and not whole:
            message = (
                f"the bounds of windows on `{self.on}`, {self.on_type}, would not be whole numbers of 64 bits"
            )
            hint = "take a whole length and step, or the number of the window: `as name`"
            raise failure("RQ105", message, self.span, hint=hint)
        return []

    def _without_windows(self) -> DiagnosticError:
        """Returns RQ105 for a step that is not above 0, or above the length."""
        if self.step <= 0:
            hint = "as in `window[5 minutes on at as w](R)`"
            return failure(
                "RQ105", "the length and the step of a window must be above 0", self.span, hint=hint
            )
        step, length = (measured(value, self.on_type) for value in (self.step, self.length))
        message = (
            f"the step ({step}) is larger than the window ({length}), so tuples between windows would be lost"
        )
        hint = "the length comes first: `window[5 minutes every 1 minute on at as w](R)`"
        return failure("RQ105", message, self.span, hint=hint)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        domain = source.universe.get(self.on, ANYTHING)
        closed, *others = (self._closed(source.closed, name, domain) for name in self.names)
        present = {name: self._presence(name, source, closed, domain) for name in source.types}
        return Facts(
            {**source.types, **dict.fromkeys(self.names, self.gives)},
            {
                **source.universe,
                **{name: Domain(self._values(name, domain), self.gives.is_integral) for name in self.names},
            },
            {**present, **dict.fromkeys(self.names, present[self.on])},
            # W3: units of the window's own attribute end here; it leaves in canonical values (G27).
            {n: self._units(n, source, domain) for n in source.units if n != self.on},
            # Patterns on the attribute itself stay; a window closes when its whole extent is (theory 1.3).
            regions.union(source.closed, closed, *others),
            source.lacking,
        )

    def _closed(self, closed: Tree, name: str, domain: Domain) -> Tree:
        """Returns the windows without open tuples, by one of their names: the inner image."""
        # A list may grow by a value of a window that has none so far (theory N1).
        domain = evolve(domain, members=True) if domain.is_list else domain
        return regions.complement(self._up(regions.complement(closed), UNION, False, domain, name))

    def _presence(self, name: str, source: Facts, closed: Tree, domain: Domain) -> Tree:
        """As in `fold_presence`: a closed window keeps its last presence."""
        tree = source.present[name]
        if not self._tells_apart(tree):
            return tree
        last = self._up(tree, PRESENT_IF_ANY, ABSENT, domain)
        return regions.choose(
            closed, last, self._up(source.live_presence(name), PRESENT_IF_ANY, ABSENT, domain)
        )

    def _units(self, name: str, source: Facts, domain: Domain) -> Tree:
        """The same for all of a window's extent, if times do not tell them apart."""
        tree = source.units[name]
        return (
            self._up(source.live_units(name), COMMON_HISTORY, NO_FEEDER, domain)
            if self._tells_apart(tree)
            else tree
        )

    def _tells_apart(self, tree: Tree) -> bool:
        return self.on in regions.attributes(tree)

    def _up(
        self, tree: Tree, operation: Operation, start: Tree, domain: Domain, name: str | None = None
    ) -> Tree:
        """The outer image: what holds of some tuple in a window's extent holds of the window (G25, D1).

        `domain`: the values that the attribute can have; others are in no tuple. `name`: which name of the window tells
        so, the first by default.
        """
        if not self._tells_apart(tree):
            return tree
        target = name or self.names[0]

        def image(box: dict[str, Tree]) -> Iterator[Box]:
            return self._image(box, domain, target)

        return regions.reshape_values(tree, self.on, image, operation, start)

    def _image(self, box: dict[str, Tree], domain: Domain, name: str) -> Iterator[Box]:
        rest = {name: members for name, members in box.items() if name != self.on}
        members, whole = box.get(self.on, True), domain.integral
        if members is True:
            yield rest
        elif (members := domain.possible(members, self.on)) is not False:
            numbers = (self.calendar or Extents(self.length, self.step)).image(members, name, whole)
            values = self._bounded(numbers, name)
            if self._may_have_no_number(whole) and regions.intersection(members, self._far()) is not False:
                values = regions.union(values, regions.complement(regions.defined(name)))
            yield {**rest, name: values}

    def _bounded(self, numbers: Tree, name: str) -> Tree:
        """Numbers of windows as values of one of the window's names.

        A value between two bounds belongs to one of them, so that neighbouring windows make one range: to the
        `begin` before, and to the `end` after.
        """
        if name not in self.bounds or not isinstance(numbers, regions.Level):
            return numbers
        bound, is_end = self.bounds[name], name == self.names[-1]
        cuts = [(max(bound(number - is_end), self._least), int(is_end)) for number, _ in numbers.cuts]
        return regions.make_level(name, numbers.undefined, cuts, numbers.pieces)

    @property
    def _least(self) -> float:
        """The least value that a marker can name."""
        return -inf if self.gives.first is None else self.gives.first

    def _values(self, name: str, domain: Domain) -> Tree:
        """The values that one of the window's names can have."""
        if domain.members is not True and not domain.is_list:
            return self._up(domain.members, UNION, False, domain, name)
        return True if self._may_have_no_number(domain.integral) else regions.defined(name)

    def _may_have_no_number(self, whole: bool) -> bool:
        """Returns True if a window's number may have more than 64 bits, or its time be in no year of a calendar: it is
        then undefined."""
        return self.calendar is not None or not whole or self.step < 1

    def _far(self) -> Tree:
        """Returns a region around the values with such numbers."""
        if self.calendar is not None:
            return self.calendar.outside(self.on)
        far = self.step * 2**62
        low, high = regions.interval(self.on, None, (-far, 0)), regions.interval(self.on, (far, 0), None)
        return regions.union(low, high)

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        return taken(self.names, inputs)

    def named(self, side: int) -> tuple[str, ...]:
        return (self.on,)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            "each tuple, once for every window that it is in",
            f"everything that its input closes, and {', '.join(self.names)} once all of the window is closed",
            "stateless",
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        closing = [scheme - {self.on} for scheme in promised[0] if self.on in scheme]
        return promised[0] | frozenset(rest | {name} for rest in closing for name in self.names)

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        what = f"accents for some {self.on} in the middle of a window"
        return (Memory(what=what, side=0, within=frozenset(inputs[0].types), accents=True),)

    def arguments(self) -> dict[str, Any]:
        names = {"as": self.alias if isinstance(self.alias, str) else [*self.alias]}
        if self.calendar is not None:
            return {**self.calendar.arguments(self.on), **names}
        lengths = {"length": measured(self.length, self.on_type)}
        if self.step != self.length:
            lengths["every"] = measured(self.step, self.on_type)
        return {**lengths, "on": self.on, **names}
