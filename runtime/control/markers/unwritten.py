"""Reports values that tuples cannot have from an accent on: no code is left for them, or their code means undefined."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.changes import Missing, Recode
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.control.accents.codes import left_out, writable
from cedilla.runtime.control.sources.source_state import SourceState

_MAX_CODES = 20
"""Maximum number of codes in a message."""


def unwritten(state: SourceState, accent: Accent, where: Tree) -> Iterator[Diagnostic]:
    """Yields RQ232 for values without a code after a recode, and for codes that mean undefined after an accent."""
    change = accent.primitive
    if not isinstance(change, Recode | Missing):
        return
    dead = regions.union(state.closed, state.facts().dead(change.attribute))
    live = regions.difference(where, dead)
    if isinstance(change, Recode):
        yield from _left_out(state, accent, change, live)
    yield from _undefined(state, accent, change, live)


def _undefined(
    state: SourceState, accent: Accent, change: Recode | Missing, live: Tree
) -> Iterator[Diagnostic]:
    """Yields RQ232 for values whose code means undefined: in either order, tuples with them lack the attribute."""
    name, wire = change.attribute, change.type.wire
    recoded = (
        _recoded(state, accent, change)
        if isinstance(change, Recode)
        else _missing_codes(state, accent, change)
    )
    pairs = [
        f"{wire(value)} as {wire(code)}"
        for value, code, tuples in recoded
        if not regions.is_empty(regions.intersection(live, tuples), state.universe)
    ]
    if pairs:
        who = "the" if isinstance(change, Recode) else "a"
        yield Diagnostic(
            "RQ232",
            "warning",
            f"{who} recode writes {', '.join(pairs[:_MAX_CODES])} in `{name}`, which means undefined: from here on "
            f"tuples with {'that' if len(pairs) == 1 else 'one of these'} lack it",
            accent.span,
            ("a missing value is what tuples write, whatever the codes are",),
            "another code; or first a list of missing values without it",
        )


def _recoded(state: SourceState, accent: Accent, recode: Recode) -> Iterator[tuple[Value, Value, Tree]]:
    """Yields the pairs of a recode, each with the canonical tuples that have the value and would mean undefined."""
    name = recode.attribute
    sentinels = state.sentinels.here.get(name, False)
    for value, code in recode.code.pairs:
        others = regions.exists(regions.intersection(sentinels, regions.values(name, [code])), {name}, {})
        described = regions.intersection(accent.description, regions.values(name, [value]), others)
        if value != code:
            yield value, code, state.canonical(state.sentinels.removed(described))


def _missing_codes(
    state: SourceState, accent: Accent, missing: Missing
) -> Iterator[tuple[Value, Value, Tree]]:
    """Yields the values with one of these codes, each with the canonical tuples that have it."""
    name = missing.attribute
    for code, cell in regions.cells(state.codes.get(name, False)).items():
        back = code.inverse().map if isinstance(code, ValueMapping) else {}
        for value in missing.values:
            if back.get(value, value) != value:
                described = regions.intersection(accent.description, regions.values(name, [value]))
                tuples = state.canonical(state.sentinels.removed(described))
                yield back[value], value, regions.intersection(tuples, cell)


def _left_out(state: SourceState, accent: Accent, recode: Recode, live: Tree) -> Iterator[Diagnostic]:
    """Yields RQ232 for declared values without a code after the recode; tuples with one are quarantined (RQ314)."""
    values = left_out(state.codes, state.universe, recode, regions.intersection(live, writable(state.codes)))
    if not values:
        return
    type_, own = recode.type, recode.code.with_own(values)
    shown = ", ".join(type_.wire(value) for value in values[:_MAX_CODES])
    more = f" and {len(values) - _MAX_CODES} more" if len(values) > _MAX_CODES else ""
    hint = "each of them needs a code of its own in the recode"
    if len(own.pairs) == len(recode.code.pairs) + len(values) <= _MAX_CODES:
        hint = f"to keep these values: `{evolve(recode, code=own)}`"
    yield Diagnostic(
        "RQ232",
        "warning",
        f"the recode leaves out {shown}{more} of `{recode.attribute}`: from here on such tuples are set aside",
        accent.span,
        ("a recode lists every value that may come after it (RQ314)",),
        hint,
    )
