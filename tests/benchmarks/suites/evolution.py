"""What evolution costs: accents in force, the epoch in which one arrives, and the gap without Cedilla."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.contest import Compared, Competitor, Contest
from tests.benchmarks.evolution import inputs, runs
from tests.benchmarks.options import Wanted

_RUNS = "tests.benchmarks.evolution.runs"
ACCENTS = (0, 1, 20, 300, 10_000, 100_000)
SHORT_ACCENTS = (0, 300, 10_000)
STATES = (1_000, 1_000_000)
HISTORIES = (20, 100)


def contests(wanted: Wanted) -> Iterator[Contest]:
    rows = wanted.rows[0] if wanted.rows else 100_000
    yield _in_force(SHORT_ACCENTS if wanted.short else ACCENTS, rows, wanted)
    if not wanted.short:
        for state in STATES:
            for kind in runs.ARRIVAL:
                yield _arrival(kind, state)
        for history in HISTORIES:
            yield _gap(wanted.epochs or history, rows)


def _in_force(numbers: tuple[int, ...], rows: int, wanted: Wanted) -> Contest:
    epochs = wanted.epochs or (8 if wanted.short else 16)
    return Contest(
        suite="evolution",
        name="accents in force",
        competitors=tuple(
            Competitor(
                f"{n:,} accents",
                f"{_RUNS}:in_force",
                {"accents": n, "rows": rows, "epochs": epochs},
                {"accents": n, "rows": rows, "epochs": epochs},
            )
            for n in numbers
        ),
        baseline="0 accents",
        main="rows_per_s",
        prepare=lambda spark: [inputs.write_in_force(spark, n, rows, epochs) for n in numbers],
        compared=Compared("s INT, wid BIGINT, mean DOUBLE, n BIGINT"),
        rounds=2 if wanted.short else 3,
        facts={"epoch_rows": rows, "epochs": epochs},
    )


def _arrival(kind: str, state: int) -> Contest:
    columns = {
        "groups": "k BIGINT, total DOUBLE, n BIGINT",
        "join": "k BIGINT, t DOUBLE, u DOUBLE",
    }

    def competitor(name: str, accented: bool) -> Competitor:
        arguments = {"kind": kind, "state": state, "accented": accented}
        return Competitor(name, f"{_RUNS}:arrival", arguments, {**arguments, "state": STATES[0]})

    return Contest(
        suite="evolution",
        name=f"an accent arrives/{kind}/{state}",
        competitors=(competitor("with accents", True), competitor("without", False)),
        baseline="with accents",
        main="accent_ratio",
        prepare=lambda spark: [inputs.write_arrival(spark, kind, each) for each in {state, STATES[0]}],
        compared=Compared(columns[kind]),
        facts={"state": state, "epoch_rows": inputs.SMALL_ROWS, "epochs": inputs.EPOCHS},
    )


def _gap(history: int, rows: int) -> Contest:
    arguments = {"rows": rows, "history": history}
    warm = {"rows": 1_000, "history": 5}
    return Contest(
        suite="evolution",
        name=f"gap/{history}",
        competitors=(
            Competitor("cedilla", f"{_RUNS}:gap_cedilla", arguments, warm),
            Competitor("spark", f"{_RUNS}:gap_native", arguments, warm),
        ),
        baseline="cedilla",
        main="gap_s",
        prepare=lambda spark: [inputs.write_gap(spark, *size) for size in ((rows, history), (1_000, 5))],
        compared=Compared("s INT, wid BIGINT, mean DOUBLE, n BIGINT", runs.closed_windows(rows, history)),
        facts={"epoch_rows": rows, "files_of_history": history},
    )
