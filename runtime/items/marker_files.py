"""Files of markers beside the tuples of an output in Parquet: `epoch=000000000012/_2-punctuations.jsonl`.

They are JSON Lines, and their names begin with `_`: whoever reads the folder as a table passes over them, as Spark,
pandas and pyarrow do with such names, and DuckDB with names that do not end in `.parquet`.
"""

from __future__ import annotations

import re

_FILE = re.compile(r"(^|/)(epoch=\d+/)_((?:0-adds|2-punctuations|3-alters|4-drops)\.jsonl)$")


def is_marker_file(path: str) -> bool:
    """Returns True for a file of markers of an output, by its path."""
    return _FILE.search(path) is not None


def in_stream_order(path: str) -> str:
    """The path by whose order the files of an output are in stream order (design, section 6)."""
    return _FILE.sub(r"\1\2\3", path)


def marker_file(name: str) -> str:
    """The name of a file of markers, `2-punctuations`."""
    return f"_{name}.jsonl"
