"""Checks that state stays bounded by the punctuation that the sources promise (theory 3.4).

Promised schemes go through the plan from the sources to the outputs. Every operator lists its state and the
scheme of an input that releases it. A broken promise is not detected here: it shows in the state's size.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from attrs import evolve, frozen

from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import ENDS, Memory, Schemes, is_finite, names, within, without_finite
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.compiler.plan import Plan, Source

Verdict = Literal["bounded", "bounded if accents stop", "unbounded"]
VERDICTS: tuple[Verdict, ...] = ("bounded", "bounded if accents stop", "unbounded")
"""Verdicts from best to worst."""


@frozen
class StateBound:
    """One kind of state of an operator, and whether it stays bounded.

    `because` gives the reason, as a sentence without its subject. `waits`: rows of the operator may wait for
    ever.
    """

    operator: Operator
    memory: Memory
    verdict: Verdict
    because: str
    waits: bool = False


@frozen
class Safety:
    """The schemes of every relation, and the bound of all state, in topological order."""

    schemes: Mapping[str, Schemes]
    bounds: tuple[StateBound, ...]

    def of(self, operator: str) -> tuple[StateBound, ...]:
        return tuple(bound for bound in self.bounds if bound.operator.name == operator)

    def verdict(self, operator: str) -> Verdict:
        """Returns the worst verdict on an operator's state."""
        worst: Verdict = "bounded"
        for bound in self.of(operator):
            if VERDICTS.index(bound.verdict) > VERDICTS.index(worst):
                worst = bound.verdict
        return worst


def promised(source: Source) -> Schemes:
    """Returns the schemes that a source promises: each `punctuated on`, the heartbeat, for a table the end."""
    if source.table:
        return ENDS
    heartbeat = [] if source.heartbeat is None else [frozenset({source.heartbeat.attribute})]
    return frozenset(frozenset(scheme) for scheme in source.punctuated).union(heartbeat)


def safety(plan: Plan) -> Safety:
    """Bounds each operator's state, if the sources keep their promises."""
    return analysed(plan, {source.name: promised(source) for source in plan.sources}, plan.start)


def analysed(plan: Plan, sources: Mapping[str, Schemes], facts: Mapping[str, Facts]) -> Safety:
    """Bounds each operator's state, if each source promises the schemes in `sources`.

    `facts`: those of the relations at the start.
    """
    schemes = _schemes(plan, sources, facts)
    covered = {name: without_finite(promise, facts[name]) for name, promise in schemes.items()}
    bounds: list[StateBound] = []
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        promises = tuple(covered[name] for name in operator.inputs)
        bounds += [_bound(operator, memory, inputs, promises) for memory in _memory(plan, operator, inputs)]
    return Safety(covered, tuple(bounds))


def _schemes(plan: Plan, sources: Mapping[str, Schemes], facts: Mapping[str, Facts]) -> dict[str, Schemes]:
    """Returns the schemes of every relation, from those of the sources."""
    schemes = dict(sources)
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        schemes[operator.name] = operator.schemes(inputs, tuple(schemes[name] for name in operator.inputs))
    return schemes


def _memory(plan: Plan, operator: Operator, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
    """Returns an operator's state; an aggregate over count windows keeps only groups that are not full."""
    kept, windows = operator.memory(inputs), plan.operator_of.get(operator.inputs[0])
    full = None if windows is None or operator.groups is None else windows.full_at(operator.groups)
    if full is None:
        return kept
    return tuple(evolve(memory, one_per=full[1], output=False) for memory in kept)


def _bound(
    operator: Operator, memory: Memory, inputs: tuple[Facts, ...], promises: tuple[Schemes, ...]
) -> StateBound:
    closer, facts = operator.inputs[memory.side], inputs[memory.side]
    closing = [
        scheme
        for scheme in within(promises[memory.side], memory.within)
        if not (memory.undefined and any(facts.may_be_undefined(name) for name in scheme))
    ]
    if closing:
        scheme = min(closing, key=lambda s: (len(s), sorted(s)))
        until = f"`{closer}` closes {names(scheme)}" if scheme else f"`{closer}` ends"
        return StateBound(operator, memory, "bounded", f"until {until}")
    if memory.ends is not None and (ending := within(promises[memory.ends], memory.finite)):
        until = "it ends" if frozenset() in ending else f"it closes every {names(min(ending, key=sorted))}"
        because = f"at most all of `{operator.inputs[memory.ends]}` until {until}"
        return StateBound(operator, memory, "bounded", because, memory.output)
    if memory.one_per is not None and all(is_finite(name, inputs[0]) for name in memory.one_per):
        because = f"one for each {names(memory.one_per)}" if memory.one_per else "only one"
        return StateBound(operator, memory, "bounded", because, memory.output)
    verdict = "bounded if accents stop" if memory.accents else "unbounded"
    return StateBound(operator, memory, verdict, missing(operator, memory, inputs))


@lru_cache(8)
def vacancies(plan: Plan) -> Mapping[str, tuple[Vacancy, ...]]:
    """Returns how each operator finds the closed regions without tuples in its state."""
    schemes = _schemes(plan, {source.name: promised(source) for source in plan.sources}, plan.start)
    return {
        operator.name: operator.vacancies(
            plan.inputs_of(operator), tuple(schemes[name] for name in operator.inputs)
        )
        for operator in plan.operators
    }


def missing(operator: Operator, memory: Memory, inputs: tuple[Facts, ...]) -> str:
    """Says which promise of an input is missing for a bound, as a sentence."""
    closer = operator.inputs[memory.side]
    if not memory.within:
        return f"`{closer}` does not promise to end"
    if memory.within >= inputs[memory.side].types.keys():
        return f"`{closer}` promises no punctuation"
    some = ", or some of them" if len(memory.within) > 1 else ""
    return f"`{closer}` does not promise to close {names(memory.within)}{some}"
