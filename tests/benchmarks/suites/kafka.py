"""A topic of Kafka against the same lines in files, and against hand-written Structured Streaming from the topic."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.contest import Compared, Competitor, Contest, cedilla_competitors
from tests.benchmarks.kafka import runs
from tests.benchmarks.kafka.inputs import Size, prepare
from tests.benchmarks.kafka.install import connector
from tests.benchmarks.options import Wanted

EPOCHS = {100_000: 20, 500_000: 8}
"""Readings of an epoch -> epochs of a run."""
_RUNS = "tests.benchmarks.kafka.runs"


def contests(wanted: Wanted) -> Iterator[Contest]:
    for rows in wanted.rows or EPOCHS:
        yield _contest(Size(rows, wanted.epochs or EPOCHS.get(rows, 10)))


def _contest(size: Size) -> Contest:
    arguments = {"rows": size.rows, "epochs": size.epochs}
    return Contest(
        suite="kafka",
        name=f"window/{size.rows}",
        competitors=(
            *cedilla_competitors(f"{_RUNS}:run_topic", arguments, arguments),
            *cedilla_competitors(f"{_RUNS}:run_files", arguments, arguments, " files"),
            Competitor("spark", f"{_RUNS}:run_native", arguments, arguments, {"spark.jars": connector()}),
        ),
        baseline="cedilla",
        main="rows_per_s",
        prepare=lambda spark: prepare(size),
        compared=Compared(runs.COLUMNS, size.closed),
        facts={"epoch_rows": size.rows, "epochs": size.epochs, "partitions": size.partitions},
    )
