"""Finds the fields in lines of JSON and the kinds of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.plan.field_paths import FieldPath, levels, path_text
from cedilla.runtime.connectors.formats.jsonl.batches import plain_lines, read_json, tuple_lines
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.formats.lines.fields import OWN_NAMES, kind_of, of_rows, rows_within, written
from cedilla.runtime.connectors.formats.source import EVERYWHERE, FieldKinds, Span
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.nested import Paths, siblings

pc: Any = pyarrow.compute

_KINDS = {pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}


_NO_PATHS: Paths = {}


def of_block(block: Block, span: Span = EVERYWHERE, paths: Paths = _NO_PATHS) -> dict[str, FieldKinds]:
    """Maps each field in the tuples of a block to the kinds of its values. `span`: the bytes between which they begin.
    `paths`: those of attributes; values next to them are fields, too, by their paths."""
    starts, ends = rows_within(tuple_lines(block), span)
    if not len(starts) or block.exceeds is not None:
        return {}
    plain = plain_lines(block.text, starts, ends)
    columns = None if plain is None else _inferred(plain, len(starts), paths)
    item = partial(item_of, paths)
    kinds = (
        None if columns is None else _kinds(columns, lambda row: item(block.text[starts[row] : ends[row]]))
    )
    return of_rows(block, (starts, ends), item) if kinds is None else kinds


def item_of(paths: Paths, line: bytes) -> Mapping[str, Any]:
    """Returns the fields of a line by their names, or if attributes have paths by their paths. Raises `ValueError`."""
    item = parse_line(line.decode())
    return {path_text(keys): value for keys, value in siblings(item, paths)} if paths else item


def _kinds(
    columns: Mapping[str, pa.ChunkedArray], item: Callable[[int], Mapping[str, Any]]
) -> dict[str, FieldKinds] | None:
    """Returns the kinds of the columns of parsed lines; `None` if one is not a tuple. A column has one type for all
    of its numbers, so the line of the first value is parsed again."""
    first = cache(item)
    kinds: dict[str, FieldKinds] = {}
    for name, column in columns.items():
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


def _inferred(text: bytes, count: int, paths: Paths) -> dict[str, pa.ChunkedArray] | None:
    """Parses lines to columns; `None` if the parser refuses them, or the kind of a number is uncertain."""
    try:
        table = read_json(text, {}, infer=True)
    except pa.ArrowInvalid:
        return None
    columns = dict(zip(table.column_names, table.columns, strict=True))
    if paths:
        beside = siblings(_inner(columns, set(levels(paths.values()))), paths)
        columns = {path_text(keys): column for keys, column in beside if not isinstance(column, dict)}
    return None if table.num_rows != count or any(map(_is_uncertain, columns.values())) else columns


def _inner(
    columns: Mapping[str, pa.ChunkedArray], objects: Set[FieldPath], outer: FieldPath = ()
) -> dict[str, Any]:
    """Returns columns by their keys, and those inside of the objects on the way to some."""
    result: dict[str, Any] = {}
    for name, column in columns.items():
        keys = (*outer, name)
        is_open = pa.types.is_struct(column.type) and any(path[: len(keys)] == keys for path in objects)
        fields = column.type.fields if is_open else ()
        parts: dict[str, Any] = {field.name: pc.struct_field(column, [i]) for i, field in enumerate(fields)}
        result[name] = _inner(parts, objects, keys) if is_open else column
    return result


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
