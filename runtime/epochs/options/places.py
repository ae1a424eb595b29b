"""Checks the local paths that a query reads and writes, before anything is started."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cedilla.compiler.plan import Emit, Plan, Source, folders, is_within
from cedilla.compiler.plan.topics import topic_of
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.json_objects import is_text
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.records.table_folders import check_no_table
from cedilla.runtime.epochs.options.permissions import check_path


def check_places(plan: Plan, checkpoint: str | None) -> None:
    """Runs all checks of `run`: `check_inputs`, `check_outputs`, and that no source reads written files (RQ116 for an
    output, RQ411 for the checkpoint)."""
    check_inputs(plan)
    check_unread(plan)
    home = checkpoint or default_checkpoint(plan)
    check_path(home, "the checkpoint is kept in")
    for name, folder, what in folders(plan):
        if is_within(home, folder):
            message = f"the checkpoint {home} lies in {folder}, which {what} reads"
            hint = "--checkpoint DIR names another folder, or one whose name begins with `.` or `_`"
            raise _failed("RQ411", message, _source(plan, name), hint)
    check_outputs(plan, home)


def check_unread(plan: Plan) -> None:
    """Raises `DiagnosticError` RQ116 if a source reads the output of an emit."""
    read = {topic_of(source.path).name: source for source in plan.sources if source.is_topic}
    for emit in plan.emits:
        if emit.is_topic and (name := topic_of(emit.path).name) in read:
            message = (
                f"`{emit.name}` is emitted to the topic `{name}`, which stream `{read[name].name}` reads"
            )
            raise _failed("RQ116", message, emit, f"another topic; `--sink {emit.name}=PATH` names one")
    for _, folder, what in folders(plan):
        for emit in plan.emits:
            if emit.path != "-" and is_within(emit.path, folder):
                message = f"`{emit.name}` is emitted to {emit.path}, which {what} reads"
                hint = f"a folder next to {folder}; `--sink {emit.name}=PATH` names one"
                raise _failed("RQ116", message, emit, hint)


def default_checkpoint(plan: Plan) -> str:
    """Returns the checkpoint's folder if the command line names none."""
    return f".cedilla/{plan.name}"


def check_inputs(plan: Plan, *, stdin: bool = False) -> None:
    """Raises `DiagnosticError`: RQ345 for an input folder of files that is a table, RQ401 if one does not exist.
    `stdin`: allows `-` for one source."""
    has_stdin = False
    for name, folder, what in folders(plan):
        if folder != "-":
            path = local_path(folder)
            if path is not None and not path.exists():
                raise no_folder(plan, name, folder, what)
            source = _source(plan, name)
            if path is not None and (not source.format_kind.is_table or folder == source.markers):
                check_no_table(path, span=source.span)
            continue
        if not stdin:
            hint = "`cedilla simulate` reads it; a folder, into which the lines are written, is for both"
            raise _failed("RQ401", f"{what} cannot be read from standard input", _source(plan, name), hint)
        if has_stdin:
            hint = "a folder for all but one of them"
            raise _failed("RQ401", "only one source can be standard input", _source(plan, name), hint)
        has_stdin = True


def no_folder(plan: Plan, name: str, folder: str, what: str) -> DiagnosticError:
    """Returns RQ401 about one of a plan's `folders` that does not exist."""
    hint = f"--source {name}=PATH reads another; an empty folder is fine"
    return _failed("RQ401", f"the folder {folder} of {what} does not exist", _source(plan, name), hint)


def _source(plan: Plan, name: str) -> Source:
    """Returns the source of a folder by its name in `--source NAME=PATH`."""
    return plan.source_of[name.partition(".")[0]]


def check_sail(plan: Plan, checkpoint: str | None) -> None:
    """Raises `DiagnosticError` RQ434 if Sail would treat the path of an output or of the checkpoint as a pattern, or
    cannot read it."""
    home = checkpoint or default_checkpoint(plan)
    for path in (home, *(emit.path for emit in plan.emits if emit.has_folder)):
        if match := re.search(r"[*?\[\]{}]|([\x00-\x1f\x7f])", str(Path(path).absolute())):
            sign = ascii(match[0])[1:-1]
            message = f"Sail takes the path {path} for a pattern, because it contains `{sign}`"
            if match[1]:
                message = f"Sail does not read the path {ascii(path)[1:-1]}, because it contains `{sign}`"
            raise failure("RQ434", message, hint="a folder with a plain name, or `--engine spark`")


def check_outputs(plan: Plan, checkpoint: str | None = None) -> None:
    """Raises `DiagnosticError` RQ405 if a folder cannot be written, or contains results although the checkpoint, if
    any, is new. Raises RQ411 if the checkpoint cannot be written."""
    home = None if checkpoint is None else local_path(checkpoint)
    if home is not None and (reason := _unwritable(home)):
        hint = "--checkpoint DIR names another"
        raise failure("RQ411", f"{checkpoint} cannot be written: {reason}", hint=hint)
    begun = ("plan.json", "commits")
    is_new = checkpoint is None or (home is not None and not any((home / name).exists() for name in begun))
    for emit in plan.emits:
        if emit.path == "-" and emit.format != "json":
            raise _failed("RQ405", f"`{emit.format}` cannot be printed", emit, "`to json`, or a folder")
        folder = None if emit.path == "-" else local_path(emit.path)
        if folder is None:
            continue
        if reason := _unwritable(folder):
            hint = f"--sink {emit.name}=PATH names another folder"
            raise _failed("RQ405", f"{emit.path} cannot be written: {reason}", emit, hint)
        if is_new and any(folder.glob("epoch=*")):
            raise old_results(emit, checkpoint is not None)


def old_results(emit: Emit, has_checkpoint: bool = True) -> DiagnosticError:
    """Returns RQ405 about a folder that contains the output of an earlier run."""
    if has_checkpoint:
        message = f"{emit.path} holds the output of an earlier run, but the checkpoint is new"
        hint = "the old checkpoint continues it: --checkpoint DIR; a new run requires an empty output folder"
    else:
        message = f"{emit.path} holds the output of an earlier run"
        hint = f"an empty folder, or none: `--sink {emit.name}=-` prints"
    return _failed("RQ405", message, emit, hint)


def _unwritable(folder: Path) -> str | None:
    """Returns the reason why a folder, which need not exist yet, cannot be written; `None` if it can."""
    if not is_text(str(folder)):
        return "its name is not UTF-8, which no engine writes"
    for path in (folder, *folder.absolute().parents):
        if path.exists():
            if not path.is_dir():
                return f"{path} is a file"
            return None if os.access(path, os.W_OK | os.X_OK) else f"no right to write into {path}"
    return None


def _failed(code: str, message: str, node: Source | Emit, hint: str) -> DiagnosticError:
    return failure(code, message, node.span, hint=hint)
