"""Checks the machines of a cluster before a run begins: Cedilla in their Python, and access to the folders of the run.

`python -m cedilla.runtime.epochs.pipeline.cluster FOLDER... --master URL` runs only the check, as does `spark-submit`
of this file.
"""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

import pyarrow as pa
from attrs import frozen
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark.workers import in_workers, installed, unfit_workers

_ROWS = 1 << 20
"""More than a cluster has cores. Spark makes a task for each core, so that each available machine gets some."""
_ASIDE = "_workers"
"""The folder of a marker file, which readers ignore."""


def check_machines(
    session: SparkSession, files: Files, read: Iterable[str], output: Iterable[str]
) -> list[str]:
    """Returns one line for each machine that ran a task, with its Python and its Cedilla.

    `read`, `output`: the folders of a run. Raises `DiagnosticError` RQ433 if workers cannot run Cedilla, and RQ432 if
    a machine does not see a folder, because its output there would be silently lost.
    """
    with _marked(files, output) as marks:
        by_folder = {**{folder: files.for_engine(folder) for folder in read}, **marks}
        asked = in_workers(session.range(_ROWS), _Asked(by_folder), "machine STRING, missing STRING")
        try:
            # The first look waits until the cluster gives a machine, the second has a task for each core by then.
            rows = [row for _ in range(2) for row in asked.collect()]
        except Exception as problem:
            if (unfit := unfit_workers(problem)) is not None:
                raise unfit from None
            raise
    for row in rows:
        if row["missing"] is not None:
            hint = "a folder that all machines share under the same path, or a store: s3:, gs:, abfs:, hdfs:"
            machine = row["machine"].partition(":")[0]
            raise failure(
                "RQ432", f"{machine}, a machine of the cluster, does not see {row['missing']}", hint=hint
            )
    return sorted({row["machine"] for row in rows})


@contextmanager
def _marked(files: Files, folders: Iterable[str]) -> Iterator[dict[str, str]]:
    """Creates a file in each folder on a disk; the files exist as long as the context."""
    name = uuid4().hex
    marks = {
        folder: f"{files.for_engine(folder)}/{_ASIDE}/{name}"
        for folder in folders
        if local_path(folder) is not None
    }
    try:
        for mark in marks.values():
            files.write(mark, b"")
        yield marks
    finally:
        for mark in marks.values():
            files.delete(mark.rpartition("/")[0])


@frozen
class _Asked:
    """A task that returns its machine and the folders that the machine does not see. `seen`: folder -> a path that must
    exist."""

    seen: Mapping[str, str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if sum(batch.num_rows for batch in batches):  # a worker that leaves some serves no other task
            yield self.answer()

    def answer(self) -> pa.RecordBatch:
        files = Files()
        machine = f"{socket.gethostname()}: Python {platform.python_version()}, cedilla {installed()}"
        missing = [folder for folder, path in self.seen.items() if not files.exists(path)]
        return pa.record_batch(
            [pa.array([machine] * max(1, len(missing))), pa.array(missing or [None], pa.string())],
            names=["machine", "missing"],
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the machines of a cluster and checks that a run could use them. Returns 1 if it could not."""
    import argparse

    from cedilla.runtime.engines.spark.session import local_session

    parser = argparse.ArgumentParser(
        prog="python -m cedilla.runtime.epochs.pipeline.cluster", description=main.__doc__
    )
    parser.add_argument("folders", metavar="FOLDER", nargs="*", help="has to be the same one on each machine")
    parser.add_argument("--master", metavar="URL", help="the Spark master; that of spark-submit by default")
    parser.add_argument(
        "--conf", metavar="SPARK=VALUE", action="append", default=[], help="a setting of Spark"
    )
    options = parser.parse_args(arguments)
    conf = {name: value for name, _, value in (setting.partition("=") for setting in options.conf)}
    session = local_session("cedilla cluster", options.master, conf)
    try:
        print(*check_machines(session, Files(), (), options.folders), sep="\n")
    except DiagnosticError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
