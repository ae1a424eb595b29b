"""The epoch executor: files in, one commit after the other out (design, section 5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack

from attrs import define, evolve, field
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.parquet.row_groups import is_of_texts
from cedilla.runtime.connectors.formats.parquet.sail_scans import is_of_sail
from cedilla.runtime.connectors.formats.sinks.callback import OnEpoch
from cedilla.runtime.connectors.records.field_names import FieldNames
from cedilla.runtime.connectors.storage.engine_failures import refusal
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.query_topics import Topics
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.clocks import check_clocks
from cedilla.runtime.engines.spark.connect import engine_in
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.engines.spark.tuning import Tuning
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.plan_changes import Consent, at_once
from cedilla.runtime.epochs.checkpoint.journal import Journal
from cedilla.runtime.epochs.ingest.change_streams import ChangeStreamSearch
from cedilla.runtime.epochs.ingest.marker_search import MarkerSearch
from cedilla.runtime.epochs.ingest.read_ahead import ReadAhead
from cedilla.runtime.epochs.pipeline.batch_cursor import BatchCursor, Listed
from cedilla.runtime.epochs.pipeline.epoch_commits import EpochCommitter
from cedilla.runtime.epochs.pipeline.epoch_messages import LocatedStop, located
from cedilla.runtime.epochs.pipeline.failures import afterwards
from cedilla.runtime.epochs.pipeline.open_batch import More, OpenBatch
from cedilla.runtime.epochs.pipeline.opening import open_checkpoint
from cedilla.runtime.epochs.pipeline.outputs import Outputs
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.epochs.pipeline.running_epoch import EpochStarter, Flow, RunningEpoch
from cedilla.runtime.epochs.pipeline.table_domains import TableDomains, unread_tables
from cedilla.runtime.epochs.pipeline.watching import Watches
from cedilla.runtime.epochs.state.state_store import StateStore


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
    consent: Consent = at_once
    """Returns True if an edited query may continue."""
    topics: Topics = field(factory=Topics)
    fields: dict[str, FieldNames] = field(factory=dict[str, FieldNames])
    """The names of the fields of tables, by source, which looks at their logs find."""
    last: Commit = field(init=False)
    notes: tuple[str, ...] = field(init=False)
    """Messages for the next epoch."""
    journal: Journal = field(init=False)
    _jobs: Jobs = field(init=False, factory=Jobs)
    _outputs: Outputs = field(init=False)
    _state: StateStore = field(init=False)
    _read_ahead: ReadAhead = field(init=False)
    _tables: TableDomains = field(init=False)
    _tuning: Tuning = field(init=False)
    _cursor: BatchCursor = field(init=False)
    _changes: ChangeStreamSearch = field(init=False)
    _starter: EpochStarter = field(init=False)
    _committer: EpochCommitter = field(init=False)
    _in_flight: list[RunningEpoch] = field(init=False, factory=list)
    """Epochs that are not committed: the one that runs, and the one that is launched meanwhile."""
    _tests_texts: bool = field(init=False, default=False)
    """True if the texts of the next epoch are tested."""
    _last_cached: ExitStack = field(init=False, factory=ExitStack)
    """The cached rows of the last completed epoch."""

    def __attrs_post_init__(self) -> None:
        spark, jobs, files = self.spark, self._jobs, self.files
        check_clocks(spark, self.plan)
        search = MarkerSearch.of(spark, jobs, self.plan, files)
        self._tables = TableDomains(spark, files, search)
        plan = self.plan = self.topics.known(self._tables.of(self.plan))
        self._changes = ChangeStreamSearch(self.files)
        self._cursor = BatchCursor(
            spark,
            plan,
            files,
            self.topics,
            self._tables,
            search,
            self.files_per_epoch,
            fields=self.fields,
        )
        opened = open_checkpoint(spark, plan, self.checkpoint, jobs, self.on_epoch, self.consent)
        self.last, self.notes, self.journal = opened.last, opened.notes, opened.journal
        self._outputs, self._state = opened.outputs, opened.state
        self._tuning = Tuning(spark, self.conf)
        self._read_ahead = ReadAhead(spark, jobs, files)
        watches = Watches.of(plan, jobs, self.last.suspects)
        self._starter = EpochStarter(
            spark,
            plan,
            self.flow,
            self._state,
            jobs,
            self._outputs.sinks,
            watches,
            self.checkpoint,
            self.journal,
            self._read_ahead,
        )
        self._committer = EpochCommitter(
            plan,
            opened,
            jobs,
            self._tables,
            self.topics,
            watches,
            engine_in(spark),
            in_order=self.on_epoch is not None,
        )

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
        self._tables.look(self.plan, self.last.sources)
        tables = unread_tables(self.files, self.plan, self.last.sources)
        ordered = self.checkpoint.order(batch, {**new_files, **tables}, self.last.progress)
        files = {name: listed for name, listed in ordered.items() if name in self.plan.source_of}
        growing = OpenBatch(batch, ordered, self.checkpoint, self.topics, more, self.last.progress)
        try:
            while self._in_flight or self._rest.has_files(files) or self._is_without_input:
                if self.topics and self._rest.is_short(files):
                    growing.grow()
                self._step_with_tests(files)
                growing.done(self.last.progress)
                if interrupted():
                    if self._in_flight:
                        self._complete(self._in_flight[0])
                    raise KeyboardInterrupt
            growing.forget()
            self._outputs.tidy(self.last.epoch)  # not after a failure: it may have come just after a commit
        except BaseException as problem:
            first = refusal(problem) or problem
            with afterwards(first):
                self._give_up()
            if first is not problem:
                raise first from None
            raise
        finally:
            self._last_cached.close()
            self._state.release_memory()
            self._tuning.restore()

    def close(self) -> None:
        """Closes threads, outputs and the journal."""
        self.journal.write()
        self._jobs.close()
        self._outputs.close()

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
        return evolve(self._cursor, base=self._base, tests_texts=self._tests_texts)

    def _step_with_tests(self, files: Listed) -> None:
        """Does a step; again with tests if a text that is not UTF-8 has failed a job, because tests cost a pass. Also
        again if a scan of the embedded engine has failed, because the tasks of tests know why."""
        try:
            self._step(files)
        except Exception as problem:
            if self._tests_texts or not (is_of_texts(problem) or is_of_sail(problem)):
                raise
            self._give_up()
            self._tests_texts = True

    def _step(self, files: Listed) -> None:
        """Launch an epoch; if one runs already, complete that one then."""
        if not self._in_flight:
            self._start(files)
            return
        running = self._in_flight[0]
        # A user's function is to see one epoch after the other. The first results do not wait for a second plan, which
        # takes seconds where Java has just started.
        if (
            self._committer.has_committed
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
        wait([*(job for epoch in given_up for job in epoch.jobs), *self._jobs.take()])
        for epoch in given_up:
            epoch.cached.close()
        self._cursor.search.forget()
        self._read_ahead.forget()
        self._state.reset(self._base.segments)

    def _start(self, files: Listed) -> None:
        """Plan the next epoch and start its jobs. One that a marker cuts short waits until none is in flight."""
        started = time.monotonic()
        rest = self._rest
        slices = rest.next(files)
        read = sum(part.length for part in slices.values())
        self._tuning.choose(read, costs.PACKED * self._state.length)
        whole, effects = rest.looked(slices)
        if effects.stops and self._in_flight:
            return
        planned = rest.planned(files, slices, whole, effects)
        self._read_ahead.expect(planned.ahead, self._starter.scratch(self._base.epoch + 2))
        if planned.is_empty:
            self._refuse(planned.stops)
            # The next epoch takes the markers.
            self.last = evolve(self.last, sources={**self.last.sources, **planned.effects.states})
            return
        with ExitStack() as cached:
            in_one = self._tuning.is_in_one_part
            running = self._starter.start(self._base, planned, started, cached, is_in_one_part=in_one)
            changes = self._changes.warnings(self.plan, planned.parts)
            warnings = (*running.report.warnings, *rest.unrelated_files(planned.parts), *changes)
            report = evolve(
                running.report,
                warnings=warnings,
                undeclared=rest.near.counted(),
                seconds=time.monotonic() - started,
            )
            self._in_flight.append(evolve(running, report=report))

    # --- one epoch ---

    def _complete(self, running: RunningEpoch) -> None:
        """Wait for an epoch's jobs, and commit it."""
        self.last, report = self._committer.commit(running, self.last, self.notes)
        self._in_flight.remove(running)
        self._tests_texts = False
        self._last_cached.close()
        if self._state.keeps_in_memory:  # the epoch after it may read that
            self._last_cached = running.cached
        else:
            running.cached.close()
        self.notes = ()
        self.on_report(report)
        self._refuse(running.stops)

    # --- messages ---

    def _refuse(self, stops: Sequence[LocatedStop]) -> None:
        """End the query if markers have to."""
        if stops:
            raise DiagnosticError(
                diagnostic for stop in stops for diagnostic in located(self.spark, stop, self.last.epoch)
            )
