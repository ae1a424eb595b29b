"""The errors of a run whose Python workers do not fit, and the parts that are sent to workers."""

from __future__ import annotations

import platform
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.formats.lines import written_tuples
from cedilla.runtime.connectors.storage.engine_failures import refusal
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs, workers
from cedilla.runtime.engines.spark.workers import in_workers, installed, unfit_workers
from cedilla.runtime.epochs.pipeline.cluster import check_machines
from tests.kit.environments import environment
from tests.kit.errors import error_of
from tests.kit.query import Query

QUERY = 'stream r(a: long) from json "r"; emit r to json "q";'


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Query:
    """A query whose tuples workers parse, as on a cluster."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    monkeypatch.setattr(written_tuples, "is_local", lambda spark: False)
    result = Query(spark, tmp_path, QUERY)
    result.write("r", [{"a": 1}])
    return result


@pytest.mark.rest
def test_workers_that_lack_something_end_the_query_with_a_message(
    run: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def workers_of(python: Path) -> None:
        monkeypatch.setattr(run.spark.sparkContext, "pythonExec", str(python))

    workers_of(tmp_path / "none")
    error = error_of(run.process)
    assert "PYSPARK_PYTHON" in str(error.help)
    assert (error.code, error.message) == (
        "RQ433",
        f"the engine's Python workers do not start: their machines lack the program `{tmp_path}/none`",
    )
    workers_of(environment(tmp_path / "bare"))
    assert error_of(run.process).message == "the engine's Python workers have no module `cedilla`"
    workers_of(Path(sys.executable))
    run.process()
    assert run.output("r") == [{"a": 1}]


def echo(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def test_workers_of_another_version_are_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of another version may be packed in another way, and mean something else."""
    monkeypatch.setattr(workers, "installed", lambda: "99.1")
    sent = in_workers(spark.range(1), echo, "id BIGINT")
    with pytest.raises(Exception, match="RQ433") as raised:
        sent.collect()
    refused = refusal(raised.value)
    assert refused is not None
    assert refused.diagnostics[0].message == (
        f"the engine's Python workers have cedilla {installed()}, and the run has cedilla 99.1"
    )


@pytest.mark.rest
def test_machines_say_what_they_have_and_which_folders_they_see(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, output = tmp_path / "in", tmp_path / "out"
    read.mkdir()
    lines = check_machines(spark, Files(), [str(read)], [str(output)])
    assert lines == [f"{socket.gethostname()}: Python {platform.python_version()}, cedilla {installed()}"]
    assert list(output.iterdir()) == []
    with pytest.raises(DiagnosticError, match=r"does not see \S+/elsewhere") as raised:
        check_machines(spark, Files(), [str(tmp_path / "elsewhere"), str(read)], [str(output)])
    assert raised.value.diagnostics[0].code == "RQ432"
    assert list(output.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in"
            " driver: 3.11, PySpark cannot run with different minor versions.",
            "run Python 3.10, and this is Python 3.11",
        ),
        (
            "pyspark.errors.exceptions.base.PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be"
            " installed; however, it was not found.",
            "have no `PyArrow` of version 18.0.0 or newer",
        ),
        (
            "    import pyarrow as pa\nModuleNotFoundError: No module named 'pyarrow'\n",
            "have no module `pyarrow`",
        ),
    ],
)
def test_what_workers_say_of_themselves(text: str, message: str) -> None:
    refused = unfit_workers(Exception(text))
    assert refused is not None
    assert refused.diagnostics[0].message == f"the engine's Python workers {message}"


def test_an_error_that_has_a_code_keeps_it() -> None:
    """A user's function that imports what is not here has failed here, not in a worker."""
    assert unfit_workers(failure("RQ408", "failed: ModuleNotFoundError: No module named 'x'")) is None
    assert unfit_workers(ValueError("of something else")) is None
