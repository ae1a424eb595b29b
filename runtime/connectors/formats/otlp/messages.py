"""Reads requests in protobuf: blocks of the messages of a file, and messages as Arrow arrays in the form of their
JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from cedilla.runtime.connectors.formats.lines.rows import RowBlock
from cedilla.runtime.connectors.formats.otlp.levels import Refused
from cedilla.runtime.connectors.records.otlp_proto import rows_of
from cedilla.runtime.engines.spark import costs


@frozen(eq=False)
class MessageBlock(RowBlock):
    """Whole messages, each after its length. A message counts as a line in places for people."""

    def line_ends(self, begin: int, end: int | None = None) -> int:
        last = len(self.text) if end is None else end
        return int(np.searchsorted(self.ends, last, "right") - np.searchsorted(self.ends, begin, "right"))

    def line_around(self, at: int) -> tuple[int, int]:
        number = int(np.searchsorted(self.starts, at, "right")) - 1
        return int(self.starts[number]), int(self.ends[number])


def message_blocks(stream: Any, begin: int, end: int | None, longest: int) -> Iterator[MessageBlock]:
    """Yields the messages that begin between two bytes of a file, in blocks of some megabytes. One that is too long is
    a block with its first bytes."""
    rows, size, first = list[bytes](), 0, begin
    for at, row, length in rows_of(stream, longest, begin=begin):
        if end is not None and at >= end:
            break
        is_long = length > longest
        if rows and (is_long or size + len(row) > costs.BLOCK):
            yield _block(rows, first)
            rows, size = [], 0
        if is_long:
            yield _block([row], at, exceeds=longest)
            continue
        first = first if rows else at
        rows.append(row)
        size += len(row)
    if rows:
        yield _block(rows, first)


def _block(rows: Sequence[bytes], first: int, exceeds: int | None = None) -> MessageBlock:
    ends = np.cumsum([len(row) for row in rows])
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    return MessageBlock(b"".join(rows), first, starts, ends, exceeds=exceeds)


def lists_of(owners: Sequence[Any], name: str, type_: pa.DataType) -> pa.ListArray:
    """Returns the lists in a field of messages. `name` and `type_`: those of the field in JSON, where an empty list is
    left out. Raises `Refused` if a number has more than 63 bits."""
    if not owners:
        return pa.array([], type_)
    field = owners[0].DESCRIPTOR.fields_by_camelcase_name[name]
    lists = [getattr(owner, field.name) for owner in owners]
    lengths = np.array([len(items) for items in lists])
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    items = [*chain.from_iterable(lists)]
    is_of_messages = field.message_type is not None
    values = _objects(items, type_.value_type) if is_of_messages else _scalars(items, field, type_.value_type)
    return pa.ListArray.from_arrays(offsets, values, mask=pa.array(lengths == 0))


def _objects(owners: Sequence[Any], type_: pa.StructType, missing: pa.Array | None = None) -> pa.StructArray:
    if not type_.num_fields or not owners:
        values = [None if is_missing else {} for is_missing in missing.to_pylist()] if missing else []
        return pa.array(values or [{}] * len(owners), type_)
    fields = owners[0].DESCRIPTOR.fields_by_camelcase_name
    chosen = _Choices(owners)
    columns = [_column(owners, fields[member.name], member.type, chosen) for member in type_]
    names = [member.name for member in type_]
    return pa.StructArray.from_arrays(columns, names, mask=missing)


class _Choices:
    """Which field of each union the messages have, found once."""

    def __init__(self, owners: Sequence[Any]) -> None:
        self._owners = owners
        self._of: dict[str, list[str | None]] = {}

    def are(self, field: Any) -> list[bool] | None:
        """Returns whether each message has a field; `None` if it has no presence, so that its default is left out."""
        if (union := field.containing_oneof) is not None:
            if union.name not in self._of:
                self._of[union.name] = [owner.WhichOneof(union.name) for owner in self._owners]
            return [name == field.name for name in self._of[union.name]]
        return [owner.HasField(field.name) for owner in self._owners] if field.has_presence else None


def _column(owners: Sequence[Any], field: Any, type_: pa.DataType, choices: _Choices) -> pa.Array:
    if pa.types.is_list(type_):
        return lists_of(owners, field.camelcase_name, type_)
    name, has = field.name, choices.are(field)
    if has is not None and not any(has):
        number = pa.int64() if field.message_type is None and _is_whole(field) else type_
        return pa.nulls(len(owners), number)
    if field.message_type is not None:
        assert has is not None
        missing = pa.array([not is_present for is_present in has])
        return _objects([getattr(owner, name) for owner in owners], type_, missing)
    if has is None:
        values = [getattr(owner, name) or None for owner in owners]
    else:
        values = [
            getattr(owner, name) if is_present else None
            for owner, is_present in zip(owners, has, strict=True)
        ]
    return _scalars(values, field, type_)


def _is_whole(field: Any) -> bool:
    return field.cpp_type in (
        field.CPPTYPE_INT32,
        field.CPPTYPE_INT64,
        field.CPPTYPE_UINT32,
        field.CPPTYPE_UINT64,
        field.CPPTYPE_ENUM,
    )


def _scalars(values: Sequence[Any], field: Any, type_: pa.DataType) -> pa.Array:
    """Returns values as an array; whole numbers, which JSON writes as texts, stay numbers."""
    try:
        return pa.array(values, pa.int64() if _is_whole(field) else type_)
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
        raise Refused from None
