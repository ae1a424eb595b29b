"""An epoch that runs: planned from its slices and the effects of their markers, with all its jobs started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler.explain.analysis.early_conditions import early_conditions
from cedilla.compiler.expressions.types import column
from cedilla.compiler.facts.facts import Facts, StateFacts
from cedilla.compiler.plan import Emit, Plan, Source, derive
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.lines.tuple_statistics import summed
from cedilla.runtime.connectors.formats.sinks.sink import Sink
from cedilla.runtime.connectors.records.marker import Types
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.connectors.storage.files import epoch_name
from cedilla.runtime.control.change_detection.groups import counted_attributes
from cedilla.runtime.control.domains.table_domains import news
from cedilla.runtime.control.markers.bad_markers import SetAside
from cedilla.runtime.control.markers.unannounced import (
    INFERRED,
    add_inferred,
    is_inferable,
    is_judged,
    paths_beside,
    refusals,
)
from cedilla.runtime.control.sinks.announce import SinkState, begin, finish
from cedilla.runtime.control.sinks.held_drops import held_drops, left_out
from cedilla.runtime.control.sources.columns import columns_of
from cedilla.runtime.control.sources.required_attributes import required_attributes
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of
from cedilla.runtime.control.sources.unit_names import output_names
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.columns import ORDER, Columns
from cedilla.runtime.engines.spark.frames import in_one_part, order
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.journal import Journal, Members
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.epochs.ingest.read_ahead import ReadAhead
from cedilla.runtime.epochs.ingest.slices import Slice
from cedilla.runtime.epochs.ingest.source_input import SourceInput
from cedilla.runtime.epochs.operators.epoch import Epoch
from cedilla.runtime.epochs.pipeline.batch_cursor import PlannedEpoch
from cedilla.runtime.epochs.pipeline.encode import encoded, marked
from cedilla.runtime.epochs.pipeline.epoch_messages import LocatedStop, report
from cedilla.runtime.epochs.pipeline.inferred import Inferred
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.epochs.pipeline.union_inputs import tables
from cedilla.runtime.epochs.pipeline.watching import Sample, Watches
from cedilla.runtime.epochs.state.state_store import StateStore

Flow = Callable[[Epoch], Mapping[str, DataFrame]]
Encoded = tuple[DataFrame | None, Columns]


@frozen(eq=False)
class RunningEpoch:
    """An epoch whose jobs run. `record` is what it will commit, but for what only its jobs can tell; `unused`:
    the files that can go then; `cached`: what it has in memory, which the epoch after it may read; `samples`: of the
    sources that are watched (`set suspect = warn`)."""

    record: Commit
    after: Mapping[str, Facts]
    markers: Mapping[str, Markers]
    written: Mapping[str, Future[int | None]]
    read: Mapping[str, SourceInput]
    jobs: tuple[Future[object], ...]
    unused: frozenset[str]
    stops: Sequence[LocatedStop]
    report: EpochReport
    started: float
    cached: ExitStack
    samples: Mapping[str, Future[Sample]]
    set_aside: Sequence[SetAside] = ()

    @property
    def members(self) -> Members:
        """Source -> attribute -> value -> tuples of the epoch, under all names of the attribute."""
        by_source: dict[str, dict[str, Mapping[Any, int] | None]] = {}
        for source, part in self.read.items():
            attribute_of = self.record.sources[source].names.of
            of_source = by_source.setdefault(source, {})
            for name, counts in part.members().items():
                attribute = attribute_of.get(name, name)
                of_source[attribute] = summed((of_source.get(attribute, {}), counts))
        return by_source


@frozen(eq=False)
class EpochStarter:
    """Plans epochs and starts their jobs; the executor commits the results."""

    spark: SparkSession
    plan: Plan
    flow: Flow
    state: StateStore
    jobs: Jobs
    sinks: Mapping[str, Sink]
    watches: Watches
    checkpoint: Checkpoint
    journal: Journal
    ahead: ReadAhead
    _without_tuples: dict[tuple[str, ...], DataFrame] = field(factory=dict[tuple[str, ...], DataFrame])
    """Frames for sources without tuples, by the SQL of their columns."""

    def scratch(self, number: int) -> str:
        """Returns a folder for files of an epoch that are only needed until it is committed."""
        return f"{self.checkpoint.scratch}/{epoch_name(number)}"

    def start(
        self,
        last: Commit,
        planned: PlannedEpoch,
        started: float,
        cached: ExitStack,
        *,
        is_in_one_part: bool = False,
    ) -> RunningEpoch:
        """Plans an epoch after the last one, and starts its jobs. Rows in memory go to `cached`. `is_in_one_part`: as
        for `StateStore`."""
        effects, base = planned.effects, evolve(last, sources=planned.effects.begun)
        number = base.epoch + 1
        scratch = self.scratch(number)
        # Small epochs write nothing there, and a store takes its time to look.
        if any(part.length * costs.PACKED > costs.PARSED_BY_DRIVER for part in planned.parts.values()):
            cached.callback(self.checkpoint.files.delete, scratch)
        self.state.begin(number, is_in_one_part=is_in_one_part)
        states = {**base.sources, **effects.states}
        types = {name: state.types for name, state in states.items()}
        read = self._read(planned.parts, states, scratch)
        inferred = Inferred.of(types, states)
        cached.enter_context(nullcontext(read))  # the epoch after it may read the same rows
        states = {
            n: self._end(self.plan.source_of[n], s, read.get(n), is_whole=n not in effects.stops)
            for n, s in states.items()
        }
        epoch, during = self._epoch(number, base, states, read, cached, f"{scratch}/rows")
        names = output_names(self.plan, states)
        always = {e.name: required_attributes(self.plan, e.relation, states) for e in self.plan.emits}
        begun = {
            e.name: begin(base.sinks[e.name], during[e.relation], always[e.name], names[e.name].units)
            for e in self.plan.emits
        }
        counts = self._staged(epoch, during, {name: sink for name, (sink, *_) in begun.items()})
        if epoch.has_scratch:
            cached.callback(self.checkpoint.files.delete, scratch)
        state_facts, after = held_drops(epoch, during)
        announced = {
            e.name: finish(
                *begun[e.name],
                after[e.relation],
                always[e.name],
                keeps_units=e.keeps_units,
                names=names[e.name],
            )
            for e in self.plan.emits
        }
        samples = self.watches.start(number, read, states)
        record = Commit(
            number,
            base.batch,
            planned.progress,
            {name: state.next_epoch() for name, state in states.items()},
            {name: sink for name, (sink, _) in announced.items()},
            state_facts,
            dict(self.state.segments),
            topics=planned.topics,
            inferred=inferred.since(number, base.inferred),
            removed=base.removed,
        )
        notes = (
            *news(self.plan, last.sources, effects.begun),
            *inferred.notes(),
            *left_out(self.plan, epoch.before, after),
        )
        return RunningEpoch(
            record,
            after,
            {name: markers for name, (_, markers) in announced.items()},
            counts,
            read,
            self.jobs.take(),
            self.state.unused(base.segments),
            planned.stops,
            report(self.spark, self.plan, record, read, effects, planned.files_left, notes),
            started,
            cached.pop_all(),
            samples,
            effects.set_aside,
        )

    def _read(
        self, parts: Mapping[str, Slice], states: dict[str, SourceState], scratch: str
    ) -> dict[str, SourceInput]:
        """Reads the slices of an epoch; attributes that are inferred from them come to `states`."""
        of = self.plan.source_of
        parts = {name: part.with_paths(paths_of(of[name], states[name])) for name, part in parts.items()}
        drift = {name: self._drift(name, states, part) for name, part in parts.items()}
        parts = {
            name: part.with_paths(paths_beside(of[name], states[name], drift[name])).expecting(
                columns_of(of[name], states[name], part.path_keys)
            )
            for name, part in parts.items()
        }
        counted = {
            name: [
                field
                for attribute in counted_attributes(of[name], states[name])
                if self.journal.counts(name, attribute)
                for field in states[name].names.all_of(attribute)
            ]
            for name in parts
        }
        return {
            name: intake.read(
                self.spark,
                of[name],
                states[name],
                part,
                drift[name],
                self.jobs,
                self.ahead,
                scratch,
                counted[name],
            )
            for name, part in parts.items()
        }

    def _epoch(
        self,
        number: int,
        base: Commit,
        states: Mapping[str, SourceState],
        read: Mapping[str, SourceInput],
        cached: ExitStack,
        scratch: str,
    ) -> tuple[Epoch, Mapping[str, Facts]]:
        """Returns the data flow of an epoch, and the facts of relations with all attributes that its tuples may
        have."""
        plan = self.plan
        before = derive(plan, {n: s.facts() for n, s in base.sources.items()}, base.state_facts)
        during = {n: s.facts_during(base.sources[n].closed) for n, s in states.items()}
        parsed = tables(plan, read, states)
        closed = {
            n: StateFacts(closed=s.closed) for n, s in base.state_facts.items() if s.closed is not False
        }
        epoch = Epoch(
            plan,
            number,
            self._frames(number, states, read, parsed),
            frozenset(
                name for name, part in read.items() if part.has_rows and parsed.get(name, part) is not None
            ),
            before,
            derive(plan, {n: s.facts() for n, s in states.items()}, closed),
            self.state,
            cached,
            {name: part.slice.length for name, part in read.items()},
            {name: part.region for name, part in read.items()},
            scratch,
            base.state_facts,
            closed,
            frozenset(name for name, part in read.items() if part.is_as_read),
        )
        return epoch, derive(plan, during, base.state_facts)

    def _staged(
        self, epoch: Epoch, during: Mapping[str, Facts], sinks: Mapping[str, SinkState]
    ) -> dict[str, Future[int | None]]:
        """Starts to stage the tuples of all outputs; each job returns their number, if it is known."""
        frames = self.flow(epoch)
        counts: dict[str, Future[int | None]] = {}
        for emit in self.plan.emits:
            encode = partial(self._encoded, emit, epoch, during, sinks[emit.name])
            rows = frames[emit.name] if epoch.has_rows(emit.relation) else None
            provisional = epoch.provisional_rows(emit.name) if emit.latest else None
            staged = partial(_stage, self.sinks[emit.name], epoch.number, encode(rows))
            counts[emit.name] = self.jobs.start(
                staged if provisional is None else partial(staged, marked(*encode(provisional)))
            )
        return counts

    def _drift(self, name: str, states: dict[str, SourceState], part: Slice) -> dict[str, str]:
        """Fields that nothing has announced and that are to be rejected, with the code; `set drift = infer` adds them
        instead, where accents can write their names."""
        mode = self.plan.settings["drift"]
        if mode == "ignore":
            return {}
        source, announced = self.plan.source_of[name], states[name].field_types
        part = part.expecting(columns_of(source, states[name], part.path_keys))
        fields = part.format.fields(self.spark, part.numbered, part.between)
        unknown = {
            f: kinds.first
            for f, kinds in fields.items()
            if f not in announced and kinds.first != "void" and is_judged(source, part.format.paths, f)
        }
        if mode == "infer":
            for f in [f for f, kind in unknown.items() if kind in INFERRED]:
                if is_inferable(source, states[name], f):
                    add_inferred(self.plan, states, name, f, INFERRED[unknown.pop(f)])
        return refusals(source, states[name], unknown, infers=mode == "infer")

    def _end(
        self, source: Source, state: SourceState, read: SourceInput | None, *, is_whole: bool
    ) -> SourceState:
        """The source at the end of the epoch: heartbeat, and a table's end. `is_whole`: no marker has cut its files."""
        if source.table:
            return state.close(True) if is_whole else state
        return state if read is None else read.beats.applied(state)

    def _frames(
        self,
        number: int,
        states: Mapping[str, SourceState],
        read: Mapping[str, SourceInput],
        parsed: Mapping[str, pa.Table | None],
    ) -> dict[str, DataFrame]:
        """The tuples of each source; sources that have none share a DataFrame where their attributes are the same."""
        gathers = self.state.is_in_one_part and any(operator.stateful for operator in self.plan.operators)
        frames: dict[str, DataFrame] = {}
        without = self._without_tuples
        for index, source in enumerate(self.plan.sources):
            name, types = source.name, states[source.name].types
            names = [column(attribute) for attribute in types]
            is_placed = name in self.plan.placed
            if is_placed:
                names.append(f"{order(number, index, column(POSITION))} AS {column(ORDER)}")
            part = read.get(name)
            if part is None or not part.has_rows or (name in parsed and parsed[name] is None):
                texts = [f"CAST(NULL AS {t.spark}) AS {column(n)}" for n, t in types.items()]
                # A constant would be never null to Sail, which unites no structure of such with others.
                texts += [f"{order(0, 0, 'id')} AS {column(ORDER)}"] if is_placed else []
                if tuple(texts) not in without:
                    without[tuple(texts)] = self.spark.range(0).selectExpr(*texts)
                frames[name] = without[tuple(texts)]
            elif (table := parsed.get(name)) is None:
                rows = self._accepted(name, part, types).selectExpr(*names)
                frames[name] = rows.coalesce(1) if gathers else rows
            else:
                frame = in_one_part(self.spark, table)
                frames[name] = frame.selectExpr(*names) if is_placed else frame
        return frames

    def _accepted(self, name: str, part: SourceInput, types: Types) -> DataFrame:
        """Returns the valid tuples of a source in the way that costs least, perhaps with further columns."""
        if part.unplaced is not None and name not in self.plan.placed:
            return part.unplaced.rows()
        conditions = early_conditions(self.plan, name, types) if part.narrowed is not None else ()
        return part.narrowed(conditions) if conditions and part.narrowed else part.accepted

    def _encoded(
        self,
        emit: Emit,
        epoch: Epoch,
        during: Mapping[str, Facts],
        sink: SinkState,
        frame: DataFrame | None,
    ) -> Encoded:
        """Returns the encoded tuples of an output, and their columns; `None` without tuples."""
        if frame is None:
            return None, {}
        facts = epoch.after[emit.relation]
        eager = self.plan.settings["drop"] == "eager"
        around = partial(epoch.input_region, emit.relation)
        return encoded(frame, sink, facts, during[emit.relation] if eager else None, emit.name, around)


def _stage(sink: Sink, number: int, tuples: Encoded, provisional: Encoded | None = None) -> int | None:
    """Stages the tuples of an epoch, then its provisional rows. Returns the number of the tuples, if it is known."""
    count = sink.stage(number, *tuples)
    if provisional is not None and provisional[0] is not None:
        sink.stage_provisional(number, provisional[0], provisional[1])
    return count
