"""The last words of a run on an engine inside its own process, which a lack of memory ends without an exception.

A process of its own says them. It also has what native code writes to standard error, and leaves out traces of panics.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from attrs import define, field

from cedilla.runtime.engines.spark.last_words_process import PLACE

_PROGRAM = Path(__file__).with_name("last_words_process.py")
_STDERR = 2


@define(eq=False)
class LastWords:
    """Prints last words if this process ends at once.

    `of_epoch`: returns two texts for the last committed epoch, one after a lack of memory and one after any other end.
    It is called at the start only: without an epoch, and with a number that the other process replaces by the real one.
    """

    of_epoch: Callable[[int | None], Sequence[str]]
    _words: int | None = field(init=False, default=None)
    _real: int | None = field(init=False, default=None)
    _streams: tuple[TextIO | None, TextIO | None] = field(init=False, default=(None, None))

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Prints the words if the process ends inside of the context. Python's own messages stay unchanged."""
        if _is_own(sys.stderr) and _is_own(sys.__stderr__):
            self._begin()
        try:
            yield
        finally:
            self.take_back()

    def epoch(self, number: int) -> None:
        """Sets the last committed epoch."""
        self._say(number)

    def take_back(self) -> None:
        """Takes the words back, before an end that says its own. The process then writes to standard error itself."""
        if self._words is not None and self._real is not None:
            self._say(None)
            os.close(self._words)
            os.dup2(self._real, _STDERR)
            os.close(self._real)
            self._words = self._real = None
            sys.stderr, sys.__stderr__ = self._streams  # type: ignore[misc]

    def _begin(self) -> None:
        (messages, writing), (words, own) = os.pipe(), os.pipe()
        try:
            subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM), str(messages), str(words)],
                pass_fds=(messages, words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:  # a run is worth more than its last words
            for pipe in (messages, writing, words, own):
                os.close(pipe)
            return
        self._words, self._real = own, os.dup(_STDERR)
        os.dup2(writing, _STDERR)
        for pipe in (messages, writing, words):
            os.close(pipe)
        self._streams = sys.stderr, sys.__stderr__
        sys.stderr = sys.__stderr__ = _stream_to(self._real, sys.stderr)  # type: ignore[misc]
        self._say([*self.of_epoch(None), *self.of_epoch(PLACE)])

    def _say(self, content: Sequence[str] | int | None) -> None:
        if self._words is not None:
            os.write(self._words, f"{json.dumps(content)}\n".encode())


def _is_own(stream: TextIO | None) -> bool:
    """Returns True if a stream is the standard error of this process, not one that a caller has put in its place."""
    try:
        return stream is not None and stream.fileno() == _STDERR
    except (OSError, ValueError):
        return False


def _stream_to(handle: int, like: TextIO) -> TextIO:
    like.flush()
    return open(  # it has the life of the process
        handle, "w", buffering=1, encoding=like.encoding, errors=like.errors, closefd=False
    )
