"""Converts records of CSV to Arrow batches with `pyarrow.csv`.

The parser accepts more than Cedilla's CSV: quotes in the middle of fields, whole numbers in hexadecimal digits, other
words for infinities, invalid UTF-8 in unread columns. These cases are excluded before, or its result is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
from attrs import field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import CommaPath, FieldPath
from cedilla.runtime.connectors.formats.csv.blocks import CsvBlock, stand_well
from cedilla.runtime.connectors.formats.lines.alternatives import PathBatches
from cedilla.runtime.connectors.formats.lines.batches import (
    FROM_TEXTS,
    crashes_parsers,
    fits,
    is_utf8,
    joined,
    numbers_in_texts,
    one_array,
    read_texts,
    schema_of,
    whole_numbers,
)
from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.csv_records import (
    FALSE,
    MARK,
    TRUE,
    Header,
    parse_record,
    without_none,
)
from cedilla.runtime.connectors.records.json_objects import JsonObject
from cedilla.runtime.connectors.records.nested import Paths, by_names

pc: Any = pyarrow.compute

_NUMBER = r"^[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"
_DOUBLE = rf"{_NUMBER}|^(NaN|[+-]?Infinity|[+-]INF)$"


@frozen
class CsvBatches:
    """Makes batches of records, using the column names of their file. `paths`: the columns of attributes that have
    another name than theirs."""

    types: Mapping[str, Type]
    paths: Paths = field(factory=dict[str, FieldPath])

    @property
    def schema(self) -> pa.Schema:
        return schema_of(self.types)

    def batch(self, block: CsvBlock, start: int) -> pa.RecordBatch:
        """Returns the tuples of a block. `start`: the position in the slice where its file begins."""
        return RecordBatches(self.types, block.header, block.none, paths=self.paths).batch(block, start)


@frozen
class RecordBatches(PathBatches):
    """Makes batches of the records of a file with this header. `none`: as in `CsvBlock`."""

    header: Header
    none: Set[str] = frozenset()

    def tuple_lines(self, block: Block) -> tuple[Places, Places]:
        return block.lines()

    def item(self, row: bytes) -> JsonObject:
        return by_names(without_none(parse_record(self.header, row), self.none), self.paths)

    def parsed_with_paths(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        text, count = _records(text, starts, ends), len(starts)
        if text.startswith(MARK) or not is_utf8(text) or not stand_well(text, self.header.separator):
            return None
        text = self._without_quotes(text)
        places = self._places()
        if any(self.types[name].element is not None for name in places):
            return None
        kinds = {places[name]: self._parsed_as(name) for name in places}
        table = self._read_csv(text, kinds)
        if table is None:  # a whole number may have a point
            whole = {column_id: pa.string() for column_id, kind in kinds.items() if pa.types.is_integer(kind)}
            table = self._read_csv(text, kinds | whole) if whole else None
        if table is None or table.num_rows != count:
            return None
        texts = self._texts_to_look_at(text, table, places)
        columns: list[pa.Array] = []
        for name, type_ in self.types.items():
            if name not in places:
                columns.append(pa.nulls(count, arrow_type(type_)))
                continue
            column = one_array(table.column(places[name]).chunks)
            if texts is not None and places[name] in texts.column_names:
                form = _DOUBLE if type_.name == "double" else _NUMBER
                plain = pc.match_substring_regex(texts.column(places[name]), form)
                if pc.any(pc.invert(plain)).as_py():
                    return None
            if self._has_comma(name):
                column, is_odd = numbers_in_texts(pc.utf8_trim(column, " \t"), type_, self.paths[name])
                if is_odd.any():
                    return None
            elif type_.name in FROM_TEXTS:
                column = read_texts(column, type_)
            elif type_.name in ("int", "long") and column.type == pa.string():
                column = whole_numbers(column, type_)
            if column is None or (type_.name == "decimal" and not fits(column)):
                return None
            columns.append(column)
        return [*columns, pa.nulls(count, pa.string())]

    def _has_comma(self, name: str) -> bool:
        return isinstance(self.paths.get(name), CommaPath)

    def _parsed_as(self, name: str) -> pa.DataType:
        type_ = self.types[name]
        return pa.string() if type_.name in FROM_TEXTS or self._has_comma(name) else arrow_type(type_)

    def _places(self) -> dict[str, str]:
        """Returns the columns of `_read_csv` that hold attributes."""
        at = {name: n for n, name in enumerate(self.header.names)}
        columns = {name: self.paths.get(name, (name,))[0] for name in self.types}
        return {name: f"c{at[column]}" for name, column in columns.items() if column in at}

    def _without_quotes(self, text: bytes) -> bytes:
        """Returns records without quotes around words for an undefined value, so that the parser knows these."""
        words = [re.escape(word.encode()) for word in self.none if word and f'"{word}"'.encode() in text]
        if not words:
            return text
        sign = re.escape(self.header.separator.encode())
        pattern = rb'(?<![^%b\r\n])"(%b)"(?=[%b\r\n]|\Z)' % (sign, b"|".join(words), sign)
        return re.sub(pattern, rb"\1", text)

    def _texts_to_look_at(self, text: bytes, table: pa.Table, places: Mapping[str, str]) -> pa.Table | None:
        """Returns the texts of numbers that the parser may have misread."""
        kinds = {places[name]: self.types[name].name for name in places if not self._has_comma(name)}
        odd = {
            index
            for index, kind in kinds.items()
            if kind == "double" and pc.any(pc.invert(pc.is_finite(table.column(index)))).as_py()
        }
        if b"0x" in text or b"0X" in text:
            odd |= {index for index, kind in kinds.items() if kind in ("int", "long", "double", "decimal")}
        return self._read_csv(text, dict.fromkeys(odd, pa.string())) if odd else None

    def _read_csv(self, text: bytes, types: Mapping[str, pa.DataType]) -> pa.Table | None:
        return read_csv(text, len(self.header.names), types, self.header.separator, self.none)


def _records(text: bytes, starts: Places, ends: Places) -> bytes:
    """Returns the bytes of some records. The parser knows every kind of line end, and skips empty lines."""
    if (starts[1:] - ends[:-1] <= 2).all():
        return text[starts[0] : ends[-1]]
    return joined(text, starts, ends)


def read_csv(
    text: bytes,
    width: int,
    types: Mapping[str, pa.DataType],
    separator: str = ",",
    none: Set[str] = frozenset(),
) -> pa.Table | None:
    """Returns some of the columns `c0`, `c1` ... of records with `width` columns; `None` if the parser refuses them.
    `none`: words for a null."""
    if crashes_parsers(text, types.values()):
        return None
    reading = pyarrow.csv.ReadOptions(
        use_threads=False, block_size=len(text) + 1, column_names=[f"c{n}" for n in range(width)]
    )
    parsing = pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=b'"' in text)
    converting = pyarrow.csv.ConvertOptions(
        column_types=types or {"c0": pa.string()},
        include_columns=[*types] or ["c0"],
        null_values=["", *none],
        strings_can_be_null=True,
        quoted_strings_can_be_null="" in none,
        true_values=list(TRUE),
        false_values=list(FALSE),
    )
    try:
        return pyarrow.csv.read_csv(pa.BufferReader(text), reading, parsing, converting)
    except pa.ArrowInvalid:
        return None
