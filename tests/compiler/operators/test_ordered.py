"""The regions of the operators that follow an order: sort, top and session, by brute force (theory 1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.compile import compile_query
from cedilla.compiler.facts.facts import ABSENT, PRESENT, StateFacts
from cedilla.compiler.operators import Sort, Top
from cedilla.compiler.operators.shared.reactions import reaction, signature
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.spans import spans
from cedilla.grammar import DiagnosticError
from tests.compiler.operators.ordered_worlds import (
    CELLS,
    KEYS,
    RESTS,
    TIMES,
    Ordered,
    Tuple,
    as_row,
    between,
    check_prefix,
    check_session,
    facts,
    is_closed,
    operator,
    ordered,
    session_facts,
    sessions,
    vacant,
)
from tests.kit.strategies import HEAVY, LIGHT, Members, Paint, members, paints, rows

# --- spans ---

HALVES = tuple(Fraction(n, 2) for n in range(-4, 13))


@LIGHT
@given(paints({"a": members((0, 1, 2, Fraction(5, 2), 3))}), st.booleans())
def test_spans_are_the_runs_of_a_set(paint: Paint, integral: bool) -> None:
    """The same values, in as few runs as can be, in order (theory 1.1)."""
    actual = spans(paint.tree(), integral=integral)
    for value in HALVES:
        if not integral or value.denominator == 1:
            assert any(between(value, run) for run in actual) == paint.meaning({"a": value})
    for (_, high), (low, _) in pairwise(actual):
        assert high is not None
        assert low is not None
        assert high < low
    if integral:
        assert all(cut is None or cut == (int(cut[0]), 0) for run in actual for cut in run)


# --- prefix ---


AXES = st.builds(
    lambda a, b, undefined: {
        "a": ordered("a", a, undefined=undefined in ("a", "ab")),
        "b": ordered("b", b, undefined=undefined in ("b", "ab")),
    },
    *[st.sampled_from(["finite", "range", "whole", "between", "dense"])] * 2,
    st.sampled_from(["", "a", "b", "ab"]),
)
WORLDS = paints(dict.fromkeys("ab", members((0, 1, 2))), layers=5)


DIRECTIONS = st.permutations(["a", "b"]).flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(n), st.booleans()) for n in names))
)


@LIGHT
@given(AXES, WORLDS, DIRECTIONS, st.integers(1, 2))
def test_a_prefix_ends_at_the_first_open_tuple(
    axes: dict[str, Ordered], paint: Paint, keys: Sequence[tuple[str, bool]], count: int
) -> None:
    """t is passable iff every t' strictly before it is closed (E2, E3, E4)."""
    check_prefix(axes, paint, keys[:count])


@pytest.mark.soak
@HEAVY
@given(AXES, WORLDS, DIRECTIONS, st.integers(1, 2))
def test_a_prefix_ends_at_the_first_open_tuple_at_length(
    axes: dict[str, Ordered], paint: Paint, keys: Sequence[tuple[str, bool]], count: int
) -> None:
    """t is passable iff every t' strictly before it is closed (E2, E3, E4)."""
    check_prefix(axes, paint, keys[:count])


# --- sort ---


@LIGHT
@given(AXES, WORLDS, DIRECTIONS)
def test_a_sort_closes_what_is_closed_and_written(
    axes: dict[str, Ordered], paint: Paint, keys: tuple[tuple[str, bool], ...]
) -> None:
    """A later output is an open tuple, or a closed one that waits for an open one (theory 1.3)."""
    source = facts(axes, paint)
    sort = Sort(name="o", inputs=("r",), keys=keys)
    out, passable = sort.facts((source,)), sort.passable(source)
    clear = regions.box({"a": regions.values("a", [1])})
    out_later = sort.facts((source,), StateFacts({"X": clear}, clear))
    for cell in rows({n: a.judged for n, a in axes.items()}):
        shut = paint.meaning(cell) and regions.contains(passable, cell)
        assert regions.contains(out.closed, cell) == shut
        assert regions.contains(out_later.closed, cell) == (
            shut or (paint.meaning(cell) and cell.get("a") == 1)
        )
    assert (out.present, out.units, out.types) == (source.present, source.units, source.types)


# --- top ---


@LIGHT
@given(AXES, WORLDS, st.sampled_from([(), ("a",), ("b", "a")]))
def test_a_top_closes_its_groups(axes: dict[str, Ordered], paint: Paint, per: tuple[str, ...]) -> None:
    """A group is decided when its whole fibre is closed, whatever is closed of an open one (theory 1.3)."""
    out = Top(name="o", inputs=("r",), count=2, keys=[("X", True)], per=per).facts((facts(axes, paint),))
    for cell in rows({n: a.judged for n, a in axes.items()}):
        fibre = [
            c
            for c in rows({n: a.values for n, a in axes.items()})
            if all(c.get(n) == cell.get(n) for n in per)
        ]
        assert regions.contains(out.closed, cell) == all(paint.meaning(c) for c in fibre)


# --- session ---


SETS = {"k": members(KEYS, half_open=True), "ts": members(TIMES, half_open=True), "v": members(RESTS)}
MOSTLY_CLOSED = st.builds(
    lambda paint: Paint(True, paint.layers), paints(SETS, st.sampled_from([True, True, False]), layers=4)
)


@LIGHT
@given(MOSTLY_CLOSED, st.frozensets(st.sampled_from(CELLS), max_size=8))
def test_a_session_is_certain_when_all_around_it_is_closed(closed: Paint, arrived: frozenset[Tuple]) -> None:
    """Passed sessions are in every completion unchanged, and no session closed in the output comes later."""
    check_session(closed, arrived)


