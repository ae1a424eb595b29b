"""Validity of one stream, line by line (paper, section 3; theory G34): every finding, and no other."""

from __future__ import annotations

import json
import os
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cedilla.compiler.expressions.types import FARTHEST, Type
from cedilla.grammar import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.values import value_of_json
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import Schema, declared_schema, inferred_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.command import cedilla
from tests.kit.lines import as_lines, text_of, write_lines
from tests.kit.sensor_streams import random_stream, wild_stream
from tests.kit.stream import Decoder, Item, complaints, decode

SCHEMA = declared_schema("ts: long, s: int in {1, 2, 3}, t: double, l?: string")
ROW: Item = {"ts": 9, "s": 1, "t": 20.0}
ADD_P: Item = {"$accent": "[[s = 1, +(p: double)]]"}


def errors_in(stream: list[Item | str], schema: Schema = SCHEMA) -> list[Diagnostic]:
    """Returns the errors of a stream, without its warnings."""
    result: list[Diagnostic] = []
    verdict = validate(as_lines(stream, "data"), schema, result.append)
    assert (verdict.findings + verdict.warnings).total() == len(result)
    assert verdict.lines == len(stream)
    return [diagnostic for diagnostic in result if diagnostic.severity == "error"]


def test_an_accent_on_tuples_without_its_attribute_is_a_warning() -> None:
    """The papers call such a stream invalid; sources may send it (announce-absent)."""
    diagnostics: list[Diagnostic] = []
    accents = [
        "[[s in {1, 2}, alter(p, y -> y * 2)]]",
        "[[s = 1, alter(p, y -> y * 3)]]",
        "[[-(p)]]",
    ]  # a Drop may
    stream = [ADD_P, *({"$accent": accent} for accent in accents)]
    assert validate(as_lines(stream, "data"), SCHEMA, diagnostics.append).findings.total() == 0
    assert [(d.code, d.message.rpartition(": ")[2]) for d in diagnostics] == [
        ("RQ341", "[s = 2]"),
    ]


