"""Rows that wait for punctuation, in words: how many, where, and for which; and what would send it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from cedilla.compiler import regions
from cedilla.compiler.analysis.releases import Release
from cedilla.compiler.analysis.remedies import heartbeat_advice
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Aggregate
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions import Tree


@frozen
class Waiting:
    """The rows of an operator that wait.

    `noun`: group, or row; `count`: how many, `None` where a record of old does not say; `exact`: whether there are
    not fewer, for what is closed, or is in state several times, is counted until the state is rewritten. `on`:
    attributes that have to be closed, of the operator's input; none: its end is. `missing`: stream -> its attributes
    on which a punctuation would do it and none has come yet; none: its end.
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
        """Rows that wait for a release; `facts`: of every relation now."""
        noun = "group" if isinstance(release.operator, Aggregate) else "row"
        missing = {s: names for s, names in release.sources.items() if not _has_come(names, facts[s].closed)}
        return cls(release.operator.name, noun, count, exact, release.on, missing)

    def text(self) -> str:
        """`12 groups of `flow` wait for a punctuation on `minute`; none has come on `ts``."""
        what = f"a punctuation on {_either(self.on)}" if self.on else "the end of its input"
        verb = "waits" if self.count == 1 else "wait"
        none_yet = [
            f"none has come on {_either(names)} of `{source}`" if names else f"`{source}` has not ended"
            for source, names in self.missing.items()
        ]
        return "; ".join([f"{self.short()} {verb} for {what}", *none_yet])

    def short(self) -> str:
        """`12 groups of `flow``."""
        if self.count is None:
            return f"{self.noun}s of `{self.operator}`"
        most = "" if self.exact else "up to "
        return f"{most}{self.count:,} {self.noun}{'' if self.count == 1 else 's'} of `{self.operator}`"

    def advice(self, plan: Plan) -> str | None:
        """The heartbeat that would punctuate in place of a source that has not; `None` where there is none."""
        advices = (heartbeat_advice(plan, plan.source_of[s], n) for s, ns in self.missing.items() for n in ns)
        return next((each for each in advices if each is not None), None)


def _has_come(names: Sequence[str], closed: Tree) -> bool:
    return closed is True or bool(regions.attributes(closed) & set(names))


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
