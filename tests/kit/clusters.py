"""Spark as a cluster on this machine: a standalone master with workers, and a server of Spark Connect, each process
from PySpark's own package. Nothing of them remains."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pyspark
import pytest
from attrs import define, frozen

from cedilla.runtime.engines.spark import java
from tests.kit import ROOT
from tests.kit.java import quick_java

_BIN = Path(pyspark.__file__).parent / "bin"
_DEPLOY = "org.apache.spark.deploy"
_SECONDS = 120.0
"""That a process has to say that it is there."""


def spark_program(name: str) -> list[str]:
    """A program of PySpark's folder `bin`."""
    return [str(_BIN / name)]


def spark_environment(more: Mapping[str, str]) -> dict[str, str]:
    """For Spark's programs on this machine alone."""
    return {
        **os.environ,
        "JAVA_HOME": str(java.ensure()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": quick_java(),
        "SPARK_SUBMIT_OPTS": quick_java(),
        **more,
    }


@define
class Process:
    """A process and what it writes."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str) -> str:
        """Returns the first group of a pattern in the log, once it matches. The process has to live until then."""
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            if match := re.search(pattern, self.log.read_text(errors="replace")):
                return match[1]
            assert self.process.poll() is None, self.log.read_text(errors="replace")
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} in {self.log}:\n{self.log.read_text(errors='replace')}")

    def complaints(self) -> str:
        """Returns the last twenty lines of the log that report an error."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(
            [line for line in lines if re.search(r"ERROR|(Error|Exception)\b.*:|Caused by", line)][-20:]
        )

    def below(self) -> list[psutil.Process]:
        """The processes that it has started, and theirs."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        """SIGKILL to the process and all below it: executors, and their workers in Python."""
        if self.process.poll() is None:
            below = self.below()
            self.process.kill()
            for process in below:
                if process.is_running():
                    process.kill()
            psutil.wait_procs(below, 10)
        self.process.wait()


@contextmanager
def started(
    command: list[str],
    log: Path,
    environment: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
) -> Iterator[Process]:
    """A program of PySpark's folder `bin`, started by the command `within`; it is killed with the context, and so is
    what it has started."""
    settings = spark_environment({"SPARK_DAEMON_MEMORY": "256m", **(environment or {})})
    with log.open("wb") as file:
        popen = subprocess.Popen(
            [*within, *spark_program(command[0]), *command[1:]],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=settings,
            start_new_session=True,
        )
    process = Process(popen, log)
    try:
        yield process
    finally:
        process.kill()


@frozen
class Cluster:
    """A standalone cluster: the URL of its master, and its workers."""

    url: str
    workers: list[Process]

    @property
    def options(self) -> list[str]:
        """Of `cedilla run`: executors with as little memory as Spark takes, one on each worker."""
        own = ("spark.executor.memory=512m", f"spark.executor.extraJavaOptions={quick_java()}")
        return ["--master", self.url, *(text for setting in own for text in ("--conf", setting))]


@contextmanager
def cluster(
    folder: Path, environment: Mapping[str, str] | None = None, last: Sequence[str] = ()
) -> Iterator[Cluster]:
    """A master and two workers with a core each, on free ports of 127.0.0.1; `environment`: of the workers; `last`:
    the command that starts the last of them."""
    anywhere = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    few = ["--cores", "1", "--memory", "600m"]
    with ExitStack() as stack:
        master = stack.enter_context(
            started(["spark-class", f"{_DEPLOY}.master.Master", *anywhere], folder / "master.log")
        )
        url = master.wait_for(r"Starting Spark master at (spark://\S+)")
        workers: list[Process] = []
        for number, within in enumerate(((), last)):
            arguments = ["--work-dir", str(folder / f"worker{number}"), url]
            command = ["spark-class", f"{_DEPLOY}.worker.Worker", *anywhere, *few, *arguments]
            log = folder / f"worker{number}.log"
            workers.append(stack.enter_context(started(command, log, environment, within)))
        for worker in workers:
            worker.wait_for(r"(Successfully registered with master)")
        yield Cluster(url, workers)


@contextmanager
def connect_server(folder: Path, port: int = 0, *settings: str) -> Iterator[tuple[str, Process]]:
    """A server of Spark Connect with two cores of this machine: its URL, and its process. `settings`: NAME=VALUE."""
    conf = (
        f"spark.connect.grpc.binding.port={port}",
        "spark.connect.grpc.binding.address=127.0.0.1",
        "spark.ui.enabled=false",
        *settings,
    )
    command = [
        "spark-submit",
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]"),
        *(text for setting in conf for text in ("--conf", setting)),
    ]
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "1g"}
    with started(command, folder / "connect.log", environment) as server:
        port_found = server.wait_for(r"Spark Connect server started at: \S*?:(\d+)")
        yield f"sc://127.0.0.1:{port_found}", server


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


def alone(folder: Path) -> list[str]:
    """A command that starts another where a folder is one of its own; the test is passed over where that is refused."""
    command = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "sh"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"no folder of a process's own here: {problem}")
    return command
