"""Finds the elements in tuples and the types of their texts, for attributes that nothing has announced (`set drift`).
An element without a text counts, with any type."""

from __future__ import annotations

from cedilla.runtime.formats.jsonl.fields import OWN_NAMES, common, kind_of
from cedilla.runtime.formats.xml.blocks import XmlBlock
from cedilla.runtime.formats.xml.markers import tuple_lines
from cedilla.runtime.records.xml_records import parse_element


def of_block(block: XmlBlock) -> dict[str, str]:
    """Maps each field in the tuples of a block to the common kind of its values."""
    kinds: dict[str, set[str]] = {}
    starts, ends = tuple_lines(block)
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        try:
            item = parse_element(block.text[begin:end])
        except ValueError:
            continue
        for name, value in item.items():
            kinds.setdefault(name, set()).add("void" if value == "" else kind_of(value))
    return common(
        (name, kind)
        for name, kinds_of_field in kinds.items()
        if name not in OWN_NAMES
        for kind in kinds_of_field
    )
