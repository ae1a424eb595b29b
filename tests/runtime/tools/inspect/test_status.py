"""`cedilla status` reads a checkpoint without Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attrs import astuple, evolve

from cedilla.compiler import compile_query, regions
from cedilla.compiler.facts.facts import StateFacts
from cedilla.grammar.diagnostics import Diagnostic, to_json
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.epochs.checkpoint.commits import Progress
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlans
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.state.segments import Segment
from cedilla.runtime.tools.inspect.status import read_status
from tests.kit import ROOT
from tests.kit.checkpoints import unsealed, write_checkpoint, write_document
from tests.kit.command import cedilla
from tests.runtime.tools.inspect.written_checkpoints import checkpoint_after

QUERY = """
stream sensors(ts: long, s: int in {1, 2, 3}, t: double) from json "in" punctuated on ts;
windows := window[10 on ts as wid](sensors);
average := aggregate[avg by wid except ts, s](windows);
emit average to json "out";
"""
BOTH = """
stream a(s: int, t: double, p?: double) from json "a";
stream b(s: int, t: double, p?: double) from json "b";
emit a union b to json "out";
"""


def test_accents_in_force_and_what_an_alter_waits_for(tmp_path: Path) -> None:
    """Two of three sensors report other units: the average waits for the third (D1)."""
    state = tmp_path / "ck" / "state" / "average" / "epoch=1"
    state.mkdir(parents=True)
    (state / "part.parquet").write_bytes(b"12345")
    quarantine = tmp_path / "ck" / "quarantine" / "sensors"
    quarantine.mkdir(parents=True)
    at = '"position": {"file": "a", "line": 1}, "raw": "x"'
    lines = (f'{{"code": "{code}", {at}}}\n' for code in ("RQ301", "RQ305", "RQ301"))
    (quarantine / "epoch=1.jsonl").write_text("".join(lines))
    markers = [
        "[[s = 2, alter(t, y -> y * 2)]]",
        "[[s = 1, alter(t, y -> y * 2)]]",
        "[[s = 1, +(p: double)]]",
        "[ts < 20]",
    ]
    path = checkpoint_after(
        tmp_path / "ck",
        compile_query(QUERY).plan,
        {"sensors": markers},
        segments={
            "average": (Segment(f"file:{state}", {}, 5, rows=4), Segment(str(tmp_path / "gone"), {}, rows=1))
        },
        read={"sensors": 1200},
        written={"average": 1},
        counters={"RQ301": 2, "RQ305": 1},
        state_facts={"average": StateFacts({"t": regions.interval("wid", None, (9, 0))})},
    )
    result = cedilla("status", str(path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        result.stdout
        == f"""\
{path}: epoch 7, batch 2, committed at 2026-01-01 00:00:00 UTC; no run
source sensors
  1,200 tuples read
  +(p: double) where s = 1
  alter(t, y -> y * 2) where s in {{1, 2}}
  closed: ts < 20
output average
  1 tuple written
  +(p: double) everywhere
  closed: wid < 2
waiting
  up to 5 groups of `average` wait for a punctuation on `wid`
  -(t) at average, where wid < 9: its state still has the attribute
  alter(t, y -> y * 2) at average, where s in {{1, 2}}: waits for windows where s = 3
state
  average: 5 rows, 5 bytes in 2 segments
rejected
  RQ301: 2
  RQ305: 1
in quarantine
  sensors: RQ301 2, RQ305 1
