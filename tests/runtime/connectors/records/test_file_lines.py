"""The same tuples and markers in lines of JSON, in Parquet, in XML and in a Delta table, for every tool that reads a
stream without an engine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.formats import FORMATS
from cedilla.runtime.connectors.records.file_lines import LINES
from cedilla.runtime.connectors.records.typed_files import parquet_of
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.inspect.preview import preview_of
from tests.kit.command import cedilla
from tests.kit.lines import text_of
from tests.kit.stream import Item, is_tuple

QUERY = """
stream r(ts: timestamp, day: date, s: int in {1, 2}, t: double, n: long, m: decimal(6, 2), name: string, on?: boolean)
  from FORMAT "in" punctuated on ts;
hot := select[t > 5](r);
emit hot to json "hot";
"""
TYPES = {
    "ts": Type("timestamp"),
    "day": Type("date"),
    "s": Type("int"),
    "t": Type("double"),
    "n": Type("long"),
    "m": Type("decimal", (6, 2)),
    "name": Type("string"),
    "on": Type("boolean"),
}


def _row(number: int, scale: float, **more: Any) -> Item:
    values = {
        "ts": f"2020-01-01T{number // 60:02}:{number % 60:02}:00.000000Z",
        "day": "2020-01-01",
        "s": 1 + number % 2,
    }
    values |= {"t": (10 + number % 7 / 10) * scale, "n": 2**40 + number, "m": 1.25, "name": f"é <{number}>"}
    return {**values, **more}


ROWS = [_row(number, 1) for number in range(30)]
ALTERED = [_row(number, 1000, on=True) for number in range(30, 60)]
ACCENT = '[["s" in {1, 2}, alter(t, y -> y * 1000)]]'.replace('"s"', "s")
STREAM: list[Item] = [
    *ROWS,
    {"$accent": ACCENT},
    *ALTERED[:20],
    {"$punctuation": '[ts < "2020-01-01T00:40:00Z"]'},
    _row(3, 1000),
    _row(58, 1000, s=9),
]
UNANNOUNCED = [_row(number, 1 if number < 100 else 1000) for number in range(200)]


def _xml(items: Sequence[Item]) -> str:
    elements: list[str] = []
    for item in items:
        if is_tuple(item):
            inside = "".join(
                f"<{name}>{_escaped(str(value).lower() if isinstance(value, bool) else str(value))}</{name}>"
                for name, value in item.items()
            )
            elements.append(f"<R>{inside}</R>")
        elif "$accent" in item:
            elements.append(f"<accent:R>{_escaped(item['$accent'])}</accent:R>")
        else:
            (end,) = re.findall('"(.*)"', item["$punctuation"])
            elements.append(f"<punct:R><ts>{_escaped(f'(,{end})')}</ts></punct:R>")
    return "\n".join(elements)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _write(folder: Path, form: str, *files: Sequence[Item]) -> Path:
    """Writes the files of a stream in a format, in order."""
    folder.mkdir()
    for number, items in enumerate(files, 1):
        path = folder / f"{number}.{'jsonl' if form == 'json' else form}"
        if form == "parquet":
            path.write_bytes(parquet_of(text_of(items).splitlines(), TYPES))
        elif form == "delta":
            import deltalake

            content = parquet.read_table(pa.BufferReader(parquet_of(text_of(items).splitlines(), TYPES)))
            deltalake.write_deltalake(str(folder), content, mode="append", schema_mode="merge")
        else:
            path.write_text(text_of(items) if form == "json" else _xml(items), "utf-8")
        if path.exists():
            os.utime(path, (number, number))
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a project whose stream is in a format, and changes to it."""

    def made(form: str, *files: Sequence[Item]) -> Path:
        root = tmp_path / form
        root.mkdir()
        monkeypatch.chdir(root)
        (root / "q.rq").write_text(QUERY.replace("FORMAT", form), "utf-8")
        _write(root / "in", form, *(files or (STREAM[:40], STREAM[40:])))
        return root

    return made


@pytest.mark.parametrize("form", ["parquet", "xml", "delta"])
def test_simulate_gives_what_it_gives_for_lines_of_json(project: Callable[..., Path], form: str) -> None:
    results: list[tuple[list[Any], list[str]]] = []
    for format_ in ("json", form):
        project(format_)
        done = cedilla("simulate", "q.rq")
        assert done.exit_code == 0, done.output
        codes = re.findall(r"rejected \((\w+)\)", done.stderr)
        results.append(([json.loads(line) for line in done.stdout.splitlines()], codes))
    assert results[0] == results[1]
    assert results[0][1] == ["RQ305", "RQ303"]
    assert len([*filter(is_tuple, results[0][0])]) == len(STREAM) - 4


