"""The epoch executor: files in, one commit after the other out (design, section 5)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from functools import partial

from attrs import define, evolve, field
from pyspark.sql import SparkSession

from cedilla.compiler import Engine
from cedilla.compiler.analysis.releases import Release, releases
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.checkpoint.commits import Commit
from cedilla.runtime.checkpoint.edits.change import Changes
from cedilla.runtime.checkpoint.edits.plan_changes import resume
from cedilla.runtime.checkpoint.journal import Journal
from cedilla.runtime.checkpoint.stored_plan import StoredPlan
from cedilla.runtime.control.domains.table_domains import news
from cedilla.runtime.control.markers.bad_markers import check_doubtful
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.engines import costs
from cedilla.runtime.engines.connect import engine_in
from cedilla.runtime.engines.frames import refusal
from cedilla.runtime.engines.jobs import Jobs, wait_all
from cedilla.runtime.engines.tuning import Tuning
from cedilla.runtime.formats.sinks.callback import OnEpoch
from cedilla.runtime.ingest.marker_search import MarkerSearch
from cedilla.runtime.ingest.quarantine import Quarantine
from cedilla.runtime.ingest.read_ahead import ReadAhead
from cedilla.runtime.pipeline.batch_cursor import BatchCursor, Listed
from cedilla.runtime.pipeline.epoch_messages import LocatedStop, located
from cedilla.runtime.pipeline.journal_entries import entry_of
from cedilla.runtime.pipeline.open_batch import More, OpenBatch
from cedilla.runtime.pipeline.outputs import Outputs
from cedilla.runtime.pipeline.running_epoch import EpochStarter, Flow, RunningEpoch
from cedilla.runtime.pipeline.table_domains import TableDomains, unread_tables
from cedilla.runtime.pipeline.watching import Watches
from cedilla.runtime.state.segments import StateStore
from cedilla.runtime.state.waiting import rows_that_wait
from cedilla.runtime.storage.files import Files
from cedilla.runtime.terminal.report import EpochReport
from cedilla.runtime.topics.query_topics import Topics


@define(eq=False, slots=False)
class Executor:
    """Runs one plan over one checkpoint; `process` takes the files of a micro-batch."""

    spark: SparkSession
    plan: Plan
    flow: Flow
    checkpoint: Checkpoint
    files: Files
    files_per_epoch: int | None = None
    on_report: Callable[[EpochReport], None] = lambda report: None
    on_epoch: OnEpoch | None = None
    conf: Mapping[str, str] = field(factory=dict[str, str])
    """Spark's settings that the user has chosen."""
    consent: Callable[[Changes], bool] = lambda changes: False
    """Asks if an edited query may continue, where the user must confirm it."""
    topics: Topics = field(factory=Topics)
    last: Commit = field(init=False)
    outputs: Outputs = field(init=False)
    state: StateStore = field(init=False)
    jobs: Jobs = field(init=False, factory=Jobs)
    read_ahead: ReadAhead = field(init=False)
    tables: TableDomains = field(init=False)
    tuning: Tuning = field(init=False)
    journal: Journal = field(init=False)
    _quarantine: Quarantine = field(init=False)
    _watches: Watches = field(init=False)
    _engine: Engine = field(init=False)
    _cursor: BatchCursor = field(init=False)
    _starter: EpochStarter = field(init=False)
    _in_flight: list[RunningEpoch] = field(init=False, factory=list)
    """Epochs that are not committed: the one that runs, and the one that is launched meanwhile."""
    _committed_at: float | None = field(init=False, default=None)
    """When an epoch was last committed here, by the monotonic clock; `None` before the first."""
    _releases: tuple[Release, ...] = field(init=False)
    notes: tuple[str, ...] = field(init=False, default=())
    """Messages for the next epoch."""
    _last_cached: ExitStack = field(init=False, factory=ExitStack)
    """The cached rows of the last completed epoch."""

    def __attrs_post_init__(self) -> None:
        path, run = self.checkpoint.path, self.checkpoint.run
        self.outputs = Outputs(self.plan, self.files, path, run, self.on_epoch)
        self._engine = engine_in(self.spark)
        search = MarkerSearch.of(self.spark, self.jobs, self.plan, self.files)
        self.tables = TableDomains(self.spark, self.files, search)
        self.plan = self.topics.known(self.tables.of(self.plan))
        self._cursor = BatchCursor(
            self.spark, self.plan, self.files, self.topics, self.tables, search, self.files_per_epoch
        )
        self.last = self.checkpoint.open(self.plan, self._edited, self._check_not_ahead)
        if self.last.epoch < 0:
            self.last = evolve(
                self.last,
                sources=starting_states(self.plan),
                sinks={e.name: SinkState.start(self.plan.start[e.relation]) for e in self.plan.emits},
            )
            self.outputs.check_fresh()
        else:
            # A crash may have come between commit and publication.
            self.outputs.publish(self.last.epoch, self.last.run)
            self.outputs.tidy(self.last.epoch)
        self._quarantine = Quarantine(self.spark, self.files, self.plan.settings, path, run)
        self._quarantine.recover(self.last.epoch, self.last.run)
        self.checkpoint.sweep(self.last)
        self.state = StateStore(self.spark, self.files, f"{path}/state", self.jobs, run)
        self.state.reset(self.last.segments)
        self.tuning = Tuning(self.spark, self.conf)
        self._watches = Watches.of(self.plan, self.jobs, self.last.suspects)
        self.journal = Journal.open(self.files, path)
        self.read_ahead = ReadAhead(self.spark, self.jobs, self.files)
        self._starter = EpochStarter(
            self.spark,
            self.plan,
            self.flow,
            self.state,
            self.jobs,
            self.outputs.sinks,
            self._watches,
            self.checkpoint,
            self.read_ahead,
        )
        self._releases = releases(self.plan)

    def _edited(self, path: str, stored: StoredPlan, last: Commit, plan: Plan) -> Changes:
        """Returns the changes of an edited query, after it has ended the outputs of the one before."""
        changes = resume(path, stored, last, plan, self.outputs.is_fresh, self.consent)
        self.notes = tuple(news(plan, last.sources, changes.commit.sources))
        self.outputs.end_older(stored.plan, last.epoch, last.run)
        return changes

    def _check_not_ahead(self, last: Commit) -> None:
        self.outputs.check_not_ahead(last.sinks.keys(), last.epoch)

    # --- batches and epochs ---

    def process(
        self,
        batch: int,
        new_files: Listed,
        interrupted: Callable[[], bool] = lambda: False,
        more: More = dict,
    ) -> None:
        """Run the epochs of a micro-batch that are not committed yet, and of what `more` comes meanwhile; the next is
        planned while one runs.

        Raises `DiagnosticError` where a marker or a tuple ends the query, `KeyboardInterrupt` once it is `interrupted`
        and the epoch under way is committed; all before that is committed.
        """
        if batch < self.last.batch:
            return
        if batch > self.last.batch:
            self.last = evolve(self.last, batch=batch, progress={})
        self.tables.look(self.plan, self.last.sources)
        tables = unread_tables(self.files, self.plan, self.last.sources)
        ordered = self.checkpoint.order(batch, {**new_files, **tables}, self.last.progress)
        files = {name: listed for name, listed in ordered.items() if name in self.plan.source_of}
        growing = OpenBatch(batch, ordered, self.checkpoint, self.topics, more, self.last.progress)
        try:
            while self._in_flight or self._rest.has_files(files) or self._is_without_input:
                if self.topics and self._rest.is_short(files):
                    growing.grow()
                self._step(files)
                growing.done(self.last.progress)
                if interrupted():
                    if self._in_flight:
                        self._complete(self._in_flight[0])
                    raise KeyboardInterrupt
            growing.forget()
            self.outputs.tidy(self.last.epoch)  # not after a failure: it may have come just after a commit
        except BaseException as problem:
            self._give_up()
            if (refused := refusal(problem)) is not None:
                raise refused from None
            raise
        finally:
            self._last_cached.close()
            self.state.release_memory()
            self.tuning.restore()

    def close(self) -> None:
        """Closes threads, outputs and the journal."""
        self.journal.write()
        self.jobs.close()
        self.outputs.close()

    @property
    def _base(self) -> Commit:
        """Returns the basis of the next epoch: the last commit, or the coming one of a running epoch."""
        return self._in_flight[-1].record if self._in_flight else self.last

    @property
    def _is_without_input(self) -> bool:
        """Returns True if all is closed before any file comes: tables without files have one epoch, the first."""
        return self._base.epoch < 0 and all(source.table for source in self.plan.sources)

    @property
    def _rest(self) -> BatchCursor:
        """Returns what is left of the micro-batch for the next epoch."""
        return evolve(self._cursor, base=self._base)

    def _step(self, files: Listed) -> None:
        """Launch an epoch; if one runs already, complete that one then."""
        if not self._in_flight:
            self._start(files)
            return
        running = self._in_flight[0]
        # A user's function is to see one epoch after the other. The first results do not wait for a second plan, which
        # takes seconds where Java has just started.
        if (
            self._committed_at is not None
            and self.on_epoch is None
            and not running.stops
            and self._rest.has_files(files)
        ):
            try:
                self._start(files)
            except Exception:  # of building on what never is committed, perhaps; if not, it comes again alone
                self._give_up(1)
        self._complete(running)

    def _give_up(self, first: int = 0) -> None:
        """Forgets the epochs in flight, or all but the first, once their jobs are over. They are computed again."""
        given_up, self._in_flight = self._in_flight[first:], self._in_flight[:first]
        wait([*(job for epoch in given_up for job in epoch.jobs), *self.jobs.take()])
        for epoch in given_up:
            epoch.cached.close()
        self._cursor.search.forget()
        self.read_ahead.forget()
        self.state.reset(self._base.segments)

    def _start(self, files: Listed) -> None:
        """Plan the next epoch and start its jobs. One that a marker cuts short waits until none is in flight."""
        started = time.monotonic()
        self.checkpoint.check_there()
        rest = self._rest
        slices = rest.next(files)
        self.tuning.choose(sum(part.length for part in slices.values()) + costs.PACKED * self.state.length)
        whole, effects = rest.looked(slices)
        if effects.stops and self._in_flight:
            return
        planned = rest.planned(files, slices, whole, effects)
        self.read_ahead.expect(planned.ahead, self._starter.scratch(self._base.epoch + 2))
        if planned.is_empty:
            self._refuse(planned.stops)
            # The next epoch takes the markers.
            self.last = evolve(self.last, sources={**self.last.sources, **planned.effects.states})
            return
        with ExitStack() as cached:
            running = self._starter.start(self._base, planned, started, cached)
            warnings = (*running.report.warnings, *rest.unrelated_files(planned.parts))
            report = evolve(running.report, warnings=warnings, seconds=time.monotonic() - started)
            self._in_flight.append(evolve(running, report=report))

    # --- one epoch ---

    def _complete(self, running: RunningEpoch) -> None:
        """Wait for an epoch's jobs, and commit it."""
        waited = time.monotonic()
        wait_all(running.jobs)
        computed = time.monotonic()
        number = running.record.epoch
        stages = [partial(self.outputs.sinks[n].stage_markers, number, m) for n, m in running.markers.items()]
        if self.on_epoch is None:
            self.jobs.together(stages)
        else:  # a user's function stays in the thread of its run
            stages[0]()
        quarantined, rejected, bad = self._quarantine.set_aside(running.read, number, running.set_aside)
        segments = self.state.measured(running.record.segments)
        read = {name: part.read_counts.kept for name, part in running.read.items()}
        counts = {name: rows for name, job in running.written.items() if (rows := job.result()) is not None}
        suspects = self._watches.take(running.samples, self.last.sources, running.record.sources)
        check_doubtful(self.plan.settings, suspects)
        record = evolve(
            running.record,
            segments=segments,
            suspects=self._watches.dump(),
            engine=self._engine,
            counters=dict(Counter(self.last.counters) + quarantined),
            read=_summed(self.last.read, read),
            written=_summed(self.last.written, counts),
        )
        staged = time.monotonic()
        self.checkpoint.commit(record)
        self.outputs.publish(number, self.checkpoint.run)
        self._quarantine.publish(number)
        self.state.commit(running.record.segments, segments, running.unused)
        self.last = record
        self._in_flight.remove(running)
        self._last_cached.close()
        if self.state.keeps_in_memory:  # the epoch after it may read that
            self._last_cached = running.cached
        else:
            running.cached.close()
        now = time.monotonic()
        since = max(running.started, self._committed_at or running.started)
        self._committed_at = now
        report = evolve(
            running.report,
            tuples=sum(read.values()),
            seconds=now - running.started,
            apart=now - since,
            quarantined=dict(quarantined),
            engine=self._engine,
            written=counts,
            waiting=rows_that_wait(self._releases, segments, running.after, number),
            warnings=(*self.tables.warnings(), *running.report.warnings, *bad, *suspects),
            notes=(*self.notes, *self.topics.notes(), *running.report.notes, *rejected),
            phases={
                "plan": running.report.seconds,
                "compute": computed - waited,
                "write": staged - computed,
                "commit": now - staged,
            },
        )
        self.notes = ()
        self.journal.note(entry_of(running, report, segments, self.topics.left(record.topics)))
        self.on_report(report)
        self._refuse(running.stops)

    # --- messages ---

    def _refuse(self, stops: Sequence[LocatedStop]) -> None:
        """End the query if markers have to."""
        if stops:
            raise DiagnosticError(
                diagnostic for stop in stops for diagnostic in located(self.spark, stop, self.last.epoch)
            )


def _summed(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Counts so far by name, with those of an epoch; one of nothing is 0."""
    return {name: before.get(name, 0) + now.get(name, 0) for name in {**before, **now}}
