"""Accents that the query states, and accents of several attributes: before the first tuple, and after an edit."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, compile_query, run, simulate
from tests.kit.command import cedilla
from tests.kit.errors import code_of, error_of
from tests.kit.lines import marker, write_lines
from tests.kit.query import canonical_rows
from tests.kit.stream import Item, complaints, is_tuple
from tests.kit.tiers import rest
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

DECLARED = """
stream pumps(ts: long, id: int in {1, 2}, fw: int, day: double unit Wh, total: double unit Wh)
  from json "pumps"
  punctuated on ts;
"""
EMITS = """
hours := aggregate[sum(day) as day, max(total) as total by hour](window[60 on ts as hour](pumps));
emit hours to json "hours";
emit pumps to json "copy";
"""
STATED = "accent pumps [[fw >= 1098, unit({day, total}, kWh)]];\n"
ROWS: Sequence[Item] = (
    {"ts": 0, "id": 1, "fw": 1000, "day": 250.0, "total": 9000.0},
    {"ts": 1, "id": 2, "fw": 1098, "day": 0.5, "total": 7.0},
    {"$punctuation": "[ts < 60]"},
    {"ts": 61, "id": 1, "fw": 1100, "day": 0.75, "total": 9.75},
    {"$punctuation": "[]"},
)
HOURS: Sequence[Item] = (
    {"hour": 0, "day": 750.0, "total": 9000.0},
    {"hour": 1, "day": 750.0, "total": 9750.0},
)


@pytest.mark.either_engine
@pytest.mark.parametrize("files", [1, rest(5)], ids=["one file", "a file a line"])
def test_a_stated_accent_holds_from_the_first_tuple_on(spark: SparkSession, here: Path, files: int) -> None:
    size = -(-len(ROWS) // files)
    for number in range(files):
        write_lines(here / "pumps" / f"{number:03}.jsonl", ROWS[number * size : (number + 1) * size], number)
    query = DECLARED + STATED + EMITS
    run(query, Options(once=True, files_per_epoch=1, checkpoint="ck"), spark=spark)
    assert canonical_rows(here / "hours") == list(HOURS)
    simulated = simulated_outputs(query, "hours", "pumps")
    assert simulated["hours"] == list(HOURS)
    assert canonical_rows(here / "copy") == simulated["pumps"]


def simulated_outputs(query: str, *names: str) -> dict[str, list[Item]]:
    """Canonical tuples of a simulated query by output."""
    folders = {name: f"simulated/{name}" for name in names}
    shutil.rmtree("simulated", ignore_errors=True)
    simulate(query, Options(sinks=folders))
    return {name: canonical_rows(folder) for name, folder in folders.items()}


def copied(query: str) -> list[Item]:
    return simulated_outputs(query, "pumps")["pumps"]


@pytest.mark.parametrize(
    "texts",
    [
        ["[[fw >= 1098, unit({day, total}, kWh)]]"],
        ["[[fw >= 1098, alter({day, total}, y -> y / 1000)]]", "[[id = 2, unit(day, MWh)]]"],
        ["[[rename(daily, day)]]", "[[id = 1, recode(fw, {1000: 7})]]"],
        ["[[+(kind: int)]]", "[[kind = 2, unit(total, kWh)]]"],
        ["[[-(total, day)]]"],
        ["[[id = 1, alter(fw, y -> y * 3)]]"],
    ],
)
@pytest.mark.parametrize("punctuations", [True, False], ids=["punctuated", "tuples only"])
def test_a_stated_accent_equals_a_first_line_of_the_stream(
    here: Path, texts: list[str], punctuations: bool
) -> None:
    rows = [*ROWS[:2], {"ts": 5, "id": 1, "fw": 7, "daily": 3.0, "total": 4.0, "kind": 2}, *ROWS[2:]]
    rows = [row for row in rows if punctuations or "ts" in row]
    write_lines(here / "pumps/1.jsonl", [*map(marker, texts), *rows])
    copy = 'emit pumps to json "copy";\n'
    in_stream = copied(DECLARED + copy)
    write_lines(here / "pumps/1.jsonl", rows)
    stated = "".join(f"accent pumps {text};\n" for text in texts)
    assert copied(DECLARED + stated + copy) == in_stream


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("accent pump [[unit(day, kWh)]];", "RQ101"),
        ("accent hours [[unit(day, kWh)]];", "RQ236"),
        ("accent pumps [[grow(id, {3})]];", "RQ236"),
        ("accent pumps [[unit(days, kWh)]];", "RQ207"),
        ("accent pumps [[unit(day, degC)]];", "RQ142"),
        ("accent pumps [[day > 5, unit({total, day}, kWh)]];", "RQ201"),
        ("accent pumps [[-(ts)]];", "RQ209"),
        ("accent pumps [[+(day: double)]];", "RQ205"),
        ("accent pumps [[rename(fw, day)]];", "RQ460"),
    ],
)
def test_a_wrong_statement_is_a_code_at_its_line(here: Path, statement: str, expected: str) -> None:
    write_lines(here / "pumps/1.jsonl", ROWS)
    error = error_of(lambda: simulate(f"{DECLARED}{EMITS}{statement}\n"))
    assert error.span is not None
    assert (error.code, error.span.line) == (expected, 9)
    for settings in ("set bad_markers = quarantine;\n", "set accents = strict;\n"):
        assert code_of(lambda more=settings: simulate(f"{DECLARED}{EMITS}{statement}\n{more}")) == expected


def test_check_finds_what_only_the_whole_plan_refuses(here: Path) -> None:
    (here / "q.rq").write_text(f"{DECLARED}{EMITS}accent pumps [[-(ts)]];\n")
    done = cedilla("check", "q.rq")
    assert done.exit_code == 1
    assert "RQ209" in done.output
    assert "q.rq:9:1" in done.output


def test_the_program_states_the_same_accents() -> None:
    compiled = compile_query(DECLARED + STATED + EMITS)
    assert "[[fw >= 1098, unit({day, total}, kWh)]]" in compiled.program


# --- edits ---


class Edits:
    """A query that is edited while its checkpoint stays, and what it gives."""

    def __init__(self, root: Path, spark: SparkSession) -> None:
        self.root, self.spark, self.count = root, spark, 0

    def step(self, statements: str, *rows: Item) -> None:
        """Reads one more file with other statements."""
        self.count += 1
        write_lines(self.root / f"pumps/{self.count}.jsonl", rows, self.count)
        query = f'{DECLARED}{statements}emit pumps to json "copy";\n'
        (self.root / "q.rq").write_text(query)
        run(query, Options(once=True, checkpoint="ck", yes=True), spark=self.spark)

    def plan(self, statements: str) -> str:
        (self.root / "q.rq").write_text(f'{DECLARED}{statements}emit pumps to json "copy";\n')
        return cedilla("plan", "q.rq", "ck").output


def counter_row(ts: int, day: float) -> Item:
    return {"ts": ts, "id": 1, "fw": 1100, "day": day, "total": 1.0}


@pytest.mark.either_engine
def test_an_edit_of_the_statements_is_a_marker_where_the_run_goes_on(spark: SparkSession, here: Path) -> None:
    edits, day = Edits(here, spark), "accent pumps [[unit(day, kWh)]];\n"
    edits.step("", counter_row(1, 500.0))
    assert "[[unit(day, kWh)]] is new" in edits.plan(day)
    edits.step(day, counter_row(2, 0.5))
    edits.step(day, counter_row(3, 0.25))
    shown = edits.plan("")
    assert "[[unit(day, kWh)]] is gone" in shown
    assert "[[unit(day, Wh)]] holds from epoch" in shown
    edits.step("", counter_row(4, 125.0))
    assert [item["day"] for item in canonical_rows(here / "copy")] == [500.0, 500.0, 250.0, 125.0]


@pytest.mark.parametrize(
    ("statement", "undone"),
    [
        ("[[+(kind: int)]]", "[[-(kind)]]"),
        ("[[id = 1, alter({day, total}, y -> y * 3 + 1)]]", "[[id = 1, alter(total, y -> (y - 1) / 3)]]"),
        ("[[rename(daily, day)]]", "[[rename(day, day)]]"),
        ("[[recode(fw, {1: 2})]]", "[[recode(fw, {2: 1})]]"),
    ],
)
def test_a_statement_that_is_gone_is_undone_by_its_inverse(
    sail: SparkSession, here: Path, statement: str, undone: str
) -> None:
    edits = Edits(here, sail)
    edits.step(f"accent pumps {statement};\n", {"$punctuation": "[ts < 0]"})
    assert f"{undone} holds from epoch" in edits.plan("").replace("\n                 ", " ")


def test_a_statement_without_an_inverse_stays(sail: SparkSession, here: Path) -> None:
    edits = Edits(here, sail)
    edits.step("accent pumps [[-(total)]];\n", {"ts": 1, "id": 1, "fw": 1, "day": 1.0})
    shown = edits.plan("")
    assert "new checkpoint" in shown
    assert "no accent undoes it" in shown


METER = """
stream r(s: int in {1, 2}, fw: int, x: double unit W, t: double, h?: double, at?: timestamp) from json "r";
emit r to json "out";
kept := session[3 on fw as since](r);
emit kept to json "kept";
"""
IN_KW, IN_MW = "[[fw >= 1, unit(x, kW)]]", "[[fw >= 5, unit(x, MW)]]"
SCALED, TENTHS = "[[alter(t, y -> y * 1.8 + 32)]]", "[[s = 1, alter(t, y -> y / 10)]]"
NAMED, RENAMED = "[[rename(tt, t)]]", "[[s = 1, rename(ttt, t)]]"
GREAT = "[[x > 10, alter(t, y -> y * 2)]]"
FALLS, DOUBLED = "[[alter(h, y -> -y)]]", "[[alter(t, y -> y * 2)]]"


def statements_of(texts: Sequence[str]) -> str:
    return METER + "".join(f"accent r {text};\n" for text in texts)


def edit_of(before: Sequence[str], markers: Sequence[str], after: Sequence[str]) -> str:
    """The effect of an edit of the statements after some accents of the stream."""
    reference = ran(compile_query(statements_of(before)).plan, [("r", marker(text)) for text in markers])
    return edited(reference, statements_of(after))[0].effect


@pytest.mark.parametrize(
    ("before", "markers", "after"),
    [
        ([IN_KW, IN_MW], [], [IN_KW]),
        ([IN_KW, IN_MW], [], [IN_MW]),
        ([IN_KW], ["[[fw = 7, alter(x, y -> y * 2)]]"], []),
        ([IN_KW], ["[[fw = 7, unit(x, kW)]]"], []),
        ([IN_KW], ["[[unit(x, W)]]", "[[unit(x, kW)]]"], []),
        ([DOUBLED], ["[[alter(t, y -> y + 1)]]", DOUBLED], []),
        ([NAMED], ["[[rename(t, t)]]", NAMED], []),
        ([SCALED, TENTHS], [], [TENTHS]),
        ([SCALED, TENTHS], [], [TENTHS, SCALED]),
        ([SCALED], [TENTHS], []),
        ([GREAT], ["[[unit(x, kW)]]"], []),
        ([NAMED, RENAMED], [], [NAMED]),
        ([NAMED], ["[[rename(t2, t)]]"], []),
        (["[[+(z: double)]]"], ["[[s = 1, -(z)]]"], []),
        ([FALLS], ["[[alter(h, y -> 2 - y)]]"], []),
        (["[[x > 10, recode(s, {1: 2, 2: 1})]]"], ["[[unit(x, kW)]]"], []),
    ],
)
def test_no_inverse_undoes_a_statement_among_other_accents_of_its_tuples(
    before: Sequence[str], markers: Sequence[str], after: Sequence[str]
) -> None:
    """It would lead to the unit or name of the declaration, or describe other tuples than the statement did."""
    assert edit_of(before, markers, after) == "new checkpoint"


@pytest.mark.parametrize(
    ("before", "markers", "after"),
    [
        ([SCALED, TENTHS], [], [SCALED]),
        ([GREAT], [], []),
        ([GREAT, IN_KW], [], [GREAT]),
        ([IN_KW, GREAT], [], [IN_KW]),
        ([NAMED], [], []),
        ([FALLS], [], []),
        (["[[x > 10, recode(s, {1: 2, 2: 1})]]"], [], []),
        ([], [TENTHS], [SCALED]),
        ([TENTHS, NAMED], [], [NAMED, TENTHS]),
    ],
)
def test_a_statement_that_no_accent_has_followed_is_undone(
    before: Sequence[str], markers: Sequence[str], after: Sequence[str]
) -> None:
    assert edit_of(before, markers, after) in ("continues", "at once")


def test_a_statement_that_came_by_an_edit_is_undone_to_what_was_before() -> None:
    for text, effect in ((SCALED, "continues"), ("[[s = 1, unit(x, MW)]]", "new checkpoint")):
        reference = ran(compile_query(METER).plan, [("r", marker(TENTHS)), ("r", marker("[[unit(x, kW)]]"))])
        changes, stated = edited(reference, statements_of([text]))
        assert changes.effect == "continues"
        stated.step([("r", {"s": 1, "fw": 1, "x": 1.0, "t": 1.0})])
        assert edited(stated, METER)[0].effect == effect


@pytest.mark.parametrize(
    ("statements", "kept", "was", "now"),
    [
        (["[[recode(fw, {1: 2})]]"], [], [2], [1, 2, 5]),
        (["[[recode(fw, {1: 7}, else same)]]"], [], [7, 5], [1, 5, 7]),
        (["[[s = 1, recode(fw, {1: 2, 2: 3})]]"], [], [2, 3], [1, 2, 5]),
        (["[[recode(fw, {1: 2, 2: 3})]]", "[[recode(fw, {2: 6, 3: 8})]]"], [0], [6, 8], [2, 3]),
        (["[[recode(fw, {1: 7}, else same)]]", "[[recode(fw, {7: 8})]]"], [0], [8], [7, 5]),
    ],
)
def test_values_without_a_code_are_read_again_once_the_recode_is_gone(
    statements: Sequence[str], kept: Sequence[int], was: Sequence[int], now: Sequence[int]
) -> None:
    """Those that no pair names were set aside for ever (RQ314): the inverse names the pairs alone."""
    reference = ran(compile_query(statements_of(statements)).plan, [])
    for codes in (was, now):
        for fw in codes:
            reference.step([("r", {"s": 1, "fw": fw, "x": 1.0, "t": 1.0})])
        assert reference.rejected == []
        changes, reference = edited(reference, statements_of([statements[at] for at in kept]))
        assert changes.effect in ("continues", "at once")


@pytest.mark.parametrize("text", ["[[wrap(t, 20 from 0 to -10)]]", "[[alter(t, y -> 24 / y)]]"])
def test_values_that_a_function_did_not_take_are_described_again_once_it_is_gone(text: str) -> None:
    """The condition on them was lost, so that x was read as 10."""
    cold = "[[t < -36, alter(x, y -> y * 2)]]"
    changes, reference = edited(
        ran(compile_query(statements_of([cold, text])).plan, []), statements_of([cold])
    )
    assert changes.effect == "continues"
    (outputs,) = reference.step([("r", {"s": 1, "fw": 1, "x": 10.0, "t": -40.0})])
    assert [row["x"] for row in outputs["r"].canonical] == [5.0]


@pytest.mark.parametrize("text", [IN_KW, SCALED, NAMED, FALLS, "[[recode(fw, {1: 2})]]", "[[+(z: double)]]"])
def test_a_statement_comes_and_goes_as_often_as_one_likes(text: str) -> None:
    reference = ran(compile_query(METER).plan, [("r", marker(TENTHS))])
    for texts in ([text], []) * 3:
        changes, reference = edited(reference, statements_of(texts))
        assert changes.effect in ("continues", "at once"), texts


@pytest.mark.parametrize(
    "text", ["[[unit(x, kW)]]", "[[s = 1, unit(x, kW)]]", '[[zone(at, "Europe/Berlin")]]']
)
def test_what_the_stream_has_said_itself_is_not_undone(text: str) -> None:
    """The statement changed nothing, and its inverse would: values were read in the unit of the declaration."""
    reference = ran(compile_query(METER).plan, [("r", marker(text))])
    changes, stated = edited(reference, statements_of([text]))
    assert changes.effect == "continues"
    assert edited(stated, METER)[0].effect == "new checkpoint"


def test_a_statement_stays_once_the_producer_sends_its_marker(sail: SparkSession, here: Path) -> None:
    edits, day = Edits(here, sail), "accent pumps [[id = 1, unit(day, kWh)]];\n"
    edits.step(day, counter_row(1, 0.5))
    assert "new checkpoint" not in edits.plan("")
    edits.step(day, {"$accent": "[[fw = 1098, unit(day, kWh)]]"})
    edits.step(day, counter_row(2, 0.25))
    assert "new checkpoint" in edits.plan("")


def test_a_drop_that_an_edit_states_waits_for_tuples_that_have_the_attribute() -> None:
    """It was announced at once, before tuples that state still had."""
    first = ran(compile_query(METER).plan, [("r", {"s": 1, "fw": 1, "x": 1.0, "t": 1.0, "h": 1.0})])
    _, reference = edited(first, statements_of(["[[s = 1, -(h)]]"]))
    rows: list[Item] = [{"s": 1, "fw": 1, "x": 1.0, "t": 1.0}, {"$punctuation": "[fw < 9]"}]
    items = [
        item for row in rows for outputs in reference.step([("r", row)]) for item in outputs["kept"].items()
    ]
    assert list(complaints(items, {"s", "fw", "x", "t", "h", "since"})) == []
    assert [item.get("h") for item in items if is_tuple(item)] == [1.0, None]
    assert marker("[[s = 1, -(h)]]") in items


# --- several attributes ---


def test_an_accent_of_several_attributes_is_applied_whole_or_not_at_all(here: Path) -> None:
    wrong = marker("[[unit({day, fw}, kWh)]]")
    write_lines(here / "pumps/1.jsonl", [ROWS[0], wrong, counter_row(2, 500.0)])
    query = f'{DECLARED}set bad_markers = quarantine;\nemit pumps to json "copy";\n'
    assert [item["day"] for item in copied(query)] == [250.0, 500.0]


@pytest.mark.either_engine
def test_several_attributes_change_in_one_place(spark: SparkSession, here: Path) -> None:
    both = marker("[[fw >= 1098, alter({day, total}, y -> y / 1000)]]")
    write_lines(here / "pumps/1.jsonl", [ROWS[0], both, *ROWS[1:]])
    run(DECLARED + EMITS, Options(once=True, checkpoint="ck"), spark=spark)
    assert canonical_rows(here / "hours") == list(HOURS)


def test_whole_numbers_of_several_attributes_end_an_epoch_once(here: Path) -> None:
    query = 'stream pumps(a: int, b: int, t: double) from json "r";\nemit pumps to json "copy";\n'
    items = [{"a": 2, "b": 3, "t": 1.0}, marker("[[alter({a, b}, y -> y * 2)]]"), {"a": 2, "b": 3, "t": 2.0}]
    write_lines(here / "r/1.jsonl", items)
    assert [(i["a"], i["b"]) for i in copied(query)] == [(2, 3), (1, 1.5)]


def test_the_tools_take_an_accent_of_several_attributes(here: Path) -> None:
    both = marker("[[fw >= 1098, unit({day, total}, kWh)]]")
    write_lines(here / "pumps/1.jsonl", [both, *ROWS])
    (here / "q.rq").write_text(DECLARED + EMITS)
    assert cedilla("validate", "pumps", "--query", "q.rq").exit_code == 0
    canonized = cedilla("canonize", "pumps", "--query", "q.rq").output
    assert "unit(day, kWh)" in canonized or "alter(day" in canonized
    traced = cedilla("trace", "q.rq", both["$accent"]).output
    assert "day" in traced
    assert "total" in traced
