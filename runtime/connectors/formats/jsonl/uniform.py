"""Parses lines of JSON with one form, as programs write them: the same keys in the same order, the same characters
between them, and plain values. Numpy finds the bounds of each value in such lines, and Arrow casts the texts.

Nothing is guessed. The first line gives the form, and every other line must equal it except for the values. Values must
be strings without escapes, or numbers, booleans and nulls of JSON. Other lines are refused. The passes over the bytes
release Python's lock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.formats.lines.batches import FROM_TEXTS, fits, read_texts, whole_numbers
from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.records.arrow_types import arrow_type

pc: Any = pyarrow.compute

_BLANK, _QUOTE, _MINUS, _DOT, _ZERO = b' "-.0'
_PAIR = re.compile(rb'"([^"]*)" *: *(?:"([^"]*)"|(-?[0-9][0-9.eE+-]*|true|false|null))')
_START = re.compile(rb"\{ *")
_COMMA = re.compile(rb' *, *(?=")')
_END = re.compile(rb" *\}")
_MAX_LENGTH = 64
"""Maximum number of characters of a number; longer ones need the exact parser."""
_LARGEST_TEXT = 1 << 30
"""Number of bytes that Arrow can count in 31 bits."""
_WORD = np.dtype("<u8")


@frozen
class _Value:
    """A value of a line. `name`: its key; `is_string`: it is in quotes."""

    name: str
    is_string: bool


@frozen(eq=False)
class _Form:
    """The form of lines: the values in order, and the bytes before, between and after them, including the quotes of
    strings."""

    values: Sequence[_Value]
    literals: Sequence[bytes]

    @property
    def quotes(self) -> int:
        """Returns the number of quotes in a line."""
        return sum(literal.count(b'"') for literal in self.literals)


def columns(text: bytes, starts: Places, ends: Places, types: Mapping[str, Type]) -> list[pa.Array] | None:
    """Returns the values of some attributes in lines, `None` if the lines do not have one form. `text`: UTF-8, the
    lines with a line feed between them, perhaps one at the end. `starts`, `ends`: the bounds of each line."""
    form = _form(text[: ends[0]])
    if form is None or len(text) > _LARGEST_TEXT or b"\\" in text:
        return None
    bounds = _bounds(text, starts, ends, form)
    if bounds is None:
        return None
    arrays: dict[str, pa.Array] = {}
    for value, (begin, end) in zip(form.values, bounds, strict=True):
        type_ = types.get(value.name)
        if type_ is None and value.is_string:
            continue
        column = _column(_texts(text, begin, end), type_, is_string=value.is_string)
        if column is None:
            return None
        arrays[value.name] = column
    return [arrays[n] if n in arrays else pa.nulls(len(starts), arrow_type(t)) for n, t in types.items()]


def _form(line: bytes) -> _Form | None:
    """Returns the form of a line; `None` unless it is an object of plain values with distinct keys."""
    values: list[_Value] = []
    literals: list[bytes] = []
    last, start = 0, _START.match(line)
    if start is None:
        return None
    at = start.end()
    while (pair := _PAIR.match(line, at)) is not None:
        begin, end = pair.span(3 if pair[2] is None else 2)
        values.append(_Value(pair[1].decode(), pair[2] is not None))
        literals.append(line[last:begin])
        last, at = end, pair.end()
        if (comma := _COMMA.match(line, at)) is None:
            literals.append(line[last:])
            is_whole = _END.fullmatch(line, at) is not None
            return (
                _Form(values, literals)
                if is_whole and len({value.name for value in values}) == len(values)
                else None
            )
        at = comma.end()
    return None


def _bounds(text: bytes, starts: Places, ends: Places, form: _Form) -> list[tuple[Places, Places]] | None:
    """Returns the starts and ends of each value in the lines; `None` if some line has another form.

    A line contains as many quotes as the form's literals, and these occur in order without overlap. Therefore no value
    contains a quote.
    """
    signs = np.frombuffer(text, np.uint8)
    if np.count_nonzero(signs < _BLANK) != len(text) - (ends - starts).sum():
        return None  # also inside lines
    quotes = np.flatnonzero(signs == _QUOTE)
    if len(quotes) != len(starts) * form.quotes:
        return None
    nth = quotes.reshape(len(starts), -1).T
    if (nth[0] < starts).any() or (nth[-1] >= ends).any():
        return None
    places, passed = [starts], form.literals[0].count(b'"')
    for literal in form.literals[1:-1]:
        places.append(nth[passed] - literal.index(b'"'))
        passed += literal.count(b'"')
    places.append(ends - len(form.literals[-1]))
    begins = [at + len(literal) for at, literal in zip(places, form.literals, strict=True)]
    bounds = list(zip(begins, places[1:], strict=False))
    are_apart = all((begin <= end).all() for begin, end in bounds)
    are_there = all(_have(text, at, literal) for at, literal in zip(places, form.literals, strict=True))
    return bounds if are_apart and are_there else None


def _have(text: bytes, places: Places, literal: bytes) -> bool:
    """Returns True if a literal occurs at all positions, one in each line."""
    if not text.startswith(literal, int(places[-1])):
        return False
    others = places[:-1]  # the last line comes after these, so words can be read to their ends
    if not len(others):
        return True
    words: Any = np.ndarray(len(text) - 7, _WORD, text, strides=(1,))
    for at in range(0, len(literal), 8):
        some = literal[at : at + 8]
        word, mask = (np.uint64(int.from_bytes(sample, "little")) for sample in (some, b"\xff" * len(some)))
        if not ((words[others + at] & mask) == word).all():
            return False
    return True


def _texts(text: bytes, begins: Places, ends: Places) -> pa.Array:
    """Returns the pieces of a text between some positions."""
    bounds = np.empty(2 * len(begins), np.int32)
    bounds[::2], bounds[1::2] = begins, ends
    pieces = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(text))
    return pieces.take(pa.array(np.arange(0, len(bounds) - 1, 2, dtype=np.int32)))


def _column(texts: pa.Array, type_: Type | None, *, is_string: bool) -> pa.Array | None:
    """Converts the texts of an attribute's values. Without a type, it only checks that they are JSON. `None` if the
    conversion is uncertain."""
    name = None if type_ is None else type_.name
    if is_string:
        if name in FROM_TEXTS:
            return read_texts(texts, type_)  # type: ignore[arg-type]
        return texts if name == "string" else None
    if name in (None, "boolean") and pc.all(pc.is_in(texts, _TRUTHS)).as_py():
        return texts.cast(pa.bool_())
    numbers = _numbers(texts) if name in (None, "int", "long", "double", "decimal") else None
    if numbers is None:
        return None
    try:
        column = numbers.cast(pa.float64() if type_ is None else arrow_type(type_))
    except pa.ArrowInvalid:  # too large, a fraction, or two points
        return whole_numbers(numbers, type_) if type_ is not None and name in ("int", "long") else None
    return column if name != "decimal" or fits(column) else None


_TRUTHS = pa.array(["true", "false"])
_ODD = "[^0-9.-]"
_WITH_EXPONENT = r"^(null|-?(0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]+)$"


def _numbers(texts: pa.Array) -> pa.Array | None:
    """Returns texts that are numbers of JSON, with null for `null`; each may still contain several points. `None` if
    some text is neither."""
    if _are_numbers(texts):
        return texts
    is_odd = pc.match_substring_regex(texts, _ODD)
    odd, others = texts.filter(is_odd), texts.filter(pc.invert(is_odd))
    if not len(odd) or not pc.all(pc.match_substring_regex(odd, _WITH_EXPONENT)).as_py():
        return None
    if pc.max(pc.binary_length(odd)).as_py() > _MAX_LENGTH or not (len(others) == 0 or _are_numbers(others)):
        return None
    return pc.if_else(pc.equal(texts, "null"), None, texts)


def _are_numbers(texts: pa.Array) -> bool:
    """Returns True if texts are numbers of JSON without exponents, apart from several points in one. They may contain
    only digits, points and minus signs."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[: len(texts) + 1]
    signs = np.frombuffer(data, np.uint8)[: bounds[-1]]
    first, last = bounds[:-1], bounds[1:] - 1
    length = last - first
    if length.min() < 0 or length.max() >= _MAX_LENGTH:
        return False
    heads = signs[first]
    others = np.count_nonzero(~_are_digits(signs))
    if others:
        minus = heads == _MINUS
        if others != np.count_nonzero(minus) + np.count_nonzero(signs == _DOT):
            return False
        first = first + minus
        if (first > last).any() or not _are_digits(signs[last]).all():
            return False
        heads = signs[first]
        if not _are_digits(heads).all():
            return False
    at = first[(heads == _ZERO) & (first < last)]
    return bool((signs[at + 1] == _DOT).all())


def _are_digits(signs: Any) -> Any:
    return (signs - np.uint8(_ZERO)) <= 9  # below 0 it wraps around
