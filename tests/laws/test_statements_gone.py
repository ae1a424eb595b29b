"""An `accent` statement that an edit removes leaves no trace: tuples from there on are read as if the query had never
stated it (theory N10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import pytest

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.compare import rounded
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

QUERY = """
stream r(n: long, s: int in {1, 2}, fw: int, k: string, x: double unit W, t: double, h?: double unit m) from json "r";
emit r to json "out";
"""
STATEMENTS = [
    "[[fw >= 2, unit(x, kW)]]",
    "[[unit(x, kW)]]",
    "[[fw = 7, alter(t, y -> y * 2)]]",
    "[[alter(t, y -> y + 1)]]",
    "[[s = 1, alter(t, y -> y / 10)]]",
    '[[k = "b", alter(t, y -> y * 3)]]',
    "[[t > 3, alter(x, y -> y * 5)]]",
    "[[recode(fw, {1: 2, 2: 1})]]",
    "[[recode(fw, {1: 7}, else same)]]",
    "[[recode(fw, {1: 2})]]",
    "[[s = 1, recode(fw, {2: 7, 7: 5})]]",
    "[[t > 3, recode(s, {1: 2, 2: 1})]]",
    '[[k = "b", recode(fw, {1: 2, 2: 7})]]',
    '[[recode(k, {"a": "b"}, else same)]]',
    '[[fw = 2, recode(k, {"a": "b", "b": "a"})]]',
    "[[rename(xx, x)]]",
    "[[s = 2, rename(tt, t)]]",
    "[[swap(x, t)]]",
    "[[fw = 2, swap(x, t)]]",
    "[[fw = 7, missing(h, {-1})]]",
    "[[alter(h, y -> -y)]]",
    "[[fw = 1, alter(h, y -> 6 / y)]]",
    "[[+(z: double)]]",
    "[[s = 1, +(z: double)]]",
]
ROWS: list[Item] = [
    {"n": 0, "s": s, "fw": fw, "k": k, x: 6.0, t: value, "h": h}
    for s, fw, k, x, t, value, h in product(
        (1, 2), (1, 2, 5, 7), "abc", ("x", "xx"), ("t", "tt"), (2.0, 12.0), (-1.0, 4.0)
    )
]


def check_gone(seed: int) -> str:
    """The effect of an edit that removes some statements; an empty text if the statements do not fit each other."""
    rng = Random(seed)
    stated = rng.sample(STATEMENTS, rng.randint(1, 4))
    kept = [text for text in stated if rng.random() < 0.5]
    try:
        reference, never = (ran(compile_query(_query(texts)).plan, []) for texts in (stated, kept))
    except DiagnosticError:
        return ""
    _read(reference, rng.sample(ROWS, 3))
    changes, reference = edited(reference, _query(kept))
    if changes.effect != "new checkpoint":
        rows = rng.sample(ROWS, 24)
        for row, one, other in zip(rows, _read(reference, rows), _read(never, rows), strict=True):
            assert one == other, (stated, kept, row)
    return changes.effect


SENT = [
    "[[unit(x, kW)]]",
    "[[s = 1, unit(x, W)]]",
    "[[s = 2, unit(x, kW)]]",
    "[[alter(t, y -> y * 2)]]",
    "[[s = 1, alter(t, y -> y + 1)]]",
    "[[alter(h, y -> -y)]]",
    "[[s = 1, alter(h, y -> y * 3)]]",
    "[[unit(h, km)]]",
    "[[unit(x, dBW)]]",
    "[[rename(xx, x)]]",
    "[[s = 1, rename(x, x)]]",
    '[[recode(k, {"a": "b", "b": "a", "c": "c"})]]',
    '[[s = 2, recode(k, {"a": "b", "b": "c", "c": "a"})]]',
]
STATED_AND_SENT = [text for text in [*SENT, *STATEMENTS] if "fw" not in text and "t > 3" not in text]


def check_among_others(seed: int) -> bool:
    """True if a query goes on through edits of its statements, between accents of its stream. It reads tuples then as
    a query that has stated from the start, or from an edit on, only what stays to the end."""
    rng = Random(seed)
    pool = rng.sample(STATED_AND_SENT, 3)
    versions = [[text for text in pool if rng.random() < 0.5] for _ in range(rng.randint(2, 4))]
    sent = [[rng.choice(SENT) for _ in range(rng.choice([0, 1, 1, 2]))] for _ in versions]
    stays = [
        [text for text in version if all(text in later for later in versions[at:])]
        for at, version in enumerate(versions)
    ]
    try:
        reference, never = (_through(texts, sent) for texts in (versions, stays))
    except DiagnosticError:
        return False
    if reference is None or never is None:
        return False
    # Among other accents of the stream, values that no pair of a statement named may be set aside for good.
    is_recoded = "recode" in str(versions)
    rows = rng.sample(ROWS, 24)
    for row, one, other in zip(rows, _read(reference, rows), _read(never, rows), strict=True):
        assert one == other or (is_recoded and not one), (versions, sent, row)
    return versions != stays


def _through(versions: Sequence[Sequence[str]], sent: Sequence[Sequence[str]]) -> Reference | None:
    """A reader after all versions of its query, each with what the stream sends it; `None` where one cannot go on."""
    reference = ran(compile_query(_query(versions[0])).plan, [])
    for at, (version, texts) in enumerate(zip(versions, sent, strict=True)):
        if at > 0:
            changes, reference = edited(reference, _query(version))
            if changes.effect == "new checkpoint":
                return None
        for text in texts:
            reference.step([("r", {"$accent": text})])
    return reference


def _query(statements: Sequence[str]) -> str:
    return QUERY + "".join(f"accent r {text};\n" for text in statements)


def _read(reference: Reference, rows: Sequence[Item]) -> list[list[Any]]:
    """The canonical values of each tuple; those that are set aside have none."""
    return [
        rounded(map(dict, outputs["r"].canonical)) for row in rows for outputs in reference.step([("r", row)])
    ]


@pytest.mark.parametrize("seeds", tiered([range(20), range(20, 150)]), ids=str)
def test_a_statement_that_is_gone_leaves_no_trace(seeds: range) -> None:
    effects = Counter(map(check_gone, seeds))
    assert effects["continues"] + effects["at once"] > len(seeds) // 3


@pytest.mark.parametrize("seeds", tiered([range(30), range(30, 120), range(120, 300)], most=2), ids=str)
def test_statements_come_and_go_between_accents_of_the_stream(seeds: range) -> None:
    assert sum(map(check_among_others, seeds)) > len(seeds) // 20


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(3000))
def test_statements_among_others_in_many_cases(seed: int) -> None:
    check_among_others(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
def test_statements_that_are_gone_in_many_cases(seed: int) -> None:
    check_gone(seed)
