"""Checks if the names of files agree with the order of reading."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_NUMBER = re.compile(r"([0-9]+)")
_EPOCH = re.compile(r"/epoch=[0-9]+/[^/]+$")


def disorder_note(source: str, paths: Iterable[str], *, by_name: bool) -> str | None:
    """Returns a note on the first two files of tuples whose names differ only in numbers and that are read in the other
    order; `None` without such files. `paths`: in the order of reading.

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
