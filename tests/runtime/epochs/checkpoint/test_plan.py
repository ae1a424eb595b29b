"""The effects of an edited query on its checkpoint: `cedilla plan` shows them, and `run` applies them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.epochs.checkpoint.edits.plan_changes import changes_text, resume
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlan, StoredPlans
from cedilla.runtime.hosts.terminal.console import Console
from tests.kit import golden
from tests.kit.command import cedilla
from tests.kit.query import Query
from tests.kit.stream import complaints, decode, is_tuple
from tests.kit.tiers import tiered
from tests.runtime.epochs.checkpoint.plan_edits import Items, checkpoint_of, commit_of, edited, ran

QUERY = """
stream sensors(ts: long, s: int in {1, 2}, t: double, q?: double) from json "in/sensors" punctuated on ts;
table placement(s: int, l: string) from json "in/placement";
hot := select[t > -100](sensors);
located := hot join placement on s;
windows := window[10 on ts as wid](located);
average := aggregate[avg by l, wid except ts, s](windows);
emit average to json "out/average";
"""
STREAM: Items = [
    ("placement", {"s": 1, "l": "north"}),
    ("placement", {"s": 2, "l": "south"}),
    ("placement", {"s": 3, "l": "south"}),
    ("placement", {"$punctuation": "[]"}),
    ("sensors", {"ts": 5, "s": 1, "t": 10.0}),
    ("sensors", {"$accent": "[[s = 1, alter(t, y -> y * 2)]]"}),
    ("sensors", {"$punctuation": "[ts < 12]"}),
    ("sensors", {"ts": 13, "s": 1, "t": 20.0}),
    ("sensors", {"ts": 14, "s": 2, "t": 10.0}),
]


def edit(text: str) -> str:
    """The query with edits: lines `old => new`, or lines to add."""
    query = QUERY
    for line in text.splitlines():
        old, arrow, new = line.partition(" =>")
        if arrow:
            assert old in query, old
            query = query.replace(old, new.strip())
        else:
            query += line + "\n"
    return query


def test_what_each_edit_does() -> None:
    reference = ran(compile_query(QUERY).plan, STREAM)
    golden.check(
        Path(__file__).parent / "golden" / "plan.txt",
        lambda directive, text: changes_text(edited(reference, edit(text))[0]),
    )


# --- what an output says after an edit ---


def outputs_after(reference: Any, emit: str, items: Items) -> list[dict[str, Any]]:
    """Returns the items of an emit's stream. The first item must be a marker, so that a step has an effect."""
    return [output_item for item in items for o in reference.step([item]) for output_item in o[emit].items()]


LATER: Items = [
    ("sensors", {"$punctuation": "[ts < 12]"}),
    ("sensors", {"ts": 15, "s": 1, "t": 60.0}),
    ("sensors", {"ts": 16, "s": 2, "t": 40.0}),
    ("sensors", {"$punctuation": "[ts < 20]"}),
]


def test_a_new_output_says_what_is_in_force() -> None:
    reference = ran(compile_query(QUERY).plan, [*STREAM, ("sensors", {"$accent": "[[s = 2, +(p: double)]]"})])
    changes, goes_on = edited(reference, edit('emit hot to json "out/hot";'))
    assert changes.effect == "at once"
    stream = outputs_after(goes_on, "hot", [*LATER, ("sensors", {"ts": 21, "s": 1, "t": 60.0})])
    assert {"$accent": "[[s = 2, +(p: double)]]"} in stream
    assert [item["t"] for item in decode(stream)] == [30.0, 40.0, 30.0]
    assert stream[-1]["t"] == 60.0  # and from then on in the units that it has said
    initial = {"ts", "s", "t", "q"}
    assert list(complaints(stream, initial)) == []


def test_an_output_that_goes_on_keeps_state_and_what_it_said() -> None:
    text = edit(
        "located => places\nwindows => spans\nt: double, q?: double => t: double, q?: double, r?: double"
    )
    items: Items = [*LATER[:2], ("sensors", {"ts": 17, "s": 2, "t": 40.0, "r": 1.0}), LATER[-1]]
    before = ran(compile_query(QUERY).plan, STREAM)
    changes, goes_on = edited(before, text)
    assert changes.effect == "continues"
    stream = outputs_after(goes_on, "average", items)
    # North has 10 of before the edit and 30 of after it; south 10 and 40.
    rows = {item["l"]: item["t"] for item in stream if "l" in item}
    assert rows == {"north": 20.0, "south": 25.0}
    assert stream[0] == {"$accent": "[[+(r: double)]]"}