@pytest.mark.parametrize("form", ["parquet", "xml", "delta"])
@pytest.mark.parametrize("has_schema", [True, False])
def test_tools_of_streams_find_the_same(project: Callable[..., Path], form: str, has_schema: bool) -> None:
    of_query = ("--query", "q.rq") if has_schema else ()
    findings: list[Any] = []
    for format_ in ("json", form):
        project(format_)
        verdict = json.loads(cedilla("validate", "in", "--format", "json", *of_query).stdout)
        findings.append([verdict["tuples"], verdict["accents"], verdict["punctuations"], verdict["counts"]])
    assert findings[0] == findings[1]
    if has_schema:
        assert findings[0] == [len(STREAM) - 2, 1, 1, {"RQ303": 1, "RQ305": 1}]


@pytest.mark.parametrize("form", ["parquet", "xml"])
def test_suspect_and_canonize_and_the_preview(project: Callable[..., Path], form: str) -> None:
    results: list[Any] = []
    for format_ in ("json", form):
        root = project(format_, UNANNOUNCED[:20], UNANNOUNCED[20:])
        suspects = json.loads(cedilla("suspect", "in", "--format", "json", "--query", "q.rq").stdout)[
            "suspects"
        ]
        accents = [(suspect["conversion"], suspect["accent"]) for suspect in suspects]
        canonical = cedilla("canonize", "in", "--query", "q.rq").stdout.splitlines()
        shown = preview_of((root / "q.rq").read_text(), "q.rq", Options())
        results.append((accents, [json.loads(line) for line in canonical], shown))
    assert results[0] == results[1]
    assert results[0][0]


def test_a_folder_of_parquet_takes_accents(project: Callable[..., Path]) -> None:
    """Into a marker folder as lines, else as a file of its own format, which is read in its turn."""
    root = project("parquet", ROWS)
    done = cedilla("accent", "in", ACCENT, "--query", "q.rq")
    assert done.exit_code == 0, done.output
    assert {path.suffix for path in (root / "in").iterdir()} == {".parquet"}
    (root / "ops").mkdir()
    done = cedilla("accent", "in", "[[-(on)]]", "--query", "q.rq", "--markers", "ops")
    assert done.exit_code == 0, done.output
    verdict = cedilla("validate", "in", "--query", "q.rq", "--markers", "ops")
    assert "30 tuples, 2 accents" in verdict.output
    assert verdict.exit_code == 0, verdict.output


def test_a_table_takes_markers_in_a_folder_only(project: Callable[..., Path]) -> None:
    root = project("delta", ROWS)
    before = sorted(root.rglob("*"))
    refused = cedilla("accent", "in", ACCENT, "--query", "q.rq")
    assert (refused.exit_code, "error[RQ435]: in is a table of Delta" in refused.stderr) == (1, True)
    assert sorted(root.rglob("*")) == before
    (root / "ops").mkdir()
    assert cedilla("accent", "in", ACCENT, "--query", "q.rq", "--markers", "ops").exit_code == 0
    assert "30 tuples, 1 accent" in cedilla("validate", "in", "--query", "q.rq", "--markers", "ops").output


def test_a_page_of_tests_has_rows_of_parquet(project: Callable[..., Path]) -> None:
    root = project("parquet", ROWS)
    late = {**ROWS[0], "t": 1.0}
    page = f"""# Tests
```rq q.rq
```

## Rows
```json in/1.parquet
{text_of([ROWS[1], late])}```
```json hot
{text_of([ROWS[1], {"$punctuation": "[t <= 5]"}])}```

## The project's own files
```json hot
```
"""
    (root / "test_q.md").write_text(page, "utf-8")
    done = cedilla("test")
    assert "1 of 2 tests pass" in done.output
    assert cedilla("test", "--accept").exit_code == 0
    assert cedilla("test").output == "2 of 2 tests pass\n"


def test_damaged_files_and_foreign_columns_end_or_are_set_aside(project: Callable[..., Path]) -> None:
    root = project("parquet", ROWS)
    odd = parquet.read_table(root / "in" / "1.parquet").slice(0, 2)
    texts = odd.set_column(odd.column_names.index("ts"), "ts", odd["ts"].cast(pa.string()))
    parquet.write_table(texts, root / "in" / "2.parquet")
    done = cedilla("simulate", "q.rq")
    assert (
        done.stderr.count(
            "rejected (RQ301): `ts` must be a timestamp, found a value of a column of type string"
        )
        == 2
    )
    (root / "in" / "3.parquet").write_bytes(b"PAR1, and no more")
    for command in (("simulate", "q.rq"), ("validate", "in")):
        done = cedilla(*command)
        assert done.exit_code == 1
        assert "error[RQ414]" in done.stderr
        assert "3.parquet cannot be read as Parquet" in done.stderr


def test_every_format_of_files_is_read() -> None:
    assert LINES.keys() == {kind.name for kind in FORMATS.values() if not kind.is_topic}
