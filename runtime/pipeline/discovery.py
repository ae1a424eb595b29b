"""Where the files of a run come from: a look at the folders, and then Spark's file stream; on other engines and beside
topics and tables of Delta, a look now and then. Records of topics are fetched into files first.

What is new is told by the checkpoint (`Arrivals`), so a run goes on where one on another engine has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from cedilla.runtime.checkpoint.arrivals import Arrivals, Found
from cedilla.runtime.engines.frames import is_connect
from cedilla.runtime.engines.spark import stream_files
from cedilla.runtime.formats.source import InputFile
from cedilla.runtime.pipeline.delta_sources import DeltaSources
from cedilla.runtime.pipeline.executor import Executor
from cedilla.runtime.storage.files import FoundFile

_POLL_SECONDS, _LEAST_SECONDS = 0.1, 0.01


def drive(
    executor: Executor,
    interval: float | None,
    on_step: Callable[[str], None],
    interrupted: Callable[[], bool],
) -> None:
    """Let an executor take the files that are there and those that come, every `interval` seconds; once, if that is
    `None`. `on_step` is told where there are none. Raises `KeyboardInterrupt` once the run is `interrupted`."""
    order = executor.checkpoint.streams
    streams = sorted((s for s in executor.plan.sources if not s.table), key=lambda s: order.index(s.name))
    if not streams:
        executor.process(0, {}, interrupted)
        return
    arrivals = Arrivals(executor.checkpoint)
    is_connected = is_connect(executor.spark)

    def tell(note: str) -> None:
        on_step(note)  # there may be no epoch that tells it
        executor.notes += (note,)

    tables = DeltaSources.of(executor.plan, executor.checkpoint.path, executor.files, tell)
    is_looked_for = is_connected or bool(executor.topics) or bool(tables)
    is_idle = False  # and has been said

    def take(found: Mapping[str, Sequence[FoundFile]], stopped: Callable[[], bool] = interrupted) -> None:
        nonlocal is_idle
        new = arrivals.batch(
            {s.name: Found(found[s.name], found.get(f"{s.name}.markers", ())) for s in streams}
        )
        if new is not None:
            is_idle = False
            executor.process(*new, stopped, added)

    def added() -> Mapping[str, Sequence[InputFile]]:
        # A batch that goes on keeps a run from looking at folders and tables.
        return {} if folders or tables else arrivals.added(executor.topics.fetched())

    def wait(idle: bool) -> None:
        nonlocal is_idle
        if interrupted():
            raise KeyboardInterrupt
        if idle and not is_idle and interval is not None:
            is_idle = True
            on_step("waiting for records" if executor.topics else "waiting for files")

    folders = [
        (name, path)
        for s in streams
        for name, path in ((s.name, None if s.is_topic else s.path), (f"{s.name}.markers", s.markers))
        if path is not None and name not in tables.logs
    ]
    if arrivals.last is not None:
        executor.process(arrivals.last, {}, interrupted)  # what is left of it
    if executor.topics:
        executor.topics.begin(executor.last.topics)
    if is_looked_for:
        _look(executor, tables, folders, interval, take, wait)
        return
    # Files that are there need no streaming query: starting one takes the driver's JVM some seconds.
    take({name: executor.files.tree(path) for name, path in folders})
    wait(False)
    if interval is not None:
        record = executor.files.for_engine(f"{executor.checkpoint.path}/spark")
        # Spark's current directory may be another.
        places = [(name, executor.files.for_engine(path)) for name, path in folders]
        # Spark's own threads are told by its query where they are to stop.
        stream_files(executor.spark, places, record, interval, lambda found: take(found, lambda: False), wait)


def _look(
    executor: Executor,
    tables: DeltaSources,
    folders: Sequence[tuple[str, str]],
    interval: float | None,
    take: Callable[[Mapping[str, Sequence[FoundFile]]], None],
    wait: Callable[[bool], None],
) -> None:
    """Look at folders, tables and topics, once or for ever."""
    topics = executor.topics
    while True:
        looked = time.monotonic()
        fetched = topics.fetch(lambda: wait(False)) if topics else {}
        added = tables.look()
        take({**{name: executor.files.tree(path) for name, path in folders}, **added, **fetched})
        tables.finish()
        if interval is None and (not topics or topics.is_done()) and not any(added.values()):
            return
        if any(fetched.values()) or any(added.values()) or interval is None:
            wait(False)
            continue
        wait(True)
        pause_ends = max(looked + interval, time.monotonic() + _LEAST_SECONDS)
        while (left := pause_ends - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_SECONDS))
            wait(True)