def test_original_units_are_said_back() -> None:
    both = [*STREAM, ("sensors", {"$accent": "[[s = 2, alter(t, y -> y * 2)]]"})]
    text = edit('to json "out/average"; => to json "out/average" in original units;')
    _, goes_on = edited(ran(compile_query(QUERY).plan, both), text)
    stream = outputs_after(goes_on, "average", LATER)
    assert {"$accent": "[[alter(t, y -> y / 2)]]"} in stream


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ("", " unit degF", "at once"),
        (" unit degF", "", "at once"),
        (" unit degC", " unit Cel", "at once"),
        (" unit degF", " unit degC", "new checkpoint"),
    ],
)
def test_another_unit_is_another_meaning_of_what_was_read(old: str, new: str, effect: str) -> None:
    before = edit(f"t: double, => t: double{old},")
    after = edit(f"t: double, => t: double{new},")
    assert edited(ran(compile_query(before).plan, STREAM), after)[0].effect == effect


REORDERED = """
stream r(k: int in {1, 2}, t: double) from json "r" punctuated on k;
warm := project[k, t as warm, t * 2 as double_warm](r);
sums := aggregate[sum(warm) as total, count() as n by k](warm);
emit sums to json "sums";
"""


def test_the_order_of_names_is_no_edit() -> None:
    """`run` went on with it, and `plan` said that a sum would lose its state. With another edit `run` said so, too."""
    reference = ran(compile_query(REORDERED).plan, [("r", {"k": 1, "t": 2.0})])
    text = REORDERED.replace("k, t as warm, t * 2 as double_warm", "t * 2 as double_warm, t as warm, k")
    text = text.replace("sum(warm) as total, count() as n", "count() as n, sum(warm) as total")
    assert edited(reference, text)[0].items == ()
    changes, goes_on = edited(reference, text + 'emit warm to json "warm";')
    assert [(change.effect, change.where) for change in changes.items] == [
        ("at once", "output warm (line 6)")
    ]
    rows = outputs_after(goes_on, "sums", [("r", {"$punctuation": "[k = 1]"})])
    assert rows[0] == {"k": 1, "total": 2.0, "n": 1}


def test_other_times_of_groups_without_tuples_are_an_edit_and_another_name_of_their_windows_is_none() -> None:
    text = """
    stream r(ts: long, k: int in {1, 2}) from json "r" punctuated on ts;
    hours := window[60 on ts as w](r);
    counts := aggregate[count() as n by w, k complete from 0](hours);
    emit counts to json "counts";
    """
    reference = ran(
        compile_query(text).plan, [("r", {"ts": 61, "k": 1}), ("r", {"$punctuation": "[ts < 60]"})]
    )
    assert edited(reference, text.replace("hours", "minutes"))[0].effect == "at once"
    changes, _ = edited(reference, text.replace("from 0", "from 0 to 600"))
    assert changes.effect == "continues after"
    assert "complete from 0 → 0 to 600" in str(changes)


def test_what_a_sort_has_closed_contradicts_no_edit() -> None:
    """Between two whole numbers lies nothing, until an Alter: the sort did not know any more what it had closed, and
    `plan` took its output's punctuations for broken by the same relation."""
    text = """
    stream s(ts: long, q?: double) from json "s";
    latest := sort[ts desc](s);
    emit latest to json "latest";
    """
    markers = ("[ts > 12]", "[q <= 0]", "[q > 0]")
    items: Items = [
        *(("s", {"$punctuation": text}) for text in markers),
        ("s", {"$accent": "[[alter(ts, y -> y * 2)]]"}),
    ]
    changes, _ = edited(ran(compile_query(text).plan, items), text + 'emit s to json "all";')
    assert [change.where for change in changes.items] == ["output s (line 5)"]


# --- the checkpoint ---


@pytest.mark.parametrize("size", ["12 thing", "2 dozen"])
def test_an_own_unit_of_another_size_is_an_edit(size: str) -> None:
    """`run` took the queries for equal: `box` meant one size in what it had read, and another from there on."""
    units = "unit thing; unit dozen = 12 thing; unit box = {};\n"
    query = 'stream r(x: double unit thing) from json "r"; emit r to json "o";'
    before = compile_query(units.format(size) + query).plan
    reference = ran(before, [("r", {"$accent": "[[unit(x, box)]]"})])
    for after in (units.format("10 thing"), units.format(size).replace("12 thing", "11 thing")):
        assert edited(reference, after + query)[0].effect == "new checkpoint"


