"""The elements that occur in those of tuples, and the types that their texts have: what a tuple brings and nobody has
announced (`set drift`). An element without a text is there, and has any type."""

from __future__ import annotations

from cedilla.runtime.formats.jsonl.fields import OWN_NAMES, common, kind_of
from cedilla.runtime.formats.xml.blocks import XmlBlock
from cedilla.runtime.formats.xml.markers import tuple_lines
from cedilla.runtime.items.xml_records import parse_element


def of_block(block: XmlBlock) -> dict[str, str]:
    """Field -> the kind that its values have in common, in the tuples of a block."""
    kinds: dict[str, set[str]] = {}
    starts, ends = tuple_lines(block)
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        try:
            item = parse_element(block.text[begin:end])
        except ValueError:
            continue
        for name, value in item.items():
            kinds.setdefault(name, set()).add("void" if value == "" else kind_of(value))
    return common((name, kind) for name, found in kinds.items() if name not in OWN_NAMES for kind in found)
