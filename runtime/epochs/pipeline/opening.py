"""Opens the checkpoint of a query and all that belongs to it, as the last committed epoch left them."""

from __future__ import annotations

from attrs import evolve, frozen
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Plan
from cedilla.runtime.connectors.formats.sinks.callback import OnEpoch
from cedilla.runtime.control.domains.table_domains import news
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from cedilla.runtime.epochs.checkpoint.edits.plan_changes import Consent, resume
from cedilla.runtime.epochs.checkpoint.journal import Journal
from cedilla.runtime.epochs.checkpoint.left_files import check_record_fields
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan
from cedilla.runtime.epochs.ingest.quarantine import Quarantine
from cedilla.runtime.epochs.pipeline.outputs import Outputs
from cedilla.runtime.epochs.state.state_store import StateStore


@frozen(eq=False)
class OpenedCheckpoint:
    """A checkpoint with its outputs, quarantine, state and journal. `last`: the last commit; `notes`: messages about an
    edit of the query, for the next epoch."""

    checkpoint: Checkpoint
    last: Commit
    notes: tuple[str, ...]
    outputs: Outputs
    quarantine: Quarantine
    state: StateStore
    journal: Journal


def open_checkpoint(
    spark: SparkSession,
    plan: Plan,
    checkpoint: Checkpoint,
    jobs: Jobs,
    on_epoch: OnEpoch | None,
    consent: Consent,
) -> OpenedCheckpoint:
    """Opens the checkpoint of a plan, and publishes what a crash has left committed but not published.

    `consent`: returns True if an edited query may continue. Raises `DiagnosticError` if the
    query does not fit the checkpoint, or an output is not this checkpoint's.
    """
    files, path, run = checkpoint.files, checkpoint.path, checkpoint.run
    outputs = Outputs(plan, files, path, run, on_epoch)
    notes: tuple[str, ...] = ()

    def edited(path: str, stored: StoredPlan, last: Commit, plan: Plan) -> Changes:
        """Returns the changes of an edited query, after it has ended the outputs of the one before."""
        nonlocal notes
        check_record_fields(files, path, stored.plan, plan, last)
        changes = resume(path, stored, last, plan, outputs.is_fresh, consent)
        notes = tuple(news(plan, last.sources, changes.commit.sources))
        outputs.end_older(stored.plan, last.epoch, last.run)
        return changes

    def check_not_ahead(last: Commit) -> None:
        outputs.check_not_ahead(last.sinks.keys(), last.epoch)

    last = checkpoint.open(plan, edited, check_not_ahead)
    if last.epoch < 0:
        sinks = {emit.name: SinkState.start(plan.start[emit.relation]) for emit in plan.emits}
        last = evolve(last, sources=starting_states(plan), sinks=sinks)
        outputs.check_fresh()
    else:
        # A crash may have come between commit and publication.
        outputs.publish(last.epoch, last.run)
    outputs.tidy(last.epoch)
    of_states = frozenset(source.name for source in plan.sources if source.latest)
    quarantine = Quarantine(spark, files, plan.settings, path, run, of_states)
    quarantine.recover(last.epoch, last.run)
    checkpoint.sweep(last)
    state = StateStore(spark, files, f"{path}/state", jobs, run)
    state.reset(last.segments)
    journal = Journal.open(files, path) if checkpoint.is_watched else Journal(files)
    return OpenedCheckpoint(checkpoint, last, notes, outputs, quarantine, state, journal)
