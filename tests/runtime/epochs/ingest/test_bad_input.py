"""Faults of the input: each has its code and its place, and does not affect the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

QUERY = """
stream readings(ts: long, s: int in {1, 2}, t: double, note?: string) from json "in" punctuated on ts;
table names(s: int, name: string) from json "in";
joined := readings join names on s;
hot := select[t > 0](joined);
emit hot to json "out";
"""
GOOD = {"ts": 5, "s": 1, "t": 1.5}


def query_over(spark: SparkSession, root: Path, items: list[Item | str], query: str = QUERY) -> Query:
    run = Query(spark, root, query)
    run.write("names", [{"s": 1, "name": "one"}, {"s": 2, "name": "two"}])
    run.write("readings", items)
    return run


def test_bad_tuples_go_to_quarantine_with_code_place_and_text(spark: SparkSession, tmp_path: Path) -> None:
    lines = [
        json.dumps(GOOD),
        "",
        '{"ts": 6, "s": 1, "t":',
        '{"ts": "six", "s": 1, "t": 2.0}',
        '{"ts": 6, "t": 2.0}',
        '{"ts": 6, "s": 3, "t": 2.0}',
        '{"$accent": "[[+(p: double)]]"}',
        '{"$accent": "[[s = 2, -(p)]]"}',
        '{"ts": 6, "s": 2, "t": 2.0, "p": 1}',
        '{"$punctuation": "[ts < 10]"}',
        '{"ts": 9, "s": 1,  "t": 2.0}',
        '{"ts": 10, "s": 1, "t": 3.0, "p": 4.0}',
    ]
    run = query_over(spark, tmp_path, list(lines))
    executor = run.process()
    actual = {r["position"]["line"]: r for r in run.quarantine("readings")}
    assert {line: r["code"] for line, r in actual.items()} == {
        3: "RQ301",
        4: "RQ301",
        5: "RQ302",
        6: "RQ303",
        9: "RQ304",
        11: "RQ305",
    }
    assert all(r["raw"] == lines[line - 1] for line, r in actual.items())
    assert all(r["position"]["file"].endswith(".jsonl") and r["reason"] for r in actual.values())
    assert sorted(i["ts"] for i in run.output("hot") if is_tuple(i)) == [5, 10]
    assert executor.last.counters == {"RQ301": 2, "RQ302": 1, "RQ303": 1, "RQ304": 1, "RQ305": 1}


def test_a_tuple_before_its_add_is_rejected_and_after_it_is_not(spark: SparkSession, tmp_path: Path) -> None:
    before = {**GOOD, "note": "kept: optional attributes need no add"}
    items: list[Item | str] = [before, {"$accent": "[[-(note)]]"}, {**GOOD, "note": "after its drop"}]
    run = query_over(spark, tmp_path, items)
    run.process()
    assert [r["code"] for r in run.quarantine("readings")] == ["RQ304"]
    assert [i["note"] for i in run.output("hot") if is_tuple(i)] == [before["note"]]


BAD_MARKERS = {
    "[[t > 1, alter(t, y -> y * 2)]]": "RQ201",
    "[[alter(t, y -> y * y)]]": "RQ202",
    "[[alter(t, by points {(0, 1), (2, 1)})]]": "RQ203",
    "[[alter(t, y -> y * 2, y -> y / 3)]]": "RQ204",
    "[[+(t: double)]]": "RQ205",
    "[[-(notes)]]": "RQ207",
    "[[alter(tss, y -> y * 2)]]": "RQ207",
    "[[nowhere = 1, -(note)]]": "RQ207",
    '[[s = "one", -(note)]]': "RQ208",
    "[[alter(note, y -> y * 2)]]": "RQ208",
    "[[-(t)]]": "RQ209",
    "[[-(s)]]": "RQ209",
    "[[+(name: string)]]": "RQ210",
    "[[s = , -(note)]]": "RQ001",
}


@pytest.mark.parametrize("text", BAD_MARKERS)
def test_a_bad_marker_ends_the_query_in_the_reference(text: str) -> None:
    reference = Reference(compile_query(QUERY).plan)
    with pytest.raises(DiagnosticError) as caught:
        reference.step([("readings", GOOD), ("readings", {"$accent": text})])
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [BAD_MARKERS[text]]


@pytest.mark.parametrize("text", tiered(BAD_MARKERS))
def test_a_bad_marker_ends_the_query_at_its_place_with_all_before_it_committed(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    late = {"ts": 7, "s": 2, "t": 8.0}
    run = query_over(spark, tmp_path, [GOOD, {"$accent": text}, late])
    executor = run.executor()
    for _ in range(2):  # the second time, as after a restart: the same end, nothing twice
        with pytest.raises(DiagnosticError) as caught:
            executor.process(0, run.files(executor))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == BAD_MARKERS[text]
        assert any(f".jsonl:2: {text}" in note for note in diagnostic.notes)
        assert [i["ts"] for i in run.output("hot") if is_tuple(i)] == [5]
        executor = run.executor()


@pytest.mark.parametrize(
    "line", tiered(['{"$accent": "[[s = "one", -(note)]]"}', '{"$punctuation": "[ts < 3]"'])
)
def test_a_marker_that_is_no_json_ends_the_query_and_is_no_bad_tuple(
    spark: SparkSession, tmp_path: Path, line: str
) -> None:
    run = query_over(spark, tmp_path, [GOOD, line, GOOD])
    with pytest.raises(DiagnosticError) as caught:
        run.process()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ212"
    assert diagnostic.notes[-1].endswith(f".jsonl:2: {line}")
    assert len([i for i in run.output("hot") if is_tuple(i)]) == 1


@pytest.mark.parametrize(
    "mended", tiered(['{"$accent": "[[-(note)]]"}', None, '{"ts": 6, "s": 1, "t": 1.0}'])
)
def test_once_the_marker_is_mended_or_gone_the_run_goes_on_at_its_place(
    spark: SparkSession, tmp_path: Path, mended: str | None
) -> None:
    """Also when mending changes the file's modification time, and so its place in a fresh listing."""
    bad = '{"$accent": "[[-(t)]]"}'
    run = query_over(spark, tmp_path, [{**GOOD, "ts": 1}])
    path = run.write("readings", [{**GOOD, "ts": 2}, "", bad, {**GOOD, "ts": 3}])
    run.write("readings", [{**GOOD, "ts": 4}])
    with pytest.raises(DiagnosticError):
        run.process(files_per_epoch=2)
    text = path.read_text()
    path.write_text(text.replace(bad, mended) if mended else text.replace(bad + "\n", ""))
    run.process(files_per_epoch=2)
    expected = [1, 2, 6, 3, 4] if mended and "ts" in mended else [1, 2, 3, 4]
    assert sorted(i["ts"] for i in run.output("hot") if is_tuple(i)) == sorted(expected)