CASES: list[tuple[str, list[Item | str], list[str]]] = [
    ("a valid stream", [ROW, ADD_P, {**ROW, "p": 1.5}, {"$punctuation": "[ts < 10]"}, {**ROW, "ts": 10}], []),
    ("undefined as null", [{**ROW, "p": None}], []),
    ("no JSON", ["{"], ["RQ301"]),
    ("no object", ["[1]", "5"], ["RQ301", "RQ301"]),
    ("not a number", ['{"ts": 1, "s": 1, "t": nan}'], ["RQ301"]),
    ("a word in quotes", ['{"ts": 1, "s": 1, "t": "nan"}'], ["RQ301"]),
    ("words for doubles", ['{"ts": 1, "s": 1, "t": -INF}', '{"ts": 1, "s": 1, "t": "NaN"}'], []),
    ("a spoilt marker", ['{"$accent": "[[l = "a", -(t)]]"}'], ["RQ212"]),
    ("wrong types", [{"ts": 1.5, "s": 1, "t": 2}, {"ts": 1, "s": "1", "t": "x"}], ["RQ301"] * 3),
    ("missing", [{"ts": 9, "t": 20.0}], ["RQ302"]),
    ("dropped is not missing", [{"$accent": "[[s = 1, -(t)]]"}, {"ts": 9, "s": 1}], []),
    ("outside the domain", [{**ROW, "s": 4}], ["RQ303"]),
    ("before the add", [{**ROW, "s": 2}, ADD_P, {**ROW, "s": 2, "p": 1}], ["RQ304"]),
    ("never added", [{**ROW, "p": 1}], ["RQ306"]),
    ("after the drop", [{"$accent": "[[-(t)]]"}, ROW], ["RQ304"]),
    ("closed", [{"$punctuation": "[ts < 10]"}, ROW], ["RQ305"]),
    (
        "several at once",
        [{"$punctuation": "[]"}, {"ts": 9, "s": 4, "q": 1}],
        ["RQ306", "RQ303", "RQ302", "RQ305"],
    ),
    ("added twice", [ADD_P, {"$accent": "[[s in {1, 2}, +(p: double)]]"}], ["RQ205"]),
    ("added again after a drop", [ADD_P, {"$accent": "[[-(p)]]"}, ADD_P, {**ROW, "p": 1}], []),
    (
        "added again after drops that together leave none out, as `ts` is required",
        [ADD_P, {"$accent": "[[ts < 5, -(p)]]"}, {"$accent": "[[ts >= 5, -(p)]]"}, ADD_P],
        [],
    ),
    (
        "added again after drops that leave some out",
        [ADD_P, {"$accent": "[[ts < 5, -(p)]]"}, {"$accent": "[[ts > 5, -(p)]]"}, ADD_P],
        ["RQ205"],
    ),
    ("added with another type", [ADD_P, {"$accent": "[[s = 2, +(p: string)]]"}], ["RQ208"]),
    ("dropped twice", [{"$accent": "[[-(t)]]"}, {"$accent": "[[s = 1, -(t)]]"}], ["RQ206"]),
    ("dropped, but never there", [{"$accent": "[[-(tt)]]"}], ["RQ207"]),
    ("altered, but absent", [ADD_P, {"$accent": "[[s = 2, alter(p, y -> y * 2)]]"}], ["RQ206"]),
    (
        "of closed tuples only",
        [{"$punctuation": "[s = 1]"}, {"$accent": "[[-(t)]]"}, {"$accent": "[[s = 1, -(t)]]"}],
        [],
    ),
    ("of itself", [{"$accent": "[[t > 5, alter(t, y -> y * 2)]]"}], ["RQ201"]),
    ("not affine", [{"$accent": "[[alter(t, y -> y * y)]]"}], ["RQ202"]),
    ("constant", [{"$accent": "[[alter(t, by points {(0, 1), (2, 1)})]]"}], ["RQ203"]),
    ("wrong inverse", [{"$accent": "[[alter(t, y -> 2 * y, y -> y / 3)]]"}], ["RQ204"]),
    ("of unknown attributes", [{"$accent": "[[x = 1, -(t)]]"}, {"$punctuation": "[tss = 1]"}], ["RQ207"] * 2),
    ("of another type", [{"$punctuation": '[ts < "soon"]'}], ["RQ208"]),
    ("no accent", [{"$accent": "[[s = 1]]"}, {"$punctuation": "[s"}], ["RQ001", "RQ002"]),
    (
        "closed in other units",
        [
            {"$accent": "[[s = 1, alter(t, y -> y / 10)]]"},
            {"$punctuation": "[s = 1, t < 5]"},
            {**ROW, "t": 6.0},
            {"$accent": "[[s = 1, alter(t, y -> y * 10)]]"},
            {**ROW, "t": 50.0},
            {**ROW, "t": 49.0},
        ],
        ["RQ305"],
    ),
]


