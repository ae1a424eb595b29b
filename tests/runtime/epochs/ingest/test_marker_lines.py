"""Markers are found by searching bytes: the same as a look at every line finds, and results are the same whether the
driver or tasks of the engine read the files."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.jsonl import markers as searching
from cedilla.runtime.connectors.formats.jsonl.markers import markers_in
from cedilla.runtime.connectors.formats.jsonl.source import JsonLines
from cedilla.runtime.connectors.formats.lines.blocks import Block, Part
from cedilla.runtime.connectors.formats.listing import listed_files
from cedilla.runtime.connectors.records.lines import lines_of
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.tools.simulation.inputs import parsed
from tests.kit.query import Query
from tests.kit.stream import decode
from tests.kit.tiers import tiered
from tests.runtime.epochs.ingest.marker_streams import mixed_files

PASSED_ON = """
stream r(k: int in [0, 9], t: double) from json "r" punctuated on k;
q := select[k >= 0](r);
emit q to json "q";
"""
SOURCE = compile_query(PASSED_ON).plan.sources[0]
ALTER = '{"$accent": "[[alter(t, y -> y * 2)]]"}'
TUPLE = '{"k": 3, "t": 1.0}'
CLOSE = '{"$punctuation": "[k < 2]"}'
LINES = [
    ALTER,
    CLOSE,
    f"  {CLOSE}\t",
    ALTER.replace("accent", "acc\\u0065nt"),
    ALTER.replace("$", "\\u0024"),
    CLOSE.replace("$punctuation", "$p\\u0075nctu\\u0061tion"),
    '{"$accent": "[[broken"',
    '{"$accent": "\xff"}',
    '[{"$accent": "[[alter(t, y -> y * 2)]]"}]',
    '{"accent": "[[alter(t, y -> y * 2)]]"}',
    '{ "$accnet" : "[[alter(t, y -> y * 2)]]"}',
    '{"punctation": "[ts < 3]"}',
    '{"$acent": "[[x]]", "$sent": "now"}',
    '{"$a": "b", "$sent": 1, "$more and more": true, "$acent": "[[x]]"}',
    '{"accent": "high"}',
    '{"note": "[[alter(t, y -> y * 2)]]"}',
    """{'$accent': '[[alter(t, y -> y * 2)]]'}""",
    """{ 'accent': '[[alter(t, y -> y * 2)]]'}""",
    '{accent: "[[alter(t, y -> y * 2)]]"}',
    "$punctuation: [k < 2]",
    '"{\\"$accent\\": \\"[[alter(t, y -> y * 2)]]\\"}"',
    '{"$punctuation": "[k < 2]", "$accent": "[[alter(t, y -> y * 2)]]"}',
    '{"$punctuation": "[k < 2]", "$sent": "now"}',
    "{'k': 3}",
    '{"k": 1, "$accent": "[[alter(t, y -> y * 2)]]"}',
    '{"$accent": 5}',
    '{"$accent": null, "k": 1}',
    '{"k": 1, "s": "no \\"$accent\\" at all"}',
    '{"k": 1, "s": "\\u00e4 \\u0065"}',
    '{"k": "[x]"}',
    '{"\xe4\xe4\xe4\xe4accent": "[[x]]"}',
    TUPLE,
    "no json",
    "",
]


@pytest.mark.parametrize("seed", tiered(range(8), 3))
def test_a_search_finds_what_a_look_at_every_line_finds(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(60):
        lines = chance.choices(LINES, k=chance.randrange(20))
        text = chance.choice(["\n", "\n", "\r\n"]).join(lines)
        file = tmp_path / f"{number}.jsonl"
        file.write_bytes((chance.choice(["", "\xef\xbb\xbf"]) + text).encode("latin-1"))
        expected: list[tuple[str, str]] = []
        for line in lines_of(file):
            item = parsed(SOURCE, line).item
            for kind in ("accent", "punctuation"):
                if item.get(f"${kind}") is not None:
                    expected.append((kind, str(item[f"${kind}"])))
            if "$malformed" in item:
                expected.append(("malformed", line.text))
        actual = [marker for block in Part(str(file), 0).blocks() for marker in markers_in(block)]
        assert [("malformed" if m.kind == "suspicious_key" else m.kind, m.text) for m in actual] == expected


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("query", "seed"),
    tiered(product([PASSED_ON, PASSED_ON.replace("punctuated on k", "heartbeat k delay 4")], range(3)), 2),
)
def test_driver_and_tasks_read_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, seed: int
) -> None:
    """Same tuples, same markers at the same sinks, same counts and the same lines set aside; files in several parts."""
    actual: list[tuple[object, ...]] = []
    for name, most in (("driver", 1 << 20), ("tasks", 0)):
        for cost in ("PARSED_BY_DRIVER", "SEARCHED_BY_DRIVER"):
            monkeypatch.setattr(costs, cost, most)
        monkeypatch.setattr(costs, "PART", most or 300)
        run = Query(spark, tmp_path / name, query)
        for items in mixed_files(seed):
            run.write("r", items)
        executor = run.process(1)
        last = executor.last
        set_aside = sorted(
            (line["code"], line["position"]["line"], line["raw"], line["reason"])
            for line in run.quarantine("r")
        )
        tuples = sorted(decode(run.output("q")), key=str)
        counts = [(report.tuples, report.quarantined, report.accents) for report in run.reports]
        source = last.sources["r"]
        alters = [
            evolve(alter, place=alter.place.replace(str(run.root), "")) for alter in source.notes.alters
        ]
        latest = source.latest and evolve(source.latest, file=source.latest.file.replace(str(run.root), ""))
        sources = evolve(source, notes=evolve(source.notes, alters=tuple(alters)), latest=latest)
        actual.append((tuples, set_aside, counts, sources, last.sinks, last.counters))
    assert actual[0] == actual[1]


def test_blocks_of_markers_hide_no_tuples_behind_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark takes an empty Arrow batch for the end of all."""
    monkeypatch.setattr(costs, "BLOCK", 60)
    for number, markers in enumerate(([CLOSE] * 9, [CLOSE])):
        (tmp_path / f"{number}.jsonl").write_text("\n".join([TUPLE, *markers, TUPLE]) + "\n")
    (tmp_path / "2.jsonl").write_text(CLOSE + "\n")
    (tmp_path / "3.jsonl").write_text(TUPLE + "\n")
    files = dict(enumerate(listed_files(Files(), str(tmp_path))))
    for most in (1 << 20, 0):
        monkeypatch.setattr(costs, "PARSED_BY_DRIVER", most)
        assert JsonLines().tuples(spark, files, {}).count() == 5


