"""A checkpoint in a local folder, read without Spark."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from cedilla.compiler.plan import Emit, Plan
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.checkpoint.change import Changes
from cedilla.runtime.checkpoint.commit_json import load_commit
from cedilla.runtime.checkpoint.commit_log import last_record
from cedilla.runtime.checkpoint.commits import Commit
from cedilla.runtime.checkpoint.integrity import is_new
from cedilla.runtime.checkpoint.plan_comparison import compare
from cedilla.runtime.checkpoint.stored_plan import PLAN, StoredPlan, StoredPlans, reading
from cedilla.runtime.checkpoint.tree_files import StoredTrees
from cedilla.runtime.records.lines import local_path
from cedilla.runtime.storage.files import Files
from cedilla.runtime.storage.sealed import SealedFiles


@frozen
class CheckpointFolder:
    """The last commit of a checkpoint, `None` before the first, and the plan that made it."""

    root: Path
    stored: StoredPlan
    commit: Commit | None


def read_checkpoint(path: str, command: str) -> CheckpointFolder:
    """A checkpoint in a local folder; `command` is named where it is not local.

    Raises `DiagnosticError`: RQ411 where there is no checkpoint or it cannot be read, RQ412 where the path is
    not local, RQ451 or RQ478 where something of it is gone or damaged.
    """
    root = local_path(path)
    if root is None:
        hint = f"`{command}` reads local folders only; copy it first"
        raise failure("RQ412", f"{path} is not a local path", hint=hint)
    with reading(path):
        if is_new(SealedFiles(Files(), str(root))):
            raise no_checkpoint(path)
        return _read(root)


def no_checkpoint(path: str) -> DiagnosticError:
    """RQ411: nothing has run in a folder."""
    hint = "the folder that `cedilla run` was given by --checkpoint; otherwise .cedilla/NAME"
    return failure("RQ411", f"{path} holds no checkpoint", hint=hint)


def _read(root: Path) -> CheckpointFolder:
    documents = SealedFiles(Files(), str(root))
    plans = StoredPlans.load(documents.read(PLAN))
    record = last_record(documents)
    commit = None if record.data is None else load_commit(record.data, StoredTrees(documents), str(root))
    return CheckpointFolder(root, plans.in_force(record.epoch), commit)


def changes_of(path: str, plan: Plan) -> Changes:
    """Returns the effects of an edited plan on a checkpoint in a local folder. Raises as `read_checkpoint` does."""
    folder = read_checkpoint(path, "plan")
    return compare(folder.stored, folder.commit or Commit(), plan, _is_fresh)


def _is_fresh(emit: Emit) -> bool:
    """Returns True if an output's folder has no epochs, as far as this machine can see."""
    folder = local_path(emit.path)
    return folder is None or not any(folder.glob("epoch=*"))
