"""The epoch executor: files in, one commit after the other out (design, section 5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from attrs import define, evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cedilla.compiler import patterns, regions, sql
from cedilla.compiler.affine import IDENTITY, exact
from cedilla.compiler.evolution import ABSENT, MOST, Facts
from cedilla.compiler.operators import Aggregate
from cedilla.compiler.operators.base import Held
from cedilla.compiler.plan import Emit, Plan, Source, derive
from cedilla.compiler.regions import Tree
from cedilla.compiler.types import column
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime import intake
from cedilla.runtime.advance import INFERRED, Advanced, Stop, add_inferred, advance
from cedilla.runtime.announce import SinkState, announce
from cedilla.runtime.checkpoint import Checkpoint, Commit, Progress
from cedilla.runtime.control import SourceState, leaves
from cedilla.runtime.epoch import Epoch
from cedilla.runtime.files import Files
from cedilla.runtime.intake import DRIFT, LATE, REJECT, Slice, Tally
from cedilla.runtime.report import EpochReport
from cedilla.runtime.sinks.jsonl import JsonLinesSink, epoch_name
from cedilla.runtime.sources import jsonl
from cedilla.runtime.sources.jsonl import MAX_FILES, InputFile, MarkerLine
from cedilla.runtime.state import StateStore

Function = Callable[[Epoch], DataFrame]
Files_ = Mapping[str, Sequence[InputFile]]


_SETTING = {LATE: "late", DRIFT: "drift"}
"""The setting that decides about a code, where it is not `invalid`."""


@frozen
class _Read:
    """One source's part of an epoch, read and counted."""

    frame: DataFrame
    part: Slice
    tally: Tally


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
    last: Commit = field(init=False)
    sinks: dict[str, JsonLinesSink] = field(init=False)
    state: StateStore = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sinks = {emit.name: JsonLinesSink(self.files, emit.path) for emit in self.plan.emits}
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
        self.state = StateStore(self.spark, self.files, f"{self.checkpoint.path}/state")
        self.state.segments = dict(self.last.segments)

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
        while any(self._progress(name).files < len(listed) for name, listed in files.items()):
            self._epoch(files)

    def _progress(self, name: str) -> Progress:
        return self.last.progress.get(name, Progress())

    def _tables(self) -> dict[str, list[InputFile]]:
        """All files of every table, in the query's first epochs; afterwards none."""
        return {
            source.name: jsonl.discover(self.spark, source.path)
            for source in self.plan.sources
            if source.table and self.last.sources[source.name].closed is not True
        }

    def _epoch(self, files: Files_) -> None:
        started = time.monotonic()
        whole: dict[str, Slice] = {}
        found: dict[str, list[MarkerLine]] = {}
        for name, listed in files.items():
            if chosen := self._next_files(name, listed):
                whole[name], found[name] = self._part(name, chosen)
        advanced = advance(self.plan, self.last.sources, found)
        ends = self._ends(whole, advanced.stops)
        parts = _cut(whole, advanced.stops)
        if any(name not in ends or ends[name] != self._progress(name) for name in parts):
            self._run(parts, advanced, {**self._all_read(whole), **ends}, started)
        if advanced.failures:
            located = [self._located(stop, whole[stop.source], ends) for stop in advanced.failures]
            raise DiagnosticError(diagnostic for found in located for diagnostic in found)

    def _ends(self, whole: Mapping[str, Slice], stops: Mapping[str, Stop]) -> dict[str, Progress]:
        """Where the sources that are stopped at a marker will have been read to."""
        ends: dict[str, Progress] = {}
        for name, stop in stops.items():
            lines = intake.lines_before(self.spark, whole[name].files, stop.marker.position)
            ends[name] = Progress(self._progress(name).files + stop.marker.file, lines)
        return ends

    def _all_read(self, whole: Mapping[str, Slice]) -> dict[str, Progress]:
        read = {name: Progress(self._progress(name).files + len(part.files)) for name, part in whole.items()}
        return {**self.last.progress, **read}

    def _next_files(self, name: str, listed: Sequence[InputFile]) -> tuple[InputFile, ...]:
        done = self._progress(name).files
        limit = None if self.plan.source_of[name].table else self.files_per_epoch
        return tuple(listed[done : done + min(limit or MAX_FILES, MAX_FILES)])

    def _part(self, name: str, files: tuple[InputFile, ...]) -> tuple[Slice, list[MarkerLine]]:
        """A slice without what is done of its first file, and the markers still to be processed."""
        found = jsonl.markers(self.spark, files)
        done = self._progress(name).lines
        if not done:
            return Slice(files), found
        low = intake.place_after(self.spark, files, done)
        return Slice(files, low=low), [marker for marker in found if marker.position >= low]

    # --- one epoch ---

    def _run(
        self, parts: Mapping[str, Slice], advanced: Advanced, progress: Mapping[str, Progress], started: float
    ) -> None:
        number = self.last.epoch + 1
        states = {**self.last.sources, **advanced.states}
        with ExitStack() as cached:
            drift = {name: self._drift(name, states, part) for name, part in parts.items()}
            read = {
                name: self._read(name, states[name], part, drift[name], cached)
                for name, part in parts.items()
            }
            states = {
                n: s if n in advanced.stops else self._end(self.plan.source_of[n], s, read.get(n))
                for n, s in states.items()
            }
            quarantined = self._quarantine(number, read)
            before = derive(self.plan, {n: s.facts() for n, s in self.last.sources.items()}, self.last.held)
            closed = {n: self.last.sources[n].closed for n in states}
            during = derive(
                self.plan, {n: s.facts_during(closed[n]) for n, s in states.items()}, self.last.held
            )
            after = derive(self.plan, {n: s.facts() for n, s in states.items()})
            epoch = Epoch(
                self.plan,
                number,
                {s.name: self._frame(s, states[s.name], read.get(s.name)) for s in self.plan.sources},
                frozenset(name for name, part in read.items() if part.tally.kept),
                before,
                after,
                self.state,
            )
            outputs = {emit.name: self._output(emit, epoch, during) for emit in self.plan.emits}
            for emit in self.plan.emits:
                self.sinks[emit.name].stage(number, outputs[emit.name])
            held = self._held(epoch, during)
            after = derive(self.plan, {n: s.facts() for n, s in states.items()}, held)
            sinks = self._announce(number, during, after)
        self._commit(number, states, sinks, held, progress, quarantined)
        notes = self._left_out(before, after)
        self.on_report(self._report(number, read, advanced, quarantined, states, held, notes, started))

    def _drift(self, name: str, states: dict[str, SourceState], part: Slice) -> tuple[str, ...]:
        """Fields that nothing has announced and that are to be rejected; `set drift = infer` adds them instead."""
        mode = self.plan.settings["drift"]
        if mode == "ignore":
            return ()
        found = jsonl.fields(self.spark, part.files)
        unknown = {field: kind for field, kind in found.items() if field not in states[name].types}
        if mode == "infer":
            for attribute in [f for f, kind in unknown.items() if kind in INFERRED]:
                add_inferred(self.plan, states, name, attribute, INFERRED[unknown.pop(attribute)])
        return tuple(unknown)

    def _read(
        self, name: str, state: SourceState, part: Slice, undeclared: tuple[str, ...], cached: ExitStack
    ) -> _Read:
        source = self.plan.source_of[name]
        frame = intake.tuples(self.spark, source, state, part, undeclared).persist()
        cached.callback(frame.unpersist)
        beat = source.heartbeat and (source.heartbeat.attribute, state.types[source.heartbeat.attribute])
        return _Read(frame, part, intake.tally(frame, beat))

    def _end(self, source: Source, state: SourceState, read: _Read | None) -> SourceState:
        """The source at the end of the epoch: heartbeat, and a table's end."""
        if source.table:
            return state.close(True)
        if source.heartbeat is None or read is None or read.tally.greatest is None:
            return state
        attribute = source.heartbeat.attribute
        bound = exact(read.tally.greatest - source.heartbeat.delay)
        late = regions.interval(attribute, None, patterns.before(state.types[attribute], bound))
        return state.close(late)

    def _frame(self, source: Source, state: SourceState, read: _Read | None) -> DataFrame:
        names = [column(name) for name in state.types]
        if read is None:
            nothing = (f"CAST(NULL AS {t.spark}) AS {column(n)}" for n, t in state.types.items())
            return self.spark.range(0).selectExpr(*nothing)
        return read.frame.where(F.col(REJECT).isNull()).select(*names)

    # --- output ---

    def _output(self, emit: Emit, epoch: Epoch, during: Mapping[str, Facts]) -> DataFrame | None:
        frame = self.functions[emit.name](epoch)
        if emit.relation not in epoch.busy:
            return None
        return self._encoded(frame, emit, epoch.after[emit.relation], during[emit.relation])

    def _encoded(self, frame: DataFrame, emit: Emit, facts: Facts, during: Facts) -> DataFrame:
        """Encode once, at the sink, in the units announced before this epoch (theory D0, 3.3)."""
        sink = self.last.sinks[emit.name]
        columns: list[str] = []
        for name in frame.columns:
            text = sql.expression(
                sink.scale.get(name, IDENTITY), facts.types, lambda f, name=name: f.sql(column(name))
            )
            if self.plan.settings["drop"] == "eager":  # else nothing is left that a drop has announced
                told = regions.combine(sink.present.get(name, ABSENT), during.present.get(name, ABSENT), MOST)
                absent = regions.map_leaves(told, lambda leaf: leaf is ABSENT)
                text = (
                    f"IF({sql.predicate(absent, facts.types)}, NULL, {text})" if absent is not False else text
                )
            columns.append(f"{text} AS {column(name)}")
        return frame.selectExpr(*columns)

    def _announce(
        self, number: int, during: Mapping[str, Facts], after: Mapping[str, Facts]
    ) -> dict[str, SinkState]:
        sinks: dict[str, SinkState] = {}
        for emit in self.plan.emits:
            sinks[emit.name], markers = announce(
                self.last.sinks[emit.name],
                during[emit.relation],
                after[emit.relation],
                original_units=emit.original_units,
            )
            self.sinks[emit.name].stage_markers(number, markers)
        return sinks

    def _held(self, epoch: Epoch, during: Mapping[str, Facts]) -> dict[str, dict[str, Tree]]:
        """Drops that wait until state has let go of the attribute (G13, `set drop = exact`)."""
        if self.plan.settings["drop"] == "eager":
            return {}
        result: dict[str, dict[str, Tree]] = {}
        held: dict[str, Held] = {}
        facts = {name: epoch.after[name] for name in self.plan.source_of}
        for operator in self.plan.operators:
            inputs = tuple(facts[name] for name in operator.inputs)
            facts[operator.name] = operator.facts(inputs)
            if not operator.stateful:
                continue
            waiting = self._waiting(epoch, operator.name, during[operator.name], facts[operator.name])
            if waiting:
                result[operator.name] = held[operator.name] = waiting
                facts[operator.name] = operator.facts(inputs, waiting)
        return result

    def _waiting(self, epoch: Epoch, name: str, during: Facts, now: Facts) -> dict[str, Tree]:
        waiting: dict[str, Tree] = {}
        for attribute in during.present:
            gone = regions.difference(during.may_have(attribute), now.may_have(attribute))
            gone = regions.difference(gone, now.closed)
            if regions.is_empty(gone, now.universe):
                continue
            for box, inside in regions.boxes(gone):
                if inside and epoch.holds(name, attribute, regions.box(box)):
                    waiting[attribute] = regions.union(waiting.get(attribute, False), regions.box(box))
        return waiting

    # --- quarantine ---

    def _quarantine(self, number: int, read: Mapping[str, _Read]) -> dict[str, int]:
        """Write rejected lines down with code, reason, place and text; by setting, end the query instead."""
        total: dict[str, int] = {}
        for name, part in read.items():
            rejected = part.tally.rejected
            for code, count in rejected.items():
                total[code] = total.get(code, 0) + count
            self._refuse(name, part)
            kept = [c for c in rejected if not (c == LATE and self.plan.settings["late"] == "ignore")]
            folder = f"{self.checkpoint.path}/quarantine/{name}"
            aside = f"{folder}/_{epoch_name(number)}"
            if kept:
                lines = intake.rejected_lines(self.spark, part.frame, part.part, kept)
                lines.write.mode("overwrite").json(aside)
                for index, file in enumerate(f for f in self.files.list(aside) if f.length):
                    target = f"{folder}/{epoch_name(number)}-{index:05d}.jsonl"
                    self.files.delete(target)
                    self.files.rename(file.path, target)
                self.files.delete(aside)
        return total

    def _refuse(self, name: str, read: _Read) -> None:
        for code, count in read.tally.rejected.items():
            setting = _SETTING.get(code, "invalid")
            if self.plan.settings[setting] == "abort":
                first = (
                    intake.rejected_lines(self.spark, read.frame, read.part, [code])
                    .orderBy("position.file", "position.line")
                    .first()
                )
                assert first is not None
                raise DiagnosticError(
                    [
                        Diagnostic(
                            code,
                            "error",
                            f"{count} rejected: {first['reason']}",
                            notes=(
                                f"{first['position']['file']}:{first['position']['line']}: {first['raw']}",
                            ),
                            help=f"`set {setting} = quarantine;` sets them aside",
                        )
                    ]
                )

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
            dict(self.state.segments),
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
        line = intake.line_number(self.spark, file, ends[stop.source].lines)
        place = f"{file.path}:{line}: {stop.marker.text}"
        return [evolve(d, notes=(*d.notes, place)) for d in stop.diagnostics]

    def _left_out(self, before: Mapping[str, Facts], after: Mapping[str, Facts]) -> tuple[str, ...]:
        """What this epoch added and an aggregate cannot take (G37)."""
        return tuple(
            f"{operator.name} leaves out {name}: {operator.function} requires numbers"
            for operator in self.plan.operators
            if isinstance(operator, Aggregate)
            for name in operator.left_out(after[operator.inputs[0]])
            if name not in before[operator.inputs[0]].types
        )

    def _report(
        self,
        number: int,
        read: Mapping[str, _Read],
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
