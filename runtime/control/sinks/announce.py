"""The control plane of a sink: what the output has told its readers, and what it must tell next (theory 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.facts.facts import ABSENT, PRESENT, Facts
from cedilla.compiler.facts.markers import Add, Alter, Drop, accent_text, punctuation_text
from cedilla.compiler.regions import ANYTHING, Operation, Steps, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.control.descriptions.boxes import accents_of, simple_boxes
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.sources.measures import NO_NAMES, UnitNames

_NO_UNITS: Mapping[str, str] = {}


@frozen
class SinkState:
    """What an output stream has said so far, in canonical values.

    `present`: attribute -> tree of `Presence`; `scale`: attribute -> tree of `Affine`, canonical to output
    (theory D0: o); `closed`: the region that its punctuations describe. `types`: the types that readers know of;
    `domains`: attribute -> the list of values that they may count on; `units`: attribute -> the unit that its first Add
    has named, or an empty text.
    """

    present: Mapping[str, Tree]
    scale: Mapping[str, Tree] = field(factory=dict[str, Tree])
    closed: Tree = False
    types: Mapping[str, Type] = field(factory=dict[str, Type])
    domains: Mapping[str, Tree] = field(factory=dict[str, Tree])
    units: Mapping[str, str] = field(factory=dict[str, str])

    @classmethod
    def start(cls, facts: Facts) -> SinkState:
        return cls(dict(facts.present), types=dict(facts.types), domains=_lists(facts))


@frozen
class Markers:
    """An epoch's output markers as wire text, in output order."""

    adds: tuple[str, ...] = ()
    punctuations: tuple[str, ...] = ()
    alters: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()


def announce(
    before: SinkState,
    during: Facts,
    after: Facts,
    always: frozenset[str] = frozenset(),
    *,
    original_units: bool = False,
    names: UnitNames = NO_NAMES,
) -> tuple[SinkState, Markers]:
    """The markers of an epoch and the sink's state after it: `begin` and `finish`."""
    begun = begin(before, during, always, names.units)
    return finish(*begun, after, original_units=original_units, names=names)


def finish(
    begun: SinkState,
    adds: tuple[str, ...],
    after: Facts,
    *,
    original_units: bool = False,
    names: UnitNames = NO_NAMES,
) -> tuple[SinkState, Markers]:
    """The markers of an epoch, whose Adds and sink `begin` gave, and the sink's state after it.

    `after`: the output's facts at the epoch's end; `names`: of the units that Alters lead to. With `original_units`
    nothing is ever encoded (paper, section 5: the absorbing alternative); what was announced before the query said so
    is taken back.
    """
    punctuations, closed = _punctuations(begun, after)
    alters, scale = _alters(begun, after, closed, names, original_units=original_units)
    drops, present = _drops(begun.present, scale, after)
    sink = SinkState(present, scale, closed, begun.types, begun.domains, begun.units)
    return sink, Markers(adds, punctuations, alters, drops)


def begin(
    before: SinkState,
    during: Facts,
    always: frozenset[str] = frozenset(),
    units: Mapping[str, str] = _NO_UNITS,
) -> tuple[SinkState, tuple[str, ...]]:
    """The sink once the growths and Adds of an epoch are said, before its tuples, and their texts; behind them stand
    Alters that change nothing but a type.

    `during`: the output's facts with all that tuples of the epoch may have; `always`: the attributes that all of them
    have; `units`: those of its canonical values, as far as they have names. Units begin anew with an Add, for whoever
    reads the stream as for the query that wrote it (G32).
    """
    domains, texts = _growths(before, during)
    present, scale, named = dict(before.present), dict(before.scale), dict(before.units)
    for name, presence in during.present.items():
        said = present.get(name, ABSENT)
        new = regions.difference(_came(presence, said), during.closed)
        new = regions.exists(new, {name}, during.universe)  # an Add does not name its attribute (G23)
        nowhere = during.closed
        for other in sorted(always & regions.attributes(new)):
            new = regions.intersection(new, regions.defined(other))
            nowhere = regions.union(nowhere, regions.complement(regions.defined(other)))
        if regions.is_empty(new, during.universe):
            continue
        announced: Tree = False
        type_ = during.types[name]
        unit = units.get(name, "") if type_.is_numeric else ""
        if named.setdefault(name, unit) == "":  # readers that were told none have numbers without a unit
            unit = ""
        add = Add(name, type_, unit or None)
        for text, box in accents_of(new, during, scale, nowhere, add, outer=True, always=always):
            texts.append(text)
            announced = regions.union(announced, box)
        present[name] = regions.update(said, announced, lambda _: PRESENT)
        if name in scale:
            scale[name] = regions.update(scale[name], announced, lambda _: IDENTITY)
    types = {**during.types, **before.types}
    for name in _widened(types, present, during):
        texts.append(accent_text((), Alter(name, IDENTITY)))
        types[name] = during.types[name]
    return SinkState(present, scale, before.closed, types, domains, named), tuple(texts)


