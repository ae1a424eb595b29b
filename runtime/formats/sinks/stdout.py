"""Standard output as a sink: `run --sink NAME=-` prints an epoch once it is committed."""

from __future__ import annotations

import sys

from cedilla.runtime.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.storage.files import Files


class StdoutSink(JsonLinesSink):
    """Epochs are staged in a folder beside the checkpoint's own, as any sink stages them, and printed when they are
    committed. One that is printed while the run is killed is printed again by the next."""

    def __init__(self, files: Files, path: str, relation: str, label: str) -> None:
        super().__init__(files, path, relation)
        self._label = label

    def publish(self, number: int) -> None:
        """Print a committed epoch, and forget it."""
        staged = self._staged(number)
        for file in self._files.list(staged):
            for line in self._files.read(file.path).split("\n"):
                if line:
                    sys.stdout.write(f"{self._label}{line}\n")
        sys.stdout.flush()
        self._files.delete(staged)