def test_plans_are_stored_with_all_that_can_change() -> None:
    plan = compile_query(edit("punctuated on ts => punctuated on ts heartbeat ts delay 5")).plan
    plans = StoredPlans.start(plan)
    again = StoredPlans.load(json.loads(json.dumps(plans.dump())))
    assert again.dump() == plans.dump()
    assert again.plans[0].is_of(plan)
    later = again.edited(again.plans[0], compile_query(edit("t > -100 => t > 0")).plan, 8)
    assert later.in_force(7).is_of(plan)  # a crash before the record of epoch 8
    assert not later.in_force(8).is_of(plan)


def test_another_registry_holds_at_once() -> None:
    """Ids that the checkpoint has of the old one are asked for again."""
    query = """stream r(n: int) from kafka "h:9092/r" registry "http://old:8081"; emit r to json "o";"""
    reference = ran(compile_query(query).plan, [("r", {"n": 1})])
    changes, goes_on = edited(reference, query.replace("old", "new"))
    assert changes.effect == "at once"
    assert "`registry`" in changes_text(changes)
    assert goes_on.plan.source_of["r"].registry == "http://new:8081"
    stored = StoredPlans.load(json.loads(json.dumps(StoredPlans.start(compile_query(query).plan).dump())))
    assert not stored.plans[0].is_of(goes_on.plan)


def test_run_refuses_what_nobody_has_confirmed() -> None:
    reference = ran(compile_query(QUERY).plan, STREAM)
    plan = compile_query(edit("avg by => max by")).plan
    arguments = "c", StoredPlan(0, reference.plan), commit_of(reference, 7), plan
    with pytest.raises(DiagnosticError) as refused:
        resume(*arguments)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "RQ402"
    assert "--yes" in (diagnostic.help or "")
    assert diagnostic.notes[0].startswith("continues after: Aggregate average (line 7): function avg → max")
    assert resume(*arguments, consent=lambda changes: True).epoch == 9
    never = compile_query(edit("t: double => t: long")).plan
    with pytest.raises(DiagnosticError) as refused:
        resume(*arguments[:3], never, consent=lambda changes: True)
    assert "new checkpoint" in (refused.value.diagnostics[0].help or "")


def test_the_command(tmp_path: Path) -> None:
    folder = checkpoint_of(tmp_path / "checkpoint", ran(compile_query(QUERY).plan, STREAM))
    query = tmp_path / "q.rq"

    def plan(text: str, *more: str) -> tuple[int, str]:
        query.write_text(text)
        result = cedilla("plan", str(query), str(folder), *more)
        return result.exit_code, result.stdout

    assert plan(QUERY) == (0, "the query is unchanged: `cedilla run` continues\n")
    assert plan(QUERY, "--sink", "average=out/new")[0] == 0
    status, text = plan(edit("{1, 2} => {1, 2, 3}"))
    assert (status, "`cedilla run --yes` continues" in text) == (0, True)
    status, text = plan(edit("avg by => max by"), "--format", "json")
    data = json.loads(text)
    assert (status, data["effect"], data["epoch"]) == (1, "continues after", 9)
    assert data["changes"][0]["where"] == "Aggregate average (line 7)"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "goes_on"), [("y", True), ("n", False), ("", False)])
