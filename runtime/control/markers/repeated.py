"""Reports functions and codes that are in force already where an accent brings them: values are converted twice (theory
N8)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import cast

from cedilla.compiler import regions
from cedilla.compiler.changes import (
    Alter,
    Change,
    Recode,
    SourceFunction,
    ToLevel,
    at_source,
)
from cedilla.compiler.facts.facts import ORIGINAL, Facts, History
from cedilla.compiler.facts.markers import Accent, accent_text
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.composition import Bent, ends_with
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.accents.trees import CACHE_SIZE
from cedilla.runtime.control.descriptions.region_texts import joined_texts, region_texts
from cedilla.runtime.control.sources.partitions import anywhere
from cedilla.runtime.control.sources.source_state import SourceState

_MAX_NAMED = 3
"""Maximum number of earlier markers, and of results, in a message."""


def repeated(state: SourceState, accent: Accent, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ218 for an Alter or a recode that is already in force in some of its cells (N8)."""
    match accent.primitive:
        case Alter(attribute) as alter if attribute in state.units:
            yield from _altered(state, accent, alter, where)
        case SourceFunction(attribute=attribute) as alter if attribute in state.bent:
            yield from _turned(state, accent, alter, where)
        case Recode(attribute) as recode if attribute in state.codes:
            yield from _recoded_back(state, accent, recode, where)
        case _:  # units are repeatable (N4), a list replaces the first one, and an equal swap takes the first one back
            return


def _altered(state: SourceState, accent: Accent, alter: Alter, where: Tree) -> Iterator[Diagnostic]:
    name, function = alter.attribute, alter.function
    facts = state.facts()
    live = regions.difference(where, facts.dead(name))
    units = state.units[name]
    twice = regions.within(live, units, lambda history: function in stand(history))
    if regions.is_empty(twice, state.universe):
        return
    results = {function.after(h[-1]) for h in _histories(units, twice)}
    notes = (*_before(state, name, function, twice), *(_meaning(result) for result in _first(results)))
    yield _twice(state, accent, Alter(name, function.inverse()), twice, notes)


def _turned(state: SourceState, accent: Accent, alter: SourceFunction, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ218 for a function that falls or bends where it was the last one. Earlier ones are not remembered."""
    name, function = alter.attribute, alter.function
    if isinstance(alter, ToLevel):
        return
    live = regions.difference(where, state.facts().dead(name))
    twice = regions.within(live, state.bent[name], lambda first: ends_with(first, cast("Bent", function)))
    if not regions.is_empty(twice, state.universe):
        yield _twice(state, accent, at_source(name, function.inverse()), twice, ())


def _twice(
    state: SourceState, accent: Accent, back: Change, twice: Tree, notes: tuple[str, ...]
) -> Diagnostic:
    name, facts = back.attribute, state.facts()
    twice = anywhere(twice, state.universe)
    conditions = tuple(text.strip("[]") for text in _conditions(facts, name, twice)[:1])
    if regions.attributes(twice) & state.units.keys():  # their raw values differ from canonical ones here
        conditions = ("...",)
    undo = accent_text(conditions, back)
    return Diagnostic(
        "RQ218",
        "warning",
        f"an equal alter of `{name}` is in force already{_where(facts, name, twice)}: such values are converted twice",
        accent.span,
        notes,
        f"if the values have not changed a second time, undo it: {undo}",
    )


def _recoded_back(state: SourceState, accent: Accent, recode: Recode, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ218 for an exchange of codes that is already in force, which a second one reverses. Other repeated
    recodes are errors (RQ464)."""
    name, code = recode.attribute, recode.code
    live = regions.difference(where, regions.union(state.closed, state.facts().dead(name)))
    twice = regions.within(
        live, state.codes[name], lambda leaf: isinstance(leaf, ValueMapping) and leaf == code
    )
    if not regions.is_empty(twice, state.universe):
        where_text = _where(state.facts(), name, anywhere(twice, state.universe))
        yield Diagnostic(
            "RQ218",
            "warning",
            f"an equal recode of `{name}` is in force already{where_text}: from here on the first codes are back",
            accent.span,
            (),
            "a pair is the value so far, then the value from here on; if this was a mistake, send it once more",
        )


@lru_cache(CACHE_SIZE)
def standing(history: History) -> tuple[Affine, ...]:
    """Returns the functions that a cell's values went through and that no later function undid, oldest first."""
    steps: list[Affine] = []
    for before, after in pairwise(history):
        step = _step(before, after)
        if steps and _undoes(step, steps[-1]):
            steps.pop()
        elif not step.is_identity:
            steps.append(step)
    return tuple(steps)


@lru_cache(CACHE_SIZE)
def stand(history: History) -> frozenset[Affine]:
    """Returns `standing` as a set."""
    return frozenset(standing(history))


_MAX_STEPS = 1 << 16
"""Number of steps to cache. Each accent asks for all steps of the cells that it meets, and adds one to each."""


@lru_cache(_MAX_STEPS)
def _step(before: Affine, after: Affine) -> Affine:
    return after.after(before.inverse())


@lru_cache(_MAX_STEPS)
def _undoes(step: Affine, last: Affine) -> bool:
    return step.after(last).is_identity


def _histories(units: Tree, region: Tree) -> list[History]:
    inside = regions.combine(
        region, units, regions.Operation(lambda a, _: ORIGINAL if a is False else None, lambda a, b: b)
    )
    return [history for history in regions.leaves(inside) if len(history) > 1]


def _first(functions: set[Affine]) -> list[Affine]:
    """Returns the first few of some functions, in a fixed order."""
    return sorted(functions, key=lambda f: (f.slope, f.shift))[:_MAX_NAMED]


def _meaning(function: Affine) -> str:
    return f"together, a value that was 1 at the start of the stream is written as {function.at_text(1)} from here on"


def _conditions(facts: Facts, name: str, region: Tree) -> list[str]:
    """Returns a region as patterns; no pattern if it contains all tuples with the attribute."""
    rest = regions.difference(regions.complement(facts.dead(name)), region)
    return [] if regions.is_empty(rest, facts.universe) else region_texts(facts, region)


def _where(facts: Facts, name: str, region: Tree) -> str:
    texts = joined_texts(_conditions(facts, name, region))
    units = ", in the units of the start" if regions.attributes(region) & facts.units.keys() else ""
    return f" for {texts[0]}{units}" if texts else ""


def _before(state: SourceState, name: str, function: Affine, twice: Tree) -> Iterator[str]:
    """Yields the remembered earlier markers with an equal function."""
    equal = [
        alter
        for alter in state.notes.alters
        if alter.attribute == name
        and alter.function == function
        and not regions.is_empty(regions.intersection(alter.where, twice), state.universe)
    ]
    for alter in equal[:_MAX_NAMED]:
        yield f"before: {alter.place}: {alter.text}" if alter.place else f"before: {alter.text}"
    if len(equal) > _MAX_NAMED:
        yield f"and {len(equal) - _MAX_NAMED} more"


def converted_twice(facts: Facts) -> Iterator[str]:
    """Yields texts for `status` about cells where an equal Alter is in force twice."""
    for name in facts.units:
        live = facts.live_units(name)
        for history in regions.leaves(live):
            steps = standing(history)
            for function in _first({step for step in steps if steps.count(step) > 1}):
                cell = regions.map_leaves(live, lambda leaf, h=history: leaf == h)
                yield (
                    f"{Alter(name, function)} {steps.count(function)} times{_where(facts, name, cell)}; "
                    f"in all {Alter(name, history[-1])}"
                )
