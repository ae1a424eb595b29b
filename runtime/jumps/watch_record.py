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
from cedilla.runtime.jumps.series import LEAST, WINDOW, Series
from cedilla.runtime.jumps.watch import Told, Watch, Watched

KEPT = 1 << 14
"""The most values of a source that are stored, the latest of each sequence; none if they are too few for a
look.
"""

_LARGEST = 3e38


def dump_watch(watch: Watch) -> dict[str, Any]:
    """Returns a monitor as JSON values; `load_watch` reads it.

    Values have seven digits, which are enough for the test.
    """
    count = sum(len(watched) for watched in watch.groups.values())
    each = min(WINDOW, KEPT // max(1, count))
    places: dict[str, int] = {}
    series = [
        [[_dump_value(v) for v in group], name, *_dump_watched(watched, each, places)]
        for group, own in watch.groups.items()
        for name, watched in own.items()
        if each >= 2 * LEAST
    ]
    return {
        "by": list(watch.by),
        "share": watch.share,
        "told": [asdict(told) for told in watch.told],
        "places": list(places),
        "series": series,
    }


def load_watch(source: Source, data: Mapping[str, Any] | None) -> Watch:
    """Restores the monitor that `dump_watch` wrote; starts a new one without a record, or with other group
    attributes.
    """
    watch = Watch.of(source)
    if data is None:
        return watch
    watch.told = told_of(data)
    if data["by"] != list(watch.by):
        return watch
    watch.share = data["share"]
    for group, name, *rest in data["series"]:
        own = watch.groups.setdefault(tuple(_load_value(value) for value in group), {})
        own[name] = _load_watched(rest, data["places"])
    return watch


def told_of(data: Mapping[str, Any]) -> tuple[Told, ...]:
    """Returns the reported jumps in a record of `dump_watch`."""
    return tuple(Told(**told) for told in data["told"])


def _dump_watched(watched: Watched, count: int, places: dict[str, int]) -> list[Any]:
    latest = watched.series.latest(count)
    values = [max(-_LARGEST, min(value, _LARGEST)) for _, value in latest]
    runs = [(place, len(list(run))) for place, run in groupby(place for place, _ in latest)]
    return [
        watched.width,
        watched.series.unseen,
        [str(watched.net.slope), str(watched.net.shift)],
        b64encode(pack(f"<{len(values)}f", *values)).decode(),
        [[places.setdefault(place, len(places)), length] for place, length in runs],
    ]


def _load_watched(data: list[Any], places: list[str]) -> Watched:
    width, unseen, (slope, shift), values, runs = data
    place_of_each = [places[number] for number, length in runs for _ in range(length)]
    numbers = (number for (number,) in iter_unpack("<f", b64decode(values)))
    series = Series[str].resumed(list(zip(place_of_each, numbers, strict=True)), unseen)
    return Watched(series, width, Affine(Fraction(slope), Fraction(shift)))


def _dump_value(value: Value | None) -> Any:
    return [str(value)] if isinstance(value, Fraction) else value


def _load_value(value: Any) -> Value | None:
    return Fraction(value[0]) if isinstance(value, list) else value
