"""Converts regions to the boxes and accents that together describe them on the wire (G22, G23, G26)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Change
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.markers import accent_text
from cedilla.compiler.regions import ANYTHING, Tree, Universe
from cedilla.runtime.control.descriptions.translation import mapped_into, translate

_MAX_BOXES = 64
"""Maximum number of boxes that are simplified, and of texts whose regions are distinguished; more boxes are written
unchanged."""
_MAX_WRITTEN = 10_000
"""Maximum number of accents that describe a box: one for each combination of its ranges."""


def accents_of(
    region: Tree,
    facts: Facts,
    scale: Mapping[str, Tree],
    free: Tree,
    primitive: Change,
    *,
    outer: bool,
    always: frozenset[str] = frozenset(),
    without: Tree = False,
    primitive_for: Callable[[Tree], Change] | None = None,
) -> Iterator[tuple[str, Tree]]:
    """Yields accents that together describe a region, each with the region that it announces.

    `always`: the attributes that all tuples have. `free`, `without`: as for `simple_boxes`. `primitive_for`: returns
    the primitive to write for an announced region.

    For example, an output has announced that t of sensor 2 is in °F, and describes tuples by what readers have:

    >>> from cedilla.compiler.expressions.types import DOUBLE, LONG
    >>> from cedilla.compiler.facts.facts import PRESENT
    >>> from cedilla.compiler.changes import Drop
    >>> from cedilla.compiler.regions.affine import IDENTITY, Affine
    >>> names = {"s": LONG, "t": DOUBLE, "h": DOUBLE}
    >>> facts = Facts(names, {}, dict.fromkeys(names, PRESENT))
    >>> scale = {"t": regions.choose(regions.values("s", [2]), Affine("9/5", 32), IDENTITY)}
    >>> hot = regions.interval("t", (30, 1), None)
    >>> for text, announced in accents_of(hot, facts, scale, False, Drop("h"), outer=False):
    ...     print(text, "|", announced)
    [[s != 2, t > 30, -(h)]] | s = 2: False, s defined: (t > 30: True, else False), else False
    [[s = 2, t > 86, -(h)]] | s = 2: (t > 30: True, else False), else False
    """
    boxes = list(simple_boxes(region, facts.universe, free, without))
    if outer:
        boxes = [_possible(box, facts.universe) for box in boxes]
    if outer and (wide := next(filter(_takes_undefined, boxes), None)) is not None:
        # The wire cannot express ⊥. This wider box comes first, and the others exclude it (G26).
        boxes = [wide]
        rest = regions.difference(region, regions.box(_sayable(wide)))
        others = accents_of(
            rest,
            facts,
            scale,
            free,
            primitive,
            outer=outer,
            always=always,
            without=without,
            primitive_for=primitive_for,
        )
    else:
        others = iter(())
    plain = {n: domain for n, domain in facts.universe.items() if n not in scale}  # domains are canonical
    writer = _AccentWriter(facts, scale, plain, primitive, outer, always, primitive_for)
    for box in boxes:
        yield from writer.accents({n: m for n, m in box.items() if m is not True})
    yield from others


@frozen
class _AccentWriter:
    """Writes accents about boxes. `plain`: the domains of attributes that readers see in canonical values; the other
    fields are the arguments of `accents_of`."""

    facts: Facts
    scale: Mapping[str, Tree]
    plain: Universe
    primitive: Change
    outer: bool
    always: frozenset[str]
    primitive_for: Callable[[Tree], Change] | None

    def accents(self, box: Mapping[str, Any]) -> Iterator[tuple[str, Tree]]:
        """Yields the accents about a box, each with the region that it announces."""
        facts, plain = self.facts, self.plain
        if self.outer:
            box = _sayable(box)
        else:
            box = {n: regions.intersection(m, regions.defined(n)) for n, m in box.items()}
        # The domain may grow by values that no text names (theory N1); the announcement does not cover these.
        box = {
            n: patterns.possible(n, m, facts.types[n], plain[n]) if n in plain else m for n, m in box.items()
        }
        if any(members is False for members in box.values()):
            return  # only ⊥ is left, which the wire cannot express
        part = regions.box(box)
        if (raw := self._raw(part)) is None:
            return
        conjunctions = (
            conjunction
            for conditions, inside in regions.boxes(raw)
            if inside is True
            for conjunction in patterns.conjunctions(
                conditions, facts.types, outer=self.outer, universe=plain
            )
        )
        texts = list(islice(conjunctions, _MAX_WRITTEN + 1))
        if len(texts) > _MAX_WRITTEN:
            raise regions.too_many_cases()
        announced = self._announced(part, [regions.box(described) for _, described in texts])
        union = regions.union(*announced)
        change = self.primitive if self.primitive_for is None else self.primitive_for(union)
        for (conditions, _), region in zip(texts, announced, strict=True):
            yield accent_text(conditions, change), region

    def _announced(self, part: Tree, described: Sequence[Tree]) -> list[Tree]:
        """Returns the part of a region that each text announces: an attribute that decides the units of others may be
        undefined, which the wire cannot express."""
        if self.outer:
            return [part] * len(described)
        if len(described) > _MAX_BOXES:
            described = [regions.union(*described)] * len(described)
        return [mapped_into(part, raw, self.scale) for raw in described]

    def _raw(self, part: Tree) -> Tree | None:
        """Returns the values that readers see in a region; `None` if its accent would have to name its own
        attribute, which decides the units of others (G23)."""
        raw = translate(part, self.scale)
        for name in sorted(self.always & regions.attributes(raw)):
            raw = regions.intersection(raw, regions.defined(name))
        own = self.primitive.attribute
        if own not in regions.attributes(raw):
            return raw
        if not isinstance(self.primitive, Add):
            return None
        return regions.exists(regions.intersection(raw, regions.defined(own)), {own}, {})


def _possible(box: Mapping[str, Any], universe: Universe) -> dict[str, Any]:
    """Returns a box without ⊥ for attributes that are always defined."""
    undefined = {n: regions.complement(regions.defined(n)) for n in box}
    always = {
        n
        for n, bottom in undefined.items()
        if not regions.intersection(universe.get(n, ANYTHING).members, bottom)
    }
    return {n: regions.intersection(m, regions.defined(n)) if n in always else m for n, m in box.items()}


def _takes_undefined(box: Mapping[str, Any]) -> bool:
    """Returns True if ⊥ is among the values of an attribute that a box restricts."""
    return any(members is not True and members.undefined for members in box.values())


def _sayable(box: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the smallest box around this one that a description can express."""
    return {n: m for n, m in box.items() if m is True or not m.undefined}


