"""Describes rows that wait for punctuation: their number, their operator, and the punctuation that releases
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.explain.analysis.releases import Release
from cedilla.compiler.explain.analysis.suggestions import heartbeat_advice
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree


@frozen
class Waiting:
    """The rows of an operator that wait.

    `noun`: group, or row. `count`: their number; `None` if an older record lacks it. `exact`: False if there
    may be fewer, because closed rows and duplicates in state count until the state is rewritten. `on`:
    attributes of the operator's input that have to be closed; empty: the input must end. `missing`: stream ->
    its attributes without the needed punctuation so far; empty: its end.
    """

    operator: str
    noun: str
    count: int | None
    exact: bool
    on: tuple[str, ...]
    missing: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls, release: Release, count: int | None, facts: Mapping[str, Facts], *, exact: bool = True
    ) -> Waiting:
        """Describes the rows that wait for a release; `facts`: the current ones of every relation."""
        noun = release.operator.state.row if release.operator.state is not None else "row"
        unpunctuated = {
            s: names for s, names in release.sources.items() if not _has_come(names, facts[s].closed)
        }
        return cls(release.operator.name, noun, count, exact, release.on, unpunctuated)

    def text(self) -> str:
        """Writes `12 groups of `flow` wait for a punctuation on `minute`; none has come on `ts``."""
        event = f"a punctuation on {_either(self.on)}" if self.on else "the end of its input"
        verb = "waits" if self.count == 1 else "wait"
        none_yet = [
            f"none has come on {_either(names)} of `{source}`" if names else f"`{source}` has not ended"
            for source, names in self.missing.items()
        ]
        return "; ".join([f"{self.short()} {verb} for {event}", *none_yet])

    def short(self) -> str:
        """Writes `12 groups of `flow``."""
        if self.count is None:
            return f"{self.noun}s of `{self.operator}`"
        prefix = "" if self.exact else "up to "
        return f"{prefix}{self.count:,} {self.noun}{'' if self.count == 1 else 's'} of `{self.operator}`"

    def advice(self, plan: Plan) -> str | None:
        """Suggests a heartbeat that punctuates for a source that has not done so; may be `None`."""
        advices = (heartbeat_advice(plan, plan.source_of[s], n) for s, ns in self.missing.items() for n in ns)
        return next((advice for advice in advices if advice is not None), None)


def _has_come(names: Sequence[str], closed: Tree) -> bool:
    return closed is True or bool(regions.attributes(closed) & set(names))


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
