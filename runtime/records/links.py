"""Links in the folders of a query: they lead nowhere else than its paths may (`terminal.permissions`)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from cedilla.grammar.diagnostics import failure


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