def test_a_table_is_closed_only_once_it_is_read_to_its_end(spark: SparkSession, tmp_path: Path) -> None:
    """A bad marker stops it half-way; re-adding what it dropped cuts the epoch, and loses nothing."""
    rows: list[Item | str] = [{"s": 1, "name": "one"}, {"$accent": "[[-(name)]]"}]
    run = Query(spark, tmp_path, QUERY)
    run.write("readings", [GOOD, {**GOOD, "s": 2}])
    path = run.write(
        "names",
        [*rows, {"$accent": "[[-(names)]]"}, {"$accent": "[[+(name: string)]]"}, {"s": 2, "name": "two"}],
    )
    for _ in range(2):
        with pytest.raises(DiagnosticError) as caught:
            run.process()
        assert caught.value.diagnostics[0].code == "RQ207"
    path.write_text(path.read_text().replace('{"$accent": "[[-(names)]]"}\n', ""))
    executor = run.process()
    assert executor.last.counters == {}
    assert sorted(i["name"] for i in run.output("hot") if is_tuple(i)) == ["one", "two"]


def test_a_drop_of_what_operators_require_is_nothing_where_nothing_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = query_over(
        spark, tmp_path, [GOOD, {"$punctuation": "[s = 2]"}, {"$accent": "[[s = 2, -(t)]]"}, GOOD]
    )
    run.process()
    assert len([i for i in run.output("hot") if is_tuple(i)]) == 2


@pytest.mark.parametrize(
    ("setting", "line", "code"),
    [("invalid", "no json", "RQ301"), ("late", '{"ts": 1, "s": 1, "t": 1.0}', "RQ305")],
)
def test_settings_let_a_bad_tuple_end_the_query(
    spark: SparkSession, tmp_path: Path, setting: str, line: str, code: str
) -> None:
    run = query_over(spark, tmp_path, [{"$punctuation": "[ts < 3]"}, GOOD, line])
    with pytest.raises(DiagnosticError) as caught:
        run.process(settings={setting: "abort"})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.notes[0].endswith(f".jsonl:3: {line}")


