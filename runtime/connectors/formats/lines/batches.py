"""Converts rows of text to Arrow batches. A strict and fast parser comes first; rows that it refuses are parsed one by
one, by the code that `validate` uses too.

A parser accepts all rows of a piece or refuses all of them, so a refused piece is halved until few rows are left.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.versions import key_of
from cedilla.compiler.plan.field_paths import CommaPath, EitherSignPath, FieldPath
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.connectors.formats.lines.local_times import moments_in
from cedilla.runtime.connectors.formats.source import CORRUPT
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.json_objects import JsonObject, read_strings, word
from cedilla.runtime.connectors.records.lines import too_long
from cedilla.runtime.connectors.records.nested import THOUSANDS
from cedilla.runtime.connectors.records.rejections import fault_in
from cedilla.runtime.connectors.records.values import elements_of, value_of_json

pc: Any = pyarrow.compute

_MAX_SINGLE_ROWS = 16
"""Maximum number of rows in a refused piece that are parsed one by one."""


def schema_of(types: Mapping[str, Type]) -> pa.Schema:
    """Returns the schema of batches of tuples."""
    fields = [(name, arrow_type(type_)) for name, type_ in types.items()]
    return pa.schema([*fields, (CORRUPT, pa.string()), (POSITION, pa.int64())])


@frozen
class TextBatches(ABC):
    """Makes batches of the tuples in blocks: a column for each attribute; `$corrupt`, null or the row's error (RQ301);
    `$position`."""

    types: Mapping[str, Type]

    @property
    def schema(self) -> pa.Schema:
        return schema_of(self.types)

    @abstractmethod
    def tuple_lines(self, block: Block) -> tuple[Places, Places]:
        """Returns the starts and ends of the rows of a block that are tuples."""

    @abstractmethod
    def parsed(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        """Returns the columns of rows that are one tuple each; `None` if the parser refuses some row."""

    @abstractmethod
    def item(self, row: bytes) -> JsonObject:
        """Returns the object in a row. Raises `ValueError` with the reason if the row is malformed."""

    def batch(self, block: Block, start: int) -> pa.RecordBatch:
        """Returns the tuples of a block. `start`: the position in the slice where its file begins."""
        starts, ends = self.tuple_lines(block)
        if block.exceeds is not None:
            pieces = [[*self.columns([({}, too_long(block.exceeds))] * len(starts)), pa.array(starts)]]
        else:
            pieces = list(self._pieces(block.text, starts, ends)) if len(starts) else []
        *columns, places = (
            one_array([piece[n] for piece in pieces]) if pieces else pa.array([], field.type)
            for n, field in enumerate(self.schema)
        )
        positions = pa.array(block.positions_of(places.to_numpy(), start))
        return pa.record_batch([*columns, positions], schema=self.schema)

    def _pieces(self, text: bytes, starts: Places, ends: Places) -> Iterator[list[pa.Array]]:
        """Yields the columns and positions of rows, one list for each piece that is parsed at once."""
        columns = self.parse_block(text, starts, ends)
        if columns is not None:
            yield columns
        elif len(starts) <= _MAX_SINGLE_ROWS:
            yield self.parse_rows(text, starts, ends)
        else:
            half = len(starts) // 2
            yield from self._pieces(text, starts[:half], ends[:half])
            yield from self._pieces(text, starts[half:], ends[half:])

    def parse_block(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        """Returns the columns of `parsed` and the positions of the tuples in the text; `None` if the parser refuses."""
        columns = self.parsed(text, starts, ends)
        if columns is None or may_be_beyond(columns, text):
            return None
        return [*columns, pa.array(starts)]

    def with_rows(
        self, columns: list[pa.Array], odd: Any, text: bytes, starts: Places, ends: Places
    ) -> list[pa.Array] | None:
        """Returns the columns after parsing each odd row separately; `None` if that is not possible."""
        places = np.flatnonzero(odd)
        if not len(places):
            return columns
        if any(type_.element is not None for type_ in self.types.values()):
            return None
        rows = self._read([text[starts[n] : ends[n]] for n in places])
        mask = pa.array(odd)
        return [pc.replace_with_mask(column, mask, row) for column, row in zip(columns, rows, strict=True)]

    # --- row by row ---

    def parse_rows(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array]:
        """Returns the columns and positions of few rows, each parsed separately."""
        rows = [text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return [*self._read(rows), pa.array(starts)]

    def _read(self, rows: list[bytes]) -> list[pa.Array]:
        return self.columns([self._row(text) for text in rows])

    def columns(self, rows: Sequence[tuple[Mapping[str, Any], str | None]]) -> list[pa.Array]:
        """Returns the columns of rows, given as pairs of values and error."""
        values: dict[str, list[Any]] = {name: [] for name in self.types}
        corrupt: list[str | None] = []
        for row, error in rows:
            corrupt.append(error)
            for name, column in values.items():
                column.append(row.get(name))
        columns = [pa.array(values[name], arrow_type(type_)) for name, type_ in self.types.items()]
        return [*columns, pa.array(corrupt, pa.string())]

    def row_error(self, row: bytes) -> str | None:
        """Returns the error in a row as text (RQ301), `None` for a valid row."""
        return self._row(row)[1]

    def _row(self, text: bytes) -> tuple[dict[str, Any], str | None]:
        """Returns the values of a row and its error; one of the two is empty."""
        try:
            item = self.item(text)
        except ValueError as problem:
            return {}, str(problem)
        return self.convert_row(item)

    def convert_row(self, item: JsonObject) -> tuple[dict[str, Any], str | None]:
        """Returns the values of an object, converted to the attributes' types, and the error of the first that does not
        fit."""
        texts = read_strings(item, self.types)
        row: dict[str, Any] = {}
        for name, type_ in self.types.items():
            try:
                row[name] = None if item.get(name) is None else arrow_value(type_, texts[name])
            except ValueError:
                return {}, fault_in(item, name, type_)
        return row, None


def joined(text: bytes, starts: Places, ends: Places) -> bytes:
    """Returns the bytes of some rows, perhaps with a line feed after the last one. Adjacent rows are not joined
    again."""
    if np.array_equal(ends[:-1] + 1, starts[1:]):
        return text[starts[0] : ends[-1] + 1]
    return b"\n".join(text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True))


def one_array(chunks: Sequence[pa.Array]) -> pa.Array:
    """Returns chunks of a column as one array; a single chunk is not copied."""
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def is_utf8(text: bytes) -> bool:
    """Returns True if a text is valid UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


