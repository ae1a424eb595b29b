"""Signals end a run of the command line: the first one at the end of an epoch, a second one at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define


@define
class Stopping:
    """The state of a run that signals end. `number`: the first signal; `before_exit`: is called before an end at
    once."""

    number: int = signal.SIGINT
    before_exit: Callable[[], None] = lambda: None
    _is_asked: bool = False

    @property
    def status(self) -> int:
        """The exit status, in the convention of shells."""
        return 128 + self.number

    def wished(self) -> None:
        """Reports that the run will end."""
        self._is_asked = True
        _say("stopping at the end of the epoch; a second signal ends the run at once")

    def ordered(self) -> None:
        """Ends the process. The next run continues as after SIGKILL."""
        _say("stopped at once; the next run continues after the last committed epoch")
        self.before_exit()
        os._exit(self.status)

    @contextmanager
    def terminable(self) -> Iterator[None]:
        """Treats SIGTERM as Ctrl-C, within the context."""

        def terminate(number: int, frame: object) -> None:
            if not self._is_asked:
                self.number = number
            signal.raise_signal(signal.SIGINT)

        with handled(signal.SIGTERM, terminate):
            yield


@contextmanager
def handled(number: int, handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Handles a signal within the context. Only the main thread can; another one changes nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _say(text: str) -> None:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2, f"{text}\n".encode())
