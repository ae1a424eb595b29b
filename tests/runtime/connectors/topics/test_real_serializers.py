"""Records that Confluent's own serializers write, in Avro, JSON and Protobuf, with ids in frames and in headers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.records.protobuf_schemas import parsed_schema
from cedilla.runtime.connectors.topics.record_lines import ID_HEADER
from cedilla.runtime.connectors.topics.registry import FramedRecords
from tests.kit.kafka import Broker
from tests.kit.registry import Registry, record_schema, registry
from tests.runtime.connectors.topics.topic_query import TopicQuery

# The library makes their constructors while it loads, so no type is known of them.
AVRO_SERIALIZER: Any = AvroSerializer
JSON: Any = JSONSerializer
PROTOBUF: Any = ProtobufSerializer

AVRO = record_schema(
    {"name": "ts", "type": "long"},
    {"name": "t", "type": "double"},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OFF", "ON"]}},
    {"name": "site", "type": ["null", record_schema({"name": "name", "type": "string"}, name="Site")]},
)
OTHER = 'syntax = "proto3"; message Site { string name = 1; }'
PROTO = """
syntax = "proto3";
import "site.proto";
import "google/protobuf/timestamp.proto";
message First { int32 n = 1; }
enum State { OFF = 0; ON = 1; }
message Reading { int64 ts = 1; double t = 2; State state = 3; optional Site site = 4; }
"""
JSON_SCHEMA = {"type": "object", "title": "Reading", "properties": {"ts": {"type": "integer"}}}


@frozen
class Record:
    """What a serializer makes of a tuple: a value, and headers."""

    value: bytes
    headers: list[tuple[str, Any]]

    def line(self, schemas: Registry) -> Any:
        """The tuple that is read of it."""
        return json.loads(
            FramedRecords.of(schemas.address).line(self.value, dict(self.headers).get(ID_HEADER))
        )


def item(ts: int, site: str | None = "a") -> dict[str, Any]:
    own: dict[str, Any] = {"ts": ts, "t": 20.5, "state": "ON"}
    return own if site is None else {**own, "site": {"name": site}}


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        yield started


def serializers(client: Any, **own: Any) -> dict[str, Callable[[Any, Any], bytes | None]]:
    schema = parsed_schema(PROTO, {"site.proto": OTHER})
    reading = GetMessageClass(schema.message((1,)))
    protobuf = PROTOBUF(reading, client, {"use.deprecated.format": False, **own})
    avro = AVRO_SERIALIZER(client, json.dumps(AVRO), conf=own)
    return {
        "avro": lambda one, context: avro({"site": None, **one}, context),
        "json": JSON(json.dumps(JSON_SCHEMA), client, conf=own),
        "protobuf": lambda one, context: protobuf(json_format.ParseDict(one, reading()), context),
    }


def written(serialize: Callable[[Any, Any], bytes | None], one: Any) -> Record:
    headers: list[tuple[str, str | bytes | None]] = []
    context = SerializationContext("r", MessageField.VALUE, headers)
    content = serialize(one, context)
    assert content is not None
    return Record(content, headers)


@pytest.mark.parametrize("kind", ["avro", "json", "protobuf"])
@pytest.mark.parametrize("is_in_header", [False, True])
def test_a_record_is_what_its_serializer_wrote(kind: str, is_in_header: bool, schemas: Registry) -> None:
    own = {"schema.id.serializer": header_schema_id_serializer} if is_in_header else {}
    client = SchemaRegistryClient.new_client({"url": schemas.address})
    record = written(serializers(client, **own)[kind], item(5))
    assert bool(record.headers) == is_in_header
    assert record.line(schemas) == item(5)


def test_known_types_may_be_references(schemas: Registry) -> None:
    client = SchemaRegistryClient.new_client({"url": schemas.address})
    reading = GetMessageClass(parsed_schema(PROTO, {"site.proto": OTHER}).message((1,)))
    all_types = PROTOBUF(reading, client, {"use.deprecated.format": False, "skip.known.types": False})
    record = written(
        lambda one, context: all_types(json_format.ParseDict(one, reading()), context), item(5, None)
    )
    assert "google/protobuf/timestamp.proto" in schemas.subjects
    assert record.line(schemas) == item(5, None)


QUERY = """
stream r(schema: int from record "schema", ts: long, t: double, state: string, site?: string from "site.name")
  from kafka "ADDRESS" registry "REGISTRY";
emit r to json "OUT";
"""


@pytest.mark.rest
@pytest.mark.parametrize("engine", ["sail", "spark"])
def test_formats_are_interleaved_in_a_topic(
    engine: str, kafka: Broker, schemas: Registry, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A restart reads on, with the registry away."""
    spark: SparkSession = request.getfixturevalue(engine)
    name = f"interleaved_{engine}"
    of = TopicQuery(spark, kafka.topic(name, 1), tmp_path, QUERY.replace("REGISTRY", schemas.address))
    serialize = serializers(SchemaRegistryClient.new_client({"url": schemas.address}))
    kinds = [*serialize]
    producer = Producer({"bootstrap.servers": kafka.address})

    def send(*numbers: int) -> None:
        for ts in numbers:
            record = written(serialize[kinds[ts % 3]], item(ts, "a" if ts % 2 else None))
            producer.produce(name, record.value, headers=record.headers)
        producer.flush()

    send(0, 1, 2, 3, 4, 5)
    of.run()
    schemas.stop()
    send(6, 7, 8)
    of.run(records_per_epoch=1)
    rows = [(o["ts"], o["t"], o["state"], o.get("site")) for o in of.tuples]
    assert sorted(rows, key=lambda row: row[0]) == [
        (ts, 20.5, "ON", "a" if ts % 2 else None) for ts in range(9)
    ]
    ids = [o["schema"] for o in sorted(of.tuples, key=lambda o: o["ts"])]
    assert (ids[:3] * 3, len(set(ids))) == (ids, 3)
    assert of.quarantine() == []
