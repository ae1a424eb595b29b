"""Attributes whose values are written in other codes (theory N3): by every format and engine, the oracle is the
reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla import read
from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.command import cedilla
from tests.kit.compare import values_of
from tests.kit.lines import write_lines
from tests.kit.query import Query, canonical_rows
from tests.kit.reference import stepped
from tests.kit.stream import Item
from tests.kit.tiers import rest, tiered
from tests.runtime.control.accents.streams_in_formats import quarantine, stream

DECLARED = 'n: long, site: string, state?: string in {"M", "F"}, k: long, t: double'
QUERY = f"""
stream r({DECLARED}) from json "r" markers "ops";
emit r to json "out/r";
emit aggregate[avg(t) as t, count(state) as n by k](r) to json "out/groups";
"""
TUPLES: list[list[Item]] = [
    [
        {"n": 1, "site": "A", "state": "M", "k": 1, "t": 1.0},
        {"n": 2, "site": "B", "state": "F", "k": 2, "t": 2.0},
    ],
    [
        {"n": 3, "site": "B", "state": "male", "k": 10, "t": 3.0},
        {"n": 4, "site": "A", "state": "F", "k": 1, "t": 4.0},
        {"n": 5, "site": "B", "state": "M", "k": 10, "t": 5.0},  # an old code
        {"n": 6, "site": "B", "state": "other", "k": 10, "t": 6.0},  # none
        {"n": 7, "site": "B", "state": "female", "k": 3, "t": 7.0},  # none of k
        {"n": 8, "site": "B", "k": 20, "t": 8.0},  # not there
        {
            "n": 9,
            "site": "A",
            "state": "male",
            "k": 10,
            "t": 9.0,
        },  # in its first codes it is outside of its domain
    ],
    [
        {"n": 10, "site": "B", "gender": "m", "k": 10, "t": 20.0},
        {"n": 11, "site": "B", "gender": "w", "k": 20, "t": 20.0},
        {"n": 12, "site": "A", "gender": "M", "k": 20, "t": 10.0},
    ],
    [
        {"n": 13, "site": "B", "gender": "M", "k": 10, "t": 20.0},
        {"n": 14, "site": "B", "gender": "w", "k": 10, "t": 1.0},
    ],
]
MARKERS: list[list[Item]] = [
    [],
    [
        {"$accent": '[[site = "B", recode(state, {"M": "male", "F": "female"})]]'},
        {"$accent": '[[site = "B", recode(k, {1: 10, 2: 20})]]'},
    ],
    [
        {"$accent": '[[site = "B", recode(state, {"male": "m", "female": "w"})]]'},
        {"$accent": "[[rename(gender, state)]]"},
        {"$accent": '[[gender = "m", alter(t, y -> y * 2)]]'},
    ],
    [
        {"$accent": '[[site = "B", recode(gender, {"m": "M", "w": "F"})]]'},
        {"$punctuation": '[site = "B", k = 20]'},
    ],
]
CODES = {5: "RQ314", 6: "RQ314", 7: "RQ314", 9: "RQ303", 14: "RQ314"}
NAMES = ("n", "site", "state", "k", "t")
ITEMS = [item for markers, rows in zip(MARKERS, TUPLES, strict=True) for item in (*markers, *rows)]


def test_the_reference_undoes_recodes() -> None:
    expected = stepped(QUERY, ITEMS)
    assert expected.codes("n") == CODES
    assert values_of(expected.canonical("r"), *NAMES) == [
        (1, "A", "M", 1, 1.0),
        (2, "B", "F", 2, 2.0),
        (3, "B", "M", 1, 3.0),
        (4, "A", "F", 1, 4.0),
        (8, "B", None, 2, 8.0),
        (10, "B", "M", 1, 10.0),
        (11, "B", "F", 2, 20.0),
        (12, "A", "M", 20, 10.0),
        (13, "B", "M", 1, 10.0),
    ]


@pytest.mark.parametrize("format_", ["json", "csv", "parquet", "xml"])
@pytest.mark.parametrize("files_per_epoch", tiered([None, 1]))
@pytest.mark.either_engine
def test_every_format_brings_codes(
    spark: SparkSession, tmp_path: Path, format_: str, files_per_epoch: int | None
) -> None:
    options = evolve(stream(tmp_path, format_, TUPLES, MARKERS), files_per_epoch=files_per_epoch)
    run(QUERY.replace('from json "r"', f'from {format_} "r"'), options, spark=spark)
    expected = stepped(QUERY, ITEMS)
    assert values_of(read(str(tmp_path / "out/r")).rows(), *NAMES) == values_of(
        expected.canonical("r"), *NAMES
    )
    assert quarantine(tmp_path) == expected.codes("n")


@pytest.mark.parametrize("per_file", [len(ITEMS), rest(1)])
@pytest.mark.either_engine
def test_codes_change_at_their_lines(spark: SparkSession, tmp_path: Path, per_file: int) -> None:
    """In the middle of files; an epoch of a few lines each is a recovery in the middle of everything, too."""
    run_ = Query(spark, tmp_path, QUERY.replace(' markers "ops"', ""))
    for start in range(0, len(ITEMS), per_file):
        run_.write("r", ITEMS[start : start + per_file])
        if start % 3 == 0:
            run_.go_on(run_.executor(), start)  # a fresh one: what it knows is in the checkpoint
    run_.go_on(run_.executor(), len(ITEMS))
    expected = stepped(QUERY, ITEMS)
    assert values_of(run_.canonical("r"), *NAMES) == values_of(expected.canonical("r"), *NAMES)
    assert {json.loads(line["raw"])["n"]: line["code"] for line in run_.quarantine("r")} == expected.codes(
        "n"
    )


def test_of_several_faults_the_same_one_is_told(sail: SparkSession, tmp_path: Path) -> None:
    """An unknown code before a number that is too large (RQ310), and that before a wrong name."""
    query = 'stream r(n: long, state: string, k: long) from json "r"; emit r to json "out";'
    items: list[Item] = [
        {"$accent": "[[alter(k, y -> y * 2)]]"},
        {"$accent": '[[recode(state, {"M": "m"})]]'},
        {"$accent": "[[rename(sex, state)]]"},
        {"n": 1, "sex": "x", "k": 2**60},
        {"n": 2, "state": "x", "k": 2},
        {"n": 3, "state": "m", "k": 2**60},
        {"n": 4, "state": "m", "k": 2},
        {"n": 5, "sex": "m", "k": 2},
    ]
    reference, run_ = Reference(compile_query(query).plan), Query(sail, tmp_path, query)
    for item in items:
        reference.step([("r", item)])
    run_.write("r", items)
    run_.process()
    expected = {1: "RQ314", 2: "RQ314", 3: "RQ310", 4: "RQ313"}
    assert {item["n"]: code for _, code, item in reference.rejected} == expected
    assert {json.loads(line["raw"])["n"]: line["code"] for line in run_.quarantine("r")} == expected


@pytest.mark.parametrize(
    ("before", "marker", "code"),
    [
        ([], "[[recode(t, {1: 2})]]", "RQ208"),  # a double is no code
        ([], "[[recode(k, {1: 2.5})]]", "RQ208"),
        ([], '[[recode(k, {1: "one"})]]', "RQ208"),
        ([], "[[recode(k, {1: 9223372036854775808})]]", "9223372036854775808 is not a value of type long"),
        (["[[+(at: timestamp)]]"], '[[recode(at, {"2026-01-01": "2026-01-02"})]]', "RQ208"),
        ([], "[[recode(states, {1: 2})]]", "RQ207"),
        ([], '[[state = "M", recode(state, {"M": "m"})]]', "RQ201"),
        ([], "[[recode(k, {1: 5, 2: 5})]]", "RQ462"),  # two values with one code
        ([], "[[recode(k, {1: 5, 1: 6})]]", "RQ462"),
        (["[[recode(k, {1: 5})]]"], "[[alter(k, y -> y * 2)]]", "RQ463"),
        (["[[alter(k, y -> y * 2)]]"], '[[site = "B", recode(k, {1: 5})]]', "RQ463"),  # it is a double by now
        ([], '[[recode(state, {"X": "x"})]]', "RQ464"),  # it is never X
        (['[[recode(state, {"M": "m", "F": "f"})]]'], '[[recode(state, {"M": "m", "F": "f"})]]', "RQ464"),
        (["[[recode(k, {1: 5, 2: 6})]]"], "[[k > 6, alter(t, y -> y * 2)]]", "RQ216"),  # no code lies in it
        (['[[recode(state, {"M": "m", "F": "f"})]]'], '[[grow(state, {"m"})]]', "RQ466"),  # as M is written
        (["[[-(state)]]"], '[[recode(state, {"M": "m"})]]', "RQ206"),
        (['[[recode(state, {"M": "m"})]]'], '[[state = "M", alter(t, y -> y * 2)]]', "RQ216"),  # no tuple is
    ],
)
def test_wrong_recodes_end_the_query(before: list[str], marker: str, code: str) -> None:
    reference = Reference(compile_query(QUERY).plan)
    for text in before:
        reference.step([("r", {"$accent": text})])
    kind = "$accent" if marker.startswith("[[") else "$punctuation"
    with pytest.raises(DiagnosticError, match=code):
        reference.step([("r", {kind: marker})])


def test_a_range_is_of_the_codes_that_lie_in_it() -> None:
    """Of site B; of the other site, ranges say what they say. Outputs speak of the first codes."""
    reference = Reference(compile_query(QUERY).plan)
    items: list[Item] = [
        {"$accent": '[[site = "B", recode(k, {1: 10, 2: 3})]]'},
        {"$accent": '[[site = "B", recode(state, {"M": "x", "F": "b"})]]'},
        {"$accent": "[[k > 5, alter(t, y -> y * 2)]]"},
        {"$accent": '[[state < "c", alter(t, y -> y + 1)]]'},
        {"n": 1, "site": "A", "k": 6, "t": 5.0},
        {"n": 2, "site": "A", "k": 1, "t": 5.0, "state": "M"},
        {"n": 3, "site": "B", "k": 10, "t": 5.0, "state": "x"},
        {"n": 4, "site": "B", "k": 3, "t": 5.0, "state": "b"},
        {"$punctuation": '[site = "B", k in [3, 10)]'},
        {"n": 5, "site": "A", "k": 3, "t": 5.0},
        {"n": 6, "site": "B", "k": 3, "t": 5.0},
    ]
    outputs = [out["r"] for item in items for out in reference.step([("r", item)])]
    rows = [row for out in outputs for row in out.canonical]
    assert [(row["n"], row["k"], row["t"], row.get("state")) for row in rows] == [
        (1, 6, 2.5, None),
        (2, 1, 4, "M"),
        (3, 1, 2.5, "M"),
        (4, 2, 4, "F"),
        (5, 3, 5, None),
    ]
    assert [(item["n"], code) for _, code, item in reference.rejected] == [(6, "RQ305")]
    closed = [text for out in outputs for text in out.markers.punctuations]
    assert closed == ['[k = 2, site = "B"]', '[k in [3, 10), site = "B"]']  # of the others none has a code


@pytest.mark.parametrize("parts", [("k <= 5", "k > 5"), ("k = 3", "k != 3")])
@pytest.mark.parametrize(
    ("marker", "last"),
    [
        ('{{"$punctuation": "[{}]"}}', '[site = "B"]'),
        ('{{"$accent": "[[{}, alter(t, y -> y * 2)]]"}}', '[[site = "B", alter(t, y -> y * 2)]]'),
    ],
)
def test_what_is_said_of_all_codes_is_said_of_all_values(
    parts: tuple[str, str], marker: str, last: str
) -> None:
    """Values without a code as well, though none comes: they matter for an output without the attribute, and for a
    reader of an output with it who does not know the codes."""
    query = """stream r(n: long, site: string, k: long in [1, 100], t: double) from json "r";
        emit project[n, site, t](select[k > 0](r)) to json "out";"""
    items: list[Item] = [{"$accent": '[[site = "B", recode(k, {1: 10, 2: 3})]]'}]
    items += [json.loads(marker.format(f"site = 'B', {part}")) for part in parts]
    reference = Reference(compile_query(query).plan)
    actual = [
        (*out["project"].markers.punctuations, *out["project"].markers.alters)
        for item in items
        for out in reference.step([("r", item)])
    ]
    assert actual == [()] * len(parts) + [(last,)]


def test_an_add_begins_with_its_own_codes() -> None:
    reference = Reference(compile_query(QUERY).plan)
    items: list[Item] = [
        {"$accent": '[[recode(state, {"M": "m", "F": "f"})]]'},
        {"$accent": "[[-(state)]]"},
        {"$accent": "[[+(state: string)]]"},
        {"n": 1, "site": "A", "k": 6, "t": 5.0, "state": "F"},
    ]
    rows = [row for item in items for out in reference.step([("r", item)]) for row in out["r"].canonical]
    assert [row.get("state") for row in rows] == ["F"]


def test_what_names_the_units_of_tuples_is_recoded_and_renamed() -> None:
    """Which unit a tuple is in is told by the first codes of the attribute that names it (N5)."""
    query = """stream r(n: long, u: string, t: double unit from u in {degF, degC}) from json "r";
        emit r to json "out" with t in degF;"""
    reference = Reference(compile_query(query).plan)
    items: list[Item] = [
        {"n": 1, "u": "degC", "t": 10.0},
        {"$accent": '[[recode(u, {"degF": "F", "degC": "C"})]]'},
        {"n": 2, "u": "C", "t": 10.0},
        {"n": 3, "u": "degC", "t": 10.0},
        {"$accent": "[[rename(scale, u)]]"},
        {"n": 4, "scale": "C", "t": 10.0},
        {"n": 5, "scale": "F", "t": 50.0},
        {"$punctuation": '[scale = "C", t < 20]'},
        {"n": 6, "scale": "C", "t": 10.0},
        {"n": 7, "scale": "F", "t": 50.0},
    ]
    rows = [row for item in items for out in reference.step([("r", item)]) for row in out["r"].items()]
    assert [(row["n"], row["u"], row["t"]) for row in rows if "n" in row] == [
        (1, "degC", 50),
        (2, "degC", 50),
        (4, "degC", 50),
        (5, "degF", 50),
        (7, "degF", 50),
    ]
    assert [(item["n"], code) for _, code, item in reference.rejected] == [(3, "RQ314"), (6, "RQ305")]


def test_one_stream_tools_know_recodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY.replace(' markers "ops"', ""))
    write_lines(tmp_path / "r.jsonl", ITEMS)
    result = cedilla("validate", "r.jsonl", "--schema", DECLARED, "--format", "json")
    assert [finding["code"] for finding in json.loads(result.output)["findings"]] == list(CODES.values())
    text = '[[site = "B", recode(state, {"M": "male", "F": "female"})]]'
    traced = cedilla("trace", "q.rq", "--on", "r", text)
    assert "undone at the source (N2, N3, N11)" in traced.output
    simulated = cedilla("simulate", "q.rq", "--source", "r=r.jsonl", "--sink", "r=sim")
    assert simulated.exit_code == 0, simulated.output
    assert values_of(canonical_rows(tmp_path / "sim"), *NAMES) == values_of(
        stepped(QUERY, ITEMS).canonical("r"), *NAMES
    )


def test_an_exchange_of_codes_that_comes_twice_is_warned_of(tmp_path: Path) -> None:
    """It takes itself back, so it cannot be refused as others are (RQ464); another exchange is no repetition."""
    swap = "[[k = 1, recode(state, {1: 2, 2: 1})]]"
    lines = [swap, "[[k = 2, recode(state, {1: 2, 2: 1})]]", swap, "[[k = 2, recode(state, {1: 3, 2: 4})]]"]
    (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps({'$accent': line})}\n" for line in lines))
    arguments = ["validate", str(tmp_path / "r.jsonl"), "--schema", "k: long, state: int", "--format", "json"]
    findings = json.loads(cedilla(*arguments).output)["findings"]
    assert [diagnostic["code"] for diagnostic in findings] == ["RQ218"], findings


def test_status_and_an_edited_query_know_recodes(sail: SparkSession, tmp_path: Path) -> None:
    run_ = Query(sail, tmp_path, QUERY.replace(' markers "ops"', ""))
    run_.write("r", ITEMS[:11])
    run_.go_on(run_.executor(), 0)
    result = cedilla("status", str(tmp_path / "checkpoint"))
    assert 'recode(state, {"F": "female", "M": "male"}) where site = "B"' in result.output
    run_.query = run_.query.replace("k: long", "k: long, rain?: double")
    run_.yes = True
    run_.write("r", ITEMS[11:])
    run_.go_on(run_.executor(), 1)
    assert values_of(run_.canonical("r"), *NAMES) == values_of(stepped(QUERY, ITEMS).canonical("r"), *NAMES)


def test_a_recode_that_keeps_others_is_shown_and_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    accent = "[[recode(k, {1: 10}, else same)]]"
    lines: list[Item] = [{"$accent": accent}, {"n": 1, "site": "A", "k": 10, "t": 1.0}]
    write_lines(tmp_path / "r/1.jsonl", lines)
    (tmp_path / "q.rq").write_text(QUERY)
    assert accent in cedilla("canonize", "r", "--query", "q.rq").output.replace("\\", "")
    again = [
        *lines,
        {"$accent": "[[recode(k, {10: 1}, else same)]]"},
        {"n": 2, "site": "A", "k": 3, "t": 1.0},
    ]
    write_lines(tmp_path / "r/1.jsonl", again)
    assert "valid" in cedilla("validate", "r", "--query", "q.rq").output
    assert "no single accent equals the recodes" in cedilla("canonize", "r", "--query", "q.rq").output


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("recode(k, {1: 10, 2: 10}, else same)", "RQ462"),
        ("recode(k, {1: 10}, else same)", "RQ464"),
        ("recode(k, {}, else same)", "RQ001"),
    ],
)
def test_a_wrong_recode_that_keeps_others_ends_the_query(text: str, code: str) -> None:
    first = {"$accent": "[[recode(k, {1: 10}, else same)]]"}
    with pytest.raises(DiagnosticError, match=code):
        stepped(QUERY, [first, {"$accent": f"[[{text}]]"}])
