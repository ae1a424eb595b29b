"""Draws an attribute of an output, as sent and in one unit, with its accents (theory D0)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.parser import parse_accent, single_accents
from cedilla.runtime.tools.reading.reading import Reading, read
from cedilla.runtime.tools.reading.units import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cedilla.compiler.compile import CompiledQuery

_LONGEST = 40


def plot(
    output: str | Path,
    attribute: str,
    *,
    x: str | None = None,
    query: str | Path | CompiledQuery | None = None,
    schema: str | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws an attribute of an output over `x`: the first timestamp or date by default, otherwise the number of the
    tuple. Accents about it are vertical lines.

    `query`, `schema`: types, as for `read`. `axes`: a part of a figure. Needs matplotlib (`cedilla[notebook]`). Raises
    `DiagnosticError`: as `read`; RQ491 if no tuple has a number in the attribute, RQ492 without matplotlib.
    """
    pyplot = _pyplot()
    places, sent, same, accents = _values(read(output, query=query, schema=schema), attribute, x)
    axes = axes or pyplot.subplots(figsize=(8, 3.5), layout="constrained")[1]
    assert axes is not None
    axes.plot(places, sent, ".", color="#9ca3af", label="as sent")
    axes.plot(places, same, "-", color="#2563eb", label="in one unit")
    for number, (position, text) in enumerate(accents):
        axes.axvline(
            position, color="#dc2626", linestyle="--", linewidth=1, label=None if number else "accent"
        )
        shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        axes.annotate(
            shown,
            (position, 1),
            xycoords=("data", "axes fraction"),
            rotation=90,
            va="top",
            ha="right",
            fontsize=7,
        )
    axes.set_ylabel(attribute)
    axes.legend()
    return axes


def _values(
    reading: Reading, attribute: str, x: str | None
) -> tuple[list[Any], list[float], list[float], list[tuple[Any, str]]]:
    """Returns places, values as sent, values in one unit, and accents with their places."""
    places: list[Any] = []
    sent: list[float] = []
    same: list[float] = []
    pending: list[str] = []
    accents: list[tuple[Any, str]] = []
    attributes: set[str] = set()
    for number, (entry, units) in enumerate(reading.items()):
        if entry.kind == "accent" and attribute in _about(entry.text):
            pending.append(entry.text)
        if entry.kind is not None:
            continue
        attributes |= entry.values.keys()
        value = entry.values.get(attribute)
        if isinstance(value, bool | str | list) or value is None:
            continue
        position = _x_value(units, entry.values, x, number)
        accents += [(position, text) for text in pending]
        pending.clear()
        places.append(position)
        sent.append(float(value))
        same.append(float(units.decoded(entry.values)[attribute]))
    if not places:
        hint = did_you_mean(attribute, sorted(attributes), "attributes")
        raise failure("RQ491", f"no tuple of {reading.folder} has a number in `{attribute}`", hint=hint)
    return places, sent, same, accents


def _about(text: str) -> set[str]:
    return {parse_accent(single).primitive.name for single in single_accents(text)}


def _x_value(units: Units, values: Any, x: str | None, number: int) -> Any:
    types = units.state.types
    name = x or next((n for n in values if n in types and types[n].name in ("timestamp", "date")), None)
    if name is None:
        return number
    value = values.get(name)
    if name in types and types[name].name in ("timestamp", "date") and isinstance(value, str):
        from datetime import datetime

        return datetime.fromisoformat(value)
    return value


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        hint = "`pip install 'cedilla[notebook]'`"
        raise failure("RQ492", "matplotlib is not installed", hint=hint) from None
    return pyplot
