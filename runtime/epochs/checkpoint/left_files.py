"""The files that are left of a batch, in their present state: a run that continues it may find them mended, moved or
gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from cedilla.compiler.plan import Plan
from cedilla.compiler.plan.record_fields import origin_text, record_fields
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.record_files import record_file
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.epochs.checkpoint.commits import Commit, Progress
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolders
from cedilla.runtime.epochs.checkpoint.read_files import last_batch

_FILE = "file:"


def present_files(
    files: Files,
    folders: KnownFolders,
    listed: Mapping[str, Sequence[InputFile]],
    done: Mapping[str, Progress],
) -> dict[str, list[InputFile]]:
    """Returns the files of a batch, by source; those that are not `done` with their present lengths, times and bytes.

    A mended file counts in its new form. If files are gone, those that have moved are found by their bytes. Raises
    `DiagnosticError` RQ452 if a file that is read in part has moved, and another one is in its place.
    """
    result: dict[str, list[InputFile]] = {}
    for name, of_source in listed.items():
        progress = done.get(name, Progress())
        left = of_source[progress.files :]
        result[name] = [*of_source[: progress.files], *_present(files, folders, name, left, progress.lines)]
    return result


def check_record_fields(files: Files, root: str, old: Plan, new: Plan, last: Commit) -> None:
    """Raises `DiagnosticError` RQ527 if an edit reads fields of records that files left of the last batch do not have,
    because they were fetched without them."""
    batch = last_batch(files, root)
    if batch is None or batch.number < last.batch:
        return
    done = last.progress if batch.number == last.batch else {}
    for name in sorted(old.source_of.keys() & new.source_of.keys()):
        added = {*record_fields(new.source_of[name])} - {*record_fields(old.source_of[name])}
        left = batch.files.get(name, ())[done.get(name, Progress()).files :]
        if added and left and old.source_of[name].is_topic:
            (path, *_) = sorted(field.path for field in added)
            text = origin_text((path,))
            message = f"stream `{name}` reads `{text}`, and its records that wait were fetched without it"
            hint = "run the query without that attribute once more, with --once; then add it"
            raise failure("RQ527", message, new.source_of[name].span, hint=hint)


def _present(
    files: Files, folders: KnownFolders, name: str, left: Sequence[InputFile], lines: int
) -> Sequence[InputFile]:
    parents = {file.path.rpartition("/")[0] for file in left}
    as_known = {file.path.removeprefix(_FILE): file.path for file in left}  # records of topics have no scheme
    listed = [file for parent in parents for file in files.list(parent)]
    present = {as_known.get(file.path.removeprefix(_FILE), file.path): file for file in listed}
    changed = [file for file in left if not _is_listed(file, present.get(file.path))]
    if not changed:
        return left
    moved = _moved(files, folders, name, changed)
    if any(file.path not in present for file in changed):
        present |= moved
        if lines and (other := _in_place(left[0], moved)) is not None:
            raise _replaced(name, left[0], lines, f"it is what {other} was")
    elif lines and (now := moved.get(left[0].path)) is not None:
        raise _replaced(name, left[0], lines, f"{now.path} has its bytes")
    now_left = [_as_found(files, file, present.get(file.path)) if file in changed else file for file in left]
    # One file may be there for two: at the path of a mended one that has moved is another one, which has moved, too.
    return [*reversed({file.path: file for file in reversed(now_left)}.values())]


def _in_place(file: InputFile, moved: Mapping[str, FoundFile]) -> str | None:
    """Returns the path of the file that has moved to the path of another one."""
    return next((path for path, now in moved.items() if now.path == file.path), None)


def _replaced(name: str, file: InputFile, lines: int, why: str) -> DiagnosticError:
    message = f"{file.path} of `{name}` is another file now, after {lines:,} of its lines were read: {why}"
    hint = "that file in its old place; or if it is a backup of a mended one, in another folder"
    return failure("RQ452", message, hint=hint)


def _is_listed(file: InputFile, now: FoundFile | None) -> bool:
    if now is None or file.length != now.length:
        return False
    return file.modified == now.modified or record_file(file.path) is not None


def _as_found(files: Files, file: InputFile, now: FoundFile | None) -> InputFile:
    if now is None:  # its reader says so
        return file
    if record_file(file.path) is not None:
        return evolve(file, length=now.length)
    return evolve(
        file,
        path=now.path,
        length=now.length,
        modified=now.modified,
        fingerprint=files.fingerprint(now),
    )


def _moved(
    files: Files, folders: KnownFolders, name: str, changed: Iterable[InputFile]
) -> dict[str, FoundFile]:
    """Returns, by their paths, where files with known bytes are now."""
    read_folders = [folders.folder(name), folders.folder(name, is_markers=True)]
    listed = [file for folder in read_folders if folder is not None for file in files.tree(folder.at)]
    return {
        file.path: other
        for file in changed
        for other in listed
        if other.path != file.path
        and _is_listed(file, other)
        and file.fingerprint is not None
        and files.fingerprint(other) == file.fingerprint
    }
