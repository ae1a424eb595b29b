"""Accented-punctuated streams item by item, in plain Python: the oracle that shares nothing with the engine.

A stream is a list of items: a tuple (`dict`), or a marker as its line `{"$accent": ...}` or
`{"$punctuation": ...}`. Arithmetic is exact where the values are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from cedilla.compiler.expressions.units.units import conversion
from cedilla.grammar import syntax
from cedilla.runtime.connectors.records.marker_files import in_stream_order
from cedilla.runtime.engines.plain.decoder import (
    Decoder,
    Item,
    Reader,
    as_it_is,
    evaluate,
    function_of,
    is_tuple,
    matches,
)
from tests.kit.compare import exact_text, number_of

__all__ = [
    "Decoder",
    "Item",
    "complaints",
    "decode",
    "evaluate",
    "flat",
    "function_of",
    "is_tuple",
    "matches",
    "nested",
    "packed_zstd",
    "read_output",
    "unit_complaints",
]


def read_output(folder: Path, number: Callable[[str], Any] = number_of) -> list[Item]:
    """Returns the stream of an output folder: files in the order of their names (design, section 6).

    `number`: what a text with a decimal point becomes.
    """
    items: list[Item] = []
    for file in sorted(folder.glob("epoch=*/*"), key=lambda file: in_stream_order(str(file))):
        if file.suffix == ".parquet":
            rows = parquet.ParquetFile(file).read().to_pylist()
            items += [{n: v for n, v in row.items() if v is not None} for row in rows]
        else:
            items += [json.loads(line, parse_float=number) for line in file.read_text().split("\n") if line]
    return items


_KEY = re.compile(r"`([^`]+)`|([^.`]+)")


def nested(item: Item) -> Item:
    """A tuple whose fields with a path as their name, `box.t`, are inside of objects."""
    result: Item = {}
    for name, value in item.items():
        *outer, last = (quoted or plain for quoted, plain in _KEY.findall(name))
        into = result
        for key in outer:
            into = into.setdefault(key, {})
        into[last] = value
    return result


def flat(item: Item, outer: str = "") -> Item:
    """The same in the other direction."""
    result: Item = {}
    for key, value in item.items():
        name = f"{outer}`{key}`" if "." in key else f"{outer}{key}"
        result |= flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return result


def with_moments(attribute: str, value: Any) -> Any:
    """Returns a value for a comparison, as `as_it_is`; a text with a time and a zone is a moment."""
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return datetime.fromisoformat(value)
    return as_it_is(attribute, value)


def decode(stream: Iterable[Item], read: Reader = as_it_is) -> list[Item]:
    """The canonical tuples of a stream."""
    decoder = Decoder(read)
    return [row for item in stream if (row := decoder.feed(item)) is not None]


def complaints(stream: Iterable[Item], initial: set[str], read: Reader = as_it_is) -> Iterator[str]:
    """Yields the faults of a stream: tuples after their punctuation, attributes before their Add or after their
    Drop, Adds of what exists, Drops of what does not. `initial`: the attributes that exist from the start;
    `read`: makes a value comparable.
    """
    decoder = Decoder(read)
    collected: list[tuple[str, int]] = []  # attribute, which accent
    for index, item in enumerate(stream):
        row = decoder.feed(item)
        if row is None:
            if "$accent" in item and isinstance(
                decoder.accents[-1].primitive, syntax.AddAttribute | syntax.DropAttribute
            ):
                collected.append((decoder.accents[-1].primitive.name, len(decoder.accents) - 1))
            continue
        if decoder.closed(row):
            yield f"item {index}: {item} comes after a punctuation that closes it"
        for name in item:
            present = name in initial
            for attribute, number in collected:
                accent = decoder.accents[number]
                # A description is in the units of its own place in the stream.
                if attribute == name and matches(decoder.raw_at(row, number), accent.description, read):
                    present = isinstance(accent.primitive, syntax.AddAttribute)
            if not present:
                yield f"item {index}: {item} is defined on {name}, which does not exist there"


def unit_complaints(stream: Iterable[Item], units: Mapping[str, str], rows: Iterable[Item]) -> Iterator[str]:
    """Yields Alters that name a unit and do not lead to it. `units`: those of canonical values; `rows`: canonical
    tuples; those that may come after an Alter are checked."""
    decoder, rows = Decoder(), list(rows)
    for index, item in enumerate(stream):
        decoder.feed(item)
        accent = decoder.accents[-1] if "$accent" in item else None
        change = None if accent is None else accent.primitive
        if accent is None or not isinstance(change, syntax.AlterAttribute) or change.unit is None:
            continue
        wanted = conversion(units[change.name], change.unit)
        for row in rows:
            before = decoder.raw_at(row, len(decoder.accents) - 1)
            if row.get(change.name) is None or not matches(before, accent.description) or decoder.closed(row):
                continue
            value = function_of(change)[0](before[change.name])
            if value != wanted(Fraction(as_it_is(change.name, row[change.name]))):
                yield f"item {index}: {item} gives {value} of {row}"


def packed_zstd(text: bytes) -> bytes:
    """Bytes as a `.zst` file has them."""
    packed = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(text)
    return packed.getvalue().to_pybytes()


def in_parts(stream: list[dict[str, Any]]) -> list[list[str]]:
    """Runs of tuples in no order, between markers."""
    parts: list[list[str]] = []
    for marked, items in groupby(stream, lambda i: "$accent" in i or "$punctuation" in i):
        texts = [json.dumps(item, sort_keys=True, default=exact_text) for item in items]
        parts.append(texts if marked else sorted(texts))
    return parts
