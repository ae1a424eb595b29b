"""Accents by ranges and times: a run of them cuts the epoch once, and later epochs do not pay for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query, regions
from cedilla.compiler.plan import Plan, derive
from cedilla.compiler.regions import POSITION, Level
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sinks.announce import SinkState, announce
from cedilla.runtime.control.sources.source_state import SourceState
from tests.kit.marker_runs import started
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered
from tests.kit.work import calls

READINGS = 'stream r(ts: long, s: int, t: double unit degC) from json "r" punctuated on ts;'
PLAIN = compile_query(f'{READINGS} emit r to json "o";').plan
WINDOWS = compile_query(f"""
{READINGS}
minutes := window[60 on ts as minute](r);
means := aggregate[avg(t) as t by s, minute](minutes);
emit means to json "o";
""").plan
UNITS = "degF", "K", "degC"


def _by_time(k: int) -> str:
    return f"[[ts > {100 * k}, unit(t, {UNITS[k % 3]})]]"


def _crossing(k: int) -> str:
    return f"[[s >= {37 * k % 101}, ts > {53 * k % 103}, unit(t, {UNITS[k % 3]})]]"


def _lines(texts: Sequence[str], step: int = 1) -> list[MarkerLine]:
    """Markers with `step - 1` tuples between."""
    return [MarkerLine("accent", text, step * n, next=step * n + 1) for n, text in enumerate(texts)]


def _after(plan: Plan, lines: Sequence[MarkerLine]) -> SourceState:
    effects = advance(plan, started(plan), {"r": lines})
    assert not effects.stops
    return effects.states["r"]


def test_a_run_of_accents_has_one_position() -> None:
    texts = [_by_time(k) for k in range(300)]
    tree = _after(PLAIN, _lines(texts)).originals.placed["t"]
    assert isinstance(tree, Level)
    assert tree.weight < 2 * 300 * regions.CELL
    apart = _after(PLAIN, _lines(texts[:8], step=2)).originals.placed["t"]
    for n in range(8):
        row = {"ts": 100 * n + 1, "s": 1}
        together = _after(PLAIN, _lines(texts[: n + 1])).original["t"]
        assert regions.contains(apart, {**row, POSITION: 2 * n + 1}) == regions.contains(together, row)


def test_an_epoch_ends_where_the_places_of_accents_are_many() -> None:
    """With tuples in between, each accent by time has a place of its own."""
    lines = _lines([_by_time(k) for k in range(400)], step=2)
    states, ends = started(PLAIN), list[int]()
    while lines:
        effects = advance(PLAIN, states, {"r": lines})
        tree = effects.states["r"].originals.placed["t"]
        assert isinstance(tree, Level)
        assert tree.weight < 3_000 * regions.CELL
        states = {name: state.next_epoch() for name, state in effects.states.items()}
        if effects.stops:
            assert not effects.failures
            ends.append(effects.stops["r"].marker.position)
        lines = [line for line in lines if effects.stops and line.position >= ends[-1]]
    assert 3 < len(ends) < 100
    assert states["r"].original == _after(PLAIN, _lines([_by_time(k) for k in range(400)])).original


@pytest.mark.either_engine
@pytest.mark.parametrize("count", tiered([10, 30]))
def test_tuples_between_crossing_ranges_are_decoded_at_their_places(
    spark: SparkSession, tmp_path: Path, count: int
) -> None:
    run = Query(spark, tmp_path, f'{READINGS} emit r to json "o";')
    tuples: list[Item] = [{"s": 11 * k % 101, "ts": 17 * k % 103, "t": 50.0} for k in range(count)]
    accents: list[Item] = [{"$accent": _crossing(k)} for k in range(count)]
    run.write("r", [item for pair in zip(accents, tuples, strict=True) for item in pair])
    run.process()
    assert 1 < len(run.reports) < count
    rows, simulated = run.rows("r"), run.simulate().rows("r")
    assert [{**row, "t": pytest.approx(row["t"])} for row in simulated] == rows


class _Run:
    """A query without its data; `epoch` counts the calls that one takes."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.states = plan, started(plan)
        self.sink = SinkState.start(plan.start[plan.emits[0].relation])

    def epoch(self, texts: Sequence[str] = ()) -> int:
        return calls(lambda: self._epoch(_lines(texts)))

    def _epoch(self, lines: Sequence[MarkerLine]) -> None:
        effects = advance(self.plan, self.states, {"r": lines})
        assert not effects.stops
        closed = self.states["r"].closed
        derive(self.plan, {n: s.facts() for n, s in self.states.items()})
        during = derive(self.plan, {n: s.facts_during(closed) for n, s in effects.states.items()})
        after = derive(self.plan, {n: s.facts() for n, s in effects.states.items()})
        relation = self.plan.emits[0].relation
        self.sink, _ = announce(self.sink, during[relation], after[relation])
        self.states = {name: state.next_epoch() for name, state in effects.states.items()}


