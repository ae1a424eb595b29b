"""Writes the markers of a canonical stream as wire text (theory 2.4, 3.3).

Regions become descriptions again: one conjunction, or several disjoint ones. A region that no conjunction can
express is reported (RQ213).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Change
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.expressions.units.units import leads
from cedilla.compiler.facts.markers import accent_text, punctuation_text
from cedilla.compiler.regions import Box, Domain, Level, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Severity
from cedilla.grammar.formatting.expression_formatter import format_accent
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AlterAttribute
from cedilla.runtime.control.accents.trees import rename_raw_values, restrict_to
from cedilla.runtime.control.descriptions.boxes import simple_boxes
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import UnitNames
from cedilla.runtime.tools.stream_tools import replacements
from cedilla.runtime.tools.stream_tools.replacements import Described

Conjunction = tuple[tuple[str, ...], Box]
"""The conditions of a marker, and the box that they describe."""
Maps = Mapping[str, Tree]
"""Attribute -> tree over raw values: the function to the canonical value."""


@frozen
class Canonical:
    """A canonical stream without its tuples, in output order.

    `names`: renames and recodes. `lost`: warnings about regions that the wire cannot express.
    """

    adds: tuple[str, ...]
    punctuations: tuple[str, ...]
    alters: tuple[str, ...]
    drops: tuple[str, ...]
    names: tuple[str, ...]
    lost: tuple[Diagnostic, ...] = ()


@frozen
class CanonicalMarker:
    """A marker of the canonical stream, with its original text if that is still right."""

    item: Any
    text: str | None = None


class Writer:
    """Writes regions as wire text, in the types and value sets at the stream's end.

    `start`, `state`: the states at the start and the end, over values whose codes are canonical.
    """

    def __init__(
        self,
        start: SourceState,
        state: SourceState,
        always: set[str],
        required: set[str],
        born: set[str],
        names: UnitNames,
    ) -> None:
        self._types: Mapping[str, Type] = state.types
        self._altered = state.units.keys()
        self._start = start.original  # not canonical if each tuple names its unit (N5)
        self._original = state.original
        self._units = state.notes.added_units
        self._names = names
        self._required = {
            name: _without_undefined(name, domain, always & required)
            for name, domain in state.universe.items()
        }
        self._canonical = {name: _without_undefined(name, d, always) for name, d in state.universe.items()}
        # A declared domain is in canonical units and codes.
        self._first, self._raw = (
            {
                name: _without_undefined(name, Domain(True, False), always) if name in units else domain
                for name, domain in self._canonical.items()
            }
            for units in (start.units, state.units)
        )
        self._lost: list[Diagnostic] = []
        self._there: dict[str, Tree] = dict.fromkeys(born, True)
        """The region where each attribute exists before any Drop."""

    def write(
        self,
        adds: Iterable[CanonicalMarker],
        punctuations: Iterable[CanonicalMarker],
        alters: Iterable[CanonicalMarker],
        drops: Iterable[Described],
        names: Iterable[Described],
    ) -> Canonical:
        closing = _absorbed(punctuations)
        closed = regions.union(*(marker.item.pattern for marker in closing))
        closed = regions.intersection(closed, *map(regions.defined, regions.attributes(closed)))
        closed = translate(closed, self._start)
        return Canonical(
            tuple(text for add in adds for text in self._add(add)),
            tuple(text for marker in closing for text in self._punctuation(marker)),
            tuple(
                text
                for marker, before in self._placed(_composed(alters))
                for text in self._alter(self._in_unit(marker, before, closed), before)
            ),
            tuple(text for drop in drops for text in self._drop(drop)),
            tuple(
                text
                for described in names
                for text in self._alter(CanonicalMarker(described), self._original)
            ),
            tuple(self._lost),
        )

    def _add(self, marker: CanonicalMarker) -> Iterator[str]:
        name, region = marker.item.primitive.attribute, marker.item.description
        texts = [
            accent_text(conditions, Add(name, self._types[name], self._units.get(name)))
            for conditions, box in self._exactly(region, self._first, marker.item.primitive)
            if self._is_of_tuples(box, self._start, True)
        ]
        if not texts and name not in self._there:  # later markers may use the attribute
            which = "only tuples that lack what all tuples have"
            raise DiagnosticError([_no_words("error", which, marker.item.primitive)])
        self._there[name] = regions.union(self._there.get(name, False), translate(region, self._start))
        yield from texts

    def _placed(self, alters: Sequence[CanonicalMarker]) -> Iterator[tuple[CanonicalMarker, Maps]]:
        """Yields the Alters, each with the functions to canonical values before it; unchanged ones if not
        needed.
        """
        needed = self._names.units or any(
            marker.text is None or self._there.get(marker.item.primitive.attribute) is not True
            for marker in alters
        )
        original = self._start
        for marker in alters:
            yield marker, original
            if needed:
                alter = marker.item.primitive
                changes = restrict_to(marker.item.description, alter.function)
                original = rename_raw_values(original, alter.attribute, changes)

    def _in_unit(self, marker: CanonicalMarker, before: Maps, closed: Tree) -> CanonicalMarker:
        """Gives an Alter the unit of the values after it, if that has a name.

        In canonical order the Alter applies to other tuples, so a unit that was right before may be wrong
        here.
        """
        described, alter = marker.item.description, marker.item.primitive
        if alter.attribute not in self._names.units or (marker.text is not None and alter.unit is None):
            return marker
        behind = self._behind(alter, described, before, closed)
        unit = None if behind is None else self._unit(alter, behind)
        text = marker.text
        if text is not None and unit != alter.unit:
            accent = parse_accent(text)
            assert isinstance(accent.primitive, AlterAttribute)
            text = format_accent(evolve(accent, primitives=(evolve(accent.primitive, unit=unit),)))
        return CanonicalMarker(evolve(marker.item, primitive=evolve(alter, unit=unit)), text)

    def _behind(self, alter: Alter, described: Tree, original: Maps, closed: Tree) -> Affine | None:
        """Returns the function of all possible values of `described` after an Alter; `None` if there are
        several.

        `original`: the functions to canonical values before it.
        """
        functions: set[Affine] = set()
        before = regions.restricted(original.get(alter.attribute, IDENTITY), described)
        for undone, cell in regions.cells(before).items():
            if undone is not False:
                possible = regions.difference(translate(cell, original), closed)
                if not regions.is_empty(possible, self._required):
                    functions.add(alter.function.after(undone.inverse()))
        return functions.pop() if len(functions) == 1 else None

    def _unit(self, alter: Alter, behind: Affine) -> str | None:
        of = self._names.units[alter.attribute]
        if alter.unit is not None and leads(behind, of, alter.unit):
            return alter.unit
        return self._names.of(alter.attribute, behind)

    def _alter(self, marker: CanonicalMarker, before: Maps) -> Iterator[str]:
        """Yields an Alter, unless no tuple ever had the attribute (P-dead): a reader would reject it."""
        alter: Described = marker.item
        existing = self._there.get(alter.primitive.attribute, False)
        if marker.text is None:
            for conditions, box in self._exactly(alter.description, self._raw, alter.primitive):
                if self._is_of_tuples(box, before, existing):
                    yield accent_text(conditions, alter.primitive)
        elif existing is True or self._may_be(alter.description, before, existing):
            yield marker.text

    def _drop(self, drop: Described) -> Iterator[str]:
        for conditions, box in self._inside(drop.description, self._raw, drop.primitive):
            if self._is_of_tuples(box, self._original, True):
                yield accent_text(conditions, drop.primitive)

    def _is_of_tuples(self, box: Box, original: Maps, tuples: Tree) -> bool:
        """Returns True if a box describes possible canonical tuples of a region.

        `original`: the functions from its values to canonical ones, which domains use.
        """
        if tuples is True and self._altered.isdisjoint(box):
            return True
        return self._may_be(regions.box(box), original, tuples)

    def _may_be(self, raw: Tree, original: Maps, tuples: Tree) -> bool:
        region = regions.intersection(translate(raw, original), tuples)
        return not regions.is_empty(region, self._canonical)

    def _punctuation(self, marker: CanonicalMarker) -> Iterator[str]:
        if marker.text is not None:
            yield marker.text
            return
        for conditions, _ in self._inside(marker.item.pattern, self._first, None):
            yield punctuation_text(conditions)

    def _exactly(self, region: Tree, universe: Universe, primitive: Change) -> Iterator[Conjunction]:
        for box, lost in self._boxes(region, universe, primitive):
            if lost is not None:
                raise DiagnosticError([_no_words("error", f"tuples without `{lost}`", primitive, lost)])
            yield from patterns.conjunctions(box, self._types, outer=False, universe=universe)

    def _inside(self, region: Tree, universe: Universe, primitive: Change | None) -> Iterator[Conjunction]:
        for box, lost in self._boxes(region, universe, primitive):
            if lost is not None:
                self._lost.append(_no_words("warning", f"tuples without `{lost}`", primitive, lost))
            if not any(members is False for members in box.values()):
                yield from patterns.conjunctions(box, self._types, outer=False, universe=universe)

    def _boxes(
        self, region: Tree, universe: Universe, primitive: Change | None
    ) -> Iterator[tuple[dict[str, Tree], str | None]]:
        """Yields disjoint boxes of defined values, each with an attribute whose ⊥ had to be omitted, if any."""
        if primitive is not None and (own := primitive.attribute) in regions.attributes(region):
            raise DiagnosticError([_no_words("error", f"some values of `{own}` itself (G23)", primitive)])
        for box in simple_boxes(possible(region, universe), universe, False):
            if regions.is_empty(regions.box(box), universe):
                continue
            conditions: dict[str, Tree] = {}
            lost: str | None = None
            for name, members in box.items():
                if members is True:
                    continue
                conditions[name] = regions.intersection(members, regions.defined(name))
                left_out = regions.difference(regions.box(box), regions.box({**box, name: conditions[name]}))
                if not regions.is_empty(left_out, universe):
                    lost = name
            if lost is not None or not any(members is False for members in conditions.values()):
                yield conditions, lost


def possible(region: Tree, universe: Universe) -> Tree:
    """Returns a region without its part outside declared domains."""
    domains = [universe[name].members for name in regions.attributes(region) if name in universe]
    return regions.intersection(
        region, *(d for d in domains if isinstance(d, Level) and (d.cuts or d.points))
    )


def _without_undefined(name: str, domain: Domain, always: set[str]) -> Domain:
    if name not in always:
        return domain
    return Domain(regions.intersection(domain.members, regions.defined(name)), domain.integral)


def _composed(alters: Iterable[CanonicalMarker]) -> list[CanonicalMarker]:
    """Composes neighbouring Alters of one attribute and description (R11), or cancels them (R10)."""
    kept: list[CanonicalMarker] = []
    for marker in alters:
        composed = replacements.r11(kept[-1].item, marker.item) if kept else None
        if composed is None:
            kept.append(marker)
        else:
            annihilated = replacements.r10(kept.pop().item, marker.item) is not None
            kept += [] if annihilated else [CanonicalMarker(composed[0])]
    return kept


def _absorbed(punctuations: Iterable[CanonicalMarker]) -> list[CanonicalMarker]:
    """Drops punctuations that later ones imply (theory 3.1)."""
    kept: list[CanonicalMarker] = []
    closed: Tree = False
    for marker in reversed(list(punctuations)):
        if regions.difference(marker.item.pattern, closed) is not False:
            closed = regions.union(closed, marker.item.pattern)
            kept.append(marker)
    return kept[::-1]


def _no_words(
    severity: Severity, which: str, primitive: Change | None, attribute: str | None = None
) -> Diagnostic:
    subject = f"the accent {primitive}" if primitive is not None else "a punctuation"
    message = f"{subject} concerns {which}, which no description on the wire can say"
    hint = f"if every tuple has `{attribute}`, declare it without `?` in the schema" if attribute else None
    if severity == "warning":
        message = f"{message}; it is narrower in the canonical stream"
    return Diagnostic("RQ213", severity, message, help=hint)
