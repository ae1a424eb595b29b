"""The output of one step of an emit."""

from __future__ import annotations

from itertools import chain
from typing import Any

from attrs import frozen

from cedilla.runtime.connectors.records.marker_files import MARK, Markers
from cedilla.runtime.engines.plain.node import Row


@frozen
class Output:
    """The output of one step of an emit: canonical tuples, the same encoded, and markers; with rows of open groups that
    are not part of it."""

    canonical: tuple[Row, ...]
    tuples: tuple[Row, ...]
    markers: Markers
    provisional: tuple[Row, ...] = ()

    def parts(self) -> list[list[dict[str, Any]]]:
        """Returns the lines in output order (theory 3.3): Adds, tuples, punctuations, Alters, Drops."""
        adds, alters, drops = (
            [{"$accent": text} for text in texts]
            for texts in (self.markers.adds, self.markers.alters, self.markers.drops)
        )
        punctuations = [{"$punctuation": text} for text in self.markers.punctuations]
        return [adds, [dict(row) for row in self.tuples], punctuations, alters, drops]

    @property
    def marked(self) -> list[dict[str, Any]]:
        """Returns the provisional rows as lines."""
        return [{MARK: True, **row} for row in self.provisional]

    def items(self) -> list[dict[str, Any]]:
        return [*chain.from_iterable(self.parts())]
