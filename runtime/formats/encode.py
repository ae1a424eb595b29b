"""Encodes canonical results for a sink (theory D0)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import column
from cedilla.compiler.facts.facts import ABSENT, PRESENT_IF_ANY, Facts
from cedilla.compiler.regions.affine import IDENTITY
from cedilla.compiler.regions.double_arithmetic import sql_over
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.engines.columns import Columns, columns_of
from cedilla.runtime.engines.lookups import Lookups, Tables

TIMESTAMP = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""Format of timestamps in text, with the full precision of Spark; its own default cuts them to milliseconds."""


def encoded(
    frame: DataFrame, sink: SinkState, facts: Facts, during: Facts | None, emit: str = ""
) -> tuple[DataFrame, Columns]:
    """Returns a DataFrame in the units that the sink announced before this epoch (theory 3.3), with one expression for
    each attribute, and its columns.

    With `during`, the facts of the current epoch, values are left out inside announced Drops (`set drop = eager`).
    Without it, the frame no longer contains such values. An attribute that exists for no tuple has no column, unless
    there would be no column at all. `emit`: the sink's name, under which large tables of points are cached.
    """
    lookups = Lookups(Tables.of(frame.sparkSession), facts.types, {})
    texts: list[str] = []
    existing = [name for name in facts.types if sink.present.get(name, ABSENT) is not ABSENT]
    columns = columns_of({name: facts.types[name] for name in existing or facts.types})
    for name, kind in columns.items():
        scale, value = sink.scale.get(name, IDENTITY), column(name)
        text = lookups.expression(
            ("encoded", emit, name, kind.simpleString()),
            scale,
            lambda f, v=value, k=kind: v if f.is_identity else element_wise(f.sql, v, k),
            lambda numbers, v=value, k=kind: element_wise(lambda e: sql_over(e, numbers), v, k),
        )
        if during is not None:
            presence = regions.combine(
                sink.present.get(name, ABSENT), during.present.get(name, ABSENT), PRESENT_IF_ANY
            )
            absent = regions.map_leaves(presence, lambda leaf: leaf is ABSENT)
            if absent is not False:
                text = f"IF({lookups.predicate(('left out', emit, name), absent)}, NULL, {text})"
        texts.append(text if text == column(name) else f"{text} AS {column(name)}")
    return lookups.joined(frame).selectExpr(*texts), columns


def element_wise(function: Callable[[str], str], value: str, kind: DataType) -> str:
    """Returns a function of a column as SQL; for an array, element by element (theory 2.8)."""
    if not isinstance(kind, ArrayType):
        return function(value)
    return f"transform({value}, e -> {element_wise(function, 'e', kind.elementType)})"
