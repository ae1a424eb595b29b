"""An epoch that runs: planned from its slices and the effects of their markers, with all its jobs started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import regions
from cedilla.compiler.expressions import patterns
from cedilla.compiler.expressions.types import column
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Emit, Plan, Source, derive
from cedilla.compiler.regions import POSITION
from cedilla.compiler.regions.affine import exact
from cedilla.runtime.checkpoint.checkpoint import Commit, Progress
from cedilla.runtime.control.advance import (
    INFERRED,
    MarkerEffects,
    add_inferred,
    is_name,
)
from cedilla.runtime.control.always_there import always_there
from cedilla.runtime.control.announce import Markers, SinkState, begin, finish
from cedilla.runtime.control.held_drops import held_drops, left_out
from cedilla.runtime.control.measures import output_units
from cedilla.runtime.control.partitions import within
from cedilla.runtime.control.source_state import SourceState
from cedilla.runtime.control.table_domains import news
from cedilla.runtime.engines.frames import ORDER, order
from cedilla.runtime.engines.jobs import Jobs
from cedilla.runtime.formats.encode import encoded
from cedilla.runtime.formats.sinks.sink import Sink
from cedilla.runtime.ingest import intake
from cedilla.runtime.ingest.intake import REJECT, Read
from cedilla.runtime.ingest.slices import Slice
from cedilla.runtime.operators.epoch import Epoch
from cedilla.runtime.pipeline.epoch_messages import LocatedStop, report
from cedilla.runtime.pipeline.inferred import Inferred
from cedilla.runtime.pipeline.watching import Sample, Watches
from cedilla.runtime.state.segments import StateStore
from cedilla.runtime.terminal.report import EpochReport

Flow = Callable[[Epoch], Mapping[str, DataFrame]]


@frozen(eq=False)
class RunningEpoch:
    """An epoch whose jobs run. `record` is what it will commit, but for what only its jobs can tell; `unused`:
    the files that can go then; `cached`: what it has in memory, which the epoch after it may read; `samples`: of the
    sources that are watched (`set suspect = warn`)."""

    record: Commit
    after: Mapping[str, Facts]
    markers: Mapping[str, Markers]
    written: Mapping[str, Future[int | None]]
    read: Mapping[str, Read]
    jobs: tuple[Future[object], ...]
    unused: frozenset[str]
    stops: Sequence[LocatedStop]
    report: EpochReport
    started: float
    cached: ExitStack
    samples: Mapping[str, Future[Sample]]


@frozen(eq=False)
class EpochStarter:
    """Plans epochs and starts their jobs; what they come to is committed by the executor."""

    spark: SparkSession
    plan: Plan
    flow: Flow
    state: StateStore
    jobs: Jobs
    sinks: Mapping[str, Sink]
    watches: Watches

    def start(
        self,
        last: Commit,
        parts: Mapping[str, Slice],
        effects: MarkerEffects,
        progress: Mapping[str, Progress],
        stops: Sequence[LocatedStop],
        started: float,
        cached: ExitStack,
    ) -> RunningEpoch:
        """Plan an epoch on top of the last one, and start its jobs.

        `parts`: what it reads of each source; `effects`: what their markers do; `progress`: how far all sources are
        read then; `stops`: the markers that end the query behind it. What it keeps in memory goes to `cached`.
        """
        sources = last.sources
        base = evolve(last, sources=effects.begun)
        number = base.epoch + 1
        self.state.begin(number)
        states = {**base.sources, **effects.states}
        known = {name: state.types for name, state in states.items()}
        drift = {name: self._drift(name, states, part) for name, part in parts.items()}
        inferred = Inferred.of(known, states)
        read = {
            name: intake.read(
                self.spark, self.plan.source_of[name], states[name], part, drift[name], cached, self.jobs
            )
            for name, part in parts.items()
        }
        states = {
            n: s if n in effects.stops else self._end(self.plan.source_of[n], s, read.get(n))
            for n, s in states.items()
        }
        before = derive(self.plan, {n: s.facts() for n, s in base.sources.items()}, base.state_facts)
        closed = {n: base.sources[n].closed for n in states}
        during = derive(
            self.plan, {n: s.facts_during(closed[n]) for n, s in states.items()}, base.state_facts
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
            sum(part.length for part in parts.values()),
        )
        units = output_units(self.plan, states)
        begun = {
            e.name: begin(
                base.sinks[e.name],
                during[e.relation],
                always_there(self.plan, e.relation, states),
                units[e.name],
            )
            for e in self.plan.emits
        }
        written: dict[str, Future[int | None]] = {}
        frames = self.flow(epoch)
        for emit in self.plan.emits:
            output = self._output(emit, frames[emit.name], epoch, during, begun[emit.name][0])
            written[emit.name] = self.jobs.start(partial(self.sinks[emit.name].stage, number, output))
        state_facts, after = held_drops(epoch, during)
        announced = {
            e.name: finish(*begun[e.name], after[e.relation], original_units=e.original_units)
            for e in self.plan.emits
        }
        samples = self.watches.start(number, read, states)
        record = Commit(
            number,
            base.batch,
            progress,
            {name: state.next_epoch() for name, state in states.items()},
            {name: sink for name, (sink, _) in announced.items()},
            state_facts,
            dict(self.state.segments),
            inferred=inferred.since(number, base.inferred),
        )
        return RunningEpoch(
            record,
            after,
            {name: markers for name, (_, markers) in announced.items()},
            written,
            read,
            self.jobs.take(),
            self.state.unused(base.segments),
            stops,
            report(
                self.spark,
                self.plan,
                record,
                read,
                effects,
                (
                    *news(self.plan, sources, effects.begun),
                    *inferred.notes(),
                    *left_out(self.plan, before, after),
                ),
            ),
            started,
            cached.pop_all(),
            samples,
        )

    def _drift(self, name: str, states: dict[str, SourceState], part: Slice) -> dict[str, str]:
        """Fields that nothing has announced and that are to be rejected, with the code; `set drift = infer` adds them
        instead, where accents can write their names."""
        mode = self.plan.settings["drift"]
        if mode == "ignore":
            return {}
        fields = part.format.fields(self.spark, part.numbered)
        unknown = {field: kind for field, kind in fields.items() if field not in states[name].field_types}
        if mode == "infer":
            for attribute in [f for f, kind in unknown.items() if kind in INFERRED and is_name(f)]:
                add_inferred(self.plan, states, name, attribute, INFERRED[unknown.pop(attribute)])
            return {
                field: "RQ306" if is_name(field) else "RQ307"
                for field in sorted(unknown, key=lambda n: (is_name(n), n))
            }
        return dict.fromkeys(sorted(unknown), "RQ306")

    def _end(self, source: Source, state: SourceState, read: Read | None) -> SourceState:
        """The source at the end of the epoch: heartbeat, and a table's end."""
        if source.table:
            return state.close(True)
        if source.heartbeat is None or read is None:
            return state
        attribute = source.heartbeat.attribute
        for partition, greatest in read.read_counts.greatest.items():
            bound = exact(greatest - source.heartbeat.delay)
            late = regions.interval(attribute, None, patterns.before(state.types[attribute], bound))
            state = state.close(within(late, partition))
        return state

    def _frame(self, number: int, source: Source, state: SourceState, read: Read | None) -> DataFrame:
        names = [column(name) for name in state.types]
        if read is None:
            nothing = (f"CAST(NULL AS {t.spark}) AS {column(n)}" for n, t in state.types.items())
            frame = self.spark.range(0).selectExpr(*nothing, f"0L AS {column(POSITION)}")
        else:
            frame = read.frame.where(f"{column(REJECT)} IS NULL")
        if source.name not in self.plan.placed:
            return frame.selectExpr(*names)
        arrived = order(number, self.plan.sources.index(source), column(POSITION))
        return frame.selectExpr(*names, f"{arrived} AS {column(ORDER)}")

    def _output(
        self, emit: Emit, frame: DataFrame, epoch: Epoch, during: Mapping[str, Facts], sink: SinkState
    ) -> DataFrame | None:
        if not epoch.is_busy(emit.relation):
            return None
        facts = epoch.after[emit.relation]
        eager = self.plan.settings["drop"] == "eager"
        return encoded(frame, sink, facts, during[emit.relation] if eager else None, emit.name)
