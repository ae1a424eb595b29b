"""Cedilla against hand-written Structured Streaming, with both state stores, Flink SQL, and DuckDB over all files."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from tests.benchmarks.contest import Compared, Competitor, Contest, cedilla_competitors
from tests.benchmarks.core.query import Query, Size
from tests.benchmarks.core.runs import NAMES, flink_rows, flink_statements, prepare, query_of
from tests.benchmarks.engines import JOIN_FORMAT_3, STATE_STORES
from tests.benchmarks.flink.competitors import flink_competitors
from tests.benchmarks.options import Wanted

EPOCHS = {1_000: 40, 10_000: 30, 100_000: 20, 1_000_000: 10}
"""Rows of an epoch -> epochs of a run, so that one takes some 5 to 60 seconds."""

LARGE = 100_000
"""Flink and DuckDB know no epochs: they take part where the input is large enough to keep them busy."""

SHORT = {("paper", 1_000): 24, ("select", 100_000): 12, ("join", 100_000): 12}
"""Query and rows of an epoch -> epochs, in the short form."""


def contests(wanted: Wanted) -> Iterator[Contest]:
    """By size first: the sizes that are cheap to repeat come first."""
    for rows in wanted.rows or EPOCHS:
        for format in wanted.formats:
            for name in NAMES:
                usual = SHORT.get((name, rows)) if wanted.short else EPOCHS.get(rows, 10)
                if usual is not None:
                    size = Size(rows, wanted.epochs or usual)
                    yield _contest(query_of(name), size, format, wanted)


def _contest(query: Query, size: Size, format: str, wanted: Wanted) -> Contest:
    # A standing query runs for days: everyone warms up with a whole run.
    arguments = {"query": query.name, "rows": size.rows, "epochs": size.epochs, "format": format}
    competitors = [*cedilla_competitors("tests.benchmarks.core.runs:run_cedilla", arguments, arguments)]
    for store, conf in STATE_STORES.items():
        if query.stateful or store == "spark":
            call = "tests.benchmarks.core.runs:run_native"
            newest = JOIN_FORMAT_3 if (store, query.name) == ("spark-rocksdb", "join") else {}
            competitors.append(Competitor(store, call, arguments, arguments, {**conf, **newest}))
    flink = wanted.flink and size.rows >= LARGE
    if flink:
        competitors += flink_competitors(
            flink_statements(query, size, format),
            flink_statements(query, size, format),
            flink_rows(query, size),
            format,
            wanted.cores,
            query.stateful,
        )

    if query.duckdb and size.rows >= LARGE:
        at_once = {**arguments, "cores": wanted.cores}
        competitors.append(
            Competitor("duckdb", "tests.benchmarks.core.runs:run_duckdb", at_once, at_once, worker="plain")
        )

    def inputs(spark: SparkSession) -> None:
        parts = wanted.cores if flink else None
        prepare(spark, query, size, format, parts)

    return Contest(
        suite="core",
        name=f"{query.name}/{format}/{size.rows}",
        competitors=tuple(competitors),
        baseline="cedilla",
        main="rows_per_s",
        prepare=inputs,
        compared=Compared(query.columns, query.closed(size)),
        rounds=2 if wanted.short else 3,
        facts={"query": query.name, "format": format, "epoch_rows": size.rows, "epochs": size.epochs},
    )
