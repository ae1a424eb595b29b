"""Change events from topics: tombstones, keys of records, Avro by a registry, and a restart."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, simulate
from tests.kit.change_events import captured, compact, event
from tests.kit.kafka import Broker
from tests.kit.registry import Registry, avro, envelope_schema, framed, registry
from tests.kit.stream import is_tuple, read_output
from tests.runtime.connectors.topics.topic_query import TopicQuery

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

JSON = """
stream r(id: long, name?: string, columns: string from change "columns", at: long from record "offset")
  from kafka "ADDRESS" format debezium by id;
accent r [[columns = "id,full_name,born,at,seen,paid,anyn,t,b,g,j,u,iv,arr,d", rename(full_name, name)]];
emit r to json "OUT";
"""
AVRO = """
stream r(id: long, name?: string, at?: timestamp zone "UTC", born?: date, paid?: decimal(9, 2),
         schema: int from record "schema", lsn: long from change "source.lsn")
  from kafka "ADDRESS" registry "REGISTRY" format debezium by id;
accent r [[schema = 5, rename(full_name, name)]];
emit r to json "OUT";
"""


def test_records_of_json_are_rows(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    """A tombstone is skipped, and a restart continues after it; `simulate` gives the same."""
    of = TopicQuery(sail, kafka.topic("rows", 1), tmp_path, JSON)
    lines = captured()
    kafka.send("rows", [*lines[:4], None, lines[4], None])
    of.run()
    kafka.send("rows", [*lines[5:], compact(event("c", {"id": 9}))])
    of.run()
    expected = [(1, "n1", 0), (2, "n2", 1), (3, "x", 2), (4, "z", 7)]
    assert [(row["id"], row["name"], row["at"]) for row in of.tuples] == expected
    assert [aside["code"] for aside in of.quarantine()] == ["RQ540", "RQ540", "RQ540", "RQ541"]
    assert of.quarantine()[0]["raw"].endswith(lines[3][1:])
    rejected: list[str] = []
    simulate(
        of.text, Options(sinks={"r": str(tmp_path / "simulated")}), lambda _, code: rejected.append(code)
    )
    assert [*filter(is_tuple, read_output(tmp_path / "simulated"))] == of.tuples
    assert rejected == ["RQ540", "RQ540", "RQ540", "RQ541"]


def envelope(name: str) -> dict[str, Any]:
    """The schema of a table with a column of this name, as Debezium registers it."""
    times: dict[str, Any] = {
        "at": {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"},
        "born": {"type": "int", "connect.version": 1, "connect.name": "io.debezium.time.Date"},
        "paid": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    }
    columns = [{"name": "id", "type": "long"}, {"name": name, "type": ["null", "string"]}]
    columns += [{"name": n, "type": ["null", type_]} for n, type_ in times.items()]
    return envelope_schema(*columns)


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        started.register("rows-value", 3, envelope("name"))
        started.register("rows-value", 5, envelope("full_name"))
        yield started


def test_records_of_avro_are_rows_by_their_schemas(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    def record(id_: int, operation: str, **row: Any) -> bytes:
        (name,) = (n for n in row if n in ("name", "full_name"))
        whole = {"id": 1, "at": 1_500_000, "born": 1, "paid": Decimal("1.50"), **row}
        item = {"before": None, "after": whole, "source": {"lsn": 7}, "op": operation}
        return framed(id_, avro(envelope(name), item))

    text = AVRO.replace("REGISTRY", schemas.address)
    of = TopicQuery(sail, kafka.topic("avro-rows", 2), tmp_path, text)
    kafka.send(
        "avro-rows",
        [record(3, "r", name="a"), record(5, "c", full_name="b"), record(3, "u", name="c"), None],
        [record(5, "c", full_name=None, born=None), record(3, "c", name="d"), framed(3, b"\x02")],
    )
    of.run()
    tuples = of.tuples
    rows = {(row.pop("schema"), row.pop("name", None), row.pop("born", None)) for row in tuples}
    day = "1970-01-02"
    assert rows == {(3, "a", day), (5, "b", day), (3, "d", day), (5, None, None)}
    assert tuples == [{"id": 1, "at": "1970-01-01T00:00:01.500000Z", "paid": 1.5, "lsn": 7}] * 4
    assert sorted(aside["code"] for aside in of.quarantine()) == ["RQ301", "RQ540"]
