"""Time, memory and bytes as state, epochs, sources and operators grow: Cedilla against itself; and small epochs over a
large state, against Structured Streaming where it has the operator."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.contest import Compared, Competitor, Contest
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


def contests(wanted: Wanted) -> Iterator[Contest]:
    """`--rows` gives other sizes of state, `--epochs` one number of epochs."""
    for kind in evolution_runs.ARRIVAL:
        yield _state(kind, wanted.rows or STATES)
    for kind in large_state.QUERIES:
        for state in wanted.rows or LARGE:
            yield _large(kind, state)
    yield _wide("sources", SOURCES)
    yield _wide("operators", OPERATORS)
    yield _epochs((wanted.epochs,) if wanted.epochs else EPOCHS)


def _state(kind: str, states: tuple[int, ...]) -> Contest:
    def arguments(state: int) -> dict[str, object]:
        return {"kind": kind, "state": state, "accented": False}

    call = "tests.benchmarks.evolution.runs:arrival"
    return Contest(
        suite="scale",
        name=f"state/{kind}",
        competitors=tuple(
            Competitor(f"{state:,} rows", call, arguments(state), arguments(states[0])) for state in states
        ),
        baseline=f"{states[0]:,} rows",
        main="epoch_ms",
        prepare=lambda spark: [evolution.write_arrival(spark, kind, state) for state in states],
        rounds=2,
        facts={"epoch_rows": evolution.SMALL_ROWS, "epochs": evolution.EPOCHS},
    )


def _large(kind: str, state: int) -> Contest:
    arguments = {"kind": kind, "state": state}
    competitors = [Competitor("cedilla", f"{_LARGE}:run_cedilla", arguments, arguments)]
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
        prepare=lambda spark: large_state.write(spark, state),
        compared=Compared(large_state.COLUMNS[kind]),
        rounds=2,
        facts={"state": state, "epoch_rows": evolution.SMALL_ROWS, "epochs": evolution.EPOCHS},
    )


def _epochs(numbers: tuple[int, ...]) -> Contest:
    warm_up = EPOCHS[0]
    return Contest(
        suite="scale",
        name="epochs",
        competitors=tuple(
            Competitor(f"{n:,} epochs", f"{_RUNS}:epochs", {"epochs": n}, {"epochs": warm_up})
            for n in numbers
        ),
        baseline=f"{numbers[0]:,} epochs",
        main="epoch_ms",
        prepare=lambda spark: [runs.write_tiny(n) for n in {warm_up, *numbers}],
        rounds=1,
        facts={"epoch_rows": runs.TINY_ROWS},
    )


def _wide(what: str, numbers: tuple[int, ...]) -> Contest:
    return Contest(
        suite="scale",
        name=what,
        competitors=tuple(
            Competitor(f"{n} {what}", f"{_RUNS}:wide", {what: n}, {what: numbers[0]}) for n in numbers
        ),
        baseline=f"{numbers[0]} {what}",
        main="epoch_ms",
        prepare=runs.write_wide,
        rounds=2,
        facts={"epoch_rows": runs.WIDE_ROWS, "epochs": runs.WIDE_EPOCHS},
    )
