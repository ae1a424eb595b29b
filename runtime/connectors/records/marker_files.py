"""The markers of an epoch's output, its files, and those of markers next to tuples in Parquet:
`epoch=000000000012/_2-punctuations.jsonl`.

The latter are JSON Lines, and their names begin with `_`. Spark, pandas and pyarrow ignore such files when they read
the folder as a table. DuckDB ignores names that do not end in `.parquet`.
"""

from __future__ import annotations

import re

from attrs import frozen

PARTS = ("0-adds", "1-tuples", "2-punctuations", "3-alters", "4-drops")
"""The names of files without numbers and extensions, in output order (theory 3.3)."""
ADDS, TUPLES, PUNCTUATIONS, ALTERS, DROPS = PARTS
PROVISIONAL = "1-provisional"
"""The name of files of provisional rows, `_1-provisional-00000.jsonl`: they are not part of the output stream, and are
encoded as the tuples of their epoch."""
MARK = "$provisional"
"""The field that marks a provisional row."""
MARKED_LINE = f'{{"{MARK}":true'.encode()
"""The beginning of a provisional row in JSON."""
_FILE = re.compile(rf"(^|/)(epoch=\d+/)_((?:{ADDS}|{PUNCTUATIONS}|{ALTERS}|{DROPS})\.jsonl)$")


@frozen
class Markers:
    """An epoch's output markers as wire text, in output order."""

    adds: tuple[str, ...] = ()
    punctuations: tuple[str, ...] = ()
    alters: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()


def is_marker_file(path: str) -> bool:
    """Returns True for a file of markers of an output, by its path."""
    return _FILE.search(path) is not None


def is_provisional_file(path: str) -> bool:
    """Returns True for a file of provisional rows, by its path."""
    return path.rpartition("/")[2].lstrip("_").startswith(PROVISIONAL)


def is_tuple_file(path: str) -> bool:
    """Returns True for a file of tuples of an output, by its path."""
    return path.rpartition("/")[2].startswith(TUPLES)


def in_stream_order(path: str) -> str:
    """Returns a path whose order among an output's files is their stream order (design, section 6)."""
    return _FILE.sub(r"\1\2\3", path).replace(f"/_{PROVISIONAL}", f"/{PROVISIONAL}")


def marker_file(name: str) -> str:
    """Returns the name of a file of markers, such as `_2-punctuations.jsonl`."""
    return f"_{name}.jsonl"
