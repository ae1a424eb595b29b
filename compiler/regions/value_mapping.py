"""One-to-one functions on finitely many values: how a recode maps values to codes (theory N3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from attrs import field, frozen
from immutables import Map

from cedilla.compiler.regions.function import Function
from cedilla.compiler.regions.levels import Level, Tree, Value, make_level
from cedilla.compiler.regions.trees import difference
from cedilla.compiler.regions.value_sets import defined, values

Pairs = tuple[tuple[Value, Value], ...]


def _in_order(pairs: Pairs) -> Pairs:
    return tuple(sorted(((a, b) for a, b in pairs), key=lambda pair: (isinstance(pair[0], str), pair[0])))


def _sorted(members: Iterable[Value] | None) -> tuple[Value, ...] | None:
    return None if members is None else tuple(sorted(members, key=lambda v: (isinstance(v, str), v)))


@frozen(cache_hash=True)
class ValueMapping(Function):
    """Maps the first value of each pair to the second.

    `left_out`: `None` if other values have no image; else they are mapped to themselves, except for these. The mapping
    stays one to one: a value of pairs is not its own image. No mapping is an identity.
    """

    pairs: Pairs = field(converter=_in_order)
    left_out: tuple[Value, ...] | None = field(default=None, converter=_sorted)
    map: Mapping[Value, Value] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "map", dict(self.pairs))

    name: ClassVar[str] = "code"

    @classmethod
    def else_same(cls, pairs: Pairs) -> ValueMapping:
        """Returns the mapping that leaves other values; a value that is a code of another one has no image."""
        return cls(pairs, {after for _, after in pairs} - {before for before, _ in pairs})

    def takes(self, value: Any) -> bool:
        return self.of(value) is not None

    def of(self, value: Value) -> Value | None:
        """Returns the image of a value, `None` if it has none."""
        if value in self.map:
            return self.map[value]
        return None if self.left_out is None or value in self.left_out else value

    def after(self, first: ValueMapping) -> ValueMapping:
        """Returns the composition `self ∘ first` on the values that both define; `first` is applied first."""
        if first.left_out is None:
            named, left_out = first.map.keys(), None
        elif self.left_out is None:
            back = first.inverse()
            named, left_out = {back.of(value) for value in self.map}, None
        else:
            named = {*first.map, *first.left_out, *self.map, *self.left_out}
            left_out = {value for value in named if self._after(first, value) is None}
        images = {value: self._after(first, value) for value in named if value is not None}
        pairs = tuple((value, image) for value, image in images.items() if image is not None)
        return ValueMapping(pairs, left_out)

    def _after(self, first: ValueMapping, value: Value) -> Value | None:
        image = first.of(value)
        return None if image is None else self.of(image)

    def inverse(self) -> ValueMapping:
        """Returns the inverse function."""
        pairs = tuple((b, a) for a, b in self.pairs)
        if self.left_out is None:
            return ValueMapping(pairs)
        return ValueMapping(pairs, {*self.map, *self.left_out} - {b for _, b in self.pairs})

    def image(self, node: Level, outside: Tree | None) -> Tree:
        """Returns the image of a level. The child of each code is the child of the value that it comes from, whether
        that is a point or in a range.

        No tuple has any other value unless the domain grows by it. A new value is written unchanged (theory N1), so the
        child of a value that the mapping does not name stays. This is needless if no such value comes. But conditions
        that all codes share then hold of all values, and readers without the codes or the attribute can use them.
        """
        own = {value: child for value, child in node.points.items() if value not in self.map}
        children = {after: node.at(before) for before, after in self.pairs}
        return make_level(node.attribute, node.undefined, node.cuts, node.pieces, Map({**own, **children}))

    def with_own(self, members: Iterable[Value]) -> ValueMapping:
        """Maps these values to themselves, unless they have an image or are the image of another value."""
        taken = {after for _, after in self.pairs}
        own = tuple(v for v in members if self.of(v) is None and v not in taken)
        if not own:
            return self
        if self.left_out is None:
            return ValueMapping((*self.pairs, *((v, v) for v in own)))
        return ValueMapping(self.pairs, {*self.left_out}.difference(own))


def mapped_values(attribute: str, code: ValueMapping) -> Tree:
    """Returns the tuples whose value of an attribute has an image."""
    if code.left_out is None:
        return values(attribute, code.map)
    return difference(defined(attribute), values(attribute, code.left_out))
