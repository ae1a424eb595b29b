"""Attributes that have changed places in raw tuples: accents `swap` (theory N11).

The source changes them back before it undoes anything else, so all other maps speak of attributes in their own places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Layer, Swap
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.accents.placed import Placed

Cell = TypeVar("Cell")


@frozen
class Swaps(Placed):
    """The swaps of a source: of two attributes, `"a b"`, the raw tuples where each has the place of the other. Each
    attribute is in one pair."""

    @property
    def partners(self) -> Mapping[str, str]:
        """Maps each attribute of a pair to the other one."""
        return {one: other for pair in map(str.split, self.here) for one, other in (pair, pair[::-1])}

    def of(self, attribute: str) -> Tree:
        """Returns the raw tuples where an attribute is in the place of its partner."""
        return self.here[" ".join(sorted((attribute, self.partners[attribute])))]

    def with_swap(self, swap: Swap, raw: Tree, places: Tree) -> Swaps:
        """Returns the swaps after another one, which takes back an equal one."""

        def turned(tree: Tree, region: Tree) -> Tree:
            return regions.update(tree, region, lambda is_swapped: not is_swapped)

        return self.changed(_pair(swap), False, raw, places, turned)

    def with_functions(self, attribute: str, functions: Tree, places: Tree) -> Swaps:
        """Returns the swaps after functions of an attribute that describes their tuples."""
        return self.carried(attribute, functions, places) if self.here else self

    def back(self, row: Mapping[str, Cell], values: Mapping[str, Any]) -> dict[str, Cell]:
        """Returns a raw tuple with its attributes in their own places. `values`: its values, as in regions.

        >>> swaps = Swaps().with_swap(Swap("lat", "lon"), regions.values("s", [2]), True)
        >>> raw = {"s": 2, "lat": 139.7, "lon": 35.7}
        >>> swaps.back(raw, raw)
        {'s': 2, 'lon': 139.7, 'lat': 35.7}
        >>> swaps.back({**raw, "s": 1}, {**raw, "s": 1})
        {'s': 1, 'lat': 139.7, 'lon': 35.7}
        """
        partners = {
            n: other for pair, (n, other) in self._both() if regions.contains(self.here[pair], values)
        }
        return {partners.get(name, name): value for name, value in row.items()}

    def _both(self) -> Iterator[tuple[str, tuple[str, str]]]:
        for pair in self.here:
            one, other = pair.split()
            yield from ((pair, (one, other)), (pair, (other, one)))

    def region_back(self, raw: Tree) -> Tree:
        """Returns a region of raw tuples after their attributes are in their own places."""
        for pair, swapped in self.here.items():
            one, other = pair.split()
            if regions.attributes(raw) & {one, other} and swapped is not False:
                raw = regions.choose(swapped, _exchanged(raw, one, other), raw)
        return raw


def _pair(swap: Swap) -> str:
    return " ".join(sorted((swap.attribute, swap.other)))


def _exchanged(raw: Tree, one: str, other: str) -> Tree:
    names = {one: other, other: one}

    def image(box: Mapping[str, Tree]) -> list[dict[str, Tree]]:
        return [{names.get(n, n): regions.renamed(values, names.get(n, n)) for n, values in box.items()}]

    return regions.reshape(raw, image, regions.UNION, False)


def check_swap(swaps: Swaps, accent: Accent, swap: Swap, types: Mapping[str, Type]) -> None:
    """Raises `DiagnosticError` RQ240 if two attributes have different types, or are in other swaps."""
    one, other = swap.attribute, swap.other
    if types[one] != types[other]:
        message = f"the accent swaps `{one}` and `{other}`, of types {types[one]} and {types[other]}"
        raise failure("RQ240", message, accent.span, hint="both are declared as `double`, or both alike")
    if any(swaps.partners.get(a, b) != b for a, b in ((one, other), (other, one))):
        message = f"the accent swaps `{one}` and `{other}`, and one of them has another partner"
        raise failure("RQ240", message, accent.span, hint="an attribute changes places with one other only")


def is_swapped(swaps: Swaps, name: str) -> bool:
    """Returns True if an attribute is in the place of another one in some tuples."""
    return name in swaps.partners and swaps.of(name) is not False


def check_swapped(swaps: Swaps, accent: Accent, types: Mapping[str, Type]) -> None:
    """Raises `DiagnosticError` RQ241 for an accent on an attribute that is in another place in some described tuples.

    An Alter of numbers that are not doubles changes their type, so it is refused for all tuples. A rename names the
    place, whatever is in it.
    """
    change, name = accent.primitive, accent.primitive.attribute
    if name not in swaps.partners or change.layer in (Layer.NAME, Layer.PLACE):
        return
    is_swapped = regions.intersection(accent.description, swaps.of(name)) is not False
    gets_doubles = (change.converts or isinstance(change, Add)) and types[name].is_numeric
    if is_swapped or (gets_doubles and types[name] != DOUBLE):
        message = f"`{name}` and `{swaps.partners[name]}` have changed places in some of these tuples"
        hint = "swap them back first, then send the accent and the swap again"
        raise failure("RQ241", message, accent.span, hint=hint)


def check_descriptions(swaps: Swaps, others: frozenset[str], accent: Accent) -> None:
    """Raises `DiagnosticError` RQ241 if swaps depend on attributes that are swapped, or have missing values (`others`),
    after an accent."""
    depends = frozenset[str]().union(*map(regions.attributes, swaps.here.values()))
    if names := sorted(depends & {*swaps.partners, *others}):
        message = f"a swap would depend on `{names[0]}`, which is swapped, or has missing values"
        raise failure(
            "RQ241", message, accent.span, hint="describe the tuples of the swap by another attribute"
        )
