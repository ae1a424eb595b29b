"""Runs the commands of `--on EVENT COMMAND`, with the message as JSON on their standard input."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Full, Queue
from typing import Any

from attrs import define, field

EVENTS = ("warning", "stop")
"""A warning of a run, and the end of a run by an error."""
_SECONDS = 60
"""The most seconds that a command takes, and that the end of a run waits for all of them."""
_MAX_WAITING = 1_000
"""The most messages that wait for a command."""

Message = Mapping[str, Any]


@define(eq=False)
class Hooks:
    """Commands by event. They run one after another in a thread, so no epoch waits for them.

    `failed`: gets a text about each command that fails.
    """

    commands: Sequence[tuple[str, str]] = ()
    failed: Callable[[str], None] = lambda text: None
    _waiting: Queue[tuple[str, Message] | None] = field(init=False, factory=lambda: Queue(_MAX_WAITING))
    _thread: threading.Thread | None = field(init=False, default=None)

    def fire(self, event: str, message: Message) -> None:
        """Hands a message to the commands of an event; returns at once."""
        for command in [hook for name, hook in self.commands if name == event]:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            try:
                self._waiting.put_nowait((command, message))
            except Full:
                self.failed(f"`{command}` is too slow: {_MAX_WAITING:,} messages wait, and one more is lost")

    def drain(self) -> None:
        """Waits until all commands have run, for a limited time."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(_SECONDS)
            self._thread = None

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            command, message = item
            self._call(command, json.dumps(message) + "\n")

    def _call(self, command: str, text: str) -> None:
        import subprocess

        try:
            done = subprocess.run(
                command, check=False, shell=True, input=text, capture_output=True, text=True, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            self.failed(f"`{command}` failed: {problem}")
            return
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            self.failed(f"`{command}` failed with exit status {done.returncode}{f': {last}' if last else ''}")
