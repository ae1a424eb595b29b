"""NEXMark: Cedilla, hand-written Structured Streaming, Flink SQL; events per second and core."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from tests.benchmarks.contest import Compared, Competitor, Contest, cedilla_competitors
from tests.benchmarks.engines import STATE_STORES
from tests.benchmarks.flink.competitors import flink_competitors
from tests.benchmarks.nexmark import flink_sql, oracle, spark_twins
from tests.benchmarks.nexmark_contest.data import Size, write, write_results
from tests.benchmarks.options import Wanted

_RUNS = "tests.benchmarks.nexmark_contest.runs"
PER_FILE = 100_000
FILES = 20
STATELESS = frozenset({"q0", "q1", "q2", "q10", "q13", "q14", "q21", "q22"})
DELAY = 1
"""Seconds of event time by which the files that Flink reads at once may differ."""


def contests(wanted: Wanted) -> Iterator[Contest]:
    """`--rows` gives the events of an epoch, `--epochs` the epochs of a run."""
    per_file = wanted.rows[0] if wanted.rows else PER_FILE
    size = Size(per_file * (wanted.epochs or FILES), per_file)
    for format in wanted.formats:
        for query in oracle.QUERIES:
            yield _contest(query, size, format, wanted)


def _contest(query: str, size: Size, format: str, wanted: Wanted) -> Contest:
    arguments = {
        "query": query,
        "events": size.events,
        "per_file": size.per_file,
        "format": format,
        "cores": wanted.cores,
    }
    competitors = [*cedilla_competitors(f"{_RUNS}:run_cedilla", arguments, arguments)]
    if query in spark_twins.TWINS:
        competitors += [
            Competitor(store, f"{_RUNS}:run_native", arguments, arguments, conf)
            for store, conf in STATE_STORES.items()
            if query not in STATELESS or store == "spark"
        ]
    flink = wanted.flink and query not in flink_sql.REFUSED
    if flink:
        competitors += _flink(query, size, format, wanted.cores)

    def inputs(spark: SparkSession) -> None:
        write(spark, size, format, wanted.cores if flink else None)
        write_results(spark, size, query, format)

    refused = {"spark": spark_twins.REFUSED.get(query), "flink": flink_sql.REFUSED.get(query)}
    return Contest(
        suite="nexmark",
        name=f"{query}/{format}",
        competitors=tuple(competitors),
        baseline="cedilla",
        main="events_per_s_core",
        prepare=inputs,
        compared=Compared(oracle.columns(query)),
        reference=size.results(query),
        rounds=2,
        facts={
            "events": size.events,
            "epoch_events": size.per_file,
            "refused": {name: why for name, why in refused.items() if why},
        },
    )


def _flink(query: str, size: Size, format: str, cores: int) -> Iterator[Competitor]:
    def statements(of: Size, keep: bool | None = None) -> list[str]:
        return flink_sql.statements(query, of.flat(format), format, DELAY, keep)

    return flink_competitors(
        statements(size),
        statements(size),
        size.events,
        format,
        cores,
        stateful=query not in STATELESS,
        checked_by=statements(size, keep=True) if query in flink_sql.UPDATING else None,
    )
