"""Values that come to a domain while a recode is in force (theory N1, N3): each is written as it is, and a growth by
what is another value's code is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.plan import TableColumn
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.control.domains.table_domains import with_values
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.lines import marker, write_lines
from tests.kit.query import Query
from tests.kit.stream import Item, decode
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

KICK: Item = {"$punctuation": "[n < -1000]"}
"""A marker about no tuple: an edited query derives its facts with the first marker."""
LISTED = """
stream r(n: long, site: string in {"A", "B"}, k: long in {1, 2, 3}, t: double) from json "in";
emit r to json "out";
"""
FROM_TABLE = LISTED.replace("{1, 2, 3}", "kinds.k").replace(
    "\nstream", '\ntable kinds(k: long) from json "in";\nstream', 1
)
KINDS = TableColumn("kinds", "k")
CODES = '[[site = "B", recode(k, {1: 4, 2: 20, 3: 30})]]'
FREED = '[[site = "B", recode(k, {4: 10, 20: 20, 30: 30})]]'


def row(n: int, site: str, k: int, t: float = 1.0) -> Item:
    return {"n": n, "site": site, "k": k, "t": t}


def taken(reference: Reference, *items: Item) -> list[tuple[int, int, float]]:
    """Returns the tuples in canonical values."""
    rows = [row for item in items for out in reference.step([("r", item)]) for row in out["r"].canonical]
    return [(row["n"], row["k"], float(row["t"])) for row in rows]


def test_what_is_new_is_written_as_it_is_and_a_recode_may_name_it() -> None:
    reference = Reference(compile_query(LISTED).plan)
    taken(reference, marker(CODES), marker("[[grow(k, {5, 6})]]"))
    assert taken(reference, row(1, "B", 5), row(2, "A", 5), row(3, "B", 4), row(4, "B", 7)) == [
        (1, 5, 1),
        (2, 5, 1),
        (3, 1, 1),
    ]
    assert [code for _, code, _ in reference.rejected] == ["RQ314"]
    # From a recode on that names one of both, the other has no code, as any that is not listed.
    taken(reference, marker('[[site = "B", recode(k, {4: 1, 5: 50})]]'))
    assert taken(reference, row(5, "B", 50), row(6, "B", 1), row(7, "B", 6)) == [(5, 5, 1), (6, 1, 1)]
    assert [code for _, code, _ in reference.rejected] == ["RQ314", "RQ314"]
    assert (
        error_of(lambda: reference.step([("r", marker('[[site = "B", recode(k, {6: 60})]]'))])).code
        == "RQ464"
    )


def test_what_is_another_ones_code_cannot_come_before_that_has_another_one() -> None:
    """Written as it is, 4 of site B would be kind 1 and kind 4."""
    reference = Reference(compile_query(LISTED).plan)
    taken(reference, marker(CODES))
    error = error_of(lambda: reference.step([("r", marker("[[grow(k, {4, 5})]]"))]))
    assert error.code == "RQ466"
    assert error.message == 'the domain of `k` cannot grow: 1 is written as 4 for [site = "B"], too'
    assert taken(reference, row(1, "B", 4)) == [(1, 1, 1)]  # nothing of it counts
    taken(reference, marker(FREED), marker("[[grow(k, {4, 5})]]"))
    assert taken(reference, row(2, "B", 4), row(3, "B", 10), row(4, "B", 5)) == [
        (2, 4, 1),
        (3, 1, 1),
        (4, 5, 1),
    ]


def test_where_none_comes_any_more_nobody_is_in_doubt() -> None:
    reference = Reference(compile_query(LISTED).plan)
    taken(reference, marker(CODES), {"$punctuation": '[site = "B"]'}, marker("[[grow(k, {4})]]"))
    assert taken(reference, row(1, "A", 4), row(2, "B", 4)) == [(1, 4, 1)]
    assert [code for _, code, _ in reference.rejected] == ["RQ305"]


@pytest.mark.parametrize(
    ("before", "behind", "t"),
    [
        ("[[k > 2, alter(t, y -> y * 2)]]", "", 0.5),  # said of kinds of later, too
        ("[[k < 2, alter(t, y -> y * 2)]]", "", 1.0),
        ("[[k != 2, alter(t, y -> y * 2)]]", "", 0.5),
        ("", "[[k != 20, alter(t, y -> y * 2)]]", 0.5),
        ("", "[[k != 5, alter(t, y -> y * 2)]]", 1.0),  # what is written so is not meant, now and later
        ("", "[[k in {4, 20}, alter(t, y -> y * 2)]]", 1.0),
        ("", "[[k in (4, 30), alter(t, y -> y * 2)]]", 0.5),  # as a range of codes is
        ("", "[[k <= 4, alter(t, y -> y * 2)]]", 1.0),
        ("[[k > 2, alter(t, y -> y * 2)]]", "[[k in {30, 5}, alter(t, y -> y * 2)]]", 0.25),
    ],
)
def test_descriptions_that_match_what_is_new_count(before: str, behind: str, t: float) -> None:
    """Descriptions before and after a recode, by any values, have the same effect as without codes (N1)."""
    reference = Reference(compile_query(LISTED).plan)
    recode = CODES.replace('site = "B", ', "")
    taken(reference, *[marker(text) for text in (before, recode, behind, "[[grow(k, {5})]]") if text])
    assert taken(reference, row(1, "A", 5)) == [(1, 5, t)]
    taken(reference, marker("[[recode(k, {5: 1, 4: 5})]]"))
    assert taken(reference, row(2, "B", 1)) == [(2, 5, t)]


@pytest.mark.parametrize("described", ["k = 4", "k < 20", "k in [4, 19]", "k in {4, 7}"])
def test_what_was_a_code_once_can_be_a_value(described: str) -> None:
    """Descriptions by the code at that time described the value that had it."""
    reference = Reference(compile_query(LISTED).plan)
    texts = ["[[recode(k, {1: 4, 2: 20, 3: 30})]]", f"[[{described}, alter(t, y -> y * 2)]]"]
    texts += ["[[recode(k, {4: 10, 20: 20, 30: 30})]]", "[[grow(k, {4})]]"]
    taken(reference, *map(marker, texts))
    assert taken(reference, row(1, "A", 4), row(2, "A", 10), row(3, "A", 20)) == [
        (1, 4, 1),
        (2, 1, 0.5),
        (3, 2, 1),
    ]


def test_codes_that_are_told_apart_by_each_other() -> None:
    query = LISTED.replace('site: string in {"A", "B"}', 'site: string in {"A", "B", "b"}')
    texts = ['[[k = 1, recode(site, {"A": "A", "B": "b", "b": "B"})]]', '[[site = "b", recode(k, {1: 4})]]']
    reference = Reference(compile_query(query).plan)
    taken(reference, *map(marker, texts))
    assert error_of(lambda: reference.step([("r", marker("[[grow(k, {4})]]"))])).code == "RQ466"
    query = query.replace(', "b"}', "}")  # now none but kind 1 is ever of a site b
    reference = Reference(compile_query(query).plan)
    taken(reference, marker(texts[0].replace(', "b": "B"', "")), marker(texts[1]), marker("[[grow(k, {4})]]"))
    assert taken(reference, row(1, "b", 4), row(2, "B", 4), row(3, "A", 1)) == [
        (1, 1, 1),
        (2, 4, 1),
        (3, 1, 1),
    ]


# --- the query's text ---


def test_an_edited_query_says_which_value_cannot_come() -> None:
    reference = ran(compile_query(LISTED).plan, [("r", marker(CODES))])
    changes, goes_on = edited(reference, LISTED.replace("3}", "3, 5}"))
    assert changes.effect == "continues"
    assert taken(goes_on, KICK, row(1, "B", 5), row(2, "B", 20)) == [(1, 5, 1), (2, 2, 1)]
    changes, _ = edited(reference, LISTED.replace("3}", "3, 4}"))
    assert changes.effect == "new checkpoint"
    assert '1 is written as 4 for [site = "B"], too (RQ466)' in changes.items[0].why


def test_what_no_list_brings_has_no_code() -> None:
    reference = ran(compile_query(LISTED).plan, [("r", marker(CODES))])
    changes, goes_on = edited(reference, LISTED.replace("{1, 2, 3}", "[1, 9]"))
    assert "(RQ314)" in changes.items[0].why
    assert taken(goes_on, KICK, row(1, "B", 5), row(2, "A", 5)) == [(2, 5, 1)]
    assert [code for _, code, _ in goes_on.rejected] == ["RQ314"]


# --- a table that gives the domain ---


def test_a_table_brings_values_by_the_same_rule() -> None:
    plan = with_values(compile_query(FROM_TABLE).plan, {KINDS: frozenset({1, 2, 3})})
    reference = Reference(plan)
    taken(reference, marker(CODES))
    with pytest.raises(DiagnosticError, match="RQ466") as raised:
        reference.grow({KINDS: frozenset({1, 2, 3, 4})})
    assert raised.value.diagnostics[0].message.startswith(
        "the domain `kinds.k` cannot grow: 1 is written as 4"
    )
    taken(reference, marker(FREED))
    reference.grow({KINDS: frozenset({1, 2, 3, 4})})
    assert taken(reference, row(1, "B", 4), row(2, "B", 10)) == [(1, 4, 1), (2, 1, 1)]


def test_validate_and_trace_know_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(LISTED)
    items = [marker(CODES), marker("[[grow(k, {5})]]"), row(1, "B", 5), marker("[[grow(k, {4})]]")]
    write_lines(tmp_path / "r.jsonl", items)
    result = cedilla("validate", "r.jsonl", "--query", "q.rq", "--format", "json")
    assert [finding["code"] for finding in json.loads(result.output)["findings"]] == ["RQ466"]
    traced = cedilla("trace", "q.rq", "--on", "r", CODES, "[[grow(k, {4})]]")
    assert "error[RQ466]: the domain of `k` cannot grow" in traced.output
    assert "first recode 1 to another code" in traced.output


@pytest.mark.either_engine
def test_a_table_grows_while_a_recode_is_in_force(spark: SparkSession, tmp_path: Path) -> None:
    """While the query runs, and at its next start; tuples of both sites, on Spark as in the reference."""
    run = Query(spark, tmp_path, FROM_TABLE)
    run.write("kinds", [{"k": 1}, {"k": 2}, {"k": 3}])
    run.write("r", [marker("[[k > 2, alter(t, y -> y * 2)]]"), marker(CODES), row(1, "B", 4), row(2, "B", 5)])
    executor = run.executor()
    run.go_on(executor, 0)
    run.write("kinds", [{"k": 5}])
    run.write("r", [row(3, "B", 5, 8.0), row(4, "A", 5, 8.0), row(5, "B", 30, 8.0)])
    run.go_on(executor, 1)
    # 4 has to wait until 1 of site B has another code.
    four = run.write("kinds", [{"k": 4}])
    run.write("r", [row(6, "A", 1), marker(FREED.replace("30: 30", "30: 30, 5: 50"))])
    with pytest.raises(DiagnosticError, match="RQ466"):
        run.go_on(executor, 2)
    with pytest.raises(DiagnosticError, match="RQ402") as raised:
        run.executor()
    assert any("RQ466" in note for diagnostic in raised.value.diagnostics for note in diagnostic.notes)
    four.unlink()
    executor = run.executor()
    run.go_on(executor, 2)
    run.write("kinds", [{"k": 4}])
    run.write("r", [row(7, "B", 4, 8.0), row(8, "B", 50, 8.0), row(9, "B", 10), row(10, "B", 5)])
    executor = run.executor()
    run.go_on(executor, 3)
    rows = sorted((row["n"], row["k"], float(row["t"])) for row in decode(run.output("r")))
    assert rows == [
        (1, 1, 1),
        (3, 5, 4),
        (4, 5, 4),
        (5, 3, 4),
        (6, 1, 1),
        (7, 4, 4),
        (8, 5, 4),
        (9, 1, 1),
    ]
    assert {json.loads(rejected["raw"])["n"]: rejected["code"] for rejected in run.quarantine("r")} == {
        2: "RQ314",
        10: "RQ314",
    }
    assert executor.last.counters == {"RQ314": 2}
