"""An edited query continues as `plan` says: what keeps its state gives what it gave without the edit, what begins again
gives the meaning of later tuples, and every output stays a valid stream (design, section 8)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import Plan
from cedilla.compiler.expressions.types import DOUBLE
from cedilla.compiler.plan import Emit, derive
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.marker_files import MARK
from cedilla.runtime.engines.plain.node import inside
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.program import run
from tests.kit.lines import write_lines
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, complaints, read_output
from tests.kit.tiers import tiered
from tests.laws.edges import read
from tests.laws.edited_queries import EditedRun, ancestors, edited_run
from tests.laws.reference_runs import TABLE, Items, Outputs, bag, decoded, drive, first_attributes
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import canonical
from tests.runtime.epochs.checkpoint.plan_edits import state_keys


def check_edit(seed: int) -> list[str]:
    """How the outputs of an edited query go on; nothing if there is no such query."""
    ran = edited_run(seed)
    if ran is None:
        return []
    if ran.kind in ("order", "names") and ran.has_the_same_places:
        assert not ran.changes.items or ran.changes.effect == "at once", ran.context
    if ran.changes.effect == "new checkpoint":
        return ["new checkpoint"]
    undisturbed: Outputs = {}
    never = Reference(ran.plan)
    drive(never, [*TABLE, *ran.before, *ran.after], undisturbed)
    first, whole = canonical(ran.before), canonical([*ran.before, *ran.after])
    meaning = evaluate_plan(ran.new, {name: rows[len(first[name]) :] for name, rows in whole.items()})
    went: list[str] = []
    for emit in ran.new.emits:
        output, early = ran.streams[emit.path], ran.early.get(emit.path, [])
        assert list(complaints(output, _initial(ran, emit), read)) == [], f"{emit.path}\n{ran.context}"
        how = _went(ran, emit)
        if how == "as before" and not never.rejected:
            expected = bag(decoded(undisturbed[emit.path])[len(decoded(early)) :])
        elif how == "again":
            expected = bag([row for row in meaning[emit.relation] if not inside(_closed(ran, emit), row)])
        else:
            continue
        rows = bag(decoded(output)[len(decoded(early)) :])
        assert rows == expected, f"{emit.path} {how}: {rows - expected} {expected - rows}\n{ran.context}"
        went.append(how)
    return went


def _went(ran: EditedRun, emit: Emit) -> str:
    """If an output is as before, begins again, or has some of the state that its relation needs."""
    changed = [c.where.split()[1] for c in ran.changes.items if c.what == "is of what has changed"]
    needed = ancestors(ran.new, emit)
    states = [o for o in ran.new.operators if o.stateful and o.name in needed]
    kept = [o for o in states if state_keys(o) <= ran.changes.commit.segments.keys()]
    if emit.path in ran.early and kept == states and emit.name not in changed:
        return "as before"
    return "in part" if kept or "d" in needed else "again"


def _closed(ran: EditedRun, emit: Emit) -> Tree:
    """What a relation has closed at the edit; no tuples come there, not even the result over no tuples."""
    sources = {name: state.facts() for name, state in ran.changes.commit.sources.items()}
    return derive(ran.new, sources)[emit.relation].closed


def _initial(ran: EditedRun, emit: Emit) -> set[str]:
    """The attributes that an output has from its start."""

    def of(plan: Plan) -> set[str]:
        return first_attributes(next(plan.start[e.relation] for e in plan.emits if e.path == emit.path))

    return of(ran.plan if emit.path in ran.early else ran.new)


@pytest.mark.parametrize("seeds", tiered([range(8), range(8, 48), range(48, 144)], most=2), ids=str)
def test_an_edited_query_goes_on_as_plan_says(seeds: range) -> None:
    went = Counter(how for seed in seeds for how in check_edit(seed))
    assert all(went[how] > len(seeds) / 20 for how in ("as before", "again", "new checkpoint")), went


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(3000))
def test_edits_in_many_cases(seed: int) -> None:
    check_edit(seed)


# --- on an engine ---


def check_on_engine(session: SparkSession, root: Path, seed: int) -> bool:
    """True if there is a query with an edit that needs no new checkpoint; outputs say then what the reference says."""
    ran = edited_run(seed)
    if ran is None or ran.changes.effect == "new checkpoint":
        return False
    for plan, items in ((ran.plan, [*TABLE, *ran.before]), (ran.new, ran.after)):
        _write(root, items)
        sources = {source.name: str(root / "in" / source.name) for source in plan.sources}
        sinks = {emit.name: str(root / emit.path) for emit in plan.emits}
        checkpoint = str(root / "checkpoint")
        options = Options(once=True, checkpoint=checkpoint, sources=sources, sinks=sinks, yes=True)
        try:
            run(plan.text, options, spark=session)
        except DiagnosticError as error:
            # In other epochs an output has announced other punctuations, which the edit may contradict.
            if error.diagnostics[0].code == "RQ402":
                return False
            raise
    for emit in ran.new.emits:
        if _has_half_a_state(ran, emit):
            continue  # the reference keeps no side of a join alone
        rows, expected = (
            bag(decoded([item for item in items if MARK not in item]))
            for items in (read_output(root / emit.path), ran.streams[emit.path])
        )
        assert rows == expected, f"{emit.path}: {rows - expected} {expected - rows}\n{ran.context}"
        assert [*_padded(ran.new, emit, read_output(root / emit.path, str))] == [], ran.context
    return True


def _padded(plan: Plan, emit: Emit, items: list[Item]) -> Iterator[Item]:
    """Yields tuples with a double that is written with the digits of a decimal."""
    doubles = {name for name, type_ in plan.start[emit.relation].types.items() if type_ == DOUBLE}
    for item in items:
        texts = [value for name, value in item.items() if name in doubles and isinstance(value, str)]
        if any(re.fullmatch(r".*\.\d+0", text) for text in texts):
            yield item


def _has_half_a_state(ran: EditedRun, emit: Emit) -> bool:
    needed, kept = ancestors(ran.new, emit), ran.changes.commit.segments.keys()
    keys = [state_keys(operator) for operator in ran.new.operators if operator.name in needed]
    return any(its & kept and not its <= kept for its in keys)


def _write(root: Path, items: Items) -> None:
    """Writes one more file of each source."""
    for source in ("r", "s", "d"):
        folder = root / "in" / source
        folder.mkdir(parents=True, exist_ok=True)
        number = len([*folder.iterdir()]) + 1
        if its := [item for name, item in items if name == source]:
            write_lines(folder / f"{number}.jsonl", its, number)


@pytest.mark.either_engine
@pytest.mark.parametrize("seeds", tiered([range(3), range(3, 10)], most=1), ids=str)
def test_an_engine_goes_on_as_the_reference_does(spark: SparkSession, tmp_path: Path, seeds: range) -> None:
    went = [check_on_engine(spark, tmp_path / str(seed), seed) for seed in seeds]
    assert any(went)
