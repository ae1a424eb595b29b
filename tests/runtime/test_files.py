"""Files of every shape in a source's folder: Spark, the reference and the stream tools read the same of each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from attrs import define
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run, simulate
from cedilla.runtime.formats.source import listed_files
from cedilla.runtime.items.lines import files_of
from cedilla.runtime.reference.simulation import Input
from cedilla.runtime.terminal.options import Options
from cedilla.runtime.terminal.places import check_places
from tests.stream import Item, is_tuple, read_output

QUERY = 'stream r(ts: long, s?: string) from json "r"; emit r to json "out";'


@define
class Answer:
    """What one reader makes of a stream: its tuples, in order of `ts`, and what it rejects: code, `file:line`."""

    tuples: list[Item]
    rejected: list[tuple[str, str]]


def write(root: Path, files: Mapping[str, bytes]) -> Path:
    """Files below a folder, each later than the one before."""
    for time, (name, content) in enumerate(files.items(), 1):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (time, time))
    return root


def line(ts: int, **more: object) -> bytes:
    return json.dumps({"ts": ts, **more}).encode() + b"\n"


def ordered(items: list[Item]) -> list[Item]:
    return sorted(filter(is_tuple, items), key=lambda item: item["ts"])


def by_spark(spark: SparkSession, source: Path, root: Path, query: str = QUERY) -> Answer:
    """Of `run`, from the command's own entry: Spark's file stream discovers the files."""
    options = Options(
        once=True,
        checkpoint=str(root / "checkpoint"),
        sources={"r": str(source)},
        sinks={"r": str(root / "run")},
    )
    run(query, options, spark=spark)
    folder = root / "checkpoint" / "quarantine" / "r"
    lines = [json.loads(text) for file in folder.glob("*.jsonl") for text in file.read_text().splitlines()]
    rejected = [
        (each["code"], f"{each['position']['file'].rpartition('/')[2]}:{each['position']['line']}")
        for each in lines
    ]
    return Answer(ordered(read_output(root / "run")), sorted(rejected))


def by_reference(source: Path, root: Path, query: str = QUERY) -> Answer:
    rejected: list[tuple[Input, str]] = []
    options = Options(sources={"r": str(source)}, sinks={"r": str(root / "simulated")})
    simulate(query, options, lambda at, code: rejected.append((at, code)))
    places = [(code, at.line.place.rpartition("/")[2]) for at, code in rejected]
    return Answer(ordered(read_output(root / "simulated")), sorted(places))


DEEP = {
    "b/1.jsonl": line(1),
    "a.jsonl": line(2),
    "b/c=1/2.jsonl": line(3),
    "b/_hidden.jsonl": line(90),
    "b/.hidden.jsonl": line(91),
    "_aside/3.jsonl": line(92),
    ".aside/c/3.jsonl": line(93),
    "_a=b/3.jsonl": line(94),
    "b/_metadata": line(95),
    "_metadata/3.jsonl": line(96),
    "b/4.jsonl._COPYING_": line(97),
    "epoch=000000000001/1-tuples.jsonl": line(4),
    "epoch=000000000001/_5.jsonl": line(98),
    "epoch=000000000000/1-tuples.jsonl": line(5),
}
IN_ORDER = ["epoch=000000000000/1-tuples.jsonl", "epoch=000000000001/1-tuples.jsonl"]
IN_ORDER += ["b/1.jsonl", "a.jsonl", "b/c=1/2.jsonl"]


def test_files_in_folders_below_are_read_in_order_and_hidden_ones_are_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A `_` in what leads to the folder hides nothing."""
    source = write(tmp_path / "_in" / "r", DEEP)
    names = [file.path.removeprefix(f"file:{source}/") for file in listed_files(spark, str(source))]
    assert names == [str(file.relative_to(source)) for file in files_of(str(source))] == IN_ORDER


def test_run_reads_files_in_folders_below(spark: SparkSession, tmp_path: Path) -> None:
    source = write(tmp_path / "r", DEEP)
    found = by_spark(spark, source, tmp_path)
    assert [item["ts"] for item in found.tuples] == [1, 2, 3, 4, 5]
    assert found == by_reference(source, tmp_path)


def test_a_query_does_not_read_what_it_writes(tmp_path: Path) -> None:
    def code(source: Path, sink: Path, checkpoint: Path) -> str | None:
        text = QUERY.replace('"r"', f'"{source}"').replace('"out"', f'"{sink}"')
        try:
            plan = compile_query(text).plan
            check_places(plan, str(checkpoint))
        except DiagnosticError as error:
            return error.diagnostics[0].code
        return None

    (tmp_path / "r").mkdir()
    r, out, checkpoint = (tmp_path / name for name in ("r", "out", "checkpoint"))
    assert code(r, out, checkpoint) is None
    assert code(r, r / "out", checkpoint) == code(r, r, checkpoint) == "RQ116"
    assert code(r, out, r / "checkpoint") == "RQ411"
    assert code(r, r / "_out", r / ".checkpoint") is None
