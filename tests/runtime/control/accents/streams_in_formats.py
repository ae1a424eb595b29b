"""Tuples in any format, with their markers in a folder next to, and the codes of those that are set aside."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cedilla.runtime.epochs.options.options import Options
from tests.kit.lines import write_lines
from tests.kit.stream import Item

TUPLES: list[list[Item]] = [
    [{"n": 1, "s": 1, "t": 10.0, "city": "A"}, {"n": 2, "s": 2, "t": 20.0, "city": "B"}],
    [
        {"n": 3, "s": 2, "temp": 30.0, "city": "C"},
        {"n": 4, "s": 1, "t": 40.0},
        {"n": 5, "s": 2, "t": 50.0},  # the old name
        {"n": 6, "s": 1, "temp": 60.0},  # the new name where it is none
        {"n": 7, "s": 2, "t": 70.0, "temp": 71.0},  # both at once
        {"n": 8, "s": 2},  # none
    ],
    [{"n": 9, "s": 2, "temp": 90.0, "town": "D"}, {"n": 10, "s": 3, "t": 10.0, "town": "E"}],
    [{"n": 11, "s": 2, "t": 11.0, "city": "no"}, {"n": 12, "s": 2, "t": 12.0, "town": "F"}],
]


MARKERS: list[list[Item]] = [
    [],
    [{"$accent": "[[s = 2, rename(temp, t)]]"}],
    [{"$accent": "[[rename(town, city)]]"}, {"$accent": "[[s in {2, 3}, alter(temp, y -> y * 2)]]"}],
    [{"$accent": "[[s = 2, rename(t, t)]]"}, {"$punctuation": '[town = "X"]'}],
]


def write(path: Path, rows: list[Item], format_: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if format_ == "json":
        write_lines(path, rows)
    elif format_ == "csv":
        names = list(dict.fromkeys(name for row in rows for name in row))
        lines = [names, *([str(row.get(name, "")) for name in names] for row in rows)]
        path.write_text("".join(f"{','.join(line)}\n" for line in lines))
    elif format_ == "xml":
        tuples = ("".join(f"<{name}>{value}</{name}>" for name, value in row.items()) for row in rows)
        path.write_text(f"<stream>{''.join(f'<r>{text}</r>' for text in tuples)}</stream>")
    else:
        pq.write_table(pa.Table.from_pylist(rows, schema_of(rows)), path)


def schema_of(rows: list[Item]) -> pa.Schema:
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    return pa.schema([(n, kinds[type(v)]) for n, v in {n: v for row in rows for n, v in row.items()}.items()])


def stream(
    root: Path, format_: str, tuples: list[list[Item]] = TUPLES, of: list[list[Item]] = MARKERS
) -> Options:
    """Markers in their folder, each file before the tuples that follow it."""
    for number, (markers, rows) in enumerate(zip(of, tuples, strict=True)):
        for folder, items, kind in (("ops", markers, "json"), ("r", rows, format_)):
            if items:
                path = root / folder / f"{number}.{kind}"
                write(path, items, kind)
                at = 1000 + 2 * number + (folder == "r")
                os.utime(path, (at, at))
    sources = {"r": str(root / "r"), "r.markers": str(root / "ops")}
    sinks = {"r": str(root / "out/r"), "aggregate": str(root / "out/groups")}
    return Options(once=True, sources=sources, sinks=sinks, checkpoint=str(root / "checkpoint"))


def quarantine(root: Path) -> dict[int, str]:
    """The codes of the tuples that were set aside, by their numbers, whatever the format."""
    folder = root / "checkpoint" / "quarantine" / "r"
    lines = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    return {int(NUMBER.search(line["raw"])[1]): line["code"] for line in lines}  # type: ignore[index]


NUMBER = re.compile(r"""(?:"n": ?|<n>|^)(\d+)""")