def test_a_person_at_the_terminal_is_asked(
    answer: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, _ = edited(ran(compile_query(QUERY).plan, STREAM), edit("avg by => max by"))
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("NO_COLOR", "1")
    assert Console().consent(changes) is goes_on
    assert "groups that are open then lack the tuples read before" in shown.getvalue()
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # without a terminal there is no question
    assert not Console().consent(changes)


# --- on an engine ---


@pytest.mark.either_engine
def test_an_edited_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """A wider domain, an output more, other names: state stays; then an operator starts again, refused before."""
    run = Query(spark, tmp_path, QUERY)
    for source, item in STREAM:
        if "$punctuation" not in item or source != "placement":
            run.write(source, [item])
    run.process()
    run.query = edit("{1, 2} => {1, 2, 3}\nlocated => places\nemit hot to json 'out/hot';")
    run.yes = True
    executor = run.executor()
    assert executor.last.epoch == 1
    run.write("sensors", [{"ts": 16, "s": 3, "t": 40.0}, {"ts": 17, "s": 1, "t": 60.0}])
    run.write("sensors", [{"$punctuation": "[ts < 20]"}])
    executor.process(1, {"sensors": run.files(executor)["sensors"][-2:]})
    rows = {item["l"]: item["t"] for item in run.output("average") if item.get("wid") == 1}
    assert rows == {"north": 20.0, "south": 25.0}  # 10 and 30; 10 and 40 of the new member
    hot = run.output("hot")
    assert sorted(item["t"] for item in hot if "t" in item) == [30.0, 40.0]
    assert {"$accent": "[[s = 1, alter(t, y -> y * 2)]]"} in hot
    assert run.quarantine("sensors") == []
    run.query = run.query.replace("avg by", "max by")
    run.yes = False
    with pytest.raises(DiagnosticError) as refused:
        run.executor()
    assert refused.value.diagnostics[0].code == "RQ402"
    run.yes = True
    executor = run.executor()
    assert not executor.last.segments.get("average")
    assert executor.last.segments["places.right"]
    run.write("sensors", [{"ts": 21, "s": 3, "t": 5.0}, {"ts": 22, "s": 3, "t": 4.0}])
    run.write("sensors", [{"$punctuation": "[ts < 30]"}])
    executor.process(2, {"sensors": run.files(executor)["sensors"][-2:]})
    assert [item["t"] for item in run.output("average") if item.get("wid") == 2] == [5.0]


@pytest.mark.either_engine
def test_an_output_goes_on_without_what_its_units_depend_on(spark: SparkSession, tmp_path: Path) -> None:
    """Engines looked for `k` to find the unit of `t`, and failed in every run (RQ325)."""
    text = """
    stream r(ts: long, k: int in {1, 2}, t: double) from json "in/r";
    emit project[ts, k, t](r) to json "out";
    """
    run = Query(spark, tmp_path, text, yes=True)
    executor = run.executor()
    run.write("r", [{"$accent": "[[k = 1, alter(t, y -> y * 2)]]"}])
    run.go_on(executor, 0)
    run.query = text.replace("ts, k, t", "ts, t")
    run.write("r", [{"ts": 1, "k": 1, "t": 20.0}, {"ts": 2, "k": 2, "t": 5.0}])
    run.go_on(run.executor(), 1)
    run.query = text
    run.write("r", [{"ts": 3, "k": 1, "t": 20.0}, {"ts": 4, "k": 2, "t": 5.0}])
    run.go_on(run.executor(), 2)
    rows = {row["ts"]: row["t"] for row in run.output("project") if "ts" in row}
    assert rows == {1: 10.0, 2: 5.0, 3: 20.0, 4: 5.0}
    assert sorted(row["t"] for row in run.rows("project")) == [5.0, 5.0, 10.0, 10.0]


@pytest.mark.rest
@pytest.mark.either_engine
def test_rows_of_a_member_that_is_gone_are_left_out_above_and_carried_values_stay(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = """
    stream r(ts: long, k: int in {1, 2}, x: double) from json "in/r" punctuated on ts;
    o := aggregate[count() as n, last(x) carried as x by w, k complete from 0](window[10 on ts as w](r));
    emit select[k > 0](o) to json "out";
    """
    run = Query(spark, tmp_path, text, yes=True)
    run.write("r", [{"ts": 1, "k": 1, "x": 5.0}, {"$punctuation": "[ts < 13]"}])
    run.go_on(run.executor(), 0)
    run.query = text.replace("{1, 2}", "{1}").replace("k > 0", "k != 2")
    run.write("r", [{"$punctuation": "[ts < 25]"}])
    run.go_on(run.executor(), 1)
    rows = [(row["w"], row["k"], row.get("x")) for row in run.output("select") if "w" in row]
    assert sorted(rows, key=str) == [(0, 1, 5.0), (0, 2, None), (1, 1, 5.0)]


# --- a wider type ---

NUMBERS = """
stream r(ts: long, k: int, n: int, d: decimal(4, 2)) from json "in/r" punctuated on ts;
stream q(ts: long, n: int) from json "in/q" punctuated on ts;
totals := aggregate[sum(n) as total, max(n) as most, avg(n) as mean, collect(n) as all, mode(n) as usual,
                    last(n) as latest, count(distinct n) as different, sum(d) as price by k](r);
pairs := project[k, n * 2 as twice](r join rename[ts as time](q) on n);
once := distinct(project[n, k](r));
best := top[2 by n desc per k](r);
steps := running[delta(n) as step, sum(n) as sofar per k on ts](r);
emit totals to json "out/totals";
emit pairs to json "out/pairs";
emit once to json "out/once";
emit best to json "out/best";
emit steps to json "out/steps";
"""
WIDER = NUMBERS.replace("n: int", "n: long").replace("decimal(4, 2)", "decimal(9, 2)")
SMALL = [
    {"ts": 1, "k": 1, "n": 2**31 - 1, "d": 99.99},
    {"ts": 2, "k": 1, "n": 7, "d": 0.01},
    {"ts": 3, "k": 2, "n": 7, "d": 1},
]
LARGE = [
    {"ts": 4, "k": 1, "n": 2**31, "d": 100},
    {"ts": 5, "k": 2, "n": 7, "d": 1234567.89},
    {"ts": 6, "k": 2, "n": 2**53 + 1, "d": 2},
    {"$punctuation": "[]"},
]


def edited_to_wider(run: Query, query: str) -> Query:
    run.write("r", SMALL)
    run.write("q", [{"ts": 1, "n": 7}, {"ts": 1, "n": 2**31 - 1}])
    run.go_on(run.executor(), 0)
    run.query = query
    run.write("r", LARGE)
    run.write("q", [{"ts": 2, "n": 2**53 + 1}, {"$punctuation": "[]"}])
    run.go_on(run.executor(), 1)
    assert not run.rejections()
    return run


@pytest.mark.either_engine
def test_a_wider_type_keeps_all_state(spark: SparkSession, tmp_path: Path) -> None:
    """Every operator with state gives what it would have given with the wider type from the start."""
    names = [emit.name for emit in compile_query(NUMBERS).plan.emits]
    renamed = WIDER
    for name in names:  # an output whose attributes are of another type begins again
        renamed = renamed.replace(f"{name} :=", f"{name}_ :=").replace(f"emit {name} to", f"emit {name}_ to")
    narrow = edited_to_wider(Query(spark, tmp_path / "edited", NUMBERS, yes=True), renamed)
    wide = edited_to_wider(Query(spark, tmp_path / "wide", WIDER), WIDER)
    for name in names:
        rows = tuples_of(narrow, name, f"{name}_")
        assert rows == tuples_of(wide, name)
        assert rows


def tuples_of(run: Query, *emits: str) -> list[str]:
    return sorted(str(item) for emit in emits for item in run.output(emit) if is_tuple(item))


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ("int", "long", "continues"),
        ("long", "int", "new checkpoint"),
        ("int", "double", "new checkpoint"),
        ("long", "decimal(19, 0)", "new checkpoint"),
        ("decimal(4, 1)", "decimal(5, 1)", "continues"),
        ("decimal(5, 1)", "decimal(5, 2)", "new checkpoint"),
        ("decimal(5, 1)", "decimal(4, 1)", "new checkpoint"),
    ],
)
def test_only_a_type_that_writes_all_values_alike_is_wider(old: str, new: str, effect: str) -> None:
    before, after = (
        f'stream r(k: int, n: {type_}) from json "r"; emit aggregate[count(n) as c by k](r) to json "o";'
        for type_ in (old, new)
    )
    reference = ran(compile_query(before).plan, [("r", {"k": 1, "n": 1})])
    changes, goes_on = edited(reference, after)
    assert changes.effect == effect
    if effect == "continues":
        assert goes_on.states["r"].types["n"] == compile_query(after).plan.source_of["r"].attributes[1].type


