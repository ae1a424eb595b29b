"""Topics of Avro with a registry of schemas: interleaved ids, restarts, and what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, simulate
from tests.kit.command import cedilla
from tests.kit.kafka import Broker, accent
from tests.kit.registry import Registry, avro, framed, record_schema, registry
from tests.kit.stream import Item, is_tuple, read_output
from tests.runtime.connectors.topics.topic_query import TopicQuery

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

AT = {"type": "long", "logicalType": "timestamp-millis"}
AT_MICROS = {"type": "long", "logicalType": "timestamp-micros"}
OLD = record_schema(
    {"name": "at", "type": AT}, {"name": "s", "type": "int"}, {"name": "t", "type": ["null", "double"]}
)
NEW = record_schema(
    {"name": "at", "type": AT_MICROS},
    {"name": "s", "type": "long"},
    {"name": "temp", "type": "float"},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
)
QUERY = """
stream r(at: timestamp, s: int, t?: double unit degF) from kafka "ADDRESS" registry "REGISTRY";
emit r to json "OUT";
"""


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        started.register("r-value", 3, OLD)
        started.register("r-value", 5, NEW)
        yield started


def old(second: int, t: float | None, s: int = 1) -> bytes:
    return framed(3, avro(OLD, {"at": second * 1000, "s": s, "t": t}))


def new(second: int, temp: float, s: int = 1) -> bytes:
    return framed(5, avro(NEW, {"at": second * 10**6 + 7, "s": s, "temp": temp, "price": Decimal("1.50")}))


def query(kafka: Broker, sail: SparkSession, schemas: Registry, folder: Path, name: str) -> TopicQuery:
    return TopicQuery(sail, kafka.topic(name, 1), folder, QUERY.replace("REGISTRY", schemas.address))


def moment(second: int, more: str = "000000") -> str:
    return f"1970-01-01T00:00:{second:02d}.{more}Z"


def rows(items: list[Item]) -> list[Any]:
    return [(item["s"], item.get("t")) for item in items]


def test_records_are_read_by_the_schemas_of_their_writers(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    """Also after a restart, with the registry away and its schemas in the checkpoint."""
    of = query(kafka, sail, schemas, tmp_path, "avro")
    kafka.send("avro", [old(1, 50.5), old(2, None), accent("[[rename(temp, t)]]"), new(3, 20.5)])
    of.run()
    assert rows(of.tuples) == [(1, 50.5), (1, None), (1, 20.5)]
    schemas.stop()
    kafka.send("avro", [new(4, 1.5), new(5, 2.5)])
    of.run()
    assert rows(of.tuples)[3:] == [(1, 1.5), (1, 2.5)]
    assert of.quarantine() == []


def test_accents_that_are_imported_hold_for_interleaved_schemas(
    kafka: Broker, sail: SparkSession, tmp_path: Path
) -> None:
    """A later schema is set aside until it is imported, too."""
    first = record_schema({"name": "ts", "type": "long"}, {"name": "t", "type": "double", "unit": "degF"})
    temp = {"name": "temp", "type": "float", "unit": "Cel", "aliases": ["t"]}
    second = record_schema({"name": "ts", "type": "long"}, temp, {"name": "site", "type": "string"})
    third = record_schema({"name": "ts", "type": "long"}, {**temp, "name": "heat", "aliases": ["temp"]})
    file = tmp_path / "changes.rqm"
    with registry() as schemas:
        schemas.register("r-value", 3, first)
        schemas.register("r-value", 5, second)
        arguments = ("import", "registry", "r-value", "--registry", schemas.address, "-o", file)
        assert cedilla(*arguments).exit_code == 0
        text = f"""
        stream r(id: int from record "schema" in {{3, 5}}, ts: long, t: double unit degF)
          from kafka "ADDRESS" registry "{schemas.address}";
        {"".join(f"accent r {line.replace('schema', 'id')};" for line in accents_in(file))}
        emit r to json "OUT";
        """
        of = TopicQuery(sail, kafka.topic("imported", 2), tmp_path, text)
        one = [framed(3, avro(first, {"ts": n, "t": 50.0})) for n in range(3)]
        two = [framed(5, avro(second, {"ts": n, "temp": 10.0, "site": "a"})) for n in range(3)]
        kafka.send("imported", [one[0], two[0], one[1], two[1]], [two[2], one[2]])
        of.run()
        assert [item["t"] for item in of.tuples] == [50.0] * 6
        assert (
            sorted((item["id"], item.get("site")) for item in of.tuples) == [(3, None)] * 3 + [(5, "a")] * 3
        )
        schemas.register("r-value", 9, third)
        kafka.send("imported", [framed(9, avro(third, {"ts": 9, "heat": 10.0})), one[2]])
        of.run()
        assert len(of.tuples) == 7
        (aside,) = of.quarantine()
        assert (aside["code"], '"heat":10.0' in aside["raw"]) == ("RQ520", True)


def accents_in(file: Path) -> list[str]:
    return [line.partition("  #")[0] for line in file.read_text().splitlines() if line.startswith("[[")]


def test_tools_read_the_records_by_the_registry_of_the_query(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(kafka, sail, schemas, tmp_path, "tools")
    kafka.send("tools", [old(1, 1.5), old(2, 2.5)[:8]])
    file = tmp_path / "q.rq"
    file.write_text(of.text)
    address = f"{kafka.address}/tools"
    done = cedilla("validate", address, "--query", file)
    assert (done.exit_code, "cut off" in done.output) == (1, True)
    kafka.topic("marked", 1)
    kafka.send("marked", [old(1, 1.5)])
    done = cedilla("accent", f"{kafka.address}/marked", "[[unit(t, degC)]]", "--query", file)
    assert done.exit_code == 0, done.output


def test_what_is_no_tuple_is_set_aside_with_its_bytes(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(kafka, sail, schemas, tmp_path, "damaged")
    bad = [b'{"at": 1}', framed(77, b"abc"), old(1, 1.0)[:9], old(1, 1.0) + b"\n"]
    kafka.send("damaged", [bad[0], old(1, 1.5), *bad[1:3], old(2, 2.5), bad[3]])
    of.run()
    assert rows(of.tuples) == [(1, 1.5), (1, 2.5)]
    aside = of.quarantine()
    assert [q["code"] for q in aside] == ["RQ301"] * 4
    assert all(
        why in q["reason"]
        for q, why in zip(aside, ["id of its schema", "no schema 77", "cut off", "1 bytes"], strict=True)
    )


def test_a_registry_that_is_away_ends_the_run_and_the_next_one_continues(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(kafka, sail, schemas, tmp_path, "away")
    kafka.send("away", [old(1, 1.5)])
    of.run()
    schemas.status = 503
    kafka.send("away", [old(2, 2.5), new(3, 3.5), old(4, 4.5)])
    assert of.refused().code == "RQ505"
    schemas.status = 200
    kafka.send("away", [old(5, 5.5)])
    of.run()
    assert [t for _, t in rows(of.tuples)] == [1.5, 2.5, None, 4.5, 5.5]


def test_a_simulation_reads_the_same(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(kafka, sail, schemas, tmp_path, "simulated")
    kafka.send("simulated", [old(1, 1.5), b"\0\0", old(2, None)])
    of.run()
    simulate(of.text, Options(sinks={"r": str(tmp_path / "simulated")}))
    simulated = [item for item in read_output(tmp_path / "simulated") if is_tuple(item)]
    assert rows(simulated) == rows(of.tuples) == [(1, 1.5), (1, None)]
