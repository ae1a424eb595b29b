"""Codes of attributes at a source: the effects of a recode and the errors that it raises (theory N3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import Recode
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Domain, Level, Tree, Universe, Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.value_mapping import ValueMapping, mapped_values
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.runtime.control.descriptions.translation import mapped_into

Codes = Mapping[str, Tree]
"""Maps each attribute to a tree over canonical values: the code that leads to raw values, or `IDENTITY`."""


def check_recode(codes: Codes, universe: Universe, accent: Accent, recode: Recode, live: Tree) -> None:
    """Raises `DiagnosticError` RQ464 if a recode names a value that no described tuple has. `live`: the canonical
    tuples described that may still come."""
    name, named = recode.attribute, recode.code.map
    tree = codes.get(name, IDENTITY)
    # The reader of descriptions checks that the attributes which select a tuple are defined.
    live = regions.intersection(
        live, *map(regions.defined, regions.attributes(tree) - {name}), writable(codes, name)
    )
    for code, cell in _cells(tree):
        if regions.is_empty(regions.intersection(live, cell), universe):
            continue
        possible = _possible(name, code, universe)
        never = (
            set[Value]() if code is None else {value for value in named if code.inverse().of(value) is None}
        )
        if strange := sorted(never if possible is None else named.keys() - possible):
            values = ", ".join(map(recode.type.wire, strange))
            hint = "each pair is the value until here, then the value from here on"
            if possible is not None and possible.issuperset(named.values()):
                hint += f": did you mean `{evolve(recode, code=recode.code.inverse())}`?"
            raise failure(
                "RQ464",
                f"the accent recodes {values}, but no tuple there has such a `{name}`",
                accent.span,
                hint=hint,
                notes=tuple(_theirs(recode, possible)),
            )


_MAX_SHOWN = 20


def _theirs(recode: Recode, possible: set[Any] | None) -> Iterator[str]:
    if possible is not None and len(possible) <= _MAX_SHOWN:
        yield f"it is one of {', '.join(map(recode.type.wire, sorted(possible)))}"


def left_out(codes: Codes, universe: Universe, recode: Recode, live: Tree) -> list[Value]:
    """Returns the raw values of a declared list that described tuples may have and the recode does not map. `live`:
    the canonical tuples described that may still come."""
    name, unlisted_values = recode.attribute, set[Value]()
    for code, cell in _cells(codes.get(name, IDENTITY)):
        unlisted = {value for value in _possible(name, code, universe) or () if recode.code.of(value) is None}
        back: dict[Any, Any] = {v: v if code is None else code.inverse().of(v) for v in unlisted}
        described = regions.intersection(
            live, cell, regions.values(name, [back[value] for value in unlisted])
        )
        members = regions.exists(described, regions.attributes(described) - {name}, universe)
        may_come = set(listed(members))
        unlisted_values |= {value for value in unlisted if back[value] in may_come}
    return sorted(unlisted_values)


def writable(codes: Codes, but: str = "") -> Tree:
    """Returns the canonical tuples that the codes of all attributes except `but` can write."""
    region: Tree = True
    for name in codes.keys() - {but}:
        free = regions.complement(regions.defined(name))
        parts: list[Tree] = []
        for code, cell in _cells(codes[name]):
            values = True if code is None else regions.union(free, mapped_values(name, code))
            parts.append(regions.intersection(cell, values))
        region = regions.intersection(region, regions.union(*parts))
    return region


def _possible(name: str, code: ValueMapping | None, universe: Universe) -> set[Any] | None:
    """Returns the raw values that tuples may have; `None` if they may have any."""
    if code is not None and code.left_out is None:
        return {after for _, after in code.pairs}
    domain = universe[name]
    if not domain.is_list:
        return None
    members = set(listed(domain.members))
    return members if code is None else {code.of(value) for value in members} - {None}


def listed(members: Tree) -> list[Value]:
    """Returns the single values among an attribute's members; values of ranges get no codes."""
    return sorted(v for v, inside in members.points.items() if inside) if isinstance(members, Level) else []


def _cells(tree: Tree) -> Iterator[tuple[ValueMapping | None, Tree]]:
    """Yields the codes of a tree with the regions where they are in force; `None` for the identity."""
    for code, cell in regions.cells(tree).items():
        yield (code if isinstance(code, ValueMapping) else None), cell


def active_recodes(codes: Codes, types: Mapping[str, Type]) -> Iterator[tuple[Recode, Tree]]:
    """Yields the recodes that all recodes so far compose to, each with its canonical tuples."""
    for name, tree in codes.items():
        for code, cell in _cells(tree):
            if code is not None:
                yield Recode(name, code, types[name]), cell


def coded(raw: Tree, codes: Codes, maps: Mapping[str, Tree], universe: Universe) -> Tree:
    """Returns the canonical tuples that a raw region describes. `maps`: the functions from canonical to raw values of
    all attributes.

    A value that no raw value leads to may come later. It keeps the condition of all others, but may be in another unit
    than they, so the maps from canonical values decide and not those from raw ones.
    """
    described = mapped_into(True, raw, maps)
    return regions.difference(described, unspoken(codes, universe, raw))


def unspoken(codes: Codes, universe: Universe, raw: Tree) -> Tree:
    """Returns the canonical tuples that no condition of a region over raw values can describe, because no raw value
    leads to their value. Such a tuple may still come:

    - Its value is the code of another value and not in the declared list. It comes once the other value has another
      code (theory N1).
    - Its value has no code, and the attribute may be dropped. After an Add, values are written unchanged (theory G32).

    The region may contain values that never come.
    """
    parts = [
        regions.intersection(cell, _unspoken_values(name, code, universe[name]))
        for name in codes.keys() & regions.attributes(raw)
        for code, cell in _cells(codes[name])
        if code is not None
    ]
    return regions.union(*parts)


def _unspoken_values(name: str, code: ValueMapping, domain: Domain) -> Tree:
    """Returns the values of an attribute that no raw value leads to under a code, and that may come later."""
    values: Tree = False
    if domain.is_list:
        declared = set(listed(domain.members))
        taken = [after for _, after in code.pairs if after not in code.map]
        values = regions.values(name, [value for value in taken if value not in declared])
    if domain.may_be_missing:
        without = regions.difference(regions.defined(name), mapped_values(name, code))
        values = regions.union(values, regions.intersection(domain.members, without))
    return values


def is_own(code: ValueMapping | Affine, domain: Domain) -> bool:
    """Returns True if a code maps every value of a domain to itself."""
    return (
        isinstance(code, ValueMapping)
        and domain.is_list
        and all(code.of(value) == value for value in listed(domain.members))
    )


def no_codes(accent: Accent, others: Mapping[str, Tree], verb: str, other: str) -> None:
    """Raises `DiagnosticError` RQ463 if an accent alters a recoded attribute, or recodes an altered one. `others`: the
    attributes to which the other change has happened."""
    if (name := accent.primitive.attribute) in others:
        raise no_quantity(name, verb, other, accent.span)


def no_quantity(name: str, verb: str, other: str, span: Span | None) -> DiagnosticError:
    """Returns RQ463: an accent alters codes, or recodes quantities."""
    hint = "codes are not quantities: in one stream, an attribute is either recoded or altered"
    return failure("RQ463", f"the accent {verb} `{name}`, which has been {other}", span, hint=hint)