@pytest.mark.soak
@HEAVY
@given(MOSTLY_CLOSED, st.frozensets(st.sampled_from(CELLS), max_size=8))
def test_a_session_is_certain_when_all_around_it_is_closed_at_length(
    closed: Paint, arrived: frozenset[Tuple]
) -> None:
    """Passed sessions are in every completion unchanged, and no session closed in the output comes later."""
    check_session(closed, arrived)


@LIGHT
@given(MOSTLY_CLOSED, st.frozensets(st.sampled_from(CELLS), max_size=8))
def test_a_session_is_not_kept_longer_than_it_is_uncertain(closed: Paint, arrived: frozenset[Tuple]) -> None:
    """A session that is not passed is another one in some completion (the rule is maximal)."""
    opened = [c for c in CELLS if not closed.meaning(as_row(c))]
    for run in sessions(arrived):
        if not is_closed(closed, run):
            assert any(run not in sessions([*arrived, more]) for more in opened)


def test_starts_are_closed_where_no_session_of_the_key_begins() -> None:
    """Below 4 for key 0, for which times below 4 are closed, and not for key 1; never an open start."""
    early = Paint(
        False,
        (
            (
                (("k", Members("points", points=frozenset({0}))), ("ts", Members("interval", None, (4, 0)))),
                True,
            ),
        ),
    )
    source = session_facts(early)
    first = vacant(source, [(0, 2, 0), (0, 3, 0)], [])
    assert regions.contains(first, {"k": 0, "ts": 5, "v": 0, "sid": 3})
    assert not regions.contains(first, {"k": 0, "ts": 5, "v": 0, "sid": 2})
    assert not regions.contains(first, {"k": 1, "ts": 5, "v": 0, "sid": 3})
    assert not regions.contains(first, {"k": 0, "ts": 5, "v": 0, "sid": 4})


HISTORIES = st.sampled_from([(IDENTITY,), (IDENTITY, Affine(2, 0)), (IDENTITY, Affine(2, 0), Affine(3, 1))])


@LIGHT
@given(
    paints({"k": SETS["k"], "ts": SETS["ts"]}, st.sampled_from([ABSENT, PRESENT])),
    paints({"k": SETS["k"], "ts": SETS["ts"]}, HISTORIES),
    paints(SETS),
)
def test_a_start_is_fed_by_the_times_at_and_after_it(present: Paint, units: Paint, closed: Paint) -> None:
    """Feed(key, sid, rest) = {(key, ts, rest) : ts >= sid}, not live ones too for presence: they may wait (G29)."""
    out = operator().facts((session_facts(closed, present.tree(), units.tree()),))
    for key, start, rest in product(KEYS, TIMES, RESTS):
        cell = {"k": key, "sid": start, "v": rest}
        feeders = [{**cell, "ts": t} for t in TIMES if t >= start]
        here = [f for f in feeders if present.meaning(f) is PRESENT]
        assert regions.contains(out.present["X"], cell) == (PRESENT if here else ABSENT)
        histories = [units.meaning(f) for f in here if not closed.meaning(f)]
        assert regions.contains(out.units["X"], cell) == min(histories, key=len, default=())


# --- complaints ---

HEAD = 'stream r(ts: long, k: int, p?: double, name: string) from json "r";\n'


@pytest.mark.parametrize(
    ("relation", "code"),
    [
        ("sort[gone](r)", "RQ102"),
        ("sort[ts, p desc](r)", "RQ115"),
        ("sort[ts, ts desc](r)", "RQ104"),
        ("top[2 by gone](r)", "RQ102"),
        ("top[2 by ts per gone](r)", "RQ102"),
        ("session[5 on gone as sid](r)", "RQ102"),
        ("session[5 on ts per gone as sid](r)", "RQ102"),
        ("session[5 on name as sid](r)", "RQ103"),
        ("session[5 minutes on ts as sid](r)", "RQ103"),
        ("session[5 on p as sid](r)", "RQ115"),
        ("session[5 on ts per ts as sid](r)", "RQ104"),
        ("session[5 on ts as k](r)", "RQ104"),
        ("session[0 on ts as sid](r)", "RQ105"),
    ],
)
def test_what_cannot_be_ordered_is_refused(relation: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        compile_query(f'{HEAD}emit {relation} to json "o";')
    assert [d.code for d in error.value.diagnostics] == [code]


def test_a_top_may_be_by_what_is_optional() -> None:
    """⊥ comes last, so a tuple without the attribute is never among the best before one that has it."""
    assert compile_query(f'{HEAD}emit top[2 by p desc per k](r) to json "o";').warnings == ()


@pytest.mark.parametrize(
    ("relation", "foundation"),
    [
        ("sort[ts, k desc](r)", {"ts", "k"}),
        ("top[2 by p per k](r)", {"p", "k"}),
        ("session[5 on ts per k as sid](r)", {"ts", "k"}),
    ],
)
def test_what_an_order_reads_cannot_be_dropped(relation: str, foundation: set[str]) -> None:
    """Sort and top keys, `per` and the session's time are Foundation (G42)."""
    plan = compile_query(f'{HEAD}emit {relation} to json "o";').plan
    (operator,) = plan.operators
    inputs = (plan.start["r"],)
    assert set(signature(operator, inputs).foundation) == foundation
    for name in plan.start["r"].types:
        aborts = reaction(operator, "drop", name, frozenset(), inputs, 0).kind == "aborts"
        assert aborts == (name in foundation)
    assert not plan.droppable["r"] & (foundation - {"p"})
