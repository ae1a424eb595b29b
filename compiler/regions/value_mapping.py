"""One-to-one functions on finitely many values: how a recode maps values to codes (theory N3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen
from immutables import Map

from cedilla.compiler.regions.levels import Level, Tree, Value, make_level

Pairs = tuple[tuple[Value, Value], ...]


def _in_order(pairs: Pairs) -> Pairs:
    return tuple(sorted(pairs, key=lambda pair: (isinstance(pair[0], str), pair[0])))


@frozen(cache_hash=True)
class ValueMapping:
    """Maps the first value of each pair to the second; other values have no image.

    Mappings are equal if they are equal functions. No mapping is an identity: values that it does not name
    have no code.
    """

    pairs: Pairs = field(converter=_in_order)
    map: Mapping[Value, Value] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "map", dict(self.pairs))

    is_identity = False

    def after(self, first: ValueMapping) -> ValueMapping:
        """Returns the composition `self ∘ first` on the values that both define; `first` is applied first."""
        return ValueMapping(tuple((a, self.map[b]) for a, b in first.pairs if b in self.map))

    def inverse(self) -> ValueMapping:
        """Returns the inverse function."""
        return ValueMapping(tuple((b, a) for a, b in self.pairs))

    def with_own(self, values: Iterable[Value]) -> ValueMapping:
        """Adds pairs that map these values to themselves, for values that are neither mapped nor taken as a
        code.
        """
        taken = {after for _, after in self.pairs}
        own = tuple((v, v) for v in values if v not in self.map and v not in taken)
        return ValueMapping((*self.pairs, *own)) if own else self


def recoded(node: Level, code: ValueMapping) -> Tree:
    """Returns the image of a level under a value mapping of its attribute.

    The child of each code is the child of the value that it comes from, whether that is a point or in a
    range.

    No tuple has any other value unless the domain grows by it. A new value is written unchanged (theory N1),
    so the child of a value that the mapping does not name stays. This is needless if no such value comes. But
    conditions that all codes share then hold of all values, and readers without the codes or the attribute
    can use them.
    """
    own = {value: child for value, child in node.points.items() if value not in code.map}
    children = {after: node.at(before) for before, after in code.pairs}
    return make_level(node.attribute, node.undefined, node.cuts, node.pieces, Map({**own, **children}))
