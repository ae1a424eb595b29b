"""Finds the fields in lines of JSON and the kinds of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute

from cedilla.runtime.formats.jsonl.batches import plain_lines, read_json, tuple_lines
from cedilla.runtime.formats.lines.blocks import Block
from cedilla.runtime.formats.lines.fields import OWN_NAMES, kind_of, of_rows, rows_within, written
from cedilla.runtime.formats.source import EVERYWHERE, FieldKinds, Span
from cedilla.runtime.records.json_objects import parse_line

pc: Any = pyarrow.compute

_KINDS = {pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}


def of_block(block: Block, span: Span = EVERYWHERE) -> dict[str, FieldKinds]:
    """Maps each field in the tuples of a block to the kinds of its values. `span`: the bytes between which they
    begin."""
    starts, ends = rows_within(tuple_lines(block), span)
    if not len(starts) or block.exceeds is not None:
        return {}
    plain = plain_lines(block.text, starts, ends)
    table = None if plain is None else _inferred(plain, len(starts))
    kinds = None if table is None else _kinds(table, lambda row: block.text[starts[row] : ends[row]])
    return of_rows(block, (starts, ends), _item) if kinds is None else kinds


def _item(line: bytes) -> Mapping[str, Any]:
    return parse_line(line.decode())


def _kinds(table: pa.Table, line: Callable[[int], bytes]) -> dict[str, FieldKinds] | None:
    """Returns the kinds of the columns of parsed lines; `None` if one is no tuple. A column has one type for all of its
    numbers, so the line of the first value is parsed again."""
    first = cache(lambda row: _item(line(row)))
    kinds: dict[str, FieldKinds] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in OWN_NAMES or name == "\x01":
            continue
        row = -1 if column.null_count == len(column) else pc.index(column.is_valid(), True).as_py()
        try:
            kinds[name] = FieldKinds(
                "void" if row < 0 else written(kind_of(first(row)[name])), _kind_of_type(column.type)
            )
        except (ValueError, KeyError):
            return None
    return kinds


def _inferred(text: bytes, count: int) -> pa.Table | None:
    """Parses lines to a table; `None` if the parser refuses them, or the kind of a number is uncertain."""
    try:
        table = read_json(text, {}, infer=True)
    except pa.ArrowInvalid:
        return None
    return None if table.num_rows != count or any(map(_is_uncertain, table.columns)) else table


def _is_uncertain(column: pa.ChunkedArray) -> bool:
    """Returns True if parsed doubles may be whole numbers with many digits."""
    if not pa.types.is_floating(column.type):
        return False
    is_large = pc.any(pc.greater_equal(pc.abs(column), 2.0**63)).as_py()
    return bool(is_large) and not pc.any(pc.not_equal(pc.floor(column), column)).as_py()


def _kind_of_type(type_: pa.DataType) -> str:
    if pa.types.is_null(type_):
        return "void"
    if pa.types.is_struct(type_):
        return "struct"
    if pa.types.is_list(type_):
        return f"array<{_kind_of_type(type_.value_type)}>"
    return _KINDS.get(type_, "string")  # texts that look like moments
