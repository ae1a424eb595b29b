"""Accents in force: the composed effect of all accents, for tuples that may still come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from itertools import chain
from threading import get_ident

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Change, Drop, Missing, Rename, Swap, at_source, to_form
from cedilla.compiler.facts.facts import ABSENT, PRESENT, Facts
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Domain, LeafCount, Level, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.composition import parts
from cedilla.runtime.control.accents.codes import active_recodes
from cedilla.runtime.control.sources.partitions import described
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import NO_NAMES, UnitNames

_MAX_POINTS = 1_000
"""Maximum number of descriptions of one attribute that are checked against closed regions in each epoch."""

Described = tuple[Change | str, Tree]
"""A change, which is its text, and the region that it describes."""


def active_accents(
    facts: Facts,
    start: Mapping[str, Tree],
    present: Mapping[str, Tree],
    scale: Mapping[str, Tree],
    names: UnitNames,
) -> Iterator[Described]:
    """Yields attributes that came or went, and units, each with its region, including closed tuples."""
    yield from _present(facts, start, present, names)
    for name, tree in scale.items():
        for function, cell in _cells(tree).items():
            if not function.is_identity:
                yield Alter(name, function, names.of(name, function)), cell


def _present(
    facts: Facts, start: Mapping[str, Tree], present: Mapping[str, Tree], names: UnitNames
) -> Iterator[Described]:
    for name, tree in present.items():
        before = start.get(name, ABSENT)
        yield Add(name, facts.types[name], names.units.get(name)), _came(before, tree)
        yield Drop(name), _went(before, tree)


def of_source(
    source: Source, state: SourceState, names: UnitNames = NO_NAMES
) -> tuple[Facts, Iterator[Described]]:
    """Returns the facts of a source and the accents in force there, including growths of its domains."""
    facts = _described_facts(state)
    scale = _scale(state)
    accents = active_accents(facts, source.presence, facts.present, scale, names)
    return facts, chain(_of_source_alone(source, state), accents)


def _described_facts(state: SourceState) -> Facts:
    facts = state.facts_by_partition()
    return evolve(facts, types=described(facts))


def _scale(state: SourceState) -> dict[str, Tree]:
    return {name: _latest(tree) for name, tree in state.units.items()}


def _of_source_alone(source: Source, state: SourceState) -> Iterator[Described]:
    """Yields the accents in force that no output announces."""
    return chain(
        _grown(source, state),
        _formed(source, state),
        _renamed(state),
        _recoded(state),
        _bent(state),
        _missing(state),
        _swapped(state),
    )


def _renamed(state: SourceState) -> Iterator[Described]:
    """Yields the names other than their own that tuples use for attributes (theory N2)."""
    for name, attribute in state.names.of.items():
        yield (
            str(Rename(attribute, name)),
            regions.intersection(
                state.names.by(attribute, name), state.facts_by_partition().may_have(attribute)
            ),
        )


def _recoded(state: SourceState) -> Iterator[Described]:
    """Yields the composed recodes (theory N3)."""
    facts = state.facts_by_partition()
    for recode, cell in active_recodes(state.codes, state.types):
        yield recode, regions.intersection(cell, facts.may_have(recode.attribute))


def _bent(state: SourceState) -> Iterator[Described]:
    """Yields the functions that fall or bend, each with those before and after it (theory N11)."""
    facts = state.facts_by_partition()
    for name, tree in state.bent.items():
        for function, cell in regions.cells(tree).items():
            if not isinstance(function, Affine):
                described = regions.intersection(cell, facts.may_have(name))
                yield from ((at_source(name, part), described) for part in parts(function))


def _swapped(state: SourceState) -> Iterator[Described]:
    """Yields the attributes that have changed places (theory N11)."""
    for pair, tree in state.swaps.here.items():
        yield Swap(*pair.split()), state.canonical(tree)


def _missing(state: SourceState) -> Iterator[Described]:
    """Yields the values that mean undefined (theory N11)."""
    for name, tree in state.sentinels.listed.items():
        for values, cell in regions.cells(tree).items():
            if values:
                yield Missing(name, tuple(sorted(values)), state.types[name]), cell


def _grown(source: Source, state: SourceState) -> Iterator[Described]:
    """Yields the values that markers have added to declared domains (theory N1)."""
    for attribute in source.attributes:
        if attribute.column is not None:
            continue
        grown = state.grown.get(attribute.name, False)
        new = grown is not False and regions.difference(grown, attribute.domain_members())
        if isinstance(new, Level):
            listed = [attribute.type.wire(value) for value, inside in new.points.items() if inside]
            yield f"grow({attribute.name}, {{{', '.join(sorted(listed))}}})", True


def _formed(source: Source, state: SourceState) -> Iterator[Described]:
    """Yields the zones and decimal signs that markers have named (theory N13)."""
    for name, form in state.forms.items():
        if form != source.forms.get(name):
            yield to_form(name, form, state.types[name]), True


def count(source: Source, state: SourceState) -> int:
    """Returns the number of accents in force at a source, which is the number of lines that `status` prints."""
    facts, scale = _described_facts(state), _scale(state)
    present = _present(facts, source.presence, facts.present, NO_NAMES)
    places = [region for _, region in chain(_of_source_alone(source, state), present) if region is not False]
    if not places and not scale:
        return 0
    is_over = regions.is_empty(regions.complement(facts.closed), facts.universe)
    ending = None if is_over else regions.attributes(facts.closed)
    functions = sum(_live_functions(source.name, name, tree, facts, ending) for name, tree in scale.items())
    return functions + sum(_is_live(region, facts, ending) for region in places)


def _live_functions(source: str, name: str, scale: Tree, facts: Facts, ending: Set[str] | None) -> int:
    """Returns the number of functions of an attribute other than the identity that tuples may still have. Only points
    that a marker has changed or closed since the last count are looked at. `ending`: as for `_is_live`."""
    names, live = regions.attributes(scale), scale
    if ending is None:
        return 0
    if not names.isdisjoint(ending):
        live = _without_closed(scale, regions.forall(facts.closed, ending - names, facts.universe))
    universe = tuple((n, facts.universe[n]) for n in sorted(names & facts.universe.keys()))
    return _leaf_count(get_ident(), source, name, universe).of(live)


@regions.pointwise
def _without_closed(scale: Tree, closed: Tree) -> Tree:
    """Returns the functions with the identity in closed cells."""
    return regions.update(scale, closed, lambda _: IDENTITY)


@lru_cache(64)
def _leaf_count(thread: int, source: str, name: str, universe: tuple[tuple[str, Domain], ...]) -> LeafCount:
    """Returns the count that follows an attribute. Queries that run in several threads each have their own."""
    return LeafCount(dict(universe), IDENTITY)


def _is_live(region: Tree, facts: Facts, ending: Set[str] | None) -> bool:
    """Returns True if a tuple of a region may still come. `ending`: the attributes that tell which tuples are closed;
    those of a region over others are never all closed. `None`: every tuple is."""
    if region is False or (isinstance(region, Level) and len(region.points) > _MAX_POINTS):
        return region is not False
    names = regions.attributes(region)
    if ending is not None and names.isdisjoint(ending):
        domains = tuple((name, facts.universe[name]) for name in sorted(names & facts.universe.keys()))
        return _is_possible(region, domains)
    return not regions.is_empty(regions.difference(region, facts.closed), facts.universe)


@lru_cache(1 << 14)
def _is_possible(region: Tree, universe: tuple[tuple[str, Domain], ...]) -> bool:
    """Returns True if a tuple lies in the region, which is looked at once, however many epochs count it."""
    return not regions.is_empty(region, dict(universe))


@regions.remembered
def _came(before: Tree, now: Tree) -> Tree:
    """Returns the region where an attribute is present now and was absent before."""
    came = regions.map_leaves(now, lambda leaf: leaf is PRESENT)
    return regions.difference(came, regions.map_leaves(before, _may_have))


@regions.remembered
def _went(before: Tree, now: Tree) -> Tree:
    """Returns the region where an attribute is absent now and was not before."""
    return regions.difference(regions.map_leaves(before, _may_have), regions.map_leaves(now, _may_have))


@regions.pointwise
def _latest(units: Tree) -> Tree:
    """Returns the last function of each history."""
    return regions.map_leaves(units, lambda history: history[-1])


@regions.remembered
def _cells(scale: Tree) -> dict[Affine, Tree]:
    """Returns the region of each function."""
    return regions.cells(scale)


def _may_have(leaf: object) -> bool:
    return leaf is not ABSENT
