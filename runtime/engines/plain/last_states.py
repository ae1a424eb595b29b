"""The last states of the rows of tables that are not read to their end yet (`as latest by id`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field

from cedilla.compiler.plan import Source
from cedilla.runtime.connectors.records.change_events import is_gone
from cedilla.runtime.engines.plain.node import Row, Rows, control


@define
class LastStates:
    """The last states by source and key."""

    _of: dict[str, dict[tuple[Any, ...], Row]] = field(factory=dict[str, dict[tuple[Any, ...], Row]])

    def sees(self, source: Source, row: Row, item: Any) -> bool:
        """Takes the next state of a row; `item`: its tuple. Returns False for a source of other tuples."""
        if not source.latest:
            return False
        states = self._of.setdefault(source.name, {})
        key = tuple(control(row.get(name)) for name in source.changes)
        states.pop(key, None)
        if not is_gone(item):
            states[key] = row
        return True

    def taken(self, is_read: Callable[[str], bool]) -> dict[str, Rows]:
        """Returns the last states of sources that are read to their end, once."""
        return {name: [*self._of.pop(name).values()] for name in [*self._of] if is_read(name)}


def rejection_of_gone(source: Source, row: Row) -> tuple[str, str] | None:
    """Returns the rejection of a deleted row, which may have its key only."""
    key = next((key for key in source.changes if key not in row), None)
    return None if key is None else ("RQ302", key)