def test_late_tuples_can_be_ignored_but_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    run = query_over(spark, tmp_path, [{"$punctuation": "[ts < 3]"}, GOOD, {"ts": 1, "s": 1, "t": 1.0}])
    executor = run.process(settings={"late": "ignore"})
    assert run.quarantine("readings") == []
    assert executor.last.counters == {"RQ305": 1}


def test_strict_accents_end_the_query_where_an_operator_would_wait(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = """
    stream r(ts: long, s: int, t: double) from json "in";
    kept := project[ts, t](r);
    emit kept to json "out";
    """
    for setting, code in (("strict", "RQ211"), ("accumulate", None)):
        run = Query(spark, tmp_path / setting, query)
        run.write("r", [{"ts": 1, "s": 1, "t": 2.0}, {"$accent": "[[s = 1, alter(t, y -> y * 2)]]"}])
        if code is None:
            run.process(settings={"accents": setting})
            continue
        with pytest.raises(DiagnosticError) as caught:
            run.process(settings={"accents": setting})
        assert caught.value.diagnostics[0].code == code


def test_a_strict_query_goes_on_after_an_add_that_waits_for_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In one epoch, and after a restart that finds the Add's tuples in a file of their own."""
    query = """
    stream r(l: int, s: int, t: double) from json "in" punctuated on l;
    rows := aggregate[avg by l except s](r);
    emit rows to json "out";
    set accents = strict;
    """
    before = [{"l": 1, "s": 1, "t": 2.0}, {"$accent": "[[s = 1, +(p: double)]]"}]
    after = [{"l": 1, "s": 1, "t": 4.0, "p": 5.0}, {"$punctuation": "[l = 1]"}]
    for name, files in (("one", [[*before, *after]]), ("two", [before, after])):
        run = Query(spark, tmp_path / name, query)
        for batch, file in enumerate(files):
            run.write("r", file)
            run.go_on(run.executor(), batch)
        assert [item for item in run.output("rows") if "$punctuation" not in item] == [
            {"$accent": "[[+(p: double)]]"},
            {"l": 1, "t": 3.0, "p": 5.0},
        ]


@pytest.mark.parametrize("drift", tiered(["infer", "abort", "ignore", "quarantine"], 2))
def test_drift_is_ignored_taken_up_set_aside_or_fatal(
    spark: SparkSession, tmp_path: Path, drift: str
) -> None:
    run = query_over(spark, tmp_path, [GOOD, {**GOOD, "ts": 6, "extra": 2.5}, {"$punctuation": "[ts < 7]"}])
    if drift == "abort":
        with pytest.raises(DiagnosticError) as caught:
            run.process(settings={"drift": drift})
        assert caught.value.diagnostics[0].code == "RQ306"
        return
    executor = run.process(settings={"drift": drift})
    output = run.output("hot")
    rows = [i for i in output if is_tuple(i)]
    assert [r.get("extra") for r in rows] == {
        "ignore": [None, None],
        "infer": [None, 2.5],
        "quarantine": [None],
    }[drift]
    assert ({"$accent": "[[+(extra: double)]]"} in output) == (drift == "infer")
    inferred = [note for report in run.reports for note in report.notes if "inferred" in note]
    assert inferred == (["inferred +(extra: double) of readings"] if drift == "infer" else [])
    assert executor.last.inferred == ({"readings": {"extra": 0}} if drift == "infer" else {})
    assert [r["code"] for r in run.quarantine("readings")] == (["RQ306"] if drift == "quarantine" else [])


def test_a_checkpoint_of_another_query_is_refused_with_what_changed(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = query_over(spark, tmp_path, [GOOD])
    run.process()
    run.query = QUERY.replace("t > 0", "t > 1")
    with pytest.raises(DiagnosticError) as caught:
        run.executor()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ402"
    assert any("predicate t > 0 → t > 1" in note for note in diagnostic.notes)


def test_a_new_checkpoint_does_not_write_into_an_older_output(spark: SparkSession, tmp_path: Path) -> None:
    query_over(spark, tmp_path, [GOOD]).process()
    (tmp_path / "checkpoint").rename(tmp_path / "old")
    with pytest.raises(DiagnosticError) as caught:
        Query(spark, tmp_path, QUERY).executor()
    assert caught.value.diagnostics[0].code == "RQ405"


# --- files of which nothing is left ---


@pytest.mark.parametrize("files_per_epoch", [None, 1])
def test_the_line_of_an_epoch_shows_the_first_line_of_a_file_that_is_all_wrong(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    """With its reason and the folder of the quarantine, also beside a file that is right."""
    run = Query(spark, tmp_path, QUERY)
    run.write("names", [{"s": 1, "name": "one"}])
    run.write("readings", [GOOD, "no json"])
    run.write("readings", [{"ts": "six", "s": 1, "t": 2.0}, {"TS": 6, "s": 1, "t": 2.0}, "", "no json"])
    run.write("readings", [{"$punctuation": "[ts < 5]"}])
    run.process(files_per_epoch)
    notes = [note for report in run.reports for note in report.notes]
    (note,) = [text for text in notes if "set aside" in text]
    assert re.search(
        r"every tuple of .*/00003.jsonl is set aside in .*/quarantine/readings, line 1 first: ", note
    )
    assert note.endswith('`ts` must be a long, found "six" (RQ301)')


def test_a_few_wrong_lines_are_only_counted(spark: SparkSession, tmp_path: Path) -> None:
    run = query_over(spark, tmp_path, [GOOD, "no json", GOOD])
    run.process()
    assert not any("set aside" in note for report in run.reports for note in report.notes)


OPTIONAL = """
stream r(day?: string, temp?: double, h?: double from "state.humidity") from json "in";
emit r to json "out";
"""
STRANGE: dict[str, list[Item | str]] = {
    "other keys": [{"Day": "x", "Temp": 1}, {"$punctuation": "[day = 'x']"}, {"Day": "y"}],
    "no keys": ["{}", "{}"],
    "inside of another object": ['{"payload": {"day": "x", "temp": 1.5}}'],
}
KNOWN: dict[str, list[Item | str]] = {
    "one of many": [{"Day": "x"}, {"temp": 1.0}],
    "a null": [{"day": None}],
    "the object of a path": [{"state": {}}],
    "renamed": [{"$accent": "[[rename(Day, day)]]"}, {"Day": "x"}],
    "added": [{"$accent": "[[+(wind: double)]]"}, {"wind": 1.0}],
    "markers": [{"$punctuation": "[day = 'x']"}],
    "nothing": [],
}


@pytest.mark.parametrize("files_per_epoch", [None, 1])
def test_a_file_in_which_no_tuple_has_an_attribute_is_warned_of(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    """Once for each such file, by a run as by `simulate`; its empty tuples count."""
    run = Query(spark, tmp_path, OPTIONAL)
    for items in (*STRANGE.values(), *KNOWN.values()):
        run.write("r", items)
    run.process(files_per_epoch)
    warned = [warning for report in run.reports for warning in report.warnings if warning.code == "RQ320"]
    actual = [re.findall(r"(\d{5}).jsonl", warning.message)[0] for warning in warned]
    assert sorted(actual) == ["00001", "00002", "00003"]
    assert "did you mean `day` by `Day`?" in (warned[0].help or "")
    assert warned[0].notes == ("the first one has `Day`, `Temp`",)
    simulated: list[Diagnostic] = []
    options = Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")})
    simulate(OPTIONAL, options, on_warning=simulated.append)
    assert [warning.notes for warning in simulated if warning.code == "RQ320"] == [
        warning.notes for warning in warned
    ]


def test_a_file_of_parquet_without_a_known_column_is_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(
        spark,
        tmp_path,
        OPTIONAL.replace("json", "parquet", 1).replace(', h?: double from "state.humidity"', ""),
    )
    (tmp_path / "in" / "r").mkdir(parents=True)
    for number, columns in enumerate(
        ({"Day": ["x"], "Temp": [1.0]}, {"day": ["x"]}, {"$accent": ["[[-(day)]]"]})
    ):
        parquet.write_table(pa.table(columns), tmp_path / "in" / "r" / f"{number}.parquet")
    run.process(1)
    (warning,) = [
        warning_ for report in run.reports for warning_ in report.warnings if warning_.code == "RQ320"
    ]
    assert "0.parquet" in warning.message


def test_a_file_of_xml_without_a_known_element_is_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(
        spark, tmp_path, OPTIONAL.replace("json", "xml", 1).replace(', h?: double from "state.humidity"', "")
    )
    run.write("r", ["<r><Day>x</Day><temperature>1</temperature></r>"], "1.xml")
    run.write("r", ["<r><Day>x</Day><temp>1</temp></r>"], "2.xml")
    run.process(1)
    (warning,) = [
        warning_ for report in run.reports for warning_ in report.warnings if warning_.code == "RQ320"
    ]
    assert "1.xml" in warning.message
    assert warning.notes == ("the first one has `Day`, `temperature`",)