@pytest.mark.parametrize("lines", [[TUPLE, "", TUPLE], []])
def test_a_marker_that_ends_the_query_is_found_at_its_line(
    spark: SparkSession, tmp_path: Path, lines: list[str]
) -> None:
    run = Query(spark, tmp_path, PASSED_ON)
    bad = '{"$accent": "[[alter(tt, y -> y * 2)]]"}'
    run.write("r", [*lines, CLOSE, bad, *([] if lines else [TUPLE])])
    with pytest.raises(DiagnosticError) as failure:
        run.process()
    (diagnostic,) = failure.value.diagnostics
    assert diagnostic.notes[-1].endswith(f"00001.jsonl:{len(lines) + 2}: [[alter(tt, y -> y * 2)]]")
    assert len(decode(run.output("q"))) == len(lines) - lines.count("")
    with pytest.raises(DiagnosticError) as again:
        run.process()
    assert again.value.diagnostics == failure.value.diagnostics


def test_markers_have_the_places_that_the_tuples_have(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that their lines begin with, in files of odd names, read in parts."""
    lines = [json.dumps({"k": i, "text": "x" * (i % 50)}) for i in range(300)]
    lines[7] = lines[150] = ALTER
    lines[151] = CLOSE
    lines[20] = " \t"
    paths = [tmp_path / name for name in ("a=1 #.jsonl", "b%20\u00fc?.jsonl")]
    for path in paths:
        path.write_text("\n".join(lines) + "\n")
    files = dict(enumerate(listed_files(Files(), str(tmp_path))))
    starts = [sum(len(line) + 1 for line in lines[:n]) for n in range(300)]
    for part in (1 << 25, 500):
        monkeypatch.setattr(costs, "PART", part)
        scan, second = JsonLines().scans(spark, [files, {1: files[1]}])
        assert [m.position for m in scan.markers] == [
            (f << 47) + starts[n] for f in (0, 1) for n in (7, 150, 151)
        ]
        assert (scan.tuples, scan.empty) == (2 * 296, frozenset())
        assert second.markers == scan.markers[3:]
        rows = JsonLines().tuples(spark, files, {}).select("`$position`").collect()
        tuples = [start for n, start in enumerate(starts) if n not in (7, 20, 150, 151)]
        assert sorted(row[0] for row in rows) == [(f << 47) + start for f in (0, 1) for start in tuples]
    assert [JsonLines().rows_before(spark, files[1], starts[n]) for n in (0, 7, 21)] == [0, 7, 20]
    assert [JsonLines().place_of_row(spark, files[1], n) for n in (7, 20, 299)] == [
        starts[7],
        starts[21],
        None,
    ]
    assert JsonLines().line_at(spark, files[1], starts[21]) == 22


@pytest.mark.parametrize("key", ["$accent", "$punctuation", "$acent"])
def test_usual_markers_are_what_the_parser_makes_of_them(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    texts = ["[s = 1]", '[[l = "a", -(p)]]', "", "\\", '\\"', '\\\\"', "a\tb", "é", "{}", "$accent", "\x7f"]
    lines = [
        json.dumps({key: text}, separators=with_) for text in texts for with_ in ((",", ":"), (", ", ": "))
    ]
    data = "".join(
        f"{line}{end}\n" for line in [*lines, *(line[:-2] for line in lines)] for end in ("", "\r", " ")
    )
    usual = list(markers_in(Block(data.encode(), 0)))
    monkeypatch.setattr(searching, "_USUAL", re.compile(b"(?!)"))
    assert usual == list(markers_in(Block(data.encode(), 0)))
