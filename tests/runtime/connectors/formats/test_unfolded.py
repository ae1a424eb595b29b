"""Lines that are taken apart: the fast parser, row by row, engines, drift, edits and producers say the same."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.unfolding import Unfolding
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.jsonl.unfolded import UnfoldedBatches
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.records.json_objects import DEEPEST, parse_line
from cedilla.runtime.connectors.records.unfolding import folded, unfolded
from cedilla.runtime.tools.produce.stream import Stream
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.lines import read_lines
from tests.kit.query import Query
from tests.kit.tiers import tiered

ITEMS = Unfolding("element", ("a", "items"))
QUERY = """
stream r(id: long, sku: string from "items.sku", n?: int from "items.n") from json "in/r" each "items"
  punctuated on id;
emit r to json "out/r";
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"a": {"items": [1, [2], {"x": 1.10}]}}', ["1", "[2]", '{"x": 1.10}']),
        ('{"a":{"items":[]}}', []),
        ('{"a": {"items": null}}', []),
        ('{"a": {}}', []),
        ('{"a": null}', []),
        ('{"a": {"items": 7}}', ["7"]),
        ('{"a": {"items": [+INF, NaN, "-INF]"]}}', ["+INF", "NaN", '"-INF]"']),
        ('{"a": {"items": [1]}, "a": {"\\u0069tems": [2]}}', ["2"]),
    ],
)
def test_elements_take_the_place_of_their_list(line: str, expected: list[str]) -> None:
    lines = unfolded(line, [ITEMS])
    begin = line.rfind("tems") + len('tems":')
    assert [text[begin:].strip() for text in lines] == [f"{element}}}}}" for element in expected]


@pytest.mark.parametrize(
    "line", ['{"a": 5}', '{"a": "[1]"}', '{"a": [{"items": [1]}]}', '{"a": {"items": [1, 2]}}}', "7"]
)
def test_a_line_whose_list_cannot_be_reached_is_refused_as_a_whole(line: str) -> None:
    """A value that is no object is in its way, or something follows the object; none is left out in silence."""
    assert unfolded(line, [ITEMS]) == [line] == [folded(line, [ITEMS])]


STEPS = [
    Unfolding("entry", ("d",)),
    Unfolding("text", ("d", "value")),
    Unfolding("element", ("d", "value", "l")),
]


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        (
            '{"d": {"a": {"l": [1.50, [2]]}}, "n": 1}',
            ['{"d": {"a": {"l": 1.50}}, "n": 1}', '{"d": {"a": {"l": [[2]]}}, "n": 1}'],
        ),
        ('{"d": {"key": "{\\"l\\": 7}"}}', ['{"d": {"key": {"l": 7}}}']),
        ('{"d": [1]}', ['{"d": [1]}']),
    ],
)
def test_a_line_of_one_tuple_can_be_taken_apart_again(line: str, sent: list[str]) -> None:
    """It has the form of the source, so that a line of the quarantine may be sent again."""
    lines = unfolded(line, STEPS)
    assert [folded(text, STEPS) for text in lines] == sent
    assert [unfolded(text, STEPS) for text in sent] == [[text] for text in lines]


@pytest.mark.parametrize("depth", range(DEEPEST - 8, DEEPEST + 1))
def test_a_line_that_is_nested_deeply_is_read_or_refused_as_a_whole(depth: int) -> None:
    """An entry is one level deeper than it was, so that a line may be too deep after the first step only."""
    line = f'{{"d": {{"a": {{"l": [{"[" * depth}{"]" * depth}, 1]}}}}}}'
    lines = unfolded(line, STEPS)
    if len(lines) == 1:
        assert lines == [line] == [folded(line, STEPS)]
    else:
        assert [unfolded(folded(text, STEPS), STEPS) for text in lines] == [[text] for text in lines]


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_a_line_that_is_not_valid_stays_as_it_is(seed: int) -> None:
    """It is refused as a whole, also if nothing of it would come."""
    rng = Random(seed)
    steps = [Unfolding("text", ("t",)), ITEMS, Unfolding("entry", ("a", "items"))]
    lines = [
        '{"a": {"items": [{"x": {"y": 1}}, {"z": [1, 2]}]}, "t": "{\\"u\\": 1}"}',
        '{"a": {"items": []}, "t": "x"}',
        '{"t": null}',
    ]
    kept = 0
    for _ in range(400):
        line = rng.choice(lines)
        at = rng.randrange(len(line))
        line = (
            line[:at] + rng.choice(["", ",", "]", "}", '"', "[", "x", "{"]) + line[at + rng.randint(0, 2) :]
        )
        try:
            parse_line(line)
        except ValueError:
            assert unfolded(line, steps) == [line]
            kept += 1
        else:
            assert all(map(parse_line, unfolded(line, steps)))
    assert kept > 100


