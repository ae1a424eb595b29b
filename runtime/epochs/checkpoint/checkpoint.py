"""Commit records: one JSON file makes an epoch real (design, section 5, Recovery)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import astuple, evolve

from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import Diagnostic, to_json
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.connectors.storage.written import missing
from cedilla.runtime.control.domains.table_domains import is_longer
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit, load_commit
from cedilla.runtime.epochs.checkpoint.commit_log import last_record, record_name, record_names
from cedilla.runtime.epochs.checkpoint.commits import KEPT_COMMITS, Commit, Progress, moment
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from cedilla.runtime.epochs.checkpoint.edits.plan_changes import resume
from cedilla.runtime.epochs.checkpoint.integrity import unnamed
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolders
from cedilla.runtime.epochs.checkpoint.left_files import present_files
from cedilla.runtime.epochs.checkpoint.ownership import Ownership, lost
from cedilla.runtime.epochs.checkpoint.read_files import Known, batch_of_run, take_over
from cedilla.runtime.epochs.checkpoint.stored_plan import PLAN, StoredPlan, StoredPlans, reading
from cedilla.runtime.epochs.checkpoint.tree_files import TreeFiles, bases

OnEdited = Callable[[str, StoredPlan, Commit, Plan], Changes]
"""Handles the checkpoint of another query. Takes its path, its plan, its last commit and the edited plan."""


_SCRATCH = "scratch"


class Checkpoint:
    """The folder of a query's commits; `CHECKPOINT/state` belongs to the state, `CHECKPOINT/files` to `Arrivals`.
    `is_watched`: `status`, metrics and the live page may look at it; they cannot if it is deleted with its run."""

    def __init__(
        self, files: Files, path: str, ownership: Ownership | None = None, *, is_watched: bool = True
    ) -> None:
        self.files = files
        self.is_watched = is_watched
        self._ownership = ownership
        self.run = 0 if ownership is None else ownership.number
        """The number of the run: what it writes before a commit has it in its name, so that no other writes over it."""
        self.path = path.rstrip("/")
        self.documents = SealedFiles(files, self.path)
        self.streams: tuple[str, ...] = ()
        """The streams in the order that runs read them."""
        self.folders = KnownFolders(self.path)
        self.notes: tuple[str, ...] = ()
        """Messages to the user."""
        self._trees = TreeFiles(self.documents, self.run)
        self._epoch = -1  # the last that is committed
        self._batch_after = -1  # the last epoch before the batch that is under way
        self._since: Mapping[str, Sequence[Any]] = {}  # that of a batch that continues, as JSON values
        self._batch: Mapping[str, Any] | None = (
            None  # the document of this run's batch, once it is read or written
        )
        self._records: list[str] = []  # the names of the commit records that are kept

    def open(
        self, plan: Plan, on_edited: OnEdited = resume, on_last: Callable[[Commit], None] = lambda last: None
    ) -> Commit:
        """The last commit, an empty one in a new checkpoint.

        If the query was edited, or a table that gives a domain has more values, `on_edited` returns the commit to
        continue from. It is committed as an epoch of its own, without tuples. `on_last` is given the last commit of a
        checkpoint that is not new, before anything is written. Raises `DiagnosticError`: RQ402 if the query cannot
        continue or needs confirmation, RQ411 if the checkpoint cannot be read, RQ451, RQ478 if a document is gone or
        damaged, RQ452 as `KnownFolders.of`.
        """
        if not self.documents.exists(PLAN):
            self.folders = KnownFolders.of(self.files, self.path, plan)
            self._write(StoredPlans.start(plan))
            self.folders.write(self.files)
            return Commit()
        record = last_record(self.documents)
        with reading(self.path):
            self.folders = KnownFolders.of(self.files, self.path, plan)
            last = Commit() if record.data is None else load_commit(record.data, self._trees, self.path)
            plans = StoredPlans.load(self.documents.read(PLAN))
        on_last(last)
        for number, text in enumerate(record.texts):
            self._trees.used[number - len(record.texts)] = bases(text)
        if record.torn is not None:
            self.files.delete(record.torn)
            self.notes = (
                f"{record.torn} is torn: going on after epoch {last.epoch}, the next one is done again",
            )
        commit = self._gone_on(plan, plans, last, on_edited)
        self._epoch = commit.epoch
        take_over(self.documents, self.run)
        self.folders.write(self.files)
        return commit

    def _gone_on(self, plan: Plan, plans: StoredPlans, last: Commit, on_edited: OnEdited) -> Commit:
        """Returns the last commit, or the one where an edited query continues."""
        stored = plans.in_force(last.epoch)
        self.streams = plans.streams
        is_same = stored.is_of(plan)
        if is_same and not is_longer(plan, last.sources):
            return last
        changes = on_edited(self.path, stored, last, plan)
        if changes.commit == evolve(last, epoch=changes.commit.epoch):
            self._write(plans.edited(stored, plan, stored.since))
            return last
        if not is_same:
            # The plan counts once a record of its epoch is there: a crash in between changes nothing.
            self._write(plans.edited(stored, plan, changes.commit.epoch))
        self.commit(changes.commit)
        return changes.commit

    def _write(self, plans: StoredPlans) -> None:
        self.streams = plans.streams
        self.documents.write(PLAN, json.dumps(plans.dump()))

    def sweep(self, last: Commit) -> None:
        """Delete what no record names: state and trees of epochs that were given up. None is under way."""
        for path in unnamed(self.documents, last, frozenset[str]().union(*self._trees.used.values())):
            self.files.delete(path)
        self.files.delete(f"{self.path}/{_SCRATCH}")

    @property
    def scratch(self) -> str:
        """Returns a folder for files of this run that are only needed until their epochs are committed."""
        return f"{self.path}/{_SCRATCH}/run={self.run:06d}"

    def check_there(self) -> None:
        """Raise `DiagnosticError` RQ451 where the checkpoint is gone, RQ476 where another run has taken it over."""
        if self._ownership is not None:
            self._ownership.check()
        elif not self.documents.exists(PLAN):
            raise missing(f"{self.path}/{PLAN}")

    def order(
        self,
        batch: int,
        files: Mapping[str, Sequence[InputFile]],
        done: Mapping[str, Progress] = MappingProxyType({}),
    ) -> dict[str, list[InputFile]]:
        """Returns the files of a batch in the order of their first appearance.

        A file that is mended after a bad marker keeps its place, whatever its modification time says then. Files that
        are not `done` have their present length and time. Raises `DiagnosticError` RQ452 as `present_files`.
        """
        ordered = {name: list(of_source) for name, of_source in files.items()}
        self._batch_after, self._since = self._epoch, {}
        record = self._own_batch
        if record is not None and record["batch"] == batch:
            self._batch_after = record["after"]
            self._since = record.get("since", {})
            locate = self.folders.locate
            listed = {
                n: [locate(n, InputFile(*f)) for f in of_source] for n, of_source in record["files"].items()
            }
            present = present_files(self.files, self.folders, listed, done)
            if ordered.keys() <= listed.keys() and present == listed:
                return listed
            ordered = {**ordered, **present}  # an edited query may have a table more
        self.keep_order(batch, ordered)
        return ordered

    def keep_order(self, batch: int, files: Mapping[str, Sequence[InputFile]]) -> None:
        """Writes the files of a batch. New ones come after those that it has."""
        record = self.folders.record
        places = {
            name: [
                astuple(evolve(file, path=record(name, file.path, is_markers=file.is_markers)))
                for file in of_source
            ]
            for name, of_source in files.items()
        }
        self._write_batch({"batch": batch, "after": self._batch_after, "files": places, "since": self._since})

    def keep_since(self, since: Known) -> None:
        """Writes what was found out about paths since the last batch, which is done."""
        stored = {source: [file.stored for file in files] for source, files in since.items()}
        self._write_batch({**(self._own_batch or {}), "since": stored})

    @property
    def _own_batch(self) -> Mapping[str, Any] | None:
        """The document of this run's batch, which no other run writes; `None` before the first."""
        if self._batch is None and self.documents.exists(name := batch_of_run(self.run)):
            self._batch = self.documents.read(name)
        return self._batch

    def _write_batch(self, content: Mapping[str, Any]) -> None:
        self.documents.write(batch_of_run(self.run), json.dumps(content))
        self._batch = content

    def commit(self, record: Commit) -> None:
        """Make an epoch real; older records are removed.

        Raises `DiagnosticError`: RQ451 where the checkpoint is gone, RQ476 where it belongs to another run by now. The
        record of an epoch is only ever created, so that of two runs one commits it.
        """
        stamped = evolve(record, time=moment(), run=self.run)
        text = json.dumps(dump_commit(stamped, self._trees.during(record.epoch), self.path))
        if self._ownership is not None:
            self._ownership.check()
        if not self.documents.create(record_name(record.epoch), text):
            raise lost(self.path)
        self._epoch = record.epoch
        own = record_name(record.epoch)
        records = [*self._records, own] if self._records else record_names(self.documents)
        old, self._records = records[:-KEPT_COMMITS], records[-KEPT_COMMITS:]
        for name in old:
            self.documents.delete(name)
        self._trees.keep_only_used(record.epoch, bases(text))

    def note_failure(self, diagnostics: Sequence[Diagnostic], epoch: int) -> None:
        """Writes the failure that ends a run after an epoch, for `status`. Writes nothing if the checkpoint is gone."""
        if not self.documents.exists(PLAN):
            return
        failure_record = {
            "time": moment(),
            "epoch": epoch,
            "diagnostics": [to_json(diagnostic) for diagnostic in diagnostics],
        }
        self.documents.write("error.json", json.dumps(failure_record))
