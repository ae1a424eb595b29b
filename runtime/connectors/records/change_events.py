"""Rows in the change events of Debezium as lines of JSON, with the columns as fields.

An event is an envelope with `before`, `after` and `op`, with or without the schema of Kafka Connect around it, or a
flattened row with `__op`. By the schema, times and decimals become the texts and numbers that their types have in JSON.
A row without a column that an attribute reads is refused: the column may have another name now.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.change_events import COLUMNS, EVENT, OPERATION, TIME
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.runtime.connectors.records.json_objects import JsonObject, is_too_deep, parse_line
from cedilla.runtime.connectors.records.nested import whole_of
from cedilla.runtime.connectors.records.rejections import NO_COLUMN, NO_OBJECT, NO_ROW
from cedilla.runtime.connectors.records.wire_values import (
    BeyondTypeError,
    date_text,
    decimal_text,
    line_of,
    moment_text,
    number_text,
    time_text,
)

NO_EVENT = "the line is not a change event of Debezium"
_READ = {"c", "r"}
_OF_STATES = {*_READ, "u", "d"}
_DELETE = "d"
_UNAVAILABLE = "__debezium_unavailable_value"
"""In place of a value that an update has not changed, and that the database did not log."""
_REFUSED = {
    "u": "an update of a row",
    "d": "a delete of a row",
    "t": "a truncate of the table",
    "m": "a message of the database",
}
_MOST_SHOWN = 5
_SCHEMA, _PAYLOAD = '"schema":{', ',"payload":'
_MOST_SCHEMAS = 64
_MOST_DIGITS = 1000
_SCALE = re.compile("-?[0-9]{1,4}")

Row = dict[str, Any]
_Convert = Callable[[Any], Any]
_Converters = Mapping[str, _Convert]


@frozen
class Columns:
    """The columns that a source reads. `every`: for each attribute that all rows have, its names: a row has a column of
    one of them. `known`: the columns that any attribute reads."""

    every: tuple[tuple[str, ...], ...] = ()
    known: frozenset[str] = frozenset()

    def fault(self, columns: Sequence[str]) -> str:
        """Returns why rows of these columns are refused, else an empty text."""
        missing = next((names for names in self.every if not any(name in columns for name in names)), None)
        if missing is None:
            return ""
        unread = [name for name in columns if name not in self.known]
        near = suggest(missing[-1], unread)
        unread.sort(key=lambda name: name != near)
        shown = ", ".join(f"`{name}`" for name in unread[:_MOST_SHOWN])
        more = ", ..." if len(unread) > _MOST_SHOWN else ""
        others = f"; no attribute reads {shown}{more}" if unread else ""
        return f"{NO_COLUMN} `{missing[-1]}`{others}"


NO_COLUMNS = Columns()


class RowObject(JsonObject):
    """A row as a tuple. `columns`: the names of its columns. `is_gone`: True for one that was deleted."""

    columns: tuple[str, ...] = ()
    is_gone: bool = False


def columns_in(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the columns of a tuple that `EventReader.row` has made."""
    whole = whole_of(item)
    return whole.columns if isinstance(whole, RowObject) else ()


def is_gone(item: Mapping[str, Any]) -> bool:
    """Returns True for a row that was deleted, of a source that reads last states."""
    whole = whole_of(item)
    return isinstance(whole, RowObject) and whole.is_gone


@frozen
class _Event:
    """A row, and what is known of it: `columns` are those of the table, `envelope` the fields of the event."""

    row: Row
    operation: str
    columns: tuple[str, ...]
    envelope: Mapping[str, Any]


