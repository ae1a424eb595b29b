"""An environment of its own for Flink: PyFlink from PyPI, and the jars it lacks from Maven Central (by `mvn`).

`python -m tests.benchmarks.flink.install` installs it into build/bench/flink; a benchmark that needs it does so
by itself. What is there is not installed again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from cedilla.runtime.engines.spark import java
from tests.benchmarks.flink.places import HOME
from tests.benchmarks.workers import CallFailed, Worker

VERSION = "2.3.0"
HADOOP = "3.4.1"
_PYTHON = HOME / "venv" / "bin" / "python"
_DONE = HOME / f"installed-{VERSION}"
_JARS = (
    f"org.apache.flink:flink-sql-parquet:{VERSION}",
    f"org.apache.flink:flink-statebackend-rocksdb:{VERSION}",
    # the Parquet format needs Hadoop's configuration classes, which Flink does not bring
    f"org.apache.hadoop:hadoop-client-api:{HADOOP}",
    f"org.apache.hadoop:hadoop-client-runtime:{HADOOP}",
    "commons-logging:commons-logging:1.2",
)


def install() -> None:
    """Raises `subprocess.CalledProcessError` with the output of what failed, `FileNotFoundError` without `mvn`."""
    if _DONE.exists():
        return
    HOME.mkdir(parents=True, exist_ok=True)
    if not _PYTHON.exists():
        _run(sys.executable, "-m", "venv", str(HOME / "venv"))
    _run(str(_PYTHON), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}")
    if shutil.which("mvn") is None:
        raise FileNotFoundError("Flink's jars come from Maven Central: `mvn` is required")
    (HOME / "jars").mkdir(exist_ok=True)
    for artifact in _JARS:
        _run("mvn", "-q", "dependency:get", f"-Dartifact={artifact}", "-Dtransitive=false")
        _run("mvn", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={HOME / 'jars'}")
    _DONE.touch()


def start_worker(log: Path) -> Worker:
    """A process with PyFlink. Raises `CallFailed` where Flink cannot be installed."""
    try:
        install()
    except (subprocess.CalledProcessError, FileNotFoundError) as problem:
        output = getattr(problem, "stdout", b"") or b""
        raise CallFailed(
            f"Flink could not be installed: {problem}\n{output.decode(errors='replace')}"
        ) from None
    command = [str(_PYTHON), "-m", "tests.benchmarks.worker", "tests.benchmarks.flink.jobs:session"]
    (HOME / "log").mkdir(exist_ok=True)
    settings = {"JAVA_HOME": str(java.ensure()), "FLINK_LOG_DIR": str(HOME / "log")}
    settings["PATH"] = f"{HOME / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return Worker.start(command, log, settings)


def _run(*command: str) -> None:
    # in a folder of its own: a project file nearby is none of Maven's business
    subprocess.run(command, cwd=HOME, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


if __name__ == "__main__":
    install()