def _lists(facts: Facts) -> dict[str, Tree]:
    """The attributes that take one of a list of values."""
    return {
        name: domain.members
        for name, domain in facts.universe.items()
        if name in facts.types and domain.is_list
    }


def _growths(before: SinkState, during: Facts) -> tuple[dict[str, Tree], list[str]]:
    """The lists that readers know of, and the texts that tell them of new values (theory N1).

    Not of an attribute that the output has altered: a list is in canonical units, which its readers no longer see.
    """
    domains, texts = dict(before.domains), list[str]()
    for name, members in _lists(during).items():
        if (told := domains.setdefault(name, members)) is members:
            continue
        new = regions.intersection(regions.difference(members, told), regions.defined(name))
        if name not in before.scale and isinstance(new, Steps):
            listed = sorted(value for value, inside in new.points.items() if inside)
            written = ", ".join(map(during.types[name].wire, listed))
            texts.append(f"[[grow({name}, {{{written}}})]]")
            domains[name] = members
    return domains, texts


def _widened(told: Mapping[str, Type], present: Mapping[str, Tree], during: Facts) -> list[str]:
    """The numbers that readers know as whole or as decimals, and that an Alter at a source has made doubles of.

    Values in the old units may have decimals already, while the Alter waits for others (D1): an Alter that changes
    nothing says so before they come, for with their first Alter attributes are doubles for readers as well.
    """
    return [
        name
        for name, type_ in during.types.items()
        if type_ == DOUBLE
        and (known := told.get(name, type_)) != type_
        and known.is_numeric
        and present.get(name, ABSENT) is not ABSENT
    ]


def _drops(
    told: Mapping[str, Tree], scale: Mapping[str, Tree], after: Facts
) -> tuple[tuple[str, ...], dict[str, Tree]]:
    texts: list[str] = []
    present = dict(told)
    for name, presence in told.items():
        now = after.present.get(name, ABSENT)
        gone = regions.difference(_went(presence, now), after.closed)
        gone = gone is not False and _of_all_values(name, gone, now, after)
        if regions.is_empty(gone, after.universe):
            continue
        announced: Tree = False
        for text, box in accents_of(gone, after, scale, after.closed, Drop(name), outer=False):
            texts.append(text)
            announced = regions.union(announced, box)
        present[name] = regions.update(presence, announced, lambda _: ABSENT)
    return tuple(texts), present


def _punctuations(before: SinkState, after: Facts) -> tuple[tuple[str, ...], Tree]:
    """Punctuations, written in the units of the tuples they follow (theory 3.3), and all that is closed by what was
    said: values outside a domain too, which may grow (theory N1)."""
    new = regions.difference(after.closed, before.closed)
    more = regions.difference(before.closed, after.closed)
    closed = after.closed if more is False else regions.union(after.closed, more)
    if regions.is_empty(new, after.universe):
        return (), closed
    texts: list[str] = []
    for box in simple_boxes(new, after.universe, after.closed):
        if regions.difference(regions.box(box), after.closed) is not False:
            closed = regions.union(closed, regions.box(box))
        raw = translate(regions.box(box), before.scale)
        for conditions, inside in regions.boxes(raw):
            if inside is True:
                for written in patterns.texts(conditions, after.types, outer=False):
                    texts.append(punctuation_text(written))
    return tuple(texts), closed


def _alters(
    before: SinkState, after: Facts, closed: Tree, names: UnitNames, *, original_units: bool
) -> tuple[tuple[str, ...], dict[str, Tree]]:
    """`closed`: what the output has closed; `names`: of the units that Alters lead to."""
    texts: list[str] = []
    scale = dict(before.scale)
    for name, units in after.units.items():
        old = scale.get(name, IDENTITY)
        target: Tree = IDENTITY if original_units else _target(units, old)
        if target is old:
            continue
        named = name in names.units
        told = named and _without_doubt(closed, before.scale, after.universe)
        change = regions.combine(target, old, _CHANGE)
        for function, cell in regions.cells(change).items():
            if function.is_identity:
                continue
            where = _without(name, regions.difference(cell, after.closed), after)
            if regions.is_empty(where, after.universe):
                continue
            announced: Tree = False
            alter = Alter(name, function)
            said_of = partial(_in_unit, alter, scale.get(name, IDENTITY), told, names) if named else None
            for text, box in accents_of(
                where, after, scale, after.closed, alter, outer=False, said_of=said_of
            ):
                if _has(box, name, after) and _told(box, name, before):
                    texts.append(text)
                    announced = regions.union(announced, box)
            scale[name] = regions.update(
                scale.get(name, IDENTITY), announced, lambda f, function=function: function.after(f)
            )
    return tuple(texts), scale


