"""Writes the page of types: their forms in JSON, Parquet and Spark, and what a stream reads as each of them.

The plain reference reads every value as every type, so the page says what `run` and `simulate` do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from cedilla.compiler.expressions.types import Type
from cedilla.runtime import simulate
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.json_objects import json_text, parse_line
from cedilla.runtime.engines.plain.values import read_value, write_value
from cedilla.runtime.epochs.options.options import Options
from tests.docs.markdown import table

TYPES: Mapping[str, tuple[str, str]] = {
    "int": ("whole numbers of 32 bits", "5"),
    "long": ("whole numbers of 64 bits", "5"),
    "double": ("numbers of 64 bits in binary, infinities and NaN", "5.5"),
    "decimal(8, 2)": (
        "exact numbers, here with 8 digits, 2 of them after the point; at most 38 digits",
        "5.5",
    ),
    "boolean": ("`true` and `false`", "true"),
    "string": ("texts in Unicode", '"pump"'),
    "timestamp": ("microseconds of the years 1 to 9999, in UTC", '"2024-02-29T12:30:00Z"'),
    "date": ("days of the years 1 to 9999", '"2024-02-29"'),
    "version": ("texts that are ordered as versions", '"1.10.2"'),
    "array<double>": ("lists, here of doubles", "[1, 2.5]"),
}
"""Types of attributes: their values, and one in JSON."""

TEXTS = (
    *("5", "5.0", "5.5", "1e400", "9223372036854775808", '"5"', '"NaN"', "true", '"true"', '"pump"'),
    *(
        '"2024-02-29"',
        '"2024-02-29T12:30:00Z"',
        '"2024-02-29 12:30"',
        '"1.10.2"',
        "[1, 2.5]",
        '{"a": 1}',
        "null",
    ),
)
"""Values in JSON."""

_DAY, _NOON = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30)
COLUMNS: tuple[pa.Array, ...] = (
    pa.array([5], pa.int32()),
    pa.array([2**40], pa.int64()),
    pa.array([2**63], pa.uint64()),
    pa.array([5.0], pa.float32()),
    pa.array([5.0]),
    pa.array([5.5]),
    pa.array([float("nan")]),
    pa.array([Decimal("5.00")], pa.decimal128(8, 2)),
    pa.array([Decimal("5.50")], pa.decimal128(8, 2)),
    pa.array([True]),
    pa.array(["5"]),
    pa.array(["2024-02-29"]),
    pa.array([b"pump"]),
    pa.array([_NOON.replace(tzinfo=UTC)], pa.timestamp("us", "UTC")),
    pa.array([_NOON], pa.timestamp("ns")),
    pa.array([_DAY]),
    pa.array([45_000_000], pa.time64("us")),
    pa.array([[1.0, 2.5]]),
    pa.array([{"a": 1}]),
)
"""Columns of Parquet with one value each."""


_READ = tuple(name for name in TYPES if Type.parse(name).element is None)
"""Types that attributes of a stream have; lists are results, or are unnested."""


def types() -> str:
    rows = (
        (f"`{name}`", values, f"`{_written(kind, text)}`", f"`{arrow_type(kind)}`", f"`{kind.spark}`")
        for name, (values, text) in TYPES.items()
        for kind in (Type.parse(name),)
    )
    head = ("", *(f"`{name}`" for name in _READ))
    return "\n\n".join(
        [
            "# Types\n\nAn attribute has one of these types, in every format. A value may be undefined, which is an "
            "absent field, `null`, an empty field of CSV or a null of Parquet. "
            "[Types](../language.md#types) has the rules for queries, and "
            "[timestamps and dates](../language.md#timestamps-and-dates) the forms of times.",
            table(("type", "values", "in JSON of an output", "in Parquet and Arrow", "in Spark"), rows),
            "## Read from JSON\n\nA cell has the value that an attribute gets, as an output in JSON writes it. An "
            "empty cell means that the tuple is set aside (RQ301), and a dash that the value is undefined.",
            table(head, _cells(TEXTS, _from_json())),
            "## Read from Parquet\n\nThe first column has the type of a column in Arrow and a value. Cells are as "
            "above.",
            table(head, _cells(map(_named, COLUMNS), _from_parquet())),
        ]
    )


def _written(type_: Type, text: str) -> str:
    """Returns a value in JSON as an output has it."""
    return json_text(write_value(type_, read_value(type_, parse_line(f'{{"x": {text}}}')["x"])))


def _named(column: pa.Array) -> str:
    return f"{column.type}: {column[0]}"


def _cells(shown: Iterable[str], read: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, ...]]:
    for value in shown:
        cells = (read[name].get(value) for name in _READ)
        yield f"`{value}`", *("" if cell is None else f"`{cell}`" if cell else "–" for cell in cells)


def _from_json() -> Mapping[str, Mapping[str, str]]:
    lines = (f'{{"n": {number}, "x": {text}}}' for number, text in enumerate(TEXTS))
    text = "\n".join(lines)
    return _read("json", lambda folder: (folder / "1.jsonl").write_text(text, "utf-8"), TEXTS)


def _from_parquet() -> Mapping[str, Mapping[str, str]]:
    def write(folder: Path) -> None:
        for number, column in enumerate(COLUMNS):
            parquet.write_table(pa.table({"n": [number], "x": column}), folder / f"{number:02}.parquet")

    return _read("parquet", write, [_named(column) for column in COLUMNS])


def _read(
    format_: str, write: Callable[[Path], object], values: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """Returns what attributes of each type get of some values: the texts in JSON, empty for an undefined one."""
    results: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as root:
        source = Path(root) / "in"
        source.mkdir()
        write(source)
        for name in _READ:
            sink = Path(root) / name
            query = f'stream r(n: long, x?: {name}) from {format_} "{source}"; emit r to json "out";'
            simulate(query, Options(sinks={"r": sink}, allow_paths=root))
            lines = "".join(file.read_text("utf-8") for file in sorted(sink.rglob("*.jsonl"))).splitlines()
            results[name] = dict(_value_text(line, values) for line in lines)
    return results


def _value_text(line: str, values: Sequence[str]) -> tuple[str, str]:
    """Returns the value of a tuple's number, and the text of `x`."""
    number, _, rest = line.removeprefix('{"n": ').removesuffix("}").partition(", ")
    return values[int(number)], rest.removeprefix('"x": ')
