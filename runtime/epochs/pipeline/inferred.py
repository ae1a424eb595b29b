"""Attributes that `set drift = infer` added in an epoch: reported in its line, and kept for `status`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from attrs import frozen

from cedilla.compiler.changes import Add
from cedilla.compiler.expressions.types import Type
from cedilla.runtime.control.sources.source_state import SourceState

_MAX_NAMED = 20
"""Maximum number of attributes of a source that the line of an epoch names; `status` has all."""


@frozen
class Inferred:
    """The attributes of sources that tuples have brought and nothing had announced, with their types."""

    added: Mapping[str, Mapping[str, Type]]

    @classmethod
    def of(
        cls, types_before: Mapping[str, Mapping[str, Type]], states: Mapping[str, SourceState]
    ) -> Inferred:
        """Returns the attributes in the states that were not known before."""
        new = {
            source: {name: type_ for name, type_ in state.types.items() if name not in types_before[source]}
            for source, state in states.items()
        }
        return cls({source: types for source, types in new.items() if types})

    def since(self, epoch: int, before: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
        """Returns the epoch of each attribute that was ever inferred, by source."""
        inferred = {
            source: {**before.get(source, {}), **dict.fromkeys(t, epoch)} for source, t in self.added.items()
        }
        return {**before, **inferred}

    def notes(self) -> Iterator[str]:
        """Returns the note for the line of the epoch."""
        for source, types in self.added.items():
            names = [str(Add(name, type_)) for name, type_ in islice(types.items(), _MAX_NAMED)]
            more = f" and {len(types) - len(names):,} more" if len(types) > len(names) else ""
            yield f"inferred {', '.join(names)}{more} of {source}"
