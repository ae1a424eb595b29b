"""Records of CSV: both ways of finding their ends and both ways of parsing them, on odd and random ones."""

from __future__ import annotations

import io
from random import Random

import numpy as np
import pytest

from cedilla.runtime.connectors.formats.csv import blocks
from cedilla.runtime.connectors.formats.csv.batches import CsvBatches, RecordBatches
from cedilla.runtime.connectors.formats.csv.blocks import CsvPart
from cedilla.runtime.connectors.formats.lines.blocks import lines_at
from cedilla.runtime.connectors.records import csv_records
from cedilla.runtime.connectors.records.csv_records import Header, records_of
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from tests.kit.compare import exactly_same
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.csv_texts import ODD, SPOILT, text_of
from tests.runtime.connectors.formats.text_rows import TYPES, csv_blocks, rows_of


@pytest.mark.rest
@pytest.mark.parametrize("longest", [1 << 20, 30])
@pytest.mark.parametrize("seed", tiered(range(12)))
def test_records_end_where_they_end_however_a_file_is_cut(
    seed: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numpy and regular expressions; blocks of any size, and `simulate`'s own way."""
    chance = Random(f"{seed}, {longest}")
    monkeypatch.setattr(csv_records, "MAX_RECORD", longest)
    plain = 0
    for _ in range(60):
        text = text_of(chance)
        whole = csv_blocks(text, monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "_plain_bounds", lambda *_, **__: None)
            assert rows_of(csv_blocks(text, monkeypatch)) == rows_of(whole), text
        for size in (1, 2, 7, 50):
            assert rows_of(csv_blocks(text, monkeypatch, size)) == rows_of(whole), (size, text)
        size = chance.choice([1, 5, 100])
        read = list(records_of((text[n : n + size] for n in range(0, len(text), size)), LONGEST_LINE))
        assert [row for row, _ in read][1:] == [row for _, row in rows_of(whole)]
        monkeypatch.setattr(blocks, "opened_part", lambda part, text=text: io.BytesIO(text))
        located = lines_at(CsvPart("", 0), [position for position, _ in rows_of(whole)])
        assert [(row, line) for row, line in located] == read[1:]
        separator = csv_records.separator_of(text)
        plain += blocks._plain_bounds(text, 0, separator, is_last=True) is not None
    assert plain > 5 or longest == 30


@pytest.mark.parametrize("seed", tiered(range(12), 2))
def test_records_that_are_too_long_are_the_same_however_a_file_is_cut(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other records stay where they are, and no line is held that is much longer. A second first line has the same
    separator."""
    chance = Random(f"long {seed}")
    monkeypatch.setattr(csv_records, "MAX_RECORD", 30)
    for _ in range(30):
        limit = chance.choice([70, 90, 120])
        rest = text_of(chance)
        text = csv_records.separator_of(rest).join(TYPES).encode() + b"\n" + rest
        text = text.replace(b"today", b"today" * chance.choice([1, 1, 5, 40]))
        all_rows = dict(rows_of(csv_blocks(text, monkeypatch)))
        long = {position: row for position, row in all_rows.items() if len(row) > limit}
        for size in (1 << 22, 1, 7, 50, 200):
            actual = csv_blocks(text, monkeypatch, size, limit)
            assert {b.place: b.lines()[0].tolist() for b in actual if b.exceeds} == {at: [0] for at in long}
            rows = dict(rows_of(actual))
            assert rows.keys() == all_rows.keys()
            assert all(rows[position] == row for position, row in all_rows.items() if position not in long)
            assert all(row.startswith(rows[position][: limit + 1]) for position, row in long.items())
        read = [*records_of(iter([text[n : n + size] for n in range(0, len(text), size)]), limit)][1:]
        monkeypatch.setattr(blocks, "opened_part", lambda part, text=text: io.BytesIO(text))
        located = [*lines_at(CsvPart("", 0, longest=limit), sorted(all_rows))]
        assert [line for _, line in located] == [line for _, line in read]
        assert [row[: limit + 1] for row, _ in located] == [row[: limit + 1] for row, _ in read]


@pytest.mark.parametrize("seed", tiered(range(12), 2))
def test_all_at_once_is_the_same_as_record_by_record(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    batches = CsvBatches(TYPES)
    at_once = 0
    for _ in range(100):
        none = frozenset(chance.sample(["NA", "-", "", "5"], chance.choice([0, 0, 2])))
        for block in csv_blocks(text_of(chance), monkeypatch, none=none):
            rows = batches.batch(block, 1000).to_pylist()
            with monkeypatch.context() as patch:
                patch.setattr(RecordBatches, "parsed", lambda *_: None)
                expected = batches.batch(block, 1000).to_pylist()
            assert len(rows) == len(expected) == len(block.starts)
            for row, same_row, (_, text) in zip(rows, expected, rows_of([block]), strict=True):
                assert row["$corrupt"] == same_row["$corrupt"], text
                assert row["$position"] == same_row["$position"]
                is_bad = row["$corrupt"] is not None
                assert is_bad or all(exactly_same(row[name], same_row[name]) for name in TYPES), (
                    text,
                    row,
                    same_row,
                )
            at_once += bool(len(block.starts)) and (
                RecordBatches(TYPES, block.header).parsed(block.text, block.starts, block.ends) is not None
            )
    assert at_once > 20


@pytest.mark.parametrize("name", TYPES)
def test_every_odd_text_is_the_same_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time, so that none hides another."""
    batches = RecordBatches({name: TYPES[name]}, Header((name, "z")))
    for text in [*ODD[name], *SPOILT]:
        row = f"{text},1".encode("utf-8", "surrogateescape")
        at_once = batches.parse_block(row, np.array([0]), np.array([len(row)]))
        value, fault = batches._row(row)
        if at_once is not None:
            read = batches._read([row])
            assert fault is None, text
            assert exactly_same(at_once[0].to_pylist()[0], read[0].to_pylist()[0]), (text, value)
