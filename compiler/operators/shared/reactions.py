"""Derives the reactions of an operator to accents from its facts: does an accent on an input change the output (D1)?

The inputs of a probe have no closed regions, and their attributes may have any value. So a reaction is that of the
theory's rules; in a run a domain or a punctuation may release an accent earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Literal

from attrs import define, evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, PRESENT, Facts, History, Presence
from cedilla.compiler.operators.shared.base import Kind, Operator
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import Affine

NO_MENTIONS: frozenset[str] = frozenset()
SCALED = Affine(2, 0)
"""An Alter without an offset."""
SHIFTED = Affine(2, 7)
"""An Alter with one."""


_ANOTHER = "**"  # an attribute that no query can name

_Effect = dict[str, Tree]
"""Output attribute -> its presence or its units, of those that an accent changes."""


@frozen
class Signature:
    """Foundation, Merge and Accumulator attributes of the input (paper, section 6.2)."""

    foundation: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    accumulate: tuple[str, ...] = ()


@frozen
class Reaction:
    """The reaction of an operator to an accent on one attribute.

    `passes`: the output attributes that carry the accent on. `mentions`: the attributes that its description names
    after the operator. `functions`: the functions of an Alter after the operator, by the attributes of `passes`.
    """

    kind: Literal["propagates", "coordinates", "accumulates", "absorbed", "ignored", "aborts"]
    rule: str
    passes: tuple[str, ...] = ()
    mentions: frozenset[str] = NO_MENTIONS
    functions: Mapping[str, Affine] = field(factory=dict[str, Affine])


@define(eq=False, slots=False)
class Probe:
    """An accent on one attribute of input `side`, applied to inputs that have what the operator reads, and little else.

    `function`: of an Alter. Of the inputs only the types count, and which attributes may be undefined.
    """

    operator: Operator
    kind: Kind
    attribute: str
    inputs: tuple[Facts, ...]
    side: int
    function: Affine

    def reaction(self, mentions: frozenset[str]) -> Reaction:
        """Returns the reaction to the accent if its description names some attributes."""
        if self._refusal is not None:
            return self._refusal
        alone, meeting, passes = self._plain
        if not passes:
            return self._without_effect
        shown, kept = (self._immediate_effect(mentions) if mentions else passes), mentions
        if shown.keys() != passes.keys():  # it waits for other values of what is folded away
            kept = frozenset(
                m for m in mentions if self._immediate_effect(frozenset({m})).keys() == passes.keys()
            )
            shown = self._immediate_effect(kept)
        functions = {n: _latest(tree) for n, tree in passes.items()} if self.kind == "alter" else {}
        described = frozenset[str]().union(*map(regions.attributes, shown.values())) if kept else NO_MENTIONS
        onward = tuple(passes), described, functions
        rules, rule = self.operator.rules, self.operator.rules.of(self.kind)
        if kept != mentions:
            return Reaction("accumulates", rules.partial or rule, *onward)
        if alone.keys() != (meeting if self.kind == "add" else passes).keys():
            return Reaction("coordinates", rules.merged[self.kind] if rules.merged else rule, *onward)
        if rules.read and self.kind == "alter" and self.attribute in self._reads:
            rule = rules.read
        moved = filter(None, map(self.operator.moved, sorted(mentions - described)))
        return Reaction("propagates", next(moved, rule), *onward)

    @cached_property
    def _reads(self) -> Mapping[str, str]:
        return self.operator.reads(self.side)

    @cached_property
    def _refusal(self) -> Reaction | None:
        """The end of the query: a Drop of a needed attribute (Foundation), or an Add of a second one (J2, G11)."""
        needed: Mapping[str, str] = self.operator.needs(self.inputs, self.side) if self.kind == "drop" else {}
        if self.attribute in needed:
            return Reaction("aborts", needed[self.attribute])
        if self.kind != "add":
            return None
        reasons = [
            side == self.side or f.may_have(self.attribute) is not False for side, f in enumerate(self.inputs)
        ]
        both = (
            self._facts(self.operator, side, NO_MENTIONS, PRESENT if has else None)
            for side, has in enumerate(reasons)
        )
        return Reaction("aborts", "J2") if self.operator.conflict(tuple(both)) == self.attribute else None

    @cached_property
    def _plain(self) -> tuple[_Effect, _Effect, _Effect]:
        """The effects without a description: alone, with the other input evolved alike, and all that are possible."""
        effects = self._effects(NO_MENTIONS)
        return effects[0], effects[1], _united(effects)

    def _immediate_effect(self, mentions: frozenset[str]) -> _Effect:
        """Returns the changes that show at once, in some state of all other inputs and attributes."""
        return _united(self._effects(mentions))

    def _effects(self, mentions: frozenset[str]) -> list[_Effect]:
        """Returns the effects with nothing else evolved; with the other input evolved alike; and with the input's other
        attributes evolved, which may also give a computed value (G20)."""
        alone = self._effect(mentions, False, False)
        effects = [alone, self._effect(mentions, True, False) if len(self.inputs) > 1 else alone]
        return [*effects, self._effect(mentions, True, True)] if self._instead else effects

    @cached_property
    def _without_effect(self) -> Reaction:
        """The reaction if nothing changes: absorbed if the attribute is read or comes out unaltered, else ignored."""
        rules = self.operator.rules
        if self.attribute in self._reads:
            return Reaction("absorbed", self._reads[self.attribute])
        added = evolve(
            self, kind="add", inputs=tuple(_without(self.attribute, facts) for facts in self.inputs)
        )
        comes_out = any(added._effects(NO_MENTIONS))
        return Reaction("absorbed", rules.absorbed) if comes_out else Reaction("ignored", rules.ignored)

    @cached_property
    def _instead(self) -> list[str]:
        """The other attributes that the operator reads and that may be undefined."""
        if self.kind == "alter" or self.attribute not in self._reads:
            return []
        source = self.inputs[self.side]
        others = (name for name in self._reads if name != self.attribute and name in source.types)
        return [name for name in others if source.may_be_undefined(name)]

    def _effect(self, mentions: frozenset[str], met: bool, apart: bool) -> _Effect:
        operator = self.operator.about(mentions | {self.attribute})
        is_new = self.kind == "add" and self.attribute not in self.inputs[self.side].types
        begin = None if is_new else ABSENT if self.kind == "add" else PRESENT
        source = self._facts(operator, self.side, mentions, begin)
        if apart:
            source = evolve(source, present={**source.present, **dict.fromkeys(self._instead, ABSENT)})
        region = regions.box({name: _some(name, source.types[name]) for name in mentions})
        inputs = [self._other(operator, side, met) for side in range(len(self.inputs))]
        inputs[self.side] = source
        before = operator.facts(tuple(inputs))
        inputs[self.side] = self._evolved(source, region)
        return dict(self._changes(before, operator.facts(tuple(inputs))))

    def _changes(self, before: Facts, after: Facts) -> Iterator[tuple[str, Tree]]:
        for name in after.types:
            if self.kind == "alter":
                was, now = (_shortest(facts.units.get(name, ORIGINAL)) for facts in (before, after))
            else:
                was, now = (facts.present.get(name, ABSENT) for facts in (before, after))
            if was != now:
                yield name, now

    def _other(self, operator: Operator, side: int, met: bool) -> Facts:
        """Returns another input, with the attribute if the operator allows that. `met`: it has evolved alike."""
        if side == self.side:
            return self.inputs[side]
        both = tuple(self._facts(operator, index, NO_MENTIONS, PRESENT) for index in range(len(self.inputs)))
        if operator.conflict(both) == self.attribute:
            return self._facts(operator, side, NO_MENTIONS, None)
        if self.kind == "add":
            here = ABSENT if self.attribute in self.inputs[side].types else None
            return self._facts(operator, side, NO_MENTIONS, PRESENT if met else here)
        return self._evolved(both[side], True) if met else both[side]

    def _facts(
        self, operator: Operator, side: int, mentions: frozenset[str], presence: Presence | None
    ) -> Facts:
        """Returns an input with what is read or described of it. `presence`: that of the accent's attribute."""
        source = self.inputs[side]
        named = {*operator.reads(side), *mentions} - {self.attribute}
        types = {name: type_ for name, type_ in source.types.items() if name in named}
        types |= dict.fromkeys(mentions - types.keys() - {self.attribute}, DOUBLE)
        present = dict.fromkeys(types, PRESENT)
        if presence is not None:
            types[self.attribute], present[self.attribute] = self._type, presence
        return Facts(types, {}, present, lacking=source.lacking & types.keys())

    @cached_property
    def _type(self) -> Type:
        types = (facts.types.get(self.attribute) for facts in (self.inputs[self.side], *self.inputs))
        return next((type_ for type_ in types if type_ is not None), DOUBLE)

    def _evolved(self, facts: Facts, region: Tree) -> Facts:
        """Returns an input after the accent on a region."""
        name = self.attribute
        if self.kind == "alter":
            units = regions.update(ORIGINAL, region, lambda history: (*history, self.function))
            return evolve(facts, units={**facts.units, name: units})
        later = PRESENT if self.kind == "add" else ABSENT
        present = regions.update(facts.present.get(name, ABSENT), region, lambda _: later)
        return evolve(
            facts, types={**facts.types, name: self._type}, present={**facts.present, name: present}
        )


