"""Small files are parsed together as if each were parsed alone (theory G34); their statistics are those of their
rows."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Part, Places
from cedilla.runtime.connectors.formats.lines.tuple_statistics import statistics_of
from cedilla.runtime.connectors.formats.lines.written_tuples import Tuples, groups_of
from cedilla.runtime.connectors.formats.source import CORRUPT, FileStatistics, InputFile
from cedilla.runtime.connectors.records.marker import NEXT_FILE
from cedilla.runtime.connectors.storage.parquet import ColumnStatistics
from tests.kit.compare import same
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.json_texts import TYPES, line_of
from tests.runtime.connectors.formats.line_files import together_and_alone

BATCHES = JsonBatches(TYPES)
MARKERS = ['{"$punctuation": "[ts < 5]"}', ' {"$accent": "[[i = 1, +(p: double)]]"} ', '{"$accnt": "[[]]"}']


def text_of(chance: Random, odd: float) -> bytes:
    """Returns the bytes of a file with few lines, with and without a byte order mark, blank lines and a last end."""
    lines = [
        chance.choice(MARKERS) if chance.random() < 0.2 else line_of(chance, odd)
        for _ in range(chance.choice([0, 1, 1, 2, 5]))
    ]
    text = chance.choice(["\n", "\n", "\r\n", "\n\n"]).join(lines).encode("latin-1", "backslashreplace")
    mark = b"\xef\xbb\xbf" * chance.choice([0, 0, 0, 1, 2])
    return mark + text + chance.choice([b"", b"\n", b"\r", b"\r\n", b" \n\n"])


@pytest.mark.parametrize("seed", tiered(range(40), 8))
def test_small_files_together_are_each_alone(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    texts = [text_of(chance, chance.choice([0, 0, 0.3])) for _ in range(chance.choice([1, 2, 12, 40]))]
    together, alone = together_and_alone(texts, BATCHES, TYPES, tmp_path, chance)
    assert together.schema == alone.schema
    assert together.num_rows == alone.num_rows
    for row, expected in zip(together.to_pylist(), alone.to_pylist(), strict=True):
        assert (row[POSITION], row[CORRUPT]) == (expected[POSITION], expected[CORRUPT])
        assert all(same(row[name], expected[name]) for name in TYPES)


def test_very_many_files_take_few_calls_of_the_parser(tmp_path: Path) -> None:
    texts = [b'{"ts": %d, "x": 0.5}\n' % n for n in range(500)]
    calls: list[int] = []

    class Counting(JsonBatches):
        def parsed_with_paths(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
            calls.append(len(starts))
            return super().parsed_with_paths(text, starts, ends)

    files = {n: InputFile(str(tmp_path / f"{n}.jsonl"), len(text)) for n, text in enumerate(texts)}
    for number, text in enumerate(texts):
        Path(files[number].path).write_bytes(text)
    parts = [Part(file.path, number) for number, file in files.items()]
    batches = Counting(TYPES)
    table = Tuples(groups_of(parts, files), batches.schema, batches, TYPES).table()
    assert table.column("ts").to_pylist() == [*range(500)]
    assert calls == [500]


def statistics_of_file(table: pa.Table, number: int) -> FileStatistics:
    """Returns the statistics of a file, value by value."""
    rows = [row for row in table.to_pylist() if row[POSITION] // NEXT_FILE == number]
    places = [row[POSITION] for row in rows]
    ranges: dict[str, ColumnStatistics] = {}
    for name, type_ in TYPES.items():
        axis = {"int": pa.int32(), "date": pa.int32()}.get(type_.name, pa.int64())
        values = pa.array([row[name] for row in rows], table.schema.field(name).type)
        is_ordered = type_.name not in ("string", "double", "boolean", "decimal")
        ends = values.drop_null().cast(axis).to_pylist() if is_ordered else []
        ranges[name] = ColumnStatistics(values.null_count, *((min(ends), max(ends)) if ends else ()))
    return FileStatistics(len(rows), ranges, (min(places), max(places) + 1) if rows else None)


@pytest.mark.parametrize("seed", tiered(range(20), 5))
def test_statistics_of_files_are_those_of_their_rows(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    texts = [text_of(chance, 0) for _ in range(chance.choice([1, 5, 30]))]
    table, _ = together_and_alone(texts, BATCHES, TYPES, tmp_path, chance)
    table = table.filter(table.column(CORRUPT).is_null())
    numbers = range(len(texts))
    assert statistics_of(table, numbers, TYPES) == {n: statistics_of_file(table, n) for n in numbers}
