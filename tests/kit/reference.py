"""The reference in memory: items of a stream in steps, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import field, frozen

from cedilla.compiler import compile_query
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.lines import marker
from tests.kit.stream import Item


@frozen
class Stepped:
    """A reference after some steps, and its outputs, step by step."""

    reference: Reference
    outputs: list[dict[str, Output]] = field(factory=list[dict[str, Output]])

    def items(self, emit: str) -> list[Item]:
        """The lines of an output."""
        return [item for output in self.outputs for item in output[emit].items()]

    def canonical(self, emit: str) -> list[Item]:
        """The tuples of an output before they are encoded."""
        return [dict(row) for output in self.outputs for row in output[emit].canonical]

    def codes(self, key: str) -> dict[Any, str]:
        """The codes of the tuples that are set aside, by their value of an attribute."""
        return {item[key]: code for _, code, item in self.reference.rejected}

    def step(self, items: Iterable[Item | str], source: str = "r") -> None:
        """An epoch: tuples and markers of a source, markers also as their texts."""
        self.outputs.extend(
            self.reference.step([(source, marker(i) if isinstance(i, str) else i) for i in items])
        )


def stepped(query: str, items: Sequence[Item | str] = (), size: int = 1) -> Stepped:
    """Runs items of the source `r` in steps of a size."""
    run = Stepped(Reference(compile_query(query).plan))
    for start in range(0, len(items), size):
        run.step(items[start : start + size])
    return run
