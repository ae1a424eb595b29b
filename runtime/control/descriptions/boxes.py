"""Regions as descriptions: the boxes and the accents that together say a region on the wire (G22, G23, G26)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.markers import Add, Primitive, accent_text
from cedilla.compiler.regions import ANYTHING, Tree, Universe
from cedilla.runtime.control.descriptions.translation import mapped_into, translate

_MANY = 64
"""Above this number of boxes, descriptions are written as they come and not made simpler."""


def accents_of(
    region: Tree,
    facts: Facts,
    scale: Mapping[str, Tree],
    free: Tree,
    primitive: Primitive,
    *,
    outer: bool,
    always: frozenset[str] = frozenset(),
    said_of: Callable[[Tree], Primitive] | None = None,
) -> Iterator[tuple[str, Tree]]:
    """Accents that together describe a region, each with the region that it announces. `always`: the attributes that
    all tuples have; `said_of`: how the primitive is written of a region that is announced."""
    boxes = simple_boxes(region, facts.universe, free)
    if outer:
        boxes = [_possible(box, facts.universe) for box in boxes]
    if outer and (wide := next(filter(_takes_undefined, boxes), None)) is not None:
        # The wire has no words for ⊥, so this one says more: first, and the others leave that out (G26).
        boxes = [wide]
        rest = regions.difference(region, regions.box(_sayable(wide)))
        others = accents_of(rest, facts, scale, free, primitive, outer=outer, always=always, said_of=said_of)
    else:
        others = iter(())
    plain = {n: domain for n, domain in facts.universe.items() if n not in scale}  # domains are canonical
    for box in boxes:
        told = {n: m for n, m in box.items() if m is not True}
        if outer:
            told = _sayable(told)
        else:
            told = {n: regions.intersection(m, regions.defined(n)) for n, m in told.items()}
        # A domain may grow by what no text names (theory N1): it is not announced for that.
        told = {
            n: patterns.possible(n, m, facts.types[n], plain[n]) if n in plain else m for n, m in told.items()
        }
        if any(members is False for members in told.values()):
            continue  # only ⊥ is left: the wire has no words for it
        said = regions.box(told)
        raw = translate(said, scale)
        for name in sorted(always & regions.attributes(raw)):
            raw = regions.intersection(raw, regions.defined(name))
        own = primitive.attribute
        if own in regions.attributes(
            raw
        ):  # it tells in which units the others are, and must not be named (G23)
            if not isinstance(primitive, Add):
                continue
            raw = regions.exists(regions.intersection(raw, regions.defined(own)), {own}, {})
        written = [
            each
            for conditions, inside in regions.boxes(raw)
            if inside is True
            for each in patterns.conjunctions(conditions, facts.types, outer=outer, universe=plain)
        ]
        if not outer and regions.attributes(raw) - told.keys():
            # What tells in which units others are may be undefined, for which the wire has no words: what no text
            # says is not announced.
            said = mapped_into(said, regions.union(*(regions.box(box) for _, box in written)), scale)
        change = primitive if said_of is None else said_of(said)
        for conditions, _ in written:
            yield accent_text(conditions, change), said
    yield from others


def _possible(box: Mapping[str, Any], universe: Universe) -> dict[str, Any]:
    """A box without ⊥ where an attribute is always there."""
    undefined = {n: regions.complement(regions.defined(n)) for n in box}
    always = {
        n
        for n, bottom in undefined.items()
        if not regions.intersection(universe.get(n, ANYTHING).members, bottom)
    }
    return {n: regions.intersection(m, regions.defined(n)) if n in always else m for n, m in box.items()}


def _takes_undefined(box: Mapping[str, Any]) -> bool:
    """Whether ⊥ is one of the values of an attribute that a box restricts."""
    return any(members is not True and members.undefined for members in box.values())


def _sayable(box: Mapping[str, Any]) -> dict[str, Any]:
    """The least box around it that a description can say."""
    return {n: m for n, m in box.items() if m is True or not m.undefined}


def simple_boxes(region: Tree, universe: Universe, free: Tree) -> list[regions.Box]:
    """Disjoint boxes that cover a region; each may grow into `free`, where nothing will ever come."""
    plain = list(_boxes(region))
    if len(plain) > _MANY:
        return list(plain)
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
                if regions.is_empty(regions.difference(regions.box(wider), allowed), universe):
                    box = wider
                    break
        chosen.append(box)
        remaining = regions.difference(remaining, regions.box(box))
    return chosen


def _boxes(region: Tree) -> Iterator[dict[str, Any]]:
    return (box for box, inside in regions.boxes(region) if inside is True)


def _wider(box: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The box without the condition on an attribute, then without one of its bounds."""
    members = box[name]
    yield {n: m for n, m in box.items() if n != name}
    if members is True or members.points or len(members.cuts) != 2 or members.undefined:
        return
    if members.pieces == (False, True, False):
        low, high = members.cuts
        yield {**box, name: regions.interval(name, None, high)}
        yield {**box, name: regions.interval(name, low, None)}
