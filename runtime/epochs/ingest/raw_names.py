"""Converts the columns of raw tuples to the names of attributes, and finds tuples with a wrong name (theory N2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from attrs import evolve
from pyspark.sql import DataFrame

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import column, quote
from cedilla.compiler.regions import Tree
from cedilla.runtime.connectors.formats.source import FileStatistics, StatisticsByFile
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics
from cedilla.runtime.control.accents.names import Names
from cedilla.runtime.engines.spark.lookups import Lookups

_SEVERAL = "*"
"""In place of a name: a tuple has several values."""
_BETWEEN = "\n"
"""Separates names, which have no control characters."""


def by_attributes(raw: DataFrame, names: Names, attributes: Collection[str], kept: list[str]) -> DataFrame:
    """Returns raw tuples with a column for each attribute, and another with the name used, for attributes with several
    names. `kept`: further columns to keep, as SQL."""
    columns = {name: [column(raw_name) for raw_name in names.all_of(name)] for name in attributes}
    values = [
        f"coalesce({', '.join(columns[n])}) AS {column(n)}" if len(columns[n]) > 1 else column(n)
        for n in columns
    ]
    return raw.selectExpr(*values, *kept, *(f"{_came_by(names, n)} AS {came(n)}" for n in names.here))


def came(attribute: str) -> str:
    """Returns the column with the name that a tuple used for an attribute, as SQL; with several, if all have one
    value."""
    return column(f"$came {attribute}")


def _came_by(names: Names, attribute: str) -> str:
    by = names.all_of(attribute)
    value = f"coalesce({', '.join(map(column, by))})"
    differ = " OR ".join(f"coalesce({column(raw_name)} <> {value}, false)" for raw_name in by)
    used = ", ".join(
        f"CASE WHEN {column(raw_name)} IS NOT NULL THEN {quote(raw_name)} END" for raw_name in by
    )
    every = f"concat_ws({quote(_BETWEEN)}, {used})"
    return f"CASE WHEN {differ} THEN {quote(_SEVERAL)} ELSE nullif({every}, '') END"


def misnamed(names: Names, source: str, lookups: Lookups) -> Iterator[tuple[str, str]]:
    """Yields the rejections of tuples for names (RQ312, RQ313), as in `Names.misnamed`: a test, and the code with its
    attribute or name. Both are SQL over canonical values and the columns `came`."""
    for attribute, tree in names.placed.items():
        by = came(attribute)
        yield f"{by} = {quote(_SEVERAL)}", quote(f"RQ312 {attribute}")
        right = lookups.expression(("named", source, attribute), tree, quote)
        sign = quote(_BETWEEN)
        is_used = f"instr(concat({sign}, {by}, {sign}), concat({sign}, {right}, {sign}))"
        yield f"{is_used} = 0", f"concat('RQ313 ', substring_index({by}, {sign}, 1))"


def statistics_by_attributes(
    names: Names, statistics: StatisticsByFile
) -> tuple[dict[int, FileStatistics], dict[int, Tree]] | None:
    """Returns the statistics of files by attributes, and the tuples that use a wrong name if the file uses only one
    name. `None` if some file lacks statistics, or uses several names for an attribute."""
    by_file: dict[int, FileStatistics] = {}
    wrong: dict[int, Tree] = {}
    for number, file in statistics.items():
        ranges, region = dict(file.ranges), False
        for attribute, tree in names.placed.items():
            by_name = {name: file.ranges.get(name) for name in names.all_of(attribute)}
            if None in by_name.values():
                return None
            used = {
                name: of_name for name, of_name in by_name.items() if of_name and of_name.nulls < file.rows
            }
            if len(used) > 1:
                return None
            for name, of_name in used.items():
                ranges[attribute] = of_name
                otherwise = regions.map_leaves(tree, lambda leaf, name=name: leaf != name)
                region = regions.union(region, regions.intersection(otherwise, regions.defined(attribute)))
            if not used:
                ranges[attribute] = ColumnStatistics(file.rows)
        by_file[number], wrong[number] = evolve(file, ranges=ranges), region
    return by_file, wrong
