"""Codes of attributes at a source: what a recode changes, and what it refuses (theory N3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.markers import Accent, Recode
from cedilla.compiler.regions import Domain, Steps, Tree, Universe, Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.code import Code
from cedilla.grammar.diagnostics import failure

Codes = Mapping[str, Tree]
"""Attribute -> tree over canonical values: the code that leads to raw values, or `IDENTITY`."""


def check_recode(codes: Codes, universe: Universe, accent: Accent, recode: Recode, live: Tree) -> None:
    """Raises `DiagnosticError` RQ464 where some of the values that a recode names are none of the tuples described.
    `live`: the canonical tuples described that may still come."""
    name, named = recode.attribute, recode.code.map
    tree = codes.get(name, IDENTITY)
    # Whether a tuple may lack what others are described by is for its reader to say.
    live = regions.intersection(
        live, *map(regions.defined, regions.attributes(tree) - {name}), writable(codes, name)
    )
    for code, cell in _cells(tree):
        if regions.is_empty(regions.intersection(live, cell), universe):
            continue
        possible = _possible(name, code, universe)
        if possible is not None and (strange := sorted(named.keys() - possible)):
            values, theirs = (", ".join(map(recode.type.wire, each)) for each in (strange, sorted(possible)))
            hint = "each pair has the value as it was until here, and then as it is from here on"
            if possible.issuperset(named.values()):
                hint += f": did you mean `{evolve(recode, code=recode.code.inverse())}`?"
            raise failure(
                "RQ464",
                f"the accent recodes {values}, which `{name}` never is there",
                accent.span,
                hint=hint,
                notes=(f"it is one of {theirs}",) if len(possible) <= _SHOWN else (),
            )


_SHOWN = 20


def left_out(codes: Codes, universe: Universe, recode: Recode, live: Tree) -> list[Value]:
    """The raw values that some of the tuples described may have and a recode does not list, of a declared list.
    `live`: the canonical tuples described that may still come."""
    name, found = recode.attribute, set[Value]()
    for code, cell in _cells(codes.get(name, IDENTITY)):
        unlisted = (_possible(name, code, universe) or set()) - recode.code.map.keys()
        back = {value: value for value in unlisted} if code is None else code.inverse().map
        there = regions.intersection(live, cell, regions.values(name, [back[value] for value in unlisted]))
        members = regions.exists(there, regions.attributes(there) - {name}, universe)
        may_come = set(listed(members))
        found |= {value for value in unlisted if back[value] in may_come}
    return sorted(found)


def writable(codes: Codes, but: str = "") -> Tree:
    """The canonical tuples that can be written, as far as attributes but one tell."""
    region: Tree = True
    for name in codes.keys() - {but}:
        free = regions.complement(regions.defined(name))
        parts: list[Tree] = []
        for code, cell in _cells(codes[name]):
            values = True if code is None else regions.union(free, regions.values(name, code.map))
            parts.append(regions.intersection(cell, values))
        region = regions.intersection(region, regions.union(*parts))
    return region


def _possible(name: str, code: Code | None, universe: Universe) -> set[Any] | None:
    """The raw values that tuples may have; `None` where they may have any."""
    if code is not None:
        return {after for _, after in code.pairs}
    domain = universe[name]
    return set(listed(domain.members)) if domain.is_list else None


def listed(members: Tree) -> list[Value]:
    """The single values of an attribute among some; those of ranges get no codes."""
    return sorted(v for v, inside in members.points.items() if inside) if isinstance(members, Steps) else []


def _cells(tree: Tree) -> Iterator[tuple[Code | None, Tree]]:
    """The codes of a tree, `None` for the identity, and where they are in force."""
    for code, cell in regions.cells(tree).items():
        yield (code if isinstance(code, Code) else None), cell


def in_force(codes: Codes, types: Mapping[str, Type]) -> Iterator[tuple[Recode, Tree]]:
    """The recodes that all so far amount to, and the canonical tuples of each."""
    for name, tree in codes.items():
        for code, cell in _cells(tree):
            if code is not None:
                yield Recode(name, code, types[name]), cell


def unspoken(codes: Codes, universe: Universe, raw: Tree) -> Tree:
    """The canonical tuples of which a region over raw values says nothing, for a value that it has a condition on: no
    raw value means it. It may come nevertheless:

    - It is another one's code there, and none of the domain's list: once the other one has another code (theory N1).
    - It has no code, and the attribute may be dropped: after an Add values are written as they are (theory G32).

    Values that never come may be in the region or not."""
    parts = [
        regions.intersection(cell, _unspoken_values(name, code, universe[name]))
        for name in codes.keys() & regions.attributes(raw)
        for code, cell in _cells(codes[name])
        if code is not None
    ]
    return regions.union(*parts)


def _unspoken_values(name: str, code: Code, domain: Domain) -> Tree:
    """The values of an attribute that no raw value means under a code, and that may come later."""
    values: Tree = False
    if domain.is_list:
        known = set(listed(domain.members))
        taken = [after for _, after in code.pairs if after not in code.map]
        values = regions.values(name, [value for value in taken if value not in known])
    if domain.may_be_missing:
        without = regions.difference(regions.defined(name), regions.values(name, code.map))
        values = regions.union(values, regions.intersection(domain.members, without))
    return values


def is_own(code: Code | Affine, domain: Domain) -> bool:
    """Whether a code takes every value of a domain to itself."""
    return (
        isinstance(code, Code)
        and domain.is_list
        and all(code.map.get(value) == value for value in listed(domain.members))
    )


def no_codes(accent: Accent, others: Mapping[str, Tree], verb: str, other: str) -> None:
    """Raises `DiagnosticError` RQ463 where an accent alters what has been recoded, or recodes what has been altered.
    `others`: of the attributes to which the other has happened."""
    name = accent.primitive.attribute
    if name in others:
        hint = "a code is no quantity: an attribute has the one or the other as long as the stream lasts"
        raise failure("RQ463", f"the accent {verb} `{name}`, which has been {other}", accent.span, hint=hint)
