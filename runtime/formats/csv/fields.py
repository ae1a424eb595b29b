"""The columns that occur in files of CSV, and the types that their values have: what a tuple brings and nobody has
announced (`set drift`). A field without a value is none."""

from __future__ import annotations

from cedilla.runtime.formats.csv.blocks import CsvBlock
from cedilla.runtime.formats.jsonl.fields import OWN_NAMES, common, kind_of
from cedilla.runtime.items.csv_records import parse_record


def of_block(block: CsvBlock) -> dict[str, str]:
    """Column -> the kind that its values have in common, in the records of a block."""
    kinds: dict[str, set[str]] = {}
    for begin, end in zip(block.starts.tolist(), block.ends.tolist(), strict=True):
        try:
            item = parse_record(block.header.names, block.text[begin:end])
        except ValueError:
            continue
        for name, value in item.items():
            kinds.setdefault(name, set()).add(kind_of(value))
    return common((name, kind) for name, found in kinds.items() if name not in OWN_NAMES for kind in found)
