"""Finds the fields in lines of JSON and the kinds of their values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute

from cedilla.runtime.formats.jsonl.batches import plain_lines, read_json, tuple_lines
from cedilla.runtime.formats.lines.blocks import Block
from cedilla.runtime.formats.lines.fields import OWN_NAMES, of_rows
from cedilla.runtime.records.json_objects import parse_line

pc: Any = pyarrow.compute

_KINDS = {pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}


def of_block(block: Block) -> dict[str, str]:
    """Maps each field in the tuples of a block to the common kind of its values."""
    starts, ends = tuple_lines(block)
    if not len(starts) or block.exceeds is not None:
        return {}
    plain = plain_lines(block.text, starts, ends)
    table = None if plain is None else _inferred(plain, len(starts))
    if table is not None:
        return {
            f.name: _kind_of_type(f.type)
            for f in table.schema
            if f.name not in OWN_NAMES and f.name != "\x01"
        }
    return of_rows(block, (starts, ends), lambda line: parse_line(line.decode()))


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
