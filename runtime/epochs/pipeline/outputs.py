"""The outputs of a run: makes their sinks by address and format, publishes and checks them together."""

from __future__ import annotations

from collections.abc import Set

from attrs import field, frozen

from cedilla.compiler.facts.arrival import Order
from cedilla.compiler.plan import Emit, Plan, printed_labels
from cedilla.runtime.connectors.formats.sinks.callback import CallbackSink, OnEpoch
from cedilla.runtime.connectors.formats.sinks.formats import SINKS, TABLE_SINKS
from cedilla.runtime.connectors.formats.sinks.kafka import KafkaSink
from cedilla.runtime.connectors.formats.sinks.sink import FolderSink, Sink
from cedilla.runtime.connectors.formats.sinks.stdout import StdoutSink
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.written import older
from cedilla.runtime.epochs.options.places import old_results


@frozen(eq=False)
class Outputs:
    """The sinks of a plan, by the names of its emits. `checkpoint` and `run`: the place and the number of the run.

    `on_epoch`: a user's function that gets every epoch instead.
    """

    plan: Plan
    files: Files
    checkpoint: str
    run: int
    on_epoch: OnEpoch | None = None
    sinks: dict[str, Sink] = field(init=False)

    @sinks.default  # type: ignore[reportAttributeAccessIssue]
    def _create_sinks(self) -> dict[str, Sink]:
        return {
            emit.name: CallbackSink(self.on_epoch) if self.on_epoch else self._sink(emit)
            for emit in self.plan.emits
        }

    def _sink(self, emit: Emit) -> Sink:
        return sink_of(self.plan, emit, self.files, self.checkpoint, self.run)

    def is_fresh(self, emit: Emit) -> bool:
        """Returns True if an output contains no results yet."""
        return self.sinks[emit.name].check_fresh()

    def check_fresh(self) -> None:
        """Raises `DiagnosticError` if an output contains results of another query."""
        for emit in self.plan.emits:
            if not self.is_fresh(emit):
                raise old_results(emit)

    def check_not_ahead(self, names: Set[str], epoch: int) -> None:
        """Raises RQ479 if a known output contains later epochs than the checkpoint: they would come twice."""
        if epoch < 0:
            self.check_fresh()
        for emit in self.plan.emits:
            if emit.name in names and (last := self.sinks[emit.name].last_epoch()) > epoch:
                what = f"the checkpoint {self.checkpoint} ends with epoch {epoch}"
                raise older(what, f"the output {emit.path}, which has epoch {last}")

    def publish(self, epoch: int, run: int) -> None:
        """Makes an epoch of all outputs visible."""
        for sink in self.sinks.values():
            sink.publish(epoch, run)

    def tidy(self, epoch: int) -> None:
        """Deletes files that no committed epoch up to this one has."""
        for sink in self.sinks.values():
            sink.tidy(epoch)

    def close(self) -> None:
        """Closes the sinks."""
        for sink in self.sinks.values():
            sink.close()

    def end_older(self, plan: Plan, epoch: int, run: int) -> None:
        """Publishes the last epoch of the plan before an edit, and closes its outputs."""
        for emit in plan.emits:
            sink = self._sink(emit)
            sink.publish(epoch, run)
            sink.tidy(epoch)
            sink.close()


def sink_of(plan: Plan, emit: Emit, files: Files, checkpoint: str, run: int) -> Sink:
    """Returns the sink of an output for a run, by its number. `plan`: has all outputs that are printed; labels
    distinguish them."""
    sink = _sink_of(plan, emit, files, checkpoint)
    sink.run = run
    arrival = plan.arrivals.get(emit.relation)  # `None` for an output of the plan before an edit
    sink.is_ordered = arrival is None or arrival.order is not Order.NONE
    return sink


def _sink_of(plan: Plan, emit: Emit, files: Files, checkpoint: str) -> FolderSink:
    if emit.is_topic:
        return KafkaSink.of(files, checkpoint, emit)
    if emit.format_kind.is_table and emit.path != "-":
        return TABLE_SINKS[emit.format].of(files, checkpoint, emit)
    if emit.path != "-":
        return SINKS[emit.format](files, emit.path, emit.relation)
    path = f"{checkpoint}/printed/{emit.name}"
    return StdoutSink(files, path, emit.relation, printed_labels(plan)[emit.name])
