"""Renames to a path, `rename("state.reading", reading)`, and to names that are no words (theory N11).
`tests/runtime/cases/undone-at-the-source.md` has the lines of a field that moves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.spark import costs
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.otlp import request
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

DECLARED = 'n: long, s: int in {1, 2}, t: double from "state", city?: string'
QUERY = f'stream r({DECLARED}) from json "r"; emit r to json "out";'
RENAME: Item = {"$accent": '[[s = 1, rename("state.t", t)]]'}


def values(items: list[Item], *names: str) -> list[list[object]]:
    return sorted([row.get(name) for name in names] for row in decode(items))


@pytest.mark.parametrize(
    ("before", "accent", "code"),
    [
        ([], '[[rename("state..t", t)]]', "RQ145"),
        ([], '[[rename("a\\nb", t)]]', "RQ145"),
        ([], '[[rename("state.city", city)]]', "RQ460.*`t` is read from state"),
        ([], "[[rename(state, city)]]", "RQ460"),
        ([], "[[+(state: double)]]", "RQ460"),
        ([], '[[rename("state", t)]]', "RQ460"),  # it is there already
        ([], '[[rename("n.t", t)]]', "RQ460"),
        (['[[rename("box.t", t)]]'], "[[+(box: string)]]", r"RQ460.*inside of it, box\.t"),
        (['[[rename("box.t", t)]]'], '[[rename("box.t.c", city)]]', "RQ460"),
        (['[[rename("box.t", t)]]'], '[[rename("`box`.t", city)]]', "RQ460"),
        (['[[rename("box.t", t)]]'], '[[rename("`box`.t", t)]]', "RQ461"),
        ([], '[[rename("box.t", cities)]]', "RQ207"),
    ],
)
def test_wrong_paths_end_the_query(before: list[str], accent: str, code: str) -> None:
    reference = Reference(compile_query(QUERY).plan)
    for text in before:
        reference.step([("r", {"$accent": text})])
    with pytest.raises(DiagnosticError, match=code):
        reference.step([("r", {"$accent": accent})])


@pytest.mark.parametrize(
    ("format_", "accent", "code"),
    [
        ("parquet", '[[rename("box.t", t)]]', "RQ146"),
        ("xml", '[[rename("a b", t)]]', "RQ146"),
        ("json", '[[rename("box..t", t)]]', "RQ145"),
    ],
)
def test_check_knows_where_a_rename_may_lead(format_: str, accent: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        compile_query(f'stream r(t: double) from {format_} "r"; accent r {accent}; emit r to json "o";')


STATED = """
set drift = quarantine;
stream r(n: long, fw: int, t: double from text "state", id: string) from json "in/r";
accent r [[fw >= 2, rename("state.`t.c`", t)]];
accent r [[rename("meta.id", id)]];
emit r to json "out/r";
"""


@pytest.mark.either_engine
def test_a_query_states_it_and_texts_of_numbers_stay_texts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In large files, too, which tasks parse into files whose columns have these names."""
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)
    monkeypatch.setattr(costs, "KEPT_PARSED", 0)
    run = Query(spark, tmp_path, STATED)
    run.write(
        "r",
        [
            {"n": 1, "fw": 1, "state": "6.50", "meta": {"id": 1.5}},
            {"n": 2, "fw": 2, "state": {"t.c": "7.25"}, "meta": {"id": "x"}},
            {"n": 3, "fw": 3, "state": {"t.c": 8}, "meta": {"id": "x"}},
            {"n": 4, "fw": 3, "state": "8.0", "meta": {"id": "x"}},
            {"n": 5, "fw": 3, "state": {"t.c": "8.0"}, "meta": {"id": "x"}, "t": 5},
            {"n": 6, "fw": 3, "state": {"t.c": "8.0"}, "meta": {"id": "x"}, "strange": 5},
        ],
    )
    run.process()
    actual = values(run.output("r"), "n", "t", "id")
    assert actual == [[1, 6.5, "1.5"], [2, 7.25, "x"], [3, 8.0, "x"], [5, 8.0, "x"]]
    reasons = [line["reason"] for line in run.quarantine("r")]
    assert [line["code"] for line in run.quarantine("r")] == ["RQ313", "RQ306"]
    simulated = run.simulate()
    assert values(simulated.output("r"), "n", "t", "id") == actual
    assert [line.reason for line, _ in simulated.rejected] == reasons


