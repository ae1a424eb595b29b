"""Rows that wait for punctuation: their number, their operator, and the missing punctuation, from counts recorded when
state was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cedilla.compiler.analysis.releases import Release
from cedilla.compiler.analysis.waiting import Waiting
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Aggregate, AntiJoin, LeftJoin, Operator, Session, Sort, Top, User
from cedilla.compiler.regions import Tree
from cedilla.runtime.state.segments import Segment, Segments


def rows_that_wait(
    releases: Sequence[Release], segments: Segments, facts: Mapping[str, Facts], epoch: int
) -> tuple[Waiting, ...]:
    """Returns the waiting rows after an epoch, without reading any. `facts`: those of every relation at its end."""
    return tuple(waiting for release in releases for waiting in _waiting(release, segments, facts, epoch))


def _waiting(
    release: Release, segments: Segments, facts: Mapping[str, Facts], epoch: int
) -> Iterator[Waiting]:
    operator = release.operator
    released = _released(operator, tuple(facts[name] for name in operator.inputs), facts[operator.name])
    waiting = [s for s in segments.get(_key(release), ()) if s.is_of(epoch) or not s.lies_in(released)]
    if not waiting:
        return
    rows = [segment.rows for segment in waiting]
    count = None if None in rows else sum(each or 0 for each in rows)
    yield Waiting.of(release, count, facts, exact=_is_exact(operator, waiting, released, epoch))


def _is_exact(operator: Operator, kept: Sequence[Segment], released: Tree, epoch: int) -> bool:
    """Returns True if every stored row waits and is stored once: an epoch never stores rows that it releases."""
    if isinstance(operator, Sort | Session | User):
        return released is False or all(segment.is_of(epoch) for segment in kept)
    return (
        len(kept) == 1
        and isinstance(operator, Aggregate | Top)
        and (released is False or kept[0].is_of(epoch))
    )


def _released(operator: Operator, inputs: tuple[Facts, ...], output: Facts) -> Tree:
    """Returns the region of an operator's state whose rows do not wait any more."""
    if isinstance(operator, Aggregate | Top):
        return output.closed
    if isinstance(operator, Sort):
        return operator.passable(inputs[0])
    if isinstance(operator, LeftJoin | AntiJoin):
        return operator.purge(inputs)[0]
    return operator.closed_groups(inputs) if isinstance(operator, User) else False


def _key(release: Release) -> str:
    """Returns the key of the state that contains the waiting rows."""
    operator = release.operator
    if isinstance(operator, LeftJoin):
        return f"{operator.name}.waiting"
    if isinstance(operator, AntiJoin):
        return f"{operator.name}.left"
    if isinstance(operator, User) and len(operator.inputs) == 2:
        return f"{operator.name}.{('left', 'right')[release.memory.side]}"
    return operator.name
