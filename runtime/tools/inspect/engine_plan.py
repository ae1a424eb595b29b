"""Shows the engine's plan of one epoch: `explain --spark`."""

from __future__ import annotations

import io
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import Engine
from cedilla.compiler.compile import CompiledQuery
from cedilla.compiler.plan import Plan, Source, derive
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark.columns import columns_of, struct_of
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.operators.epoch import Epoch
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.options.permissions import check_modules
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.epochs.pipeline.running_epoch import Flow
from cedilla.runtime.epochs.pipeline.sessions import engine_of, engine_session
from cedilla.runtime.epochs.state.state_store import StateStore


def engine_plans(compiled: CompiledQuery, options: Options) -> tuple[Engine, dict[str, str]]:
    """Returns an engine and its plan for each output, of an epoch that has tuples of all sources, and ends them.

    Raises RQ483 for modules that are not allowed: the functions of user operators run.
    """
    check_modules(compiled.plan, options.allow_modules)
    plan, flow = load(compiled)
    chosen = engine_of(options)
    with engine_session(plan, options, chosen, lambda step: None) as session, TemporaryDirectory() as root:
        return chosen, plans_in(session, plan, flow, Path(root))


def plans_in(session: SparkSession, plan: Plan, flow: Flow, root: Path) -> dict[str, str]:
    """Returns the plans of a session for each output; `root`: an empty folder."""
    jobs = Jobs()
    state = StateStore(session, Files(), str(root / "state"), jobs)
    state.begin(0)
    begun = {source.name: SourceState.start(source, plan.droppable[source.name]) for source in plan.sources}
    frames = {source.name: _empty(session, plan, source, root) for source in plan.sources}
    with ExitStack() as cached:
        epoch = Epoch(
            plan,
            0,
            frames,
            frozenset(frames),
            derive(plan, {name: source.facts() for name, source in begun.items()}),
            derive(plan, {name: source.close(True).facts() for name, source in begun.items()}),
            state,
            cached,
        )
        outputs = flow(epoch)
        texts = {emit.name: _explained(outputs[emit.name]) for emit in plan.emits}
    jobs.close()
    return texts


def _empty(session: SparkSession, plan: Plan, source: Source, root: Path) -> DataFrame:
    """Returns the tuples of a source from an empty folder of Parquet, which no engine leaves out of its plan."""
    folder = root / source.name
    folder.mkdir()
    columns = columns_of(plan.start[source.name].types, is_placed=source.name in plan.placed)
    return session.read.schema(struct_of(columns)).parquet(str(folder))


def _explained(frame: DataFrame) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain()
    return text.getvalue().strip()
