"""Parses CSV (RFC 4180): the bounds of records, their fields, and the values of fields.

The first record of a file names the columns. The separator of fields is the most frequent one of `SEPARATORS` in the
file's first line, outside of quotes; a comma without any. A field in double quotes may contain separators, line
ends and doubled quotes. Quotes count only if the first one begins the field, the last one precedes a separator or a
line end, and the record is not longer than `MAX_RECORD`. An unclosed quote therefore affects only its own line.

A text has the value that it would have in a JSON line if it is a number, `true` or `false`; otherwise it is a string.
The value of a string attribute is always the unchanged text. A field without a text and without quotes is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from decimal import Decimal
from functools import cache
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.syntax.settings import LARGEST, size_text
from cedilla.runtime.connectors.records.json_objects import JsonObject, decimal_of, parse_array

MAX_RECORD = 1 << 20
"""Maximum number of bytes of a record of several lines."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark, which may precede the first record."""
SEPARATORS = ",;\t|"
"""Signs that may separate fields; of equally frequent ones the first counts."""
MALFORMED = "the record has an open quote, signs next to a quoted text, or is not UTF-8"

MARKER_NAMES = ("$accent", "$punctuation")
NO_MARKERS = (
    "a line of a CSV file looks like a marker, but CSV files cannot contain markers",
    'write markers into a folder of JSON Lines files: `markers "ops/..."` on the stream; `validate --markers FOLDER`',
)
"""Message and hint for such a line (RQ212)."""
BAD_HEADER = "RQ426"

_LINE = re.compile(rb"[^\r\n]*+(\r\n|\n|\r|\Z)")
_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_FIRST_LINE = re.compile(rb"(?:[ \t]*(?:\r\n|\n|\r))*([^\r\n]*)")
_QUOTED = re.compile(rb'"(?:[^"]++|"")*+(?:"|\Z)')
_NUMBER = re.compile(r"[ \t]*([+-]?(?:[0-9]+(\.[0-9]*)?|(\.[0-9]+))([eE][+-]?[0-9]+)?)[ \t]*")
_MAX_NUMBER_LENGTH = 1000
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_WORDS = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}
_MARKER = re.compile(r"""[^\w$,;]*\$(?:accent|punctuation)\b""")


@frozen
class Header:
    """The names of a file's columns, and the separator of its fields. `problem`: the reason why they cannot be read."""

    names: tuple[str, ...]
    separator: str = ","
    problem: str | None = None


def separator_of(text: bytes) -> str:
    """Returns the separator of a file's fields. `text`: its beginning, with the first line that is not blank, if only
    of spaces and tabs."""
    match = _FIRST_LINE.match(text.removeprefix(MARK))
    line = _QUOTED.sub(b"", match[1] if match else b"")
    return max(SEPARATORS, key=lambda sign: line.count(sign.encode()))


def blank(separator: str | None) -> bytes:
    """Returns the characters of a blank line; `None`: before the header."""
    return b" " if separator == "\t" else b" \t"


@cache
def _record(separator: str) -> re.Pattern[bytes]:
    sign = re.escape(separator.encode())
    field = rb'(?:"(?:[^"]++|"")*+"(?=[%b\r\n]|\Z)|[^%b\r\n]*+)' % (sign, sign)
    return re.compile(rb"%b(?:%b%b)*+(\r\n|\n|\r|\Z)" % (field, sign, field))


@cache
def _field(separator: str) -> re.Pattern[str]:
    sign = re.escape(separator)
    return re.compile(rf'("(?:[^"]++|"")*+"(?={sign}|\Z)|[^{sign}]*+)({sign}|\Z)')


def bounds(text: bytes, begin: int, separator: str, *, is_last: bool) -> tuple[list[tuple[int, int]], int]:
    """Returns the bounds of records from a byte of a text on, and the start of the rest, which needs more bytes.
    `is_last`: the text ends the file."""
    records: list[tuple[int, int]] = []
    at = begin
    while at < len(text):
        most = at + MAX_RECORD
        line, record = _LINE.match(text, at), _record(separator).match(text, at, most)
        assert line is not None
        assert record is not None
        is_plain = b'"' not in line[0]
        is_open = line.end() == len(text) and line[1] != b"\n"
        if not is_last and (is_open or (not is_plain and most >= len(text))):
            break
        if is_plain or (record.end() == most and most < len(text)):
            record = line
        records.append((at, record.start(1)))
        at = record.end()
    return records, at


def header_of(record: bytes, limit: int) -> Header:
    """Returns the names in a file's first record. `limit`: the greatest number of its bytes."""
    separator = separator_of(record)
    if len(record) > limit:
        return Header((), separator, f"its first line is longer than {size_text(limit)}")
    try:
        names = tuple((text or "").strip(" \t") for text in fields_of(record.decode(), separator))
    except ValueError:
        return Header((), separator, "its first line has an open quote, or is not UTF-8")
    twice = sorted({name for name in names if name and names.count(name) > 1})
    return Header(names, separator, f"its first line names `{twice[0]}` twice" if twice else None)


def bad_header(problem: str) -> tuple[str, str]:
    """Returns message and hint for a file whose first line names no columns (RQ426)."""
    return (
        f"a CSV file cannot be read: {problem}",
        "the names of its columns in the first line of each file, each once",
    )


