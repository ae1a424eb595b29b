"""Runs that are killed, and checkpoints that are damaged: a query over many operators, and processes that start fast.

Processes are forked from one that has loaded all modules, so a kill hits a run that works, not one that imports.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from cedilla.runtime.connectors.formats.sinks.table import TableSink
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.connectors.storage.stores import LocalStore
from cedilla.runtime.epochs.checkpoint.integrity import Integrity, inspect
from tests.kit.lines import write_lines
from tests.kit.sensor_streams import PLACES, random_stream
from tests.kit.stream import decode, read_output


def dies_after(patch: pytest.MonkeyPatch, sink: type[TableSink], done: int) -> None:
    """Lets a run die after so many of the two versions that an epoch adds to tables, of its rows and of its markers."""
    append, appended = sink.append, list[str]()

    def dies(self: TableSink, table: str, number: int, rows: Any) -> None:
        if len(appended) == done:
            raise KeyboardInterrupt
        append(self, table, number, rows)
        appended.append(table)
        if len(appended) == done == 2:
            raise KeyboardInterrupt

    patch.setattr(sink, "append", dies)


def fill_disk(number: int) -> Callable[..., None]:
    """Returns a `LocalStore.write` for a disk that is full from the `number`th write on."""
    original, count = LocalStore.write, 0

    def write(store: LocalStore, path: str, data: bytes, *, durable: bool = True) -> None:
        nonlocal count
        count += 1
        if count >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        original(store, path, data, durable=durable)

    return write


QUERY = """
stream sensors(ts: long, s: int in {1, 2, 3}, t: double) from json "in/sensors" punctuated on ts;
stream placement(s: int, l: string) from json "in/placement" punctuated on s;
located := sensors join placement on s;
windows := window[10 on ts as wid](located);
average := aggregate[avg by l, wid except ts, s](windows);
hottest := top[2 by t desc, ts, s per wid](window[20 on ts as wid](sensors));
seen := distinct[s, ts](sensors);
quiet := sensors anti join select[s = 9](placement) on s;
ordered := sort[ts, s, t](sensors);
visits := aggregate[count() as n by visit, s](session[5 on ts per s as visit](sensors));
emit average to json "out/average";
emit hottest to json "out/hottest";
emit seen to json "out/seen";
emit quiet to json "out/quiet";
emit ordered to json "out/ordered";
emit visits to json "out/visits";
"""
"""Join, window, aggregate, top, distinct, anti join, sort and session; all but the select keep state."""
OPTIONS = ("--once", "--files-per-epoch", "1", "--checkpoint", "ck")
_FOLDER = re.compile(r'file:[^"]*/in/')
"""Rejected lines contain the folder of their file, which moves."""
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["tests.kit.faults", "cedilla.runtime.epochs.pipeline.program", "pysail.spark", "pyspark.sql"]
)


def prepare(root: Path, seed: int, length: int = 60, files: int = 8, query: str = QUERY) -> None:
    """Writes a project: a random stream of sensors in files, with accents and an invalid line."""
    stream: list[Any] = [*random_stream(random.Random(seed), length)]
    stream.insert(len(stream) // 2, "not json")
    size = -(-len(stream) // files)
    (root / "in/sensors").mkdir(parents=True)
    (root / "in/placement").mkdir()
    (root / "q.rq").write_text(query)
    write_lines(root / "in/placement/0.jsonl", [*PLACES, {"$punctuation": "[]"}], 0)
    for number in range(files):
        write_lines(
            root / f"in/sensors/{number:03}.jsonl", stream[number * size : (number + 1) * size], number
        )


def start(
    root: Path, *options: str, engine: str = "sail", before: Callable[[], None] | None = None
) -> Process:
    """`cedilla run` in a process of its own, in a folder. `before`: called there first."""
    arguments = ("run", "q.rq", *OPTIONS, "--engine", engine, *options)
    process = _CONTEXT.Process(target=_run, args=(str(root), arguments, before))
    process.start()
    return Process(process, root)


class Process:
    """A process that runs the query."""

    def __init__(self, process: ForkServerProcess, root: Path) -> None:
        self._process = process
        self._root = root

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> bool:
        """End it as SIGKILL does. Returns False where it has ended by itself."""
        alive = self._process.is_alive()
        if alive:
            os.kill(self.pid, signal.SIGKILL)
        self._process.join()
        return alive and self._process.exitcode == -signal.SIGKILL

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def ended(self, timeout: float = 120) -> tuple[int | None, str]:
        """The exit status and all of the messages."""
        self._process.join(timeout)
        assert not self._process.is_alive(), "the run does not end"
        return self._process.exitcode, self.said()

    def said(self) -> str:
        """Returns the messages so far."""
        path = self._root / f"errors-{self.pid}.txt"
        return path.read_text() if path.exists() else ""


def _run(root: str, arguments: tuple[str, ...], before: Callable[[], None] | None) -> None:
    os.chdir(root)
    errors = os.open(f"errors-{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    if before is not None:
        before()
    from cedilla.runtime.hosts.cli.main import main

    sys.argv = ["cedilla", *arguments]
    main(arguments)


def content(root: Path, *, rejected: bool = True) -> dict[str, list[str]]:
    """The outputs and the rejected lines by epoch and file; tuples in no order, numbers to ten digits.
    `rejected`: False leaves rejected lines out."""
    result: dict[str, list[str]] = {}
    for file in sorted(
        [*root.glob("out/*/epoch=*/*"), *(root.glob("ck/quarantine/*/*.jsonl") if rejected else ())]
    ):
        name = file.name if "tuples" not in file.name else "1-tuples"
        lines = [
            json.dumps(json.loads(line, parse_float=lambda x: f"{float(x):.10g}"), sort_keys=True)
            for line in _FOLDER.sub("file:/in/", file.read_text()).splitlines()
        ]
        result.setdefault(f"{file.parent.relative_to(root)}/{name}", []).extend(lines)
    return {name: sorted(lines) if "tuples" in name else lines for name, lines in result.items()}


def rows(root: Path) -> dict[str, list[str]]:
    """The canonical rows of the outputs, wherever their epochs end."""
    return {
        out.name: sorted(
            str({n: f"{float(v):.7f}" if n in ("t", "p") else str(v) for n, v in row.items()})
            for row in decode(read_output(out))
        )
        for out in sorted(root.glob("out/*"))
    }


def integrity(root: Path) -> Integrity:
    """Returns the findings of `cedilla doctor`."""
    return inspect(SealedFiles(Files(), str(root / "ck")), Files().checksum)


def assert_whole(root: Path) -> None:
    """Asserts that nothing is damaged, and that no remains of other epochs exist."""
    actual = integrity(root)
    assert (actual.problems, actual.unnamed, actual.torn) == ((), (), None), actual
    assert [*root.glob("out/*/_staging"), *root.glob("ck/quarantine/*/_*")] == []


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files of a folder but those that say who owns it, and that its run has ended by itself."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "owner" not in file.name and file.name != "ended"
    }


# --- damage ----------------------------------------------------------------------------------------------


def _truncate(rng: random.Random, file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: rng.randrange(len(data))] if data else b"")


def _flip(rng: random.Random, file: Path) -> None:
    data = bytearray(file.read_bytes() or b"\0")
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(bytes(data))


def _delete(rng: random.Random, file: Path) -> None:
    file.unlink()


def _duplicate(rng: random.Random, file: Path) -> None:
    """Beside itself, or by a name that the next one might have."""
    copy = file.with_name(f"{file.stem}-copy{file.suffix}")
    numbers = [part for part in file.stem.split("-") if part.isdigit()]
    if numbers and rng.random() < 0.5:
        last = numbers[-1]
        copy = file.with_name(
            f"{file.stem[: file.stem.rindex(last)]}{int(last) + 1:0{len(last)}}{file.suffix}"
        )
    shutil.copy(file, copy)


DAMAGES: Mapping[str, Callable[[random.Random, Path], None]] = {
    "truncate": _truncate,
    "flip": _flip,
    "delete": _delete,
    "duplicate": _duplicate,
}


def damage(rng: random.Random, folder: Path) -> str:
    """One random damage to one random file below a folder. Returns what was done, for messages."""
    kind = rng.choice(list(DAMAGES))
    file = rng.choice([file for file in sorted(folder.rglob("*")) if file.is_file()])
    DAMAGES[kind](rng, file)
    return f"{kind} {file.relative_to(folder)}"


def wait_a_part(rng: random.Random, run: Process, most: float) -> None:
    """A random time, unless the run ends first."""
    until = time.monotonic() + rng.uniform(0, most)
    while time.monotonic() < until and run.is_alive():
        time.sleep(0.005)


def finish(root: Path) -> None:
    """Runs the query to its end, in a process of its own."""
    status, errors = start(root).ended()
    assert status == 0, errors


def assert_coded(status: int | None, errors: str) -> None:
    """Asserts that a run ended with a code, and without a trace of Python."""
    assert (status, "Traceback" in errors) == (1, False), errors
    assert re.search(r"RQ\d{3}", errors), errors
