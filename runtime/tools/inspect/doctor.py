"""`cedilla doctor`: whether a checkpoint is whole, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from cedilla.grammar.diagnostics import DiagnosticError, to_json
from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.folder_tree import Listing
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.checkpoint_folder import no_checkpoint
from cedilla.runtime.epochs.checkpoint.commit_log import FOLDER as COMMITS
from cedilla.runtime.epochs.checkpoint.integrity import Integrity, inspect
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolder, KnownFolders
from cedilla.runtime.epochs.checkpoint.read_files import KnownFiles, ReadFile, read_files
from cedilla.runtime.epochs.checkpoint.recognition import Recognition
from cedilla.runtime.epochs.checkpoint.stored_plan import PLAN


def examine(path: str) -> Integrity:
    """Checks a checkpoint, in a local folder or in a store.

    Raises `DiagnosticError`: RQ411 without a checkpoint, RQ430 or RQ431 if it cannot be reached.
    """
    documents = SealedFiles(Files(), path.rstrip("/"))
    if not any(documents.files.exists(f"{documents.root}/{name}") for name in (PLAN, COMMITS)):
        raise no_checkpoint(path)
    integrity = inspect(documents, documents.files.checksum)
    return integrity if integrity.problems else evolve(integrity, inputs=tuple(_inputs(documents)))


def _inputs(documents: SealedFiles) -> Iterator[str]:
    """Yields what the next run will say of files that were read, and how many are gone; nothing of folders that cannot
    be seen from here."""
    files, root = documents.files, documents.root
    folders, read = KnownFolders.stored(files, root), read_files(files, root)
    for kind, what in ((folders.streams, "tuples"), (folders.markers, "markers")):
        for name, folder in kind.items():
            by_path = {file.path: file for file in read.get(name, ()) if folder.holds(file.path)}
            try:
                if by_path and files.exists(folder.at):
                    yield from _changes(files, folder, by_path, f"{what} of `{name}`")
            except DiagnosticError as problem:
                if problem.diagnostics[0].code not in _UNSEEN:
                    yield f"{problem.diagnostics[0].code}: {problem.diagnostics[0].message}"


_UNSEEN = ("RQ430", "RQ431")


def _changes(files: Files, folder: KnownFolder, by_path: Mapping[str, ReadFile], what: str) -> Iterator[str]:
    listed = files.tree(folder.at)
    recognition = Recognition(files, folder, Listing.of(listed), KnownFiles({**by_path}), what, {})
    recognition.look()
    yield from recognition.notes
    yield from (f"{warning.code}: {warning.message}" for warning in recognition.warnings)
    if gone := len(by_path.keys() - {folder.record(file.path) for file in listed} - recognition.moved_from):
        yield f"gone, and not needed: {counted(gone, 'file')} with {what} that a run has read"


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
    lines += integrity.inputs
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
        "inputs": list(integrity.inputs),
        "checked": integrity.checked,
    }
