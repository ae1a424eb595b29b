"""Finds the fields in lines of JSON and the types of their values: for attributes that nothing has announced (`set
drift`), and for the schema of an output without declaration.

Kinds of values have the names that Spark infers: a whole number is `bigint`, with more digits `decimal`; kinds with
nothing in common are `string`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.plan.field_paths import outer_keys
from cedilla.compiler.regions import POSITION
from cedilla.runtime.formats.jsonl.batches import plain_lines, read_json, tuple_lines
from cedilla.runtime.formats.lines.batches import joined
from cedilla.runtime.formats.lines.blocks import Block
from cedilla.runtime.formats.source import CORRUPT, FILE
from cedilla.runtime.records.json_objects import parse_line
from cedilla.runtime.records.nested import Paths

pc: Any = pyarrow.compute

OWN_NAMES = frozenset(
    ("", "$accent", "$punctuation", CORRUPT, POSITION, FILE, "$reject", "$beyond", "$inside", "$number")
)
"""Names that columns of fields cannot have (docs/limits.md)."""

_NUMBERS = ("bigint", "decimal", "double")
"""The kinds of numbers; each includes the kinds before it."""

_KINDS = {pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}


def of_block(block: Block) -> dict[str, str]:
    """Maps each field in the tuples of a block to the common kind of its values."""
    starts, ends = tuple_lines(block)
    if not len(starts) or block.exceeds is not None:
        return {}
    lines = joined(block.text, starts, ends)
    plain = plain_lines(block.text, starts, ends)
    table = None if plain is None else _inferred(plain, len(starts))
    if table is not None:
        return {
            f.name: _kind_of_type(f.type)
            for f in table.schema
            if f.name not in OWN_NAMES and f.name != "\x01"
        }
    rows = ((name, kind_of(value)) for line in lines.split(b"\n") for name, value in _fields(line).items())
    return common(rows)


def merged(kinds: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Merges the kinds of fields of the same name, in the order of names; fields that are always null become
    strings."""
    common_kinds = common(kinds)
    return {name: "string" if kind == "void" else kind for name, kind in common_kinds.items()}


def common(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Merges the kinds of fields of the same name; fields that are always null are `void`."""
    kinds: dict[str, set[str]] = {}
    for name, kind in fields:
        kinds.setdefault(name, set()).add(kind)
    return {name: reduce(_both, sorted(kinds[name])) for name in sorted(kinds)}


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


def without_paths(fields: Mapping[str, str], paths: Paths) -> dict[str, str]:
    """Excludes fields that are read under another name, or that a path begins with."""
    elsewhere = {*paths, *outer_keys(paths.values())}
    return {name: kind for name, kind in fields.items() if name not in elsewhere}


def _fields(line: bytes) -> Mapping[str, Any]:
    try:
        item = parse_line(line.decode())
    except ValueError:
        return {}
    return {name: value for name, value in item.items() if name not in OWN_NAMES}


def kind_of(value: Any) -> str:
    """Returns the kind of a JSON value."""
    match value:
        case None:
            return "void"
        case bool():
            return "boolean"
        case int():
            return "bigint" if -(2**63) <= value < 2**63 else "decimal" if abs(value) < 10**38 else "double"
        case float() | Decimal():
            return "double"
        case str():
            return "string"
        case list():
            kinds: list[str] = [kind_of(element) for element in value]  # type: ignore[reportUnknownVariableType]
            return f"array<{reduce(_both, kinds, 'void')}>"
        case _:
            return "struct"


def _both(one: str, other: str) -> str:
    """Returns the common kind of two kinds."""
    if one == other or other == "void":
        return one
    if one == "void":
        return other
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    if one.startswith("array<") and other.startswith("array<"):
        return f"array<{_both(one[6:-1], other[6:-1])}>"
    return "string"
