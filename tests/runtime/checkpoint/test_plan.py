"""What an edited query does to its checkpoint (`cedilla plan`), and that `run` does it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.checkpoint.plan_changes import changes_text, resume
from cedilla.runtime.checkpoint.stored_plan import StoredPlan, StoredPlans
from cedilla.runtime.terminal.console import Console
from tests.kit import golden
from tests.kit.command import cedilla
from tests.kit.query import Query
from tests.kit.stream import complaints, decode
from tests.runtime.checkpoint.plan_edits import Items, checkpoint_of, commit_of, edited, ran

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
    """What an emit's stream gets; the first item must be a marker, by which a step is no quiet one."""
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


# --- the checkpoint ---


def test_plans_are_stored_with_all_that_can_change() -> None:
    plan = compile_query(edit("punctuated on ts => punctuated on ts heartbeat ts delay 5")).plan
    plans = StoredPlans.start(plan)
    again = StoredPlans.load(json.loads(json.dumps(plans.dump())))
    assert again.dump() == plans.dump()
    assert again.plans[0].is_of(plan)
    later = again.edited(again.plans[0], compile_query(edit("t > -100 => t > 0")).plan, 8)
    assert later.in_force(7).is_of(plan)  # a crash before the record of epoch 8
    assert not later.in_force(8).is_of(plan)


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
    assert plan(QUERY, "--sink", "average=out/new")[0] == 1
    status, text = plan(edit("{1, 2} => {1, 2, 3}"))
    assert (status, "`cedilla run --yes` continues" in text) == (1, True)
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
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal: nobody is asked
    assert not Console().consent(changes)


# --- on an engine ---


@pytest.mark.either_engine
def test_an_edited_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """A wider domain, an output more, other names: state goes on; then an operator anew, refused before."""
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