def unknown_columns(header: str, columns: Set[str], source: str) -> tuple[str, str] | None:
    """Returns message and hint for a file whose first line names no attribute of a source (RQ426); `None` if it names
    one. `columns`: the columns of its attributes."""
    names = header_of(header.encode(), LARGEST).names
    if not columns or not columns.isdisjoint(names):
        return None
    message = f"a CSV file cannot be read: no attribute of `{source}` is a column of it"
    if any(_NUMBER.fullmatch(name) for name in names):
        return (
            f"{message}, and its first line looks like a record",
            "the first line of each file names its columns",
        )
    near = next((f"did you mean `{guess}` by `{n}`? " for n in names if (guess := suggest(n, columns))), "")
    return message, f"{near}known columns: {', '.join(sorted(columns))}"


def fields_of(record: str, separator: str) -> list[str | None]:
    """Returns the texts of a record's fields; `None` for absent ones. Raises `ValueError` if a quote is open."""
    texts: list[str | None] = []
    for field in _field(separator).finditer(record):
        text = field[1]
        if not text.startswith('"'):
            texts.append(text or None)
        elif len(text) > 1 and text.endswith('"') and _is_quoted(text):
            texts.append(text[1:-1].replace('""', '"'))
        else:
            raise ValueError(MALFORMED)
        if not field[2]:
            break
    return texts


def _is_quoted(text: str) -> bool:
    return '"' not in text[1:-1].replace('""', "")


def parse_record(header: Header, record: bytes) -> JsonObject:
    """Returns the object of a record. Raises `ValueError` with the reason if it is malformed."""
    try:
        text = record.decode()
    except ValueError:
        raise ValueError(MALFORMED) from None
    fields = fields_of(text, header.separator)
    if len(fields) != len(header.names):
        raise ValueError(
            f"the record has {len(fields)} fields, the first line of its file {len(header.names)}"
        )
    values = {name: field for name, field in zip(header.names, fields, strict=True) if field is not None}
    item = JsonObject({name: value_of(field) for name, field in values.items()})
    item.line, item.written = text, values
    return item


def without_none(item: JsonObject, none: Set[str]) -> JsonObject:
    """Removes the fields of a record whose text is one of the words for an undefined value, with or without quotes."""
    for name in [name for name, text in item.written.items() if text in none] if none else ():
        del item[name]
    return item


def number_in(text: str) -> int | Decimal | None:
    """Returns the number in a text; `None` if it is not a number."""
    if (match := _NUMBER.fullmatch(text)) is None or len(text) > _MAX_NUMBER_LENGTH:
        return None
    is_whole = match[2] is None and match[3] is None and match[4] is None
    return int(match[1]) if is_whole else decimal_of(match[1])


def value_of(text: str) -> Any:
    """Returns the JSON value of a text: a number, a boolean, a list, or the text itself."""
    if (number := number_in(text)) is not None:
        return number
    plain = text.strip(" \t")
    if plain in _WORDS:
        return _WORDS[plain]
    return parse_array(plain) if plain.startswith("[") else text


def is_marker(record: str) -> bool:
    """Returns True if a record looks like a marker, which CSV cannot contain."""
    return _MARKER.match(record) is not None


def records_of(blocks: Iterator[bytes], limit: int) -> Iterator[tuple[bytes, int]]:
    """Yields the records of a file that are not blank, with their lines from 1. `blocks`: its bytes. A record of more
    than `limit` bytes may be cut off after them."""
    text, line, is_last = b"", 1, False
    at_begin, separator, has_header = True, ",", False
    while not is_last:
        chunk = next(blocks, b"")
        is_last, text = not chunk, text + chunk
        if at_begin and not is_last and len(text) < len(MARK):
            continue
        begin = len(MARK) if at_begin and text.startswith(MARK) else 0
        at_begin = False
        if not has_header:
            separator = separator_of(text[begin:])
        spans, rest = bounds(text, begin, separator, is_last=is_last)
        counted = begin
        for start, end in spans:
            line += line_ends(text[counted:start])
            counted = start
            if end - start > limit or text[start:end].strip(blank(separator if has_header else None)):
                has_header = True
                yield text[start:end], line
        line += line_ends(text[counted:rest])
        text = text[rest:]
        if is_endless(text, limit):
            has_header = True
            yield text[: limit + 1], line
            line, text = line + 1, _after_line(text, blocks)


def is_endless(rest: bytes, limit: int) -> bool:
    """Returns True if the rest of `bounds` begins with a line that is too long and has no end in it. A line end counts
    only once the byte after it is read."""
    return len(rest) > max(limit, MAX_RECORD) + len("\r\n")


def _after_line(text: bytes, blocks: Iterator[bytes]) -> bytes:
    """Reads on to the end of the line that a text begins with, and returns what was read after it."""
    for chunk in blocks:
        text = text[-1:] + chunk  # a return may belong to a feed that comes next
        if (end := _END.search(text)) is not None:
            return text[end.end() :]
    return b""


def line_ends(text: bytes) -> int:
    """Returns the number of line ends in a text."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
