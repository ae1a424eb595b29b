"""Window W: tags each tuple with the windows that it falls into (paper, section 4; theory W1 to W5, G24 to G28)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler import regions
from cedilla.compiler.evolution import ABSENT, COMMON, MOST, NO_FEEDER, Facts
from cedilla.compiler.operators.base import (
    Held,
    Invariants,
    Kind,
    Operator,
    Reaction,
    Signature,
    fail,
    require_axis,
    taken,
    windowed,
)
from cedilla.compiler.regions import ANYTHING, UNION, Box, Domain, Operation, Tree
from cedilla.compiler.schemes import Memory, Schemes
from cedilla.compiler.steps import Extents
from cedilla.compiler.types import LONG, Type
from cedilla.grammar.diagnostics import Diagnostic


@frozen(kw_only=True)
class Window(Operator):
    """`window[length every step on attribute as alias](input)`.

    The alias is the whole number k of the window [k·step, k·step + length) on the attribute's axis, which for
    timestamps counts microseconds since 1970-01-01 UTC. Tumbling when step = length, else a tuple gets a copy
    per window. Length and step are in units of the axis (microseconds for timestamps).
    """

    length: Fraction = field(converter=Fraction)
    step: Fraction = field(converter=Fraction)
    on: str
    alias: str
    title: ClassVar[str] = "Window"

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        require_axis(self.on, self.alias, source, self.span, "window")
        if self.step <= 0 or self.length < self.step:
            raise fail(
                "RQ105",
                "a window requires 0 < step <= length",
                self.span,
                "a step above the length would lose the tuples in between" if self.step > 0 else None,
            )
        return []

    def facts(self, inputs: tuple[Facts, ...], held: Held = {}) -> Facts:  # noqa: B006
        (source,) = inputs
        whole = source.universe.get(self.on, ANYTHING).integral
        closed = regions.complement(self._up(regions.complement(source.closed), UNION, False, whole))
        present = {name: self._presence(name, source, closed, whole) for name in source.types}
        return Facts(
            {**source.types, self.alias: LONG},
            {**source.universe, self.alias: Domain(regions.defined(self.alias), True)},
            {**present, self.alias: present[self.on]},
            # W3: what was said of the window's own attribute ends here, it leaves in canonical values (G27).
            {n: self._units(n, source, whole) for n in source.units if n != self.on},
            # Patterns on the attribute itself stay; a window closes when its whole extent is (theory 1.3).
            regions.union(source.closed, closed),
            source.lacking,
        )

    def _presence(self, name: str, source: Facts, closed: Tree, whole: bool) -> Tree:
        """As in `fold_presence`: a window that is closed stays as it was last."""
        tree = source.present[name]
        if not self._tells_apart(tree):
            return tree
        last = self._up(tree, MOST, ABSENT, whole)
        return regions.choose(closed, last, self._up(source.live_presence(name), MOST, ABSENT, whole))

    def _units(self, name: str, source: Facts, whole: bool) -> Tree:
        """The same for all of a window's extent, if times do not tell them apart."""
        tree = source.units[name]
        return (
            self._up(source.live_units(name), COMMON, NO_FEEDER, whole) if self._tells_apart(tree) else tree
        )

    def _tells_apart(self, tree: Tree) -> bool:
        return self.on in regions.attributes(tree)

    def _up(self, tree: Tree, operation: Operation, start: Tree, whole: bool) -> Tree:
        """The outer image: what holds of some tuple in a window's extent holds of the window (G25, D1).

        `whole`: the attribute takes whole numbers only.
        """
        if not self._tells_apart(tree):
            return tree
        return regions.reshape(tree, lambda box: self._image(box, whole), operation, start)

    def _image(self, box: dict[str, Tree], whole: bool) -> Iterator[Box]:
        rest = {name: members for name, members in box.items() if name != self.on}
        members = box.get(self.on, True)
        if members is True:
            yield rest
        else:
            extents = Extents(self.length, self.step)
            yield {**rest, self.alias: extents.image(members, self.alias, whole)}

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        return taken(self.alias, inputs)

    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        return Signature(foundation=(self.on,))

    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        return windowed(kind, attribute, mentions, self.on, self.alias, (), "W5")

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        return Invariants(
            "every tuple", f"{self.on}; {self.alias} once its whole extent is closed", "stateless"
        )

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        windows = (scheme - {self.on} | {self.alias} for scheme in promised[0] if self.on in scheme)
        return promised[0] | frozenset(windows)

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        what = f"accents described by {self.on}, in the windows that they divide"
        return (Memory(what=what, side=0, within=frozenset(inputs[0].types), accents=True),)

    def parameters(self) -> dict[str, object]:
        shape = "tumbling" if self.step == self.length else f"every {self._axis(self.step)}, sliding"
        return {"on": self.on, "as": self.alias, "length": self._axis(self.length), "shape": shape}

    def arguments(self) -> dict[str, str]:
        given = {"length": self.length, "step": self.step}
        written = {k: str(v) if v.denominator == 1 else repr(str(v)) for k, v in given.items()}
        return {**written, "on": repr(self.on), "alias": repr(self.alias), "on_type": repr(str(self.on_type))}

    on_type: Type = field(default=LONG, converter=lambda t: Type.parse(t) if isinstance(t, str) else t)

    def _axis(self, value: Fraction) -> str:
        return str(value) if self.on_type.name != "timestamp" else f"{value / 1_000_000} seconds"

    def code(self, inputs: tuple[str, ...]) -> str:
        lengths = [self.length] if self.length == self.step else [self.length, self.step]
        written = (str(v) if v.denominator == 1 else repr(str(v)) for v in lengths)
        return f"e.window({inputs[0]}, {self.on!r}, {self.alias!r}, {', '.join(written)})"
