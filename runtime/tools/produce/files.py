"""Writes checked lines to the end of a file, or to new files of a folder. One sender at a time owns either."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from errno import ENOSPC
from pathlib import Path

from cedilla.grammar.diagnostics import DiagnosticError, failure


class Target(ABC):
    """A target for lines."""

    @abstractmethod
    def write(self, text: str) -> None:
        """Takes a line with its end."""

    @abstractmethod
    def flush(self) -> None:
        """Makes all lines visible to readers."""

    @abstractmethod
    def close(self) -> None:
        """Flushes, and releases the target for other senders."""

    @abstractmethod
    def abandon(self) -> None:
        """Releases the target for other senders."""


class Appended(Target):
    """The end of a file. A line is one system write, so that readers and other senders never see half of one.

    Raises `DiagnosticError`: RQ437 if another sender has the file, RQ431 if it cannot be written.
    """

    def __init__(self, file: Path) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as problem:
            raise _refused(file, problem) from None
        self._path = file
        _lock(self._file, file)
        size = os.fstat(self._file).st_size
        # The last line may lack an end. A truncated line is rejected when the file is read.
        self._before = "" if size == 0 or os.pread(self._file, 1, size - 1) == b"\n" else "\n"

    def write(self, text: str) -> None:
        data = (self._before + text).encode()
        size = os.fstat(self._file).st_size
        try:
            count = os.write(self._file, data)
        except OSError as problem:
            raise _refused(self._path, problem) from None
        if count != len(data):  # the disk is full
            os.ftruncate(self._file, size)
            raise _refused(self._path, OSError(ENOSPC, os.strerror(ENOSPC)))
        self._before = ""

    def flush(self) -> None:
        os.fsync(self._file)

    def close(self) -> None:
        if self._file >= 0:
            self.flush()
            self.abandon()

    def abandon(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


class Published(Target):
    """New files of a folder: each is written under another name and renamed, because a run reads a file once.

    Raises as `Appended` does.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder, os.O_RDONLY)
        except OSError as problem:
            raise _refused(folder, problem) from None
        _lock(self._lock, folder)
        self._folder = folder
        self.be_of("jsonl", lambda lines: "".join(lines).encode())
        self._lines: list[str] = []

    def be_of(self, suffix: str, content: Callable[[Sequence[str]], bytes]) -> None:
        """Gives new files another format: `content` makes the bytes of lines."""
        self._suffix, self._content = suffix, content

    def write(self, text: str) -> None:
        self._lines.append(text)

    def flush(self) -> None:
        if not self._lines:
            return
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z.{self._suffix}"
        aside = self._folder / f"_{name}"
        try:
            aside.write_bytes(self._content(self._lines))
            aside.rename(self._folder / name)
        except OSError as problem:
            raise _refused(self._folder, problem) from None
        self._lines.clear()

    def close(self) -> None:
        if self._lock >= 0:
            self.flush()
            self.abandon()

    def abandon(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1


def _lock(opened: int, path: Path) -> None:
    """Locks a file or folder for this sender, if the system can."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        message = f"another sender writes to {path}"
        hint = "one sender a file: `close()` there, or a file or a folder for each"
        raise failure("RQ437", message, hint=hint) from None


def _refused(path: Path, problem: OSError) -> DiagnosticError:
    reason = (problem.strerror or str(problem)).lower()
    return failure("RQ431", f"{path} cannot be written: {reason}", hint="rights and space")
