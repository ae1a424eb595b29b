"""Documents of a checkpoint: JSON objects that contain their own length and checksum.

The seal is the first member of the object. It covers the document's name and its bytes, so that partial, exchanged and
copied documents are detected before they are used.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.written import damaged, missing, unreadable

_SEAL = re.compile(r'\{"\$sealed": "(\d+) ([0-9a-f]{8})"(?:, |(?=\}))')

_OTHER_VERSION = re.compile(r'\{\s*"version": \d')
"""The start of the records of versions that wrote no seals."""


def seal(name: str, text: str) -> str:
    """Returns a JSON object with its seal. `name`: the path of its file in the checkpoint."""
    rest = "{" + text[1:]
    return f'{{"$sealed": "{_sum(name, rest)}"{"" if rest == "{}" else ", "}{rest[1:]}'


def unseal(name: str, text: str) -> str:
    """Returns the JSON object that `seal` took. Raises `ValueError`."""
    match = _SEAL.match(text)
    if match is None:
        raise ValueError("its seal is damaged")
    rest = "{" + text[match.end() :]
    if f"{match[1]} {match[2]}" != _sum(name, rest):
        raise ValueError("its content is not what was written")
    return rest


def _sum(name: str, text: str) -> str:
    content = text.encode()
    return f"{len(content)} {zlib.crc32(content, zlib.crc32(name.encode())):08x}"


@frozen
class SealedFiles:
    """The documents in a checkpoint's folder, by their names there."""

    files: Files
    root: str

    def text(self, name: str) -> str:
        """Returns the text of a document.

        Raises `DiagnosticError`: RQ451 if it is missing, RQ478 if it is damaged, RQ411 if another version wrote it.
        """
        path = f"{self.root}/{name}"
        try:
            text = self.files.read(path)
            if _OTHER_VERSION.match(text):
                raise unreadable(self.root, f"{name} is of another version of Cedilla")
            return unseal(name, text)
        except ValueError as problem:  # also bytes that are not UTF-8
            raise damaged(path, str(problem)) from None
        except DiagnosticError as problem:
            if isinstance(problem.__cause__, FileNotFoundError):
                raise missing(path) from None
            raise

    def read(self, name: str) -> Any:
        """Returns the content of a document. Raises the errors of `text`."""
        return json.loads(self.text(name))

    def exists(self, name: str) -> bool:
        return self.files.exists(f"{self.root}/{name}")

    def names(self, folder: str = "") -> list[str]:
        """Returns the names of the files in a folder of the checkpoint, in order."""
        path = f"{self.root}/{folder}" if folder else self.root
        return [file.path.rpartition("/")[2] for file in self.files.list(path)]

    def write(self, name: str, text: str) -> None:
        """Writes a document, and replaces an old one."""
        self.files.write(f"{self.root}/{name}", seal(name, text))

    def create(self, name: str, text: str) -> bool:
        """Writes a new document. Returns False if another one exists."""
        return self.files.create(f"{self.root}/{name}", seal(name, text))

    def delete(self, name: str) -> None:
        self.files.delete_file(f"{self.root}/{name}")
