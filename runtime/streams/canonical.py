"""The markers of a canonical stream as wire text (theory 2.4, 3.3).

Regions become descriptions again: conjunctions, disjoint where it takes several. What no conjunction can say is
told (RQ213).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.markers import Add, Alter, Primitive, accent_text, punctuation_text
from cedilla.compiler.regions import Domain, Steps, Tree, Universe
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.units.units import leads
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Severity
from cedilla.grammar.expression_formatter import format_accent
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AlterAttribute
from cedilla.runtime.control.descriptions import simple_boxes
from cedilla.runtime.control.measures import UnitNames
from cedilla.runtime.control.source_state import SourceState
from cedilla.runtime.control.translation import translate
from cedilla.runtime.control.tree_changes import inside, shifted
from cedilla.runtime.streams import replacements
from cedilla.runtime.streams.replacements import Described


@frozen
class Canonical:
    """A canonical stream but for its tuples, in output order; `names`: renames and recodes. `lost`: what the wire has
    no words for."""

    adds: tuple[str, ...]
    punctuations: tuple[str, ...]
    alters: tuple[str, ...]
    drops: tuple[str, ...]
    names: tuple[str, ...]
    lost: tuple[Diagnostic, ...] = ()


@frozen
class CanonicalMarker:
    """A marker of the canonical stream, with its text where that is still as it was read.

    The text of an Add is that of the first of its attribute.
    """

    item: Any
    text: str | None = None


class Writer:
    """Regions back to wire text, in the types and over the values that the stream has at its end."""

    def __init__(
        self, state: SourceState, always: set[str], required: set[str], born: set[str], names: UnitNames
    ) -> None:
        self._types: Mapping[str, Type] = state.types
        self._units = state.added_units
        self._names = names
        self._required = {
            name: _without_undefined(name, domain, always & required)
            for name, domain in state.universe.items()
        }
        self._canonical = {name: _without_undefined(name, d, always) for name, d in state.universe.items()}
        # A declared domain is in canonical units and codes.
        self._raw = {
            name: _without_undefined(name, Domain(True, False), always) if name in state.units else domain
            for name, domain in self._canonical.items()
        }
        self._lost: list[Diagnostic] = []
        self._born = born

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
        return Canonical(
            tuple(text for add in adds for text in self._add(add)),
            tuple(text for marker in closing for text in self._punctuation(marker)),
            tuple(
                text for marker in self._in_units(_composed(alters), closed) for text in self._alter(marker)
            ),
            tuple(text for drop in drops for text in self._drop(drop)),
            tuple(text for each in names for text in self._alter(CanonicalMarker(each))),
            tuple(self._lost),
        )

    def _add(self, marker: CanonicalMarker) -> Iterator[str]:
        name = marker.item.primitive.attribute
        texts = [
            accent_text(conditions, Add(name, self._types[name], self._units.get(name)))
            for conditions in self._exactly(marker.item.description, self._canonical, marker.item.primitive)
        ]
        if not texts and marker.text is not None and name not in self._born:
            texts = [marker.text]  # it describes nothing, but later markers know the attribute
        self._born.add(name)
        yield from texts

    def _in_units(self, alters: Iterable[CanonicalMarker], closed: Tree) -> Iterator[CanonicalMarker]:
        """The Alters with the units that values are in behind them, where these have names. What comes in canonical
        order has come to more tuples, or to other ones, so that a unit may be wrong here that was right before."""
        if not self._names.units:
            yield from alters
            return
        original: dict[str, Tree] = {}
        for marker in alters:
            described, alter = marker.item.description, marker.item.primitive
            name = alter.attribute
            before, original = original, shifted(original, name, inside(described, alter.function))
            if name not in self._names.units or (marker.text is not None and alter.unit is None):
                yield marker
                continue
            behind = self._behind(alter, described, before, closed)
            unit = None if behind is None else self._unit(alter, behind)
            text = marker.text
            if text is not None and unit != alter.unit:
                accent = parse_accent(text)
                assert isinstance(accent.primitive, AlterAttribute)
                text = format_accent(evolve(accent, primitive=evolve(accent.primitive, unit=unit)))
            yield CanonicalMarker(evolve(marker.item, primitive=evolve(alter, unit=unit)), text)

    def _behind(
        self, alter: Alter, described: Tree, original: Mapping[str, Tree], closed: Tree
    ) -> Affine | None:
        """What values have gone through behind an Alter, all that it describes and that may come. `original`: the
        functions that lead to canonical ones before it."""
        found: set[Affine] = set()
        before = regions.restricted(original.get(alter.attribute, IDENTITY), described)
        for undone, cell in regions.cells(before).items():
            if undone is not False:
                possible = regions.difference(translate(cell, original), closed)
                if not regions.is_empty(possible, self._required):
                    found.add(alter.function.after(undone.inverse()))
        return found.pop() if len(found) == 1 else None

    def _unit(self, alter: Alter, behind: Affine) -> str | None:
        of = self._names.units[alter.attribute]
        if alter.unit is not None and leads(behind, of, alter.unit):
            return alter.unit
        return self._names.of(alter.attribute, behind)

    def _alter(self, marker: CanonicalMarker) -> Iterator[str]:
        alter: Described = marker.item
        if marker.text is not None:
            yield marker.text
            return
        for conditions in self._exactly(alter.description, self._raw, alter.primitive):
            yield accent_text(conditions, alter.primitive)

    def _drop(self, drop: Described) -> Iterator[str]:
        for conditions in self._inside(drop.description, self._raw, drop.primitive):
            yield accent_text(conditions, drop.primitive)

    def _punctuation(self, marker: CanonicalMarker) -> Iterator[str]:
        if marker.text is not None:
            yield marker.text
            return
        for conditions in self._inside(marker.item.pattern, self._canonical, None):
            yield punctuation_text(conditions)

    def _exactly(self, region: Tree, universe: Universe, primitive: Primitive) -> Iterator[tuple[str, ...]]:
        for box, lost in self._boxes(region, universe, primitive):
            if lost is not None:
                raise DiagnosticError([_no_words("error", f"tuples without `{lost}`", primitive, lost)])
            yield from patterns.texts(box, self._types, outer=False, universe=universe)

    def _inside(
        self, region: Tree, universe: Universe, primitive: Primitive | None
    ) -> Iterator[tuple[str, ...]]:
        for box, lost in self._boxes(region, universe, primitive):
            if lost is not None:
                self._lost.append(_no_words("warning", f"tuples without `{lost}`", primitive, lost))
            if not any(members is False for members in box.values()):
                yield from patterns.texts(box, self._types, outer=False, universe=universe)

    def _boxes(
        self, region: Tree, universe: Universe, primitive: Primitive | None
    ) -> Iterator[tuple[dict[str, Tree], str | None]]:
        """Disjoint boxes of what is defined, and an attribute whose ⊥ had to be left out of one, if any."""
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
    """A region without what lies outside declared domains."""
    domains = [universe[name].members for name in regions.attributes(region) if name in universe]
    return regions.intersection(
        region, *(d for d in domains if isinstance(d, Steps) and (d.cuts or d.points))
    )


def _without_undefined(name: str, domain: Domain, always: set[str]) -> Domain:
    if name not in always:
        return domain
    return Domain(regions.intersection(domain.members, regions.defined(name)), domain.integral)


def _composed(alters: Iterable[CanonicalMarker]) -> list[CanonicalMarker]:
    """Neighbours of one attribute and description as one Alter (R11), or as none (R10)."""
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
    """Punctuations without those that later ones imply (theory 3.1)."""
    kept: list[CanonicalMarker] = []
    closed: Tree = False
    for marker in reversed(list(punctuations)):
        if regions.difference(marker.item.pattern, closed) is not False:
            closed = regions.union(closed, marker.item.pattern)
            kept.append(marker)
    return kept[::-1]


def _no_words(
    severity: Severity, which: str, primitive: Primitive | None, attribute: str | None = None
) -> Diagnostic:
    what = f"the accent {primitive}" if primitive is not None else "a punctuation"
    message = f"{what} concerns {which}, which no description on the wire can say"
    hint = f"a schema in which `{attribute}` is not optional, if every tuple has it" if attribute else None
    if severity == "warning":
        message = f"{message}; it is narrower in the canonical stream"
    return Diagnostic("RQ213", severity, message, help=hint)
