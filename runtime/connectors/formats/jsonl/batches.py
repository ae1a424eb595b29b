"""Converts lines of JSON to Arrow batches with `pyarrow.json`.

The parser accepts more than Cedilla's JSON: line ends inside objects, two objects on a line, other words for
infinities, invalid UTF-8, decimals with too many digits. These cases are excluded before, or its result is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.json
from attrs import frozen
from pyspark.sql import DataFrame

from cedilla.compiler.expressions.types import DOUBLE, STRING, Type
from cedilla.compiler.plan.field_paths import FieldPath, TextPath, outer_keys
from cedilla.runtime.connectors.formats.jsonl.alike import columns
from cedilla.runtime.connectors.formats.jsonl.markers import markers_in
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
)
from cedilla.runtime.connectors.formats.lines.blocks import BLANK, Block, Places, place_of
from cedilla.runtime.connectors.formats.lines.text_format import tuple_rows
from cedilla.runtime.connectors.formats.source import quoted
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.json_objects import DEEPEST, JsonObject, parse_line
from cedilla.runtime.connectors.records.nested import by_names
from cedilla.runtime.connectors.records.record_files import fault_of
from cedilla.runtime.connectors.records.rejections import no_object
from cedilla.runtime.engines.spark.workers import in_workers

pc: Any = pyarrow.compute


def tuple_lines(block: Block) -> tuple[Places, Places]:
    """Returns the starts and ends of the lines of a block that are tuples."""
    markers = markers_in(block) if block.markers is None else block.markers
    return tuple_rows(*block.lines(), markers)


@frozen
class JsonBatches(PathBatches):
    """Makes batches of lines of JSON."""

    def tuple_lines(self, block: Block) -> tuple[Places, Places]:
        return tuple_lines(block)

    def item(self, row: bytes) -> JsonObject:
        if fault := fault_of(row):
            raise ValueError(fault)
        try:
            return by_names(parse_line(row.decode().strip("\r")), self.paths)
        except ValueError as problem:
            raise ValueError(no_object(problem)) from None

    def parsed_with_paths(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        """Returns the columns of lines that are one object each; `None` if the parser refuses some line."""
        count = len(starts)
        if (alike := self._alike(text, starts, ends)) is not None:
            return [*alike, pa.nulls(count, pa.string())]
        if _may_be_deep(text, starts, ends):
            return None
        plain = plain_lines(text, starts, ends)
        if plain is None or not is_utf8(plain) or has_odd_words(plain):
            return None
        table = self._table(plain)
        if table is None or table.num_rows != count:
            return None
        corrupt: pa.Array = pa.nulls(count, pa.string())
        columns: list[pa.Array] = []
        odd: Any = np.zeros(count, bool)
        for name, type_ in self.types.items():
            if (keys := self._keys.get(name)) is None:
                columns.append(pa.nulls(count, arrow_type(type_)))
                continue
            column = one_array(table.column(keys[0]).chunks)
            column = pc.struct_field(column, keys[1:]) if len(keys) > 1 else column
            if keys in self._doubles and column.type == pa.float64():
                columns.append(column)
                continue
            if self._is_text(name, type_) and column.type != pa.string():
                column = column.cast(pa.string())
            if isinstance(keys, TextPath):
                column, is_odd = numbers_in_texts(column, type_, keys)
                odd |= is_odd
            elif type_.element is not None and column.flatten().null_count:
                return None
            elif type_.name in FROM_TEXTS:
                column = read_texts(column, type_)
                if column is None:
                    return None
            elif type_.name == "decimal" and not fits(column):
                return None
            elif pa.types.is_decimal(column.type) and type_.name in ("int", "long"):
                try:
                    column = column.cast(arrow_type(type_))
                except pa.ArrowInvalid:
                    return None
            columns.append(column)
        return self.with_rows([*columns, corrupt], odd, text, starts, ends)

    def _is_text(self, name: str, type_: Type) -> bool:
        return type_ == STRING or isinstance(self.paths.get(name), TextPath)

    def _alike(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        """Returns the values of lines that are written alike; `None` if they differ, or are not all plain fields."""
        keys = self._keys
        types = {path[0]: self.types[name] for name, path in keys.items()}
        are_plain = all(len(path) == 1 and not isinstance(path, TextPath) for path in keys.values())
        has_lists = any(type_.element is not None for type_ in types.values())
        if not are_plain or has_lists or len(types) < len(self.types):
            return None
        return columns(text, starts, ends, types)

    def _table(self, text: bytes) -> pa.Table | None:
        """Returns the parsed table of some lines, `None` if the parser refuses them.

        The parser first refuses a number or a boolean for a string; such a column is parsed again without a type, and a
        whole number becomes its text. It also refuses a whole number with a point or an exponent, which is then read as
        a decimal.
        """
        wanted = self.types
        parsed = {k: STRING if self._is_text(n, wanted[n]) else wanted[n] for n, k in self._keys.items()}
        types = {keys: parsed_as(type_) for keys, type_ in parsed.items()}
        while True:
            if crashes_parsers(text, types.values()):
                return None
            try:
                table = read_json(text, nested_types(types), infer=len(types) < len(parsed))
            except pa.ArrowInvalid as problem:
                if not _reads_otherwise(types, parsed, str(problem)):
                    return None
                continue
            numbers = parsed.keys() - types.keys()
            if any(_type_at(table.schema, keys) not in _AS_WRITTEN for keys in numbers - self._doubles):
                return None
            if any(type_.name == "decimal" and _may_be_texts(text, keys) for keys, type_ in parsed.items()):
                return None
            return None if numbers and _MINUS_ZERO.search(text) else table

    @property
    def _doubles(self) -> set[FieldPath]:
        """Returns the keys of doubles that a declaration reads from texts, and that may be numbers."""
        is_double = (name for name, type_ in self.types.items() if type_ == DOUBLE)
        return {keys for name in is_double if isinstance(keys := self.paths.get(name), TextPath)}

    @property
    def _keys(self) -> dict[str, FieldPath]:
        """Returns the keys of all attributes, except attributes whose name is the first key of a path."""
        outer = outer_keys(self.paths.values())
        return {
            name: self.paths.get(name, (name,))
            for name in self.types
            if name in self.paths or name not in outer
        }


def _reads_otherwise(
    types: dict[FieldPath, pa.DataType], wanted: Mapping[FieldPath, Type], problem: str
) -> bool:
    """Changes the types of values after the parser refused one; returns False if no other type helps."""
    if (match := _NO_STRING.search(problem)) is not None:
        keys = tuple(match[1].split("/"))
        return wanted.get(keys) == STRING and types.pop(keys, None) is not None
    whole = [keys for keys, type_ in types.items() if pa.types.is_integer(type_)]
    types.update(dict.fromkeys(whole, _WITH_POINT))
    return bool(whole) and _NO_INTEGER.search(problem) is not None


def nested_types(types: Mapping[FieldPath, pa.DataType]) -> dict[str, pa.DataType]:
    """Converts types by key paths to types of the fields of a line."""
    outer: dict[str, pa.DataType] = {}
    inner: dict[str, dict[FieldPath, pa.DataType]] = {}
    for (key, *rest), type_ in types.items():
        if rest:
            inner.setdefault(key, {})[tuple(rest)] = type_
        else:
            outer[key] = type_
    return outer | {key: pa.struct([*nested_types(inside).items()]) for key, inside in inner.items()}


def _type_at(types: pa.Schema | pa.StructType, keys: FieldPath) -> pa.DataType | None:
    """Returns the type at a path of keys; `None` if it is missing."""
    if (at := types.get_field_index(keys[0])) < 0:
        return None
    type_ = types.field(at).type
    return type_ if len(keys) == 1 else _type_at(type_, keys[1:]) if pa.types.is_struct(type_) else None


def plain_lines(text: bytes, starts: Places, ends: Places) -> bytes | None:
    """Returns lines without blanks around them if each begins with `{` and ends with `}`, else `None`.

    An object is complete between a `}` and a `{`, so none extends over a line end.
    """
    signs = np.frombuffer(text, np.uint8)
    lines = joined(text, starts, ends)
    if (signs[starts] == _BEGIN).all() and (signs[ends - 1] == _END).all():
        return lines
    for plain in _written_plainly(lines.removesuffix(b"\n")):
        if plain.startswith(b"{") and plain.endswith(b"}") and plain.count(b"}\n{") == len(starts) - 1:
            return plain
    return None


_BEGIN, _END = b"{}"
_LIST = ord("[")


def _may_be_deep(text: bytes, starts: Places, ends: Places) -> bool:
    """Returns True if a line has enough lists and objects to nest too deeply."""
    signs = np.frombuffer(text, np.uint8)
    begins = (signs == _LIST) | (signs == _BEGIN)
    if np.count_nonzero(begins[int(starts[0]) : int(ends[-1])]) - len(starts) <= DEEPEST:
        return False
    if int((ends - starts).max()) <= DEEPEST:
        return False
    places = np.flatnonzero(begins)
    return int((np.searchsorted(places, ends) - np.searchsorted(places, starts)).max()) > DEEPEST


def _written_plainly(text: bytes) -> Iterator[bytes]:
    text = text.replace(b"\r\n", b"\n").removesuffix(b"\r")
    yield text
    yield b"\n".join(line.strip(BLANK) for line in text.split(b"\n"))


_INFINITY = re.compile(rb"[:\[,][ \t]*-?Inf(?!inity)")


def has_odd_words(text: bytes) -> bool:
    """Returns True if the text may contain words that only the parser accepts as numbers."""
    if place_of(b"-NaN", b"N", text) >= 0:
        return True
    if place_of(b"Inf", b"I", text) < 0:
        return False
    return text.count(b"Inf") != text.count(b"Infinity") and _INFINITY.search(text) is not None


_NO_STRING = re.compile(r"Column\(/(.*)\) changed from string to (?:number|boolean)")
_NO_INTEGER = re.compile(r"Failed to convert JSON to int(?:32|64)")
"""The parser's error messages. If a later version changes them, such lines are parsed one by one."""
_WITH_POINT = pa.decimal128(38, 18)
"""The type for parsing numbers that may be whole."""
_AS_WRITTEN = (pa.int64(), pa.bool_())
_MINUS_ZERO = re.compile(rb"-0(?![.0-9eE])")