def test_an_output_of_a_wider_type_begins_in_another_folder() -> None:
    before = 'stream r(n: int) from json "r" punctuated on n; emit r to json "o";'
    reference = ran(compile_query(before).plan, [("r", {"n": 1})])
    wider = before.replace("n: int", "n: long")
    changes, _ = edited(reference, wider)
    assert changes.effect == "new checkpoint"
    assert "`n` would be long, its readers know it as int" in changes_text(changes)
    assert edited(reference, wider.replace('"o"', '"o2"'))[0].effect == "continues"


def test_altered_numbers_stay_doubles_when_their_type_is_wider() -> None:
    before = 'stream r(k: int, n: int) from json "r" punctuated on k; emit r to json "o" in original units;'
    altered: Items = [("r", {"$accent": "[[k = 1, alter(n, y -> y * 1000)]]"}), ("r", {"k": 1, "n": 1500})]
    changes, goes_on = edited(ran(compile_query(before).plan, altered), before.replace("n: int", "n: long"))
    assert changes.effect == "continues"
    later: Items = [
        ("r", {"$punctuation": "[k = 2]"}),
        ("r", {"k": 1, "n": 2**40}),
        ("r", {"k": 3, "n": 2**40}),
    ]
    rows = [item["n"] for item in outputs_after(goes_on, "r", later) if "n" in item]
    assert rows == [2**40 / 1000, 2**40]


