"""A line is one tuple, one marker, or neither, for Spark, the reference and the stream tools alike."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.diagnostics.suggestions import edits
from cedilla.runtime.connectors.records import near_markers
from cedilla.runtime.connectors.records.lines import lines_of
from cedilla.runtime.connectors.records.near_markers import marker_of
from cedilla.runtime.tools.stream_tools.places import streams_at, with_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.errors import error_of
from tests.kit.query import Query
from tests.kit.stream import decode, packed_zstd
from tests.kit.tiers import rest

QUERY = """
stream r(ts: long, s: int, t?: double, note?: string) from json "r" punctuated on ts;
sums := aggregate[sum by w except ts, s](window[10 on ts as w](r));
emit sums to json "sums";
emit r to json "passed_on";
"""
STATELESS = QUERY.replace('emit sums to json "sums";', "")
FAHRENHEIT = '{"$accent": "[[alter(t, y -> (y - 32) * 5/9)]]"}'
"""Canonical values are in degrees Fahrenheit."""


def tuple_lines(*times: int, t: float = 32.0) -> list[str]:
    return [json.dumps({"ts": ts, "s": 1, "t": t}) for ts in times]


ODD = {
    "a list of objects": f"[{', '.join(tuple_lines(1, 2, 3))}]",
    "a list of one": f"[{tuple_lines(1)[0]}]",
    "an empty list": "[]",
    "two objects": "".join(tuple_lines(1, 2)),
    "two objects, a comma": ", ".join(tuple_lines(1, 2)),
    "an object and more": f"{tuple_lines(1)[0]} and so on",
    "an object and a brace": f"{tuple_lines(1)[0]}}}",
    "nested, then another": '{"ts": 1, "s": 1, "note": {"a": [{"b": "}"}]}} {"ts": 2}',
    "a number": "5",
    "a string": '"{}"',
    "null": "null",
    "no JSON": "ts=1",
    "single quotes": "{'ts': 1, 's': 1}",
    "no UTF-8": b'{"ts": 1, "s": 1, "note": "\xff"}',
    "a space that is none": "\u00a0",
    "a control character": "\x01",
}


@pytest.mark.either_engine
@pytest.mark.parametrize("stateless", [True, False])
def test_a_line_that_is_no_single_object_is_no_tuple_wherever_it_is_read(
    spark: SparkSession, tmp_path: Path, stateless: bool
) -> None:
    """Later lines keep their places: a marker holds for the lines after it, the quarantine names lines."""
    run = Query(spark, tmp_path, STATELESS if stateless else QUERY)
    lines = [
        *(line if isinstance(line, bytes) else line.encode() for line in ODD.values()),
        b"",
        FAHRENHEIT.encode(),
        tuple_lines(4, t=0.0)[0].encode(),
    ]
    path = run.write("r", [])
    path.write_bytes(b"\n".join(lines) + b"\n")
    executor = run.process()
    rejected = run.quarantine("r")
    assert [r["position"]["line"] for r in rejected] == list(range(1, len(ODD) + 1))
    assert {r["code"] for r in rejected} == {"RQ301"}
    assert {Path(r["position"]["file"]).name for r in rejected} == {path.name}
    shown = [line.decode("utf-8", "replace") for line in lines[: len(ODD)]]
    assert [r["raw"] for r in rejected] == shown
    assert executor.last.counters == {"RQ301": len(ODD)}
    assert [row["t"] for row in decode(run.output("r"))] == [32.0]
    assert not (tmp_path / "checkpoint" / "copies").exists()
    assert [report.accents for report in run.reports] == [1]


def test_simulate_and_validate_say_the_same_of_odd_lines(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "r"
    folder.mkdir(parents=True)
    lines = [line if isinstance(line, bytes) else line.encode() for line in ODD.values()]
    (folder / "1.jsonl").write_bytes(
        b"\n".join([*lines, FAHRENHEIT.encode(), tuple_lines(4, t=0.0)[0].encode()])
    )
    simulated = Query.without_engine(tmp_path, QUERY).simulate()
    assert [row["t"] for row in decode(simulated.output("r"))] == [32.0]
    assert simulated.codes == ["RQ301"] * len(ODD)
    assert [rejection.place for rejection in simulated.rejections] == [
        f"1.jsonl:{n}" for n in range(1, len(ODD) + 1)
    ]
    schema, (read,) = with_schema(streams_at(str(folder)), None)
    assert validate(read.lines, schema).findings == {"RQ301": len(ODD)}


@pytest.mark.parametrize(
    ("suffix", "compressed"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", packed_zstd)]
)
def test_compressed_files_are_read_as_others(
    tmp_path: Path, suffix: str, compressed: Callable[[bytes], bytes]
) -> None:
    """By their names, a byte order mark, lines of blanks and bad bytes among them; also for `simulate`."""
    folder = tmp_path / "in" / "r"
    folder.mkdir(parents=True)
    text = "\n".join(["\ufeff" + FAHRENHEIT, "", tuple_lines(4, t=0.0)[0], "no json"]).encode() + b"\n\xff\n"
    plain, packed, not_packed = (folder / name for name in ("1.jsonl", f"1.jsonl{suffix}", "2.jsonl"))
    plain.write_bytes(text)
    expected = [(line.text, line.is_utf8, line.place.removeprefix(str(plain))) for line in lines_of(plain)]
    assert [position for *_, position in expected] == [":1", ":3", ":4", ":5"]
    plain.unlink()
    packed.write_bytes(compressed(text))
    actual = [(line.text, line.is_utf8, line.place.removeprefix(str(packed))) for line in lines_of(packed)]
    assert actual == expected
    simulated = Query.without_engine(tmp_path, QUERY).simulate()
    assert [row["t"] for row in decode(simulated.output("r"))] == [32.0]
    assert simulated.codes == ["RQ301"] * 2
    assert [rejection.place for rejection in simulated.rejections] == [f"{packed.name}:4", f"{packed.name}:5"]
    not_packed.write_bytes(compressed(text))  # its name does not say so
    assert [line.text for line in lines_of(not_packed)] != [text for text, *_ in actual]


NEAR = [
    '{"accent": "[[alter(t, y -> y * 2)]]"}',
    '{"$Accent": "[[alter(t, y -> y * 2)]]"}',
    '{"$accents": "[[alter(t, y -> y * 2)]]"}',
    '{ "$accnet" : "[[alter(t, y -> y * 2)]]"}',
    '{"$acent": "[[alter(t, y -> y * 2)]]", "$sent": "now"}',
    '{"Punctuation": "[ts < 3]"}',
    '{"punctation": "[ts < 3]"}',
    '{"$accent ": "[[alter(t, y -> y * 2)]]"}',
]
FAR = [
    '{"accent": "high"}',
    '{"note": "[[alter(t, y -> y * 2)]]"}',
    '{"ts": 1, "s": 1, "accent": "[[alter(t, y -> y * 2)]]"}',
    '{"accent": ["[["]}',
    '{"$comment": "[sic]"}',
]


SPOILT = [
    """{'$accent': '[[s = 1, alter(t, y -> y * 2)]]'}""",
    "$accent: [[s = 1, alter(t, y -> y * 2)]]",
    "- $punctuation: '[ts < 3]'",
    '{$accent: "[[s = 1, alter(t, y -> y * 2)]]"}',
    '"{\\"$accent\\": \\"[[alter(t, y -> y * 2)]]\\"}"',
    "{\u201c$accent\u201d: \u201c[[alter(t, y -> y * 2)]]\u201d}",
    """{'accent': '[[alter(t, y -> y * 2)]]'}""",
    '{accent: "[[alter(t, y -> y * 2)]]"}',
    '{"$accent": "[[alter(t, y -> y * 2)]]", "ts": 3, "s": 1, "t": 7.0}',
    '{"$accent": "[[alter(t, y -> y * 2)]]", "$punctuation": "[ts < 3]"}',
    '{"$accent": "[[alter(t, y -> y * 2)]]", "$accent": "[[alter(t, y -> y * 3)]]"}',
    '{"$punctuation": "[ts < 3]", "$acent": "[[alter(t, y -> y * 2)]]"}',
]
MARKERS = [
    '{"$accent": "[[alter(t, y -> y * 2)]]", "$sent": "now"}',
    '{"$punctuation": "[ts < 3]", "$accent": null, "ts": null}',
]
TUPLES = [
    """{'ts': 3, 's': 1}""",
    "costs: $accent colour",
    '{"note": "$accent: [[x]]"}',
    '{"$accent": null, "ts": 1}',
]


def kind(line: str, *attributes: str) -> str | None:
    try:
        item = json.loads(line)
    except ValueError:
        item = None
    marker = marker_of(line, item if isinstance(item, dict) else None, attributes)
    return None if marker is None else marker[0]


@pytest.mark.parametrize("line", NEAR)
def test_a_line_whose_keys_are_near_a_markers_is_near_by_every_reader(line: str) -> None:
    assert kind(line) == "suspicious_key"
    assert kind(line, *json.loads(line)) is None, "an attribute of that name is declared"


@pytest.mark.parametrize("line", FAR + TUPLES)
def test_other_lines_are_not(line: str) -> None:
    assert kind(line) is None


@pytest.mark.parametrize("line", SPOILT)
def test_a_marker_in_another_notation_or_with_more_on_its_line_is_spoilt(line: str) -> None:
    assert kind(line) in ("suspicious_key", "malformed")


@pytest.mark.parametrize("line", MARKERS)
def test_a_marker_may_have_remarks_and_nulls_beside_it(line: str) -> None:
    assert kind(line) in ("accent", "punctuation")


def test_what_is_more_on_the_line_of_a_marker_is_named() -> None:
    messages = [near_markers.problem(line)[0].partition(": ")[2] for line in SPOILT[8:12]]
    assert messages == ["ts, s, t", "$punctuation", "$accent twice", "$acent"]


@pytest.mark.either_engine
@pytest.mark.parametrize("lines", [[NEAR[0], SPOILT[0], SPOILT[8]], rest(NEAR[1:] + SPOILT)])
def test_a_line_that_is_nearly_a_marker_ends_the_query_at_its_place(
    spark: SparkSession, tmp_path: Path, lines: list[str]
) -> None:
    """Everything before it is committed."""
    for number, near in enumerate(lines):
        run = Query(spark, tmp_path / str(number), QUERY)
        run.write("r", [*tuple_lines(1, 2), near, *tuple_lines(3)])
        executor = run.executor()
        with pytest.raises(DiagnosticError) as caught:
            executor.process(0, run.files(executor))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "RQ212"
        assert diagnostic.notes[-1].endswith(f".jsonl:3: {near}")
        assert len(decode(run.output("r"))) == 2
        assert error_of(run.simulate).message == diagnostic.message
        schema, (read,) = with_schema(streams_at(str(run.root / "in" / "r")), None)
        assert validate(read.lines, schema).findings == {"RQ212": 1}


@pytest.mark.either_engine
def test_an_attribute_of_such_a_name_is_one(spark: SparkSession, tmp_path: Path) -> None:
    text = 'stream r(accent?: string, k?: int) from json "r"; q := {}; emit q to json "q";'
    lines = ['{"accent": "[x]"}', '{"k": 1}', '{"accent": "[y]"}']
    for number, body in enumerate(("distinct(r)", "select[k > 0 or accent > ''](r)")):
        run = Query(spark, tmp_path / str(number), text.format(body))
        run.write("r", lines)
        run.process()
        assert sorted(map(str, decode(run.output("q")))) == sorted(str(json.loads(line)) for line in lines)


def test_near_is_so_many_edits() -> None:
    assert [edits("accnet", "accent"), edits("", "ab")] == [1, 2]
