"""Reads the tuples and markers of local files in every format in order, without Spark: for readers of outputs (design,
section 6)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.moments import REAL, WHOLE
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records import xmltext
from cedilla.runtime.connectors.records.foreign import (
    MAX_BYTES,
    NoValue,
    Unreadable,
    damage_told,
    json_value,
    not_utf8,
    python_values,
)
from cedilla.runtime.connectors.records.json_objects import NOT_FINITE, number_of
from cedilla.runtime.connectors.records.lines import LONGEST_OUTPUT_LINE, Line, lines_of

TYPES_HINT = '--query Q.rq, the query that writes the output, or --schema "name: type, ..." tells the types'


@frozen
class Entry:
    """An item of a file: a tuple's values by attribute, or a marker's `kind` and `text`. `place`: its position for
    messages."""

    place: str
    values: dict[str, Any]
    kind: str | None = None
    text: str = ""


def entries_of(file: Path, types: Callable[[], Mapping[str, Type]]) -> Iterator[Entry]:
    """Returns the tuples and markers of a file in stream order. `types`: the types of the attributes so far, because
    XML contains only texts.

    A number that no double equals becomes a `Decimal`. Raises `DiagnosticError` RQ423 for an item that is neither tuple
    nor marker.
    """
    with file.open("rb") as stream:
        start = stream.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"PAR1"):
        return _parquet(file)
    return _xml(file, types) if start.startswith(b"<") else entries_in(lines_of(file, LONGEST_OUTPUT_LINE))


def unreadable(location: str, problem: object, hint: str | None = None) -> DiagnosticError:
    """Returns RQ423: the item is not part of a stream."""
    return failure("RQ423", f"{location}: {problem}", hint=hint)


# --- JSON Lines ----------------------------------------------------------------------------------------------


def entries_in(lines: Iterable[Line]) -> Iterator[Entry]:
    """Parses lines of JSON to tuples and markers. Raises `DiagnosticError` RQ423."""
    for line in lines:
        try:
            item = json_value(line.text, number_of) if line.is_utf8 else None
        except ValueError:
            item = None
        if not isinstance(item, dict):
            raise unreadable(line.place, "the line is not a JSON object")
        yield _entry(line.place, item)


def _entry(location: str, item: dict[str, Any]) -> Entry:
    for kind in ("accent", "punctuation"):
        if (text := item.get(f"${kind}")) is not None:
            return Entry(location, {}, kind, str(text))
    return Entry(location, {name: value for name, value in item.items() if value is not None})


# --- Parquet -------------------------------------------------------------------------------------------------


def _parquet(file: Path) -> Iterator[Entry]:
    from pyarrow import parquet

    row = 0
    try:
        with damage_told(), file.open("rb") as stream, parquet.ParquetFile(stream) as table:
            _check_columns(file, table.schema_arrow)
            for batch in table.iter_batches():
                columns = [python_values(column) for column in batch.columns]
                for values in zip(*columns, strict=True):
                    yield _row(f"{file}:{row}", batch.schema.names, values)
                    row += 1
    except Unreadable as problem:
        raise unreadable(str(file), f"it cannot be read as Parquet: {problem}") from None


def _check_columns(file: Path, schema: Any) -> None:
    """Raises `DiagnosticError` RQ423 for columns that no output has: of other types, or two of one name."""
    names = Counter[str](schema.names)
    for field in schema:
        if names[field.name] > 1:
            raise unreadable(str(file), f"two of its columns have the name `{field.name}`")
        if _OTHER_TYPES.match(str(field.type)):
            raise unreadable(str(file), f"its column `{field.name}` is of type {field.type}, as in no output")


_OTHER_TYPES = re.compile(".*(binary|time32|time64|duration|interval|extension|union)")
"""Arrow's names of types whose values cannot be values of a tuple."""


def _row(location: str, names: Sequence[str], values: Sequence[Any]) -> Entry:
    item = dict(zip(names, values, strict=True))
    for name, value in item.items():
        if isinstance(value, NoValue):
            raise unreadable(location, f"`{name}` has {value.reason}")
    return _entry(location, item)


# --- XML -----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s+|<accent:(\S+?)>[^<]*</accent:\1>|<([^\s<>/]+)>.*?</\2>|<[^<>]*/>", re.DOTALL | re.ASCII
)


def _xml(file: Path, types: Callable[[], Mapping[str, Type]]) -> Iterator[Entry]:
    """Yields the elements of an output."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        around = problem.object[problem.start : problem.start + MAX_BYTES]
        raise unreadable(f"{file}:{line}", f"the text has {not_utf8(around)}") from None
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        position = f"{file}:{line}"
        if match is None:
            raise unreadable(position, "the text is not an element of an output")
        at, token = match.end(), match[0]
        line += token.count("\n")
        if token.startswith("<accent:"):
            yield Entry(position, {}, "accent", xmltext.accent_wire(token, types()))
        elif token.startswith("<punct:"):
            yield Entry(position, {}, "punctuation", xmltext.punctuation_wire(token, types()))
        elif token.strip():
            yield Entry(position, _values(xmltext.leaves(token), types(), position))


def _values(texts: Mapping[str, str], types: Mapping[str, Type], location: str) -> dict[str, Any]:
    for name in sorted(texts.keys() - types.keys()):
        raise unreadable(location, f"the type of `{name}` is not known, and XML does not tell it", TYPES_HINT)
    try:
        return {name: _value(types[name], text) for name, text in texts.items()}
    except ValueError as problem:
        raise unreadable(location, problem, TYPES_HINT) from None


def _value(type_: Type, text: str) -> Any:
    """Returns the value of an element's text, as in JSON."""
    match type_.name:
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case "int" | "long" if re.fullmatch(WHOLE, text):
            return int(text)
        case "double" | "decimal" if text in NOT_FINITE:
            return text
        case "double" | "decimal" if re.fullmatch(REAL, text):
            return number_of(text)
        case "array":
            return json_value(text, number_of)
        case "string" | "timestamp" | "date" | "version":
            return text
        case _:
            raise ValueError(f"{text} is not a value of type {type_}")
