"""Runs SQL on a mini-cluster. Only the standard library and PyFlink: this runs in Flink's own environment."""

from __future__ import annotations

import os
import time
from importlib.metadata import version
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment  # pyright: ignore[reportMissingImports]

from tests.benchmarks.flink.places import jars

CHECKPOINTS = "10 s"

BACKENDS = {
    "heap": {"state.backend.type": "hashmap"},
    "rocksdb": {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
    },
}
"""State on the heap; and RocksDB, with checkpoints of what has changed."""


def session(cores: int, conf: dict[str, str]) -> dict[str, Any]:
    """What every job is set up with: as Flink's tuning guide and NEXMark's own configuration have it."""
    memory = conf["memory"]
    os.environ["JVM_ARGS"] = f"-Xmx{memory}"
    return {
        "parallelism.default": str(cores),
        "taskmanager.numberOfTaskSlots": str(cores),
        "pipeline.object-reuse": "true",
        "table.local-time-zone": "UTC",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "2 s",
        "table.exec.mini-batch.size": "50000",
        "table.optimizer.distinct-agg.split.enabled": "true",
        "table.exec.state.ttl": "1 h",
        "execution.checkpointing.interval": CHECKPOINTS,
        "restart-strategy.type": "none",  # a failed job is told, not tried again
        "taskmanager.memory.managed.size": "1g",
        "taskmanager.memory.network.min": "256m",
        "taskmanager.memory.network.max": "256m",
        **BACKENDS[conf["backend"]],
    }


def run(
    settings: dict[str, str],
    folder: str,
    statements: list[str],
    rows: int,
    format: str,
    cores: int,
    checked_by: list[str] | None = None,
) -> dict[str, Any]:
    """Statements of which the last one is the INSERT; `{out}` in them is the folder of the output.

    What counts is the job's own running time, from its deployment on. Where results are corrected as they come,
    files cannot take them: then `checked_by` are the same statements into files, run in batch mode and not timed.
    """
    streaming = EnvironmentSettings.in_streaming_mode()
    start = time.monotonic()
    seconds = _job(streaming, settings, folder, statements)
    total = time.monotonic() - start
    if checked_by is not None:
        _job(EnvironmentSettings.in_batch_mode(), {"table.local-time-zone": "UTC"}, folder, checked_by)
    figures = {
        "rows_per_s": rows / seconds,
        "events_per_s_core": rows / seconds / cores,
        "total_s": total,
    }
    return {
        "figures": figures,
        "output": f"{folder}/out",
        "format": format,
        "version": version("apache-flink"),
    }


def _job(mode: EnvironmentSettings, settings: dict[str, str], folder: str, statements: list[str]) -> float:
    """Run a job to its end; its seconds."""
    environment = TableEnvironment.create(mode)
    jars_ = ";".join(jar.as_uri() for jar in jars())
    own = {
        "execution.checkpointing.dir": f"file://{folder}/checkpoint",
        "pipeline.classpaths": jars_,
        "pipeline.jars": jars_,
    }
    for name, value in {**settings, **own}.items():
        environment.get_config().set(name, value)
    *before, insert = (text.replace("{out}", f"file://{folder}/out") for text in statements)
    for statement in before:
        environment.execute_sql(statement)
    client = environment.execute_sql(insert).get_job_client()
    if client is None:
        raise RuntimeError("the statement started no job")
    return client.get_job_execution_result().result().get_net_runtime() / 1000
