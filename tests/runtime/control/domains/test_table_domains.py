"""Domains that come from tables, by the commands without Spark (theory N1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cedilla.compiler import compile_query
from cedilla.runtime.control.sinks.announce import SinkState
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.tools.simulation.table_domains import with_domains
from tests.kit.checkpoints import write_checkpoint
from tests.kit.command import cedilla
from tests.kit.lines import write_lines

QUERY = """
table fleet(pump: int, place: string) from json "fleet";
stream pumps(ts: long, pump: int in fleet.pump, litres: double) from json "in" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "flow";
"""
TUPLE = {"ts": 0, "pump": 3, "litres": 140.0}
ALTER = "[[pump = 1, alter(litres, y -> y / 1000)]]"


@pytest.fixture
def query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "q.rq"
    path.write_text(QUERY)
    write_lines(path.parent / "in" / "a.jsonl", [])
    write_lines(
        path.parent / "fleet" / "a.jsonl", [{"pump": 1, "place": "hall"}, {"pump": 2, "place": "yard"}]
    )
    return path


def test_a_tuple_of_no_member_is_rejected_and_the_list_is_known_to_be_all(query: Path) -> None:
    alters = [{"$accent": ALTER}, {"$accent": ALTER.replace("1,", "2,")}]
    write_lines(
        query.parent / "in" / "a.jsonl",
        [TUPLE, *alters, {"ts": 60, "pump": 1, "litres": 0.1}, {"$punctuation": "[]"}],
    )
    done = cedilla("simulate", str(query), "--sink", "flow=-")
    assert done.exit_code == 0
    assert "rejected (RQ303)" in done.stderr
    assert '"$accent": "[[alter(litres, y -> y / 1000)]]"' in done.stdout


def test_only_valid_rows_of_the_table_count_in_canonical_units(query: Path) -> None:
    rows: list[dict[str, object]] = [
        {"place": "nowhere"},
        {"pump": "four"},
        {"$accent": '[[place = "attic", alter(pump, y -> y * 10)]]'},
        {"pump": 50, "place": "attic"},
        {"$punctuation": '[place = "roof"]'},
        {"pump": 6, "place": "roof"},
    ]
    write_lines(query.parent / "fleet" / "b.jsonl", rows)
    (query.parent / "fleet" / "c.jsonl").write_text("no JSON\n")
    plan = with_domains(compile_query(QUERY).plan)
    members = plan.source_of["pumps"].attributes[1].members
    assert sorted(members.points) == [1, 2, 5]  # type: ignore[union-attr]


def test_trace_and_validate_know_the_members(query: Path) -> None:
    done = cedilla("trace", str(query), "--on", "pumps", ALTER)
    assert "waits for minutes in [pump = 2]" in " ".join(done.output.split())
    write_lines(query.parent / "in" / "a.jsonl", [{**TUPLE, "pump": 1}, TUPLE])
    done = cedilla("validate", "in", "--query", str(query), "--source", "pumps", "--format", "json")
    assert json.loads(done.output)["counts"] == {"RQ303": 1}


def test_a_line_of_the_stream_cannot_let_it_grow(query: Path) -> None:
    done = cedilla("trace", str(query), "--on", "pumps", "[[grow(pump, {2})]]", "[[grow(pump, {3})]]")
    assert done.exit_code == 1
    assert "error[RQ220]: the domain of `pump` cannot grow by a line of the stream" in done.output
    assert "= help: a new file of the table `fleet` brings the value" in done.output
    done = cedilla("trace", str(query), "--on", "pumps", "[[pump = 22, alter(litres, y -> y / 1000)]]")
    assert "error[RQ216]" in done.output
    assert "first add a file to the table (`fleet.pump`)" in done.output


def test_an_empty_table_gives_no_domain(query: Path) -> None:
    write_lines(query.parent / "fleet" / "a.jsonl", [{"$punctuation": "[]"}])
    for command in (["simulate", str(query)], ["trace", str(query), "--on", "pumps", ALTER]):
        done = cedilla(*command)
        assert done.exit_code == 1
        assert "error[RQ416]: `fleet.pump` is a domain, and fleet has no value of it" in done.output
        assert "= help: add a file with a row to `fleet`" in done.output


def test_more_values_than_a_domain_may_have_are_refused_and_not_cut_off(query: Path) -> None:
    write_lines(
        query.parent / "fleet" / "a.jsonl", [{"pump": pump, "place": "hall"} for pump in range(10_001)]
    )
    done = cedilla("simulate", str(query))
    assert done.exit_code == 1
    assert "error[RQ417]: `fleet.pump` is a domain, and fleet has more than 10,000 values" in done.output


def test_a_table_that_is_not_there(query: Path) -> None:
    query.write_text(QUERY.replace('"fleet"', '"nowhere"', 1))
    done = cedilla("trace", str(query), "--on", "pumps", ALTER)
    assert done.exit_code == 1
    assert "error[RQ401]" in done.output
    assert f"--> {query}:2:1" in done.output


def test_a_table_of_another_format(query: Path) -> None:
    query.write_text(QUERY.replace('json "fleet"', 'parquet "fleet"', 1))
    done = cedilla("trace", str(query), "--on", "pumps", ALTER)
    assert done.exit_code == 1
    assert "error[RQ414]: fleet/a.jsonl cannot be read as Parquet" in done.output


def test_a_bad_marker_in_the_table_has_its_place(query: Path) -> None:
    write_lines(query.parent / "fleet" / "b.jsonl", [{"$accent": "[[grow(pump)]]"}])
    done = cedilla("trace", str(query), "--on", "pumps", ALTER)
    assert done.exit_code == 1
    assert "fleet/b.jsonl:1" in done.output


# --- checkpoints ---


def checkpoint_of(query: Path) -> Path:
    """A checkpoint of the query after an epoch without tuples."""
    plan = with_domains(compile_query(query.read_text(), str(query)).plan)
    states = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
    states["fleet"] = states["fleet"].close(True).next_epoch()
    sinks = {e.name: SinkState.start(plan.start[e.relation]) for e in plan.emits}
    folder = query.parent / "checkpoint"
    return write_checkpoint(folder, plan, Commit(epoch=0, batch=0, sources=states, sinks=sinks))


def test_status_counts_the_members(query: Path) -> None:
    done = cedilla("status", str(checkpoint_of(query)))
    assert "source pumps\n  pump in fleet.pump: 2 values\n  as at its start\n" in done.output


def test_plan_says_what_a_longer_table_does_and_nothing_is_asked(query: Path) -> None:
    folder = checkpoint_of(query)
    assert "the query is unchanged" in cedilla("plan", str(query), str(folder)).output
    write_lines(
        query.parent / "fleet" / "a.jsonl", [{"pump": 2, "place": "yard"}, {"pump": 3, "place": "yard"}]
    )
    done = cedilla("plan", str(query), str(folder))
    assert done.exit_code == 0
    assert "at once          stream pumps (line 3): pump in fleet.pump: pump = 3 is new\n" in done.output
    assert "a new value has changed nothing yet" in done.output
    assert "pump in fleet.pump: pump = 1 is gone\n                 in the domain it stays" in done.output


def test_plan_of_a_table_that_it_cannot_read_goes_by_what_is_known(query: Path) -> None:
    folder = checkpoint_of(query)
    done = cedilla("plan", str(query), str(folder), "--source", "fleet=hdfs://far/away")
    assert done.exit_code == 0
    assert "path fleet → hdfs://far/away" in done.output
    assert "stream pumps" not in done.output


@pytest.mark.parametrize("back", [False, True])
def test_a_list_becomes_a_table_and_back(query: Path, back: bool) -> None:
    listed = QUERY.replace("in fleet.pump", "in {2, 3}")
    query.write_text(QUERY if back else listed)
    folder = checkpoint_of(query)
    query.write_text(listed if back else QUERY)
    done = cedilla("plan", str(query), str(folder))
    was, now = ("fleet.pump", "{2, 3}") if back else ("{2, 3}", "fleet.pump")
    assert done.output.count(f"continues        stream pumps (line 3): pump in {was} → pump in {now}\n") == 2
