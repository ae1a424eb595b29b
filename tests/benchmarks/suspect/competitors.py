"""What looks for changes: `cedilla suspect`, and change-point detection by `ruptures`."""

from __future__ import annotations

import json
from functools import lru_cache
from math import log
from statistics import median
from typing import Any

import numpy
from attrs import frozen

from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.change_detection.conversions import CONVERSIONS
from cedilla.runtime.tools.stream_tools.groupings import Search
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.benchmarks.suspect.changes import Trial

_NEAR = 0.05
"""A ratio of medians this near to a conversion is taken for it."""


_PENALTY = 12.0
"""In units of BIC's: with it, precision and recall of the change points are best together."""


@frozen
class Found:
    """A report: the attribute, the number of the first value after the change, and the function, if it is named."""

    attribute: str
    at: int
    function: Affine | None


def cedilla(trial: Trial) -> list[Found]:
    """Reports what `cedilla suspect` reports of the stream."""
    unit = f' unit "{trial.kind.unit}"' if trial.declared else ""
    schema = declared_schema(f"ts: long, dev: int in {{1}}, x: double{unit}, y?: double{unit}")
    lines = (Line(json.dumps(_tuple(trial, number)), f"{number}") for number in range(len(trial.values)))
    return [
        Found(suspect.attribute, int(suspect.place), suspect.jump.function)
        for suspect in Search(schema, [("dev",)]).of(lines)
    ]


def _tuple(trial: Trial, number: int) -> dict[str, float]:
    other = {} if trial.other is None else {"y": trial.other[number]}
    return {"ts": trial.times[number], "dev": 1, "x": trial.values[number], **other}


@lru_cache(1)
def _change_points(values: tuple[float, ...]) -> list[int]:
    """Returns the change points of `ruptures`: exact least squares, with a penalty that is high for the few changes."""
    import ruptures

    signal = numpy.array(values)
    if signal.min() > 0:
        signal = numpy.log(signal)
    size = max(1e-9, float(signal.std()))
    search: Any = ruptures.KernelCPD(kernel="linear", min_size=16)
    return [int(at) for at in search.fit(signal / size).predict(pen=_PENALTY * log(len(values)))[:-1]]


def change_points(trial: Trial) -> list[Found]:
    """Reports change points; they name no function."""
    return [Found("x", at, None) for at in _change_points(tuple(trial.values))]


def named_change_points(trial: Trial) -> list[Found]:
    """Reports those change points at which the ratio of medians is a known conversion."""
    named: list[Found] = []
    for at in _change_points(tuple(trial.values)):
        before, after = (
            median(part) for part in (trial.values[max(0, at - 64) : at], trial.values[at : at + 64])
        )
        for conversion in CONVERSIONS:
            slope, shift = float(conversion.function.slope), float(conversion.function.shift)
            if after and abs((slope * before + shift) / after - 1) < _NEAR:
                named.append(Found("x", at, conversion.function))
                break
    return named


COMPETITORS = {
    "cedilla suspect": cedilla,
    "ruptures": change_points,
    "ruptures, named": named_change_points,
}
