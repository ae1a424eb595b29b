"""Facts and regions, as the papers write them."""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, PRESENT, Facts
from cedilla.compiler.operators import Union
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.parser import parse_punctuation

TYPES = {"a": Type("string"), "b": Type("long"), "s": Type("long"), "t": Type("long"), "X": Type("long")}
CELSIUS = Affine(Fraction(5, 9), Fraction(-160, 9))


def where(text: str) -> Tree:
    return patterns.region_of(parse_punctuation(f"[{text}]").conditions, TYPES)


def stream(
    *names: str,
    closed: Tree = False,
    present: dict[str, Tree] | None = None,
    units: dict[str, Tree] | None = None,
    domains: dict[str, Tree] | None = None,
    undefined: str = "",
) -> Facts:
    """A stream over some attributes, of which only those in `undefined` may be ⊥."""
    members = {n: (domains or {}).get(n, regions.defined(n)) for n in names}
    for n in undefined:
        members[n] = regions.union(members[n], regions.complement(regions.defined(n)))
    universe = {n: Domain(m, TYPES[n].is_integral) for n, m in members.items()}
    here = {n: (present or {}).get(n, PRESENT) for n in names}
    return Facts({n: TYPES[n] for n in names}, universe, here, units or {}, closed)


def altered(region: Tree, function: Affine = CELSIUS) -> Tree:
    return regions.update(ORIGINAL, region, lambda h: (*h, function))


def added(region: Tree) -> Tree:
    return regions.update(ABSENT, region, lambda _: PRESENT)


def seen(tree: Tree, function: Affine = CELSIUS) -> Tree:
    """The region in which the output is in the function's semantics."""
    return regions.map_leaves(tree, lambda h: h != () and h[-1] == function)


def union(left: Facts, right: Facts) -> Facts:
    return Union(name="u", inputs=("l", "r")).facts((left, right))
