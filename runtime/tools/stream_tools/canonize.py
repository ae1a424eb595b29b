"""`cedilla canonize`: puts a stream into canonical order (paper, section 5.2; theory 2.4, 3.3).

The order is `+` accents, tuples, punctuations, `≀` accents, `−` accents. Tuples are in the units of the stream's start.
The rules of `replacements` work pair by pair; this module works in one pass. The maps of `SourceState` contain all
Alters so far at once (R6, R7, P-alter), and Adds and Drops of one attribute are one region each (R8, R9).
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO

from attrs import define, evolve, field

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Drop, EpochChange, Recode, Rename, ToUnit
from cedilla.compiler.expressions.types.decimals import is_exact
from cedilla.compiler.facts.facts import ABSENT, LATENT, PRESENT
from cedilla.compiler.facts.markers import Accent, Punctuation
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.diagnostics.printable import json_printable
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.values import applied
from cedilla.runtime.control.accents.codes import active_recodes, unspoken
from cedilla.runtime.control.accents.originals import Originals
from cedilla.runtime.control.descriptions.translation import translate
from cedilla.runtime.control.markers.one_accent import alters_of
from cedilla.runtime.control.markers.undeclared import PassedOver
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.unit_names import source_names
from cedilla.runtime.tools.stream_tools import replacements
from cedilla.runtime.tools.stream_tools.canonical import Canonical, CanonicalMarker, Writer
from cedilla.runtime.tools.stream_tools.not_canonical import changes_midway, check_text, only_undone
from cedilla.runtime.tools.stream_tools.replacements import Closing, Described, Item, Tuple
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.stream_checker import Row, StreamChecker
from cedilla.runtime.tools.stream_tools.tuple_writer import TupleWriter


def canonize(
    lines: Iterable[Line], schema: Schema, output: IO[str], used: Counter[str] | None = None
) -> tuple[Diagnostic, ...]:
    """Writes a valid stream in canonical order, as JSON Lines, and returns warnings.

    Warnings are those about markers, and about descriptions that became narrower. Tuples wait in a temporary
    file. With `used`, the rules are applied pair by pair, in memory, and counted there; the resulting stream
    is equivalent.

    Raises `DiagnosticError` for an invalid stream, with the codes of `validate`; RQ213 for a description that
    the wire cannot express. It writes nothing then.
    """
    follower = StreamChecker(schema)
    start = follower.state
    warnings: list[Diagnostic] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as tuples:
        rows = TupleWriter(tuples, {a.name: a.type for a in schema.source.attributes if is_exact(a.type)})
        gathered = _OneByOne(follower, rows) if used is not None else _AtOnce(follower, rows)
        always = _AlwaysThere(schema)
        for line in (single for many in lines for single in many.singles):
            before = follower.state
            item, diagnostics = follower.take(line)
            if item is None or any(d.severity == "error" for d in diagnostics):
                raise DiagnosticError(evolve(d, help=d.help or _HINT) for d in diagnostics)
            if isinstance(item, EpochChange):
                if follower.state is not before:
                    raise DiagnosticError([line.mark(changes_midway(item), item.text)])
                continue  # no change
            if isinstance(item, Accent) and (problem := only_undone(item)) is not None:
                raise DiagnosticError([line.mark(problem, item.text)])
            warnings += diagnostics
            if isinstance(item, PassedOver):
                continue
            always.see(item)
            plain = before if isinstance(item, Row) else _without_codes(before)
            for marker in _plain(item, before):
                gathered.take(marker, plain, line)
        plan = Plan(name="stream", sources=[schema.source], operators=[], emits=[])
        unit_names = source_names(plan, schema.source, {schema.source.name: follower.state})
        required = {a.name for a in schema.source.attributes if not a.optional}
        declared, state = {a.name for a in schema.source.attributes}, _without_codes(follower.state)
        markers = gathered.end(Writer(start, state, always.names, required, declared, unit_names), used)
        tuples.seek(0)
        ends = [("$punctuation", text) for text in markers.punctuations]
        ends += [("$accent", text) for text in (*markers.alters, *markers.drops, *markers.names)]
        adds = (("$accent", text) for text in markers.adds)
        first, last = ([f"{json.dumps({k: t}, ensure_ascii=False)}\n" for k, t in m] for m in (adds, ends))
        for output_lines in (first, tuples, last):
            output.writelines(map(json_printable, output_lines))
    return (*warnings, *markers.lost)


_HINT = "only a valid stream has a canonical form; `cedilla validate` shows all that is wrong"


class _AlwaysThere:
    """The attributes that every tuple has: descriptions need not cover tuples without them."""

    def __init__(self, schema: Schema) -> None:
        attributes = schema.source.attributes
        self.names = {a.name for a in attributes if not (schema.declared and a.optional)}

    def see(self, item: Accent | Punctuation | Row) -> None:
        match item:
            case Row(_, raw):
                self.names &= raw.keys()
            case Accent(primitive=Drop(attribute)):
                self.names.discard(attribute)
            case _:
                pass


# --- gathering -------------------------------------------------------------------------------------------


def _plain(item: Accent | Punctuation | Row, before: SourceState) -> Sequence[Accent | Punctuation | Row]:
    """Expands an item without a text of its own: a unit accent becomes Alters (theory N4), also that of an
    Add.

    Names of renames become those of attributes (N2), codes of recodes the earlier ones (N3).
    """
    match item:
        case Accent(_, _, Rename() | Recode()):
            return []
        case Accent(named=named) | Punctuation(named=named) if named:
            return _plain(evolve(item, text="", named=frozenset()), before)
        case Accent(_, _, ToUnit() as change):
            return [
                part
                for alter in alters_of(before, item, change)
                for part in _plain(_in_unit(alter, change.unit), before)
            ]
        case Accent(_, _, Add(name, type_, unit, function) as added) if added.converts:
            parts = (Add(name, type_), Alter(name, function, unit))
            return [p for part in parts for p in _plain(evolve(item, text="", primitive=part), before)]
        case Accent(raw) if (region := _recoded_back(raw, before)) is not raw:
            return [evolve(item, text="", description=region)]
        case Punctuation(raw) if (region := _recoded_back(raw, before)) is not raw:
            return [evolve(item, text="", pattern=region)]
        case Row(values, raw, canonical) if before.codes.keys() & raw.keys():
            codes = {name: canonical[name] for name in before.codes.keys() & raw.keys()}
            return [evolve(item, item={**values, **codes}, raw={**raw, **codes}, differs=True)]
        case _:
            return [item]


def _in_unit(accent: Accent, unit: str) -> Accent:
    """Returns an Alter with the unit after it, and without text. Raises `DiagnosticError` RQ213 for a logarithm."""
    if not isinstance(accent.primitive, Alter):
        raise DiagnosticError(filter(None, [only_undone(accent)]))
    return evolve(accent, text="", primitive=evolve(accent.primitive, unit=unit))


def _recoded_back(raw: Tree, state: SourceState) -> Tree:
    """Returns a region over raw values with canonical values of recoded attributes."""
    maps = {name: tree for name, tree in state.original.items() if name in state.codes}
    if not maps:
        return raw
    nothing = translate(unspoken(state.codes, state.universe, raw), state.forward_maps)
    region = regions.difference(translate(raw, maps), nothing)
    return raw if region == raw else region


def _without_codes(state: SourceState) -> SourceState:
    """Returns the state over values whose codes are canonical."""
    if not state.codes:
        return state
    original: dict[str, Tree] = {}
    for name in state.original.keys() - state.codes.keys():
        tree: Tree = IDENTITY
        for function, cell in regions.cells(state.original[name]).items():
            tree = regions.update(tree, _recoded_back(cell, state), lambda _, function=function: function)
        original[name] = tree
    return evolve(state, originals=Originals(original), codes={})


def _resets(accent: Accent, before: SourceState) -> Iterator[Described]:
    """Yields the Alters that an Add implies, in the units at its position.

    An Add begins a new incarnation with its own canonical units (theory 2.5, G32). The rules know no
    incarnations: R9 continues the old one. Therefore the Add undoes the functions of the old values.
    """
    name = accent.primitive.attribute
    if name not in before.units:
        return
    scale = before.forward_maps
    where = before.canonical(accent.description)
    for function in regions.leaves(scale[name]):
        if not function.is_identity:
            cell = regions.map_leaves(scale[name], lambda leaf, f=function: leaf == f)
            raw = translate(regions.intersection(where, cell), scale)
            if raw is not False:
                yield Described(raw, Alter(name, function.inverse()))


def _added(accent: Accent, before: SourceState) -> Iterator[tuple[Tree, bool]]:
    """Yields the canonical regions where an Add is new: without the attribute, and where it is optional
    (True).

    If it was added there before, all tuples are closed (P-dead).
    """
    where, presence = before.canonical(accent.description), _presence(accent, before)
    for leaf in (ABSENT, LATENT):
        yield (
            regions.within(where, presence, lambda before_leaf, leaf=leaf: before_leaf is leaf),
            leaf is LATENT,
        )


def _dropped(accent: Accent, before: SourceState) -> Tree:
    """Returns the canonical region where a Drop removes an attribute."""
    existing = regions.map_leaves(_presence(accent, before), lambda leaf: leaf is not ABSENT)
    return regions.intersection(before.canonical(accent.description), existing)


def _presence(accent: Accent, before: SourceState) -> Tree:
    return before.present.get(accent.primitive.attribute, ABSENT)


def _in_force(state: SourceState) -> Iterator[Described]:
    """Yields the renames and recodes at the end of a canonical stream, for a continuation.

    Raises `DiagnosticError` RQ213 if codes of another attribute determine them.
    """
    names, facts, scale = state.names, state.facts(), state.forward_maps
    changes: list[tuple[Recode | Rename, Tree]] = [*active_recodes(state.codes, state.types)]
    changes += [(Rename(of, name), names.by(of, name)) for name, of in names.of.items()]
    for change, cell in changes:
        existing = regions.intersection(cell, facts.may_have(change.attribute))
        if regions.is_empty(existing, facts.universe):
            continue
        if codes := regions.attributes(existing) & state.codes.keys():
            message = f"the accent {change} is of tuples that codes of `{min(codes)}` tell"
            why = "codes that depend on other codes have no canonical form"
            raise DiagnosticError([Diagnostic("RQ213", "error", message, notes=(why,))])
        check_text(change)
        yield Described(translate(existing, scale), change)


@define
class _AtOnce:
    """Maintains the canonical stream item by item. `start`: functions to the units of the start (N5)."""

    follower: StreamChecker
    rows: TupleWriter
    adds: list[CanonicalMarker] = field(factory=list)
    alters: list[CanonicalMarker] = field(factory=list)
    punctuations: list[CanonicalMarker] = field(factory=list)
    drops: dict[str, Tree] = field(factory=dict[str, Tree])
    announced: dict[str, Tree] = field(init=False)
    initial: frozenset[str] = field(init=False)
    start: Mapping[str, Tree] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.start = self.follower.state.forward_maps
        present = self.follower.state.present
        self.initial = frozenset(present)
        self.announced = {
            name: regions.map_leaves(tree, lambda leaf: leaf is PRESENT) for name, tree in present.items()
        }

    def take(self, item: Accent | Punctuation | Row, before: SourceState, line: Line) -> None:
        match item:
            case Row():
                first = {
                    name: applied(regions.contains(self.start[name], item.canonical), item.canonical[name])
                    for name in self.start.keys() & item.canonical.keys()
                }
                self.rows.write(line, item, {**item.canonical, **first})
            case Punctuation(pattern, text):
                region = translate(before.canonical(pattern), self.start)
                self.punctuations.append(
                    CanonicalMarker(Closing(region), text or None if region == pattern else None)
                )
            case Accent(description, _, Add() as primitive):
                self._add(primitive, before.canonical(description))
                self.alters += [CanonicalMarker(reset) for reset in _resets(item, before)]
            case Accent(description, _, Alter() as primitive, text):
                self.alters.append(CanonicalMarker(Described(description, primitive), text or None))
            case Accent(_, _, Drop(name)):
                self.drops[name] = regions.union(self.drops.get(name, False), _dropped(item, before))

    def _add(self, primitive: Add, where: Tree) -> None:
        """Adds an attribute (case 4): cancels an earlier Drop there; the rest is new (R8, R9)."""
        name = primitive.attribute
        new = regions.difference(where, self.announced.get(name, False))
        self.announced[name] = regions.union(self.announced.get(name, False), new)
        if name in self.drops:
            self.drops[name] = regions.difference(self.drops[name], where)
        self._merge(Described(new, primitive))

    def _merge(self, new: Described) -> None:
        """Appends an Add, merged with the last one of its attribute if possible (R3, R8)."""
        names = [add.item.primitive.attribute for add in self.adds]
        if (name := new.primitive.attribute) in names:
            last = len(names) - 1 - names[::-1].index(name)
            between = {*names[last + 1 :]} - {*names[:last]} - self.initial
            if not regions.attributes(new.description) & between:
                merged = replacements.r8_back([self.adds[last].item, new])
                self.adds[last] = evolve(self.adds[last], item=merged)
                return
        self.adds.append(CanonicalMarker(new))

    def end(self, writer: Writer, used: Counter[str] | None) -> Canonical:
        scale = self.follower.state.forward_maps
        drops = [Described(translate(region, scale), Drop(name)) for name, region in self.drops.items()]
        adds = [
            CanonicalMarker(evolve(add.item, description=translate(add.item.description, self.start)))
            for add in self.adds
        ]
        return writer.write(adds, self.punctuations, self.alters, drops, _in_force(self.follower.state))


@define
class _OneByOne:
    """Keeps the stream unchanged; the rules sort it at the end."""

    follower: StreamChecker
    rows: TupleWriter
    items: list[Item] = field(factory=list[Item])
    read: list[tuple[Line, Row]] = field(factory=list[tuple[Line, Row]])

    def take(self, item: Accent | Punctuation | Row, before: SourceState, line: Line) -> None:
        match item:
            case Row(_, raw):
                self.items.append(Tuple(raw, len(self.read)))
                self.read.append((line, item))
            case Punctuation(pattern):
                self.items.append(Closing(pattern))
            case Accent(_, _, Add() as primitive):
                scale = before.forward_maps
                for region, optional in _added(item, before):
                    if region is not False:
                        self.items.append(Described(translate(region, scale), primitive, optional))
                self.items += _resets(item, before)
            case Accent(_, _, Drop() as primitive):
                raw = translate(_dropped(item, before), before.forward_maps)
                self.items.append(Described(raw, primitive))
            case Accent(description, _, primitive):
                self.items.append(Described(description, primitive))

    def end(self, writer: Writer, used: Counter[str] | None) -> Canonical:
        adds: list[CanonicalMarker] = []
        alters: list[CanonicalMarker] = []
        punctuations: list[CanonicalMarker] = []
        drops: list[Described] = []
        for item in replacements.in_order(self.items, used):
            match item:
                case Tuple(values, number):
                    line, row = self.read[number]
                    self.rows.write(line, row, values)
                case Closing():
                    punctuations.append(CanonicalMarker(item))
                case Described(_, Add()):
                    adds.append(CanonicalMarker(item))
                case Described(_, Alter()):
                    alters.append(CanonicalMarker(item))
                case Described():
                    drops.append(item)
        return writer.write(adds, punctuations, alters, drops, _in_force(self.follower.state))
