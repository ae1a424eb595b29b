"""Records of Avro as lines of JSON, with another writer's bytes."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import fastavro
import fastavro.read
import pytest

from cedilla.runtime.connectors.records.avro import AvroReader
from cedilla.runtime.connectors.records.json_objects import parse_line
from tests.kit.errors import error_of
from tests.kit.registry import avro, record_schema

AT = datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)
ENUM = {"type": "enum", "name": "State", "symbols": ["ON", "OFF"]}


def logical(type_: str, logical_type: str, **parameters: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": logical_type, **parameters}


def line_of(type_: Any, value: Any) -> str:
    schema = record_schema({"name": "x", "type": type_})
    return AvroReader(json.dumps(schema)).line(avro(schema, {"x": value})).decode()


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("long", -(2**63), "-9223372036854775808"),
        ("double", 0.1, "0.1"),
        ("double", float("inf"), "Infinity"),
        ("float", 0.5, "0.5"),
        ("boolean", True, "true"),
        ("string", 'a "line"\nand é', '"a \\"line\\"\\nand é"'),
        (["null", "double"], None, "null"),
        (["null", "double"], 2.5, "2.5"),
        (ENUM, "OFF", '"OFF"'),
        ("bytes", b"\0\xff", '"AP8="'),
        ({"type": "fixed", "name": "F", "size": 2}, b"\0\xff", '"AP8="'),
        ({"type": "array", "items": "string"}, ["a", "b"], '["a","b"]'),
        ({"type": "map", "values": "int"}, {"a.b": 1}, '{"a.b":1}'),
        (record_schema({"name": "y", "type": "int"}, name="Inner"), {"y": 1}, '{"y":1}'),
        (logical("long", "timestamp-millis"), AT, '"2024-01-02T03:04:05.678Z"'),
        (logical("long", "timestamp-micros"), AT, '"2024-01-02T03:04:05.678901Z"'),
        (logical("long", "timestamp-micros"), -1, '"1969-12-31T23:59:59.999999Z"'),
        (logical("long", "timestamp-nanos"), 10**18 + 1, '"2001-09-09T01:46:40.000000001Z"'),
        (logical("long", "local-timestamp-millis"), 1000, '"1970-01-01T00:00:01.000"'),
        (logical("int", "date"), date(2024, 2, 29), '"2024-02-29"'),
        (logical("int", "time-millis"), time(3, 4, 5, 678000), '"03:04:05.678"'),
        (logical("long", "time-micros"), 1, '"00:00:00.000001"'),
        (logical("string", "uuid"), str(UUID(int=1)), f'"{UUID(int=1)}"'),
        (logical("fixed", "uuid", name="U", size=16), UUID(int=1).bytes, f'"{UUID(int=1)}"'),
        (logical("bytes", "decimal", precision=6, scale=2), Decimal("-0.05"), "-0.05"),
        (logical("bytes", "decimal", precision=6, scale=2), Decimal("1234.50"), "1234.50"),
        (logical("bytes", "decimal", precision=38), Decimal(10**37), "1" + "0" * 37),
        (
            logical("fixed", "decimal", name="D", size=8, precision=18, scale=6),
            Decimal("0.000001"),
            "0.000001",
        ),
        (["null", logical("bytes", "decimal", precision=4, scale=1)], Decimal("1.5"), "1.5"),
        (logical("long", "unheard-of"), 5, "5"),
        (logical("bytes", "decimal"), b"\1", '"AQ=="'),
    ],
)
def test_a_value_becomes_the_text_of_its_type(type_: Any, value: Any, text: str) -> None:
    line = line_of(type_, value)
    assert line == f'{{"x":{text}}}'
    assert parse_line(line)["x"] is not ...


def test_readers_of_the_rest_of_a_process_stay_as_they_are() -> None:
    schema = record_schema({"name": "x", "type": logical("long", "timestamp-millis")})
    AvroReader(json.dumps(schema))
    read = fastavro.schemaless_reader(io.BytesIO(avro(schema, {"x": AT})), schema, None)
    assert read == {"x": AT.replace(microsecond=678000)}


def test_a_type_of_a_union_is_that_of_the_writer() -> None:
    """One branch is a moment, the other a text that looks like a decimal."""
    union = [logical("long", "timestamp-millis"), "string", logical("bytes", "decimal", precision=4, scale=2)]
    assert line_of(union, AT) == '{"x":"2024-01-02T03:04:05.678Z"}'
    assert line_of(union, "1.50") == '{"x":"1.50"}'
    assert line_of(union, Decimal("1.50")) == '{"x":1.50}'


def test_schemas_refer_to_others_and_to_themselves() -> None:
    site = record_schema({"name": "code", "type": "string"}, name="org.Site")
    plant = record_schema({"name": "site", "type": "org.Site"}, name="org.Plant")
    whole = record_schema(
        {"name": "plant", "type": "org.Plant"}, {"name": "next", "type": ["null", "Reading"]}
    )
    names: dict[str, Any] = {}
    for schema in (site, plant):
        fastavro.parse_schema(schema, names)
    inner = {"plant": {"site": {"code": "b"}}, "next": None}
    record = avro(whole, {"plant": {"site": {"code": "a"}}, "next": inner}, names)
    reader = AvroReader(json.dumps(whole), [json.dumps(site), json.dumps(plant)])
    assert json.loads(reader.line(record))["next"]["plant"]["site"]["code"] == "b"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("long", "not that of a record"),
        (record_schema({"name": "x", "type": "Nobody"}), "`Nobody`"),
        ({"type": "record", "name": "R"}, "not valid"),
        (record_schema({"type": "int"}), "not valid"),
    ],
)
def test_a_schema_that_is_none_of_tuples_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        AvroReader(json.dumps(schema))


WHOLE = record_schema(
    {"name": "at", "type": logical("long", "timestamp-micros")},
    {"name": "t", "type": ["null", "double"]},
    {"name": "state", "type": ENUM},
    {"name": "price", "type": logical("bytes", "decimal", precision=9, scale=2)},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
)
RECORD = avro(
    WHOLE, {"at": AT, "t": 20.5, "state": "ON", "price": Decimal("12.50"), "tags": ["a", "ü", "line\n"]}
)


@pytest.mark.parametrize("length", range(len(RECORD)))
def test_a_cut_record_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="cut off"):
        AvroReader(json.dumps(WHOLE)).line(RECORD[:length])


def test_a_record_with_more_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="2 bytes are left"):
        AvroReader(json.dumps(WHOLE)).line(RECORD + b"\0\0")


@pytest.mark.parametrize(
    ("type_", "data", "why"),
    [
        (logical("long", "timestamp-millis"), 10**18, "years 1 to 9999"),
        (logical("int", "date"), 2**31 - 1, "years 1 to 9999"),
        (logical("int", "time-millis"), 86_400_000, "not of a day"),
    ],
)
def test_a_value_that_json_cannot_have_is_refused(type_: Any, data: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        line_of(type_, data)


def test_damaged_records_are_tuples_or_refused_with_a_reason() -> None:
    chance, reader = Random(7), AvroReader(json.dumps(WHOLE))
    refused = 0
    for _ in range(5_000):
        damaged = bytearray(RECORD)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            line = reader.line(bytes(damaged))
        except ValueError:
            refused += 1
            continue
        assert b"\n" not in line
        assert parse_line(line.decode())["state"] in ("ON", "OFF")
    assert 1_000 < refused < 5_000


def test_the_package_is_named_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    error = error_of(lambda: AvroReader(json.dumps(WHOLE)))
    assert (error.code, error.help) == ("RQ442", "pip install 'cedilla[avro]'")


def test_the_moments_of_all_days_are_read_back() -> None:
    chance = Random(3)
    for _ in range(200):
        moment = AT + timedelta(microseconds=chance.randint(-(10**16), 10**16))
        text = json.loads(line_of(logical("long", "timestamp-micros"), moment))["x"]
        assert datetime.fromisoformat(text) == moment
