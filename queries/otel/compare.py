"""Compare Cedilla's latencies of queries/otel.rq, and their 95th percentiles, with the truth.

    python queries/otel/compare.py OUTPUT

reads Cedilla's output directory and compares every minute of every service with the known fleet. It also shows the
result of a query that adds both metrics and ignores their units. Exit status 1 if a minute is missing, is one too many
or differs by more than `TOLERANCE` of itself.
"""

import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path

from prepare import BOUNDS, LATENCIES, START, buckets_of, changes, reports
from rich.console import Console
from rich.table import Table

from cedilla import read

TOLERANCE = 1e-9
Key = tuple[str, int]  # service, minute since 1970


def averages(*, in_ms: bool) -> dict[Key, float]:
    """Returns the latency by service and minute: the truth in ms, or of the written numbers."""
    sums: dict[Key, float] = defaultdict(float)
    counts: dict[Key, int] = defaultdict(int)
    for report in reports():
        key = report.service, report.time // 60
        sums[key] += report.total if in_ms or not report.is_new else report.total / 1000
        counts[key] += report.count
    return {key: total / counts[key] for key, total in sums.items()}


def percentiles() -> dict[Key, float]:
    """Returns the 95th percentile in ms by service and minute: linear inside of the bucket of all latencies that has
    it."""
    latencies: dict[Key, list[float]] = defaultdict(list)
    for report in reports():
        latencies[report.service, report.time // 60] += report.latencies
    return {key: _percentile(values) for key, values in latencies.items()}


def _percentile(latencies: list[float]) -> float:
    rank, seen = 0.95 * len(latencies), 0
    for low, high, count in zip((0, *BOUNDS), BOUNDS, buckets_of(latencies, BOUNDS), strict=False):
        if seen + count >= rank:
            return low + (high - low) * (rank - seen) / count
        seen += count
    return BOUNDS[-1]


def main(folder: Path) -> int:
    truth, ignoring = averages(in_ms=True), averages(in_ms=False)
    rows = [row for row in read(str(folder)).rows() if row is not None]
    keys = [(str(row["service"]), _minute(str(row["minute"]))) for row in rows]
    found = {key: float(row["latency"]) for key, row in zip(keys, rows, strict=True)}
    true_p95, p95 = percentiles(), {key: float(row["p95"]) for key, row in zip(keys, rows, strict=True)}
    table = Table(title="Latency in ms, by service and minute")
    for heading in ("service", "minute", "ignoring the unit", "Cedilla", "the truth", "p95", "its truth"):
        table.add_column(heading, justify="left" if heading == "service" else "right")
    for service in LATENCIES:
        for minute in (
            changes(service, 0) - 1,
            changes(service, 0),
            changes(service, 1),
            changes(service, 2) + 1,
        ):
            key = service, START // 60 + minute
            values = [
                f"{each[key]:.3f}" if key in each else "none"
                for each in (ignoring, found, truth, p95, true_p95)
            ]
            table.add_row(service, f"{minute // 60}:{minute % 60:02}", *values)
        table.add_section()
    console = Console()
    console.print(table)
    wrong = sum(abs(ignoring[key] - value) > TOLERANCE * value for key, value in truth.items())
    console.print(f"{len(truth)} minutes of services; ignoring the unit, {wrong} of them are wrong.")
    bad = [
        k
        for k in truth.keys() | found.keys()
        if not (_agree(found.get(k), truth.get(k)) and _agree(p95.get(k), true_p95.get(k)))
    ]
    if bad or len(rows) != len(truth):
        console.print(f"Cedilla differs from the truth in {len(bad)} of them: {sorted(bad)[:5]}")
        return 1
    console.print("Cedilla and the truth agree in all of them.")
    return 0


def _minute(moment: str) -> int:
    """Returns the number of a minute since 1970."""
    return int(datetime.fromisoformat(moment).timestamp()) // 60


def _agree(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= TOLERANCE * abs(other)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
