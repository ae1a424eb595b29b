"""The data flow of a query on a session of any engine, epoch by epoch, without files but those of state.

What comes in are the tuples and punctuations of each epoch; accents are none of the engine's, so there are none here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type, column
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.marker_parser import read_punctuation
from cedilla.compiler.plan import Plan, Source, derive
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark.columns import ORDER
from cedilla.runtime.engines.spark.frames import of_table, order
from cedilla.runtime.engines.spark.jobs import Jobs, wait_all
from cedilla.runtime.epochs.operators.epoch import Epoch
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.stream import Item, is_tuple

_PLACE = "$place"


def outputs(
    session: SparkSession,
    root: Path,
    query: str,
    epochs: Sequence[Mapping[str, Sequence[Item]]],
    facts: list[Mapping[str, Facts]] | None = None,
) -> dict[str, list[str]]:
    """The tuples of each output over all epochs, as lines of JSON; undefined attributes are left out. `facts`: gets
    those of all relations after each epoch."""
    plan, flow = load(compile_query(query))
    jobs = Jobs()
    state = StateStore(session, Files(), str(root / "state"), jobs)
    sources = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
    closed_by_state: Any = {}
    result: dict[str, list[str]] = {emit.name: [] for emit in plan.emits}
    for number, items in enumerate(epochs):
        base, segments = sources, dict(state.segments)
        sources = {name: _after(plan, name, state, items.get(name, ())) for name, state in sources.items()}
        with ExitStack() as cached:
            state.begin(number)
            epoch = Epoch(
                plan,
                number,
                {s.name: _frame(session, number, plan, s, items.get(s.name, ())) for s in plan.sources},
                frozenset(name for name, arrived in items.items() if any(map(is_tuple, arrived))),
                derive(plan, {n: s.facts() for n, s in base.items()}, closed_by_state),
                derive(plan, {n: s.facts() for n, s in sources.items()}, closed_by_state),
                state,
                cached,
                state_facts=closed_by_state,
                closed_by_state=dict(closed_by_state),
            )
            frames = flow(epoch)
            for emit in plan.emits:
                if epoch.has_rows(emit.relation):
                    result[emit.name] += _rows(frames[emit.name])
            closed_by_state = dict(epoch.closed_by_state)
            if facts is not None:
                facts.append(epoch.after)
            wait_all(jobs.take())
            planned = dict(state.segments)
            state.commit(planned, state.measured(planned), state.unused(segments))
        sources = {name: state.next_epoch() for name, state in sources.items()}
    jobs.close()
    return result


def _after(plan: Plan, name: str, state: SourceState, items: Sequence[Item]) -> SourceState:
    for position, item in enumerate(items):
        if not is_tuple(item):
            state = state.punctuate(read_punctuation(item["$punctuation"], state.types), position)
    return state.close(True) if plan.source_of[name].table else state


def _frame(
    session: SparkSession, number: int, plan: Plan, source: Source, items: Sequence[Item]
) -> DataFrame:
    types = {attribute.name: attribute.type for attribute in source.attributes}
    rows = [(position, item) for position, item in enumerate(items) if is_tuple(item)]
    columns = {name: [_value(type_, item.get(name)) for _, item in rows] for name, type_ in types.items()}
    arrays = [pa.array(columns[name], arrow_type(type_)) for name, type_ in types.items()]
    table = pa.table([*arrays, pa.array([position for position, _ in rows], pa.int64())], [*types, _PLACE])
    frame = of_table(session, table)
    # PySpark makes a session's own timestamps of Arrow's.
    names = [f"CAST({column(name)} AS {type_.spark}) AS {column(name)}" for name, type_ in types.items()]
    if source.name in plan.placed:
        names.append(f"{order(number, plan.sources.index(source), column(_PLACE))} AS {column(ORDER)}")
    return frame.selectExpr(*names)


def _value(type_: Type, raw: Any) -> Any:
    """A value of a line as pyarrow takes it."""
    if raw is None:
        return None
    match type_.name:
        case "double":
            return float(raw)
        case "decimal":
            return Context(prec=38).quantize(Decimal(raw), Decimal(1).scaleb(-type_.parameters[1]))
        case "timestamp":
            return datetime.fromisoformat(raw)
        case "date":
            return date.fromisoformat(raw)
        case _:
            return raw


def _rows(frame: DataFrame) -> list[str]:
    rows = frame.drop(ORDER).toArrow().to_pylist()
    return [json_text({n: _wire(value) for n, value in row.items() if value is not None}) for row in rows]


def _wire(value: Any) -> Any:
    """Times as an output writes them."""
    match value:
        case list():
            return [_wire(element) for element in value]
        case datetime():
            return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
        case date():
            return value.isoformat()
        case _:
            return value
