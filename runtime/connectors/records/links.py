"""Links in the folders of a query, which lead nowhere else than its paths may (`options.permissions`), and what is
neither a file nor a folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from errno import ELOOP
from os import DirEntry, stat_result
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISREG, S_ISSOCK

from cedilla.grammar.diagnostics import DiagnosticError, failure

LOOP = "a link that leads in a circle"
_KINDS = (
    (S_ISFIFO, "a named pipe"),
    (S_ISSOCK, "a socket"),
    (S_ISCHR, "a device"),
    (S_ISBLK, "a device"),
)


def check_links(places: Iterable[Path], folder: Path, allowed: Iterable[Path]) -> None:
    """Raises `DiagnosticError` RQ484 for a link that leads out of the folder that is read, of the working directory and
    of all allowed folders, and for one that leads to a folder around it."""
    for path in places:
        if path.is_symlink():
            check_inside(path, folder, allowed)
            if path.parent.resolve().is_relative_to(path.resolve()):
                message = f"the link {path} leads to a folder that contains it"
                raise failure("RQ484", message, hint="remove the link: it would be read again and again")


def check_inside(path: Path, folder: Path, allowed: Iterable[Path]) -> None:
    """Raises `DiagnosticError` RQ484 for a file outside of all these folders. Links are followed."""
    target = path.resolve()
    if not any(target.is_relative_to(root.resolve()) for root in (folder, Path(), *allowed)):
        message = f"{folder} has a file that is at {target}, outside of the query's folder and the working directory"
        raise failure("RQ484", message, hint=f"`--allow-path {shlex.quote(str(target.parent))}` allows it")


def oddity(status: stat_result) -> str | None:
    """Returns what something is that is neither a file nor a folder."""
    if S_ISREG(status.st_mode) or S_ISDIR(status.st_mode):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "no file")


def is_loop(link: Path | DirEntry[str]) -> bool:
    """Returns True for a link that leads in a circle. Raises `FileNotFoundError` for one that leads nowhere."""
    try:
        link.stat()
    except OSError as problem:
        if problem.errno != ELOOP:
            raise
        return True
    return False


def not_a_file(path: str, what: str) -> DiagnosticError:
    """Returns RQ465: nothing can be read there."""
    hint = "remove it, or give it a name that begins with `_`; records are read from files, or from a topic"
    return failure("RQ465", f"{path} is {what}, and only files and folders are read", hint=hint)


def is_file(path: Path) -> bool:
    """Returns True for a file, False for a folder or a link to nothing. Raises `DiagnosticError` RQ465 for what is
    neither."""
    if path.is_file():
        return True
    try:
        what = LOOP if is_loop(path) else oddity(path.stat())
    except FileNotFoundError:
        return False
    if what is not None:
        raise not_a_file(str(path), what)
    return False
