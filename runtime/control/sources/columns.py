"""The columns that rows of a table have, by the accents so far: a row without one of them is refused (RQ541)."""

from __future__ import annotations

from collections.abc import Collection

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import ABSENT
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import FieldPath, alternatives
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.runtime.connectors.records.change_events import NO_COLUMNS, Columns
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of


def columns_of(source: Source, state: SourceState, keys: Collection[str] = ()) -> Columns:
    """Returns the columns of a source of change events. A column that an accent drops, of any rows, may be missing.
    `keys`: those in the paths of files, which are not columns."""
    if not source.changes:
        return NO_COLUMNS
    paths = paths_of(source, state)

    def names(attribute: str) -> tuple[str, ...]:
        every: list[FieldPath] = [paths.get(name, (name,)) for name in state.names.all_of(attribute)]
        return tuple(path[0] for keys in every for path in alternatives(keys))

    in_rows = [a.name for a in source.attributes if origin_text(a.keys) is None]
    present = (n for n in in_rows if ABSENT not in regions.leaves(state.presence.placed.get(n, ABSENT)))
    read = frozenset(column for name in (*state.types, *in_rows) for column in names(name))
    every = (own for own in map(names, present) if not set(keys).intersection(own))
    return Columns(tuple(every), read)