# --- units that tuples name ---

NAMED = """
stream r(ts: long, u: string, k: int, t: double unit from u in {degC, degF}) from json "in/r" punctuated on ts;
means := aggregate[avg(t) as mean by k](r);
emit r to json "out/r";
emit means to json "out/means";
"""
WITH_KELVIN = NAMED.replace("degF}", "degF, kelvin}")


@pytest.mark.either_engine
def test_a_unit_more_that_tuples_name_is_an_alter_where_the_run_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, NAMED, yes=True)
    run.write("r", [{"ts": 1, "u": "degC", "k": 1, "t": 10}, {"ts": 2, "u": "degF", "k": 1, "t": 68}])
    run.write("r", [{"ts": 3, "u": "kelvin", "k": 1, "t": 303.15}])
    run.go_on(run.executor(), 0)
    assert [line.code for line in run.rejections()] == ["RQ311"]
    for query in (WITH_KELVIN, NAMED, WITH_KELVIN):
        run.query = query
        executor = run.executor()
    run.write("r", [{"ts": 4, "u": "kelvin", "k": 1, "t": 303.15}, {"$punctuation": "[ts < 5]"}])
    run.go_on(executor, 1)
    assert any('u = "kelvin"' in item.get("$accent", "") for item in run.output("r"))
    run.write("r", [{"$punctuation": "[]"}])
    run.go_on(executor, 2)
    assert [row["mean"] for row in run.output("means") if "mean" in row] == [20.0]
    assert [row["t"] for row in decode(run.output("r"))] == [10.0, 20.0, 30.0]


def test_only_a_list_of_the_same_canonical_unit_continues() -> None:
    before = ran(compile_query(NAMED).plan, [("r", {"ts": 1, "u": "degC", "k": 1, "t": 10.0})])
    assert edited(before, WITH_KELVIN)[0].effect == "continues"
    assert edited(before, NAMED.replace("{degC, degF}", "{degC}"))[0].effect == "continues"
    assert edited(before, NAMED.replace("{degC, degF}", "{degF, degC}"))[0].effect == "new checkpoint"
    assert edited(before, NAMED.replace("from u in {degC, degF}", "degC"))[0].effect == "new checkpoint"
    before.step([("r", {"$accent": "[[alter(t, y -> y * 2)]]"})])
    changes, _ = edited(before, WITH_KELVIN)
    assert changes.effect == "new checkpoint"
    assert "a unit that is new in the list" in changes_text(changes)


# --- streams that come and go ---

ONE = """
stream a(ts: long, k: int, v: double) from json "in/a" punctuated on ts, k;
sums := aggregate[sum(v) as total by k](a);
emit sums to json "out/sums";
"""
TWO = f"""{ONE}
stream b(ts: long, k: int, w: double) from json "in/b" punctuated on ts;
emit b to json "out/b" in original units;
pairs := project[k, v, w](a join rename[ts as time](b) on k);
emit pairs to json "out/pairs" in original units;
"""
OTHER = """
stream b(ts: long, k: int, w: double) from json "in/b" punctuated on ts;
emit b to json "out/b" in original units;
"""