@frozen
class EventReader:
    """Reads the rows of a source. `fields`: those of the event that attributes read, by their first keys. `latest`:
    updates and deletes are read, too; a delete as the row before it."""

    fields: frozenset[str] = frozenset()
    columns: Columns = NO_COLUMNS
    latest: bool = False
    _converters: dict[str, _Converters] = field(factory=dict[str, Any], init=False, eq=False, repr=False)
    """The converters of values, by the text of the schema."""
    _faults: dict[tuple[str, ...], str] = field(factory=dict[Any, str], init=False, eq=False, repr=False)

    @classmethod
    def of(cls, source: Source) -> EventReader:
        """Returns the reader of a source before its first accent, which refuses no row for its columns."""
        fields = frozenset(a.keys[1] for a in source.attributes if a.keys[:1] == (EVENT,))
        return cls(fields | {OPERATION} if source.latest else fields, latest=source.latest)

    def expecting(self, columns: Columns) -> EventReader:
        """Returns the reader that refuses rows without some columns."""
        return self if columns == self.columns else evolve(self, columns=columns)

    def line(self, text: str) -> bytes:
        """Returns the row of an event as a line. Raises `ValueError` with the reason for a line that has none, which
        begins with a code of `rejections` if it is not RQ301."""
        return self._line(*self._event(text))

    def row(self, text: str) -> RowObject:
        """Returns the row of an event. Raises as `line`."""
        beside, event = self._event(text)
        parsed = parse_line(self._line(beside, event).decode())
        row = RowObject(parsed)
        row.line, row.columns, row.is_gone = parsed.line, event.columns, event.operation == _DELETE
        return row

    def _line(self, beside: Row, event: _Event) -> bytes:
        if event.operation not in (_OF_STATES if self.latest else _READ):
            what = _REFUSED.get(event.operation)
            raise ValueError(NO_EVENT if what is None else f"{NO_ROW} {what}")
        if event.operation != _DELETE and (fault := self._fault(event.columns)):
            raise ValueError(fault)
        if self.latest and _UNAVAILABLE in event.row.values():
            raise ValueError(
                "the database did not log all values of the row: `ALTER TABLE ... REPLICA IDENTITY FULL`"
            )
        if self.fields:
            own = {
                COLUMNS: ",".join(event.columns),
                OPERATION: event.operation,
                TIME: _time_of(event.envelope),
            }
            beside[EVENT] = {name: {**event.envelope, **own}.get(name) for name in self.fields}
        try:
            return line_of({**beside, **event.row})
        except UnicodeEncodeError:
            raise ValueError("a text of the row has half a pair of surrogates") from None

    def _fault(self, columns: tuple[str, ...]) -> str:
        fault = self._faults.get(columns)
        if fault is None:
            fault = self._faults[columns] = self.columns.fault(columns)
        return fault

    def _event(self, text: str) -> tuple[Row, _Event]:
        """Returns the fields of the record, which come first on its line, and the event of a line."""
        item, converters = self._parsed(text)
        beside = {name: item.pop(name) for name in [*item] if name.startswith("@") and _is_of_record(name)}
        if converters is None:
            match item:
                case {"schema": dict(schema), "payload": dict(payload), **others} if not others:
                    item, converters = payload, _converters(schema)
                case _:
                    converters = {}
        elif isinstance(payload := item.get("payload"), dict):
            item = payload
        try:
            return beside, _event_of(item, converters, _OF_STATES if self.latest else _READ)
        except BeyondTypeError as problem:
            raise ValueError(str(problem)) from None

    def _parsed(self, text: str) -> tuple[Row, _Converters | None]:
        """Returns the object of a line; without its schema, and with the converters of that, if the schema was seen
        before: most lines have the same one, and it is longer than the row."""
        begin = text.find(_SCHEMA)
        end = text.find(_PAYLOAD, begin) if begin >= 0 and "{" not in text[1:begin] else -1
        if end < 0:
            return _object(text), None
        schema = text[begin:end]
        if (converters := self._converters.get(schema)) is not None:
            return _object(text[:begin] + text[end + 1 :]), converters
        item = _object(text)
        try:
            alone = json.loads(f"{{{schema}}}")
        except ValueError:
            return item, None
        if alone.keys() == {"schema"} and len(self._converters) < _MOST_SCHEMAS:
            self._converters[schema] = _converters(alone["schema"])
        return item, None


def _is_of_record(name: str) -> bool:
    return origin_text((name,)) is not None


def _object(text: str) -> Row:
    try:
        item = None if is_too_deep(text) else json.loads(text, parse_float=number_text)
    except ValueError:
        item = None
    match item:
        case dict(row):
            return row
        case _:
            raise ValueError(NO_OBJECT)


