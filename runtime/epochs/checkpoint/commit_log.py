"""The commit records of a checkpoint: the last one that can be read, and whether a later one is torn."""

from __future__ import annotations

import json
import re
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.connectors.storage.written import damaged

FOLDER = "commits"
"""The folder of commit records in a checkpoint."""
_RECORD = re.compile(r"\d+\.json")


@frozen
class LastRecord:
    """The last commit record that can be read; `data` is `None` before the first.

    `torn`: the path of a later record that cannot be read; `texts`: those of the records that are kept, in order.
    """

    data: dict[str, Any] | None = None
    torn: str | None = None
    texts: tuple[str, ...] = ()

    @property
    def epoch(self) -> int:
        """The epoch of the record, -1 before the first."""
        return -1 if self.data is None else self.data["epoch"]


def record_name(epoch: int) -> str:
    """The name of a record in its checkpoint."""
    return f"{FOLDER}/{epoch:012d}.json"


def record_names(documents: SealedFiles) -> list[str]:
    """The names of the records of a checkpoint, in order."""
    return [f"{FOLDER}/{name}" for name in documents.names(FOLDER) if _RECORD.fullmatch(name)]


def last_record(documents: SealedFiles) -> LastRecord:
    """The last record of a checkpoint, or the one before it where that is torn. Raises `DiagnosticError` RQ478 where
    two are."""
    torn: list[str] = []
    texts: list[str] = []
    data: dict[str, Any] | None = None
    for name in reversed(record_names(documents)):
        text = _text(documents, name)
        if data is not None:
            texts += [] if text is None else [text]
        elif text is None:
            torn.append(f"{documents.root}/{name}")
        else:
            texts.append(text)
            data = json.loads(text)
    if len(torn) > 1:
        raise damaged(torn[0], "it is torn, and so is the record before it")
    return LastRecord(data, torn[0] if torn else None, tuple(reversed(texts)))


def _text(documents: SealedFiles, name: str) -> str | None:
    """The text of a record, `None` where it is torn."""
    try:
        text = documents.text(name)
        json.loads(text)
    except ValueError:
        return None
    except DiagnosticError as problem:
        if problem.diagnostics[0].code != "RQ478":
            raise
        return None
    return text
