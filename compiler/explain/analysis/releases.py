"""The punctuation that releases waiting rows of an operator: of its input, and of each source (theory 1.3,
3.4).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from cedilla.compiler.explain.analysis.safety import analysed, promised, safety
from cedilla.compiler.facts.schemes import ENDS, Memory, Scheme, Schemes, within
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan, Source


@frozen
class Release:
    """Rows that an operator keeps until punctuation closes them, and writes only then.

    `on`: attributes of the operator's input; a punctuation on one of them releases the rows. If empty, they
    wait for the end. `sources`: stream -> its attributes on which such a punctuation may come; if empty, its
    end.
    """

    operator: Operator
    memory: Memory
    on: tuple[str, ...]
    sources: Mapping[str, tuple[str, ...]]


def releases(plan: Plan) -> tuple[Release, ...]:
    """Returns the release of every operator whose rows wait."""
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
    """Returns scheme of a source -> scheme of the operator's input that closes waiting rows, if all others
    end.

    Prefers promises of the source, then attributes that become a window, then any single one. An empty scheme
    means the input's end: such punctuations for all values of a finite domain end it together.
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
    """Returns the scheme of waiting rows that the input closes, if one source promises `schemes` and others
    end.

    Returns `None` if it closes none of them.
    """
    promises = {other.name: schemes if other is source else ENDS for other in plan.sources}
    closing = within(analysed(plan, promises, plan.start).schemes[closer], memory.within)
    return min(closing, key=lambda s: (len(s), sorted(s)), default=None)
