"""The fields that occur in lines of JSON, and the types that their values have: what a tuple brings and nobody has
announced (`set drift`), and the schema of an output that nobody has told.

Kinds of values are named as Spark names them, which infers the same: a whole number is `bigint`, one of more digits
`decimal`; what has nothing in common is a `string`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.regions import POSITION
from cedilla.runtime.formats.jsonl.batches import plain_lines, read_json, tuple_lines
from cedilla.runtime.formats.lines.batches import joined
from cedilla.runtime.formats.lines.blocks import Block
from cedilla.runtime.formats.source import CORRUPT, FILE
from cedilla.runtime.items.json_objects import parse_line

pc: Any = pyarrow.compute

OWN_NAMES = frozenset(
    ("", "$accent", "$punctuation", CORRUPT, POSITION, FILE, "$reject", "$beyond", "$inside", "$number")
)
"""No column of a field can have these (docs/limits.md)."""

_NUMBERS = ("bigint", "decimal", "double")
"""The kinds of numbers; each holds those before it."""

_KINDS = {pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string"}


def of_block(block: Block) -> dict[str, str]:
    """Field -> the kind that its values have in common, in the tuples of a block."""
    starts, ends = tuple_lines(block)
    if not len(starts):
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


def merged(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What fields of the same name have in common, in the order of their names; what is always null, as a string."""
    together = common(found)
    return {name: "string" if kind == "void" else kind for name, kind in together.items()}


def common(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The same, where what is always null is `void`."""
    kinds: dict[str, set[str]] = {}
    for name, kind in found:
        kinds.setdefault(name, set()).add(kind)
    return {name: reduce(_both, sorted(kinds[name])) for name in sorted(kinds)}


def _inferred(text: bytes, count: int) -> pa.Table | None:
    """The lines as a table; `None` where the parser refuses them, or the kind of a number is uncertain."""
    try:
        table = read_json(text, {}, infer=True)
    except pa.ArrowInvalid:
        return None
    return None if table.num_rows != count or any(map(_is_uncertain, table.columns)) else table


def _is_uncertain(column: pa.ChunkedArray) -> bool:
    """Whether what was read as doubles may be whole numbers of many digits."""
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


def _fields(line: bytes) -> Mapping[str, Any]:
    try:
        item = parse_line(line.decode())
    except ValueError:
        return {}
    return {name: value for name, value in item.items() if name not in OWN_NAMES}


def kind_of(value: Any) -> str:
    """The kind of a value of JSON."""
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
            kinds: list[str] = [kind_of(each) for each in value]  # type: ignore[reportUnknownVariableType]
            return f"array<{reduce(_both, kinds, 'void')}>"
        case _:
            return "struct"


def _both(one: str, other: str) -> str:
    """What two kinds have in common."""
    if one == other or other == "void":
        return one
    if one == "void":
        return other
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    if one.startswith("array<") and other.startswith("array<"):
        return f"array<{_both(one[6:-1], other[6:-1])}>"
    return "string"
