"""Blocks of lines are those lines that Python's own text reader finds, however a file is cut into parts and blocks."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from cedilla.runtime.connectors.formats.lines.blocks import Part, lines_at, parts_of, place_of_row, row_count
from cedilla.runtime.connectors.records.lines import LONGEST_LINE, lines_of
from cedilla.runtime.engines.spark import costs
from tests.kit.tiers import tiered

LINES = [
    b'{"a": 1}',
    b'{"a": 1}',
    b'{"a": 1}',
    b"",
    b" ",
    b"\t ",
    b' {"b": "\xc3\xa4"}',
    b"x",
    b"{" * 40,
    b"\xff",
    b"\xe2\x80\xa8",
    b"\x0c",
]
ENDS = [b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\r\n"]


@pytest.mark.parametrize("seed", tiered(range(20), 6))
def test_lines_are_the_same_however_they_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = Random(seed)
    for number in range(30):
        file = tmp_path / f"{number}.jsonl"
        begin = b"\xef\xbb\xbf" if chance.random() < 0.3 else b""
        lines = [chance.choice(LINES) + chance.choice(ENDS) for _ in range(chance.randrange(30))]
        file.write_bytes(text := begin + b"".join(lines) + chance.choice([b"", *LINES]))
        monkeypatch.setattr(costs, "BLOCK", chance.choice([1, 2, 3, 5, 8, 1 << 22]))
        expected = [(line.text, int(line.place.rpartition(":")[2])) for line in lines_of(file)]
        parts = parts_of([(0, str(file), len(text))], chance.choice([1, 2, 3, 7, 20, 1 << 22]), LONGEST_LINE)
        # The lines that are not blank, without what is no part of them.
        actual = [
            block.text[begin:end].removesuffix(b"\r")
            for part in parts
            for block in part.blocks()
            for begin, end in zip(*map(list, block.lines()), strict=True)
        ]
        assert [line.decode("utf-8", "replace") for line in actual] == [shown for shown, _ in expected]
        whole = Part(str(file), 0)
        places = [block.place + begin for block in whole.blocks() for begin in map(int, block.lines()[0])]
        assert row_count(whole) == len(expected)
        assert all(block.count() == len(block.lines()[0]) for part in parts for block in part.blocks())
        assert [place_of_row(whole, n) for n in range(len(places) + 1)] == [*places, None]
        assert [row_count(whole, position) for position in places] == list(range(len(places)))
        some = [n for n in range(len(places)) if chance.random() < 0.5]
        located = list(lines_at(whole, [places[n] for n in some]))
        assert [number for _, number in located] == [expected[n][1] for n in some]
        assert [line for line, _ in located] == [actual[n] for n in some]


def test_a_compressed_file_is_one_part() -> None:
    parts = parts_of([(3, "a.jsonl.GZ", 100), (4, "b.jsonl", 100), (5, "c.jsonl", 10)], 60, LONGEST_LINE)
    assert parts == [
        Part("a.jsonl.GZ", 3, length=100),
        Part("b.jsonl", 4, 0, 50, length=100),
        Part("b.jsonl", 4, 50, length=100),
        Part("c.jsonl", 5, length=10),
    ]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_lines_that_are_appended_after_a_file_was_listed_are_not_read(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2"}.get(pack, "")
    file = tmp_path / f"1.jsonl{suffix}"
    listed = pack(b'{"a": 1}\n{"a": 2}\n{"a')
    file.write_bytes(listed + pack(b'": 3}\n{"a": 4}\n'))
    for size in (8, 1 << 20):
        parts = parts_of([(0, str(file), len(listed))], size, LONGEST_LINE)
        text = b"".join(block.text for part in parts for block in part.blocks())
        assert text == b'{"a": 1}\n{"a": 2}\n{"a'