"""
    )


def test_the_backlog_and_what_ended_the_last_run(tmp_path: Path) -> None:
    """Of seven files one was read, one waits in the batch that a marker ended, and three are new, and one of markers;
    `_` is hidden."""
    folder = tmp_path / "in put"
    folder.mkdir()
    for name in ("a%20b?c#", "2", "3", "4", "5", "_6"):
        (folder / name).write_text("{}")
    uris = [f"file:{folder / name}" for name in ("a%20b?c#", "2")]
    path = checkpoint_after(
        tmp_path / "ck", compile_query(QUERY).plan, {}, batch=2, progress={"sensors": Progress(1, 3)}
    )
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "1").write_text("{}")
    streams = {"sensors": f"file:{folder}", "far": "s3a://x/y"}
    markers = {"sensors": f"file:{tmp_path / 'ops'}"}
    paths = {"streams": streams, "markers": markers, "tables": {}}
    write_document(path, "paths.json", paths | {f"{kind}_recorded": paths[kind] for kind in paths})
    files = {"sensors": [astuple(InputFile(uri, 2)) for uri in uris]}
    write_document(path, "batch-000000.json", {"batch": 2, "after": 6, "files": files})
    actual = Diagnostic("RQ203", "error", "the function does not increase", notes=("2:4: [[alter(...)]]",))
    error = {"time": "2026-01-01 00:00:00 UTC", "epoch": 7, "diagnostics": [to_json(actual)]}
    write_document(path, "error.json", error)
    lines = cedilla("status", str(path)).stdout.splitlines()
    assert lines[1:6] == [
        "stopped at 2026-01-01 00:00:00 UTC",
        "  error[RQ203]: the function does not increase",
        "   = note: 2:4: [[alter(...)]]",
        "to be read",
        "  sensors: 5 files",
    ]
    write_document(path, "error.json", {**error, "epoch": 5})
    assert (
        cedilla("status", str(path)).stdout.splitlines()[1]
        == "stopped at 2026-01-01 00:00:00 UTC, and continued since"
    )
    answer = json.loads(cedilla("status", str(path), "--format", "json").stdout)
    assert answer["backlog"] == {"sensors": 5}
    assert answer["error"]["diagnostics"] == [to_json(actual)]


def test_nothing_waits_once_all_have_changed_or_are_closed(tmp_path: Path) -> None:
    markers = ["[[s in {1, 2}, alter(t, y -> y * 2)]]", "[s = 3]"]
    status = read_status(
        str(checkpoint_after(tmp_path / "ck", compile_query(QUERY).plan, {"sensors": markers}))
    )
    assert status.waiting == ()
    (output,) = status.outputs
    assert output.accents == ("alter(t, y -> y * 2) everywhere",)


def test_the_inputs_of_a_union_wait_for_each_other(tmp_path: Path) -> None:
    """U3 and U4: the Drop and the Alter of one input, until the other has them too."""
    markers = {"a": ["[[s = 1, -(p)]]", "[[alter(t, y -> y + 1)]]"]}
    status = read_status(str(checkpoint_after(tmp_path / "ck", compile_query(BOTH).plan, markers)))
    assert status.waiting == (
        "alter(t, y -> y + 1) at union, everywhere: waits for b everywhere",
        "-(p) of a at union, where s = 1: waits for b where s = 1",
    )
    assert [stream.accents for stream in status.sources] == [
        ("-(p) where s = 1", "alter(t, y -> y + 1) everywhere"),
        (),
    ]


def test_nothing_waits_where_no_output_would_announce_it(tmp_path: Path) -> None:
    """An output in a unit of its own announces no Alter, so none of them waits (N6)."""
    query = BOTH.replace("t: double", "t: double unit W").replace('"out"', '"out" with t in kW')
    markers = {"a": ["[[alter(t, y -> y * 2)]]"]}
    status = read_status(str(checkpoint_after(tmp_path / "ck", compile_query(query).plan, markers)))
    assert status.waiting == ()


def test_as_json(tmp_path: Path) -> None:
    path = checkpoint_after(tmp_path / "ck", compile_query(QUERY).plan, {"sensors": ["[ts < 20]"]})
    answer = json.loads(cedilla("status", str(path), "--format", "json").stdout)
    assert (answer["version"], answer["epoch"], answer["batch"]) == (1, 7, 2)
    assert answer["sources"] == [
        {
            "name": "sensors",
            "accents": [],
            "closed": "ts < 20",
            "domains": [],
            "units": {},
            "offsets": {},
            "inferred": {},
            "undeclared": {},
        }
    ]
    assert answer["query"] == QUERY


def test_before_the_first_commit(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, compile_query(QUERY).plan)
    assert cedilla("status", str(tmp_path)).stdout == f"{tmp_path}: nothing is committed yet; no run\n"


@pytest.mark.parametrize(
    ("files", "path", "code"),
    [
        ({}, "", "RQ411"),
        ({}, "missing", "RQ411"),
        ({"plan.json": "{"}, "", "RQ478"),
        ({"plan.json": '{"plan": []}', "commits/1.json": "{}"}, "", "RQ478"),
        ({"plan.json": '{"version": 2, "plans": []}'}, "", "RQ411"),
        ({"flow.rq": "stream r(t: long)"}, "flow.rq", "RQ411"),
        ({}, "gopher://host/checkpoint", "RQ430"),
    ],
)
def test_what_is_no_checkpoint(tmp_path: Path, files: dict[str, str], path: str, code: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    result = cedilla("status", path if "://" in path else str(tmp_path / path))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error[{code}]")
    assert " = help: " in result.stderr


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_a_query_is_no_checkpoint_and_the_hint_names_its_own(here: Path, command: str) -> None:
    (here / "flow.rq").write_text('stream r(t: long) from json "r";')
    result = cedilla(command, "flow.rq")
    assert result.stderr.startswith("error[RQ411]: flow.rq holds no checkpoint")
    assert " = help: .cedilla/flow, unless `cedilla run` was given another by --checkpoint" in result.stderr


PAGES = sorted((ROOT / "docs" / "operators").glob("*.md"))
QUERIES = [
    (page.stem, text)
    for page in PAGES
    for text in re.findall(r"^```rq\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
]


@pytest.mark.parametrize("text", [text for _, text in QUERIES], ids=[name for name, _ in QUERIES])
def test_a_checkpoint_gives_the_plan_again(text: str) -> None:
    plan = compile_query(text, "of-a-name.rq").plan
    options = Options(
        sinks={emit.name: f"there/{emit.name}" for emit in plan.emits}, settings={"late": "ignore"}
    )
    applied = apply(plan, evolve(options, sources={source.name: "here" for source in plan.sources}))
    stored = StoredPlans.load(json.loads(json.dumps(StoredPlans.start(applied).dump()))).plans[0]
    assert stored.is_of(applied)
    assert not stored.is_of(plan)
    assert stored.plan.name == "of-a-name"


def test_what_drift_has_inferred_is_told_with_its_epoch(tmp_path: Path) -> None:
    """Of what is still there, and is not declared by now."""
    plan = compile_query(f"set drift = infer; {QUERY}").plan
    folder = checkpoint_after(tmp_path, plan, {"sensors": ["[[+(p: double)]]", "[[+(q: double)]]"]})
    record = folder / "commits" / "000000000007.json"
    inferred = {"sensors": {"p": 3, "gone": 4, "t": 5}}
    write_document(folder, f"commits/{record.name}", {**unsealed(record.read_text()), "inferred": inferred})
    assert read_status(str(folder)).sources[0].inferred == {"p": 3}
    assert "  inferred, announced by nothing: p in epoch 3\n" in cedilla("status", str(folder)).stdout
