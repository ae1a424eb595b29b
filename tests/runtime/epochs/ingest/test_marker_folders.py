"""Markers in a folder next to that of the tuples (`markers "FOLDER"`): their place, and what is refused."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, compile_query, read, run, simulate
from cedilla.grammar import DiagnosticError, format_query, parse_query
from cedilla.runtime.connectors.records.lines import merged
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.edits.source_changes import compare_source
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.lines import text_of, write_at
from tests.kit.query import canonical_rows
from tests.kit.stream import Item, read_output
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

QUERY = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double)
  from FORMAT "ROOT/pumps"
  punctuated on ts
  markers "ROOT/ops";

flow := aggregate[avg by minute except ts, pump](window[60 on ts as minute](pumps));

emit flow to json "ROOT/flow";
"""
DATA: dict[int, list[Item]] = {
    10: [{"ts": 0, "pump": 1, "litres": 100.0}, {"ts": 0, "pump": 2, "litres": 140.0}],
    20: [{"ts": 30, "pump": 1, "litres": 0.1}, {"ts": 30, "pump": 2, "litres": 140.0}],
    30: [{"ts": 60, "pump": 1, "litres": 0.2}, {"ts": 60, "pump": 2, "litres": 0.2}],
}
OPS: dict[int, list[Item]] = {
    20: [{"$accent": "[[pump = 1, alter(litres, y -> y / 1000)]]"}],  # as old as the data: before it
    25: [{"$punctuation": "[ts < 60]"}, {"$accent": "[[pump = 2, alter(litres, y -> y / 1000)]]"}],
    40: [{"$punctuation": "[ts < 120]"}],
}
EXPECTED: list[Item] = [{"minute": 0, "litres": 120.0}, {"minute": 1, "litres": 200.0}]


def query_in(root: Path, format: str = "json") -> str:
    return QUERY.replace("ROOT", str(root)).replace("FORMAT", format)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_at(tmp_path / "pumps", DATA)
    write_at(tmp_path / "ops", OPS)
    (tmp_path / "q.rq").write_text(query_in(tmp_path))
    return tmp_path


def test_files_are_merged_by_their_times_and_markers_come_first() -> None:
    for data, marks in product([[], [1], [5, 1, 7]], [[], [1], [0, 5, 9]]):
        files = list(merged([(n, "d") for n in data], [(n, "m") for n in marks], lambda file: file[0]))
        assert [file[0] for file, is_markers in files if is_markers] == marks
        assert [file[0] for file, is_markers in files if not is_markers] == data
    order = merged([(5, "d"), (1, "d"), (7, "d")], [(0, "m"), (5, "m"), (9, "m")], lambda file: file[0])
    assert [file for file, _ in order] == [(0, "m"), (5, "m"), (5, "d"), (1, "d"), (7, "d"), (9, "m")]


def test_the_clause_is_laid_out_and_goes_into_the_program(root: Path) -> None:
    text = query_in(root)
    assert format_query(parse_query(text), text) == text.lstrip("\n")
    assert f'markers "{root}/ops"' in compile_query(text).program
    assert code_of(lambda: compile_query(text.replace('/ops";', '/ops" markers "x";'))) == "RQ001"
    assert (
        code_of(lambda: compile_query(text.replace("/ops", "/pumps/ops")))
        == code_of(lambda: compile_query(text.replace("/ops", "/pumps")))
        == "RQ225"
    )
    assert code_of(lambda: compile_query(text.replace("/ops", ""))) == "RQ225"
    compile_query(text.replace("/ops", "/pumps/_ops"))
    assert (
        code_of(lambda: compile_query(text.replace("stream", "table").replace("punctuated on ts", "")))
        == "RQ226"
    )


@pytest.mark.parametrize(
    ("before", "after", "effects"),
    [
        ("", ' markers "m"', ["new checkpoint"]),
        (' markers "m"', "", ["new checkpoint"]),
        (' markers "m"', ' markers "n"', ["at once"]),
    ],
)
def test_a_checkpoint_is_of_a_query_with_the_clause_or_without(
    before: str, after: str, effects: list[str]
) -> None:
    old, new = (
        compile_query(f'stream r(a: int) from json "d"{clause}; emit r to json "o";').plan
        for clause in (before, after)
    )
    state = SourceState.start(old.sources[0], old.droppable["r"])
    actual = compare_source(old.sources[0], new, "r", state, 1)
    assert [item.effect for item in actual.items] == effects


def test_simulate_puts_markers_where_their_files_stand(root: Path) -> None:
    simulate(query_in(root), Options(sinks={"flow": str(root / "flow")}))
    assert canonical_rows(root / "flow") == EXPECTED
    assert {"$accent": "[[alter(litres, y -> y / 1000)]]"} in read_output(root / "flow")


