"""Sources that only unions read: where the driver has parsed their tuples they become one DataFrame, not one each.

A DataFrame of a few rows costs the driver's JVM some milliseconds, and each that a union adds some more; fifty of
them are seconds (tests/benchmarks/tuning-notes.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import POSITION
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.ingest.source_input import SourceInput


def tables(
    plan: Plan, read: Mapping[str, SourceInput], states: Mapping[str, SourceState]
) -> dict[str, pa.Table | None]:
    """The canonical tuples of sources, where the driver has them; `None` where they are in another source's table.

    Those of all sources that go into the same union, and nowhere else, are in that of the first.
    """
    by_name: dict[str, pa.Table | None] = {}
    first: dict[tuple[str, tuple[tuple[str, Type], ...]], tuple[str, list[pa.Table]]] = {}
    for source in plan.sources:
        name = source.name
        part = read.get(name)
        if part is None or part.valid is None or not part.has_rows:
            continue
        types = states[name].types
        # A query that depends on the order of tuples needs their places.
        columns = [*types, POSITION] if name in plan.placed else [*types]
        by_name[name] = table = part.valid.select(columns)
        if name in plan.placed or (union := _united_in(plan, name)) is None:
            continue
        leader, together = first.setdefault((union, tuple(types.items())), (name, []))
        together.append(table)
        if leader != name:
            by_name[name] = None
    by_name.update((name, pa.concat_tables(together)) for name, together in first.values())
    return by_name


def _united_in(plan: Plan, relation: str) -> str | None:
    """The last union that all rows of a relation go to, and to nothing else on their way; `None`: to no union."""
    united = None
    while True:
        readers = plan.readers[relation]
        if len(readers) != 1:
            return united
        operator = plan.operator_of.get(readers[0])
        if operator is None or not operator.unites:
            return united
        united = relation = operator.name
