"""Encoding canonical results for a sink (theory D0)."""

from __future__ import annotations

from pyspark.sql import DataFrame

from cedilla.compiler import regions, sql
from cedilla.compiler.affine import IDENTITY
from cedilla.compiler.evolution import ABSENT, MOST, Facts
from cedilla.compiler.types import column
from cedilla.runtime.announce import SinkState


def encoded(frame: DataFrame, sink: SinkState, facts: Facts, during: Facts | None) -> DataFrame:
    """A DataFrame in the units that the sink announced before this epoch (theory 3.3), in one expression each.

    With `during`, the facts of the epoch under way, values are left out where a Drop has been announced
    (`set drop = eager`); without, nothing of what a Drop has announced is left.
    """
    columns: list[str] = []
    for name in frame.columns:
        scale = sink.scale.get(name, IDENTITY)
        text = sql.expression(scale, facts.types, lambda f, name=name: f.sql(column(name)))
        if during is not None:
            told = regions.combine(sink.present.get(name, ABSENT), during.present.get(name, ABSENT), MOST)
            absent = regions.map_leaves(told, lambda leaf: leaf is ABSENT)
            if absent is not False:
                text = f"IF({sql.predicate(absent, facts.types)}, NULL, {text})"
        columns.append(f"{text} AS {column(name)}")
    return frame.selectExpr(*columns)
