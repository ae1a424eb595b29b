"""The tools without Spark and a domain that grows by a line of the stream (theory N1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from cedilla import read
from cedilla.compiler import compile_query
from cedilla.compiler.facts.marker_parser import read_epoch_change
from cedilla.compiler.plan import derive
from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.control.markers.epoch_changes import begun
from cedilla.runtime.control.sinks.announce import SinkState, announce
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit
from tests.kit.checkpoints import write_checkpoint
from tests.kit.command import cedilla, marker_messages
from tests.kit.lines import write_lines
from tests.kit.stream import read_output

QUERY = """
stream pumps(ts: long in [0, 1000], pump: int in {1, 2}, litres: double) from json "in" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "flow";
"""
JOIN = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "in";
stream places(pump: int in {1, 2, 3}, place: string) from json "places";
emit pumps join places on pump to json "out";
"""
GROWS = "[[grow(pump, {3})]]"
TUPLE = {"ts": 0, "pump": 3, "litres": 140.0}


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.rq"
    path.write_text(QUERY)
    return path


WRONG = {
    "RQ220": (
        ["[[grow(ts, {-3})]]"],
        "the domain of `ts` cannot grow: it is not declared as a list",
        "`ts: long in {...}` declares a list",
    ),
    "RQ221": (
        ["[[alter(pump, y -> y * 2)]]", GROWS],
        "the domain of `pump` cannot grow: an accent has altered `pump`",
        "it can be widened in the query's text (`cedilla plan`)",
    ),
}


@pytest.mark.parametrize("command", ["simulate", "validate", "trace"])
@pytest.mark.parametrize("code", WRONG)
def test_a_growth_that_cannot_be_has_its_place_and_a_hint(query: Path, command: str, code: str) -> None:
    markers, message, hint = WRONG[code]
    output = marker_messages(query, markers, command)
    assert f"error[{code}]: {message}" in output
    number = len(markers)
    position = f"<marker {number}>:1:3" if command == "trace" else f"{query.parent}/in/a.jsonl:{number}:3"
    assert f"--> {position}\n" in output
    assert f"| {markers[-1]}\n  |   {'^' * (len(markers[-1]) - 4)}\n" in output
    assert hint in output


def test_a_domain_of_turned_values_does_not_grow(query: Path) -> None:
    """The marker would name a value as the domain has it, and everything else in a stream is as tuples have it."""
    query.write_text('stream pumps(x: double in {1, 2}) from json "in"; emit pumps to json "out";')
    output = marker_messages(query, ["[[alter(x, y -> -y)]]", "[[grow(x, {-3})]]"], "trace")
    assert "error[RQ221]: the domain of `x` cannot grow: an accent has altered `x`" in output


def test_a_join_that_kept_nothing_for_the_new_values_ends_the_query_there(query: Path) -> None:
    query.write_text(JOIN)
    done = cedilla("trace", str(query), "--on", "pumps", GROWS)
    assert done.exit_code == 1
    assert (
        "error[RQ222]: the domain of `pump` cannot grow: Join `join` cannot continue: "
        "it has kept nothing of `places` for the new values\n --> <marker 1>:1:3\n" in done.output
    )
    assert "= help: `cedilla plan` tells what a wider domain in the query's text would do" in done.output
    assert cedilla("trace", str(query), "--on", "pumps", "[[grow(pump, {2})]]").exit_code == 0


def test_trace_says_where_a_domain_grows_and_what_waits_for_the_new_value(query: Path) -> None:
    alter = "[[pump in {1, 2}, alter(litres, y -> y / 1000)]]"
    done = cedilla("trace", str(query), "--on", "pumps", GROWS, GROWS, alter)
    assert done.exit_code == 0
    grows, again, altered = done.output.split("\n\n")
    assert "  pumps            [[grow(pump, {3})]]   its domain grows\n" in grows
    assert "grows" not in again
    assert "waits for minutes in [pump = 3]" in altered


def test_validate_takes_a_new_value_from_the_growth_on(query: Path) -> None:
    folder = write_lines(
        query.parent / "in" / "a.jsonl", [TUPLE, {"$accent": GROWS}, TUPLE, {**TUPLE, "pump": 4}]
    ).parent
    done = cedilla("validate", str(folder), "--query", str(query), "--format", "json")
    answer = json.loads(done.output)
    assert answer["counts"] == {"RQ303": 2}
    assert answer["accents"] == 1
    assert [finding["notes"][-1].split(": ")[0] for finding in answer["findings"]] == [
        f"{folder}/a.jsonl:1",
        f"{folder}/a.jsonl:4",
    ]


