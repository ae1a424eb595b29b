"""`read` gives columns with all digits of the values."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from cedilla import read
from cedilla.grammar.diagnostics import DiagnosticError

LONG_DECIMAL, LARGE = "12345678901234567.25", 2**53 + 1


def _output(folder: Path, *epochs: str) -> Path:
    for number, text in enumerate(epochs):
        epoch = folder / f"epoch={number:012d}"
        epoch.mkdir(parents=True)
        (epoch / "1.jsonl").write_text(text)
    return folder


def test_columns_keep_the_digits_of_altered_numbers(tmp_path: Path) -> None:
    """Columns of an altered `long` were doubles, and values of an altered array of decimals, too."""
    scaled = "123456789012345672.5"
    folder = _output(
        tmp_path / "out",
        f'{{"k": 1, "a": [{LONG_DECIMAL}], "n": {LARGE}}}\n'
        '{"$accent": "[[alter(a, y -> y * 10)]]"}\n{"$accent": "[[alter(n, y -> y + 2)]]"}\n',
        f'{{"k": 2, "a": [{scaled}], "n": {LARGE + 2}}}\n',
    )
    schema = "k: long, a: array<decimal(20, 2)>, n: long"
    output = read(folder, schema=schema)
    assert [(row["a"], row["n"]) for row in output.rows()] == [([Decimal(LONG_DECIMAL)], LARGE)] * 2
    assert output.arrow().column("n").to_pylist() == [LARGE] * 2
    assert list(output.pandas()["n"]) == [LARGE] * 2
    assert output.arrow().column("a").to_pylist() == [[Decimal(LONG_DECIMAL)]] * 2
    latest = read(folder, "latest", schema=schema).arrow()
    assert latest.column("a").to_pylist() == [[Decimal(scaled)]] * 2


def test_an_array_of_decimals_altered_by_thirds_is_read_in_doubles(tmp_path: Path) -> None:
    text = '{"$accent": "[[alter(a, y -> y * 3)]]"}\n{"a": [1.0, 3.3000000000000003]}\n'
    (row,) = read(_output(tmp_path / "out", text), schema="a: array<decimal(9, 2)>").rows()
    assert [type(value) for value in row["a"]] == [float, float]


def test_a_common_type_of_decimals_and_doubles_rounds_neither(tmp_path: Path) -> None:
    """Without a schema, 0.125 beside a decimal of two digits was 0.12, and 1e-7 was 0."""
    near = _output(tmp_path / "near", f'{{"d": {LONG_DECIMAL}}}\n{{"d": 0.125}}\n{{"d": 1e-7}}\n')
    values = read(near).arrow().column("d").to_pylist()
    assert values == [Decimal(LONG_DECIMAL), Decimal("0.125"), Decimal("1e-7")]
    far = _output(tmp_path / "far", f'{{"d": {LONG_DECIMAL}}}\n{{"d": 1e-30}}\n{{"d": "NaN"}}\n')
    assert str(read(far).arrow().column("d").to_pylist()) == "[1.2345678901234568e+16, 1e-30, nan]"


def test_a_number_beyond_doubles_is_refused(tmp_path: Path) -> None:
    folder = _output(tmp_path / "out", f'{{"x": {10**400}}}\n')
    with pytest.raises(DiagnosticError, match="RQ423"):
        read(folder, schema="x: double").arrow()
