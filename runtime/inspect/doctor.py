"""`cedilla doctor`: whether a checkpoint is whole, without Spark."""

from __future__ import annotations

from typing import Any

from cedilla.grammar.diagnostics import to_json
from cedilla.runtime.checkpoint.checkpoint_folder import no_checkpoint
from cedilla.runtime.checkpoint.commit_log import FOLDER as COMMITS
from cedilla.runtime.checkpoint.integrity import Integrity, inspect
from cedilla.runtime.checkpoint.stored_plan import PLAN
from cedilla.runtime.storage.files import Files
from cedilla.runtime.storage.sealed import SealedFiles


def examine(path: str) -> Integrity:
    """Checks a checkpoint, in a local folder or in a store.

    Raises `DiagnosticError`: RQ411 without a checkpoint, RQ430 or RQ431 if it cannot be reached.
    """
    documents = SealedFiles(Files(), path.rstrip("/"))
    if not any(documents.files.exists(f"{documents.root}/{name}") for name in (PLAN, COMMITS)):
        raise no_checkpoint(path)
    return inspect(documents)


def integrity_text(path: str, integrity: Integrity) -> str:
    """Writes the results, a line each; problems are diagnostics."""
    looked = ", ".join(f"{kind} {count}" for kind, count in integrity.checked.items())
    if integrity.problems:
        lines = [f"{path} is not whole: a run does not continue from it"]
    else:
        start = "before the first epoch" if integrity.last == -1 else f"after epoch {integrity.last}"
        lines = [f"{path} is whole: the next run continues {start} (checked: {looked})"]
    if integrity.torn is not None and not integrity.problems:
        lines.append(f"torn: {integrity.torn}; its epoch is done again, unless an output has it already")
    lines += [
        f"no record names {unnamed_path}; the next run deletes it" for unnamed_path in integrity.unnamed
    ]
    return "\n".join(lines)


def integrity_json(integrity: Integrity) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "whole": not integrity.problems,
        "epoch": integrity.last,
        "torn": integrity.torn,
        "problems": [to_json(problem) for problem in integrity.problems],
        "unnamed": list(integrity.unnamed),
        "checked": integrity.checked,
    }
