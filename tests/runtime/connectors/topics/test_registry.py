"""Schemas of a registry, and the lines of records that name them; without a broker."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cedilla.compiler.compile import plan_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.connectors.records.record_files import fault_of, record_of
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.kafka_client import PROPERTIES
from cedilla.runtime.connectors.topics.registry import FramedRecords, SchemaRegistry
from tests.kit.errors import code_of, error_of
from tests.kit.registry import Registry, avro, framed, record_schema, registry

OLD = record_schema({"name": "temperature", "type": "double"})
NEW = record_schema({"name": "temp", "type": "float"}, {"name": "site", "type": "string"})


@pytest.fixture
def schemas(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setattr("cedilla.runtime.connectors.topics.registry._RETRIES", 0)
    with registry() as started:
        started.register("readings-value", 1, OLD)
        started.register("readings-value", 7, NEW)
        yield started


def test_each_record_is_read_by_the_schema_that_it_names(schemas: Registry) -> None:
    records = FramedRecords.of(schemas.address)
    lines = [
        records.line(framed(7, avro(NEW, {"temp": 0.5, "site": "a"}))),
        records.line(framed(1, avro(OLD, {"temperature": 32.5}))),
        records.line(framed(7, avro(NEW, {"temp": 1.5, "site": "b"}))),
    ]
    assert lines == [b'{"temp":0.5,"site":"a"}', b'{"temperature":32.5}', b'{"temp":1.5,"site":"b"}']
    assert len(schemas.asked) == 2


def test_an_id_may_be_in_a_header_or_a_uuid(schemas: Registry) -> None:
    guid = UUID(int=2**100 + 5)
    schemas.register("readings-value", guid.int, OLD)
    record, records = avro(OLD, {"temperature": 1.5}), FramedRecords.of(schemas.address)
    for value, head in (
        (b"\1" + guid.bytes + record, None),
        (record, b"\1" + guid.bytes),
        (record, framed(1, b"")),
    ):
        assert records.line(value, head) == b'{"temperature":1.5}'


def test_json_has_a_frame_too(schemas: Registry) -> None:
    schemas.register("readings-value", 8, {"type": "object"}, "JSON")
    records = FramedRecords.of(schemas.address)
    assert records.line(framed(8, b'{"t":\n 1}')) == b'{"t":  1}'


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (b'{"temperature": 1.5}', "does not begin with the id"),
        (b"\x02\x04", "does not begin with the id"),
        (b"\0\0\0", "cut off in the id"),
        (framed(1, b"\0\0"), "the record is cut off"),
        (framed(1, b"\0" * 9), "1 bytes are left"),
        (framed(404, b""), "no schema 404"),
        (framed(9, b""), 'schema.proto:1:7: Expected "=". (schema 9)'),
        (framed(10, b""), "not that of a record (schema 10)"),
        (framed(11, b""), "schema 11 is of THRIFT, and Avro, JSON and Protobuf are read"),
    ],
)
def test_what_is_no_tuple_keeps_its_bytes_and_has_a_reason(
    schemas: Registry, record: bytes, why: str
) -> None:
    schemas.register("others", 9, "syntax", "PROTOBUF")
    schemas.register("others", 10, "long")
    schemas.register("others", 11, "struct", "THRIFT")
    line = FramedRecords.of(schemas.address).line(record)
    assert why in fault_of(line)
    assert record_of(line) == record
    assert b"\n" not in line


def test_a_marker_has_no_frame(schemas: Registry) -> None:
    marker = b'{"$accent":\n "[[unit(t, degC)]]"}'
    assert FramedRecords.of(schemas.address).line(marker) == marker.replace(b"\n", b" ")


def test_an_unknown_id_is_asked_for_again_after_a_while(
    schemas: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("cedilla.runtime.connectors.topics.registry.time.monotonic", lambda: now[0])
    records, record = FramedRecords.of(schemas.address), framed(2, avro(OLD, {"temperature": 1.5}))
    assert [bool(fault_of(records.line(record))) for _ in range(3)] == [True] * 3
    assert len(schemas.asked) == 1
    schemas.register("readings-value", 2, OLD)
    now[0] += 10
    assert records.line(record) == b'{"temperature":1.5}'


def test_schemas_in_the_checkpoint_need_no_registry(schemas: Registry, tmp_path: Path) -> None:
    site = record_schema({"name": "code", "type": "string"}, name="Site")
    schemas.register("site", 20, site)
    whole = record_schema({"name": "site", "type": "Site"})
    schemas.register("readings-value", 21, whole, references=[("Site", "site", 1)])
    record = framed(21, b"\x02a")
    folder = str(tmp_path / "schemas")
    assert FramedRecords.of(schemas.address, Files(), folder).line(record) == b'{"site":{"code":"a"}}'
    schemas.stop()
    assert FramedRecords.of(schemas.address, Files(), folder).line(record) == b'{"site":{"code":"a"}}'


def test_an_id_means_another_schema_in_another_registry(schemas: Registry, tmp_path: Path) -> None:
    FramedRecords.of(schemas.address, Files(), str(tmp_path)).line(framed(1, b"\0" * 8))
    with registry() as other:
        other.register("readings-value", 1, NEW)
        record = framed(1, avro(NEW, {"temp": 0.5, "site": "a"}))
        line = FramedRecords.of(other.address, Files(), str(tmp_path)).line(record)
    assert line == b'{"temp":0.5,"site":"a"}'


def test_a_registry_that_is_away_is_named(schemas: Registry) -> None:
    records = FramedRecords.of(schemas.address)
    schemas.stop()
    error = error_of(lambda: records.line(framed(1, b"")))
    assert error.code == "RQ505"
    assert schemas.address in error.message


@pytest.mark.parametrize(("status", "text"), [(401, "HTTP 401"), (500, "HTTP 500")])
def test_a_registry_that_refuses_is_named(schemas: Registry, status: int, text: str) -> None:
    schemas.status = status
    error = error_of(lambda: FramedRecords.of(schemas.address).line(framed(1, b"")))
    assert error.code == "RQ505"
    assert text in error.message


def test_a_missing_reference_is_named(schemas: Registry) -> None:
    schemas.register("readings-value", 30, OLD, references=[("Site", "gone", 3)])
    error = error_of(lambda: FramedRecords.of(schemas.address).line(framed(30, b"")))
    assert (error.code, "version 3 of `gone`" in error.message) == ("RQ505", True)


def test_the_account_is_in_the_file_of_properties(
    schemas: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas.account = "cedilla:pass:word"
    file = tmp_path / "properties"
    file.write_text("schema.registry.basic.auth.user.info=cedilla:pass:word\nclient.id=a\n")
    assert code_of(lambda: FramedRecords.of(schemas.address).line(framed(1, b""))) == "RQ505"
    monkeypatch.setenv(PROPERTIES, str(file))
    assert not fault_of(FramedRecords.of(schemas.address).line(framed(1, b"\0" * 8)))


@pytest.mark.parametrize("line", ["schema.registry.url=http://other:1", "schema.registry.nothing=secret"])
def test_a_wrong_property_is_refused_without_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (tmp_path / "properties").write_text(line)
    monkeypatch.setenv(PROPERTIES, str(tmp_path / "properties"))
    error = error_of(lambda: SchemaRegistry("http://localhost:1"))
    assert error.code == "RQ443"
    assert "secret" not in error.message


def test_a_registry_in_memory_is_that_of_the_library() -> None:
    """The client's own registry agrees with that of these tests."""
    from confluent_kafka.schema_registry import Schema

    own = SchemaRegistry("mock://tests")
    client: Any = own._client
    id_ = client.register_schema("readings-value", Schema(json.dumps(OLD), "AVRO"))
    (version,) = own.versions("readings-value")
    assert (version.number, version.id) == (1, id_)
    assert json.loads(version.schema.text) == OLD
    schema = own.schema(id_)
    assert schema is not None
    assert schema.kind == "AVRO"
    assert own.versions("nothing") == []


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ('kafka "h:9092/r" registry "http://h:8081/schemas"', None),
        ('kafka "h:9092/r" registry "h:8081"', "RQ440"),
        ('kafka "h:9092/r" registry "http://name:secret@h:8081"', "RQ440"),
        ('kafka_otlp "h:9092/r" registry "http://h:8081"', "RQ441"),
        ('json "r" registry "http://h:8081"', "RQ441"),
    ],
)
def test_a_registry_has_an_address_and_is_that_of_a_topic(source: str, code: str | None) -> None:
    query = f'stream r(value: double) from {source}; emit r to json "out";'
    if code is None:
        (read,) = plan_query(parse_query(query)).plan.sources
        assert read.registry == "http://h:8081/schemas"
        return
    error = error_of(lambda: plan_query(parse_query(query)))
    assert error.code == code
    assert "secret" not in error.message


