"""One run owns a checkpoint: a second one is refused, and a run that has lost its checkpoint commits nothing.

On a local disk the operating system holds the lock and releases it when the process dies, however it dies. A store has
no such lock: there the run that started last owns the checkpoint, and the other one stops before its next commit.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from attrs import asdict, frozen
from filelock import FileLock, Timeout

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files, name_of
from cedilla.runtime.connectors.storage.sealed import seal, unseal
from cedilla.runtime.connectors.storage.written import missing
from cedilla.runtime.epochs.checkpoint.commits import moment, seconds

_LOCK = "owner.lock"
_OF_CHECKPOINT, _OF_OUTPUT = "commits/owner", ".owner.json"
"""The records of owners. That of a checkpoint lies in the folder of the commits: one listing shows that both still
exist. Readers of an output pass over a name that begins with a dot."""


_ENDED = "commits/ended"
"""The token of the run that has ended by itself last. A file of its own, because an owner's record may be another's by
then."""


@frozen
class Owner:
    """The run that owns a checkpoint or an output.

    `number`: one more than that of the owner before, the fencing number; `since`: when the run started, in UTC;
    `token`: differs for two runs that took the same number at once.
    """

    number: int
    host: str
    process: int
    since: str
    checkpoint: str
    token: str

    def __str__(self) -> str:
        return f"process {self.process} on host {self.host} since {self.since}"


@frozen
class Ownership:
    """The right of one run to commit to a checkpoint."""

    files: Files
    record: str
    owner: Owner

    @property
    def number(self) -> int:
        """The fencing number of this run."""
        return self.owner.number

    def check(self) -> None:
        """Raise RQ476 where another run has taken the checkpoint over, RQ451 where the checkpoint is gone."""
        owner = _read(self.files, self.record)
        if owner == self.owner:
            return
        if owner is None and not self.files.exists(self.record):
            raise missing(self.record)
        raise lost(self.owner.checkpoint, owner)

    def end(self) -> None:
        """Leaves the mark that the run has ended by itself. Leaves none where the checkpoint is another run's, gone or
        full."""
        with suppress(DiagnosticError):
            if _read(self.files, self.record) == self.owner:
                ended = f"{self.record.removesuffix(_OF_CHECKPOINT)}{_ENDED}"
                self.files.write(ended, seal(name_of(ended), json.dumps({"token": self.owner.token})))


def lost(checkpoint: str, owner: Owner | None = None) -> DiagnosticError:
    """The error of a run whose checkpoint is not its own any more."""
    why = f"{owner} has taken it over" if owner is not None else "another run has committed to it"
    return failure(
        "RQ476",
        f"this run does not own the checkpoint {checkpoint} any more: {why}",
        hint="nothing more was committed; `cedilla status` shows the last epoch, a new run continues after it",
    )


@contextmanager
def owned(files: Files, checkpoint: str, outputs: list[str]) -> Iterator[Ownership]:
    """Own a checkpoint and output folders during a run. `outputs`: paths of folders or tables; a store locks none.

    Raises `DiagnosticError` RQ475 where another run on this machine has one of them.
    """
    with ExitStack() as held:
        ownership = held.enter_context(_owned(files, checkpoint, checkpoint, _LOCK, _OF_CHECKPOINT))
        for path in dict.fromkeys(output for output in outputs if local_path(output) is not None):
            held.enter_context(_owned(files, path, checkpoint, f".{_LOCK}", _OF_OUTPUT))
        yield ownership


@contextmanager
def _owned(files: Files, path: str, checkpoint: str, lock_name: str, name: str) -> Iterator[Ownership]:
    record = f"{path.rstrip('/')}/{name}"
    folder = local_path(path)
    with ExitStack() as held:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(Path(folder.absolute(), lock_name))
            try:
                held.enter_context(lock.acquire(timeout=0))
            except Timeout:
                raise _in_use(path, checkpoint, _read(files, record)) from None
        before = _read(files, record)
        if folder is None and before is not None and before.process != os.getpid() and is_running(before):
            raise _in_use(path, checkpoint, before)
        number = 0 if before is None else before.number + 1
        owner = Owner(number, socket.gethostname(), os.getpid(), moment(), checkpoint, uuid4().hex)
        files.write(record, seal(name_of(record), json.dumps(asdict(owner))))
        yield Ownership(files, record, owner)


def _read(files: Files, record: str) -> Owner | None:
    """Returns the owner by its record; `None` without a record, or if it is damaged: nothing else depends on it."""
    try:
        text = files.read_if_there(record)
        return None if text is None else Owner(**json.loads(unseal(name_of(record), text)))
    except ValueError:
        return None


def read_owner(files: Files, checkpoint: str) -> Owner | None:
    """Returns the run that owned a checkpoint last; `None` before the first."""
    return _read(files, f"{checkpoint.rstrip('/')}/{_OF_CHECKPOINT}")


def has_ended(files: Files, checkpoint: str, owner: Owner) -> bool:
    """Returns True if the last owner of a checkpoint has ended by itself, with an error or without."""
    mark = f"{checkpoint.rstrip('/')}/{_ENDED}"
    try:
        return (
            files.exists(mark) and json.loads(unseal(name_of(mark), files.read(mark)))["token"] == owner.token
        )
    except (ValueError, KeyError):
        return False


def run_state(files: Files, checkpoint: str, owner: Owner | None) -> str:
    """Returns `running`, `stopped` without a run or if it has ended by itself, else `died`, which only its own
    machine knows; elsewhere `on another host`."""
    if owner is None or has_ended(files, checkpoint, owner):
        return "stopped"
    return {True: "running", False: "died", None: "on another host"}[is_running(owner)]


def is_running(owner: Owner) -> bool | None:
    """Returns True if the process of an owner still runs; `None` if it is on another host."""
    if owner.host != socket.gethostname():
        return None
    return _is_there(owner.process) and not _is_another(owner)


def _is_another(owner: Owner) -> bool:
    """Returns True if the process has ended and only waits for its parent, or began after the run, so that another one
    has the number by now. Only Linux tells."""
    stat = Path(f"/proc/{owner.process}/stat")
    try:
        fields = stat.read_text().rpartition(")")[2].split()
        ticks, is_over = int(fields[19]), fields[0] == "Z"
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return False
    if is_over:
        return True
    age = uptime - ticks / os.sysconf("SC_CLK_TCK")
    return age + _CLOCKS_APART < time.time() - seconds(owner.since)


_CLOCKS_APART = 5
"""The greatest difference of two clocks of a machine, in seconds."""


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def _in_use(path: str, checkpoint: str, owner: Owner | None) -> DiagnosticError:
    who = "another run" if owner is None else str(owner)
    if path == checkpoint:
        hint = "end that run first; or --checkpoint DIR names another, with other outputs"
        return failure("RQ475", f"the checkpoint {path} is in use by {who}", hint=hint)
    of = "" if owner is None else f", with the checkpoint {owner.checkpoint}"
    hint = "--sink NAME=PATH names another folder"
    return failure("RQ475", f"the output {path} is in use by {who}{of}", hint=hint)
