"""Time, memory and bytes as state, epochs, sources and operators grow: Cedilla on each engine, and Structured Streaming
where it has the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.benchmarks.contest import Compared, Competitor, Contest, cedilla_competitors
from tests.benchmarks.core import runs as core
from tests.benchmarks.core.query import Size
from tests.benchmarks.engines import STATE_STORES
from tests.benchmarks.evolution import inputs as evolution
from tests.benchmarks.evolution import runs as evolution_runs
from tests.benchmarks.options import Wanted
from tests.benchmarks.scale import large_state, runs

_RUNS = "tests.benchmarks.scale.runs"
_LARGE = "tests.benchmarks.scale.large_state"
STATES = (10_000, 100_000, 1_000_000, 10_000_000)
LARGE = (10_000, 1_000_000)
EPOCHS = (10, 100, 1_000, 10_000)
SOURCES = (1, 5, 10, 20, 50)
OPERATORS = (1, 10, 50, 100, 200)
JOINS = (5, 10, 20, 30, 50)
HISTORIES = (1, 20_000, 100_000)
"""Old files in a folder."""
OBSERVED_ROWS, OBSERVED_EPOCHS = 100_000, 20


def contests(wanted: Wanted) -> Iterator[Contest]:
    """`--rows` gives other sizes of state, `--epochs` one number of epochs."""
    for kind in evolution_runs.ARRIVAL:
        states = wanted.rows or STATES
        yield from (_state(kind, state, states[0]) for state in states)
    for kind in large_state.QUERIES:
        for state in wanted.rows or LARGE:
            yield _large(kind, state)
    yield from (_wide("sources", number) for number in SOURCES)
    yield from (_wide("operators", number) for number in OPERATORS)
    yield from (_joins(number) for number in JOINS)
    yield from (_latency(files) for files in HISTORIES)
    yield _observers(wanted.epochs or OBSERVED_EPOCHS)
    yield from (_epochs(number) for number in ((wanted.epochs,) if wanted.epochs else EPOCHS))


def _state(kind: str, state: int, least: int) -> Contest:
    arguments = {"kind": kind, "state": state, "accented": False}
    call = "tests.benchmarks.evolution.runs:arrival"
    return Contest(
        suite="scale",
        name=f"state/{kind}/{state}",
        competitors=cedilla_competitors(call, arguments, {**arguments, "state": least}),
        baseline="cedilla",
        main="epoch_ms",
        prepare=lambda spark: [evolution.write_arrival(spark, kind, arrived) for arrived in {least, state}],
        rounds=2,
        facts={"epoch_rows": evolution.SMALL_ROWS, "epochs": evolution.EPOCHS},
    )


def _large(kind: str, state: int) -> Contest:
    arguments = {"kind": kind, "state": state}
    competitors = [*cedilla_competitors(f"{_LARGE}:run_cedilla", arguments, arguments)]
    if kind in large_state.NATIVE:
        competitors += [
            Competitor(store, f"{_LARGE}:run_native", arguments, arguments, conf)
            for store, conf in STATE_STORES.items()
        ]
    return Contest(
        suite="scale",
        name=f"large state/{kind}/{state}",
        competitors=tuple(competitors),
        baseline="cedilla",
        main="epoch_ms",
        prepare=lambda spark: large_state.write(spark, kind, state),
        compared=Compared(large_state.COLUMNS[kind]),
        rounds=2,
        facts={"state": state, "epoch_rows": evolution.SMALL_ROWS, "epochs": evolution.EPOCHS},
    )


def _epochs(number: int) -> Contest:
    return Contest(
        suite="scale",
        name=f"epochs/{number}",
        competitors=cedilla_competitors(f"{_RUNS}:epochs", {"epochs": number}, {"epochs": EPOCHS[0]}),
        baseline="cedilla",
        main="epoch_ms",
        prepare=lambda spark: [runs.write_tiny(n) for n in {EPOCHS[0], number}],
        rounds=1,
        facts={"epoch_rows": runs.TINY_ROWS},
    )


def _wide(what: str, number: int) -> Contest:
    arguments = {what: number}
    competitors = [*cedilla_competitors(f"{_RUNS}:wide", arguments, arguments)]
    if what == "sources":
        competitors.append(Competitor("spark", f"{_RUNS}:native_sources", arguments, arguments))
    return _over_wide(f"{what}/{number}", competitors)


def _joins(number: int) -> Contest:
    competitors = cedilla_competitors(f"{_RUNS}:joins", {"joins": number}, {"joins": JOINS[0]})
    return _over_wide(f"joins/{number}", competitors)


def _over_wide(name: str, competitors: Sequence[Competitor]) -> Contest:
    return Contest(
        suite="scale",
        name=name,
        competitors=tuple(competitors),
        baseline="cedilla",
        main="epoch_ms",
        prepare=runs.write_wide,
        compared=Compared("id BIGINT, v DOUBLE"),
        rounds=2,
        facts={"epoch_rows": runs.WIDE_ROWS, "epochs": runs.WIDE_EPOCHS},
    )


def _latency(files: int) -> Contest:
    return Contest(
        suite="scale",
        name=f"old files/{files}",
        competitors=cedilla_competitors(f"{_RUNS}:latency", {"files": files}, {"files": HISTORIES[0]}),
        baseline="cedilla",
        main="commit_ms",
        prepare=lambda spark: [runs.write_history(n) for n in {HISTORIES[0], files}],
        rounds=1,
        facts={"new_files": runs.LATENCY_FILES},
    )


def _observers(epochs: int) -> Contest:
    size = {"rows": OBSERVED_ROWS, "epochs": epochs}

    def competitors(is_watched: bool) -> tuple[Competitor, ...]:
        arguments = {**size, "is_watched": is_watched}
        return cedilla_competitors(
            f"{_RUNS}:observed", arguments, arguments, "" if is_watched else " unobserved"
        )

    return Contest(
        suite="scale",
        name="observers",
        competitors=competitors(True) + competitors(False),
        baseline="cedilla",
        main="rows_per_s",
        prepare=lambda spark: core.prepare(
            spark, core.query_of("select"), Size(OBSERVED_ROWS, epochs), "json", None
        ),
        compared=Compared(core.query_of("select").columns),
        facts={"epoch_rows": OBSERVED_ROWS, "epochs": epochs},
    )