def reaction(
    operator: Operator,
    kind: Kind,
    attribute: str,
    mentions: frozenset[str],
    inputs: tuple[Facts, ...],
    side: int,
    function: Affine = SCALED,
) -> Reaction:
    """Returns the reaction to an accent on `attribute` from input `side` whose description names `mentions`.

    >>> from cedilla.compiler.compile import compile_query
    >>> plan = compile_query('''
    ...   stream r(s: int, l: string, t: double) from json "r" punctuated on l;
    ...   means := aggregate[avg(t) as mean, count() as n by l](r);
    ...   emit means to json "means";
    ... ''').plan
    >>> means, inputs = plan.operator_of["means"], (plan.start["r"],)
    >>> def to(kind: Kind, attribute: str, *mentions: str) -> tuple[str, str, tuple[str, ...]]:
    ...     answer = reaction(means, kind, attribute, frozenset(mentions), inputs, 0)
    ...     return answer.kind, answer.rule, answer.passes
    >>> to("alter", "t")
    ('propagates', 'A4', ('mean',))
    >>> to("alter", "t", "s")  # the description names s, which the output lacks
    ('accumulates', 'A4', ('mean',))
    >>> to("alter", "s")
    ('ignored', 'A1', ())
    >>> to("drop", "l")
    ('aborts', 'A3', ())
    """
    return Probe(operator, kind, attribute, inputs, side, function).reaction(mentions)


