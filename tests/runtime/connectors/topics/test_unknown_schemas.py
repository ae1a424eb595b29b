"""Records of a schema that the query does not name: set aside, the end of the run, or imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, simulate
from tests.kit.kafka import Broker
from tests.kit.registry import Registry, avro, framed, record_schema, registry
from tests.kit.stream import is_tuple, read_output
from tests.runtime.connectors.topics.topic_query import TopicQuery

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

TS = {"name": "ts", "type": "long"}
FIRST = record_schema(TS, {"name": "t", "type": "double", "unit": "degF"})
TEMP = {"name": "temp", "type": "double", "unit": "Cel", "aliases": ["t"]}
SECOND = record_schema(TS, TEMP, {"name": "site", "type": "string"})
THIRD = record_schema(TS, {**TEMP, "name": "heat", "unit": "K", "aliases": ["temp"]})
GUESS = record_schema(TS, {"name": "warmth", "type": "double"})
QUERY = """
set unknown_schema = VALUE;
stream r(schema: int from record "schema" in {3}, ts: long, t: double unit degF)
  from kafka "ADDRESS" registry "REGISTRY";
emit r to json "OUT" with t in degF;
"""


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        started.register("r-value", 3, FIRST)
        started.register("r-value", 5, SECOND)
        started.register("r-value", 9, THIRD)
        started.register("r-value", 11, GUESS)
        yield started


def query(spark: SparkSession, address: str, schemas: Registry, folder: Path, value: str) -> TopicQuery:
    return TopicQuery(
        spark, address, folder, QUERY.replace("REGISTRY", schemas.address).replace("VALUE", value)
    )


def first(ts: int) -> bytes:
    return framed(3, avro(FIRST, {"ts": ts, "t": 50.0}))


def second(ts: int) -> bytes:
    return framed(5, avro(SECOND, {"ts": ts, "temp": 10.0, "site": "a"}))


def third(ts: int) -> bytes:
    return framed(9, avro(THIRD, {"ts": ts, "heat": 283.15}))


def rows(of: TopicQuery) -> list[tuple[Any, ...]]:
    return sorted((item["ts"], item["schema"], item["t"], item.get("site")) for item in of.tuples)


def test_an_unknown_schema_is_set_aside_with_its_record(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(sail, kafka.topic("unknown_aside", 1), schemas, tmp_path, "quarantine")
    kafka.send("unknown_aside", [first(1), second(2), first(3)])
    of.run()
    assert [row[0] for row in rows(of)] == [1, 3]
    (aside,) = of.quarantine()
    assert aside["code"] == "RQ520"
    assert json.loads(aside["raw"])["temp"] == 10.0


def test_an_unknown_schema_may_end_the_run_and_the_edited_query_continues(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(sail, kafka.topic("unknown_end", 1), schemas, tmp_path, "abort")
    kafka.send("unknown_end", [first(1)])
    of.run()
    kafka.send("unknown_end", [first(2), second(3)])
    assert of.refused().code == "RQ520"
    of.text = of.text.replace("{3}", "{3, 5}").replace(
        "emit", "accent r [[schema = 5, rename(temp, t)]];\naccent r [[schema = 5, unit(t, Cel)]];\nemit"
    )
    of.run(yes=True)
    assert rows(of) == [(1, 3, 50.0, None), (2, 3, 50.0, None), (3, 5, 50.0, None)]


@pytest.mark.parametrize("engine", ["sail", "spark"])
def test_an_imported_schema_has_its_meaning_in_each_partition(
    engine: str, kafka: Broker, schemas: Registry, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Ids are interleaved, runs end between them, and the last one has no registry."""
    name = f"unknown_import_{engine}"
    spark = request.getfixturevalue(engine)
    of = query(spark, kafka.topic(name, 2), schemas, tmp_path, "import")
    kafka.send(name, [first(1), second(2), first(3), second(4)], [first(5)])
    of.run()
    kafka.send(name, [third(6), second(7)], [second(8), first(9), third(10)])
    of.run(records_per_epoch=1)
    schemas.stop()
    kafka.send(name, [first(11), third(12), second(13)], [second(14)])
    of.run()
    expected = {1: 3, 2: 5, 3: 3, 4: 5, 5: 3, 6: 9, 7: 5, 8: 5, 9: 3, 10: 9, 11: 3, 12: 9, 13: 5, 14: 5}
    assert rows(of) == [(ts, id_, 50.0, "a" if id_ == 5 else None) for ts, id_ in expected.items()]
    assert of.quarantine() == []


def test_a_simulation_imports_the_same(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(sail, kafka.topic("unknown_simulated", 1), schemas, tmp_path, "import")
    kafka.send("unknown_simulated", [first(1), framed(404, b"x"), second(2), third(3), second(4)])
    of.run()
    assert [aside["code"] for aside in of.quarantine()] == ["RQ301"]
    simulate(of.text, Options(sinks={"r": str(tmp_path / "simulated")}))
    simulated = [item for item in read_output(tmp_path / "simulated") if is_tuple(item)]
    assert sorted((item["ts"], item["t"], item.get("site")) for item in simulated) == [
        (ts, t, site) for ts, _, t, site in rows(of)
    ]
    assert [row[2] for row in rows(of)] == [50.0] * 4


def test_a_schema_that_a_person_has_to_decide_about_ends_the_run(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(sail, kafka.topic("unknown_guess", 1), schemas, tmp_path, "import")
    kafka.send("unknown_guess", [first(1)])
    of.run()
    guess = framed(11, avro(GUESS, {"ts": 3, "warmth": 1.0}))
    kafka.send("unknown_guess", [second(2), guess])
    refused = of.refused()
    assert (refused.code, "`t` is gone and `warmth` is new" in refused.message) == ("RQ522", True)
    of.text = of.text.replace("{3}", "{3, 11}").replace(
        "emit", "accent r [[schema = 11, rename(warmth, t)]];\nemit"
    )
    of.run(yes=True)
    assert [row[:3] for row in rows(of)] == [(1, 3, 50.0), (2, 5, 50.0), (3, 11, 1.0)]


def test_a_query_that_lists_an_imported_schema_continues(
    kafka: Broker, sail: SparkSession, schemas: Registry, tmp_path: Path
) -> None:
    of = query(sail, kafka.topic("unknown_listed", 2), schemas, tmp_path, "import")
    kafka.send("unknown_listed", [second(1)])
    of.run()
    of.text = of.text.replace("{3}", "{3, 5}")
    kafka.send("unknown_listed", [second(2)], [first(3), second(4)])
    of.run(yes=True)
    assert rows(of) == [(1, 5, 50.0, "a"), (2, 5, 50.0, "a"), (3, 3, 50.0, None), (4, 5, 50.0, "a")]
