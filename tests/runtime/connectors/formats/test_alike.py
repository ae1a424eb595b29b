"""Lines that are written alike are read as the code line by line reads them, to the last bit, or are refused."""

from __future__ import annotations

import struct
import subprocess
from datetime import date
from decimal import Decimal
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.versions import key_of
from cedilla.runtime.connectors.formats.jsonl import alike
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.records.compiled import WITHOUT
from tests.kit import ROOT
from tests.kit.compiler import has_compiler
from tests.kit.seeds import soak_seeds
from tests.kit.tiers import tiered


def is_built() -> bool:
    """Without a compiler all lines are refused."""
    return alike._alike is not None


@pytest.fixture(autouse=True)
def with_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of all tests may be one without it."""
    monkeypatch.setattr(alike, "IS_THERE", is_built())


def read(lines: list[bytes], **types: str) -> list[list[object]] | None:
    """The columns of lines that are read at once."""
    text = b"\n".join(lines)
    columns = alike.columns(text, *Block(text, 7).lines(), {n: Type.parse(t) for n, t in types.items()})
    return None if columns is None else [column.to_pylist() for column in columns]


def values(type_: str, *texts: str) -> list[object] | None:
    """The values of texts, each in a line."""
    columns = read([f'{{"a": {text}}}'.encode() for text in texts], a=type_)
    return None if columns is None else columns[0]


def only_if_built(value: object) -> object:
    return value if is_built() else None


# --- values ---------------------------------------------------------------------------------------------------


def double_of(chance: Random) -> str:
    """The text of a double: short ones, those with all their digits, those halfway between two, and any."""
    digits, sign = "".join(chance.choices("0123456789", k=chance.randrange(1, 25))), chance.choice(["", "-"])
    match chance.randrange(6):
        case 0:
            number = struct.unpack("d", chance.randbytes(8))[0]
            return repr(number) if np.isfinite(number) else "1.5"
        case 1:
            return repr(chance.uniform(-1000, 1000))
        case 2:
            return f"{sign}{int(digits)}.{chance.randrange(1000)}e{chance.randrange(-30, 30)}"
        case 3:
            return f"{sign}{int(digits)}E{chance.choice(['', '+', '-'])}{chance.randrange(25)}"
        case 4:
            return (
                f"{sign}{(2**53 + chance.randrange(2000)) * 2 ** chance.randrange(12) + chance.randrange(3)}"
            )
        case _:
            return f"{sign}{chance.randrange(1000)}.{digits}"


@pytest.mark.parametrize("seed", tiered(range(20), 1))
def test_each_double_is_the_nearest_one(seed: int) -> None:
    chance = Random(seed)
    for _ in range(100):
        texts = [double_of(chance) for _ in range(chance.choice([1, 1, 2, 20]))]
        doubles = values("double", *texts)
        assert str(doubles) == str(only_if_built([float(text) for text in texts]))


@pytest.mark.parametrize(("type_", "bits"), [("int", 32), ("long", 64)])
def test_whole_numbers_are_those_of_the_type(type_: str, bits: int) -> None:
    most = 2 ** (bits - 1)
    good = [0, 1, -1, most - 1, -most, most // 10]
    assert values(type_, *map(str, good)) == only_if_built(good)
    assert values(type_, "-0", "5.0", "-7.00", "0.000") == only_if_built([0, 5, -7, 0])
    for bad in (most, -most - 1, 10 * most, 2**64, 2**64 + 1, -(2**64), 10**19, 10**30):
        assert values(type_, "1", str(bad)) is None
    for bad in ("5.5", "1e1", "1e-1", "0.0000000000000000000001", '"1"', "true"):
        assert values(type_, "1", bad) is None


def test_values_of_each_type_and_nulls_of_each() -> None:
    assert values("boolean", "true", "null", "false") == only_if_built([True, None, False])
    assert values("string", '""', "null", '"\u00e4 {\x7f}"') == only_if_built(["", None, "\u00e4 {\x7f}"])
    assert values("double", "null", "1") == only_if_built([None, 1.0])
    assert values("int", "1", "null") == only_if_built([1, None])
    decimals = [Decimal("1.50"), None, Decimal("-20.00"), Decimal("0.01")]
    assert values("decimal(5,2)", "1.5", "null", "-2e1", "0.1e-1") == only_if_built(decimals)
    for bad in ("1.555", "1000", "1e-999999999", '"1"'):
        assert values("decimal(5,2)", "1", bad) is None
    assert values("date", '"2020-01-02"', "null") == only_if_built([date(2020, 1, 2), None])
    assert values("version", '"1.2"', "null") == only_if_built([key_of("1.2"), None])
    for type_ in ("timestamp", "date", "version"):
        assert values(type_, '"1.2.x.y"', "null") is None


@pytest.mark.parametrize("lines", [1, 2, 7, 8, 9, 63, 64, 65, 200])
def test_bits_of_nulls_and_booleans_belong_to_their_lines(lines: int) -> None:
    chance = Random(lines)
    texts = chance.choices(["true", "false", "null"], k=lines)
    words = {"true": True, "false": False, "null": None}
    assert values("boolean", *texts) == only_if_built([words[text] for text in texts])
    numbers = chance.choices(["1", "null", "23"], k=lines)
    assert values("long", *numbers) == only_if_built([None if n == "null" else int(n) for n in numbers])


def test_values_of_no_attribute_are_checked_and_missing_attributes_are_null() -> None:
    lines = [b'{"x": 1, "a": 2, "y": "z"}', b'{"x": null, "a": 3, "y": true}']
    assert read(lines, a="long", b="string") == only_if_built([[2, 3], [None, None]])
    for bad in (b"01", b"-", b"nul", b"1e", b"{}", b"[]", b"NaN", b'"\x01"', b'"\\n"', b"truefalse"):
        assert read([*lines, b'{"x": %b, "a": 4, "y": ""}' % bad], a="long") is None


def test_ends_of_lines_may_have_a_carriage_return() -> None:
    assert read([b'{"a": 1}\r', b'{"a": 2}\r'], a="long") == only_if_built([[1, 2]])
    assert read([b'{"a": 1}\r', b'{"a": 2}'], a="long") is None


LINE = b'{"a": 1, "b": "x"}'


@pytest.mark.parametrize(
    "other",
    [
        b'{"b": "x", "a": 1}',
        b'{"a": 1}',
        b'{"a": 1, "b": "x", "c": 1}',
        b'{"a":1, "b": "x"}',
        b'{"a": 1, "b": "x"} ',
        b' {"a": 1, "b": "x"}',
        b'{"a": 1, "b": "x"',
        b'{"a": 1, "b": "x"}{"a": 1, "b": "x"}',
        b'{"a": 1, "b": "\\u0078"}',
        b'{"a": 1, "b": "\t"}',
        b'{"a": 1, "b": "\xff"}',
        b'{"a": 1, "b": "\xc3"}',
        b'{"a": 1, "b": "\xed\xa0\x80"}',
        b'{"a": 1, "b": 5}',
        b'{"a": NaN, "b": "x"}',
        b'{"a": [], "b": "x"}',
        b"{}",
        b"null",
    ],
)
def test_lines_that_differ_or_are_not_plain_are_refused(other: bytes) -> None:
    assert read([LINE, LINE], a="double", b="string") == only_if_built([[1.0, 1.0], ["x", "x"]])
    for at in range(3):
        assert read([*[LINE] * at, other, *[LINE] * (2 - at)], a="double", b="string") is None


def test_keys_that_come_twice_or_have_escapes_are_refused() -> None:
    assert read([b'{"a": 1, "a": 1}'], a="long") is None
    assert read([b'{"\\u0061": 1}'], a="long") is None
    for sign in b"\x00\t\r\x1f":
        assert read([b'{"a%c": 1}' % sign], a="long") is None
    many = b"{%b}" % b", ".join(b'"k%d": 1' % n for n in range(300))
    assert read([many], k1="long") is None
    assert read([b'{"": 1, "\xc3\xa4": 2}'], ä="long") == only_if_built([[2]])


def test_doubles_with_all_their_digits_make_their_columns_texts_once() -> None:
    lines = [b'{"x": %d.5, "y": 0.%d30000000000000004}' % (n, n % 9) for n in range(100)]
    columns = read(lines, x="double", y="double")
    assert columns == only_if_built(
        [[n + 0.5 for n in range(100)], [float(f"0.{n % 9}30000000000000004") for n in range(100)]]
    )


# --- the extension --------------------------------------------------------------------------------------------


def test_the_extension_is_there_where_there_is_a_compiler() -> None:
    assert has_compiler() == is_built()


@pytest.mark.parametrize("is_left_out", [True, False])
def test_an_environment_variable_leaves_the_extension_out(
    is_left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WITHOUT, "1" if is_left_out else "")
    spec = find_spec(alike.__name__)
    assert spec is not None
    assert spec.loader is not None
    again = module_from_spec(spec)
    spec.loader.exec_module(again)
    is_expected = is_built() and not is_left_out
    assert is_expected == again.IS_THERE


def test_parsers_behind_it_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"\n".join(b'{"a": %d, "b": "x%d", "c": %d.25}' % (n, n, n) for n in range(50))
    batches = JsonBatches({"a": Type("long"), "b": Type("string"), "c": Type("double")})
    with_it = batches.batch(Block(text, 0), 0)
    monkeypatch.setattr(alike, "IS_THERE", False)
    assert alike.columns(text, *Block(text, 0).lines(), {"a": Type("long")}) is None
    assert batches.batch(Block(text, 0), 0).equals(with_it)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1))
def test_no_block_makes_it_read_or_write_elsewhere(seed: int, tmp_path: Path) -> None:
    source = ROOT / "tests" / "runtime" / "connectors" / "formats" / "alike_fuzz.c"
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = tmp_path / "alike_fuzz"
    subprocess.run(
        ["cc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", *checks, source, "-o", program], check=True
    )
    subprocess.run([program, str(seed), str(10**7)], check=True)