# --- Protobuf ---

SITE = 'syntax = "proto3"; package common; message Site { string name = 1; }'
READING = """
syntax = "proto3";
import "common/site.proto";
message Other { int32 n = 1; }
message Reading { double temp = 1; common.Site site = 2; }
"""
RECORD = b"\x09" + struct.pack("<d", 20.5) + b"\x12\x03\x0a\x01a"


@pytest.fixture
def protobuf(schemas: Registry) -> Registry:
    schemas.register("common/site.proto", 40, SITE, "PROTOBUF")
    reference = ("common/site.proto", "common/site.proto", 1)
    schemas.register("readings-value", 41, READING, "PROTOBUF", [reference])
    return schemas


def test_a_record_of_protobuf_names_its_message_after_the_id(protobuf: Registry) -> None:
    records = FramedRecords.of(protobuf.address)
    line = b'{"temp":20.5,"site":{"name":"a"}}'
    assert records.line(framed(41, b"\2\2" + RECORD)) == line
    assert records.line(RECORD, framed(41, b"\2\2")) == line
    assert records.line(framed(41, b"\0\x08\x05")) == b'{"n":5}'
    guid = UUID(int=2**100 + 5)
    protobuf.schemas[guid.int] = protobuf.schemas[41]
    assert records.line(RECORD, b"\1" + guid.bytes + b"\2\2") == line


def test_schemas_of_protobuf_are_kept_with_those_that_they_import(protobuf: Registry, tmp_path: Path) -> None:
    record = framed(41, b"\2\2" + RECORD)
    line = FramedRecords.of(protobuf.address, Files(), str(tmp_path)).line(record)
    protobuf.stop()
    assert FramedRecords.of(protobuf.address, Files(), str(tmp_path)).line(record) == line
