"""Runs a compiled query epoch by epoch. Hosts give it a session, and listen to its reports and messages."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler.compile import CompiledQuery, compiled_query
from cedilla.compiler.explain.analysis.portability import refusals
from cedilla.compiler.plan import Plan, check_catalogs, check_paths, folders
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, failure
from cedilla.runtime.connectors.formats.file_sums import checksum
from cedilla.runtime.connectors.formats.sinks.callback import OnEpoch
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.connectors.topics.query_topics import Topics
from cedilla.runtime.control.schemas.importer import importers
from cedilla.runtime.engines.spark.connect import engine_in, is_far
from cedilla.runtime.engines.spark.memory import MemoryGrowth
from cedilla.runtime.engines.spark.settings import check_settings, own_session
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from cedilla.runtime.epochs.checkpoint.edits.plan_changes import Consent
from cedilla.runtime.epochs.checkpoint.integrity import check_whole
from cedilla.runtime.epochs.checkpoint.ownership import Ownership, owned
from cedilla.runtime.epochs.operators.user import check_functions
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.options.permissions import check_modules
from cedilla.runtime.epochs.options.places import check_places, check_sail, default_checkpoint, no_folder
from cedilla.runtime.epochs.pipeline.cluster import check_machines
from cedilla.runtime.epochs.pipeline.discovery import drive
from cedilla.runtime.epochs.pipeline.executor import Executor
from cedilla.runtime.epochs.pipeline.failures import afterwards, failures_told, with_commit
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.epochs.pipeline.running_epoch import Flow
from cedilla.runtime.epochs.pipeline.sessions import engine_of, engine_session, interruptible
from cedilla.runtime.epochs.pipeline.stopping import Stopping, handled


class MemoryLimitExceeded(Exception):
    """The process has grown too much. Commits stay, and a new process continues after them."""


def run(
    query: str | Path | CompiledQuery,
    options: Options | None = None,
    on_epoch: OnEpoch | None = None,
    spark: SparkSession | None = None,
    on_report: Callable[[EpochReport], None] | None = None,
    ended: Callable[[], bool] = lambda: False,
    *,
    is_watched: bool = True,
) -> None:
    """Run a query: a path, the text itself, or what `compile_query` made of it.

    `on_epoch(dataframe, markers, epoch)` gets every epoch instead of the sink; the query then has one emit.
    `on_report` gets a report of every committed epoch. The run ends between epochs once it is `ended`. `is_watched`:
    as for `Checkpoint`. Raises `DiagnosticError` for whatever ends the run, `KeyboardInterrupt` if something else does.
    """
    compiled, name = compiled_query(query)
    options = (options or Options()).of_query(name, compiled.plan)
    check_modules(compiled.plan, options.allow_modules)
    plan, flow = load(compiled)
    if on_epoch is not None and len(plan.emits) != 1:
        hint = "a query for each emit, or sinks"
        raise failure("RQ413", f"`on_epoch` takes one emit, the query has {len(plan.emits)}", hint=hint)
    if on_epoch is None:
        prepared(compiled, options)
    else:  # nothing is written there, so it may be anywhere
        options = evolve(options, sinks={**{emit.name: emit.path for emit in plan.emits}, **options.sinks})
    start(
        plan,
        flow,
        options,
        on_report or (lambda report: None),
        spark,
        on_epoch,
        ended=ended,
        is_watched=is_watched,
    )


def prepared(compiled: CompiledQuery, options: Options) -> None:
    """Checks the options and places of a run, as `start` will. Raises `DiagnosticError`."""
    options = options.of_query(compiled.source, compiled.plan)
    check_modules(compiled.plan, options.allow_modules)
    check_settings(options.conf)
    check_places(apply(compiled.plan, options), options.checkpoint)


@failures_told()
def start(
    plan: Plan,
    flow: Flow,
    options: Options,
    on_report: Callable[[EpochReport], None],
    spark: SparkSession | None = None,
    on_epoch: OnEpoch | None = None,
    consent: Consent = lambda changes: False,
    on_step: Callable[[str], None] = lambda step: None,
    on_warning: Callable[[Diagnostic], None] = lambda warning: None,
    growth: MemoryGrowth | None = None,
    stopping: Stopping | None = None,
    ended: Callable[[], bool] = lambda: False,
    *,
    is_watched: bool = True,
) -> None:
    """Runs a plan until its input is done (`once`) or for ever. `on_step` gets messages before, between and after
    epochs, `on_warning` warnings about files. `is_watched`: as for `Checkpoint`. Raises `DiagnosticError`;
    `KeyboardInterrupt` if the run is interrupted, and `MemoryLimitExceeded` if there is too much of `growth`, both
    between epochs."""
    plan = apply(plan, options)
    check_modules(plan, options.allow_modules)
    check_settings(options.conf)
    check_paths(plan)
    check_catalogs(plan)
    if on_epoch is None:
        check_places(plan, options.checkpoint)
    engine = engine_of(options) if spark is None else engine_in(spark)
    if refused := refusals(plan, engine):
        raise DiagnosticError(refused)
    if engine == "sail":
        check_sail(plan, options.checkpoint)
    home = options.checkpoint or default_checkpoint(plan)
    with ExitStack() as opened:
        files = Files(plan.allowed)
        folders_written = [e.path for e in plan.emits if e.has_folder and on_epoch is None]
        ownership = opened.enter_context(owned(files, home, folders_written))
        opened.push(partial(_ended, ownership))
        documents = SealedFiles(files, home.rstrip("/"))
        is_cluster = is_far(spark) if spark is not None else _asks_for_cluster(options)
        check_whole(documents, None if is_cluster else files.checksum)
        topics = Topics.of(plan, home, files, options.records_per_epoch, importers(plan))
        opened.callback(topics.close)
        with_session = engine_session(plan, options, engine, on_step) if spark is None else own_session(spark)
        session = opened.enter_context(with_session)
        opened.enter_context(failures_told(session))
        signals = interruptible() if stopping is None else interruptible(stopping.wished, stopping.ordered)
        pressed = opened.enter_context(signals)
        check_functions(plan)
        for name, folder, what in folders(plan):
            if not files.exists(folder):
                raise no_folder(plan, name, folder, what)
        checkpoint = Checkpoint(files, home, ownership, is_watched=is_watched)
        if is_far(session):
            on_step("looking at the machines of the cluster, once it has some for us")
            sources = [folder for _, folder, _ in folders(plan)]
            check_machines(session, files, sources, [checkpoint.path, *folders_written])
        if is_cluster:  # its tasks read the state
            check_whole(documents, partial(checksum, session, files))
        executor = Executor(
            session,
            plan,
            flow,
            checkpoint,
            files,
            options.files_per_epoch,
            on_report,
            on_epoch,
            options.conf,
            lambda changes: _continues(options, consent, changes),
            topics,
        )
        try:
            on_step("looking for files")
            ends = partial(_ends, lambda: pressed() or ended(), growth)
            with failures_told(session):
                drive(executor, None if options.once else options.interval, on_step, on_warning, ends)
        except BaseException as problem:
            if isinstance(problem, DiagnosticError):
                problem = with_commit(problem, executor.last.epoch)
                with afterwards(problem):  # a full disk takes neither
                    checkpoint.note_failure(problem.diagnostics, executor.last.epoch)
            with afterwards(problem):
                executor.close()
            raise problem
        executor.close()


def _asks_for_cluster(options: Options) -> bool:
    """Returns True if options name a server, or a master of other machines."""
    return options.remote is not None or not (options.master or "local").startswith("local")


def _ended(ownership: Ownership, kind: type[BaseException] | None, *_: object) -> None:
    """Marks the end of a run unless a fault of a program ends it, which leaves no diagnostic in the checkpoint."""
    if kind is None or issubclass(kind, DiagnosticError | KeyboardInterrupt | MemoryLimitExceeded):
        ownership.end()


def _ends(pressed: Callable[[], bool], growth: MemoryGrowth | None) -> bool:
    """Returns True if a run is to end. Raises `MemoryLimitExceeded`."""
    if pressed():
        return True
    if growth is not None and growth.exceeds_limit:
        raise MemoryLimitExceeded
    return False


def _continues(options: Options, consent: Consent, changes: Changes) -> bool:
    """Returns True if an edited query may continue. Asks `consent` if there is something to confirm, or to approve;
    Ctrl-C is an answer."""
    # A person has written a setting, or has approved it in a run before.
    is_edited = any(item.where != "settings" for item in changes.items)
    if options.yes or (changes.goes_on_at_once and not (options.approve and is_edited)):
        return True
    with handled(signal.SIGINT, signal.default_int_handler):
        return consent(changes)
