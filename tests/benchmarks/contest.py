"""What the suites are made of: contests between competitors, and what comes out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "bench"
INPUTS = BUILD / "inputs"


@frozen
class Competitor:
    """One way to do the work of a contest.

    `call` is `module:function`; it runs in a process of the competitor's own as `function(session, folder,
    **arguments)` and returns what `outcome` makes. `folder` is new and empty. `warm` are the arguments of the
    warm-up that comes before the first round; without them there is none. `conf`: settings of the session;
    `worker` says who runs the process: `spark`, `sail`, `flink`, or `plain` without a session.
    """

    name: str
    call: str
    arguments: Mapping[str, Any]
    warm: Mapping[str, Any] | None = None
    conf: Mapping[str, str] = field(factory=dict[str, str])
    worker: str = "spark"


def cedilla_competitors(
    call: str, arguments: Mapping[str, Any], warm: Mapping[str, Any] | None = None, variant: str = ""
) -> tuple[Competitor, ...]:
    """Cedilla on each of its engines: `cedilla` on Spark, `cedilla-sail`; `variant` follows their names."""
    engines = {"cedilla": "spark", "cedilla-sail": "sail"}
    return tuple(
        Competitor(f"{name}{variant}", call, arguments, warm, worker=worker)
        for name, worker in engines.items()
    )


@frozen
class Compared:
    """What of the outputs has to be equal: columns as a Spark DDL text, and a condition on the rows."""

    columns: str
    where: str = "true"


@frozen
class Contest:
    """Competitors over the same input. `main` is the figure that counts, the ratios are to `baseline`'s.

    `reference`: a folder of Parquet files with the right results, if there is one; they are compared like an output.
    """

    suite: str
    name: str
    competitors: tuple[Competitor, ...]
    baseline: str
    main: str
    prepare: Callable[[SparkSession], object] | None = None
    compared: Compared | None = None
    reference: Path | None = None
    rounds: int = 3
    facts: Mapping[str, Any] = field(factory=dict[str, Any])

    @property
    def key(self) -> str:
        return f"{self.suite}/{self.name}"


# --- what a call returns -----------------------------------------------------------------------------------

UNITS = {
    "rows_per_s": ("rows/s", True),
    "events_per_s_core": ("events/s per core", True),
    "epoch_ms": ("ms per epoch", False),
    "latency_ms": ("ms in an epoch", False),
    "commit_ms": ("ms from file to commit", False),
    "file_cpu_ms": ("ms of processor time a file, with the waiting", False),
    "total_s": ("s in all", False),
    "seconds": ("s", False),
    "compile_s": ("s to compile", False),
    "first_epoch_s": ("s to the first epoch", False),
    "gap_s": ("s without output", False),
    "accent_ratio": ("accent's epoch / its neighbours", False),
    "rss_mb": ("MB at most", False),
    "cpu_s": ("s of processor time", False),
    "heap_mb": ("MB of heap after a collection", False),
    "python_mb": ("MB of Python at the end", False),
    "python_grown_mb": ("MB more than half way", False),
    "checkpoint_mb": ("MB of checkpoint", False),
    "state_mb": ("MB of state", False),
}
"""Figure -> what it counts, and whether more is better."""


def outcome(
    figures: Mapping[str, float], output: str | None = None, format: str = "json", **more: Any
) -> dict[str, Any]:
    """The result of a call, as JSON values: figures, and a pattern of the output's files to be compared."""
    return {"figures": dict(figures), "output": output, "format": format, **more}
