"""The model of a run, read as often as its cost allows, and shared by all that ask for it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.tools.inspect.run_model import Model, RunModel, problems

_MIN_PAUSE, _SHARE = 1.0, 4
"""Seconds between two reads at least, and the multiple of its time that passes after a read."""
_UNCHANGED = 5.0
"""Seconds after which a checkpoint is read again although no file of it has changed."""
_WATCHED = ("commits", "journal.json", "error.json", "quarantine", "plan.json")


class Feed:
    """Reads one checkpoint. Safe to use from several threads; only one reads at a time."""

    def __init__(self, path: str) -> None:
        self.model = RunModel(path)
        self.has_ended = False
        """Set when the run is known to have ended, perhaps before its process is gone."""
        self._lock = threading.Lock()
        self._root = local_path(path)
        self._content: Model = {}
        self._next = 0.0
        self._read_at = 0.0
        self._stamp: object = None

    def get(self, *, fresh: bool = False) -> Model:
        """Returns the latest model; before the first commit of a new checkpoint, one with `problems`. `fresh`: reads it
        now, because the run has ended."""
        with self._lock:
            now = time.monotonic()
            if now < self._next and not fresh:
                return self._content
            stamp = self._state_of_files()
            if stamp == self._stamp and now - self._read_at < _UNCHANGED and not fresh:
                return self._content
            self._content, self._stamp = self._read(), stamp
            self._read_at = time.monotonic()
            self._next = self._read_at + max(_MIN_PAUSE, _SHARE * (self._read_at - now))
            return self._content

    def _read(self) -> Model:
        try:
            content = self.model.read()
            if self.has_ended and content["run"]["state"] == "running":
                content["run"]["state"] = "died"
            return content
        except DiagnosticError as error:  # a run that starts, or a checkpoint that is damaged or gone
            return {
                "version": 1,
                "time": time.time(),
                "path": self.model.path,
                "problems": list(problems(error)),
            }

    def _state_of_files(self) -> object:
        if self._root is None:
            return None
        paths = (Path(self._root, name) for name in _WATCHED)
        return [path.stat().st_mtime_ns if path.exists() else None for path in paths]
