"""Encoding canonical results for a sink (theory D0)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType

from cedilla.compiler import regions, sql
from cedilla.compiler.affine import IDENTITY, Affine
from cedilla.compiler.evolution import ABSENT, MOST, Facts
from cedilla.compiler.types import column
from cedilla.runtime.announce import SinkState


def encoded(frame: DataFrame, sink: SinkState, facts: Facts, during: Facts | None) -> DataFrame:
    """A DataFrame in the units that the sink announced before this epoch (theory 3.3), in one expression each.

    With `during`, the facts of the epoch under way, values are left out where a Drop has been announced
    (`set drop = eager`); without, nothing of what a Drop has announced is left.
    """
    columns: list[str] = []
    for name in (each for each in frame.columns if not each.startswith("$")):
        scale = sink.scale.get(name, IDENTITY)
        kind = frame.schema[name].dataType
        text = sql.expression(scale, facts.types, lambda f, n=name, k=kind: _applied(f, column(n), k))
        if during is not None:
            told = regions.combine(sink.present.get(name, ABSENT), during.present.get(name, ABSENT), MOST)
            absent = regions.map_leaves(told, lambda leaf: leaf is ABSENT)
            if absent is not False:
                text = f"IF({sql.predicate(absent, facts.types)}, NULL, {text})"
        columns.append(f"{text} AS {column(name)}")
    return frame.selectExpr(*columns)


def _applied(function: Affine, value: str, kind: DataType) -> str:
    """A function of a value, as SQL; of an array, element by element (theory 2.8)."""
    if function.is_identity or not isinstance(kind, ArrayType):
        return function.sql(value)
    return f"transform({value}, e -> {_applied(function, 'e', kind.elementType)})"
