"""A marker as read from a source; without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from cedilla.compiler.expressions.types import Type

Types = Mapping[str, Type]

NEXT_FILE = 1 << 47
"""The first position of a slice's second file."""

STRAY = (
    "a line of a marker folder is not a marker",
    'it holds lines {"$accent": "..."} and {"$punctuation": "..."}; tuples belong into the folder of the stream',
)
"""Message and hint for such a line (RQ224)."""


@frozen
class MarkerLine:
    """A marker as read from a source, with its position in the slice.

    `kind`: accent, punctuation, or one of these:

    - malformed: a text that looks like a marker and cannot be read. `problem` may give the message and the hint, `code`
      the code.
    - suspicious_key: a line whose key is similar to a marker's. It is malformed too, unless an attribute has that name.
    - columns: the first line of a CSV file, which ends the query if it names no attribute.

    `translate`: converts it to the wire format, over the attributes that exist at its position; `None` if `text` is in
    that format. `partition`: the partition of the topic to which it applies. `next`: the position of the following
    line, if known. `in_data`: it is among the tuples of a stream that takes markers from a folder only. `begin`: it
    holds from this position, that of the first marker before it without a tuple in between; `None`: its own.
    """

    kind: str
    text: str
    position: int
    translate: Callable[[Types], str] | None = field(default=None, eq=False)
    problem: tuple[str, str] | None = None
    code: str = "RQ212"
    partition: int | None = None
    next: int | None = field(default=None, eq=False)
    in_data: bool = field(default=False, eq=False)
    begin: int | None = field(default=None, eq=False)

    @property
    def is_meant(self) -> bool:
        """True for a marker, valid or not; False for an error in a file that takes the place of one."""
        return self.kind != "columns" and self.code == "RQ212"

    @property
    def file(self) -> int:
        """The index of its file in the slice."""
        return file_of(self.position)

    def wire(self, types: Types) -> str:
        """Returns the marker in the wire format (design, section 6)."""
        return self.text if self.translate is None else self.translate(types)


def file_of(position: int) -> int:
    """Returns the index in the slice of the file that contains a position."""
    return position // NEXT_FILE
