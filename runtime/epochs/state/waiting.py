"""Rows that wait for punctuation: their number, their operator, and the missing punctuation, from counts recorded when
state was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cedilla.compiler.explain.analysis.releases import Release
from cedilla.compiler.explain.analysis.waiting import Waiting
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.regions import Tree
from cedilla.runtime.epochs.state.segments import Segment, Segments, rows_of


def rows_that_wait(
    releases: Sequence[Release], segments: Segments, facts: Mapping[str, Facts], epoch: int
) -> tuple[Waiting, ...]:
    """Returns the waiting rows after an epoch, without reading any. `facts`: those of every relation at its end."""
    return tuple(waiting for release in releases for waiting in _waiting(release, segments, facts, epoch))


def _waiting(
    release: Release, segments: Segments, facts: Mapping[str, Facts], epoch: int
) -> Iterator[Waiting]:
    operator = release.operator
    released = operator.passed(tuple(facts[name] for name in operator.inputs), facts[operator.name])
    key = operator.waiting_state(release.memory.side)
    waiting = [s for s in segments.get(key, ()) if s.is_of(epoch) or not s.lies_in(released)]
    if not waiting:
        return
    yield Waiting.of(release, rows_of(waiting), facts, exact=_is_exact(operator, waiting, released, epoch))


def _is_exact(operator: Operator, kept: Sequence[Segment], released: Tree, epoch: int) -> bool:
    """Returns True if every stored row waits and is stored once: an epoch never stores rows that it releases."""
    stored = "again" if operator.state is None else operator.state.stored
    if stored == "once":
        return released is False or all(segment.is_of(epoch) for segment in kept)
    return stored == "parts" and len(kept) == 1 and (released is False or kept[0].is_of(epoch))
