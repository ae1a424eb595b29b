"""Markers at the beginnings and the ends of files are seen without a Spark job; others cost one, and none is lost."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines import costs
from cedilla.runtime.engines.files import Files
from cedilla.runtime.formats.jsonl_source import JsonLines
from cedilla.runtime.formats.source import InputFile, Scan
from cedilla.runtime.ingest.marker_search import MarkerSearch
from cedilla.runtime.ingest.slices import Slice
from cedilla.runtime.pipeline.load import load
from tests.pipeline import Run
from tests.stream import Item, decode
from tests.tiers import tiered

STREAM = 'stream r(k: int, t: double) from json "r" punctuated on k; '
PASSED_ON = f'{STREAM} q := select[k >= 0](r); emit q to json "q";'
ALTER = '{"$accent": "[[k > 2, alter(t, y -> y * 2)]]"}'
CLOSE = '{"$punctuation": "[k < 2]"}'
TUPLE = '{"k": 1, "t": 2.5}'


def seen(spark: SparkSession, *paths: Path) -> Scan | None:
    files = [InputFile(str(path), path.as_uri(), path.stat().st_size) for path in paths]
    return JsonLines().scan_ends(Files(), files)


@pytest.mark.parametrize("edge", [64, 1 << 14])
@pytest.mark.parametrize(
    ("before", "behind"), [([], []), ([ALTER], []), ([], [CLOSE]), ([CLOSE, ALTER], [ALTER, CLOSE])]
)
def test_markers_at_both_ends_are_seen(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edge: int,
    before: list[str],
    behind: list[str],
) -> None:
    """Their places are before and behind those of the tuples, which a read of the rows tells; blank lines are none."""
    monkeypatch.setattr(costs, "FILE_END", edge + sum(len(line) + 1 for line in (*before, *behind)))
    lines = [*before, *[TUPLE] * 20, "", *behind, " "]
    paths = [tmp_path / name for name in ("1 ü#?.jsonl", "2%20.jsonl")]
    paths[0].write_text("\n".join(lines))
    paths[1].write_text("\r\n".join(lines) + "\n")
    scan = seen(spark, *paths)
    assert scan is not None
    assert (scan.empty, scan.rows) == (frozenset(), None)
    files = JsonLines().discover(spark, str(tmp_path))
    read = JsonLines().rows(spark, files, {}).where("`$accent` IS NULL AND `$punctuation` IS NULL")
    places = [row[0] for row in read.select("$position").orderBy("$position").collect()]
    expected = [
        (file, text, is_behind)
        for file in (0, 1)
        for is_behind in (0, 1)
        for text in (before, behind)[is_behind]
    ]
    assert [
        (m.file, json.dumps({f"${m.kind}": m.text}), int(m.position > places[m.file * 20 + 19]))
        for m in scan.markers
    ] == expected
    assert all(not places[m.file * 20] <= m.position <= places[m.file * 20 + 19] for m in scan.markers)
    assert list(scan.markers) == sorted(scan.markers, key=lambda marker: marker.position)


def test_a_file_of_markers_only_has_no_tuples(spark: SparkSession, tmp_path: Path) -> None:
    for name, text in (("1", f"{ALTER}\n{CLOSE}\n"), ("2", f"{TUPLE}\n"), ("3", ""), ("4", "\n")):
        (tmp_path / name).write_text(text)
    scan = seen(spark, *sorted(tmp_path.iterdir()))
    assert scan is not None
    assert scan.empty == {0, 2, 3}
    assert [(marker.kind, marker.file) for marker in scan.markers] == [("accent", 0), ("punctuation", 0)]


@pytest.mark.parametrize(
    "text",
    [
        f"{TUPLE}\n{CLOSE}\n{TUPLE}\n",
        f'{TUPLE}\n{{"$accent": "spoilt\n',
        f"{TUPLE}\n[{CLOSE}]\n",
        f'{TUPLE}\n {{"$punctuation": "[k < 2]"}}\n',
        f'{TUPLE}\n{{"$punctuation": "[k < 2]", "k": 3}}\n',
        f'{TUPLE}\n{{"$punctuation": 7}}\n',
        f'{TUPLE}\n{{"$punctuation": "[k < \\u0032]"}}\n',
        f"{CLOSE}\n\u00a0\n",
        f"{TUPLE}\r{CLOSE}\r",
        f"\ufeff{CLOSE}\n{TUPLE}\n",
        f"[{TUPLE}]\n",
        f"{ALTER}\n" * 20 + f"{TUPLE}\n" * 20,
        f"{TUPLE}\n" * 20 + f"{ALTER}\n" * 20,
        '{"k": "' + "x" * 700 + '"}\n' * 3,
    ],
)
def test_what_is_written_otherwise_is_looked_at_with_more_care(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(costs, "FILE_END", 150)
    path = tmp_path / "1.jsonl"
    path.write_bytes(text.encode())
    assert seen(spark, path) is None


def test_compressed_files_are_not_read_so(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl.gz"
    path.write_bytes(gzip.compress(f"{TUPLE}\n{CLOSE}\n".encode()))
    assert seen(spark, path) is None


def _mixed(seed: int) -> list[list[Item | str]]:
    """Files of tuples, late and bad ones among them, with markers anywhere; most of them at the ends."""
    chance = random.Random(seed)
    closed = 0
    files: list[list[Item | str]] = []

    def marker() -> Item | str:
        nonlocal closed
        if chance.random() < 0.5:
            closed += 1
            return {"$punctuation": f"[k < {closed}]"}
        accent = f"[[k = {chance.randrange(9)}, alter(t, y -> y * 2)]]"
        return {"$accent": accent} if chance.random() < 0.9 else f'{{"\\u0024accent": "{accent}"}}'

    for _ in range(3):
        items: list[Item | str] = [
            {"k": chance.randrange(9), "t": chance.randrange(40) / 4} for _ in range(30)
        ]
        if chance.random() < 0.5:
            items[chance.randrange(30)] = chance.choice(["no json", {"k": "x", "t": 1.0}, {"t": 1.0}, ""])
        if chance.random() < 0.3:
            items.insert(chance.randrange(30), marker())
        before = [marker() for _ in range(chance.randrange(3))]
        files.append([*before, *items, *(marker() for _ in range(chance.randrange(3)))])
    return files


@pytest.mark.parametrize(
    ("query", "seed"),
    tiered(product([PASSED_ON, PASSED_ON.replace("punctuated on k", "heartbeat k delay 4")], range(3))),
)
def test_results_are_those_of_a_look_at_every_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, seed: int
) -> None:
    """Same tuples, same markers at the same sinks, same counts and the same lines set aside."""
    monkeypatch.setattr(costs, "FILE_END", 400)
    found: list[tuple[object, ...]] = []
    for name, ends_suffice in (("glance", True), ("look", False)):
        run = Run(spark, tmp_path / name, query)
        for items in _mixed(seed):
            run.write("r", items)
        executor = run.executor(1)
        assert executor.marker_search.ends_suffice == {"r"}
        if not ends_suffice:
            executor.marker_search.ends_suffice = frozenset()
        executor.process(0, run.files(executor))
        last = executor.last
        set_aside = sorted(
            (line["code"], line["position"]["line"], line["raw"]) for line in run.quarantine("r")
        )
        tuples = sorted(decode(run.output("q")), key=str)
        counts = [(report.tuples, report.quarantined, report.accents) for report in run.reports]
        source = last.sources["r"]
        alters = [evolve(each, place=each.place.replace(str(run.root), "")) for each in source.alters]
        sources = evolve(source, alters=tuple(alters))
        found.append((tuples, set_aside, counts, sources, last.sinks, last.counters))
    assert found[0] == found[1]


@pytest.mark.parametrize("is_counted", [True, False])
def test_a_marker_between_tuples_is_not_overlooked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_counted: bool
) -> None:
    """The count of bytes tells, or that of markers; from then on every line is looked at, which is enough."""
    monkeypatch.setattr(costs, "FILE_END", 100)
    run = Run(spark, tmp_path, PASSED_ON)
    tuples = [{"k": 3, "t": 1.0}] * 20
    run.write("r", tuples)
    run.write("r", [*tuples, ALTER if is_counted else ALTER.replace('"[', '"\\u005b'), *tuples])
    run.write("r", tuples)
    executor = run.process(files_per_epoch=1)
    assert executor.marker_search.ends_suffice == (frozenset("r") if is_counted else frozenset())
    assert [(report.number, report.tuples, report.accents) for report in run.reports] == [
        (0, 20, 0),
        (1, 40, 1),
        (2, 20, 0),
    ]
    assert [row["t"] for row in decode(run.output("q"))] == [1.0] * 40 + [0.5] * 40


def test_no_job_looks_for_markers_at_the_ends(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scans(*_: object) -> list[Scan]:
        raise AssertionError("a Spark job looks for markers")

    monkeypatch.setattr(JsonLines, "scans", scans)
    run = Run(spark, tmp_path, PASSED_ON)
    run.write("r", [ALTER, {"k": 3, "t": 1.0}, CLOSE])
    run.process()
    assert decode(run.output("q")) == [{"k": 3, "t": 0.5}]


def test_many_files_are_looked_through_by_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many sources they are of: a look at ends costs some messages for each file."""
    monkeypatch.setattr(JsonLines, "readable", lambda _, __, files, ___: files)
    monkeypatch.setattr(JsonLines, "scan_ends", lambda *_: Scan(ends_only=True))
    monkeypatch.setattr(JsonLines, "scans", lambda _, __, listed: [Scan(rows=1) for _ in listed])
    nothing: Any = None
    marker_search = MarkerSearch(nothing, nothing, nothing, "", frozenset("ab"))
    for files, ends_only in ((4, True), (5, False)):
        part = Slice(JsonLines(), (InputFile("x", "file:/x", 1),) * files)
        looked = marker_search.at({"a": part, "b": part, "c": part})
        assert [each.scan.ends_only for each in looked.values()] == [ends_only, ends_only, False]


