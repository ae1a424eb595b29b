"""A checkpoint in a local folder, read without Spark."""

from __future__ import annotations

import json
from pathlib import Path

from attrs import frozen

from cedilla.compiler.plan import Emit, Plan
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.checkpoint.change import Changes
from cedilla.runtime.checkpoint.checkpoint import load_commit
from cedilla.runtime.checkpoint.commits import Commit
from cedilla.runtime.checkpoint.plan_comparison import compare
from cedilla.runtime.checkpoint.stored_plan import StoredPlan, StoredPlans, reading
from cedilla.runtime.checkpoint.tree_files import StoredTrees
from cedilla.runtime.items.lines import local_path


@frozen
class CheckpointFolder:
    """The last commit of a checkpoint, `None` before the first, and the plan that made it."""

    root: Path
    stored: StoredPlan
    commit: Commit | None


def read_checkpoint(path: str, command: str) -> CheckpointFolder:
    """A checkpoint in a local folder; `command` is named where it is not local.

    Raises `DiagnosticError`: RQ411 where there is no checkpoint or it cannot be read, RQ412 where the path is
    not local.
    """
    root = local_path(path)
    if root is None:
        hint = f"`{command}` reads local folders only; copy it first"
        raise failure("RQ412", f"{path} is not a local path", hint=hint)
    try:
        with reading(path):
            return _read(root)
    except OSError:
        raise failure(
            "RQ411",
            f"{path} holds no checkpoint",
            hint="the folder that `cedilla run` was given by --checkpoint; otherwise .cedilla/NAME",
        ) from None


def _read(root: Path) -> CheckpointFolder:
    plans = StoredPlans.load(json.loads((root / "plan.json").read_text("utf-8")))
    records = sorted(p for p in (root / "commits").glob("*.json") if not p.name.startswith((".", "_")))
    trees = StoredTrees(lambda name: (root / "trees" / name).read_text("utf-8"))
    commit = load_commit(json.loads(records[-1].read_text("utf-8")), trees, str(root)) if records else None
    return CheckpointFolder(root, plans.in_force(-1 if commit is None else commit.epoch), commit)


def changes_of(path: str, plan: Plan) -> Changes:
    """What an edited plan does to a checkpoint in a local folder. Raises as `read_checkpoint` does."""
    folder = read_checkpoint(path, "plan")
    return compare(folder.stored, folder.commit or Commit(), plan, _is_fresh)


def _is_fresh(emit: Emit) -> bool:
    """Whether an output's folder has no epochs, as far as this machine can tell."""
    folder = local_path(emit.path)
    return folder is None or not any(folder.glob("epoch=*"))