def read_json(text: bytes, types: Mapping[str, pa.DataType], *, infer: bool) -> pa.Table:
    """Parses lines of objects to a table of the fields in `types`; `infer`: also of the others."""
    # The parser counts no rows without columns. JSON texts never contain this name.
    schema = pa.schema([("\x01", pa.null()), *types.items()])
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    others = "infer" if infer else "ignore"
    parsing = pyarrow.json.ParseOptions(schema, unexpected_field_behavior=others)
    return pyarrow.json.read_json(pa.BufferReader(text), reading, parsing)


def _may_be_texts(text: bytes, keys: FieldPath) -> bool:
    """Returns True if some values may be strings: the parser accepts these as decimals, but not as doubles."""
    key = re.escape(keys[-1].encode())
    if b"\\" not in text and re.search(rb'"%b"[ \t\r]*:[ \t\r]*"' % key, text) is None:
        return False
    try:
        read_json(text, nested_types({keys: pa.float64()}), infer=False)
    except pa.ArrowInvalid:
        return True
    return False


def parsed_as(type_: Type) -> pa.DataType:
    """Returns the type to parse. The parser accepts invalid moments, so moments are parsed as texts."""
    return pa.string() if type_.name in FROM_TEXTS else arrow_type(type_)


# --- rows with a text ----------------------------------------------------------------------------------------


def with_row_faults(lines: DataFrame, types: Mapping[str, Type]) -> DataFrame:
    """Adds `fault` to rows with their JSON text as `raw`: the error in a value, null if another error rejects the
    row."""
    ddl = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in lines.schema.fields)
    return in_workers(lines, _RowFaults(JsonBatches(dict(types))), f"{ddl}, fault STRING")


@frozen
class _RowFaults:
    of: JsonBatches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue  # Spark would take it for the last one
            faults = [self.of.row_error(text.encode()) for text in batch.column("raw").to_pylist()]
            yield batch.append_column("fault", pa.array(faults, pa.string()))