@pytest.mark.either_engine
def test_a_stream_comes_and_another_goes(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, ONE)
    run.write("a", [{"ts": 1, "k": 1, "v": 10.0}, {"$accent": "[[alter(v, y -> y * 10)]]"}])
    run.write("b", [{"ts": 1, "k": 1, "w": 1.0}, {"$accent": "[[alter(w, y -> y * 2)]]"}])
    run.run()
    run.query = TWO
    with pytest.raises(DiagnosticError) as refused:
        run.run()
    assert refused.value.diagnostics[0].code == "RQ402"
    run.write("a", [{"ts": 2, "k": 1, "v": 50.0}, {"$punctuation": "[k = 1]"}])
    run.write("b", [{"ts": 2, "k": 1, "w": 4.0}])
    run.run(yes=True)
    assert [row["total"] for row in decode(run.output("sums"))] == [15.0]
    assert [row["w"] for row in run.output("b") if "w" in row] == [1.0, 2.0]
    # Tuples of before the edit meet none that come later: the state of the join begins with it.
    assert sorted((row["v"], row["w"]) for row in run.output("pairs") if "w" in row) == [
        (5.0, 1.0),
        (5.0, 2.0),
    ]
    run.query = OTHER
    run.write("b", [{"ts": 3, "k": 2, "w": 8.0}])
    run.write("a", [{"ts": 3, "k": 2, "v": 1.0}])
    run.run(yes=True)
    assert [row["w"] for row in run.output("b") if "w" in row] == [1.0, 2.0, 4.0]
    run.query = TWO
    with pytest.raises(DiagnosticError) as refused:
        run.run(yes=True)
    assert "choose another name" in str(refused.value), str(refused.value)
    run.query = ONE.replace(" a(", " again(").replace("(a)", "(again)").replace("sums", "sums2") + OTHER
    run.write("again", [{"ts": 1, "k": 1, "v": 10.0}, {"$punctuation": "[k = 1]"}])
    run.run(yes=True)
    assert [row["total"] for row in decode(run.output("sums2"))] == [10.0]
    assert not run.rejections("b")


FLEETS = """
stream a(ts: long, k: int, v: double unit degC) from json "in/a" punctuated on ts;
means := aggregate[avg(v) as mean, count() as n by k, w](window[10 on ts as w](a));
emit means to json "out/means";
"""
MORE_FLEETS = FLEETS.replace(
    "means :=", 'stream b(ts: long, k: int, v: double unit degF) from json "in/b" punctuated on ts;\nmeans :='
).replace("(a)", "(a union b)")


@pytest.mark.either_engine
def test_a_stream_comes_to_the_same_groups(spark: SparkSession, tmp_path: Path) -> None:
    """By a union: open groups keep their tuples, and what is closed stays closed for the new stream, too."""
    run = Query(spark, tmp_path, FLEETS)
    run.write(
        "a", [{"ts": 1, "k": 1, "v": 10.0}, {"ts": 11, "k": 1, "v": 10.0}, {"$punctuation": "[ts < 10]"}]
    )
    run.run()
    assert [(row["w"], row["mean"]) for row in run.output("means") if "mean" in row] == [(0, 10.0)]
    run.query = MORE_FLEETS
    run.write(
        "b", [{"ts": 9, "k": 1, "v": 0.0}, {"ts": 12, "k": 1, "v": 68.0}, {"$punctuation": "[ts < 20]"}]
    )
    run.run(yes=True)
    assert [line.code for line in run.rejections("b")] == ["RQ305"]
    run.write("a", [{"$punctuation": "[ts < 20]"}])
    run.run()
    means = [(row["w"], row["mean"], row["n"]) for row in run.output("means") if "mean" in row]
    assert means == [(0, 10.0, 1), (1, 15.0, 2)]
    run.write("b", [{"ts": 21, "k": 1, "v": 32.0}])
    run.write("a", [{"ts": 21, "k": 1, "v": 10.0}])
    run.run()
    run.query = FLEETS  # the tuple of the stream that goes stays in its group
    run.write("a", [{"$punctuation": "[ts < 30]"}])
    run.run(yes=True)
    assert [row["mean"] for row in run.output("means") if row.get("w") == 2] == [5.0]


