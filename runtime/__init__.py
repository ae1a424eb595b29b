"""Plan to epochs: reads sources, runs compiled programs on Spark, writes sinks (design, section 5).

| part     | modules                                           | what it does                                |
|----------|---------------------------------------------------|---------------------------------------------|
| commands | `cli`, `options`, `console`, `report`             | the command line and what it shows          |
| programs | `program`, `load`, `session`, `java`              | start Spark and run a compiled program      |
| epochs   | `executor`, `epoch`, `sources`, `sinks`           | read, compute, write, commit                |
| edges    | `intake`, `quarantine`, `encode`                  | decode once, encode once, reject            |
| control  | `control`, `advance`, `announce`, `held`          | move markers through the plan without Spark |
| recovery | `checkpoint`, `state`, `files`                    | commit records and state on disk            |
| without  | `reference`, `naive`, `decoder`                   | a query in plain Python, to compare with    |
| values   | `evaluate`, `scalars`, `naive_aggregates`         | the same of its expressions and functions   |
| streams  | `follow`, `validate`, `canonize`, `status`        | tools for one stream, without Spark         |
| readers  | `reading`, `units`, `items`, `columns`            | an output decoded: rows, pandas, Arrow      |
| on Spark | `spark_reading`                                   | the same as a Spark DataFrame               |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cedilla.runtime.program import run
    from cedilla.runtime.reading import read
    from cedilla.runtime.simulation import simulate

__all__ = ["read", "run", "simulate"]


def __getattr__(name: str) -> Any:
    """`run`, `simulate` and `read` on first use: it takes a second to import pyspark, and most commands need none."""
    if name == "run":
        from cedilla.runtime import program

        return program.run
    if name == "read":
        from cedilla.runtime import reading

        return reading.read
    if name == "simulate":
        from cedilla.runtime import simulation

        return simulation.simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