@pytest.mark.parametrize("plan", [PLAIN, WINDOWS], ids=["plain", "windows"])
@pytest.mark.parametrize(
    ("accent", "few", "many"), [(_by_time, 20, 200), (_crossing, 5, 30)], ids=["by time", "crossing"]
)
def test_an_epoch_without_markers_costs_the_same(
    plan: Plan, accent: Callable[[int], str], few: int, many: int
) -> None:
    def later(count: int) -> int:
        run = _Run(plan)
        run.epoch([accent(k) for k in range(count)])
        run.epoch()
        run.epoch()
        return run.epoch()

    assert later(many) <= 1.1 * later(few)


@pytest.mark.parametrize("plan", [PLAIN, WINDOWS], ids=["plain", "windows"])
def test_accents_by_time_cost_little_more_each(plan: Plan) -> None:
    """Three times as many take less than six times as many calls: an accent meets the cells of earlier ones."""

    def arriving(count: int) -> int:
        return _Run(plan).epoch([_by_time(k) for k in range(count)])

    arriving(3)
    assert arriving(240) < 6 * arriving(80)


def test_accents_by_overlapping_ranges_of_two_attributes_are_simulated(tmp_path: Path) -> None:
    query = Query.without_engine(tmp_path, f'{READINGS} emit r to json "o";')
    accents: list[Item] = [{"$accent": _crossing(k)} for k in range(40)]
    query.write("r", [*accents, {"ts": 1000, "s": 1000, "t": 15.0}, {"ts": -1, "s": 1, "t": 15.0}])
    rows = query.simulate().rows("r")
    assert [row["t"] for row in rows] == [15.0, pytest.approx(-9.4444444)]


@pytest.mark.either_engine
def test_tuples_are_decoded_by_the_cells_around_them(spark: SparkSession, tmp_path: Path) -> None:
    """An epoch has the times of few accents, all of them, or some that are undefined."""
    run = Query(
        spark, tmp_path, 'stream r(ts?: long, s: int, t: double unit degC) from json "r"; emit r to json "o";'
    )
    accents: list[Item] = [{"$accent": _crossing(k)} for k in range(12)]
    accents += [{"$accent": _by_time(k)} for k in range(2, 40)]
    run.write("r", [{"s": 1, "ts": 1, "t": 7.0}, *accents, {"s": 3, "ts": 150, "t": 8.0}])
    for times in ([7, 9], [430, 1290], [5, 3950], [2075, None]):
        run.write(
            "r", [{"s": s, "t": 50.0, **({} if ts is None else {"ts": ts})} for ts in times for s in (2, 90)]
        )
    run.process(files_per_epoch=1)
    rows, simulated = run.rows("r"), run.simulate().rows("r")
    assert [{**row, "t": pytest.approx(row["t"])} for row in simulated] == rows
    assert len(rows) == 18
