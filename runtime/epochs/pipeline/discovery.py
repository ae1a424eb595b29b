"""Finds the files of a run: looks at folders, tables with a log and topics now and then, on every engine.

The checkpoint records the files that are not new (`Arrivals`), so a run continues after one on another engine. Records
of topics are fetched into files first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.epochs.checkpoint.arrivals import Arrivals, Found
from cedilla.runtime.epochs.checkpoint.read_files import last_batch
from cedilla.runtime.epochs.pipeline.executor import Executor
from cedilla.runtime.epochs.pipeline.source_folders import SourceFolders
from cedilla.runtime.epochs.pipeline.table_sources import TableSources

_POLL_SECONDS, _MIN_SECONDS = 0.1, 0.01
_PAUSE = 30
"""The least pause in processor time of a look at tables and topics. Folders have their own (`FolderTree`)."""
_CHECK_SECONDS = 1.0
"""How often a run that waits looks whether the checkpoint is still its own."""


def drive(
    executor: Executor,
    interval: float | None,
    on_step: Callable[[str], None],
    on_warning: Callable[[Diagnostic], None],
    interrupted: Callable[[], bool],
) -> None:
    """Lets an executor take the files that exist and those that come, every `interval` seconds; once, if that is
    `None`. Reports a wait for files to `on_step`, and files that have changed to `on_warning`. Raises
    `KeyboardInterrupt` once the run is `interrupted`."""
    order = executor.checkpoint.streams
    for note in executor.checkpoint.notes:
        on_step(note)
        executor.notes += (note,)
    streams = sorted((s for s in executor.plan.sources if not s.table), key=lambda s: order.index(s.name))
    if not streams:
        executor.process(0, {}, interrupted)
        return

    def tell(note: str) -> None:
        on_step(note)  # there may be no epoch that tells it
        executor.notes += (note,)

    for note in executor.checkpoint.folders.notes:
        tell(note)
    tables = TableSources.of(executor.plan, executor.checkpoint.path, executor.files, tell, executor.fields)
    in_folders = [s for s in streams if not s.is_topic]
    recorded = executor.checkpoint.folders
    folders = SourceFolders(
        executor.files, executor.plan, in_folders, tables, recorded, on_step, interval is None
    )

    if (last := last_batch(executor.files, executor.checkpoint.path)) is not None:
        executor.process(last.number, {}, interrupted)  # the rest of it
    arrivals = Arrivals(executor.checkpoint)

    def take(listed: Mapping[str, Found]) -> bool:
        """Runs what is new; returns False if the same files will give nothing."""
        executor.checkpoint.check_there()
        new = arrivals.batch({s.name: listed.get(s.name, Found()) for s in streams})
        is_to_repeat = bool(arrivals.changes or arrivals.warnings)
        for note in arrivals.changes:
            tell(note)
        arrivals.changes.clear()
        for warning in arrivals.warnings:
            on_warning(warning)
            executor.notes += (f"{warning.code}: {warning.message}",)
        arrivals.warnings.clear()
        if new is not None:
            executor.notes += tuple(arrivals.notes)
            arrivals.notes.clear()
            executor.process(*new, interrupted, added)
        return is_to_repeat

    is_told = False

    def wait(idle: bool) -> None:
        nonlocal is_told
        if interrupted():
            raise KeyboardInterrupt
        executor.journal.write_due()
        if idle and not is_told and interval is not None:
            is_told = True
            on_step("waiting for records" if executor.topics else "waiting for files")

    def added() -> Mapping[str, Sequence[InputFile]]:
        # A batch that continues keeps a run from looking at folders and tables.
        return {} if in_folders else arrivals.added(executor.topics.fetched())

    if executor.topics:
        executor.topics.begin(executor.last.topics)
    _look(executor, folders, interval, take, wait)


def _look(
    executor: Executor,
    folders: SourceFolders,
    interval: float | None,
    take: Callable[[Mapping[str, Found]], bool],
    wait: Callable[[bool], None],
) -> None:
    """Look at folders, tables and topics, once or for ever."""
    topics, tables = executor.topics, folders.tables
    taken: Mapping[str, Found] | None = None
    checked = time.monotonic()
    while True:
        looked, used = time.monotonic(), time.thread_time()
        fetched = topics.fetch(lambda: wait(False)) if topics else {}
        cost = time.thread_time() - used
        by_source = folders.look()
        cost += folders.cost
        if topics or taken is None or any(taken[name] is not files for name, files in by_source.items()):
            is_to_repeat = take({**by_source, **{name: Found(files) for name, files in fetched.items()}})
            taken, checked = None if is_to_repeat else by_source, time.monotonic()
        elif looked - checked >= _CHECK_SECONDS:
            executor.checkpoint.check_there()
            checked = looked
        tables.finish()
        # A look that stops before a file has not seen all; one at a table has not seen all versions.
        is_part = any(
            new_files.stop or (name in tables.logs and new_files.data)
            for name, new_files in by_source.items()
        )
        if interval is None and (not topics or topics.is_done()) and not is_part:
            return
        if any(fetched.values()) or is_part or interval is None:
            wait(False)
            continue
        wait(True)
        pause_ends = max(looked + interval, time.monotonic() + max(_MIN_SECONDS, _PAUSE * cost))
        while (left := pause_ends - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_SECONDS))
            wait(True)
