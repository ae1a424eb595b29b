"""A marker as a source reads it; no Spark is needed to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from cedilla.compiler.expressions.types import Type

Types = Mapping[str, Type]

NEXT_FILE = 1 << 47
"""The first place of a slice's second file."""

STRAY = (
    "a line of a marker folder is no marker",
    'it holds lines {"$accent": "..."} and {"$punctuation": "..."}; tuples belong into the folder of the stream',
)
"""What is wrong with it, and what mends it (RQ224)."""


@frozen
class MarkerLine:
    """A marker as it was read, with its place in the slice.

    `kind`: accent, punctuation, or spoilt: text that was meant as a marker but cannot be read, where `problem`
    may say what is wrong and what mends it, and `code` what kind of complaint that is; or near: a line whose key is
    nearly a marker's, spoilt too, unless an attribute has that name; or columns: the first line of a file of CSV, which
    ends the query where it names no attribute. `translate`: the text in
    the wire format, over the attributes that exist where the marker stands; `None` where `text` is that. `partition`:
    that of the topic, for whose tuples alone it holds. `next`: the place of the line behind it, where that is known.
    """

    kind: str
    text: str
    position: int
    translate: Callable[[Types], str] | None = field(default=None, eq=False)
    problem: tuple[str, str] | None = None
    code: str = "RQ212"
    partition: int | None = None
    next: int | None = field(default=None, eq=False)

    @property
    def file(self) -> int:
        """The index of its file in the slice."""
        return file_of(self.position)

    def wire(self, types: Types) -> str:
        """The marker in the wire format (design, section 6)."""
        return self.text if self.translate is None else self.translate(types)


def file_of(position: int) -> int:
    """The index in the slice of the file that a place lies in."""
    return position // NEXT_FILE
