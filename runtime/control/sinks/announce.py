"""The control plane of a sink: markers that the output has announced, and those to announce next (theory 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Drop
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.units.altered_decimals import announcing
from cedilla.compiler.facts.facts import (
    ABSENT,
    NO_FEEDER,
    PRESENT,
    PRESENT_IF_ANY,
    Facts,
    closed_for_readers,
)
from cedilla.compiler.facts.markers import accent_text, punctuation_text
from cedilla.compiler.regions import ANYTHING, Level, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.control.descriptions.boxes import accents_of, simple_boxes
from cedilla.runtime.control.descriptions.translation import mapped_into, translate
from cedilla.runtime.control.sinks.functions import NONE, changes, next_functions, told_apart, with_left
from cedilla.runtime.control.sources.unit_names import NO_NAMES, UnitNames

_NO_UNITS: Mapping[str, str] = {}
KeepsUnits = Callable[[str], bool]
"""Returns True for an attribute that an output never encodes."""


@frozen
class SinkState:
    """The announced state of an output stream, in canonical values.

    `present`: attribute -> tree of `Presence`; `scale`: attribute -> tree of `Affine`, canonical to output (theory D0:
    o); `closed`: the region that its punctuations describe. `types`: the types that readers know; `domains`: attribute
    -> the list of values announced to readers; `units`: attribute -> the unit in its first Add, or an empty text.
    `earlier`: attribute -> tree of the functions that a cell had before that of `scale`, without the identity, with
    which each begins (theory D2: it never returns to them).
    """

    present: Mapping[str, Tree]
    scale: Mapping[str, Tree] = field(factory=dict[str, Tree])
    closed: Tree = False
    types: Mapping[str, Type] = field(factory=dict[str, Type])
    domains: Mapping[str, Tree] = field(factory=dict[str, Tree])
    units: Mapping[str, str] = field(factory=dict[str, str])
    earlier: Mapping[str, Tree] = field(factory=dict[str, Tree])

    @classmethod
    def start(cls, facts: Facts) -> SinkState:
        return cls(dict(facts.present), types=dict(facts.types), domains=_lists(facts))

    def dropped(self, during: Facts) -> dict[str, Tree]:
        """Returns the regions where attributes are dropped for readers and in an epoch, without empty ones.

        `during`: the relation's facts with all attributes that tuples of the epoch may have.
        """
        lacking = (self.types.keys() | self.present.keys()) - during.types.keys()
        announced = {n: regions.without(self.present.get(n, ABSENT), lacking) for n in during.types}
        present = {
            name: regions.combine(presence, during.present.get(name, ABSENT), PRESENT_IF_ANY)
            for name, presence in announced.items()
        }
        absent = {n: regions.complement(_may_be(presence)) for n, presence in present.items()}
        return {name: region for name, region in absent.items() if region is not False}


def announce(
    before: SinkState,
    during: Facts,
    after: Facts,
    always: frozenset[str] = frozenset(),
    *,
    keeps_units: KeepsUnits | None = None,
    names: UnitNames = NO_NAMES,
) -> tuple[SinkState, Markers]:
    """Returns the sink's state after an epoch and its markers: `begin`, then `finish`.

    For example, an output without s waits until t of every s has been altered (D1):

    >>> from cedilla.compiler.compile import compile_query
    >>> from cedilla.runtime.engines.plain.reference import Reference
    >>> reference = Reference(compile_query('''
    ...   stream r(s: int in {1, 2}, t: double) from json "r";
    ...   out := project[t](r);
    ...   emit out to json "out";
    ... ''').plan)
    >>> for item in (
    ...     {"$accent": "[[s = 1, alter(t, y -> y * 9/5 + 32)]]"},
    ...     {"s": 1, "t": 68},
    ...     {"$accent": "[[s = 2, alter(t, y -> y * 9/5 + 32)]]"},
    ...     {"s": 1, "t": 68},
    ... ):
    ...     for output in reference.step([("r", item)]):
    ...         print(item, "->", *output["out"].items())
    {'$accent': '[[s = 1, alter(t, y -> y * 9/5 + 32)]]'} ->
    {'s': 1, 't': 68} -> {'t': 20.0}
    {'$accent': '[[s = 2, alter(t, y -> y * 9/5 + 32)]]'} -> {'$accent': '[[alter(t, y -> (y * 9 + 160) / 5)]]'}
    {'s': 1, 't': 68} -> {'t': 68.0}
    """
    begun = begin(before, during, always, names.units)
    return finish(*begun, after, always, keeps_units=keeps_units, names=names)


def finish(
    begun: SinkState,
    adds: tuple[str, ...],
    after: Facts,
    always: frozenset[str] = frozenset(),
    *,
    keeps_units: KeepsUnits | None = None,
    names: UnitNames = NO_NAMES,
) -> tuple[SinkState, Markers]:
    """Returns the sink's state after an epoch and all of its markers, from the result of `begin`.

    `after`: the output's facts at the epoch's end. `always`: the attributes that all of its tuples have then. `names`:
    names of the units that Alters lead to. An attribute that `keeps_units` is not encoded (paper, section 5: the
    absorbing alternative), and its earlier announced units are reverted.
    """
    punctuations, closed = _punctuations(begun, after)
    alters, scale, earlier = _alters(begun, after, closed, always, names, keeps_units)
    drops, present = _drops(begun.present, scale, after)
    sink = SinkState(present, scale, closed, begun.types, begun.domains, begun.units, earlier)
    return sink, Markers(adds, punctuations, alters, drops)


def begin(
    before: SinkState,
    during: Facts,
    always: frozenset[str] = frozenset(),
    units: Mapping[str, str] = _NO_UNITS,
) -> tuple[SinkState, tuple[str, ...]]:
    """Returns the sink after the growths and Adds that come before an epoch's tuples, and their texts. Alters that
    change only a type precede the Adds, which are described by values of the new types.

    `during`: the output's facts with all attributes that tuples of the epoch may have. `always`: the attributes that
    all of them have. `units`: those of its canonical values that have names. An Add starts its units again, both for
    readers of the stream and for the query that wrote it (G32).

    For example, an attribute comes to sensor 1, and to sensor 2 later; the output announces it before its first tuple:

    >>> from cedilla.compiler.compile import compile_query
    >>> from cedilla.runtime.engines.plain.reference import Reference
    >>> reference = Reference(compile_query('''
    ...   stream r(s: int in {1, 2}, t: double) from json "r";
    ...   out := project[* except s](r);
    ...   emit out to json "out";
    ... ''').plan)
    >>> for accent in ("[[s = 1, +(h: double)]]", "[[s = 2, +(h: double)]]"):
    ...     for output in reference.step([("r", {"$accent": accent})]):
    ...         print(output["out"].markers.adds)
    ('[[+(h: double)]]',)
    ()
    """
    domains, texts = _growths(before, during)
    present, scale, named = dict(before.present), dict(before.scale), dict(before.units)
    earlier = dict(before.earlier)
    types = {**during.types, **before.types}
    texts += _retyped(types, present, during)
    for name, presence in during.present.items():
        announced_presence = present.get(name, ABSENT)
        new = regions.difference(_came(presence, announced_presence), during.closed)
        # An Add does not name its attribute (G23), and is about tuples that are defined on it.
        new = regions.exists(regions.intersection(new, regions.defined(name)), {name}, during.universe)
        nowhere = during.closed
        for other in sorted(always & regions.attributes(new)):
            new = regions.intersection(new, regions.defined(other))
            nowhere = regions.union(nowhere, regions.complement(regions.defined(other)))
        if regions.is_empty(new, during.universe):
            continue
        announced: Tree = False
        type_ = during.types[name]
        unit = units.get(name, "") if type_.is_numeric else ""
        if named.setdefault(name, unit) == "":  # for readers without an announced unit, it stays without one
            unit = ""
        add = Add(name, type_, unit or None)
        announced_before = regions.difference(_is_present(announced_presence), nowhere)
        for text, box in accents_of(
            new, during, scale, nowhere, add, outer=True, always=always, without=announced_before
        ):
            texts.append(text)
            announced = regions.union(announced, box)
        present[name] = regions.update(announced_presence, announced, lambda _: PRESENT)
        if name in scale:
            scale[name] = regions.update(scale[name], announced, lambda _: IDENTITY)
        if name in earlier:
            earlier[name] = regions.update(earlier[name], announced, lambda _: NONE)
    texts += _retyped(types, present, during)
    return SinkState(present, scale, before.closed, types, domains, named, earlier), tuple(texts)


def _lists(facts: Facts) -> dict[str, Tree]:
    """Returns the attributes whose domain is a list of values, with these lists."""
    return {
        name: domain.members
        for name, domain in facts.universe.items()
        if name in facts.types and domain.is_list
    }


def _growths(before: SinkState, during: Facts) -> tuple[dict[str, Tree], list[str]]:
    """Returns the lists that readers know after this epoch, and the texts that announce new values (theory N1).

    Attributes that the output has altered are excluded: a list is in canonical units, which readers no longer see.
    """
    domains, texts = dict(before.domains), list[str]()
    for name, members in _lists(during).items():
        if (announced := domains.setdefault(name, members)) is members:
            continue
        new = regions.intersection(regions.difference(members, announced), regions.defined(name))
        if name not in before.scale and isinstance(new, Level):
            listed = sorted(value for value, inside in new.points.items() if inside)
            member_texts = ", ".join(map(during.types[name].wire, listed))
            texts.append(f"[[grow({name}, {{{member_texts}}})]]")
            domains[name] = members
    return domains, texts


def _retyped(types: dict[str, Type], present: Mapping[str, Tree], during: Facts) -> list[str]:
    """Returns the texts that tell readers the types of numbers to which an Alter at a source has given others. `types`:
    those that readers know, which it changes. `present`: where readers know attributes.

    Values in the old units may already have a fraction while the Alter waits for others (D1).
    """
    texts: list[str] = []
    for name, type_ in during.types.items():
        if present.get(name, ABSENT) is not ABSENT and (functions := announcing(types[name], type_)):
            texts += (accent_text((), Alter(name, function)) for function in functions)
            types[name] = type_
    return texts


def _drops(
    announced_presence: Mapping[str, Tree], scale: Mapping[str, Tree], after: Facts
) -> tuple[tuple[str, ...], dict[str, Tree]]:
    texts: list[str] = []
    present = dict(announced_presence)
    for name, presence in announced_presence.items():
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
    """Returns punctuations in the units of the tuples that they follow (theory 3.3), and the region that is closed
    after them. A list of values may grow: no punctuation closes values outside of it unless all of its values are
    closed (theory N1)."""
    new = regions.difference(after.closed, before.closed)
    more = regions.difference(before.closed, after.closed)
    closed = after.closed if more is False else regions.union(after.closed, more)
    if regions.is_empty(new, after.universe):
        return (), closed
    texts: list[str] = []
    fixed = {name: domain for name, domain in after.universe.items() if not domain.is_list}
    plain = {name: domain for name, domain in fixed.items() if name not in before.scale}
    free = closed_for_readers(after.closed, after.universe)
    boxes = list(simple_boxes(new, fixed, free))
    if any(name in before.scale for box in boxes for name in box):
        # One range of the values that readers see may be several ranges of canonical values.
        impossible = regions.union(
            *(regions.complement(fixed[n].members) for n in fixed.keys() - plain.keys())
        )
        raw, free = regions.difference(new, impossible), regions.union(free, impossible)
        boxes = simple_boxes(translate(raw, before.scale), plain, translate(free, before.scale))
    for box in boxes:
        if regions.is_empty(regions.box(box), plain):
            continue
        described = mapped_into(True, regions.box(box), before.scale)
        if regions.difference(described, after.closed) is not False:
            closed = regions.union(closed, described)
        for text, _ in patterns.conjunctions(box, after.types, outer=False, universe=plain):
            texts.append(punctuation_text(text))
    return tuple(texts), closed


def _alters(
    before: SinkState,
    after: Facts,
    closed: Tree,
    always: frozenset[str],
    names: UnitNames,
    keeps_units: KeepsUnits | None,
) -> tuple[tuple[str, ...], dict[str, Tree], dict[str, Tree]]:
    """Returns the texts of Alters, and the output's scale and its earlier functions after them. `closed`: what the
    output has closed. `always`: attributes that all tuples have. `names`: of the units that Alters lead to."""
    texts: list[str] = []
    scale, earlier = dict(before.scale), dict(before.earlier)
    for name in after.units:
        units, old = told_apart(name, after), scale.get(name, IDENTITY)
        is_kept = keeps_units and keeps_units(name)
        target: Tree = IDENTITY if is_kept else next_functions(units, old, earlier.get(name, NONE))
        if target is old:
            continue
        if not (cells := changes(target, old)):
            continue
        named = name in names.units
        closed_for_readers = named and _surely_closed(closed, before.scale, after.universe)
        # A Drop that extended into closed tuples may have removed it for readers.
        readers_have, dead = _may_be(before.present.get(name, ABSENT)), after.dead(name)
        for function, cell in cells.items():
            live = regions.difference(regions.intersection(cell, readers_have), dead)
            live = regions.exists(live, {name}, after.universe)
            nowhere = regions.union(after.closed, _unfed(units, scale.get(name, IDENTITY), live, always))
            nowhere = regions.intersection(nowhere, readers_have)
            if regions.is_empty(live, after.universe):
                continue
            announced: Tree = False
            alter = Alter(name, function)
            primitive_for = (
                partial(_in_unit, alter, scale.get(name, IDENTITY), closed_for_readers, names)
                if named
                else None
            )
            for text, box in accents_of(
                live, after, scale, nowhere, alter, outer=False, primitive_for=primitive_for
            ):
                texts.append(text)
                announced = regions.union(announced, box)
            was = scale.get(name, IDENTITY)
            scale[name] = regions.update(was, announced, lambda f, function=function: function.after(f))
            before_it = earlier.get(name, NONE)
            if (now := with_left(before_it, was, announced, after)) is not before_it:
                earlier[name] = now
    return tuple(texts), scale, earlier


def _in_unit(alter: Alter, scale: Tree, closed: Tree, names: UnitNames, described: Tree) -> Alter:
    """Returns an Alter with the unit that all described values are in after it, if they share one that has a name.

    Values outside the announced domains count too. `closed`: the region that is closed for readers.
    """
    inside = regions.restricted(scale, regions.difference(described, closed))
    before = {leaf for leaf in regions.leaves(inside) if leaf is not False}
    if len(before) != 1:
        return alter
    return evolve(alter, unit=names.of(alter.attribute, alter.function.after(before.pop())))


def _surely_closed(closed: Tree, scale: Mapping[str, Tree], universe: Universe) -> Tree:
    """Returns the part of a closed region that readers know to be closed: only possible values, and only tuples that
    have the attributes, because punctuations cannot describe others."""
    mentioned = regions.attributes(closed).union(*map(regions.attributes, scale.values()))
    possible = (
        regions.intersection(universe.get(n, ANYTHING).members, regions.defined(n)) for n in mentioned
    )
    return regions.intersection(closed, *possible)


def _of_all_values(name: str, gone: Tree, now: Tree, after: Facts) -> Tree:
    """Returns a Drop's region without conditions on the attribute itself (G23). Closed or stored tuples may still have
    some of its values; the Drop waits until no tuple can have any.

    For example, h is dropped for `h < 5`, and values from 5 on may still come:

    >>> from cedilla.compiler.expressions.types import DOUBLE
    >>> low, high = regions.interval("h", None, (5, 0)), regions.interval("h", (5, 0), None)
    >>> now = regions.choose(low, ABSENT, PRESENT)
    >>> facts = Facts({"h": DOUBLE}, {}, {"h": now})
    >>> print(_of_all_values("h", low, now, facts))
    False
    >>> print(_of_all_values("h", low, now, evolve(facts, closed=high)))
    True
    """
    left = regions.difference(regions.map_leaves(now, lambda leaf: leaf is not ABSENT), after.closed)
    left = regions.intersection(left, regions.defined(name))
    over = {name}
    return regions.difference(
        regions.exists(gone, over, after.universe), regions.exists(left, over, after.universe)
    )


def _unfed(units: Tree, scale: Tree, live: Tree, always: frozenset[str]) -> Tree:
    """Returns the region where no tuples come to a relation now and readers know the same units as in `live`.

    Its waiting tuples can go over to new units with the others, so that their Alter does not distinguish them: readers
    could not take it after an Add of an attribute that distinguishes them (RQ467). `always`: the attributes of
    all tuples.
    """
    unfed = [regions.complement(regions.defined(name)) for name in always & regions.attributes(live)]
    if (region := _without_feeder(units)) is not False:
        unfed.append(region)
    if not unfed:
        return False
    units_there = [leaf for leaf in regions.leaves(regions.restricted(scale, live)) if leaf is not False]
    if len(units_there) != 1:
        return False
    return regions.map_leaves(_within(scale, regions.union(*unfed)), lambda leaf: leaf == units_there[0])


@regions.pointwise
def _within(scale: Tree, region: Tree) -> Tree:
    """Returns the functions inside a region, which are few: each function that is announced asks for them."""
    return regions.restricted(scale, region)


@regions.pointwise
def _without_feeder(units: Tree) -> Tree:
    return regions.map_leaves(units, lambda history: history == NO_FEEDER)


@regions.remembered
def _came(presence: Tree, announced: Tree) -> Tree:
    """Returns the region where an attribute is present and not announced. Also contains the region where it may be
    present and a query that was edited during the run has not announced it."""
    unsaid = regions.difference(_may_be(presence), _may_be(announced))
    return regions.union(regions.difference(_is_present(presence), _is_present(announced)), unsaid)


@regions.remembered
def _went(announced: Tree, presence: Tree) -> Tree:
    """Returns the region where an attribute is absent and its absence not announced."""
    return regions.difference(_may_be(announced), _may_be(presence))


def _is_present(presence: Tree) -> Tree:
    return regions.map_leaves(presence, lambda leaf: leaf is PRESENT)


def _may_be(presence: Tree) -> Tree:
    return regions.map_leaves(presence, lambda leaf: leaf is not ABSENT)