def test_standard_input_comes_after_all_files_of_markers(root: Path) -> None:
    write_at(root / "ops", {20: OPS[20], 25: [], 40: []})
    text = text_of([*DATA[20], {"$punctuation": "[]"}])
    arguments = ["simulate", str(root / "q.rq"), "--source", "pumps=-"]
    result = cedilla(*arguments, text=text)
    assert result.exit_code == 0, result.output
    assert '{"minute": 0, "litres": 120.0}' in result.stdout
    arguments = [
        "validate",
        "-",
        "--markers",
        str(root / "ops"),
        "--schema",
        "ts: long, pump: int, litres: double",
    ]
    result = cedilla(*arguments, text=text)
    assert (result.exit_code, "2 tuples, 1 accent, 1 punctuation" in result.output) == (0, True), (
        result.output
    )


def test_a_stray_tuple_ends_the_query_with_all_before_it_done(root: Path) -> None:
    write_at(root / "ops", {40: [*OPS[40], '{"ts": 90}']})
    result = cedilla("simulate", str(root / "q.rq"), "--sink", f"flow={root}/flow")
    assert (result.exit_code, f'{root}/ops/40.jsonl:2: {{"ts": 90}}' in result.output) == (1, True)
    assert "RQ224" in result.output
    assert canonical_rows(root / "flow") == EXPECTED


def test_validate_and_canonize_read_both_folders(root: Path) -> None:
    schema = "ts: long, pump: int in {1, 2}, litres: double"
    arguments = (str(root / "pumps"), "--markers", str(root / "ops"), "--schema", schema)
    result = cedilla("validate", *arguments)
    assert (result.exit_code, "6 tuples, 2 accents, 2 punctuations" in result.output) == (0, True)
    canonical = [json.loads(line) for line in cedilla("canonize", *arguments).output.splitlines()]
    assert [row["litres"] for row in canonical if "litres" in row] == [
        100.0,
        140.0,
        100.0,
        140.0,
        200.0,
        200.0,
    ]
    write_at(root / "ops", {41: [{"ts": 130}]})
    assert "RQ224: 1" in cedilla("validate", *arguments).output
    assert cedilla("validate", str(root / "pumps"), "--markers", str(root / "nothing")).exit_code == 1


@pytest.mark.parametrize(
    ("form", "files_per_epoch"), tiered([("json", 2), ("json", None), ("parquet", 2), ("xml", None)])
)
def test_run_gives_the_same_however_it_is_cut(
    root: Path, spark: SparkSession, form: str, files_per_epoch: int | None
) -> None:
    if form != "json":
        convert(root, form, spark)
    options = Options(once=True, checkpoint=f"{root}/checkpoint", files_per_epoch=files_per_epoch)
    run(query_in(root, form), options, spark=spark)
    assert sorted(read(root / "flow").rows(), key=lambda row: row["minute"]) == EXPECTED
    assert cedilla("status", f"{root}/checkpoint").exit_code == 0
    # A file of each that comes later; and in the folder of markers a line that is none, after one that counts.
    write_at(root / "ops", {50: [{"$accent": "[[alter(litres, y -> y * 10)]]"}, '{"ts": 1}']})
    for _ in range(2):
        with pytest.raises(DiagnosticError) as caught:
            run(query_in(root, form), options, spark=spark)
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.notes[-1]) == (
            "RQ224",
            f'file:{root}/ops/50.jsonl:2: {{"ts": 1}}',
        )
    write_at(
        root / "ops", {50: [{"$accent": "[[alter(litres, y -> y * 10)]]"}, {"$punctuation": "[ts < 130]"}]}
    )
    run(query_in(root, form), options, spark=spark)
    write_at(root / "pumps", {60: [{"ts": 180, "pump": 1, "litres": 4.0}, {"$punctuation": "[]"}]})
    if form != "json":
        convert(root, form, spark)
    run(query_in(root, form), options, spark=spark)
    assert sorted(read(root / "flow").rows(), key=lambda row: row["minute"]) == [
        *EXPECTED,
        {"minute": 3, "litres": 400.0},
    ]


def convert(root: Path, form: str, spark: SparkSession) -> None:
    """The files of tuples in another format, with their times."""
    for file in (root / "pumps").glob("*.jsonl"):
        items = [json.loads(line) for line in file.read_text().splitlines()]
        other = file.with_suffix(f".{form}")
        if form == "xml":
            leaves = ("".join(f"<{n}>{v}</{n}>" for n, v in i.items() if "$" not in n) for i in items)
            kinds = ("punct:r" if "$punctuation" in item else "r" for item in items)
            other.write_text("".join(f"<{k}>{text}</{k}>\n" for k, text in zip(kinds, leaves, strict=True)))
        else:
            frame = spark.createDataFrame(
                [(i.get("ts"), i.get("pump"), i.get("litres"), i.get("$punctuation")) for i in items],
                "ts LONG, pump INT, litres DOUBLE, `$punctuation` STRING",
            )
            frame.coalesce(1).write.parquet(f"{root}/aside-{file.stem}")
            (part_file,) = (root / f"aside-{file.stem}").glob("*.parquet")
            part_file.rename(other)
        os.utime(other, (int(file.stem), int(file.stem)))
        file.unlink()