def _event_of(item: Row, converters: _Converters, read: Set[str]) -> _Event:
    match item:
        case {"op": str(operation), "after": after, **envelope}:
            before = envelope.pop("before", None)
            row = before if operation == _DELETE else after
            if operation in read and not isinstance(row, dict):
                name = "before" if operation == _DELETE else "after"
                raise ValueError(f"{NO_EVENT}: it has no row `{name}`")
            row = _converted(row, converters) if operation in read else {}
            return _Event(row, operation, tuple(row), envelope)
        case {"op": "t" | "m" as operation}:
            return _Event({}, operation, (), item)
        case {"__op": str(operation)}:
            row = _converted(item, converters)
            return _Event(row, operation, tuple(name for name in row if not name.startswith("__")), {})
        case {"__deleted": _}:
            raise ValueError(f"{NO_EVENT}: it is flattened without `__op`, which `add.fields=op` adds")
        case _:
            raise ValueError(NO_EVENT)


def _converted(row: Row, converters: _Converters) -> Row:
    for name, convert in converters.items():
        if (value := row.get(name)) is not None:
            row[name] = convert(value)
    return row


def _time_of(envelope: Mapping[str, Any]) -> str | None:
    """Returns the time at which the database has changed a row, in UTC."""
    milliseconds: Any
    match envelope:
        case {"source": {"ts_ms": milliseconds}} if milliseconds is not None:
            pass
        case _:
            milliseconds = envelope.get("ts_ms")
    try:
        return moment_text(milliseconds, 3) if isinstance(milliseconds, int) else None
    except BeyondTypeError:
        return None


# --- values by the schema of Kafka Connect ---------------------------------------------------------------------------


def _converters(schema: Mapping[str, Any]) -> _Converters:
    """Returns what converts the values of columns by the schema of an event, or of a flattened row."""
    fields = _fields_in(schema)
    named = {str(one["field"]): one for one in fields if isinstance(one.get("field"), str)}
    row = _fields_in(named["after"]) if "after" in named and "op" in named else fields
    converters: dict[str, _Convert] = {}
    for column in row:
        match column:
            case {"field": str(name), "name": str(type_), **others} if type_ in _CONVERT:
                converters[name] = _CONVERT[type_](others)
            case _:
                pass
    return converters


def _fields_in(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    fields = schema.get("fields")
    return [one for one in fields if isinstance(one, dict)] if isinstance(fields, list) else []  # type: ignore[reportUnknownVariableType]


def _whole(convert: Callable[[int], str]) -> Callable[[Mapping[str, Any]], _Convert]:
    """Returns what converts whole numbers; any other value stays."""
    return lambda schema: lambda value: convert(value) if type(value) is int else value


def _decimals(schema: Mapping[str, Any]) -> _Convert:
    match schema:
        case {"parameters": {"scale": str(scale)}} if _SCALE.fullmatch(scale) is not None:
            return lambda value: _decimal(value, int(scale))
        case _:
            return lambda value: value


def _decimal(value: Any, scale: int) -> Any:
    """Returns a number from its bytes in base64. A number, another text and what no `decimal` can be stay."""
    if not isinstance(value, str) or abs(scale) > _MOST_DIGITS:
        return value
    try:
        number = int.from_bytes(b64decode(value, validate=True), signed=True)
        return decimal_text(number * 10 ** max(-scale, 0), max(scale, 0))
    except ValueError:
        return value


def _variable_decimal(value: Any) -> Any:
    match value:
        case {"scale": int(scale), "value": str(data)}:
            return _decimal(data, scale)
        case _:
            return value


def _moments(digits: int) -> Callable[[Mapping[str, Any]], _Convert]:
    """Returns what converts local times: the type has no zone."""
    return _whole(lambda value: moment_text(value, digits, ""))


_TIME, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
_CONVERT: Mapping[str, Callable[[Mapping[str, Any]], _Convert]] = {
    f"{_TIME}Date": _whole(date_text),
    f"{_TIME}Timestamp": _moments(3),
    f"{_TIME}MicroTimestamp": _moments(6),
    f"{_TIME}NanoTimestamp": _moments(9),
    f"{_TIME}Time": _whole(lambda value: time_text(value, 3)),
    f"{_TIME}MicroTime": _whole(lambda value: time_text(value, 6)),
    f"{_TIME}NanoTime": _whole(lambda value: time_text(value, 9)),
    f"{_CONNECT}Date": _whole(date_text),
    f"{_CONNECT}Time": _whole(lambda value: time_text(value, 3)),
    f"{_CONNECT}Timestamp": _moments(3),
    f"{_CONNECT}Decimal": _decimals,
    "io.debezium.data.VariableScaleDecimal": lambda schema: _variable_decimal,
}
"""Types of columns whose values have another form in JSON than their attributes. The values of others stay
unchanged."""
