"""What evolution costs: accents in force, units, the epoch in which one arrives, and the gap without Cedilla."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.contest import Compared, Competitor, Contest, cedilla_competitors
from tests.benchmarks.evolution import inputs, runs
from tests.benchmarks.options import Wanted

_RUNS = "tests.benchmarks.evolution.runs"
ACCENTS = (1, 20, 300, 10_000, 100_000)
SHORT_ACCENTS = (300, 10_000)
STATES = (1_000, 1_000_000)
HISTORIES = (20, 100)
BY_RANGE = ((inputs.BY_TIME, 30), (inputs.BY_TIME, 300), (inputs.CROSSING, 30), (inputs.CROSSING, 60))
RANGE_ROWS = 10_000
_PLAIN = " without"
"""Behind the name of a competitor: the same tuples without the accents, or without units."""


def contests(wanted: Wanted) -> Iterator[Contest]:
    rows = wanted.rows[0] if wanted.rows else 100_000
    for accents in SHORT_ACCENTS if wanted.short else ACCENTS:
        yield _in_force(accents, rows, wanted)
    for kind, accents in BY_RANGE:
        yield _by_range(kind, accents, wanted.rows[0] if wanted.rows else RANGE_ROWS, wanted.epochs or 16)
    if not wanted.short:
        yield _units(rows, wanted.epochs or 16)
        for state in STATES:
            for kind in runs.ARRIVAL:
                yield _arrival(kind, state)
        for history in HISTORIES:
            yield _gap(wanted.epochs or history, rows)


def _in_force(accents: int, rows: int, wanted: Wanted) -> Contest:
    epochs = wanted.epochs or (8 if wanted.short else 16)

    def behind(number: int) -> tuple[Competitor, ...]:
        arguments = {"accents": number, "rows": rows, "epochs": epochs}
        return cedilla_competitors(f"{_RUNS}:in_force", arguments, arguments, "" if number else _PLAIN)

    return Contest(
        suite="evolution",
        name=f"accents in force/{accents}",
        competitors=behind(accents) + behind(0),
        baseline="cedilla",
        main="rows_per_s",
        prepare=lambda spark: [inputs.write_in_force(spark, n, rows, epochs) for n in (0, accents)],
        compared=Compared("s INT, wid BIGINT, mean DOUBLE, n BIGINT"),
        rounds=2 if wanted.short else 3,
        facts={"epoch_rows": rows, "epochs": epochs},
    )


def _by_range(kind: str, accents: int, rows: int, epochs: int) -> Contest:
    """Outputs are not compared with those of the same tuples without accents, because they mean something else."""
    size = {"rows": rows, "epochs": epochs}
    behind = {"kind": kind, "accents": accents, **size}
    plain = {"accents": 0, **size}
    return Contest(
        suite="evolution",
        name=f"accents by range/{kind}/{accents}",
        competitors=cedilla_competitors(f"{_RUNS}:by_range", behind, behind)
        + cedilla_competitors(f"{_RUNS}:in_force", plain, plain, _PLAIN),
        baseline="cedilla",
        main="epoch_ms",
        prepare=lambda spark: inputs.write_by_range(spark, kind, accents, rows, epochs),
        facts={"epoch_rows": rows, "epochs": epochs},
    )


def _units(rows: int, epochs: int) -> Contest:
    """No unit ever changes: what it costs that one is said."""

    def declared(units: bool) -> tuple[Competitor, ...]:
        arguments = {"rows": rows, "epochs": epochs, "declared": units}
        return cedilla_competitors(f"{_RUNS}:units", arguments, arguments, "" if units else _PLAIN)

    return Contest(
        suite="evolution",
        name=f"units/{rows}",
        competitors=declared(True) + declared(False),
        baseline="cedilla",
        main="rows_per_s",
        prepare=lambda spark: inputs.write_in_force(spark, 0, rows, epochs),
        compared=Compared("s INT, wid BIGINT, mean DOUBLE, n BIGINT"),
        facts={"epoch_rows": rows, "epochs": epochs},
    )


def _arrival(kind: str, state: int) -> Contest:
    columns = {
        "groups": "k BIGINT, total DOUBLE, n BIGINT",
        "join": "k BIGINT, t DOUBLE, u DOUBLE",
    }

    def arriving(accented: bool) -> tuple[Competitor, ...]:
        arguments = {"kind": kind, "state": state, "accented": accented}
        warm = {**arguments, "state": STATES[0]}
        return cedilla_competitors(f"{_RUNS}:arrival", arguments, warm, "" if accented else _PLAIN)

    return Contest(
        suite="evolution",
        name=f"an accent arrives/{kind}/{state}",
        competitors=arriving(True) + arriving(False),
        baseline="cedilla",
        main="accent_ratio",
        prepare=lambda spark: [inputs.write_arrival(spark, kind, arrived) for arrived in {state, STATES[0]}],
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
            *cedilla_competitors(f"{_RUNS}:gap_cedilla", arguments, warm),
            Competitor("spark", f"{_RUNS}:gap_native", arguments, warm),
        ),
        baseline="cedilla",
        main="gap_s",
        prepare=lambda spark: [inputs.write_gap(spark, *size) for size in ((rows, history), (1_000, 5))],
        compared=Compared("s INT, wid BIGINT, mean DOUBLE, n BIGINT", runs.closed_windows(rows, history)),
        facts={"epoch_rows": rows, "files_of_history": history},
    )
