"""Results of NEXMark's queries: rows that compare, whichever engine or SQL has computed them, and digests."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from tests.kit.compare import number_of
from tests.kit.stream import Decoder, Item

Bag = Counter[tuple[tuple[str, Any], ...]]

_TIME = re.compile(r"2015-\d\d-\d\dT")


def read_value(_attribute: str, value: object) -> object:
    """Reads a value for a comparison: times are moments, not texts."""
    return as_time(value)


def tuples_before_closing(stream: Iterable[Item]) -> list[Item]:
    """Returns the tuples of a stream that come before the punctuation that closes them."""
    decoder = Decoder(read_value)
    return [row for item in stream if (row := decoder.feed(item)) is not None and not decoder.closed(row)]


def as_bag(rows: Iterable[Mapping[str, Any]]) -> Bag:
    """Counts rows as JSON has them, times as times, doubles to ten digits."""
    return Counter(tuple(sorted((k, as_value(v)) for k, v in row.items() if v is not None)) for row in rows)


def as_value(item: Any) -> Any:
    """Returns a value that compares: doubles have ten digits, times are moments."""
    if isinstance(item, float | Fraction):
        return float(f"{float(item):.9e}")
    return as_time(item)


def as_time(item: Any) -> Any:
    """Returns the moment that a text names, in UTC if it names no zone; any other value unchanged."""
    if not isinstance(item, str) or not _TIME.match(item):
        return item
    moment = datetime.fromisoformat(item)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def bag_of_frame(frame: DataFrame) -> Bag:
    """Returns the rows of a frame as `as_bag` does."""
    times = "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
    texts = frame.selectExpr(f"to_json(struct(*), {times}) AS text").collect()
    return as_bag(json.loads(row["text"], parse_float=number_of) for row in texts)


def digest(rows: Bag) -> str:
    """Returns the number of rows, and a digest of them."""
    text = "\n".join(
        sorted(f"{[(k, _value_text(v)) for k, v in row]} {number}" for row, number in rows.items())
    )
    return f"{sum(rows.values())} rows, {sha256(text.encode()).hexdigest()[:16]}"


def _value_text(value: Any) -> str:
    """Returns a value as a text, whichever type of number it has."""
    return f"{float(value):.9e}" if isinstance(value, int | float) else str(value)


def digest_of_files(folder: Path) -> str:
    """Returns a digest of the names and bytes of all files."""
    digest = sha256()
    for path in sorted(folder.rglob("*.json")):
        digest.update(f"{path.relative_to(folder)} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]
