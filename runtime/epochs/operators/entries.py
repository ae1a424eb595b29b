"""Adds histograms by groups. Each of their entries becomes a row next to that of the tuple. Equal entries of a group
are added as any sum is, so that the cost grows with the number of entries alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cedilla.compiler.expressions.aggregates.histograms import ENTRIES
from cedilla.compiler.expressions.types import column

OWN = "`$number` = 0"
"""The condition of rows that are tuples."""
_KEYS = ("$number", "$low", "$high")
_COUNT = "$count"


def added(
    rows: DataFrame,
    by: Sequence[str],
    histograms: Mapping[str, str],
    keep: Sequence[str],
    own: Sequence[Column],
    merge: Sequence[Column],
) -> DataFrame:
    """Returns one row for each group, with the sum of each histogram.

    `histograms`: name of a result -> SQL over a row; `keep`: the columns that `own` reads. `own`: other results over
    the rows for which `OWN` holds; `merge`: the same over results of `own`.
    """
    texts = [*dict.fromkeys(histograms.values())]
    entries = _with_entries(rows, by, [name for name in keep if name not in by], texts)
    sums = entries.groupBy(*map(column, (*by, *_KEYS))).agg(*own, F.sum(column(_COUNT)).alias(_COUNT))
    entry = f"named_struct('low', `$low`, 'high', `$high`, 'count', `{_COUNT}`)"
    collected = [
        F.expr(f"collect_list({entry}) FILTER (WHERE `$number` = {texts.index(text) + 1})").alias(name)
        for name, text in histograms.items()
    ]
    return sums.groupBy(*map(column, by)).agg(*merge, *collected)


def _with_entries(rows: DataFrame, by: Sequence[str], keep: Sequence[str], texts: Sequence[str]) -> DataFrame:
    """Returns the rows, and a row for each entry of their histograms, without the columns `keep`."""
    none = "CAST(NULL AS DOUBLE)"
    own = f"named_struct('number', 0, 'low', {none}, 'high', {none}, 'count', {none})"
    entries = [
        f"transform(coalesce({text}, CAST(array() AS {ENTRIES})), "
        f"e -> named_struct('number', {number}, 'low', e.low, 'high', e.high, 'count', e.count))"
        for number, text in enumerate(texts, 1)
    ]
    kept = [F.col(column(name)) for name in (*by, *keep)]
    # Columns that are not kept would be copied for each entry.
    every = rows.select(
        *kept, F.explode(F.expr(f"concat(array({own}), {', '.join(entries)})")).alias("$entry")
    )
    own_values = [F.expr(f"IF(`$entry`.number = 0, {column(name)}, NULL)").alias(name) for name in keep]
    fields = [F.col(f"`$entry`.{name[1:]}").alias(name) for name in (*_KEYS, _COUNT)]
    return every.select(*map(column, by), *own_values, *fields)
