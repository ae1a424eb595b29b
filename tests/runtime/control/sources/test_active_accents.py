"""The accents in force at a source are counted in each epoch, for a line on the terminal."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.active_accents import count
from cedilla.runtime.control.sources.source_state import SourceState
from tests.kit.marker_runs import started
from tests.kit.work import operations

PLAN = compile_query("""
stream r(ts: long, s: int in {1, 2, 3}, k: int, t: double, v: double) from json "r" punctuated on ts, s;
emit r to json "o";
""").plan


def closing(plan: Plan, state: SourceState, text: str) -> SourceState:
    """The source after a punctuation, in the next epoch."""
    effects = advance(plan, {"r": state}, {"r": [MarkerLine("punctuation", text, 0)]})
    assert not effects.stops
    return effects.states["r"].next_epoch()


@pytest.mark.parametrize(
    ("closed", "left"),
    [
        ("[ts < 5]", 3),
        ("[ts < 5, s = 1]", 3),
        ("[s = 1]", 2),
        ("[s = 1], [s = 2], [s = 3]", 0),
        ("[ts < 9]", 3),
        ("[ts <= 9]", 2),
        ("[]", 0),
    ],
)
def test_an_accent_is_in_force_until_all_its_tuples_are_closed(closed: str, left: int) -> None:
    accents = "[[s = 1, alter(t, y -> y * 2)]]", "[[k = 4, alter(v, y -> y * 3)]]", "[[ts = 9, +(u: int)]]"
    state = started(PLAN, *accents)["r"]
    (source,) = PLAN.sources
    assert count(source, state) == 3
    for text in closed.split("], "):
        state = closing(PLAN, state, text if text.endswith("]") else f"{text}]")
    assert count(source, state) == left


def test_accents_that_no_punctuation_ends_are_not_looked_at_again() -> None:
    accents = [f"[[k = {k}, alter(t, y -> y * {k + 2})]]" for k in range(100)]
    state = started(PLAN, *accents)["r"]
    (source,) = PLAN.sources
    first = operations(lambda: count(source, state))
    later = closing(PLAN, state, "[ts < 5]")
    assert count(source, later) == 100
    last = closing(PLAN, later, "[ts < 6]")
    assert operations(lambda: count(source, last)) < first / 5
