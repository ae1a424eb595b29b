"""The fields of a schema of Protobuf, those of its first message: their paths, types, units and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.records.protobuf_schemas import parsed_schema
from cedilla.runtime.control.schemas.fields import UNITS, SchemaField

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int"),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32", "uint64", "fixed64"), "long"),
    **dict.fromkeys(("float", "double"), "double"),
    "bool": "boolean",
    "string": "string",
    "enum": "string",
}
_MESSAGES: Mapping[str, tuple[str, str | None]] = {
    "google.protobuf.Timestamp": ("timestamp", None),
    "google.protobuf.Duration": ("double", "s"),
    "confluent.type.Decimal": ("double", None),
    **{
        f"google.protobuf.{name}Value": (type_, None)
        for name, type_ in {
            **dict.fromkeys(("Double", "Float"), "double"),
            **dict.fromkeys(("Int64", "UInt64", "UInt32"), "long"),
            "Int32": "int",
            "Bool": "boolean",
            "String": "string",
        }.items()
    },
    **{
        f"google.protobuf.{name}": ("", None)
        for name in ("Struct", "Value", "ListValue", "BytesValue", "Any")
    },
}
"""The types of attributes that read messages which everyone knows, and their units."""


def protobuf_fields(text: str, imported: Mapping[str, str]) -> dict[FieldPath, SchemaField]:
    """Returns the fields of the first message of a schema by their paths. `imported`: as `parsed_schema` has it.

    Raises `ValueError` if the schema is not valid.
    """
    schema = parsed_schema(text, imported)
    message = schema.message((0,))
    return {
        one.path: one
        for one in _fields(message, _Place(names=(message.full_name,)), _Options.of(schema.pool))
    }


@frozen
class _Place:
    """The place of the fields of a message. `names`: those of the messages around it."""

    path: FieldPath = ()
    numbers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    is_optional: bool = False


def _fields(message: Any, at: _Place, options: _Options) -> Iterator[SchemaField]:
    """Yields the fields of a message, those of nested messages at their paths. One within itself is left out."""
    for one in message.fields:
        inner = _Place(
            (*at.path, one.name),
            (*at.numbers, one.number),
            at.names,
            at.is_optional or (one.has_presence and not one.is_repeated),
        )
        kind = one.message_type
        own = SchemaField(
            inner.path, "", _stored(one), inner.is_optional, options.unit(one), numbers=inner.numbers
        )
        if one.is_repeated:
            is_texts = kind is None and _stored(one) == "repeated string"
            yield evolve(own, type="list of string" if is_texts else "")
        elif kind is None:
            symbols = () if one.enum_type is None else tuple(one.enum_type.values)
            names, codes = tuple(v.name for v in symbols), tuple(v.number for v in symbols)
            yield evolve(own, type=_TYPES.get(_stored(one), ""), symbols=names, codes=codes)
        elif kind.full_name in _MESSAGES:
            type_, unit = _MESSAGES[kind.full_name]
            yield evolve(own, type=type_, unit=own.unit or unit)
        elif kind.full_name not in at.names:
            yield from _fields(kind, evolve(inner, names=(*at.names, kind.full_name)), options)


def _stored(one: Any) -> str:
    """Returns the type of a field as a schema has it."""
    kind = one.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return "map"
    names = {value: name for name, value in vars(type(one)).items() if name.startswith("TYPE_")}
    name = str(kind.name) if kind is not None else str(names[one.type]).removeprefix("TYPE_").lower()
    return f"repeated {name}" if one.is_repeated else name


@frozen(eq=False)
class _Options:
    """The options of fields that a schema defines, or that of Confluent for metadata. `kind`: their class."""

    kind: Any

    @classmethod
    def of(cls, pool: Any) -> _Options:
        """Returns the options in a pool of descriptors."""
        from google.protobuf.message_factory import GetMessageClass

        try:
            return cls(GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FieldOptions")))
        except KeyError:  # no file defines options
            return cls(None)

    def unit(self, one: Any) -> str | None:
        """Returns the unit that an option of a field names: `unit`, `ucumUnit`, or such a parameter of metadata."""
        if self.kind is None:
            return None
        values: dict[str, Any] = {}
        for option, value in self.kind.FromString(one.GetOptions().SerializeToString()).ListFields():
            if option.full_name == "confluent.field_meta":
                values |= dict(value.params)
            elif option.is_extension:
                values[option.name] = value
        return next((str(values[name]) for name in UNITS if name in values), None)