@pytest.mark.parametrize("seed", tiered([*range(20)]))
def test_a_united_stream_changes_no_result(seed: int) -> None:
    """Groups of both streams are those of a query that had both from the start, whenever the edit comes."""
    chance = Random(seed)
    items: Items = []
    for start in range(0, 40, 10):
        for name in ("a", "b")[: 1 + (start >= 20)]:
            rows = [
                {
                    "ts": start + chance.randrange(10),
                    "k": chance.randrange(2),
                    "v": chance.choice([32.0, 50.0, 68.0]),
                }
                for _ in range(chance.randrange(4))
            ]
            items += [(name, row) for row in rows]
            if chance.random() < 0.3:
                items.append((name, {"$accent": f"[[k = {chance.randrange(2)}, unit(v, degF)]]"}))
        closing = chance.random() < 0.5 or start == 30
        items += [
            (n, {"$punctuation": f"[ts < {start + 10}]"}) for n in ("a", "b")[: 1 + (start >= 20)] if closing
        ]
    at = next(i for i, (name, _) in enumerate([*items, ("b", {})]) if name == "b")
    whole = ran(compile_query(MORE_FLEETS).plan, [])
    expected = means(outputs_after(whole, "means", items))
    before = ran(compile_query(FLEETS).plan, [])
    outputs = outputs_after(before, "means", items[:at])
    _, goes_on = edited(before, MORE_FLEETS)
    assert means([*outputs, *outputs_after(goes_on, "means", items[at:])]) == expected


def means(outputs: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((row["k"], row["w"], round(float(row["mean"]), 9), row["n"]) for row in decode(outputs))


def test_a_stream_that_comes_to_other_attributes_begins_again() -> None:
    reference = ran(compile_query(FLEETS).plan, [("a", {"ts": 1, "k": 1, "v": 10.0})])
    changes, _ = edited(reference, MORE_FLEETS)
    assert (changes.effect, "late" in changes_text(changes)) == ("continues", False)
    reference.step([("a", {"$punctuation": "[ts < 10]"})])
    text = changes_text(edited(reference, MORE_FLEETS)[0])
    assert "its tuples are late (RQ305) in what is closed already: [ts < 10]" in text
    more = MORE_FLEETS.replace("b(ts: long,", "b(ts: long, x: int,")
    assert edited(reference, more)[0].effect in ("continues after", "new checkpoint")


DEFAULTS = FLEETS.replace("k: int,", "k: int default 1,").replace("unit degC", "unit degC default 68 degF")


@pytest.mark.parametrize("seed", tiered([*range(20)]))
def test_a_default_changes_no_result(seed: int) -> None:
    """Groups are those of a query that had the defaults from the start, whenever they come and go."""
    chance = Random(seed)
    items: Items = []
    for start in range(0, 40, 10):
        for _ in range(chance.randrange(5)):
            row = {"ts": start + chance.randrange(10), "k": chance.randrange(2), "v": chance.choice([32, 50])}
            lacking = [name for name in ("k", "v") if chance.random() < 0.5] if start == 20 else []
            items.append(("a", {name: value for name, value in row.items() if name not in lacking}))
        if chance.random() < 0.3:
            items.append(("a", {"$accent": "[[unit(v, degF)]]"}))
        if chance.random() < 0.5 or start == 30:
            items.append(("a", {"$punctuation": f"[ts < {start + 10}]"}))
    first = next((i for i, (_, item) in enumerate(items) if item.get("ts", 0) >= 20), len(items))
    last = next((i for i, (_, item) in enumerate(items) if item.get("ts", 0) >= 30), len(items))
    expected = means(outputs_after(ran(compile_query(DEFAULTS).plan, []), "means", items))
    outputs: list[dict[str, Any]] = []
    goes_on = ran(compile_query(FLEETS).plan, [])
    for text, part in ((DEFAULTS, items[:first]), (FLEETS, items[first:last]), (None, items[last:])):
        outputs += outputs_after(goes_on, "means", part)
        if text is not None:
            changes, goes_on = edited(goes_on, text)
            assert changes.effect in ("continues", "at once"), changes_text(changes)
    assert means(outputs) == expected


def test_a_default_that_could_open_a_closed_group_begins_again() -> None:
    reference = ran(compile_query(FLEETS).plan, [("a", {"ts": 1, "k": 1, "v": 10.0})])
    reference.step([("a", {"$punctuation": "[k = 2]"})])
    assert edited(reference, DEFAULTS)[0].effect == "continues"
    reference.step([("a", {"$punctuation": "[k = 1]"})])
    assert edited(reference, DEFAULTS)[0].effect == "new checkpoint"


def test_another_default_holds_for_later_tuples_and_rebuilds_state() -> None:
    reference = ran(compile_query(DEFAULTS).plan, [("a", {"ts": 1})])
    text = changes_text(edited(reference, DEFAULTS.replace("default 1", "default 2"))[0])
    assert "its state is rebuilt" in text
    optional = DEFAULTS.replace("k: int default 1", "k?: int")
    assert edited(reference, optional)[0].effect == "continues after"