def _in_unit(alter: Alter, scale: Tree, closed: Tree, names: UnitNames, said: Tree) -> Alter:
    """An Alter with the unit that all values it describes are in from there on, where one has a name.

    All: whatever domains its readers know of. `closed`: what they have been told of.
    """
    inside = regions.restricted(scale, regions.difference(said, closed))
    before = {leaf for leaf in regions.leaves(inside) if leaf is not False}
    if len(before) != 1:
        return alter
    return evolve(alter, unit=names.of(alter.attribute, alter.function.after(before.pop())))


def _without_doubt(closed: Tree, scale: Mapping[str, Tree], universe: Universe) -> Tree:
    """What punctuations have closed without a doubt: they have no words for tuples without an attribute, and say
    nothing of values that no tuple has."""
    told = regions.attributes(closed).union(*map(regions.attributes, scale.values()))
    known = (regions.intersection(universe.get(n, ANYTHING).members, regions.defined(n)) for n in told)
    return regions.intersection(closed, *known)


def _has(region: Tree, name: str, facts: Facts) -> bool:
    """Whether some tuple of a region may have an attribute: an accent where none has it ends a query (P4)."""
    there = regions.within(region, facts.present.get(name, ABSENT), lambda leaf: leaf is not ABSENT)
    return not regions.is_empty(there, facts.universe)


def _told(region: Tree, name: str, sink: SinkState) -> bool:
    """Whether readers know of an attribute in a region: a Drop that grew into what is closed took it away there."""
    return (
        regions.within(region, sink.present.get(name, ABSENT), lambda leaf: leaf is not ABSENT) is not False
    )


def _of_all_values(name: str, gone: Tree, now: Tree, after: Facts) -> Tree:
    """A Drop's region without what it says of the attribute itself (G23): what is closed or stored may tell its
    values apart, but the Drop waits until none is left that a tuple may still have."""
    left = regions.difference(regions.map_leaves(now, lambda leaf: leaf is not ABSENT), after.closed)
    left = regions.intersection(left, regions.defined(name))
    over = {name}
    return regions.difference(
        regions.exists(gone, over, after.universe), regions.exists(left, over, after.universe)
    )


def _without(name: str, region: Tree, facts: Facts) -> Tree:
    """A region that does not tell tuples apart by an attribute, as the description of its own Alter must not
    (G23): grown into what is closed, where that is enough; else nothing, and the Alter is absorbed.
    """
    if name not in regions.attributes(region):
        return region
    grown = regions.exists(region, {name}, facts.universe)
    gained = regions.difference(regions.difference(grown, region), facts.closed)
    return grown if regions.is_empty(gained, facts.universe) else False


def _next(history: tuple[Affine, ...], scale: Affine) -> Affine:
    """The latest common function, never backwards (D1); a cell without feeders stays as it is."""
    return history[-1] if scale in history and scale != history[-1] else scale


_NEXT = Operation(lambda a, b: None, _next)
_CHANGE = Operation(lambda a, b: IDENTITY if a is b else None, lambda new, old: new.after(old.inverse()))


@regions.remembered
def _came(presence: Tree, told: Tree) -> Tree:
    """Where an attribute is present and was not said to be; or where it may be, of which a query that was edited
    while it ran has said nothing."""
    unsaid = regions.difference(_may_be(presence), _may_be(told))
    return regions.union(regions.difference(_is_present(presence), _is_present(told)), unsaid)


@regions.remembered
def _went(told: Tree, presence: Tree) -> Tree:
    """Where an attribute was not said to be absent and is."""
    return regions.difference(_may_be(told), _may_be(presence))


@regions.remembered
def _target(units: Tree, scale: Tree) -> Tree:
    """The functions that the output's values are to have gone through."""
    return regions.combine(units, scale, _NEXT)


def _is_present(presence: Tree) -> Tree:
    return regions.map_leaves(presence, lambda leaf: leaf is PRESENT)


def _may_be(presence: Tree) -> Tree:
    return regions.map_leaves(presence, lambda leaf: leaf is not ABSENT)
