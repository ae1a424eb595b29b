"""Errors of the operating system as diagnostics: what was refused, where, and what helps for its number."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.lines import local_path

_LESS = (
    "smaller epochs need less: `--files-per-epoch N`, `--records-per-epoch N` for topics; "
    "a limit of the process is in `ulimit -v`"
)
_HELP = {
    errno.EMFILE: "`ulimit -n` is the number of open files that a process may have: `ulimit -n 65536` raises it",
    errno.ENFILE: "the machine has no more open files to give: `sysctl fs.file-max` raises their number",
    errno.EDQUOT: "the quota of this user on that disk: `quota` shows it",
    errno.EFBIG: "a longer file than `ulimit -f`, or than that disk takes",
    errno.EROFS: "the disk is mounted for reading only: another folder, or mount it for writing",
    errno.EACCES: "the rights of this user there: `ls -ld` shows them",
    errno.EPERM: "the rights of this user there: `ls -ld` shows them",
    errno.EIO: "the disk does not read or write: `dmesg` has the fault; then `cedilla doctor CHECKPOINT`",
    errno.ESTALE: "the disk of another machine has gone away: mount it again",
    errno.ENAMETOOLONG: "a shorter name, or a folder higher up",
    errno.ELOOP: "links there lead in a circle",
    errno.ENOTDIR: "a file is in the place of a folder",
    errno.EISDIR: "a folder is in the place of a file",
    errno.ENOENT: "the file in its place again: the run continues there; an empty one if it is lost",
    errno.ENOMEM: _LESS,
    errno.EAGAIN: "the threads and processes of this user: `ulimit -u` shows how many there may be",
}


def help_of(number: int | None, path: str | None = None) -> str:
    """Returns what helps against an error of the operating system at a path."""
    if number == errno.ENOSPC and path is not None and (local := local_path(path)) is not None:
        return _space(local)
    return _HELP.get(number or 0, "the rights and the space there")


def full_disk(places: Sequence[str]) -> str:
    """Returns the one of some local folders on whose disk the least is free."""
    local = {path: local_folder for path in places if (local_folder := local_path(path)) is not None}
    return min(local, key=lambda path: _free(local[path]), default=places[0])


def _free(path: Path) -> int:
    return shutil.disk_usage(_existing(path)).free


def _space(path: Path) -> str:
    folder = _existing(path)
    usage, disk = shutil.disk_usage(folder), os.statvfs(folder)
    if disk.f_files and not disk.f_favail:
        return f"the disk at {_mount(folder)} has space, and no number for one more file (`df -i`)"
    free, total = (f"{size / (1 << 20):,.1f} MiB" for size in (usage.free, usage.total))
    return f"space on the disk at {_mount(folder)}: {free} of {total} are free"


def _existing(path: Path) -> Path:
    """Returns the path, or the nearest folder above it that exists."""
    path = path.absolute()
    return next((folder for folder in (path, *path.parents) if folder.exists()), Path("/"))


def _mount(path: Path) -> Path:
    """Returns the folder at which the disk of a path is mounted."""
    return next((folder for folder in (path, *path.parents) if folder.is_mount()), path)


def refused(problem: OSError, path: str | None = None) -> DiagnosticError:
    """Returns the diagnostic for an error of the operating system: RQ431 at a path, RQ323 where it has none. `path`: of
    the file, if the error does not name it."""
    named = path or (os.fsdecode(problem.filename) if isinstance(problem.filename, str | bytes) else None)
    words = problem.strerror or str(problem) or type(problem).__name__
    if problem.errno == errno.ENOMEM:
        return no_memory(words)
    if named is None:
        return failure("RQ323", f"the operating system refuses: {words}", hint=help_of(problem.errno))
    return failure("RQ431", f"{named}: {words}", hint=help_of(problem.errno, named))


def no_memory(words: str) -> DiagnosticError:
    """Returns RQ322 for a lack of memory. `words`: those of what failed."""
    more = "".join(help_ for word, help_ in _MORE.items() if word in words)
    message = f"there is not enough memory: {words.strip() or 'an allocation failed'}"
    return failure(
        "RQ322", message, hint=f"committed epochs stay, and the next run continues after them; {_LESS}{more}"
    )


_MORE = {
    "java.": "; `--conf spark.driver.memory=4g` gives Java more",
    "thread": "; `ulimit -u` is the number of threads of this user",
    "Python worker": "; the system kills workers where the machine has no memory left",
}
"""Further help by words in a message."""
