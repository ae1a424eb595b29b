"""Equal results for `cedilla verify`: exact values to their last digit, doubles within rounding errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.tools.inspect import verify as verifying
from tests.kit.lines import write_lines

LONG = "0.12345678901234567890"


def differences(
    root: Path, monkeypatch: pytest.MonkeyPatch, query: str, lines: Sequence[str], output: Sequence[str]
) -> str:
    """The verdict on a run that has written these lines."""
    write_lines(root / "in" / "1.jsonl", lines)

    def started(plan: Plan, _flow: object, options: Options, *_: object, is_watched: bool) -> None:
        assert not is_watched  # its checkpoint goes with it
        (folder,) = options.sinks.values()
        assert [(emit.format, emit.path) for emit in plan.emits] == [("json", folder)]
        write_lines(Path(folder) / "epoch=000000000000" / "1-tuples-0.jsonl", output)

    monkeypatch.setattr(verifying, "start", started)
    plan, flow = load(compile_query(query.replace("IN", str(root / "in"))))
    (verdict,) = verifying.verify(plan, flow, Options())
    return verdict.text()


STREAM = 'stream r(k: int, x: TYPE) from json "IN" punctuated on k; emit r to json "o";'
GROUPS = (
    'stream r(k: int, x: TYPE) from json "IN" punctuated on k;'
    'g := aggregate[count() as n by x](r); emit g to json "o";'
)
OTHERS = {
    "decimal": ("decimal(38, 20)", LONG, "0.12345678901234567891"),
    "small decimal": ("decimal(38, 20)", "0.00000000000000000001", "0.00000000000000000002"),
    "decimal next to a double": ("decimal(18, 2)", "90071992547409.93", "90071992547409.94"),
    "decimals": ("decimal(38, 0)", str(10**37 + 1), str(10**37 + 2)),
    "int": ("int", "2147483647", "2147483646"),
    "long": ("long", "9007199254740993", "9007199254740992"),
    "string": ("string", '"1.0000000000001"', '"1.0000000000002"'),
    "timestamp": ("timestamp", '"9999-12-31T23:59:59.999999Z"', '"9999-12-31T23:59:59.999998Z"'),
    "date": ("date", '"9999-12-30"', '"9999-12-31"'),
    "boolean": ("boolean", "true", "1"),
    "strings": ("list of string", '["a", "1.0"]', '["a", "1"]'),
    "double": ("double", "1000000.1", "1000000.2"),
    "double of small size": ("double", "1e-12", "3e-12"),
    "double that is infinite": ("double", '"Infinity"', '"NaN"'),
}
SAME = {
    "decimal of other notation": ("decimal(38, 20)", "0.5", "0.50000000000000000000"),
    "long decimal": ("decimal(38, 20)", LONG, LONG),
    "moment of other notation": ("timestamp", '"2024-01-01T01:00:00+01:00"', '"2024-01-01T00:00:00.000000Z"'),
    "last digits of a double": ("double", "0.3", repr(0.1 + 0.2)),
    "whole double": ("double", "5", "5.0"),
    "great double": ("double", "1e300", "1.0000000000000001E300"),
    "double that is no number": ("double", '"NaN"', '"NaN"'),
}


@pytest.mark.parametrize("query", [STREAM, GROUPS], ids=["values", "groups"])
@pytest.mark.parametrize(("type_", "one", "other"), OTHERS.values(), ids=OTHERS)
def test_another_value_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, type_: str, one: str, other: str
) -> None:
    rows = [f'{{"k": 1, "x": {one}}}', '{"$punctuation": "[]"}']
    output = [f'{{"x": {other}, "n": 1}}' if query == GROUPS else f'{{"k": 1, "x": {other}}}']
    report = differences(tmp_path, monkeypatch, query.replace("TYPE", type_), rows, output)
    assert "only the engine has 1 of the tuples" in report
    assert "only the reference has 1 of the tuples" in report


@pytest.mark.parametrize("format_", ["xml", "delta", "kafka"])
def test_outputs_in_other_formats_are_compared_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    query = STREAM.replace("TYPE", "long").replace(
        'json "o"', f'{format_} "{"host:9092/" * (format_ == "kafka")}o"'
    )
    line = ['{"k": 1, "x": 2}']
    assert differences(tmp_path, monkeypatch, query, line, line).startswith("r: 1 tuples")


def test_a_difference_shows_all_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query, other = STREAM.replace("TYPE", "decimal(38, 20)"), "0.12345678901234567891"
    rows, output = ([f'{{"k": 1, "x": {value}}}'] for value in (LONG, other))
    report = differences(tmp_path, monkeypatch, query, rows, output)
    assert f"x = {other}" in report
    assert "x = 0.1234567890123456789\n" in f"{report}\n"


@pytest.mark.parametrize(("type_", "one", "other"), SAME.values(), ids=SAME)
def test_the_same_value_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_: str, one: str, other: str
) -> None:
    rows = [f'{{"k": {k}, "x": {one}}}' for k in (1, 2)]
    output = [f'{{"k": {k}, "x": {other}}}' for k in (1, 2)]
    actual = differences(tmp_path, monkeypatch, STREAM.replace("TYPE", type_), rows, output)
    assert actual == "r: 2 tuples, decode(out) = query(decode(in))"