def simple_boxes(
    region: Tree, universe: Universe, free: Tree, without: Tree = False
) -> Iterable[regions.Box]:
    """Returns disjoint boxes that cover a region; each may extend into `free`, where no tuple will come, and beyond the
    domains, but not into `without`: a reader that does not know the domains would refuse another accent there.

    For example, a condition on s is needless once sensor 1 is closed:

    >>> region = regions.box({"s": regions.values("s", [2, 3]), "ts": regions.interval("ts", (60, 0), None)})
    >>> sensors = {"s": regions.Domain(regions.values("s", [1, 2, 3]))}
    >>> for closed in (False, regions.values("s", [1])):
    ...     for box in simple_boxes(region, sensors, closed):
    ...         print(*box.values(), sep=" | ")
    s in {2, 3}: True, else False | ts >= 60: True, else False
    ts >= 60: True, else False
    """
    plain = _boxes(region)
    first = list(islice(plain, _MAX_BOXES + 1))
    if len(first) > _MAX_BOXES:
        return chain(first, plain)
    chosen: list[regions.Box] = []
    remaining = region
    while (start := next(_boxes(remaining), None)) is not None:
        box: dict[str, Any] = start
        if regions.is_empty(regions.box(box), universe):
            remaining = regions.difference(remaining, regions.box(box))
            continue
        allowed = regions.union(remaining, free)
        for name in list(box):
            for wider in _wider(box, name):
                widened = regions.box(wider)
                if regions.is_empty(regions.difference(widened, allowed), universe) and (
                    regions.intersection(widened, without) is False
                ):
                    box = wider
                    break
        chosen.append(box)
        remaining = regions.difference(remaining, regions.box(box))
    return chosen


def _boxes(region: Tree) -> Iterator[dict[str, Any]]:
    return (box for box, inside in regions.boxes(region) if inside is True)


def _wider(box: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yields the box without the condition on an attribute, then without one of its bounds."""
    members = box[name]
    yield {n: m for n, m in box.items() if n != name}
    if members is True or members.points or len(members.cuts) != 2 or members.undefined:
        return
    if members.pieces == (False, True, False):
        low, high = members.cuts
        yield {**box, name: regions.interval(name, None, high)}
        yield {**box, name: regions.interval(name, low, None)}
