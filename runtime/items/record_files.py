"""Files of records of a topic: lines of JSON that stand in the checkpoint until their epoch is committed.

The name of a file tells which records it holds. Where offsets are missing between them, as those of transactions are, a
hidden file beside it has the offset of each line.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attrs import frozen

_NAME = re.compile(
    r".*/topic=(?P<topic>[^/]+)/partition=(?P<partition>\d+)/(?P<begin>\d+)-(?P<end>\d+)\.jsonl"
)


@frozen
class RecordFile:
    """The records of a partition between two offsets, the second excluded."""

    topic: str
    partition: int
    begin: int
    end: int

    def path(self, folder: str) -> str:
        """Its file in the folder of a source."""
        return f"{self._home(folder)}/{self._name}.jsonl"

    def offsets_path(self, folder: str) -> str:
        """The file with the offset of each line, if there has to be one."""
        return f"{self._home(folder)}/_{self._name}.npy"

    @property
    def place(self) -> str:
        """The partition, as people are told of it."""
        return f"{self.topic}/{self.partition}"

    def _home(self, folder: str) -> str:
        return f"{folder}/topic={self.topic}/partition={self.partition:06d}"

    @property
    def _name(self) -> str:
        return f"{self.begin:020d}-{self.end:020d}"


@lru_cache(4096)
def record_file(path: str) -> RecordFile | None:
    """The records that a path is of; `None` where it is of any other file."""
    if (found := _NAME.fullmatch(path)) is None:
        return None
    return RecordFile(found["topic"], int(found["partition"]), int(found["begin"]), int(found["end"]))


def folder_of(path: str) -> str:
    """The folder of a source from the path of one of its files of records."""
    return path.rpartition("/topic=")[0]