_LONG_EXPONENT = re.compile(rb"[eE][+-]?[0-9]{3}")


def crashes_parsers(text: bytes, types: Iterable[pa.DataType]) -> bool:
    """Returns whether a text may have a number that ends the process: pyarrow 26 parses `1e-999999999` as a decimal
    with a table of powers of ten, and reads beyond its end."""
    return any(map(pa.types.is_decimal, types)) and _LONG_EXPONENT.search(text) is not None


_MANY_DIGITS = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{200}")


def may_be_beyond(columns: Iterable[pa.Array], text: bytes) -> bool:
    """Returns whether an infinity in some columns may come from a number beyond doubles, and not from a word."""
    values = (column.flatten() if pa.types.is_list(column.type) else column for column in columns)
    doubles = (column for column in values if pa.types.is_float64(column.type))
    return any(pc.any(pc.is_inf(column)).as_py() for column in doubles) and bool(_MANY_DIGITS.search(text))


def fits(column: pa.Array) -> bool:
    """Returns True if every decimal fits the precision of its type, which parsers do not check."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def numbers_in_texts(texts: pa.Array, type_: Type, path: FieldPath = ()) -> tuple[pa.Array, Any]:
    """Returns the numbers in texts of the usual form, and a mask of the other texts. `path`: that of the attribute,
    which tells the decimal sign."""
    comma, either = isinstance(path, CommaPath), isinstance(path, EitherSignPath)
    form = _usual(type_).replace(r"\.", "[.,]" if either else "," if comma else r"\.")
    is_usual = pc.match_substring_regex(texts, form)
    if either:
        is_usual = pc.and_not(is_usual, pc.match_substring_regex(texts, THOUSANDS))
    usual = pc.if_else(is_usual, texts, None)
    numbers = (pc.replace_substring(usual, ",", ".") if comma else usual).cast(arrow_type(type_))
    is_odd = pc.fill_null(pc.invert(is_usual), False)
    return numbers, is_odd.to_numpy(zero_copy_only=False)


def _usual(type_: Type) -> str:
    """Returns a regular expression for texts that a cast to a type reads correctly."""
    match type_.name:
        case "int" | "long":
            return f"^-?[0-9]{{1,{9 if type_.name == 'int' else 18}}}$"
        case "decimal":
            digits, scale = type_.parameters
            before = f"[0-9]{{1,{digits - scale}}}" if digits > scale else "0"
            return rf"^-?{before}(\.[0-9]{{1,{scale}}})?$" if scale else f"^-?{before}$"
        case _:
            return r"^-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?$"


def whole_numbers(texts: pa.Array, type_: Type) -> pa.Array | None:
    """Returns whole numbers from texts that may end in a point and zeros, as pandas writes them; `None` if some text is
    not a whole number."""
    try:
        return pc.replace_substring_regex(texts, r"\.0*$", "").cast(arrow_type(type_))
    except pa.ArrowInvalid:
        return None


_MOMENT = {
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?$",
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}
"""The usual form of a moment; a cast checks whether it is valid."""
_MICROSECONDS = len("2020-01-02T03:04:05.123456")
"""Length of the usual form; further digits are cut off."""


FROM_TEXTS = ("timestamp", "date", "version")
"""The types whose values are texts in tuples, and something else in columns."""


def read_texts(texts: pa.Array, type_: Type) -> pa.Array | None:
    """Returns the values of texts, of a type of `FROM_TEXTS`; `None` if some text has none."""
    return keys_of(texts) if type_.name == "version" else moments_of(texts, type_)


def keys_of(texts: pa.Array) -> pa.Array | None:
    """Returns the keys of versions; `None` if some text is not one. Each version is read once."""
    encoded = texts.dictionary_encode()
    try:
        keys = [*map(key_of, encoded.dictionary.to_pylist())]
    except ValueError:
        return None
    return pa.array(keys, pa.string()).take(encoded.indices)


def moments_of(texts: pa.Array, type_: Type) -> pa.Array | None:
    """Returns the timestamps or dates of texts; `None` if some text is not one, or is a local time without
    one moment."""
    kind = arrow_type(type_)
    is_usual = pc.match_substring_regex(texts, _MOMENT[type_.name])
    # The year 0 is invalid here.
    is_usual = pc.and_(is_usual, pc.invert(pc.starts_with(texts, "0000")))
    others = pc.and_(pc.is_valid(texts), pc.invert(is_usual))
    usual = pc.utf8_rtrim(pc.if_else(is_usual, texts, None), "Z")
    if (pc.max(pc.binary_length(usual)).as_py() or 0) > _MICROSECONDS:
        usual = pc.utf8_slice_codeunits(usual, 0, _MICROSECONDS)
    try:
        cast = usual.cast(pa.date32() if type_.name == "date" else pa.timestamp("us"))
        if type_.zone is not None:
            is_utc = pc.ends_with(texts, "Z")
            moments = moments_in(pc.if_else(is_utc, None, cast), type_.zone)
            if moments is None:
                return None
            cast = pc.if_else(is_utc, cast, moments)
        if not pc.any(others).as_py():
            return cast.cast(kind)
        number = pa.int32() if type_.name == "date" else pa.int64()
        values = cast.cast(number).to_pylist()
        for n in np.flatnonzero(others.fill_null(False).to_numpy(zero_copy_only=False)).tolist():
            values[n] = value_of_json(type_, texts[n].as_py())
        return pa.array(values, number).cast(kind)
    except (pa.ArrowInvalid, ValueError):
        return None


def arrow_value(type_: Type, value: Any) -> Any:
    """Converts a JSON value for Arrow. Raises `ValueError` if it is not of the type."""
    if type_.element is not None:
        element = type_.element
        return [arrow_value(element, item) for item in elements_of(value)]
    read = value_of_json(type_, value)
    match type_.name:
        case "double":
            odd = word(value)
            return float(value) if odd is None else odd
        case "decimal":
            number = Fraction(read)  # type: ignore[arg-type]
            return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
        case _:
            return read


_EXACT = Context(prec=80)
