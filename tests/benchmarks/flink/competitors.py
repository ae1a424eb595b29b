"""Flink as a competitor, with its state on the heap and in RocksDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.contest import Competitor


def flink_competitors(
    statements: Sequence[str],
    warm: Sequence[str],
    rows: int,
    format: str,
    cores: int,
    stateful: bool,
    checked_by: Sequence[str] | None = None,
) -> Iterator[Competitor]:
    """`statements`, `checked_by` as `jobs.run` takes them, `warm` the same over a small input; `rows` go in."""
    for name, backend in (("flink", "heap"), ("flink-rocksdb", "rocksdb")):
        if stateful or backend == "heap":
            arguments = {"statements": list(statements), "rows": rows, "format": format, "cores": cores}
            yield Competitor(
                name,
                "tests.benchmarks.flink.jobs:run",
                {**arguments, "checked_by": None if checked_by is None else list(checked_by)},
                {**arguments, "statements": list(warm)},
                {"backend": backend},
                worker="flink",
            )