def test_keys_of_telemetry_and_columns_have_names_that_are_no_words(
    sail: SparkSession, tmp_path: Path
) -> None:
    query = """
stream p(time: timestamp, value: double, method?: string from attribute "http.method") from otlp "in/p" metrics "m";
stream c(n: long, place?: string from "Province/State") from csv "in/c";
accent p [[rename("http.request.method", method)]];
accent c [[n >= 2, rename("Province_State", place)]];
accent c [[n >= 3, rename("a.b c", place)]];
emit p to json "out/p";
emit c to json "out/c";
"""
    run = Query(sail, tmp_path, query)
    names = ("http.request.method", "http.method", "http.request.method")
    points = [
        {"metric": "m", "time": n, "double": float(n), "attributes": {name: "GET"}}
        for n, name in enumerate(names, 1)
    ]
    run.write("p", [request(points)])
    run.write("c", ["n,Province/State", "1,A", "2,B"], "1.csv")
    run.write("c", ["n,Province_State", "2,C"], "2.csv")
    run.write("c", ["a.b c,n", "D,3"], "3.csv")
    run.process()
    assert values(run.output("p"), "value", "method") == [[1.0, "GET"], [3.0, "GET"]]
    assert values(run.output("c"), "n", "place") == [[1, "A"], [2, "C"], [3, "D"]]
    codes = [line["code"] for source in "cp" for line in run.quarantine(source)]
    assert codes == ["RQ313", "RQ313"]
    simulated = run.simulate()
    for emit in "pc":
        assert values(simulated.output(emit), "value", "n", "place", "method") == values(
            run.output(emit), "value", "n", "place", "method"
        )
    assert simulated.codes == codes


@pytest.mark.parametrize("drift", ["infer", "quarantine"])
def test_the_outer_key_of_a_path_is_no_strange_field(sail: SparkSession, tmp_path: Path, drift: str) -> None:
    query = f'set drift = {drift}; stream r(n: long, t: double) from json "in/r"; emit r to json "out/r";'
    run = Query(sail, tmp_path, query)
    run.write("r", [{"$accent": '[[rename("state.t", t)]]'}, {"n": 1, "state": {"t": 1.0}}])
    run.go_on(run.executor(), 0)
    run.write("r", [{"n": 2, "state": {"t": 2.0, "x": 1}}, {"n": 3, "state": {"t": 3.0}, "box": {"t": 1}}])
    run.go_on(run.executor(), 1)  # the names are in the checkpoint
    actual = [row["n"] for row in decode(run.output("r"))]
    assert actual == ([1, 2, 3] if drift == "infer" else [1, 2])  # the text of the other object
    assert [row["n"] for row in decode(run.simulate().output("r"))] == actual


def test_records_of_a_topic_have_paths_in_a_simulation(tmp_path: Path) -> None:
    items: list[Item] = [{"$accent": '[[rename("state.t", t)]]'}, {"n": 1, "state": {"t": 1.5}, "s": 1.50}]
    reference = Reference(
        compile_query(
            'stream r(n: long, t: double, s: string) from kafka "h:9092/r"; emit r to json "o";'
        ).plan
    )
    *_, (outputs,) = (reference.step([("r", {**item, "$partition": 0})]) for item in items)
    assert [(row["n"], row["t"]) for row in outputs["r"].canonical] == [(1, 1.5)]


def test_tools_know_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    items: list[Item] = [RENAME, {"n": 1, "s": 1, "state": {"t": 5.0}}, {"n": 2, "s": 1, "state": 5.0}]
    write_lines(tmp_path / "r.jsonl", items)
    result = cedilla("validate", "r.jsonl", "--schema", DECLARED, "--format", "json")
    messages = [finding["message"] for finding in json.loads(result.output)["findings"]]
    assert messages == [
        "tuples like this one do not use the name `t`: they come before the rename to it, or after the next one "
        "(read from state)"
    ]
    write_lines(tmp_path / "r.jsonl", items[:2])
    canonical = cedilla("canonize", "r.jsonl", "--schema", DECLARED).output
    assert [json.loads(line) for line in canonical.splitlines()] == [{"n": 1, "s": 1, "t": 5.0}, RENAME]
    traced = cedilla("trace", "q.rq", "--on", "r", RENAME["$accent"])
    assert traced.exit_code == 0, traced.output
    assert "undone at the source (N2, N3, N11)" in traced.output


def test_an_edit_declares_no_attribute_inside_of_a_path() -> None:
    renamed = ran(compile_query(QUERY).plan, [("r", {"$accent": '[[rename("box.t", t)]]'})])
    for new in ("box?: double", 'v?: double from "box.t.v"', 'v?: double from "x" or "box"'):
        changes, _ = edited(renamed, QUERY.replace("city?: string", f"city?: string, {new}"))
        assert changes.effect == "new checkpoint"
        assert "an accent has renamed `t` to `box.t`" in str([change.why for change in changes.items])
    moved, _ = edited(renamed, QUERY.replace("city?: string", 'city?: string from "box.t.city"'))
    assert moved.effect == "new checkpoint"
    changes, _ = edited(renamed, QUERY.replace("city?: string", 'city?: string, v?: double from "box.v"'))
    assert changes.effect == "continues"
