"""Finds the columns in CSV files and the types of their values, for attributes that nothing has announced (`set
drift`). Undefined values do not count."""

from __future__ import annotations

from cedilla.runtime.formats.csv.blocks import CsvBlock
from cedilla.runtime.formats.jsonl.fields import OWN_NAMES, common, kind_of
from cedilla.runtime.records.csv_records import parse_record, without_none


def of_block(block: CsvBlock) -> dict[str, str]:
    """Maps each column in the records of a block to the common kind of its values."""
    kinds: dict[str, set[str]] = {}
    if block.exceeds is not None:
        return {}
    for begin, end in zip(block.starts.tolist(), block.ends.tolist(), strict=True):
        try:
            item = without_none(parse_record(block.header, block.text[begin:end]), block.none)
        except ValueError:
            continue
        for name, value in item.items():
            kinds.setdefault(name, set()).add(kind_of(value))
    return common(
        (name, kind)
        for name, kinds_of_field in kinds.items()
        if name not in OWN_NAMES
        for kind in kinds_of_field
    )
