"""Attributes with several paths, `from "state" or "state.reading"`: the fast parsers read what rows one by one say.
`tests/runtime/cases/alternatives.md` has their lines."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.plan.field_paths import paths_after
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.csv.batches import RecordBatches
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.lines.alternatives import PathBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.records.csv_records import Header
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.edits.source_changes import compare_source
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlans
from tests.kit.command import cedilla
from tests.kit.compare import same
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.alternatives import FORMS, TYPES, either, random_line, record_of

NESTED = {
    "n": either("n", ("state",), ("state", "n"), ("m",)),
    "s": either("s", ("o", "s"), ("t",)),
    "at": either("at", ("time",), ("at",)),
}
COLUMNS = {
    "n": either("n", ("n",), ("m",)),
    "s": either("s", ("s",), ("t",), ("u",)),
    "at": either("at", ("time",), ("at",)),
}
RENAMES = {"state.n": "n", "m": "n", "o.s": "s", "t": "s"}
RENAMED = paths_after({"n": ("state",), "s": ("o",)}, RENAMES, "json")


def check_both_ways(
    batches: PathBatches, block: Block, monkeypatch: pytest.MonkeyPatch
) -> tuple[bool, int, int]:
    """Compares both ways; returns whether the fast one has read all rows, and the numbers of RQ301 and RQ312."""
    rows = batches.batch(block, 0).to_pylist()
    is_fast = batches.parsed(block.text, *block.lines()) is not None
    with monkeypatch.context() as patch:
        patch.setattr(type(batches), "parsed", lambda *_: None)
        expected = batches.batch(block, 0).to_pylist()
    faults = [row["$corrupt"] for row in expected if row["$corrupt"] is not None]
    for row, same_row in zip(rows, expected, strict=True):
        assert row["$corrupt"] == same_row["$corrupt"], block.text
        assert row["$corrupt"] is not None or all(same(row[n], same_row[n]) for n in batches.types), (
            block.text
        )
    twice = sum(fault.startswith("RQ312 ") for fault in faults)
    return is_fast, len(faults) - twice, twice


@pytest.mark.parametrize("kind", ["json", "renames", "csv"])
@pytest.mark.parametrize("seed", tiered(range(4)))
def test_all_at_once_is_the_same_as_row_by_row(seed: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    fast = bad = twice = 0
    for _ in range(60):
        odd, count = chance.choice([0, 0.1, 1]), chance.choice([1, 5, 40])
        if kind == "json":
            forms = chance.sample(range(len(FORMS)), 2)
            rows = [random_line(chance, odd, chance.choice(forms)) for _ in range(count)]
            batches: PathBatches = JsonBatches(TYPES, paths=NESTED)
        elif kind == "renames":
            rows = [random_line(chance, odd, chance.randrange(2)) for _ in range(count)]
            batches = JsonBatches(TYPES | {name: TYPES[of] for name, of in RENAMES.items()}, paths=RENAMED)
        else:
            names = chance.sample(["ts", "n", "m", "s", "t", "u", "time", "at"], chance.randint(3, 8))
            rows = [record_of(chance, odd, names) for _ in range(count)]
            batches = RecordBatches(TYPES, Header(tuple(names)), paths=COLUMNS)
        is_fast, others, conflicts = check_both_ways(batches, Block("\n".join(rows).encode(), 0), monkeypatch)
        fast, bad, twice = fast + is_fast, bad + others, twice + conflicts
    assert min(fast, bad, twice if kind != "renames" else fast) > 5


def test_rows_of_both_forms_are_parsed_at_once() -> None:
    rows = ['{"state": 1, "x": {"state": null}}', '{"t": "a", "state" : {"n": 2.5}}', '{"m": 3}'] * 9
    block = Block("\n".join(rows).encode(), 0)
    columns = JsonBatches(TYPES, paths=NESTED).parsed(block.text, *block.lines())
    assert columns is not None
    assert columns[1].to_pylist() == [1, 2.5, 3] * 9
    odd_key = JsonBatches({"n": TYPES["n"]}, paths={"n": either("n", ("zu st.é",), ("zu st.é", "n"))})
    block = Block('{"zu st.é": 1}\n{"zu st.é":{"n": 2}}'.encode(), 0)
    columns = odd_key.parsed(block.text, *block.lines())
    assert columns is not None
    assert columns[0].to_pylist() == [1, 2]


DECLARED = 'ts: long, n: double from "state" or "state.n", s?: string from "t" or "o.s"'
QUERY = f'stream r({DECLARED}) from json "r"; emit r to json "o";'


def test_a_checkpoint_knows_all_paths_and_an_edit_is_named() -> None:
    plan = compile_query(QUERY).plan
    stored = StoredPlans.load(StoredPlans.start(plan).dump()).plans[0].plan
    assert stored.sources == plan.sources
    assert [a.others for a in stored.sources[0].attributes] == [(), (("state", "n"),), (("o", "s"),)]
    before = compile_query(QUERY.replace(' or "state.n"', "")).plan
    state = SourceState.start(before.sources[0], before.droppable["r"])
    (change,) = compare_source(before.sources[0], plan, "r", state, 1).items
    assert change.effect == "at once"
    assert change.what == 'n: double from "state" → n: double from "state" or "state.n"'


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ('a: int from "b" or "b"', "RQ145"),
        ('a: int from "b" or "c.d", c: int', "RQ145"),
        ('a: int from "b" or "c", d: int from "e" or "c.x"', "RQ145"),
        ('a: int from "b" or "c..d"', "RQ145"),
        ('a: int from text "b" or "c"', "RQ242"),
        ('a: int from o "b" or "c"', "RQ242"),
    ],
)
def test_paths_that_are_of_no_use_are_refused(declared: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        compile_query(f'stream r({declared}) from json "r"; emit r to json "o";')


def test_validate_and_canonize_read_alternatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.jsonl").write_text(
        '{"ts": 1, "state": 1.5, "t": "a"}\n{"ts": 2, "state": {"n": 2.0}, "t": 7, "o": {"s": "7"}}\n'
    )
    result = cedilla("canonize", "r.jsonl", "--schema", DECLARED)
    assert result.output.splitlines() == [
        '{"ts": 1, "n": 1.5, "s": "a"}',
        '{"ts": 2, "n": 2.0, "s": "7"}',
    ]
    (tmp_path / "bad.jsonl").write_text('{"ts": 1, "state": 1.5, "t": "a", "o": {"s": "b"}}\n')
    bad = cedilla("validate", "bad.jsonl", "--schema", DECLARED)
    assert "RQ312" in bad.output
    assert "`s` has two of its names at once, with two values (read from t or o.s)" in bad.output
