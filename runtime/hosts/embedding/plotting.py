"""Draws an attribute of an output, as sent and in one unit, with its accents (theory D0)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.parser import parse_accent, single_accents
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.tools.reading.reading import Reading, emit_of, read
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
    by: str | None = None,
    query: str | Path | CompiledQuery | None = None,
    schema: str | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws an attribute of an output, with its accents as vertical lines. Needs matplotlib (`cedilla[notebook]`).

    The axis has the attribute's unit, if `query` or an Add names one.

    `output`: as for `read`. `attribute`: its name. `x`: the attribute of the other axis; by default the first timestamp
    or date, otherwise the number of the tuple. `by`: an attribute; each of its values has a line. `query`,
    `schema`: types, as for `read`. `axes`: a part of a figure.

    Raises `DiagnosticError`: as `read`; RQ491 if no tuple has a
    number in the attribute or a value in `by`, RQ492 without matplotlib.
    """
    pyplot = _pyplot()
    reading = read(output, query=query, schema=schema)
    drawn = _values(reading, attribute, x, by)
    axes = axes or pyplot.subplots(figsize=(8, 3.5), layout="constrained")[1]
    assert axes is not None
    for number, (group, line) in enumerate(drawn.lines.items()):
        label = "in one unit" if by is None else f"{by} = {group}"
        color = "#2563eb" if by is None else f"C{number % 10}"
        axes.plot(line.places, line.sent, ".", color="#9ca3af", label=None if number else "as sent")
        axes.plot(line.places, line.same, "-", color=color, label=label)
    for number, (position, text) in enumerate(drawn.accents):
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
    unit = drawn.unit or units_of(query, reading.folder).get(attribute)
    axes.set_ylabel(attribute if unit is None else f"{attribute} ({unit})")
    axes.legend()
    return axes


def units_of(query: str | Path | CompiledQuery | None, folder: str) -> Mapping[str, str]:
    """Returns the canonical units of the attributes of an output, as the query that writes it has them."""
    if query is None:
        return {}
    from cedilla.compiler.compile import compiled_query

    return emit_of(compiled_query(query)[0].plan, folder).units


@define
class _Line:
    """The values of one group: their places, as sent and in one unit."""

    places: list[Any] = field(factory=list[Any])
    sent: list[float] = field(factory=list[float])
    same: list[float] = field(factory=list[float])


@define
class _Drawn:
    """The lines by group, accents with their places, and the unit that an Add names."""

    lines: dict[Any, _Line] = field(factory=dict[Any, _Line])
    accents: list[tuple[Any, str]] = field(factory=list[tuple[Any, str]])
    unit: str | None = None


def _values(reading: Reading, attribute: str, x: str | None, by: str | None) -> _Drawn:
    """Returns the values of an attribute, and the accents about it."""
    drawn = _Drawn()
    pending: list[str] = []
    attributes: set[str] = set()
    for number, (entry, units) in enumerate(reading.items()):
        if entry.kind == "accent" and attribute in _about(entry.text):
            pending.append(entry.text)
        if entry.kind is not None:
            continue
        attributes |= entry.values.keys()
        value = entry.values.get(attribute)
        if (
            isinstance(value, bool | str | list)
            or value is None
            or (by is not None and by not in entry.values)
        ):
            continue
        position = _x_value(units, entry.values, x, number)
        drawn.accents += [(position, text) for text in pending]
        drawn.unit = units.state.notes.added_units.get(attribute, drawn.unit)
        pending.clear()
        line = drawn.lines.setdefault(None if by is None else _group(entry.values[by]), _Line())
        line.places.append(position)
        line.sent.append(float(value))
        line.same.append(float(units.decoded(entry.values)[attribute]))
    if not drawn.lines:
        missing = attribute if by is None or attribute not in attributes else by
        hint = did_you_mean(missing, sorted(attributes), "attributes")
        what = "a number" if missing == attribute else "a value"
        raise failure("RQ491", f"no tuple of {reading.folder} has {what} in `{missing}`", hint=hint)
    return drawn


def _group(value: Any) -> Any:
    """Returns a value that can be the key of a group."""
    return value if isinstance(value, str | int | float | Decimal) else json_text(value)


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