@pytest.mark.parametrize(("stream", "codes"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_every_fault_has_its_code(stream: list[Item | str], codes: list[str]) -> None:
    """G34: a bad marker by its code, a bad tuple by its reason; each with its place and text."""
    result = errors_in(stream)
    assert [diagnostic.code for diagnostic in result] == codes
    places = {f"{line.place}: {line.text}" for line in as_lines(stream, "data")}
    assert all(diagnostic.notes[-1] in places for diagnostic in result)


def test_a_wrong_marker_changes_nothing() -> None:
    assert errors_in([{"$accent": "[[x = 1, -(t)]]"}, ROW])[-1].code == "RQ207"


def test_a_late_tuple_names_the_punctuation() -> None:
    (late,) = errors_in([{"$punctuation": "[s = 2]"}, {"$punctuation": "[ts < 10]"}, ROW])
    assert "[ts < 10] of data:2" in late.message


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("generate", [random_stream, wild_stream])
def test_valid_streams_have_no_findings_and_spoilt_ones_those_of_the_oracle(generate: Any, seed: int) -> None:
    """Against the plain decoder: a tuple is out of place iff it says so."""
    rng = random.Random(seed)
    stream: list[Item] = generate(rng, 50)
    assert errors_in([*stream], declared_schema("ts: long, s: int in {1, 2, 3}, t: double")) == []
    # Tuples from elsewhere in the stream, anywhere.
    spoilt = list(stream)
    for _ in range(10):
        row = rng.choice([item for item in stream if "ts" in item])
        spoilt.insert(rng.randrange(len(spoilt)), row)
    expected = {int(text.split(":")[0].split(" ")[1]) + 1 for text in complaints(spoilt, {"ts", "s", "t"})}
    result = errors_in([*spoilt], declared_schema("ts: long, s: int in {1, 2, 3}, t: double"))
    places = {int(diagnostic.notes[-1].split(":")[1]) for diagnostic in result}
    assert {diagnostic.code for diagnostic in result} <= {"RQ304", "RQ305", "RQ306"}
    assert places == expected


# --- schemas ---


def test_a_schema_is_inferred_from_what_comes_before_any_add() -> None:
    stream: list[Item | str] = [
        {"a": 1, "b": "x", "c": True, "d": None, "e": 1},
        ADD_P,
        {"a": 1.5, "b": "y", "p": 2.0, "d": "2013-01-01", "e": "one"},
        "nonsense",
    ]
    schema = inferred_schema(as_lines(stream, "data"))
    assert [str(a) for a in schema.source.attributes] == [
        "a: double",
        "b: string",
        "c: boolean",
        "e: string",
        "d: string",
    ]
    assert not schema.declared


def test_without_a_schema_nothing_is_required_but_an_add_of_what_is_there_is_wrong() -> None:
    stream: list[Item | str] = [{"s": 1, "t": 1.0}, {"s": 1}, {"$accent": "[[+(t: double)]]"}]
    assert [error.code for error in errors_in(stream, inferred_schema(as_lines(stream, "data")))] == ["RQ205"]


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [("ts: longg", "RQ005", 5), ("a: int, a: int", "RQ104", 9), ("a: int in", "RQ0", None)],
)
def test_a_wrong_schema_is_shown_where_it_is_wrong(text: str, code: str, column: int | None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        declared_schema(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.startswith(code)
    if column is not None:
        assert diagnostic.span is not None
        assert (diagnostic.span.source, diagnostic.span.line, diagnostic.span.column) == (
            "<schema>",
            1,
            column,
        )
        assert text[diagnostic.span.start : diagnostic.span.end]


# --- values ---


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("int", "5", 5),
        ("int", "2147483648", None),
        ("int", "5.0", 5),
        ("int", "5e0", 5),
        ("int", "-50E-1", -5),
        ("int", "-0.0", 0),
        ("int", "0e999999999", 0),
        ("int", "5.5", None),
        ("int", "1e-1", None),
        ("int", "1e999999999", None),
        ("int", '"5"', None),
        ("int", "NaN", None),
        ("long", "9007199254740993.0", 2**53 + 1),
        ("long", "1e18", 10**18),
        ("long", "9223372036854775808.0", None),
        ("int", "true", None),
        ("long", "2147483648", 2147483648),
        ("long", "9223372036854775808", None),
        ("double", "0.1", Fraction(1, 10)),
        ("double", "5", 5),
        ("double", "1e400", None),
        ("double", "-1e309", None),
        ("double", "1" + "0" * 400, None),
        ("double", "-INF", -FARTHEST),
        ("double", "+Infinity", FARTHEST),
        ("double", '"NaN"', FARTHEST),
        ("double", '"INF"', None),
        ("double", "1e-999999999", 0),
        ("double", '"5"', None),
        ("decimal(4,2)", "12.34", Fraction(1234, 100)),
        ("decimal(4,2)", "12.3400", Fraction(1234, 100)),
        ("decimal(4,2)", "5e-1", Fraction(1, 2)),
        ("decimal(4,2)", "12.345", None),
        ("decimal(4,2)", "-0.004", None),
        ("decimal(4,2)", "99.995", None),
        ("decimal(4,2)", "1e-70", None),
        ("decimal(4,2)", "0e-70", 0),
        ("decimal(4,2)", "123", None),
        ("decimal(7,2)", '"1,0e3"', None),
        ("decimal(7,2)", '"1.5"', None),
        ("decimal(7,2)", "NaN", None),
        ("decimal(4,2)", "1e-999999999", None),
        ("string", "5", "5"),
        ("string", '"a"', "a"),
        ("string", r'"\ud83d\ude00"', "\U0001f600"),
        ("string", r'"\ud83d"', None),
        ("string", r'"\ude00\ud83d"', None),
        ("boolean", "true", True),
        ("boolean", "1", None),
        ("timestamp", '"1970-01-01T00:00:01Z"', 1_000_000),
        ("timestamp", '"1970-01-01T01:00:00+01:00"', 0),
        ("timestamp", '"soon"', None),
        ("date", '"1970-01-02"', 1),
        ("array<double>", "[1, 2.5]", (1, Fraction(5, 2))),
    ],
)
def test_json_values_are_read_exactly_or_refused(type_: str, text: str, expected: Any) -> None:
    value = parse_line(f'{{"a": {text}}}')["a"]
    if expected is None:
        with pytest.raises(ValueError, match="is no"):
            value_of_json(Type.parse(type_), value)
    else:
        assert value_of_json(Type.parse(type_), value) == expected


# --- streams and the command ---


def test_a_folder_is_read_in_stream_order(tmp_path: Path) -> None:
    """By modification time, then name; another query's output by name (design, section 6)."""
    for position, name in enumerate(
        ["b.jsonl", "a.jsonl", "epoch=000000000001/1-tuples.jsonl", "epoch=000000000000/0-adds.jsonl"]
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'{{"n": "{name}"}}\n\n')
        os.utime(file, (position + 1, position + 1))
    (tmp_path / "_hidden").write_text("nonsense\n")
    read = [json.loads(line.text)["n"] for line in stream_lines(str(tmp_path))]
    assert read == [
        "epoch=000000000000/0-adds.jsonl",
        "epoch=000000000001/1-tuples.jsonl",
        "b.jsonl",
        "a.jsonl",
    ]


def test_hints_of_lines_fit_their_values() -> None:
    lines = ['{"ts": 1, "note": "abc"}', '{"ts": 2, "$watermark": "[ts < 5]"}', '{"$accent": "[[-(q)]]"},']
    output = cedilla("validate", "-", "--schema", "ts: long", text="\n".join(lines)).stdout
    assert "[[+(note: string)]]" in output
    assert "[[+($watermark" not in output
    assert "leave the sign at its end out" in output


def test_the_command_shows_findings_up_to_a_limit_and_counts_all(tmp_path: Path) -> None:
    stream = "".join(json.dumps({"ts": k, "q": 1}) + "\n" for k in range(5))
    result = cedilla("validate", "-", "--schema", "ts: long", "--limit", "2", text=stream)
    assert result.exit_code == 1
    assert result.stdout.count("error[RQ306]") == 2
    assert " = note: <stdin>:1: " in result.stdout
    assert result.stdout.endswith(
        "-: not valid, 5 errors (RQ306: 5), 3 not shown (5 lines, 5 tuples, 0 accents, 0 punctuations)\n"
    )


def test_the_command_with_a_query(tmp_path: Path) -> None:
    query = tmp_path / "q.rq"
    query.write_text(
        'stream r(ts: long) from json "r"; stream q(a: int) from json "q"; emit r to json "o"; emit q to json "p";'
    )
    arguments = ["validate", "-", "--query", str(query), "--source"]
    assert (
        cedilla(*arguments, "r", text='{"ts": 1}\n').stdout
        == "-: valid (1 line, 1 tuple, 0 accents, 0 punctuations)\n"
    )
    answer = json.loads(cedilla(*arguments, "q", "--format", "json", text='{"ts": 1}\n').stdout)
    assert (answer["version"], answer["valid"], answer["counts"]) == (1, False, {"RQ302": 1, "RQ306": 1})
    assert [finding["code"] for finding in answer["findings"]] == ["RQ306", "RQ302"]
    assert cedilla(*arguments, "x", text="").exit_code == 2
    assert cedilla(*arguments[:-1], text="").exit_code == 2


def test_a_stream_that_is_not_there(tmp_path: Path) -> None:
    for command in ("validate", "canonize"):
        result = cedilla(command, str(tmp_path / "missing"))
        assert (result.exit_code, result.stderr[:12]) == (1, "error[RQ410]")


def test_a_folder_of_markers_that_is_not_there(tmp_path: Path) -> None:
    write_lines(tmp_path / "r" / "1.jsonl", [{"s": 1}])
    result = cedilla("validate", str(tmp_path / "r"), "--markers", str(tmp_path / "none"))
    assert (result.exit_code, "the folder of markers" in result.stderr, "*.rqm" in result.stderr) == (
        1,
        True,
        True,
    )


def test_canonize_as_a_command() -> None:
    stream: list[Item] = [
        {"$accent": "[[alter(t, y -> y * 2)]]"},
        {"ts": 1, "t": 4.0},
        {"$accent": "[[+(p: double)]]"},
    ]
    text = text_of(stream)
    plain, by_rules = cedilla("canonize", "-", text=text), cedilla("canonize", "-", "--rules", text=text)
    read = [json.loads(line) for line in plain.stdout.splitlines()]
    assert read[0] == {"$accent": "[[+(p: double)]]"}
    assert read[1] == {"ts": 1, "t": 2.0}
    assert decode(read) == decode(stream)
    assert plain.stderr == ""
    assert by_rules.stdout.replace("alter(t, y -> y * 2)", "") == plain.stdout.replace(
        "alter(t, y -> y * 2)", ""
    )
    assert by_rules.stderr == "alter then add: 1\nalter then tuple: 1\ntuple then add: 1\n"
    assert cedilla("canonize", "-", text="nonsense\n").exit_code == 1


def test_the_decoder_of_the_tests_agrees_on_the_units_of_a_late_tuple() -> None:
    """The oracle itself, on the example `closed in other units`."""
    decoder = Decoder()
    rows = [decoder.feed(item) for item in CASES[-1][1] if isinstance(item, dict)]
    assert rows[-1] is not None
    assert decoder.closed(rows[-1])


@pytest.mark.parametrize("command", ["validate", "suspect", "canonize", "accent"])
def test_a_query_in_the_place_of_its_stream_is_refused(tmp_path: Path, command: str) -> None:
    """Its lines would all be passed over, and the answer would be that nothing is wrong."""
    query = tmp_path / "q.rq"
    query.write_text('stream r(ts: long) from json "r";\nemit r to json "out";\n', "utf-8")
    done = cedilla(command, query, *(["[ts < 1]"] if command == "accent" else []))
    assert (done.exit_code, "error[RQ410]" in done.output) == (1, True), done.output
    assert f"`--query {query}`" in done.output


def test_a_folder_may_have_the_name_of_a_query(tmp_path: Path) -> None:
    write_lines(tmp_path / "q.rq" / "1.jsonl", [{"ts": 1}])
    assert cedilla("validate", tmp_path / "q.rq").exit_code == 0
