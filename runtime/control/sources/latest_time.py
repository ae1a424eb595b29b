"""The time that has moved a heartbeat furthest: a clock in the future makes all later tuples late."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Source
from cedilla.compiler.regions.affine import exact

if TYPE_CHECKING:
    from cedilla.runtime.control.sources.source_state import SourceState


@frozen
class LatestTime:
    """The greatest time of a source so far, and its file, as messages name it."""

    time: Fraction
    file: str

    def of(self, attribute: str, type_: Type) -> str:
        """Describes it as a value of an attribute."""
        return f"`{attribute}` is {type_.wire(exact(self.time))}, in {self.file}"


def with_latest(closed: str | None, source: Source, state: SourceState) -> str | None:
    """Returns the text of a closed region with the time that has closed it, if a heartbeat does."""
    if closed is None or source.heartbeat is None or state.latest is None:
        return closed
    name = source.heartbeat.attribute
    return f"{closed}; the greatest {state.latest.of(name, state.types[name])}"
