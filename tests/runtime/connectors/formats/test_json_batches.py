"""The fast parser takes a block only where it says what the code line by line says: the same values, the same faults
(theory G34)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import pyarrow.json
import pytest

from cedilla.runtime.connectors.formats.jsonl import alike
from cedilla.runtime.connectors.formats.jsonl import fields as json_fields
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches, tuple_lines
from cedilla.runtime.connectors.formats.lines.blocks import Block
from tests.kit.compare import same
from tests.kit.tiers import rest, tiered
from tests.runtime.connectors.formats.json_texts import MOMENTS, TYPES, block_of

BATCHES = JsonBatches(TYPES)


@pytest.fixture(params=["compiled", rest("parsed")], autouse=True)
def is_compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the extension reads what it can, or `pyarrow.json` reads all."""
    is_there = request.param == "compiled" and alike._alike is not None
    monkeypatch.setattr(alike, "IS_THERE", is_there)
    return is_there


def parsed(text: bytes) -> Any:
    """The columns of lines, as they are parsed at once."""
    return BATCHES.parsed(text, *Block(text, 7).lines())


@pytest.mark.parametrize("seed", tiered(range(10), 2))
def test_all_at_once_is_the_same_as_line_by_line(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    at_once = 0
    for _ in range(150):
        block = block_of(chance, chance.choice([0, 0.01, 0.3]))
        at_once += compared(block, monkeypatch)
    assert at_once > 20


def compared(block: Block, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Returns True if the lines of a block are read at once. The result is that of reading one by one."""
    rows = BATCHES.batch(block, 1000).to_pylist()
    lines = [block.text[a:b] for a, b in zip(*map(list, tuple_lines(block)), strict=True)]
    with monkeypatch.context() as patch:
        patch.setattr(JsonBatches, "parsed", lambda *_: None)
        expected = BATCHES.batch(block, 1000).to_pylist()
    assert len(rows) == len(expected) == len(lines)
    for row, same_row, line in zip(rows, expected, lines, strict=True):
        assert row["$corrupt"] == same_row["$corrupt"], line
        is_bad = row["$corrupt"] is not None
        assert row["$position"] == same_row["$position"]
        assert is_bad or all(same(row[name], same_row[name]) for name in TYPES), line
    return parsed(b"\n".join(lines)) is not None


PLAIN = {
    "ts": ["1", "-5", "0", "9223372036854775807", "5.0", "-7.00"],
    "i": ["1", "-2147483648"],
    "d": ["1.25", "-0.5", "7", "1.250", "99999999.99", "1e2", "null"],
    "s": ['"a"', '""', "null", '"\u00e4"', '", {}"', '"x\x7f:"'],
    "x": ["1.5", "-0", "0", "-0.25", "12345678901234567890", "5e-05", "-1E+7", "null"],
    "b": ["true", "false", "null"],
    "at": [*(MOMENTS[n] for n in (0, 1, 4, 10)), "null"],
    "day": ['"2020-01-02"', '"1582-10-10"'],
    "n": ["7", "-0.5"],
    "o": ['"x"', '"$"'],
}
"""Values of lines that are written alike; `n` and `o` are of no attribute."""
SPOILT = [
    "007",
    "1e",
    "1e400",
    "0.30000000000000004",
    "-1.7976931348623157e308",
    "01e5",
    "nul",
    "-",
    "1.",
    ".5",
    "1.2.3",
    "1-2",
    "+1",
    "-01",
    "0x1",
    "1e5",
    "1 ",
    "NaN",
    "null",
    '"',
    "2147483648",
]
SPOILT += [
    "5.0",
    "5.5",
    "5.00.0",
    "2147483648.0",
    "1.255",
    "100000000",
    '"1.25"',
    "9223372036854775808",
    '"1"',
    "true",
    "truefalse",
    '"a\tb"',
    r'"\n"',
    "{}",
    "",
    '"a" ',
    '"",""',
    '"\x00"',
]


def object_text(colon: str, comma: str, values: dict[str, str]) -> str:
    return "{" + comma.join(f'"{name}"{colon}{value}' for name, value in values.items()) + "}"


@pytest.mark.parametrize("seed", tiered(range(10), 2))
def test_lines_that_are_written_alike_are_the_same_as_line_by_line(
    seed: int, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, and with one that is spoilt: by another value, another sign, one too many or one too few."""
    chance, read = Random(seed), 0
    for _ in range(20):
        names = chance.sample(list(PLAIN), chance.randrange(1, 6))
        line = partial(object_text, *chance.choice([(":", ","), (": ", ", "), (" : ", " ,")]))
        rows = [
            {name: chance.choice(PLAIN[name]) for name in names} for _ in range(chance.choice([1, 3, 20]))
        ]
        good = [line(row).encode() for row in rows]
        parsed = alike.columns(b"\n".join(good), *Block(b"\n".join(good), 0).lines(), TYPES)
        read += parsed is not None
        compared(Block(b"\n".join(good), 0), monkeypatch)
        for _ in range(5):
            number, bad = chance.randrange(len(rows)), list(good)
            match chance.randrange(3):
                case 0:
                    spoilt = rows[number] | {chance.choice(names): chance.choice(SPOILT)}
                    bad[number] = line(spoilt).encode()
                case 1:
                    at = chance.randrange(len(good[number]))
                    sign = chance.choice(b'x"{}:,0-. \\\t\r\xff').to_bytes()
                    bad[number] = good[number][:at] + sign + good[number][at + chance.randrange(2) :]
                case _:
                    bad.insert(
                        number, chance.choice([b"", b"null", b"{}", b'{"$accent": "[[], add(z)]"}', b"x"])
                    )
            compared(Block(b"\n".join(bad), 0), monkeypatch)
    assert read > 15 if is_compiled else read == 0


def test_a_line_that_would_crash_the_parser_is_not_given_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`null` alone ends the process in some versions of it."""
    blocks: list[bytes] = []
    read = pyarrow.json.read_json

    def watched(text: Any, *options: Any) -> Any:
        blocks.append(text.read())
        text.seek(0)
        return read(text, *options)

    monkeypatch.setattr(pyarrow.json, "read_json", watched)
    good = [b'{"i": 1, "z": []}'] * 40
    for position in (0, 1, 17, 39, 40):
        for bad in (b"null", b" null", b"\rnull\r"):
            lines = [*good[:position], bad, *good[position:]]
            corrupt = BATCHES.batch(Block(b"\n".join(lines), 0), 0).column("$corrupt").to_pylist()
            assert corrupt == ["the line is not a JSON object" if line is bad else None for line in lines]
    assert blocks
    assert all(text.startswith(b"{") for text in blocks)


def test_numbers_and_truth_values_for_strings_keep_their_texts_at_once() -> None:
    text = b'{"s": 5, "ts": 1}\n{"s": -12, "ts": 2}\n{"ts": 3}'
    columns = parsed(text)
    assert columns is not None
    assert columns[list(TYPES).index("s")].to_pylist() == ["5", "-12", None]
    assert parsed(b'{"s": -0}') is None
    assert parsed(b'{"s": 1.50}') is None
    assert BATCHES.batch(Block(b'{"s": 1.50}\n{"s": -0}', 0), 0).column("s").to_pylist() == ["1.50", "-0"]


def test_few_bad_lines_cost_the_good_ones_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused block is halved: only the neighbours of a bad line are read one by one."""
    lines = [b'{"ts": %d}' % n for n in range(10_000)]
    lines[5000] = b"no json"
    one_by_one: list[int] = []
    read = JsonBatches._read
    monkeypatch.setattr(
        JsonBatches, "_read", lambda self, some: one_by_one.append(len(some)) or read(self, some)
    )
    batch = BATCHES.batch(Block(b"\n".join(lines), 0), 0)
    assert batch.column("$corrupt").null_count == 9_999
    assert sum(one_by_one) <= 16


def test_kinds_of_fields_are_the_same_at_once_and_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(5)
    values = [
        "1",
        "2.5",
        "1e3",
        "3.0",
        "9223372036854775808",
        "true",
        '"x"',
        '"2020-01-02"',
        "null",
        "[1]",
        "{}",
    ]
    values += ["[1, 2.5]", '["x"]', "[]", "NaN"]
    for _ in range(300):
        some = chance.sample(values, chance.randrange(1, 3))
        text = "\n".join(f'{{"a": {chance.choice(some)}, "b": 1}}' for _ in range(3)).encode()
        actual = json_fields.of_block(Block(text, 0))
        with monkeypatch.context() as patch:
            patch.setattr(json_fields, "_inferred", lambda *_: None)
            assert actual == json_fields.of_block(Block(text, 0)), text
