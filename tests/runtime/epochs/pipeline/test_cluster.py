"""The sensors query on a standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cedilla.runtime.engines.spark.workers import installed
from tests.kit import sensors
from tests.kit.clusters import Cluster, alone, cluster, spark_environment, submit
from tests.kit.environments import environment
from tests.kit.processes import until
from tests.kit.sensors import FILES, QUERY, cedilla, check, finished, options
from tests.kit.stream import read_output

pytestmark = [pytest.mark.rest, pytest.mark.spark]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sensors.prepared(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("spark")) as started:
        yield started


def test_a_run_on_a_cluster(root: Path, workers: Cluster) -> None:
    output = finished(cedilla("run", str(QUERY), *options(root, "run"), *workers.options))
    assert f"epoch {FILES - 1} " in output
    check(root, "run")


def test_a_program_by_spark_submit(root: Path, workers: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "sensors.py"
    finished(cedilla("compile", str(QUERY), "-o", str(program)))
    submitted = submit(program, *options(root, "submit"), cluster=workers)
    assert f"epoch {FILES - 1} " in finished(submitted)
    check(root, "submit")


@pytest.mark.faults
def test_a_worker_that_dies_amid_the_run_changes_nothing(root: Path, tmp_path: Path) -> None:
    """SIGKILL to a worker, its executor and the Pythons below it, once epochs are being committed."""
    with cluster(tmp_path) as workers:
        process = cedilla("run", str(QUERY), *options(root, "killed"), *workers.options)
        commits = root / "killed" / "checkpoint" / "commits"
        until(lambda: any(commits.glob("*.json")), process)
        executors = [executor for worker in workers.workers for executor in worker.below()]
        assert executors, "no worker runs anything"
        workers.workers[0].kill()
        assert process.poll() is None, "the run was over before the worker died"
        finished(process)
    check(root, "killed")


@pytest.mark.faults
def test_a_driver_that_dies_again_and_again_changes_nothing(root: Path, workers: Cluster) -> None:
    """SIGKILL to the driver after its first commit; the next one goes on, with the executors of a new application."""
    commits, arguments = (
        root / "driver" / "checkpoint" / "commits",
        (*options(root, "driver"), *workers.options),
    )
    for _ in range(3):
        before = {*commits.glob("*.json")}
        with cedilla("run", str(QUERY), *arguments) as process:
            until(lambda before=before: bool({*commits.glob("*.json")} - before), process)
            process.kill()
    finished(cedilla("run", str(QUERY), *arguments))
    check(root, "driver")


@pytest.mark.soak
def test_workers_without_cedilla_end_the_run_with_a_message(
    root: Path, workers: Cluster, tmp_path: Path
) -> None:
    """Nothing is committed, and the next run, with the right Python, goes on."""
    bare = environment(tmp_path / "bare", "pyarrow", "pandas", "numpy", "dateutil", "pytz", "six.py")
    arguments = ("run", str(QUERY), *options(root, "bare"), *workers.options)
    process = cedilla(*arguments, python=str(bare))
    output = process.communicate(timeout=600)[0]
    assert process.returncode == 1, output
    assert re.search(r"error\[RQ433\]: the engine's Python workers have no module `(cedilla|attrs)`", output)
    assert "Traceback" not in output
    finished(cedilla(*arguments))
    check(root, "bare")


USER = """
stream sensors(ts: long, s: int in {1, 2, 3}, t: double) from json "in" punctuated on ts;
operator halved(R) foundation {t} returns (ts: long, s: int, half: double, where: string) from "halves:halved";
found := project[ts, half, where](halved(sensors));
emit found to json "found";
"""
HALVES = """
from halves_of_one import half

def of_batches(frames):
    for frame in frames:
        yield frame.assign(half=half(frame["t"]), where="there")[["ts", "s", "half", "where"]]

def halved(r):
    return r.mapInPandas(of_batches, "ts bigint, s int, half double, where string")
"""


@pytest.mark.soak
def test_a_user_operator_on_a_cluster(workers: Cluster, tmp_path: Path) -> None:
    """Its own module travels to the workers; what that imports has to be there."""
    (tmp_path / "q.rq").write_text(USER)
    (tmp_path / "halves.py").write_text(HALVES)
    (tmp_path / "halves_of_one.py").write_text("def half(x):\n    return x / 2\n")
    (tmp_path / "in").mkdir()
    rows = [f'{{"ts": {n}, "s": 1, "t": {n}.0}}\n' for n in range(4)]
    (tmp_path / "in" / "1.jsonl").write_text("".join(rows))
    arguments = [
        *("run", str(tmp_path / "q.rq"), "--once", "--checkpoint", str(tmp_path / "checkpoint")),
        *("--source", f"sensors={tmp_path}/in", "--sink", f"found={tmp_path}/found", *workers.options),
        *("--allow-module", "halves"),
    ]
    process = cedilla(*arguments)
    output = process.communicate(timeout=600)[0]
    assert "error[RQ433]: the engine's Python workers have no module `halves_of_one`" in output
    finished(cedilla(*arguments, "--conf", f"spark.submit.pyFiles={tmp_path}/halves_of_one.py"))
    actual = read_output(tmp_path / "found")
    assert sorted((row["ts"], row["half"]) for row in actual) == [(n, n / 2) for n in range(4)]


@pytest.mark.soak
def test_a_folder_that_one_machine_does_not_share(root: Path, tmp_path: Path) -> None:
    """Its files would be on its own disk, and missing in the output: no epoch begins."""
    run, spark = tmp_path / "run", tmp_path / "spark"
    run.mkdir()
    spark.mkdir()
    with cluster(spark, last=alone(run)) as workers:
        arguments = options(root, str(run))
        process = cedilla("run", str(QUERY), *arguments, *workers.options)
        output = process.communicate(timeout=600)[0]
        asked = subprocess.run(
            [
                sys.executable,
                "-m",
                "cedilla.runtime.epochs.pipeline.cluster",
                *workers.options,
                str(tmp_path),
            ],
            check=False,
            capture_output=True,
            text=True,
            env=spark_environment({"PYSPARK_PYTHON": sys.executable}),
        )
    assert process.returncode == 1
    assert "error[RQ432]" in output
    assert f"a machine of the cluster, does not see {run}/" in output
    assert not list(run.glob("*/commits/*.json"))
    assert not list(run.glob("*/_workers"))
    version = f"Python {sys.version.split()[0]}, cedilla {installed()}"
    assert asked.stdout == f"{socket.gethostname()}: {version}\n", asked.stderr
