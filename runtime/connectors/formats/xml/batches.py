"""Converts elements of XML to Arrow batches: the texts of all elements of a name are cast at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import field, frozen

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.compiler.plan.field_paths import CommaPath, FieldPath
from cedilla.runtime.connectors.formats.lines.batches import (
    FROM_TEXTS,
    TextBatches,
    fits,
    is_utf8,
    joined,
    may_be_beyond,
    numbers_in_texts,
    read_texts,
    whole_numbers,
)
from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.connectors.formats.xml.blocks import XmlBlock
from cedilla.runtime.connectors.formats.xml.markers import tuple_lines
from cedilla.runtime.connectors.formats.xml.tags import Elements, Leaves, elements_of
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.json_objects import JsonObject
from cedilla.runtime.connectors.records.nested import Paths, by_names
from cedilla.runtime.connectors.records.xml_records import parse_element
from cedilla.runtime.connectors.records.xmltext import unescaped

pc: Any = pyarrow.compute

_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DOUBLE = rf"{_NUMBER}|^(NaN|[+-]?Infinity|[+-]INF)$"
_BLANKS = " \t\r\n"


@frozen
class XmlBatches(TextBatches):
    """Makes batches of the elements of tuples. `paths`: those of attributes with a decimal comma."""

    paths: Paths = field(factory=dict[str, FieldPath])

    def tuple_lines(self, block: Block) -> tuple[Places, Places]:
        assert isinstance(block, XmlBlock)
        return tuple_lines(block)

    def batch(self, block: Block, start: int) -> pa.RecordBatch:
        """Returns the tuples of a block, parsed at once if its elements are known."""
        assert isinstance(block, XmlBlock)
        elements = block.elements
        may_be = elements is not None and not elements.has_markers and is_utf8(block.text)
        columns = self._columns(elements) if elements is not None and may_be else None
        if columns is None or may_be_beyond(columns, block.text):
            return super().batch(block, start)
        return pa.record_batch([*columns, pa.array(block.starts + (start + block.place))], schema=self.schema)

    def item(self, row: bytes) -> JsonObject:
        """Returns the object in an element. An empty text is a value only for strings."""
        item = parse_element(row)
        for name in [name for name, value in item.items() if value == "" and self.types.get(name) != STRING]:
            del item[name]
        return by_names(item, self.paths)

    def parsed(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        plain = joined(text, starts, ends)
        elements = elements_of(plain) if is_utf8(plain) else None
        if elements is None or elements.has_markers or len(elements.starts) != len(starts):
            return None
        return self._columns(elements)

    def _columns(self, elements: Elements) -> list[pa.Array] | None:
        """Returns the columns of tuples; `None` if some may be invalid."""
        if any((np.diff(leaves.rows) == 0).any() for leaves in elements.leaves.values()):
            return None  # an element occurs twice
        count = len(elements.starts)
        columns: list[pa.Array] = []
        for name, type_ in self.types.items():
            leaves = elements.leaves.get(name.encode())
            column = pa.nulls(count, arrow_type(type_))
            if (
                leaves is not None
                and (column := _values(_texts(elements, leaves, count), type_, self.paths.get(name, ())))
                is None
            ):
                return None
            columns.append(column)
        return [*columns, pa.nulls(count, pa.string())]


def _texts(elements: Elements, leaves: Leaves, count: int) -> pa.Array:
    """Returns the raw texts of the elements of a name, without blanks around them; null for tuples that lack the
    element."""
    if len(leaves.rows) == count:
        at = pa.array(leaves.texts)
    else:
        places, is_missing = np.zeros(count, np.int64), np.ones(count, bool)
        places[leaves.rows], is_missing[leaves.rows] = leaves.texts, False
        at = pa.array(places, mask=is_missing)
    return pc.utf8_trim(elements.texts.take(at).view(pa.string()), characters=_BLANKS)


def _values(texts: pa.Array, type_: Type, path: FieldPath = ()) -> pa.Array | None:
    """Converts texts to a type; `None` if some are invalid or uncertain."""
    referring = pc.match_substring(texts, "&")
    if pc.any(referring).as_py():
        values = texts.to_pylist()
        for n in np.flatnonzero(referring.fill_null(False).to_numpy(zero_copy_only=False)).tolist():
            try:
                values[n] = unescaped(values[n])
            except ValueError:
                return None
        texts = pa.array(values, pa.string())
    if type_ == STRING:
        return texts
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if isinstance(path, CommaPath):
        numbers, is_odd = numbers_in_texts(texts, type_, path)
        return None if is_odd.any() else numbers
    if type_.name in FROM_TEXTS:
        return read_texts(texts, type_)
    if type_.name == "boolean":
        is_true = pc.equal(texts, "true")
        is_known = pc.or_(is_true, pc.equal(texts, "false"))
        return is_true if pc.all(is_known).as_py() is not False else None
    if not type_.is_numeric:
        return None
    # pyarrow 26 ends the process where it reads `1e-999999999` as a decimal (`crashes_parsers`).
    if type_.name == "decimal" and pc.any(pc.match_substring_regex(texts, "[eE][+-]?[0-9]{3}")).as_py():
        return None
    try:
        column = texts.cast(arrow_type(type_))
    except pa.ArrowInvalid:
        column = whole_numbers(texts, type_) if type_.name in ("int", "long") else None
    if column is None:
        return None
    return column if _is_exact(texts, column, type_) else None


def _is_exact(texts: pa.Array, column: pa.Array, type_: Type) -> bool:
    """Returns True if a cast has read all texts correctly."""
    if type_.name == "decimal":
        return fits(column) and pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py() is not False
    if type_.name in ("int", "long"):
        return not pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py()
    if pc.all(pc.is_finite(column)).as_py() is not False:
        return True
    return pc.all(pc.match_substring_regex(texts, _DOUBLE)).as_py() is not False
