"""Commits epochs: waits for their jobs, writes the commit record, and makes outputs and quarantine visible."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from attrs import define, evolve, field

from cedilla.compiler import Engine
from cedilla.compiler.explain.analysis.releases import Release, releases
from cedilla.compiler.plan import Plan
from cedilla.runtime.connectors.topics.query_topics import Topics
from cedilla.runtime.control.markers.bad_markers import check_doubtful
from cedilla.runtime.engines.spark.jobs import Jobs, wait_all
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.pipeline.journal_entries import entry_of
from cedilla.runtime.epochs.pipeline.opening import OpenedCheckpoint
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.epochs.pipeline.running_epoch import RunningEpoch
from cedilla.runtime.epochs.pipeline.table_domains import TableDomains
from cedilla.runtime.epochs.pipeline.watching import Watches
from cedilla.runtime.epochs.state.waiting import rows_that_wait


@define(eq=False)
class EpochCommitter:
    """Commits one running epoch after the other. `in_order`: a user's function takes the epochs, in the thread of the
    run. `has_committed`: true after the first epoch."""

    plan: Plan
    opened: OpenedCheckpoint
    jobs: Jobs
    tables: TableDomains
    topics: Topics
    watches: Watches
    engine: Engine
    in_order: bool
    has_committed: bool = field(init=False, default=False)
    _releases: tuple[Release, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._releases = releases(self.plan)

    def commit(self, running: RunningEpoch, last: Commit, notes: Sequence[str]) -> tuple[Commit, EpochReport]:
        """Waits for an epoch's jobs and commits it after the last one; returns its record, and its report with `notes`.

        Raises what a job raises, and `DiagnosticError` if a doubtful marker ends the query; then nothing is committed.
        """
        waited = time.monotonic()
        wait_all(running.jobs)
        for part in running.read.values():
            if part.unplaced is not None:
                part.unplaced.check()
        computed = time.monotonic()
        opened, number = self.opened, running.record.epoch
        stages = [
            partial(opened.outputs.sinks[n].stage_markers, number, m) for n, m in running.markers.items()
        ]
        if self.in_order:
            stages[0]()
        else:
            self.jobs.together(stages)
        quarantined, rejected, bad = opened.quarantine.set_aside(running.read, number, running.set_aside)
        segments = opened.state.measured(running.record.segments)
        read = {name: part.read_counts.kept for name, part in running.read.items()}
        counts = {name: rows for name, job in running.written.items() if (rows := job.result()) is not None}
        suspects = self.watches.take(running.samples, last.sources, running.record.sources)
        check_doubtful(self.plan.settings, suspects)
        record = evolve(
            running.record,
            segments=segments,
            suspects=self.watches.dump(),
            engine=self.engine,
            counters=dict(Counter(last.counters) + quarantined),
            read=_summed(last.read, read),
            written=_summed(last.written, counts),
        )
        staged = time.monotonic()
        opened.checkpoint.commit(record)
        opened.outputs.publish(number, opened.checkpoint.run)
        opened.quarantine.publish(number)
        opened.state.commit(running.record.segments, segments, running.unused)
        self.has_committed, now = True, time.monotonic()
        report = evolve(
            running.report,
            tuples=sum(read.values()),
            seconds=now - running.started,
            quarantined=dict(quarantined),
            engine=self.engine,
            written=counts,
            waiting=rows_that_wait(self._releases, segments, running.after, number),
            warnings=(*self.tables.warnings(), *running.report.warnings, *bad, *suspects),
            notes=(*notes, *self.watches.notes(), *self.topics.notes(), *running.report.notes, *rejected),
            phases={
                "plan": running.report.seconds,
                "compute": computed - waited,
                "write": staged - computed,
                "commit": now - staged,
            },
        )
        if opened.journal.is_kept:
            opened.journal.note(entry_of(running, report, segments, self.topics.left(record.topics)))
        return record, report


def _summed(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Counts so far by name, with those of an epoch; one of nothing is 0."""
    return {name: before.get(name, 0) + now.get(name, 0) for name in {**before, **now}}
