"""Checks whether a checkpoint is whole: finds missing and changed files, and files that no record names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.connectors.storage.written import damaged, missing, older
from cedilla.runtime.epochs.checkpoint.commit_json import load_commit
from cedilla.runtime.epochs.checkpoint.commit_log import LastRecord, last_record, record_names
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.checkpoint.known_folders import PATHS
from cedilla.runtime.epochs.checkpoint.read_files import Batch, batch_name, batch_names, last_batch, records
from cedilla.runtime.epochs.checkpoint.stored_plan import PLAN, StoredPlans, reading
from cedilla.runtime.epochs.checkpoint.tree_files import FOLDER as TREES
from cedilla.runtime.epochs.checkpoint.tree_files import StoredTrees, bases
from cedilla.runtime.epochs.state.segments import Checksum, check_files, paths

_READERS = 4
"""The number of segments that are read at once."""


@frozen
class Integrity:
    """The result of a check.

    `last`: the epoch after which the next run continues, `None` if no record can be read; `torn`: a later record, which
    runs skip; `problems`: the reasons why no run can continue; `unnamed`: paths that no record names; `checked`: the
    number of things checked, by kind; `inputs`: remarks on files that were read.
    """

    last: int | None
    torn: str | None
    problems: tuple[Diagnostic, ...]
    unnamed: tuple[str, ...]
    checked: dict[str, int]
    inputs: tuple[str, ...] = ()


def is_new(documents: SealedFiles) -> bool:
    """Returns True if no run has started here. Raises `DiagnosticError` RQ451 if only the plan is missing."""
    if documents.exists(PLAN):
        return False
    if record_names(documents) or batch_names(documents):
        raise missing(f"{documents.root}/{PLAN}")
    return True


def inspect(documents: SealedFiles, checksum: Checksum | None) -> Integrity:
    """Checks all files that a run continues from. `checksum`: of some files of one folder; `None` skips the contents of
    state, as those in a store are, which checks them itself."""
    problems: list[Diagnostic] = []
    checked: dict[str, int] = {}

    def check(kind: str, steps: Iterator[Callable[[], object]]) -> None:
        with ThreadPoolExecutor(_READERS) as pool:
            results = list(pool.map(_problem, steps))
        checked[kind] = len(results)
        problems.extend(problem for several in results for problem in several)

    last = Commit()
    try:
        record = LastRecord() if is_new(documents) else last_record(documents)
    except DiagnosticError as problem:
        return Integrity(None, None, problem.diagnostics, (), checked)
    check("plan", iter([partial(_plan, documents)]))
    check("record", iter([partial(_commit, documents, record)]))
    if not problems:
        last = _commit(documents, record)
    segments = chain.from_iterable(last.segments.values())
    check("state", (partial(check_files, documents.files, s, checksum) for s in segments))
    check("input", iter([partial(_check_input, documents, record)]))
    if record.torn is not None and problems:
        problems.insert(0, *damaged(record.torn, "the record before it cannot be gone on from").diagnostics)
    named = frozenset(name for text in record.texts for name in bases(text))
    aside = () if problems else tuple(unnamed(documents, last, named))
    return Integrity(record.epoch, record.torn, tuple(problems), aside, checked)


def check_whole(documents: SealedFiles, checksum: Checksum | None) -> None:
    """Checks what `inspect` does. Raises `DiagnosticError` if a run cannot continue: RQ451 for a missing file, RQ478
    for a damaged one, RQ411 for an unreadable one, RQ479 for one that is older than the others."""
    if not is_new(documents) and (problems := inspect(documents, checksum).problems):
        raise DiagnosticError(problems[:1])


def unnamed(documents: SealedFiles, last: Commit, trees: Collection[str]) -> Iterator[str]:
    """Yields the paths of state that a commit does not list, and of tree files other than `trees`."""
    files, state = documents.files, f"{documents.root}/state"
    listed = paths(last.segments)
    for key in files.folders(state, ""):
        unnamed_paths = [f"{state}/{key}/{name}" for name in files.folders(f"{state}/{key}", "epoch=")]
        yield from (path for path in unnamed_paths if path not in listed)
    for name in documents.names(TREES):
        if name not in trees:
            yield f"{documents.root}/{TREES}/{name}"


def _problem(step: Callable[[], object]) -> tuple[Diagnostic, ...]:
    try:
        step()
    except DiagnosticError as problem:
        return problem.diagnostics
    return ()


def _plan(documents: SealedFiles) -> StoredPlans:
    with reading(documents.root):
        return StoredPlans.load(documents.read(PLAN))


def _commit(documents: SealedFiles, record: LastRecord) -> Commit:
    """Returns the last commit with its tree files."""
    if record.data is None:
        return Commit()
    with reading(documents.root):
        return load_commit(record.data, StoredTrees(documents), documents.root)


def _check_input(documents: SealedFiles, record: LastRecord) -> None:
    """Raises `DiagnosticError` if a list of read files is missing or damaged, or belongs to another commit."""
    root = documents.root
    with reading(root):
        batch = last_batch(documents.files, root)
        if record.data is None:
            _check_after(documents, batch, -1)
            return
        if batch is None:
            raise missing(f"{root}/batch-*.json")
        if not documents.exists(PATHS):
            raise missing(f"{root}/{PATHS}")
        documents.read(PATHS)
        if batch.number < record.data["batch"] or _is_short(batch, record.data):
            raise older(f"{root}/{batch_name(documents)}", f"{root}/commits")
        _check_after(documents, batch, record.epoch)
        _check_covered(documents, batch)


def _is_short(batch: Batch, commit: Mapping[str, Any]) -> bool:
    """Returns True if a commit has read more files of a batch than its list has."""
    progress = commit["progress"] if commit["batch"] == batch.number else {}
    return any(done["files"] > len(batch.files.get(name, ())) for name, done in progress.items())


def _check_after(documents: SealedFiles, batch: Batch | None, epoch: int) -> None:
    if batch is not None and batch.after > epoch:
        raise older(f"{documents.root}/commits", f"{documents.root}/{batch_name(documents)}")


def _check_covered(documents: SealedFiles, batch: Batch) -> None:
    """Raises RQ451 if a list of files of an earlier batch is missing: these files would be read again."""
    root = documents.root
    listed = records(documents.files, root)
    expected = 0
    for record in listed:
        if record.first > expected:
            break
        documents.read(f"files/{record.name}")
        expected = max(expected, record.last + 1)
    if expected < batch.number:
        raise missing(f"{root}/files/{expected:012d}-*.json")
