"""The columns of raw tuples under the names of attributes; tuples that bring one by a wrong name (theory N2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from attrs import evolve
from pyspark.sql import DataFrame

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import column, quote
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.accents.names import Names
from cedilla.runtime.engines.lookups import Lookups
from cedilla.runtime.formats.source import Content, Range

_SEVERAL = "*"
"""In place of a name: a tuple has more than one."""


def by_attributes(raw: DataFrame, names: Names, attributes: Collection[str], kept: list[str]) -> DataFrame:
    """Raw tuples with a column for each attribute, and one more for each that has several names: by which it came.
    `kept`: the other columns that stay, as SQL."""
    said = {name: [column(each) for each in names.all_of(name)] for name in attributes}
    values = [
        f"coalesce({', '.join(said[n])}) AS {column(n)}" if len(said[n]) > 1 else column(n) for n in said
    ]
    return raw.selectExpr(*values, *kept, *(f"{_came_by(names, n)} AS {came(n)}" for n in names.here))


def came(attribute: str) -> str:
    """The column that says by which name tuples have brought an attribute, as SQL."""
    return column(f"$came {attribute}")


def _came_by(names: Names, attribute: str) -> str:
    by = names.all_of(attribute)
    there = " + ".join(f"CAST({column(each)} IS NOT NULL AS INT)" for each in by)
    single = " ".join(f"WHEN {column(each)} IS NOT NULL THEN {quote(each)}" for each in by)
    return f"CASE WHEN {there} > 1 THEN {quote(_SEVERAL)} {single} END"


def misnamed(names: Names, source: str, lookups: Lookups) -> Iterator[tuple[str, str]]:
    """What rejects tuples for names (RQ312, RQ313), as `Names.misnamed`: a test, and the code with what it says, as
    SQL over canonical values and the columns `came`."""
    for attribute, tree in names.placed.items():
        by = came(attribute)
        yield f"{by} = {quote(_SEVERAL)}", quote(f"RQ312 {attribute}")
        right = lookups.expression(("named", source, attribute), tree, quote)
        yield f"{by} <> {right}", f"concat('RQ313 ', {by})"


def contents_by_attributes(
    names: Names, contents: Mapping[int, Content]
) -> tuple[dict[int, Content], dict[int, Tree]] | None:
    """What files say of their tuples, by attributes, and which tuples bring one by a name of which the file has none.
    `None` where some file does not tell, or brings an attribute by several names."""
    told: dict[int, Content] = {}
    wrong: dict[int, Tree] = {}
    for number, content in contents.items():
        ranges, region = dict(content.ranges), False
        for attribute, tree in names.placed.items():
            found = {name: content.ranges.get(name) for name in names.all_of(attribute)}
            if None in found.values():
                return None
            there = {name: each for name, each in found.items() if each and each.nulls < content.rows}
            if len(there) > 1:
                return None
            for name, each in there.items():
                ranges[attribute] = each
                otherwise = regions.map_leaves(tree, lambda leaf, name=name: leaf != name)
                region = regions.union(region, regions.intersection(otherwise, regions.defined(attribute)))
            if not there:
                ranges[attribute] = Range(content.rows)
        told[number], wrong[number] = evolve(content, ranges=ranges), region
    return told, wrong