def test_status_says_what_a_domain_has_grown_by(tmp_path: Path) -> None:
    """It also shows that a commit record keeps it."""
    plan = compile_query(QUERY).plan
    state = SourceState.start(plan.source_of["pumps"], plan.droppable["pumps"])
    growth = read_epoch_change("[[grow(pump, {2, 3, 4})]]", state.types)
    assert growth is not None
    state = begun(state, growth).next_epoch()
    facts = derive(plan, {"pumps": state.facts()})["flow"]
    sink, _ = announce(SinkState.start(plan.start["flow"]), facts, facts)
    commit = Commit(epoch=0, batch=0, sources={"pumps": state}, sinks={"flow": sink})
    write_checkpoint(tmp_path, plan, commit)
    done = cedilla("status", str(tmp_path))
    assert done.exit_code == 0
    assert "source pumps\n  grow(pump, {3, 4}) everywhere\n" in done.output


def test_a_value_that_no_tuple_has_yet_has_a_hint_how_to_add_it(query: Path) -> None:
    done = cedilla("trace", str(query), "--on", "pumps", "[[pump = 22, alter(litres, y -> y / 1000)]]")
    assert "error[RQ216]" in done.output
    assert (
        "send `[[grow(pump, {22})]]` before this accent, or widen the domain in the query's text"
        in done.output
    )


@pytest.mark.parametrize("marker", ["[[grow(ts, {3})]]", "[[grow(litres, {3})]]", "[[grow(pump, {2})]]"])
def test_a_growth_by_what_may_come_already_is_no_news(query: Path, marker: str) -> None:
    """Of a range, of an attribute without a domain, of a list."""
    folder = write_lines(query.parent / "in" / "a.jsonl", [{"$accent": marker}, {**TUPLE, "pump": 1}]).parent
    assert cedilla("validate", str(folder), "--query", str(query)).exit_code == 0
    assert "grows" not in cedilla("trace", str(query), "--on", "pumps", marker).output
    done = cedilla("simulate", str(query), "--source", f"pumps={folder}", "--sink", "flow=-")
    assert done.exit_code == 0
    assert done.stderr.count("[RQ") == done.stderr.count("note[RQ234]: 1 group of `flow` waits")


def test_inputs_that_have_closed_something_together_for_the_old_values_cannot_go_on(query: Path) -> None:
    """Pump 3 has no valve, so nothing of it comes out after its past is closed; with one, something might."""
    query.write_text(
        """
        stream pumps(ts: long, pump: int in {1, 2, 3}) from json "in";
        stream valves(pump: int in {1, 2}) from json "valves";
        emit pumps semi join valves on pump to json "out";
        """
    )
    done = cedilla("trace", str(query), "--on", "pumps", "[ts < 60]", "--on", "valves", GROWS)
    assert done.exit_code == 1
    assert (
        "error[RQ222]: the domain of `pump` cannot grow: Semi join `join` cannot continue: "
        "its inputs have closed something together, for the old values only\n --> <marker 2>:1:3\n"
    ) in done.output


PASSED_ON = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "in";
emit project[ts, pump * 2 as twice, litres](pumps) to json "out";
"""
SECOND = """
stream again(ts: long, twice: long in {2, 4}, litres: double) from json "out";
emit project[ts, litres](again) to json "second";
"""


def test_an_output_says_what_has_grown_and_its_readers_go_on(
    query: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(query.parent)
    query.write_text(PASSED_ON)  # the list of an attribute that is derived from the one that grows
    alter = {"$accent": "[[pump = 3, alter(litres, y -> y / 1000)]]"}
    write_lines(
        query.parent / "in" / "a.jsonl",
        [{**TUPLE, "pump": 1}, {"$accent": GROWS}, TUPLE, alter, {**TUPLE, "litres": 0.14}],
    )
    assert cedilla("simulate", str(query), "--sink", "project=out").exit_code == 0
    accents = [item["$accent"] for item in read_output(Path("out")) if "$accent" in item]
    assert accents == ["[[grow(twice, {6})]]", "[[twice = 6, alter(litres, y -> y / 1000)]]"]
    second = query.with_name("second.rq")
    second.write_text(SECOND)
    done = cedilla("simulate", str(second), "--sink", "project=-")
    assert done.exit_code == 0
    assert done.stderr == ""
    rows = [{"ts": 0, "twice": twice, "litres": 140.0} for twice in (2, 6, 6)]
    assert list(read("out").rows()) == rows
    assert (
        cedilla("validate", "out").exit_code
        == cedilla("validate", "out", "--query", str(second)).exit_code
        == 0
    )
    assert cedilla("canonize", "out").exit_code == 0


def test_an_output_says_nothing_of_an_altered_attribute(query: Path) -> None:
    plan = compile_query(PASSED_ON).plan
    state = SourceState.start(plan.source_of["pumps"], plan.droppable["pumps"])
    facts = derive(plan, {"pumps": state.facts()})
    sink, _ = announce(SinkState.start(facts["project"]), facts["project"], facts["project"])
    growth = read_epoch_change(GROWS, state.types)
    assert growth is not None
    wider = derive(plan, {"pumps": begun(state, growth).facts()})["project"]
    assert announce(sink, wider, wider)[1].adds == ("[[grow(twice, {6})]]",)
    altered = evolve(sink, scale={"twice": Affine(2, 0)})
    assert announce(altered, wider, wider)[1].adds == ()
