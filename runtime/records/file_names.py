"""Checks the names of files: if they agree with the order of reading, and if folders have keys in their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from cedilla.grammar.diagnostics import Diagnostic

_NUMBER = re.compile(r"([0-9]+)")
_EPOCH = re.compile(r"/epoch=[0-9]+/[^/]+$")


def disorder_note(source: str, paths: Iterable[str], *, by_name: bool) -> str | None:
    """Returns a note on the first two files of tuples whose names differ only in numbers and that are read in the other
    order; `None` if there are no such files. `paths`: in the order of reading.

    Files of a query's output are skipped: their order is that of their names.
    """
    names = (path for path in paths if not _EPOCH.search(path))
    for before, path in pairwise(names):
        (words_before, numbers_before), (words, numbers) = _parts(before), _parts(path)
        if words == words_before and numbers < numbers_before:
            first, then = before.rpartition("/")[2], path.rpartition("/")[2]
            why = (
                "names are compared sign by sign" if by_name else "files are read in the order of their times"
            )
            clause = "" if by_name else "; `ordered by name` reads them by their names"
            return f"`{source}` reads {first} before {then}: {why}{clause}"
    return None


def _parts(path: str) -> tuple[list[str], list[int]]:
    """Splits a path into its texts and the numbers between them."""
    parts = _NUMBER.split(path)
    return parts[::2], [int(number) for number in parts[1::2]]


_KEY = re.compile(r"([^/=]+)=([^/]*)")
_MAX_KEYS = 5


def path_keys(source: str, folder: str, paths: Iterable[str]) -> Diagnostic | None:
    """Returns RQ347 for the first file of a source below folders with keys in their names, `region=n/day=2020-01-01`,
    which Spark, pandas and Arrow take out of the files; `None` for none. The epochs of an output are no keys.

    `folder`: the path that those of all files begin with.
    """
    for path in paths:
        inner = path.removeprefix(folder.rstrip("/") + "/")
        names = [name for name in inner.split("/")[:-1] if _KEY.fullmatch(name)]
        if names and not _EPOCH.search(f"/{inner}"):
            keys = ", ".join(f"`{name.partition('=')[0]}`" for name in names[:_MAX_KEYS])
            message = f"folders of `{source}` have keys in their names, {keys}, and these values are not read"
            hint = (
                "an attribute of such a name has a value only if the tuples contain it: "
                "let the producer write the column into the files, too"
            )
            return Diagnostic("RQ347", "warning", message, None, (f"the first file: {inner}",), hint)
    return None
