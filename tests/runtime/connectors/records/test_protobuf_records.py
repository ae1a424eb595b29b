"""Records of Protobuf as lines of JSON, written by the official library."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from random import Random
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass

from cedilla.runtime.connectors.records.json_objects import parse_line
from cedilla.runtime.connectors.records.protobuf_records import ProtobufReader
from cedilla.runtime.connectors.records.protobuf_schemas import parsed_schema
from tests.kit.errors import error_of
from tests.kit.tiers import tiered

IMPORTS = """
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "confluent/type/decimal.proto";
import "confluent/meta.proto";
"""
HEAD = f'syntax = "proto3";\n{IMPORTS}\nenum State {{ OFF = 0; ON = 1; }}\nmessage Inner {{ int32 y = 1; }}\n'


def message_of(text: str, item: Any, indexes: tuple[int, ...] = (1,)) -> Any:
    """A message that the library makes of its own form of JSON."""
    kind = GetMessageClass(parsed_schema(text, {}).message(indexes))
    return json_format.ParseDict(item, kind())


def line_of(fields: str, item: Any) -> str:
    text = f"{HEAD} message R {{ {fields} }}"
    return ProtobufReader(text, {}).line(b"\2\2" + message_of(text, item).SerializeToString()).decode()


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    tiered(
        [
            ("google.protobuf.Timestamp", "2024-01-02T03:04:05.678Z", '"2024-01-02T03:04:05.678000000Z"'),
            ("google.protobuf.Duration", "90.25s", "90.250000000"),
            ("State", "ON", '"ON"'),
            ("map<string, int32>", {"a.b": 1}, '{"a.b":1}'),
            ("int32", -5, "-5"),
            ("sint64", -(2**63), "-9223372036854775808"),
            ("uint64", 2**64 - 1, "18446744073709551615"),
            ("double", 0.1, "0.1"),
            ("double", "Infinity", "Infinity"),
            ("float", 0.5, "0.5"),
            ("bool", True, "true"),
            ("string", 'a "line"\nand é', '"a \\"line\\"\\nand é"'),
            ("bytes", "AP8=", '"AP8="'),
            ("State", 7, '"7"'),
            ("Inner", {"y": 1}, '{"y":1}'),
            ("repeated string", ["a", "b"], '["a","b"]'),
            ("repeated State", ["ON", "OFF"], '["ON","OFF"]'),
            ("repeated Inner", [{"y": 1}, {}], '[{"y":1},{"y":0}]'),
            ("map<bool, State>", {"true": "ON"}, '{"true":"ON"}'),
            ("google.protobuf.Timestamp", "1969-12-31T23:59:59.5Z", '"1969-12-31T23:59:59.500000000Z"'),
            ("google.protobuf.Duration", "-0.5s", "-0.500000000"),
            ("google.protobuf.DoubleValue", 0.0, "0.0"),
            ("google.protobuf.StringValue", "", '""'),
            ("google.protobuf.BytesValue", "AP8=", '"AP8="'),
            ("google.protobuf.Struct", {"a": [1.5, None, {"b": True}]}, '{"a":[1.5,null,{"b":true}]}'),
            ("confluent.type.Decimal", {"value": "MDk=", "scale": 2}, "123.45"),
            ("confluent.type.Decimal", {"value": "/w==", "scale": 3}, "-0.001"),
            ("confluent.type.Decimal", {"value": "BQ==", "scale": -2}, "500"),
        ],
        count=4,
    ),
)
def test_a_value_has_its_form_in_json(type_: str, value: Any, expected: str) -> None:
    assert line_of(f"{type_} x = 1;", {"x": value}) == f'{{"x":{expected}}}'


def test_a_field_that_may_lack_a_value_is_left_out() -> None:
    """A plain field cannot lack one: its value is then that of its type."""
    fields = "int32 a = 1; optional int32 b = 2; oneof c { int32 d = 3; Inner e = 4; } Inner f = 5;"
    fields += "repeated int32 g = 6;"
    assert line_of(fields, {}) == '{"a":0,"g":[]}'
    assert (
        line_of(fields, {"a": 1, "b": 0, "e": {}, "f": {}}) == '{"a":1,"b":0,"e":{"y":0},"f":{"y":0},"g":[]}'
    )


def test_a_message_may_contain_itself() -> None:
    assert line_of("int32 n = 1; R child = 2;", {"n": 1, "child": {"n": 2}}) == '{"n":1,"child":{"n":2}}'


def test_a_record_is_of_the_message_that_its_indexes_name() -> None:
    text = (
        'syntax = "proto3"; message A { message B { int32 n = 1; } string s = 1; } message C { bool c = 1; }'
    )
    reader = ProtobufReader(text, {})
    assert reader.line(b"\0" + b"\x0a\x01z") == b'{"s":"z"}'
    assert reader.line(b"\2\0" + b"\x0a\x01z") == b'{"s":"z"}'
    assert reader.line(b"\4\0\0" + b"\x08\x05") == b'{"n":5}'
    assert reader.line(b"\2\2" + b"\x08\x01") == b'{"c":true}'


def test_a_schema_may_be_a_descriptor_in_base64() -> None:
    text = 'syntax = "proto3"; import "a/b.proto"; message R { X x = 1; }'
    imported = {"a/b.proto": 'syntax = "proto3"; message X { int32 n = 1; }'}
    schema = parsed_schema(text, imported)
    other = b64encode(schema.file.serialized_pb).decode()
    of_import = b64encode(schema.file.dependencies[0].serialized_pb).decode()
    for main, named in (
        (other, imported),
        (text, {"a/b.proto": of_import}),
        (other, {"a/b.proto": of_import}),
    ):
        assert ProtobufReader(main, named).line(b"\0\x0a\x02\x08\x05") == b'{"x":{"n":5}}'


def test_the_old_syntax_has_defaults_that_are_no_values() -> None:
    text = 'syntax = "proto2"; message R { optional int32 n = 1 [default = 5]; required string s = 2; }'
    reader = ProtobufReader(text, {})
    assert reader.line(b"\0\x12\x01a") == b'{"s":"a"}'
    with pytest.raises(ValueError, match="not UTF-8"):
        reader.line(b"\0\x12\x01\xff")


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (b"", "cut off in the index"),
        (b"\x80", "cut off in the index"),
        (b"\1", "does not begin with the index"),
        (b"\2\x08", "no message 4"),
        (b"\2\1", "no message -1"),
        (b"\4\0\0", "no message 0.0"),
        (b"\0\x09\0", "is cut off"),
        (b"\0\x0a\x01a", "not of its schema"),
        (b"\0\x1a\x01\xff", "not of its schema"),
        (b"\0\x2a\x09\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "outside of the years"),
        (b"\0\x32\x06\x18\xff\xff\xff\xff\x07", "more than 1,000 digits"),
        (b"\0\x3a\x10\x0a\x0e\x0a\1a\x12\x09\x11" + b"\0\0\0\0\0\0\xf0\x7f", "not finite"),
    ],
)
def test_what_is_not_of_its_schema_has_a_reason(record: bytes, why: str) -> None:
    fields = "double t = 1; string s = 3; google.protobuf.Timestamp at = 5; confluent.type.Decimal d = 6;"
    text = f'syntax = "proto3"; {IMPORTS} message R {{ {fields} google.protobuf.Struct o = 7; }}'
    with pytest.raises(ValueError, match=why):
        ProtobufReader(text, {}).line(record)


@pytest.mark.parametrize(
    ("text", "imported", "why"),
    [
        ("message", {}, "schema.proto:1:8"),
        ('syntax = "proto3"; import "b.proto";', {}, "b.proto: File not found"),
        ('syntax = "proto3";', {"../b.proto": ""}, "not one of a registry"),
        ('syntax = "proto3";', {"/b.proto": ""}, "not one of a registry"),
    ],
)
def test_a_schema_that_is_not_valid_is_refused(text: str, imported: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ProtobufReader(text, imported)


def test_bytes_of_any_kind_are_a_line_or_have_a_reason() -> None:
    fields = """int32 a = 1; string s = 2; repeated double r = 3; map<string, Inner> m = 4; State e = 5;
        google.protobuf.Timestamp at = 6; google.protobuf.Duration d = 7; google.protobuf.Struct o = 8;
        confluent.type.Decimal p = 9; oneof x { bytes b = 10; Inner i = 11; }"""
    text = f"{HEAD} message R {{ {fields} }}"
    item = {
        "a": 1,
        "s": "é",
        "r": [1.5],
        "m": {"k": {"y": 2}},
        "e": "ON",
        "at": "2024-01-02T03:04:05Z",
        "d": "1s",
    }
    item |= {"o": {"x": 1}, "p": {"value": "MDk=", "scale": 2}, "b": "AP8="}
    whole = b"\2\2" + message_of(text, item).SerializeToString()
    reader, random, read = ProtobufReader(text, {}), Random(7), 0
    for _ in range(3000):
        record = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            record[random.randrange(len(record))] = random.randrange(256)
        try:
            line = reader.line(bytes(record[: random.randint(1, len(record))]))
        except ValueError:
            continue
        assert b"\n" not in line
        parse_line(line.decode())
        read += 1
    assert read > 100
    assert json.loads(reader.line(whole))["p"] == 123.45


def test_without_its_compiler_a_record_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc_tools", None)
    error = error_of(lambda: ProtobufReader('syntax = "proto3"; message Unread { int32 n = 1; }', {}))
    assert (error.code, error.help) == ("RQ442", "pip install 'cedilla[protobuf]'")
