"""Checkpoints with a few commits, as status reads them."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from cedilla.compiler import Plan
from cedilla.compiler.facts.marker_parser import read_accent, read_punctuation
from cedilla.compiler.plan import derive
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sinks.announce import SinkState, announce
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit, Progress
from tests.kit.checkpoints import write_checkpoint


def checkpoint_after(folder: Path, plan: Plan, markers: dict[str, list[str]], **more: object) -> Path:
    """A checkpoint after the markers of its sources, as a run would have left it."""
    states = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
    for name, texts in markers.items():
        for text in texts:
            state = states[name]
            if text.startswith("[["):
                states[name] = with_accent(state, read_accent(text, state.types), 0).next_epoch()
            else:
                states[name] = state.close(state.canonical(read_punctuation(text, state.types).pattern))
    facts = derive(plan, {name: state.facts() for name, state in states.items()})
    sinks = {
        emit.name: announce(
            SinkState.start(plan.start[emit.relation]), facts[emit.relation], facts[emit.relation]
        )[0]
        for emit in plan.emits
    }
    progress = {"sensors": Progress(3)}
    time = "2026-01-01 00:00:00 UTC"
    commit = Commit(epoch=7, batch=2, progress=progress, sources=states, sinks=sinks, time=time)
    return write_checkpoint(folder, plan, *(evolve(commit, epoch=number, **more) for number in (6, 7)))
