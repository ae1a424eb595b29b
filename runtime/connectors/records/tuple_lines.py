"""Converts lines to tuples for sources whose format or schema differs from the objects in the lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from cedilla.compiler.plan import Source
from cedilla.runtime.connectors.records.change_events import EventReader
from cedilla.runtime.connectors.records.csv_records import without_none
from cedilla.runtime.connectors.records.json_objects import JsonObject, json_text
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.connectors.records.near_markers import marker_of
from cedilla.runtime.connectors.records.nested import by_names
from cedilla.runtime.connectors.records.otlp import PointReader
from cedilla.runtime.connectors.records.rejections import REPLACED
from cedilla.runtime.connectors.records.unfolding import folded, unfolded
from cedilla.runtime.connectors.records.xml_lines import Element


def tuples_of(lines: Iterable[Line], source: Source) -> Iterator[Line]:
    """Yields the lines of a source with objects by attribute names, one line for each tuple. Markers and lines without
    an object are unchanged."""
    if source.format_kind.has_requests:
        yield from _points(lines, PointReader.of(source))
        return
    if source.changes:
        yield from _rows(lines, source)
        return
    if source.unfolded:
        lines = _unfolded(lines, source)
    paths, types = source.paths, {attribute.name: attribute.type for attribute in source.attributes}
    if source.format_kind.columnar or not (paths or source.none or source.unfolded):
        yield from lines
        return
    for line in lines:
        item = None if line.only_markers else line.item if line.is_csv else _tuple(line)
        if item is None:
            yield line
            continue
        item = item.with_fields(types) if isinstance(item, Element) else without_none(item, source.none)
        text = folded(line.text, source.unfolded)
        yield evolve(line, text=text, item=by_names(item, paths))


def _unfolded(lines: Iterable[Line], source: Source) -> Iterator[Line]:
    for line in lines:
        if line.only_markers or _tuple(line) is None:
            yield line
            continue
        for text in unfolded(line.text, source.unfolded):
            yield evolve(line, text=text)


def _points(lines: Iterable[Line], reader: PointReader) -> Iterator[Line]:
    for line in lines:
        item = None if line.only_markers else _tuple(line)
        try:
            points = [] if item is None else list(reader.points(item))
        except ValueError as problem:
            yield evolve(line, fault=str(problem))
            continue
        if item is None:
            yield line
        for number, point in enumerate(points):
            text = json_text(reader.only(item or point, number))
            of_it = {"fault": REPLACED} if point.is_replaced else {"item": point}
            yield evolve(line, text=text, **of_it)


def _rows(lines: Iterable[Line], source: Source) -> Iterator[Line]:
    reader = EventReader.of(source)
    for line in lines:
        if line.only_markers or _tuple(line) is None:
            yield line
            continue
        try:
            item = by_names(reader.row(line.text), source.paths)
        except ValueError as problem:
            yield evolve(line, fault=str(problem))
            continue
        yield evolve(line, item=item)


def _tuple(line: Line) -> JsonObject | None:
    """Returns the object of a line; `None` for markers and invalid lines."""
    try:
        item = line.holds()
    except ValueError:
        return None
    return item if line.is_utf8 and marker_of(line.text, item) is None else None
