"""Standard output as a sink: `run --sink NAME=-` prints an epoch after its commit."""

from __future__ import annotations

import sys
from typing import ClassVar

from cedilla.grammar.diagnostics.printable import json_printable
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.storage.files import Files


class StdoutSink(JsonLinesSink):
    """Stages epochs in a folder next to the checkpoint's own, like other sinks, and prints them after their commit. If
    the run is killed while it prints an epoch, the next run prints it again."""

    hides_provisional: ClassVar[bool] = False

    def __init__(self, files: Files, path: str, relation: str, label: str) -> None:
        super().__init__(files, path, relation)
        self._label = label

    def publish(self, number: int, run: int) -> None:
        """Prints a committed epoch and deletes it."""
        staged = self.staged_files(number, run)
        for file in staged.values():
            for line in self._files.read(file.path).split("\n"):
                if line:
                    sys.stdout.write(f"{self._label}{json_printable(line)}\n")
        sys.stdout.flush()
        self.forget(number, run, staged)
