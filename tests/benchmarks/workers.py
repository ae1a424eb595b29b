"""Starting the processes of competitors, talking to them, and watching their memory."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import psutil
from attrs import define, field

from tests.benchmarks.contest import ROOT

_SAMPLE_SECONDS = 0.2


class CallFailed(Exception):
    """A call did not return: it raised, its process died, or it took too long."""


@define(eq=False)
class Worker:
    """A process that runs calls, one at a time."""

    process: subprocess.Popen[bytes]
    answers: BinaryIO
    log: Path
    _family_before: set[psutil.Process] = field(init=False, factory=set[psutil.Process])

    @staticmethod
    def start(command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> Worker:
        """`command` gets the number of the pipe for its answers as one more argument."""
        read, write = os.pipe()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            process = subprocess.Popen(
                [*command, str(write)],
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                pass_fds=(write,),
            )
        os.close(write)
        return Worker(process, os.fdopen(read, "rb"), log)

    @staticmethod
    def of_spark(log: Path) -> Worker:
        """This Python with a Spark session."""
        return Worker._python(log, "tests.benchmarks.engines:spark_session")

    @staticmethod
    def of_sail(log: Path) -> Worker:
        """This Python with a session of Sail."""
        return Worker._python(log, "tests.benchmarks.engines:embedded_session")

    @staticmethod
    def plain(log: Path) -> Worker:
        """This Python with no session."""
        return Worker._python(log, "tests.benchmarks.worker:no_session")

    @staticmethod
    def _python(log: Path, make_session: str) -> Worker:
        return Worker.start([sys.executable, "-m", "tests.benchmarks.worker", make_session], log)

    def ask(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """The answer to a request, with `rss_mb`, the most memory that the process and its children held, and `cpu_s`,
        the processor time that they took.

        Raises `CallFailed`; after `limit` seconds the process is ended.
        """
        assert self.process.stdin is not None
        cpu_before = self._cpu_seconds()
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise CallFailed(self._last_words()) from None
        until, most = time.monotonic() + limit, self._memory()
        while not select.select([self.answers], [], [], _SAMPLE_SECONDS)[0]:
            most = max(most, self._memory())
            if time.monotonic() > until:
                self.end()
                raise CallFailed(f"no answer within {limit:.0f} s")
        line = self.answers.readline()
        if not line:
            raise CallFailed(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise CallFailed(answer["error"])
        seconds = self._cpu_seconds() - cpu_before
        return {**answer, "rss_mb": max(most, self._memory()), "cpu_s": seconds}

    def _family(self) -> list[psutil.Process]:
        try:
            process = psutil.Process(self.process.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _memory(self) -> float:
        """Of processes that were there when last asked: a JVM forks to run a small program, and until that runs, the
        fork seems to hold all that the JVM holds."""
        total, family = 0, self._family()
        before, self._family_before = self._family_before, set(family)
        for process in before.intersection(family):
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total / 2**20

    def _cpu_seconds(self) -> float:
        """What the process and its children have taken so far, those included that have ended."""
        total = 0.0
        for process in self._family():
            try:
                total += sum(process.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
        return total

    def _last_words(self) -> str:
        tail = self.log.read_text(errors="replace").splitlines()[-20:]
        return "\n".join([*tail, "the process died"])

    def close(self) -> None:
        """Let the process end by itself, within a minute."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(60)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.end()
        self.answers.close()

    def end(self) -> None:
        """End the process and its children."""
        for process in reversed(self._family()):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.process.wait()
