"""The time that has moved a heartbeat furthest: a clock in the future makes all later tuples late."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Source
from cedilla.compiler.regions.affine import exact
from cedilla.runtime.connectors.records.record_files import record_file

if TYPE_CHECKING:
    from cedilla.runtime.control.sources.source_state import SourceState


@frozen
class LatestTime:
    """The greatest time of a source so far, and the path of its file. `late`: the number of tuples that are late
    since."""

    time: Fraction
    file: str
    late: int = 0

    def of(self, attribute: str, type_: Type, line: int | None = None) -> str:
        """Describes it as a value of an attribute. `line`: that of its tuple, if known."""
        records = record_file(self.file)
        at = (self.file if records is None else records.place) + ("" if line is None else f":{line}")
        since = f", and {self.late:,} {'is' if self.late == 1 else 'are'} late since" if self.late else ""
        return f"`{attribute}` is {type_.wire(exact(self.time))}, in {at}{since}"


def with_latest(closed: str | None, source: Source, state: SourceState) -> str | None:
    """Returns the text of a closed region with the time that has closed it, if a heartbeat does."""
    if closed is None or source.heartbeat is None or state.latest is None:
        return closed
    name = source.heartbeat.attribute
    return f"{closed}; the greatest {state.latest.of(name, state.types[name])}"
