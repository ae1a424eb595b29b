"""Which punctuation lets go of rows that wait in an operator: of its input, and of which source (theory 1.3, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from cedilla.compiler.analysis.safety import analysed, promised, safety
from cedilla.compiler.facts.schemes import ENDS, Memory, Scheme, Schemes, within
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan, Source


@frozen
class Release:
    """Rows that an operator keeps until punctuation closes them, and only then are written.

    `on`: attributes of the operator's input, a punctuation on one of which is what they wait for; none: they wait
    for the end. `sources`: stream -> its attributes on which such a punctuation may come; none: its end.
    """

    operator: Operator
    memory: Memory
    on: tuple[str, ...]
    sources: Mapping[str, tuple[str, ...]]


def releases(plan: Plan) -> tuple[Release, ...]:
    """What rows wait for, of every operator in which they do."""
    return tuple(
        _release(plan, bound.operator, bound.memory) for bound in safety(plan).bounds if bound.memory.output
    )


def _release(plan: Plan, operator: Operator, memory: Memory) -> Release:
    closer = operator.inputs[memory.side]
    closing: set[str] = set()
    sources: dict[str, tuple[str, ...]] = {}
    for source in _streams_above(plan, closer):
        schemes = _closing(plan, source, closer, memory)
        closing.update(name for scheme in schemes.values() for name in scheme)
        sources[source.name] = tuple(sorted({name for promise in schemes for name in promise}))
    return Release(operator, memory, tuple(sorted(closing)), sources)


def _streams_above(plan: Plan, relation: str) -> list[Source]:
    nodes = {node.name: node for node in plan.ancestors(relation)}
    return [source for source in plan.sources if source.name in nodes and not source.table]


def _closing(plan: Plan, source: Source, closer: str, memory: Memory) -> dict[Scheme, Scheme]:
    """A scheme of a source -> that of the operator's input which closes what waits, if all others end.

    What the source promises comes first, then attributes that become a window, then any single one. An empty
    scheme: together, for all values of a finite domain, they are the input's end.
    """
    single = frozenset(frozenset({attribute.name}) for attribute in source.attributes)
    tried = {s: _derived(plan, source, frozenset({s}), closer, memory) for s in promised(source) | single}
    releasing = {scheme: to for scheme, to in tried.items() if to is not None}
    named = {scheme: to for scheme, to in releasing.items() if scheme in promised(source)}
    windows = {
        scheme: to for scheme, to in releasing.items() if not to <= {a.name for a in source.attributes}
    }
    return named or windows or releasing


def _derived(plan: Plan, source: Source, schemes: Schemes, closer: str, memory: Memory) -> Scheme | None:
    """What the operator's input closes of the rows that wait, if one source promises some schemes and all others
    end; `None` where it closes nothing of them."""
    promises = {other.name: schemes if other is source else ENDS for other in plan.sources}
    closing = within(analysed(plan, promises, plan.start).schemes[closer], memory.within)
    return min(closing, key=lambda s: (len(s), sorted(s)), default=None)
