"""The sensors query on a standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from cedilla import Options, simulate
from cedilla.runtime.engines.workers import installed
from tests.clusters import Cluster, cluster, spark_environment, spark_program
from tests.environments import environment
from tests.stream import Item, decode, read_output

pytestmark = [pytest.mark.rest, pytest.mark.spark]
ROOT = Path(__file__).parents[2]
QUERY = ROOT / "queries" / "sensors.rq"
DATA = ROOT / "queries" / "sensors" / "data"
FILES, TUPLES = 5, 3_000
"""Files so large, by a field that is passed over, that workers parse them, not the driver."""
REST = "x" * 330


def write_streams(root: Path) -> None:
    """The sensors of the paper with many more readings, each file of one window: their units change and an attribute
    appears amid the files."""
    rng = Random(20)
    (root / "in" / "sensors").mkdir(parents=True)
    (root / "in" / "placement").mkdir()
    celsius: set[int] = set()
    pressure: set[int] = set()
    for number in range(FILES):
        lines: list[str] = []
        for at in range(TUPLES):
            if at == TUPLES // 2 and number < 3:
                celsius.add(number + 1)
                lines.append(f'{{"$accent": "[[s = {number + 1}, alter(t, y -> (y - 32) * 5/9)]]"}}')
            if at == TUPLES // 3 and number == 1:
                pressure.add(2)
                lines.append('{"$accent": "[[s = 2, +(p: double)]]"}')
            sensor = rng.randrange(1, 4)
            t = rng.randrange(100, 400) / 10 * (1 if sensor in celsius else 9 / 5)
            p = ', "p": 1013.0' if sensor in pressure else ""
            lines.append(
                f'{{"ts": {number * 300 + at * 300 // TUPLES}, "s": {sensor}, "t": {t:.2f}{p}, "rest": "{REST}"}}'
            )
        lines.append(f'{{"$punctuation": "[ts < {(number + 1) * 300}]"}}')
        path = root / "in" / "sensors" / f"{number}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        assert path.stat().st_size > 1 << 20
        os.utime(path, (number + 1, number + 1))
    placement = DATA / "placement" / "0-placement.jsonl"
    (root / "in" / "placement" / "0.jsonl").write_text(placement.read_text())


def options(root: Path, name: str) -> list[str]:
    """What runs share: where they read and write."""
    return [
        *("--once", "--files-per-epoch", "1", "--checkpoint", str(root / name / "checkpoint")),
        *("--source", f"sensors={root}/in/sensors", "--source", f"placement={root}/in/placement"),
        *("--sink", f"average={root / name / 'average'}"),
    ]


def averages(root: Path, name: str) -> dict[tuple[str, int], Item]:
    """The rows of an output in its first units, by place and window."""
    rows = decode(read_output(root / name / "average"))
    found = {(row["l"], row["wid"]): {n: float(row[n]) for n in ("t", "p") if n in row} for row in rows}
    assert len(found) == len(rows), "a group was passed twice"
    return found


def cedilla(*arguments: str, python: str | None = None) -> subprocess.Popen[str]:
    """The command; `python`: that of the workers."""
    return subprocess.Popen(
        [sys.executable, "-m", "cedilla.runtime.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=spark_environment({"PYSPARK_PYTHON": python or sys.executable}),
    )


def submit(program: Path, *arguments: str, cluster: Cluster) -> subprocess.Popen[str]:
    """The same by `spark-submit` of a compiled program."""
    master, url, *conf = cluster.options
    return subprocess.Popen(
        [*spark_program("spark-submit"), master, url, *conf, str(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=spark_environment({"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}),
    )


def finished(process: subprocess.Popen[str]) -> str:
    """What a command has written, which went well."""
    said = process.communicate(timeout=900)[0]
    assert process.returncode == 0, said
    return said


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The streams, and what the reference makes of them."""
    made = tmp_path_factory.mktemp("cluster")
    write_streams(made)
    sources = {name: str(made / "in" / name) for name in ("sensors", "placement")}
    simulate(QUERY, Options(sources=sources, sinks={"average": str(made / "reference" / "average")}))
    return made


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("spark")) as started:
        yield started


def check(root: Path, name: str) -> None:
    expected, found = averages(root, "reference"), averages(root, name)
    assert len(expected) == 2 * FILES
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key] == pytest.approx(row, abs=1e-9, rel=1e-12)


def test_a_run_on_a_cluster(root: Path, workers: Cluster) -> None:
    said = finished(cedilla("run", str(QUERY), *options(root, "run"), *workers.options))
    assert f"epoch {FILES - 1} " in said
    check(root, "run")


def test_a_program_by_spark_submit(root: Path, workers: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "sensors.py"
    finished(cedilla("compile", str(QUERY), "-o", str(program)))
    submitted = submit(program, *options(root, "submit"), cluster=workers)
    assert f"epoch {FILES - 1} " in finished(submitted)
    check(root, "submit")


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


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 600
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_workers_without_cedilla_end_the_run_with_a_message(
    root: Path, workers: Cluster, tmp_path: Path
) -> None:
    """Nothing is committed, and the next run, with the right Python, goes on."""
    bare = environment(tmp_path / "bare", "pyarrow", "pandas", "numpy", "dateutil", "pytz", "six.py")
    arguments = ("run", str(QUERY), *options(root, "bare"), *workers.options)
    process = cedilla(*arguments, python=str(bare))
    said = process.communicate(timeout=600)[0]
    assert process.returncode == 1, said
    assert "error[RQ433]: the engine's Python workers have no module `cedilla`\n" in said
    assert "Traceback" not in said
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
    ]
    process = cedilla(*arguments)
    said = process.communicate(timeout=600)[0]
    assert "error[RQ433]: the engine's Python workers have no module `halves_of_one`" in said
    finished(cedilla(*arguments, "--conf", f"spark.submit.pyFiles={tmp_path}/halves_of_one.py"))
    found = read_output(tmp_path / "found")
    assert sorted((row["ts"], row["half"]) for row in found) == [(n, n / 2) for n in range(4)]


def alone(folder: Path) -> list[str]:
    """A command that starts another where a folder is one of its own; the test is passed over where that is refused."""
    command = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "sh"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"no folder of a process's own here: {problem}")
    return command


def test_a_folder_that_one_machine_does_not_share(root: Path, tmp_path: Path) -> None:
    """What that one wrote would be on its own disk, and the output would be without: no epoch begins."""
    run, spark = tmp_path / "run", tmp_path / "spark"
    run.mkdir()
    spark.mkdir()
    with cluster(spark, last=alone(run)) as workers:
        arguments = options(root, str(run))
        process = cedilla("run", str(QUERY), *arguments, *workers.options)
        said = process.communicate(timeout=600)[0]
        asked = subprocess.run(
            [sys.executable, "-m", "cedilla.runtime.engines.cluster", "--master", workers.url, str(tmp_path)],
            check=False,
            capture_output=True,
            text=True,
            env=spark_environment({"PYSPARK_PYTHON": sys.executable}),
        )
    assert process.returncode == 1
    assert "error[RQ432]" in said
    assert f"a machine of the cluster, does not see {run}/" in said
    assert not list(run.glob("*/commits/*.json"))
    assert not list(run.glob("*/_workers"))
    version = f"Python {sys.version.split()[0]}, cedilla {installed()}"
    assert asked.stdout == f"{socket.gethostname()}: {version}\n", asked.stderr
