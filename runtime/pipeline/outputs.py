"""Makes the sinks of a plan's outputs, by address and format."""

from __future__ import annotations

from cedilla.compiler.plan import Emit, Plan
from cedilla.runtime.formats.sinks.delta import DeltaSink
from cedilla.runtime.formats.sinks.formats import SINKS
from cedilla.runtime.formats.sinks.kafka import KafkaSink
from cedilla.runtime.formats.sinks.sink import FolderSink, Sink
from cedilla.runtime.formats.sinks.stdout import StdoutSink
from cedilla.runtime.reference.writers import labels_of
from cedilla.runtime.storage.files import Files


def sink_of(plan: Plan, emit: Emit, files: Files, checkpoint: str, run: int) -> Sink:
    """The sink of an output for a run, by its number; `plan`: with all outputs that are printed, which are told apart
    by labels."""
    sink = _sink_of(plan, emit, files, checkpoint)
    sink.run = run
    return sink


def _sink_of(plan: Plan, emit: Emit, files: Files, checkpoint: str) -> FolderSink:
    if emit.is_topic:
        return KafkaSink.of(files, checkpoint, emit)
    if emit.format == "delta" and emit.path != "-":
        return DeltaSink.of(files, checkpoint, emit)
    if emit.path != "-":
        return SINKS[emit.format](files, emit.path, emit.relation)
    labels = labels_of([each.name for each in plan.emits if each.path == "-"])
    path = f"{checkpoint}/printed/{emit.name}"
    return StdoutSink(files, path, emit.relation, labels[emit.name])
