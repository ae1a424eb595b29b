"""Numbers with a comma, in files of each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import CommaPath, EitherSignPath
from cedilla.runtime.connectors.formats.csv.batches import CsvBatches, RecordBatches
from cedilla.runtime.connectors.formats.csv.blocks import CsvPart
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.xml.batches import XmlBatches
from cedilla.runtime.connectors.formats.xml.blocks import XmlPart
from tests.kit.query import Query
from tests.kit.stream import Item

TYPES = {"ts": Type("long"), "t": Type("double"), "d": Type("decimal", (6, 2)), "s": Type("string")}

PATHS = {
    "t": CommaPath(("t",)),
    "d": CommaPath(("d",)),
    "e": EitherSignPath(("e",)),
    "f": EitherSignPath(("f",)),
}

MADE = {
    "json": (JsonBatches(TYPES, paths=PATHS), Part, JsonBatches),
    "csv": (CsvBatches(TYPES, PATHS), CsvPart, RecordBatches),
    "xml": (XmlBatches(TYPES, PATHS), XmlPart, XmlBatches),
}


def record_line(format_: str, item: dict[str, str]) -> str:
    if format_ == "json":
        return json.dumps(item)
    if format_ == "csv":
        return ",".join(f'"{item[name]}"' if name in item else "" for name in TYPES)
    return f"<r>{''.join(f'<{name}>{text}</{name}>' for name, text in item.items())}</r>"


def file_rows(folder: Path, format_: str, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the tuples of a file with some items."""
    head = [",".join(TYPES)] * (format_ == "csv")
    file = folder / f"some.{format_}"
    file.write_text("\n".join([*head, *(record_line(format_, item) for item in items)]) + "\n")
    batches, part, _ = MADE[format_]
    return [row for block in part(str(file), 0).blocks() for row in batches.batch(block, 0).to_pylist()]  # type: ignore[arg-type]


RECORDS = """ts;t;Preis/EUR
1;3,5;1,25
2;"4,5";-
3;3.5;1,25
4;1;1.234,56
"""

ELEMENTS = """<r><ts>1</ts><t>3,5</t></r>
<r><ts>2</ts><t>3.5</t></r>
"""

LINES: list[Item] = [
    {"ts": 1, "o": {"t": "3,5", "w": "1.5"}},
    {"ts": 2, "o": {"t": 3.5}},
    {"ts": 3, "o": {"t": "3.5"}},
    {"$accent": "[[alter(t, y -> y * 2)]]"},
    {"ts": 4, "o": {"t": "7,5", "w": "2,25"}},
    {"ts": 5, "o": {"t": "7,5", "w": "1,234"}},
    {"$punctuation": "[]"},
]


def write_formats(run: Query) -> None:
    run.write("j", LINES)
    run.write("r", RECORDS.splitlines(), "r.csv")
    run.write("x", ELEMENTS.splitlines(), "x.xml")
