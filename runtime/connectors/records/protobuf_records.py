"""Records of Protobuf as lines of JSON, by the schema of their writer.

Fields have the names of their schema. Enums are texts, and a field without a value that can have none is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen

from cedilla.runtime.connectors.records.protobuf_schemas import ProtobufSchema, parsed_schema
from cedilla.runtime.connectors.records.wire_values import (
    BeyondTypeError,
    base64_text,
    decimal_text,
    line_of,
    moment_text,
)

_NANOS, _MOST_DIGITS = 9, 1000
_FIRST = 1, (0,)
"""The length of the index of the first message, one byte, and the index."""
_Convert = Callable[[Any], Any]


@frozen(eq=False)
class _Message:
    """A message with its class, its converter and the numbers of its fields."""

    kind: Any
    convert: _Convert
    numbers: frozenset[int]


@define(eq=False)
class ProtobufReader:
    """Reads the records of one schema. `imported`: the texts of the files that it and others import, by their paths.

    Raises as `parsed_schema` does.
    """

    text: str
    imported: Mapping[str, str]
    _schema: ProtobufSchema = field(init=False)
    _messages: dict[bytes, _Message] = field(init=False, factory=dict[bytes, "_Message"])
    """By the indexes before records."""
    _converters: _Converters = field(init=False)
    _error: Any = field(init=False)
    _unknown: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._schema = parsed_schema(self.text, self.imported)
        self._converters = _Converters()
        from google.protobuf.message import DecodeError
        from google.protobuf.unknown_fields import UnknownFieldSet

        self._error, self._unknown = DecodeError, UnknownFieldSet

    def line(self, record: bytes) -> bytes:
        """Returns a record, which begins with the indexes of its message, as a line. Raises `ValueError` with the
        reason if it is not of the schema."""
        length, indexes = _FIRST if record[:1] == b"\0" else _indexes(record)
        head = record[:length]
        if (message := self._messages.get(head)) is None:
            message = self._messages[head] = self._message(indexes)
        try:
            item = message.kind.FromString(record[length:])
            # A field of another type contradicts the schema. A field with a new number may be of a newer producer.
            if any(other.field_number in message.numbers for other in self._unknown(item)):
                raise ValueError("the record is not of its schema")
            return line_of(message.convert(item))
        except self._error:
            raise ValueError("the record is not of its schema, or is cut off") from None
        except TypeError:  # in the old syntax a text may have any bytes, which JSON has not
            raise ValueError("a text of the record is not UTF-8") from None
        except BeyondTypeError as problem:
            raise ValueError(str(problem)) from None

    def _message(self, indexes: tuple[int, ...]) -> _Message:
        from google.protobuf.message_factory import GetMessageClass

        descriptor = self._schema.message(indexes)
        convert = self._converters.of_message(descriptor)
        return _Message(GetMessageClass(descriptor), convert, frozenset(descriptor.fields_by_number))


def _indexes(record: bytes) -> tuple[int, tuple[int, ...]]:
    """Returns the indexes before a record, and their length. Raises `ValueError` if they are cut off.

    >>> _indexes(b"\\x00rest")
    (1, (0,))
    >>> _indexes(b"\\x04\\x02\\x00rest")
    (3, (1, 0))
    """
    count, at = _varint(record, 0)
    indexes: list[int] = []
    if not 0 <= count <= len(record):
        raise ValueError("the record does not begin with the index of its message")
    for _ in range(count):
        index, at = _varint(record, at)
        indexes.append(index)
    return at, tuple(indexes) or (0,)


def _varint(record: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(record):
        byte = record[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
    raise ValueError("the record is cut off in the index of its message")


@frozen(eq=False)
class _Converters:
    """Converts messages to objects of JSON, each by its descriptor."""

    _known: dict[str, _Convert] = field(factory=dict[str, _Convert])

    def of_message(self, descriptor: Any) -> _Convert:
        """Returns the converter of a message. One of a message that contains itself is made once."""
        name = str(descriptor.full_name)
        if name in _OF_MESSAGES:
            return _OF_MESSAGES[name]
        if name not in self._known:
            fields: list[tuple[str, bool, _Convert]] = []

            def convert(message: Any) -> dict[str, Any]:
                return {
                    name: of(getattr(message, name))
                    for name, may_lack, of in fields
                    if not may_lack or message.HasField(name)
                }

            self._known[name] = convert
            fields += [(f.name, f.has_presence, self._of_field(f)) for f in descriptor.fields]
        return self._known[name]

    def _of_field(self, one: Any) -> _Convert:
        if not one.is_repeated:
            return self._of_value(one)
        entry = one.message_type
        if entry is not None and entry.GetOptions().map_entry:
            of_value = self._of_value(entry.fields_by_name["value"])
            return lambda values: {_key(key): of_value(values[key]) for key in values}
        of_item = self._of_value(one)
        return lambda values: [of_item(value) for value in values]

    def _of_value(self, one: Any) -> _Convert:
        if one.message_type is not None:
            return self.of_message(one.message_type)
        if one.enum_type is not None:
            names = {number: value.name for number, value in one.enum_type.values_by_number.items()}
            return lambda number: names.get(number, str(number))
        return base64_text if one.type == one.TYPE_BYTES else _same


def _same(value: Any) -> Any:
    return value


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _timestamp(moment: Any) -> str:
    return moment_text(moment.seconds * 10**_NANOS + moment.nanos, _NANOS)


def _duration(length: Any) -> str:
    """Returns seconds, a number with all digits."""
    return decimal_text(length.seconds * 10**_NANOS + length.nanos, _NANOS)


def _decimal(decimal: Any) -> str:
    if abs(decimal.scale) > _MOST_DIGITS or len(decimal.value) * 2 > _MOST_DIGITS:
        raise BeyondTypeError(f"a decimal of the record has more than {_MOST_DIGITS:,} digits")
    number = int.from_bytes(decimal.value, signed=True) * 10 ** max(0, -decimal.scale)
    return decimal_text(number, max(0, decimal.scale))


def _struct(value: Any) -> Any:
    from google.protobuf.json_format import Error, MessageToDict

    try:
        return MessageToDict(value)
    except (Error, ValueError):
        raise BeyondTypeError("a number of the record is not finite, in a Struct") from None


def _wrapped(message: Any) -> Any:
    return message.value


_OF_MESSAGES: Mapping[str, _Convert] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "confluent.type.Decimal": _decimal,
    **{f"google.protobuf.{name}": _struct for name in ("Struct", "Value", "ListValue")},
    "google.protobuf.BytesValue": lambda message: base64_text(message.value),
    **{
        f"google.protobuf.{name}Value": _wrapped
        for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String")
    },
}
"""The converters of messages that everyone knows, by their names."""