def signature(operator: Operator, inputs: tuple[Facts, ...]) -> Signature:
    """Returns the attribute profiles of an operator (paper, section 6.2).

    Foundation: the operator needs them. Merge: accents on them wait for the other input. Accumulate: accents whose
    description names them wait for their other values.
    """
    foundation = dict.fromkeys(name for side in range(len(inputs)) for name in operator.needs(inputs, side))
    merge: dict[str, None] = {}
    accumulate: dict[str, None] = {}
    for side, facts in enumerate(inputs):
        for name in facts.types:
            kind = reaction(operator, "alter", name, NO_MENTIONS, inputs, side).kind
            merge |= {name: None} if kind == "coordinates" else {}
        for carried in islice(_carried(operator, inputs, side), 2):
            probe = Probe(operator, "alter", carried, inputs, side, SCALED)
            waits = (n for n in facts.types if probe.reaction(frozenset({n})).kind == "accumulates")
            accumulate |= dict.fromkeys(name for name in waits if name != carried)
    accumulate = {name: None for facts in inputs for name in facts.types if name in accumulate}
    return Signature(tuple(foundation), tuple(merge), tuple(accumulate))


def _carried(operator: Operator, inputs: tuple[Facts, ...], side: int) -> Iterator[str]:
    """Yields the attributes whose Alters pass, first those that wait for no other input."""
    names = (_ANOTHER, *inputs[side].types)
    kinds = {name: reaction(operator, "alter", name, NO_MENTIONS, inputs, side).kind for name in names}
    for kind in ("propagates", "coordinates"):
        yield from (name for name in names if kinds[name] == kind)


def _some(name: str, type_: Type) -> Tree:
    """Returns an arbitrary part of the values of an attribute."""
    return regions.interval(name, (7, 0), None) if type_.is_axis else regions.defined(name)


def _united(effects: list[_Effect]) -> _Effect:
    return {name: tree for effect in effects for name, tree in effect.items()}


def _without(name: str, facts: Facts) -> Facts:
    return evolve(facts, types={n: type_ for n, type_ in facts.types.items() if n != name})


def _shortest(units: Tree) -> Tree:
    """Removes functions that change nothing from histories."""
    return regions.map_leaves(units, _without_repeats)


def _without_repeats(history: History) -> History:
    """Removes functions that change nothing. A history without live feeders has no meaning, so it is the original."""
    return tuple(f for i, f in enumerate(history) if i == 0 or f != history[i - 1]) or ORIGINAL


def _latest(units: Tree) -> Affine:
    """Returns the function that an Alter has become."""
    return next(h[-1] for h in regions.leaves(units) if len(h) > 1)
