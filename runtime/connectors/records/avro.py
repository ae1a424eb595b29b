"""Records of Avro as lines of JSON, by the schema of their writer.

A value with a logical type becomes the text that its type has in JSON, decimals a number with all digits. The logical
types have names of their own here, because fastavro keeps the readers of all schemas of a process in one table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, cast
from uuid import UUID

from attrs import field, frozen

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.wire_values import (
    BeyondTypeError,
    base64_text,
    date_text,
    decimal_text,
    line_of,
    moment_text,
    time_text,
)

_OWN = "cedilla-"
_MOMENT = {"timestamp": "Z", "local-timestamp": ""}
_DIGITS = {"millis": 3, "micros": 6, "nanos": 9}
_OF_DEBEZIUM: Mapping[str, str] = {
    f"io.debezium.time.{name}": logical
    for name, logical in {
        "Date": "date",
        "Timestamp": "local-timestamp-millis",
        "MicroTimestamp": "local-timestamp-micros",
        "NanoTimestamp": "local-timestamp-nanos",
        "Time": "time-millis",
        "MicroTime": "time-micros",
    }.items()
}
"""The names of Connect's types in schemas that Debezium registers, and the logical types of Avro with their values."""


@frozen(eq=False)
class AvroReader:
    """Reads the records of one schema. `references`: the schemas that it names, each after those that it needs.

    Raises `DiagnosticError` RQ442 if fastavro is not installed, and `ValueError` with the reason for a schema that is
    not valid, or not of a record.
    """

    text: str
    references: Sequence[str] = ()
    _schema: Any = field(init=False)
    _read: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        library = _library()
        names: dict[str, Any] = {}
        try:
            for text in self.references:
                library.parse_schema(_with_own_types(json.loads(text)), names)
            schema = library.parse_schema(_with_own_types(json.loads(self.text)), names)
        except library.schema.UnknownType as problem:
            raise ValueError(f"its schema names `{problem.name}`, which is not known") from None
        except (ValueError, KeyError, TypeError, library.schema.SchemaParseException) as problem:
            raise ValueError(f"its schema is not valid: {problem}") from None
        if not all(map(_is_record, schema if isinstance(schema, list) else [schema])):
            raise ValueError("its schema is not that of a record")
        object.__setattr__(self, "_schema", schema)
        object.__setattr__(self, "_read", library.schemaless_reader)

    def line(self, record: bytes) -> bytes:
        """Returns a record as a line. Raises `ValueError` with the reason if it is not of the schema."""
        stream = BytesIO(record)
        try:
            item = self._read(stream, self._schema, None)
        except EOFError:
            raise ValueError("the record is cut off") from None
        except UnicodeDecodeError:
            raise ValueError("a text of the record is not UTF-8") from None
        except BeyondTypeError as problem:
            raise ValueError(str(problem)) from None
        except (ValueError, IndexError, OverflowError, TypeError, KeyError, MemoryError):
            or_cut = ", or is cut off" if stream.tell() == len(record) else ""
            raise ValueError(f"the record is not of its schema{or_cut}") from None
        if rest := len(record) - stream.tell():
            raise ValueError(f"the record is not of its schema: {rest} bytes are left")
        return line_of(item)


def _library() -> Any:
    try:
        import fastavro
        import fastavro.read
        import fastavro.schema
    except ImportError:
        message = "records of Avro require the package fastavro, which is not installed"
        raise failure("RQ442", message, hint="pip install 'cedilla[avro]'") from None
    fastavro.read.LOGICAL_READERS.update(_READERS)
    return fastavro


def _is_record(schema: Any) -> bool:
    return isinstance(schema, dict) and cast(dict[str, Any], schema).get("type") in ("record", "error")


def _with_own_types(schema: Any) -> Any:
    """Returns a schema with logical types of this module in place of those of Avro."""
    match schema:
        case list():
            return [*map(_with_own_types, cast(list[Any], schema))]
        case "bytes":
            return {"type": "bytes", "logicalType": f"{_OWN}bytes"}
        case dict():
            node = with_connect_type(cast(dict[str, Any], schema))
            kind = node.get("type")
            own = {k: v for k, v in node.items() if k != "logicalType"}
            match kind:
                case "record" | "error":
                    fields = cast(list[dict[str, Any]], node["fields"])
                    own["fields"] = [{**f, "type": _with_own_types(f["type"])} for f in fields]
                case "array" | "map":
                    part = "items" if kind == "array" else "values"
                    own[part] = _with_own_types(node[part])
                case str():
                    logical = _OWN + str(_logical(node))
                    if f"{kind}-{logical}" in _READERS:
                        own["logicalType"] = logical
                case _:
                    own["type"] = _with_own_types(kind)
            return own
        case _:
            return schema


def with_connect_type(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a schema with the logical type that Debezium's name of its type means: its times have no zone."""
    logical = _OF_DEBEZIUM.get(str(node.get("connect.name")))
    return node if logical is None or "logicalType" in node else {**node, "logicalType": logical}


def _logical(node: Mapping[str, Any]) -> str:
    """Returns the logical type of a schema. One without its parameters is ignored, as Avro requires."""
    logical = node.get("logicalType", "bytes")
    if logical == "decimal" and not isinstance(node.get("precision"), int):
        return "bytes"
    return logical if f"{node['type']}-{_OWN}{logical}" in _READERS else "bytes"


# --- logical types -------------------------------------------------------------------------------------------


def _moment(zone: str, digits: int) -> Callable[..., str]:
    return lambda data, *schemas: moment_text(data, digits, zone)


def _day(data: int, *schemas: Any) -> str:
    return date_text(data)


def _time(digits: int) -> Callable[..., str]:
    return lambda data, *schemas: time_text(data, digits)


def _decimal(data: bytes, schema: Mapping[str, Any], *reader: Any) -> str:
    return decimal_text(int.from_bytes(data, signed=True), int(schema.get("scale", 0)))


def _base64(data: bytes, *schemas: Any) -> str:
    return base64_text(data)


_READERS: Mapping[str, Callable[..., str]] = {
    f"{kind}-{_OWN}{logical}": read
    for (kind, logical), read in {
        **{("long", f"{n}-{of}"): _moment(z, d) for n, z in _MOMENT.items() for of, d in _DIGITS.items()},
        ("int", "date"): _day,
        ("int", "time-millis"): _time(_DIGITS["millis"]),
        ("long", "time-micros"): _time(_DIGITS["micros"]),
        **{(kind, "decimal"): _decimal for kind in ("bytes", "fixed")},
        **{(kind, "bytes"): _base64 for kind in ("bytes", "fixed")},
        ("fixed", "uuid"): lambda data, *schemas: str(UUID(bytes=data)),
    }.items()
}
"""The readers of values by type and logical type, as fastavro names them."""