TYPES = {"id": Type("long"), "x": Type("double"), "m": Type("decimal", (6, 2)), "s": Type("string")}
PATHS = {"x": ("v", "x"), "m": ("v", "m"), "s": ("v", "s")}
BATCHES = UnfoldedBatches(TYPES, paths=PATHS, steps=[Unfolding("element", ("v",))])


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_all_at_once_is_the_same_as_row_by_row(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    is_fast = 0
    for _ in range(40):
        odd = rng.choice([0, 0.02, 0.2])
        lines = [json.dumps(_line(rng, odd)) for _ in range(rng.choice([1, 3, 17, 40]))]
        block = Block("\n".join(lines).encode(), 7)
        is_fast += BATCHES.parse_block(block.text, *block.lines()) is not None
        rows = BATCHES.batch(block, 1000).to_pylist()
        with monkeypatch.context() as patch:
            patch.setattr(JsonBatches, "parsed", lambda *_: None)
            expected = BATCHES.batch(block, 1000).to_pylist()
        assert rows == expected
        assert len({row["$position"] for row in rows}) == len(rows)
    assert is_fast


def _line(rng: Random, odd: float) -> dict[str, object]:
    elements: list[object] = [
        {"x": rng.choice([1, 2.5, None]), "m": rng.choice([1, 12.25]), "s": rng.choice(["a", "ü", 7])}
        for _ in range(rng.randint(0, 4))
    ]
    if rng.random() < odd:
        elements.append(rng.choice([7, None, {"x": "?"}, [1], {"m": 1.234}]))
    return {"id": rng.randint(1, 9), "v": elements, "w": {"v": [1]}}


@pytest.mark.either_engine
@pytest.mark.parametrize("drift", tiered(["infer", "quarantine"]))
def test_fields_of_elements_drift(spark: SparkSession, tmp_path: Path, drift: str) -> None:
    run = Query(spark, tmp_path, f"set drift = {drift};{QUERY}")
    run.write(
        "r", [{"id": 1, "items": [{"sku": "a"}, {"sku": "b", "q": 2.5}]}, {"id": 2, "items": [{"sku": "c"}]}]
    )
    rows, rejections = run.agreed("r", 1)
    if drift == "infer":
        assert [row.get("items_q") for row in rows] == [None, 2.5, None]
    else:
        assert [(r.line, r.raw) for r in rejections] == [(1, '{"id": 1, "items": {"sku": "b", "q": 2.5}}')]


@pytest.mark.either_engine
def test_an_edit_takes_lines_apart_from_then_on(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY.replace('each "items"', ""))
    run.write("r", [{"id": 1, "items": {"sku": "a"}}, {"id": 2, "items": [{"sku": "b"}]}])
    run.go_on(run.executor(1), 0)
    assert [rejection.code for rejection in run.rejections()] == ["RQ301"]
    run.query = QUERY
    assert "`each` or `parsed`" in run_plan(run)
    run.write("r", [{"id": 3, "items": [{"sku": "c"}, {"sku": "d", "n": 1}]}])
    run.go_on(run.executor(1), 1)
    assert sorted(row["sku"] for row in run.rows("r")) == ["a", "c", "d"]


def run_plan(run: Query) -> str:
    """Returns what an edit does to the checkpoint."""
    file = run.root / "edited.rq"
    file.write_text(run.query, "utf-8")
    return cedilla("plan", str(file), str(run.root / "checkpoint")).stdout


def test_a_producer_writes_whole_lines(tmp_path: Path) -> None:
    """Each of their tuples is checked."""
    file = tmp_path / "q.rq"
    file.write_text(QUERY.replace("in/r", str(tmp_path / "r")), "utf-8")
    (tmp_path / "r").mkdir()
    with Stream(tmp_path / "r", query=file) as stream:
        stream.tuple({"id": 1, "items": [{"sku": "a"}, {"sku": "b"}]})
        assert code_of(lambda: stream.tuple({"id": 1, "items": [{"sku": "a"}, {"n": 1}]})) == "RQ302"
    assert read_lines(*(tmp_path / "r").rglob("*")) == [{"id": 1, "items": [{"sku": "a"}, {"sku": "b"}]}]


@pytest.mark.parametrize(
    ("clause", "is_read"),
    [
        ('each "item"', False),
        ('each "items"', True),
        ('parsed "items" each "items"', True),
        ('each "id"', True),
        ('parsed "load"', False),
        ('parsed "load" each "load.items"', False),
    ],
)
def test_a_clause_from_which_nothing_is_read_is_named(clause: str, is_read: bool) -> None:
    """Its path may be misspelt, and then no line gives a tuple."""
    warnings = compile_query(QUERY.replace('each "items"', clause)).warnings
    assert (not any(warning.code == "RQ580" for warning in warnings)) is is_read