@pytest.mark.parametrize("lines", [[TUPLE, "", TUPLE], []])
def test_a_marker_that_ends_the_query_is_found_at_its_line(
    spark: SparkSession, tmp_path: Path, lines: Sequence[str]
) -> None:
    """Its line is that of its row, though the look at ends knew only that it is behind the tuples, or before them."""
    run = Run(spark, tmp_path, PASSED_ON)
    bad = '{"$accent": "[[alter(none, y -> y * 2)]]"}'
    run.write("r", [*lines, CLOSE, bad, *([] if lines else [TUPLE])])
    with pytest.raises(DiagnosticError) as failure:
        run.process()
    (diagnostic,) = failure.value.diagnostics
    assert diagnostic.notes[-1].endswith(f"00001.jsonl:{len(lines) + 2}: [[alter(none, y -> y * 2)]]")
    assert len(decode(run.output("q"))) == len(lines) - lines.count("")
    with pytest.raises(DiagnosticError) as again:
        run.process()
    assert again.value.diagnostics == failure.value.diagnostics


@pytest.mark.parametrize(
    ("query", "streamed"),
    [
        ("q := project[k](select[k > 0](r)); p := q union s; emit p to json 'p';", {"r", "s"}),
        ("q := distinct(r); p := q union s; emit p to json 'p';", {"s"}),
        ("q := distinct(r); emit q to json 'q'; emit r to json 'p'; emit s to json 's';", {"s"}),
        ("q := select[k > 0](r); emit q to json 'q'; emit q to json 'p'; emit s to json 's';", {"s"}),
        ("q := select[k > 0](r); p := select[k > 1](r); emit q to json 'q'; emit p to json 'p';", {"r", "s"}),
        (
            "q := r semi join s on k; p := select[k > 0](s); emit q to json 'q'; emit p to json 'p';",
            set[str](),
        ),
    ],
)
def test_what_is_kept_or_shared_is_counted_from_elsewhere(query: str, streamed: set[str]) -> None:
    streams = 'stream r(k: int) from json "r"; stream s(k: int) from json "s"; '
    plan, _ = load(compile_query(streams + query).program)
    assert plan.streamed == streamed
