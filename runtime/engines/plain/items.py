"""The items of a stream that the reference takes: tuples, markers, and the ends of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cedilla.compiler.regions import PARTITION
from cedilla.runtime.connectors.records.marker import STRAY, MarkerLine

Item = Mapping[str, Any]
"""One line of a stream: a tuple, or `{"$accent": text}`, or `{"$punctuation": text}`; or `{"$end": True}`, where one of
its files ends."""
_KINDS = ("accent", "punctuation", "malformed", "columns")


def marker_of_item(item: Item, position: int) -> MarkerLine | None:
    """Parses a marker; `$malformed`: a malformed one, `$stray`: a tuple in a folder of markers."""
    if "$stray" in item:
        return MarkerLine("malformed", str(item["$stray"]), position, problem=STRAY, code="RQ224")
    kind = next((k for k in _KINDS if item.get(f"${k}") is not None), None)
    if kind is None:
        return None
    text, partition = str(item[f"${kind}"]), item.get(PARTITION)
    of_item = item.get("$translate"), item.get("$problem")
    return MarkerLine(kind, text, position, *of_item, partition=partition)
