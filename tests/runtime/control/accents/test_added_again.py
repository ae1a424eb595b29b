"""An attribute is dropped and added again: its values begin again, descriptions by it stay (theory 2.5, G32)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.command import cedilla
from tests.kit.compare import values_of
from tests.kit.reference import stepped
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, decode
from tests.kit.tiers import tiered
from tests.runtime.control.accents.added_again import (
    HALVED,
    QUERY,
    RECODED,
    SCHEMA,
    WORDS,
    anew,
    outcome,
    valid,
)

CASES = [
    ([RECODED, "[[k in [3, 10), alter(t, y -> y * 2)]]"], anew("k", "long"), "t"),
    ([RECODED, '[[k = 10, recode(state, {"M": "m", "F": "f"})]]'], anew("k", "long"), "state"),
    ([RECODED, "[[k = 10, rename(temp, t)]]"], anew("k", "long"), "t"),
    ([RECODED, "[[k = 10, +(p: double)]]", "[[k = 10, alter(t, y -> y * 2)]]"], anew("k", "long"), "p`, `t"),
    ([WORDS, '[[state = "F", alter(t, y -> y * 2)]]'], anew("state", "string"), "t"),
    ([HALVED, "[[x > 10, alter(t, y -> y * 2)]]"], anew("x", "double"), "t"),
    ([RECODED, "[[k = 10, swap(t, x)]]"], anew("k", "long"), "t`, `x"),
    # a text has named values that were the codes of none
    (
        ["[[p > 500, recode(k, {10: 1, 3: 2})]]", "[[k in [3, 20), alter(p, y -> y * 3)]]"],
        anew("k", "long"),
        "p",
    ),
    # the other way round, too: what was said first is of the same canonical values
    (["[[x > 10, alter(t, y -> y * 2)]]", HALVED], anew("x", "double"), "t"),
    (["[[x > 10, alter(t, y -> 5 / y)]]", HALVED], anew("x", "double"), "t"),
]
BACK = [
    ('[[site = "B", alter(x, y -> y / 2)]]', HALVED, "[[x > 10, alter(t, y -> y * 2)]]", anew("x", "double")),
    ("[[x > 10, alter(t, y -> y / 2)]]", HALVED, "[[x > 10, alter(t, y -> y * 2)]]", anew("x", "double")),
    (WORDS, WORDS, '[[state = "F", alter(t, y -> y * 2)]]', anew("state", "string")),
]


@pytest.mark.parametrize(("before", "again", "others"), CASES)
def test_values_that_tell_others_apart_do_not_begin_anew(
    before: list[str], again: list[str], others: str
) -> None:
    """They were converted by the new values, and announced by the old ones: an output was wrong without a word."""
    it = stepped(QUERY, [*before, again[0]]).reference
    with pytest.raises(DiagnosticError, match=f"RQ467.* on `{others}` were about its old values"):
        it.step([("r", {"$accent": again[1]})])


@pytest.mark.parametrize(("back", "change", "condition", "again"), BACK)
def test_what_has_come_back_may_begin_anew(back: str, change: str, condition: str, again: list[str]) -> None:
    """The way out of the hint: both outputs say the same, and so does a reader of the stream, for whom the condition
    is about the values as they were written then."""
    markers = [change, condition, back, *again]
    it = stepped(QUERY, markers).reference
    rows: list[Item] = [
        {"site": "B", "x": x, "state": state, "t": 6.0, "k": 1}
        for x, state in ((4.0, "M"), (7.0, "F"), (20.0, "F"))
    ]
    outputs = it.step([("r", row) for row in rows])
    assert not it.rejected
    few = [row["t"] for output in outputs for row in output["project"].items() if "t" in row]
    canonical = [dict(row) for output in outputs for row in output["r"].canonical]
    assert sorted(few) == sorted(float(row["t"]) for row in canonical)
    assert values_of(decode([*({"$accent": text} for text in markers), *rows]), "t", "x") == values_of(
        canonical, "t", "x"
    )


def test_others_are_told_by_values_that_never_changed() -> None:
    """Of the same canonical values, then as before: those that an accent has doubled, all the time."""
    items: list[Item] = [
        *({"$accent": text} for text in ("[[x > 10, alter(t, y -> y * 2)]]", *anew("x", "double"))),
        {"site": "B", "x": 12.0, "t": 6.0, "k": 1},
        {"site": "B", "x": 8.0, "t": 6.0, "k": 1},
    ]
    it = Reference(compile_query(QUERY).plan)
    items_out = [
        item_out for item in items for out in it.step([("r", item)]) for item_out in out["r"].items()
    ]
    assert sorted(float(row["t"]) for row in decode(items_out)) == [3, 6]


def test_codes_that_never_were_are_not_closed() -> None:
    """Codes begin again: values without a code in a closed range of codes are new."""
    it = stepped(QUERY, [RECODED, '[site = "B", k in [3, 10)]', *anew("k", "long")]).reference
    rows: list[Item] = [{"site": "B", "k": k, "x": 1.0, "t": 1.0} for k in (1, 2, 3, 5, 10, 50)]
    it.step([("r", row) for row in rows])
    # 2 was written as 3, which is closed: a value that is closed stays closed, however it is written
    assert [(code, item["k"]) for _, code, item in it.rejected] == [("RQ305", 2)]


def test_validate_says_it_at_its_line(tmp_path: Path) -> None:
    lines = [json.dumps({"$accent": text}) for text in (*CASES[0][0], *CASES[0][1])]
    file = tmp_path / "r.jsonl"
    file.write_text("\n".join(lines) + "\n")
    result = cedilla("validate", str(file), "--schema", SCHEMA)
    assert result.exit_code == 1
    assert "error[RQ467]" in result.output
    assert "r.jsonl:4" in result.output


def check_stream(seed: int) -> None:
    items, output, canonical, few = outcome(valid(Random(seed), 24))
    assert values_of(decode(items), "t", "x", "p") == values_of(canonical, "t", "x", "p"), items
    assert values_of(decode(output), "t", "x", "p") == values_of(canonical, "t", "x", "p"), items
    assert values_of(decode(few), "t") == values_of(canonical, "t"), items


@pytest.mark.parametrize("seed", tiered(range(10)))
def test_what_outputs_say_is_what_tuples_are(seed: int) -> None:
    check_stream(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(500))
def test_what_outputs_say_in_many_cases(seed: int) -> None:
    check_stream(seed)
