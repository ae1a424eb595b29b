"""The process that says the last words of a run whose own process is gone. `last_words` starts it, by its path.

It imports nothing but the standard library, to start fast and to need little memory.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

_NO_MEMORY = re.compile(
    rb"memory allocation of \d+ bytes failed|std::bad_alloc|out of memory|Cannot allocate memory|os error 1[12]\b"
    rb"|pthread_create failed|Thread creation failed",
    re.IGNORECASE,
)
_HEAD = re.compile(rb"thread '.*' \(?\d*\)? ?panicked at |terminate called after throwing")
"""A line whose reason is in the next one."""
_TRACE = re.compile(rb"stack backtrace:|note: |skipping backtrace|\s+\d+: |\s+at |fatal runtime error|\s*$")
"""Lines that may follow a reason."""
_STDERR = 2
PLACE = 10**18 + 7
"""The number in texts that the number of the last committed epoch replaces."""


class Words:
    """The last words of a run, from the lines of a pipe in JSON."""

    def __init__(self) -> None:
        self._rest = b""
        self._texts: list[str] | None = None
        self._epoch: int | None = None

    def take(self, block: bytes) -> None:
        """Takes a block of lines: four texts, the first two for no epoch, then numbers; null takes all back."""
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            match json.loads(line):
                case int(number):
                    self._epoch = number
                case texts:
                    self._texts = texts

    def text(self, *, no_memory: bool) -> str | None:
        """Returns the words to print; `None` for nothing. A line of a log has the present time."""
        if not self._texts:
            return None
        before, after = self._texts[:2], self._texts[2:]
        text = (before if self._epoch is None else after)[0 if no_memory else 1]
        if text.startswith("{"):
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            text = json.dumps({**json.loads(text), "time": now})
        return text.replace(str(PLACE), str(self._epoch))


class Filter:
    """Leaves out messages about a lack of memory, and their traces. `has_seen`: there was one."""

    def __init__(self) -> None:
        self.has_seen = False
        self._rest = self._head = b""
        self._is_trace = False

    def lines(self, block: bytes) -> Iterator[bytes]:
        """Yields the other lines of a block of messages."""
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            yield from self._line(line + b"\n")

    def end(self) -> Iterator[bytes]:
        """Yields what is left at the end."""
        yield from self._line(self._rest)
        yield self._head

    def _line(self, line: bytes) -> Iterator[bytes]:
        head, self._head = self._head, b""
        if _NO_MEMORY.search(line):
            self.has_seen = self._is_trace = True
        elif _HEAD.match(line):
            yield head
            self._head, self._is_trace = line, False
        elif not (self._is_trace and _TRACE.match(line)):
            self._is_trace = False
            yield head + line


def main(messages: int, words: int) -> None:
    """Forwards messages until the run has gone, and then says its last words, unless it has taken them back.

    `messages`, `words`: pipes, the second with the lines of `Words`.
    """
    filter_, last, waiting = Filter(), Words(), [messages, words]
    while words in waiting:
        for pipe in select.select(waiting, [], [])[0]:
            block = os.read(pipe, 1 << 16)
            if not block:
                waiting.remove(pipe)
            elif pipe == messages:
                _write(filter_.lines(block))
            else:
                last.take(block)
    os.set_blocking(messages, False)
    while messages in waiting and (block := _left(messages)):
        _write(filter_.lines(block))
    _write(filter_.end())
    if (text := last.text(no_memory=filter_.has_seen)) is not None:
        os.write(_STDERR, f"{text}\n".encode())


def _left(pipe: int) -> bytes:
    """Returns what a pipe holds; nothing if another process keeps it open without writing."""
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return b""


def _write(lines: Iterator[bytes]) -> None:
    for line in lines:
        os.write(_STDERR, line)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
