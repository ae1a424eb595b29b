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


def integrity_text(path: str, found: Integrity) -> str:
    """Writes the results, a line each; problems are diagnostics."""
    looked = ", ".join(f"{kind} {count}" for kind, count in found.checked.items())
    if found.problems:
        lines = [f"{path} is not whole: a run does not continue from it"]
    else:
        start = "before the first epoch" if found.last == -1 else f"after epoch {found.last}"
        lines = [f"{path} is whole: the next run continues {start} (checked: {looked})"]
    if found.torn is not None and not found.problems:
        lines.append(f"torn: {found.torn}; its epoch is done again, unless an output has it already")
    lines += [f"no record names {unnamed_path}; the next run deletes it" for unnamed_path in found.unnamed]
    return "\n".join(lines)


def integrity_json(found: Integrity) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "whole": not found.problems,
        "epoch": found.last,
        "torn": found.torn,
        "problems": [to_json(problem) for problem in found.problems],
        "unnamed": list(found.unnamed),
        "checked": found.checked,
    }
