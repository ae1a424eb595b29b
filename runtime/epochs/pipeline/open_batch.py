"""A micro-batch that takes in what comes while it runs, so that its epochs overlap with those of the next records."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field

from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.topics.query_topics import Topics
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Progress

More = Callable[[], Mapping[str, Sequence[InputFile]]]
"""The files of streams that have come since a batch was made, or since it was asked last; it does not wait for any."""
_SECONDS = 10.0
"""The seconds while files are added to a batch. Tables are looked at between batches, and the list of files is written
each time."""


@define(eq=False)
class OpenBatch:
    """The files of a batch in stream order, by source; `more` gives those that are added. A crash finds all of them
    in the checkpoint, and the commits in it say how many are done."""

    number: int
    files: dict[str, list[InputFile]]
    checkpoint: Checkpoint
    topics: Topics
    more: More
    _done: Mapping[str, Progress]
    """The positions that are committed."""
    _end: float = field(init=False, factory=lambda: time.monotonic() + _SECONDS)
    _forgotten: dict[str, int] = field(init=False)
    """The number of deleted files of each source."""

    def __attrs_post_init__(self) -> None:
        self._forgotten = {name: done.files for name, done in self._done.items()}

    def grow(self) -> None:
        """Add what has come, if the batch is not to end first."""
        if time.monotonic() > self._end or not any((new := self.more()).values()):
            return
        for name, files in new.items():
            self.files.setdefault(name, []).extend(files)
        self.checkpoint.keep_order(self.number, self.files)

    def done(self, progress: Mapping[str, Progress]) -> None:
        """Records that files are read and committed up to `progress`. Deletes the files of records up to the progress
        before: the running epoch may read files of the last one again, if its memory is lost."""
        if progress != self._done:
            self.forget()
            self._done = progress

    def forget(self) -> None:
        """Delete the files of records whose epochs are committed."""
        for name, done in self._done.items():
            before, self._forgotten[name] = self._forgotten.get(name, 0), done.files
            self.topics.forget(file.path for file in self.files[name][before : done.files])
