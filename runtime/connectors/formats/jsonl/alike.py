"""Reads lines of JSON that are written alike, as programs write them: the same keys in the same order, the same
characters between the values, and plain values. `alike.c` does so in one pass over the bytes, if there was a compiler
where Cedilla was installed; elsewhere `pyarrow.json` parses all lines.

Nothing is guessed. The first line gives the form, and every other line must equal it except for the values. Values must
be strings without escapes, or numbers, booleans and nulls of JSON. Other lines are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise

import numpy as np
import pyarrow as pa
from attrs import frozen

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.runtime.connectors.formats.lines.batches import (
    FROM_TEXTS,
    crashes_parsers,
    fits,
    is_utf8,
    read_texts,
)
from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.compiled import are_wanted, extension

_alike = extension("formats.jsonl._alike")
IS_THERE = _alike is not None and are_wanted()
"""True if lines that are written alike are read here."""

_PAIR = re.compile(rb'("([^"\\\0-\x1f]*)" *: *)(?:"[^"]*"|-?[0-9][0-9.eE+-]*|true|false|null)')
_START = re.compile(rb"\{ *")
_COMMA = re.compile(rb' *, *(?=")')
_END = re.compile(rb" *\}\r?")
_LARGEST_TEXT = 1 << 30
"""Number of bytes that Arrow can count in 31 bits."""
_WHOLE = -2
"""The result for lines that were all read. The number of a column asks for its doubles as texts."""

_SKIPPED, _LONG, _INT, _DOUBLE, _BOOLEAN, _TEXT, _NUMBER = b"xlidbsn"
_KINDS = {
    "long": _LONG,
    "int": _INT,
    "double": _DOUBLE,
    "boolean": _BOOLEAN,
    "string": _TEXT,
    "decimal": _NUMBER,
    **dict.fromkeys(FROM_TEXTS, _TEXT),
}
"""The kinds of columns in `alike.c`, by types. Values that are of no attribute are skipped."""


def columns(text: bytes, starts: Places, ends: Places, types: Mapping[str, Type]) -> list[pa.Array] | None:
    """Returns the values of some attributes in lines, `None` if the lines do not have one form. `starts`, `ends`: the
    bounds of each line."""
    if not IS_THERE or len(text) > _LARGEST_TEXT:
        return None
    form = _form(text[starts[0] : ends[0]])
    if form is None or not (text.isascii() or is_utf8(text[starts[0] : ends[-1]])):
        return None
    names = [key.decode() for key in form.keys]
    kinds = [_KINDS[types[name].name] if name in types else _SKIPPED for name in names]
    pieces = _pieces(text, starts, ends, form, kinds)
    if pieces is None:
        return None
    arrays = {name: pa.nulls(len(starts), arrow_type(type_)) for name, type_ in types.items()}
    for name, kind, piece in zip(names, kinds, pieces, strict=True):
        if name in types:
            array = _column(text, len(starts), kind, types[name], *piece)
            if array is None:
                return None
            arrays[name] = array
    return [*arrays.values()]


@frozen
class _Form:
    """The keys of lines in order, and the bytes before, between and after their values."""

    keys: Sequence[bytes]
    literals: Sequence[bytes]

    def with_kinds(self, kinds: Iterable[int]) -> bytes:
        """Returns the form as `alike.c` takes it, with the kinds of the columns."""
        *before, last = self.literals
        return b"".join(b"%b\0%c" % pair for pair in zip(before, kinds, strict=True)) + last


def _form(line: bytes) -> _Form | None:
    """Returns the form of a line; `None` unless it is an object of plain values with distinct keys."""
    keys, literals = list[bytes](), list[bytes]()
    last, start = 0, _START.match(line)
    if start is None:
        return None
    at = start.end()
    while (pair := _PAIR.match(line, at)) is not None:
        keys.append(pair[2])
        literals.append(line[last : pair.end(1)])
        last = at = pair.end()
        if (comma := _COMMA.match(line, at)) is None:
            literals.append(line[last:])
            is_whole = _END.fullmatch(line, at) is not None and len({*keys}) == len(keys)
            return _Form(keys, literals) if is_whole else None
        at = comma.end()
    return None


def _pieces(
    text: bytes, starts: Places, ends: Places, form: _Form, kinds: list[int]
) -> list[tuple[pa.Buffer, pa.Buffer]] | None:
    """Returns the values of each column, and the bits of those that are not null; `None` if a line is refused.
    `kinds`: those of the columns. Doubles with too many digits become texts there, which Arrow reads."""
    sizes = _sizes(kinds, len(starts))
    memory = pa.allocate_buffer(sum(map(sum, sizes)))
    while (result := _alike.read(text, starts, ends, form.with_kinds(kinds), memory)) >= 0:
        kinds[result] = _NUMBER
    if result != _WHOLE:
        return None
    cuts = [*accumulate(chain.from_iterable(sizes), initial=0)]
    parts = [memory.slice(begin, end - begin) for begin, end in pairwise(cuts)]
    return [*zip(parts[::2], parts[1::2], strict=True)]


def _sizes(kinds: Iterable[int], lines: int) -> list[tuple[int, int]]:
    """Returns the bytes for the values of each column, and for the bits of those that are not null; `alike.c` expects
    the same."""
    bits = (lines + 63) // 64 * 8
    of_kinds = {_SKIPPED: (0, 0), _BOOLEAN: (bits, bits), _INT: ((4 * lines + 7) // 8 * 8, bits)}
    return [of_kinds.get(kind, (8 * lines, bits)) for kind in kinds]


def _column(
    text: bytes, lines: int, kind: int, type_: Type, values: pa.Buffer, valid: pa.Buffer
) -> pa.Array | None:
    """Returns a column; `None` if some text has no value of its type."""
    has_nulls = bool((np.frombuffer(valid, np.uint8) != _ALL).any())
    bits, to = valid if has_nulls else None, arrow_type(type_)
    if kind not in (_TEXT, _NUMBER):
        return pa.Array.from_buffers(to, lines, [bits, values])
    # The bounds are those of the texts and of what lies between them.
    pieces = pa.StringArray.from_buffers(2 * lines - 1, values, pa.py_buffer(text))
    texts = pieces.take(pa.array(np.arange(0, 2 * lines - 1, 2, dtype=np.int32)))
    if bits is not None:
        texts = pa.StringArray.from_buffers(lines, *texts.buffers()[1:], bits)
    if kind == _TEXT:
        return texts if type_ == STRING else read_texts(texts, type_)
    if crashes_parsers(text, [to]):
        return None
    try:
        column = texts.cast(to)
    except pa.ArrowInvalid:  # too large, or with a fraction that its type has not
        return None
    return column if fits(column) else None


_ALL = 0xFF
