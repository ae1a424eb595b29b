"""One-to-one functions of finitely many values: what a recode makes of codes (theory N3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen
from immutables import Map

from cedilla.compiler.regions.trees import Level, Tree, Value, make_level

Pairs = tuple[tuple[Value, Value], ...]


def _in_order(pairs: Pairs) -> Pairs:
    return tuple(sorted(pairs, key=lambda pair: (isinstance(pair[0], str), pair[0])))


@frozen(cache_hash=True)
class ValueMapping:
    """The function that takes the first value of each pair to the second; it has no other values. Equal codes are equal
    as functions. No code is an identity: the values that it does not name are none of its own."""

    pairs: Pairs = field(converter=_in_order)
    map: Mapping[Value, Value] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "map", dict(self.pairs))

    is_identity = False

    def after(self, first: ValueMapping) -> ValueMapping:
        """The composition `self ∘ first`: `first` is applied first; of the values that both know."""
        return ValueMapping(tuple((a, self.map[b]) for a, b in first.pairs if b in self.map))

    def inverse(self) -> ValueMapping:
        """The function that leads back."""
        return ValueMapping(tuple((b, a) for a, b in self.pairs))

    def with_own(self, values: Iterable[Value]) -> ValueMapping:
        """The code that takes these values to themselves, too, where it stays one to one and says nothing of them."""
        taken = {after for _, after in self.pairs}
        own = tuple((v, v) for v in values if v not in self.map and v not in taken)
        return ValueMapping((*self.pairs, *own)) if own else self


def recoded(node: Level, code: ValueMapping) -> Tree:
    """The image of a level under a code of its attribute: of each value that the code leads to, what is said of the one
    that it comes from, by a list or by a range.

    No tuple has any other value, as long as the domain does not grow by it. Then it is written as it is (theory N1): so
    what is said of a value that the code does not know is said of that value. Where none comes, this is needless; but
    what several conditions say of all codes together is then said of all values, and who knows of no codes, or of no
    such attribute, can tell.
    """
    own = {value: child for value, child in node.points.items() if value not in code.map}
    children = {after: node.at(before) for before, after in code.pairs}
    return make_level(node.attribute, node.undefined, node.cuts, node.pieces, Map({**own, **children}))
