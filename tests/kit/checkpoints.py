"""Checkpoints as tests write and change them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cedilla.compiler import Plan
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlans


def write_checkpoint(folder: Path, plan: Plan, *commits: Commit) -> Path:
    """Writes the checkpoint of a plan with some commits. Returns its folder."""
    write_document(folder, "plan.json", StoredPlans.start(plan).dump())
    for commit in commits:
        write_document(folder, f"commits/{commit.epoch:012d}.json", dump_commit(commit))
    return folder


def write_document(folder: Path, name: str, content: dict[str, Any]) -> None:
    """Writes a document of a checkpoint, with its seal."""
    SealedFiles(Files(), str(folder)).write(name, json.dumps(content))


def unsealed(text: str) -> dict[str, Any]:
    """Returns the content of a document without its seal."""
    content: dict[str, Any] = json.loads(text)
    del content["$sealed"]
    return content
