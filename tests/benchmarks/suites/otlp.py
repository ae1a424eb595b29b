"""Metrics of OpenTelemetry: the latency of services that go over from ms to s. Nobody else reads them so."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.contest import Compared, Contest, cedilla_competitors
from tests.benchmarks.options import Wanted
from tests.benchmarks.otlp.inputs import Size, prepare
from tests.benchmarks.otlp.runs import COLUMNS

EPOCHS = {100_000: 12, 500_000: 6}
"""Data points of an epoch -> epochs of a run."""


def contests(wanted: Wanted) -> Iterator[Contest]:
    """`--rows` gives the data points of an epoch."""
    for rows in wanted.rows or EPOCHS:
        yield _contest(Size(rows, wanted.epochs or EPOCHS.get(rows, 6)))


def _contest(size: Size) -> Contest:
    arguments = {"rows": size.rows, "epochs": size.epochs}
    return Contest(
        suite="otlp",
        name=f"latency/{size.rows}",
        competitors=cedilla_competitors("tests.benchmarks.otlp.runs:run_query", arguments, arguments),
        baseline="cedilla",
        main="rows_per_s",
        prepare=lambda spark: prepare(size),
        compared=Compared(COLUMNS, size.closed),
        facts={"epoch_rows": size.rows, "epochs": size.epochs},
    )
