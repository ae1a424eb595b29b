"""The epoch executor: files in, one commit after the other out (design, section 5)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial

from attrs import define, evolve, field
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import patterns, regions
from cedilla.compiler.affine import exact
from cedilla.compiler.evolution import Facts
from cedilla.compiler.plan import Emit, Plan, Source, derive
from cedilla.compiler.regions import POSITION, Tree
from cedilla.compiler.types import column
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime import intake
from cedilla.runtime.advance import INFERRED, Advanced, Stop, add_inferred, advance
from cedilla.runtime.announce import SinkState, begin, finish
from cedilla.runtime.checkpoint import Checkpoint, Commit, Progress
from cedilla.runtime.control import SourceState, leaves
from cedilla.runtime.encode import encoded
from cedilla.runtime.epoch import Epoch, order
from cedilla.runtime.files import Files
from cedilla.runtime.frames import ORDER
from cedilla.runtime.held import left_out, waiting_drops
from cedilla.runtime.intake import REJECT, Miscounted, Read, Slice
from cedilla.runtime.jobs import Jobs
from cedilla.runtime.quarantine import refuse, set_aside
from cedilla.runtime.report import EpochReport
from cedilla.runtime.sinks.base import Sink, epoch_name
from cedilla.runtime.sinks.callback import CallbackSink, OnEpoch
from cedilla.runtime.sinks.formats import SINKS
from cedilla.runtime.sources.base import MAX_FILES, InputFile, Scan
from cedilla.runtime.sources.formats import FORMATS
from cedilla.runtime.sources.marker import MarkerLine
from cedilla.runtime.state import StateStore
from cedilla.runtime.tuning import Tuning

Function = Callable[[Epoch], DataFrame]
Files_ = Mapping[str, Sequence[InputFile]]


@define(eq=False, slots=False)
class Executor:
    """Runs one plan over one checkpoint; `process` takes the files of a micro-batch."""

    spark: SparkSession
    plan: Plan
    functions: Mapping[str, Function]
    checkpoint: Checkpoint
    files: Files
    files_per_epoch: int | None = None
    on_report: Callable[[EpochReport], None] = lambda report: None
    on_epoch: OnEpoch | None = None
    conf: Mapping[str, str] = field(factory=dict[str, str])
    """Spark's settings that the user has chosen."""
    last: Commit = field(init=False)
    sinks: dict[str, Sink] = field(init=False)
    state: StateStore = field(init=False)
    jobs: Jobs = field(init=False, factory=Jobs)
    tuning: Tuning = field(init=False)
    _ahead: dict[tuple[str, tuple[InputFile, ...]], Future[Scan]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.sinks = {
            e.name: CallbackSink(self.on_epoch)
            if self.on_epoch
            else SINKS[e.format](self.files, e.path, e.relation)
            for e in self.plan.emits
        }
        self.last = self.checkpoint.open(self.plan)
        if self.last.epoch < 0:
            self.last = evolve(
                self.last,
                sources={
                    s.name: SourceState.start(s, self.plan.droppable[s.name]) for s in self.plan.sources
                },
                sinks={e.name: SinkState.start(self.plan.start[e.relation]) for e in self.plan.emits},
            )
            self._check_sinks()
        else:
            self._publish(self.last.epoch)  # a crash may have come between commit and publication
        self.state = StateStore(self.spark, self.files, f"{self.checkpoint.path}/state", self.jobs)
        self.state.segments = dict(self.last.segments)
        self.tuning = Tuning(self.spark, self.conf)

    def _check_sinks(self) -> None:
        for emit in self.plan.emits:
            if not self.sinks[emit.name].check_fresh():
                raise _failed(
                    "RQ405",
                    f"{emit.path} holds the output of an earlier run, but the checkpoint is new",
                    "the old checkpoint continues it: --checkpoint DIR; a new run requires an empty output folder",
                )

    # --- batches and epochs ---

    def process(self, batch: int, found: Files_) -> None:
        """Run the epochs of a micro-batch that are not committed yet.

        Raises `DiagnosticError` where a marker or a tuple ends the query; all before it is committed.
        """
        if batch < self.last.batch:
            return
        if batch > self.last.batch:
            self.last = evolve(self.last, batch=batch, progress={})
        files = self.checkpoint.order(batch, {**found, **self._tables()})
        try:
            while any(self._progress(name).files < len(listed) for name, listed in files.items()):
                self._epoch(files)
        finally:
            self.tuning.restore()

    def _progress(self, name: str) -> Progress:
        return self.last.progress.get(name, Progress())

    def _tables(self) -> dict[str, list[InputFile]]:
        """All files of every table, in the query's first epochs; afterwards none."""
        return {
            source.name: FORMATS[source.format].discover(self.spark, source.path)
            for source in self.plan.sources
            if source.table and self.last.sources[source.name].closed is not True
        }

    def _epoch(self, files: Files_) -> None:
        try:
            self._try_epoch(files)
        except Miscounted:  # markers were overlooked: they are looked for with all care
            self._ahead.clear()
            self._try_epoch(files, careful=True)

    def _try_epoch(self, files: Files_, *, careful: bool = False) -> None:
        started = time.monotonic()
        whole: dict[str, Slice] = {}
        found: dict[str, Sequence[MarkerLine]] = {}
        expected: dict[str, int | None] = {}
        chosen = {name: self._next_files(name, listed, 0) for name, listed in files.items()}
        chosen = {name: part for name, part in chosen.items() if part}
        self.tuning.choose(sum(f.length for part in chosen.values() for f in part) + self.state.length)
        for name, part in chosen.items():
            whole[name], scan = self._part(name, part, careful)
            found[name], expected[name] = scan.markers, scan.tuples
        advanced = advance(self.plan, self.last.sources, found)
        ends = self._ends(whole, advanced.stops)
        parts = _cut(whole, advanced.stops)
        expected = {name: None if name in advanced.stops else count for name, count in expected.items()}
        if not advanced.stops:
            self._look_ahead(files, chosen)
        if any(name not in ends or ends[name] != self._progress(name) for name in parts):
            progress = {**self._all_read(whole), **ends}
            try:
                self._run(parts, expected, advanced, progress, started)
            except BaseException:
                self.jobs.abandon()
                self.state.segments = dict(self.last.segments)
                raise
        if advanced.failures:
            located = [self._located(stop, whole[stop.source], ends) for stop in advanced.failures]
            raise DiagnosticError(diagnostic for found in located for diagnostic in found)

    def _ends(self, whole: Mapping[str, Slice], stops: Mapping[str, Stop]) -> dict[str, Progress]:
        """Where the sources that are stopped at a marker will have been read to."""
        ends: dict[str, Progress] = {}
        for name, stop in stops.items():
            lines = intake.lines_before(self.spark, whole[name], stop.marker.position)
            ends[name] = Progress(self._progress(name).files + stop.marker.file, lines)
        return ends

    def _all_read(self, whole: Mapping[str, Slice]) -> dict[str, Progress]:
        read = {name: Progress(self._progress(name).files + len(part.files)) for name, part in whole.items()}
        return {**self.last.progress, **read}

    def _next_files(self, name: str, listed: Sequence[InputFile], ahead: int) -> tuple[InputFile, ...]:
        """The files of the next epoch, or if so many of them are taken, of the one after it."""
        done = self._progress(name).files + ahead
        limit = None if self.plan.source_of[name].table else self.files_per_epoch
        return tuple(listed[done : done + min(limit or MAX_FILES, MAX_FILES)])

    def _look_ahead(self, files: Files_, chosen: Mapping[str, Sequence[InputFile]]) -> None:
        """Let the markers of the epoch after this one be found while this one runs."""
        self._ahead.clear()
        for name, listed in files.items():
            if following := self._next_files(name, listed, len(chosen.get(name, ()))):
                self._ahead[name, following] = self.jobs.ahead(partial(self._scan, name, following))

    def _scan(self, name: str, files: tuple[InputFile, ...]) -> Scan:
        return FORMATS[self.plan.source_of[name].format].scan(self.spark, files)

    def _part(self, name: str, files: tuple[InputFile, ...], careful: bool) -> tuple[Slice, Scan]:
        """A slice without what is done of its first file, and what is known of it: markers still to be processed."""
        whole = Slice(FORMATS[self.plan.source_of[name].format], files)
        if careful:
            scan = Scan(tuple(whole.format.markers(self.spark, files)))
        else:
            ready = self._ahead.pop((name, files), None)
            scan = ready.result() if ready is not None else self._scan(name, files)
        done = self._progress(name).lines
        if not done:
            return whole, scan
        low = intake.place_after(self.spark, whole, done)
        return evolve(whole, low=low), Scan(tuple(m for m in scan.markers if m.position >= low))

    # --- one epoch ---

    def _run(
        self,
        parts: Mapping[str, Slice],
        expected: Mapping[str, int | None],
        advanced: Advanced,
        progress: Mapping[str, Progress],
        started: float,
    ) -> None:
        number = self.last.epoch + 1
        states = {**self.last.sources, **advanced.states}
        with ExitStack() as cached:
            drift = {name: self._drift(name, states, part) for name, part in parts.items()}
            read = {
                name: intake.read(
                    self.spark,
                    self.plan.source_of[name],
                    states[name],
                    part,
                    drift[name],
                    expected[name],
                    cached,
                )
                for name, part in parts.items()
            }
            states = {
                n: s if n in advanced.stops else self._end(self.plan.source_of[n], s, read.get(n))
                for n, s in states.items()
            }
            before = derive(self.plan, {n: s.facts() for n, s in self.last.sources.items()}, self.last.held)
            closed = {n: self.last.sources[n].closed for n in states}
            during = derive(
                self.plan, {n: s.facts_during(closed[n]) for n, s in states.items()}, self.last.held
            )
            after = derive(self.plan, {n: s.facts() for n, s in states.items()})
            epoch = Epoch(
                self.plan,
                number,
                {s.name: self._frame(number, s, states[s.name], read.get(s.name)) for s in self.plan.sources},
                frozenset(name for name, part in read.items() if part.is_busy),
                before,
                after,
                self.state,
                cached,
            )
            begun = {e.name: begin(self.last.sinks[e.name], during[e.relation]) for e in self.plan.emits}
            outputs = {e.name: self._output(e, epoch, during, begun[e.name][0]) for e in self.plan.emits}
            first, *others = self.plan.emits
            for emit in others:
                self.jobs.start(partial(self.sinks[emit.name].stage, number, outputs[emit.name]))
            self.sinks[first.name].stage(number, outputs[first.name])
            self.jobs.settle()
            quarantined = self._quarantine(number, read)
            held = waiting_drops(epoch, during)
            after = derive(self.plan, {n: s.facts() for n, s in states.items()}, held)
            sinks = self._announce(number, begun, after)
        self._commit(number, states, sinks, held, progress, quarantined)
        notes = left_out(self.plan, before, after)
        self.on_report(self._report(number, read, advanced, quarantined, states, held, notes, started))

    def _drift(self, name: str, states: dict[str, SourceState], part: Slice) -> tuple[str, ...]:
        """Fields that nothing has announced and that are to be rejected; `set drift = infer` adds them instead."""
        mode = self.plan.settings["drift"]
        if mode == "ignore":
            return ()
        found = part.format.fields(self.spark, part.files)
        unknown = {field: kind for field, kind in found.items() if field not in states[name].types}
        if mode == "infer":
            for attribute in [f for f, kind in unknown.items() if kind in INFERRED]:
                add_inferred(self.plan, states, name, attribute, INFERRED[unknown.pop(attribute)])
        return tuple(unknown)

    def _end(self, source: Source, state: SourceState, read: Read | None) -> SourceState:
        """The source at the end of the epoch: heartbeat, and a table's end."""
        if source.table:
            return state.close(True)
        if source.heartbeat is None or read is None or read.greatest is None:
            return state
        attribute = source.heartbeat.attribute
        bound = exact(read.greatest - source.heartbeat.delay)
        late = regions.interval(attribute, None, patterns.before(state.types[attribute], bound))
        return state.close(late)

    def _frame(self, number: int, source: Source, state: SourceState, read: Read | None) -> DataFrame:
        names = [column(name) for name in state.types]
        if read is None:
            nothing = (f"CAST(NULL AS {t.spark}) AS {column(n)}" for n, t in state.types.items())
            frame = self.spark.range(0).selectExpr(*nothing, f"0L AS {column(POSITION)}")
        else:
            frame = read.frame.where(f"{column(REJECT)} IS NULL")
        if not self.plan.ordered:
            return frame.selectExpr(*names)
        arrived = order(number, self.plan.sources.index(source), column(POSITION))
        return frame.selectExpr(*names, f"{arrived} AS {column(ORDER)}")

    # --- output ---

    def _output(
        self, emit: Emit, epoch: Epoch, during: Mapping[str, Facts], sink: SinkState
    ) -> DataFrame | None:
        frame = self.functions[emit.name](epoch)
        if not epoch.is_busy(emit.relation):
            return None
        facts = epoch.after[emit.relation]
        eager = self.plan.settings["drop"] == "eager"
        return encoded(frame, sink, facts, during[emit.relation] if eager else None, emit.name)

    def _announce(
        self, number: int, begun: Mapping[str, tuple[SinkState, tuple[str, ...]]], after: Mapping[str, Facts]
    ) -> dict[str, SinkState]:
        sinks: dict[str, SinkState] = {}
        for emit in self.plan.emits:
            sinks[emit.name], markers = finish(
                *begun[emit.name], after[emit.relation], original_units=emit.original_units
            )
            self.sinks[emit.name].stage_markers(number, markers)
        return sinks

    def _quarantine(self, number: int, read: Mapping[str, Read]) -> dict[str, int]:
        """Set rejected lines aside, and count them by code; by setting, end the query instead."""
        total: Counter[str] = Counter()
        for name, part in read.items():
            total.update(part.tally.rejected)
            refuse(self.spark, part, self.plan.settings)
            folder = f"{self.checkpoint.path}/quarantine/{name}"
            set_aside(
                self.spark, self.files, part, self.plan.settings, f"{folder}/{epoch_name(number)}.jsonl"
            )
        return dict(total)

    # --- commit ---

    def _commit(
        self,
        number: int,
        states: Mapping[str, SourceState],
        sinks: Mapping[str, SinkState],
        held: Mapping[str, Mapping[str, Tree]],
        progress: Mapping[str, Progress],
        quarantined: Mapping[str, int],
    ) -> None:
        counters = dict(self.last.counters)
        for code, count in quarantined.items():
            counters[code] = counters.get(code, 0) + count
        record = Commit(
            number,
            self.last.batch,
            progress,
            {name: state.next_epoch() for name, state in states.items()},
            sinks,
            held,
            self.state.measured(),
            counters,
        )
        self.checkpoint.commit(record)
        self._publish(number)
        self.state.discard(dict(self.last.segments))
        self.last = record

    def _publish(self, number: int) -> None:
        for sink in self.sinks.values():
            sink.publish(number)

    # --- messages ---

    def _located(self, stop: Stop, part: Slice, ends: Mapping[str, Progress]) -> list[Diagnostic]:
        file = part.files[stop.marker.file]
        line = intake.line_number(self.spark, part, file, ends[stop.source].lines)
        place = f"{file.path}:{line}: {stop.marker.text}"
        return [evolve(d, notes=(*d.notes, place)) for d in stop.diagnostics]

    def _report(
        self,
        number: int,
        read: Mapping[str, Read],
        advanced: Advanced,
        quarantined: Mapping[str, int],
        states: Mapping[str, SourceState],
        held: Mapping[str, Mapping[str, Tree]],
        notes: tuple[str, ...],
        started: float,
    ) -> EpochReport:
        in_force = sum(
            1
            for state in states.values()
            for tree in state.original.values()
            for function in leaves(tree)
            if not function.is_identity
        )
        return EpochReport(
            number=number,
            tuples=sum(part.tally.kept for part in read.values()),
            seconds=time.monotonic() - started,
            files=sum(len(part.part.files) for part in read.values()),
            accents=advanced.accents,
            punctuations=advanced.punctuations,
            in_force=in_force,
            quarantined=quarantined,
            held=tuple(
                f"-({attribute}) in {node}: state still has it"
                for node, attributes in held.items()
                for attribute in attributes
                if not attribute.startswith("$")
            ),
            notes=notes,
        )


def _cut(parts: Mapping[str, Slice], stops: Mapping[str, Stop]) -> dict[str, Slice]:
    """The slices up to where each source stops. All files stay: places hold for reads of the same files only."""
    return {
        name: evolve(part, high=stops[name].marker.position) if name in stops else part
        for name, part in parts.items()
    }


def _failed(code: str, message: str, hint: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic(code, "error", message, None, help=hint)])
