"""Stores a monitor in a commit record, so that a restart continues it and reports no jump twice; its size is
bounded.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from struct import iter_unpack, pack
from typing import Any

from attrs import asdict

from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.control.change_detection.groups import new_series
from cedilla.runtime.control.change_detection.monitor import Monitor, MonitoredSeries, ReportedChange
from cedilla.runtime.control.change_detection.series import WINDOW, Series
from cedilla.runtime.control.change_detection.window import MIN_VALUES

MAX_STORED = 1 << 14
"""The most values of a source that are stored, the latest of each sequence; none if they are too few for a
look.
"""

_LARGEST = 3e38


def dump_monitor(monitor: Monitor) -> dict[str, Any]:
    """Returns a monitor as JSON values; `load_monitor` reads it.

    Values have seven digits, which are enough for the test.
    """
    count = sum(len(monitored) for monitored in monitor.groups.values())
    kept = min(WINDOW, MAX_STORED // max(1, count))
    places: dict[str, int] = {}
    series = [
        [[_dump_value(v) for v in group], name, *_dump_watched(monitored, kept, places)]
        for group, own in monitor.groups.items()
        for name, monitored in own.items()
        if kept >= 2 * MIN_VALUES
    ]
    return {
        "by": list(monitor.by),
        "share": monitor.share,
        "told": [asdict(change) for change in monitor.reported],
        "places": list(places),
        "series": series,
    }


def load_monitor(source: Source, by: tuple[str, ...], data: Mapping[str, Any] | None) -> Monitor:
    """Restores the monitor that `dump_monitor` wrote; starts a new one without a record, or with other group
    attributes.
    """
    monitor = Monitor(source, by)
    if data is None:
        return monitor
    monitor.reported = reported_changes(data)
    if data["by"] != list(monitor.by):
        return monitor
    monitor.share = data["share"]
    for group, name, *rest in data["series"]:
        own = monitor.groups.setdefault(tuple(_load_value(value) for value in group), {})
        own[name] = _load_watched(new_series(source, name), rest, data["places"])
    return monitor


def reported_changes(data: Mapping[str, Any]) -> tuple[ReportedChange, ...]:
    """Returns the reported jumps in a record of `dump_monitor`."""
    return tuple(ReportedChange(**change) for change in data["told"])


def _dump_watched(monitored: MonitoredSeries, count: int, places: dict[str, int]) -> list[Any]:
    latest = monitored.series.latest(count)
    values = [max(-_LARGEST, min(value, _LARGEST)) for _, value in latest]
    runs = [(position, len(list(run))) for position, run in groupby(position for position, _ in latest)]
    return [
        monitored.width,
        monitored.series.unseen,
        [str(monitored.series.net.slope), str(monitored.series.net.shift)],
        b64encode(pack(f"<{len(values)}f", *values)).decode(),
        [[places.setdefault(position, len(places)), length] for position, length in runs],
        monitored.series.is_sparse,
    ]


def _load_watched(series: Series[str], data: list[Any], places: list[str]) -> MonitoredSeries:
    width, unseen, (slope, shift), values, runs, series.is_sparse = data
    place_of_each = [places[number] for number, length in runs for _ in range(length)]
    numbers = (number for (number,) in iter_unpack("<f", b64decode(values)))
    series.resume(list(zip(place_of_each, numbers, strict=True)), unseen)
    series.net = Affine(Fraction(slope), Fraction(shift))
    return MonitoredSeries(series, width)


def _dump_value(value: Value | None) -> Any:
    return [str(value)] if isinstance(value, Fraction) else value


def _load_value(value: Any) -> Value | None:
    return Fraction(value[0]) if isinstance(value, list) else value
