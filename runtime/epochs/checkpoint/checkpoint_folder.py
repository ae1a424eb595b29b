"""A checkpoint in a local folder or in a store, read without Spark."""

from __future__ import annotations

from attrs import frozen

from cedilla.compiler.compile import query_name
from cedilla.compiler.plan import Emit, Plan
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.commit_json import load_commit
from cedilla.runtime.epochs.checkpoint.commit_log import last_record
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from cedilla.runtime.epochs.checkpoint.edits.plan_comparison import compare
from cedilla.runtime.epochs.checkpoint.integrity import is_new
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolders
from cedilla.runtime.epochs.checkpoint.stored_plan import PLAN, StoredPlan, StoredPlans, reading
from cedilla.runtime.epochs.checkpoint.tree_files import StoredTrees


@frozen
class CheckpointFolder:
    """The last commit of a checkpoint, `None` before the first, and the plan that made it."""

    root: str
    stored: StoredPlan
    commit: Commit | None

    def path_of_run(self, path: str) -> str:
        """Returns a path of the query as the run has it, which may have run in another folder."""
        return KnownFolders.stored(Files(), self.root).path_of_run(self.stored.plan, path)


def read_checkpoint(path: str) -> CheckpointFolder:
    """Returns a checkpoint as its last commit has left it.

    Raises `DiagnosticError`: RQ411 if the checkpoint does not exist or cannot be read, RQ430 or RQ431 if its store
    cannot be reached, RQ451 or RQ478 if a part of it is gone or damaged.
    """
    local = local_path(path)
    documents = SealedFiles(Files(), path.rstrip("/") if local is None else str(local))
    with reading(path):
        if is_new(documents):
            raise no_checkpoint(path)
        return _read(documents)


def no_checkpoint(path: str) -> DiagnosticError:
    """RQ411: nothing has run in a folder."""
    hint = "the folder that `cedilla run` was given by --checkpoint; otherwise .cedilla/NAME"
    if path.endswith(".rq"):
        hint = f".cedilla/{query_name(path)}, unless `cedilla run` was given another by --checkpoint"
    return failure("RQ411", f"{path} holds no checkpoint", hint=hint)


def _read(documents: SealedFiles) -> CheckpointFolder:
    root = documents.root
    plans = StoredPlans.load(documents.read(PLAN))
    record = last_record(documents)
    commit = None if record.data is None else load_commit(record.data, StoredTrees(documents), root)
    return CheckpointFolder(root, plans.in_force(record.epoch), commit)


def changes_of(path: str, plan: Plan) -> Changes:
    """Returns the effects of an edited plan on a checkpoint. Raises as `read_checkpoint` does."""
    folder = read_checkpoint(path)
    return compare(folder.stored, folder.commit or Commit(), plan, _is_fresh)


def _is_fresh(emit: Emit) -> bool:
    """Returns True if an output's folder has no epochs, as far as this machine can see."""
    folder = local_path(emit.path)
    return folder is None or not any(folder.glob("epoch=*"))
