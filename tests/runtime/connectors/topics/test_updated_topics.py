"""Topics of outputs that are updated: records by key, of which readers of the stream leave out the provisional ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import cedilla
from tests.kit.kafka import Broker, closed, row
from tests.kit.stream import Item
from tests.runtime.connectors.topics.topic_query import TopicQuery

pytestmark = pytest.mark.rest
pytest.importorskip("confluent_kafka")

SUMS = """
stream r(ts: long, s: int in {1, 2}, t: double) from kafka "ADDRESS" punctuated on ts;
a := aggregate[sum(t) as t by wid, s](window[60 on ts as wid](r));
emit a as latest by wid, s to kafka "ADDRESS_out";
"""
READER = """
stream a(wid: long, s: int, t: double, KEY) from kafka "ADDRESS" punctuated on wid;
emit a to json "OUT";
"""


def provisional(wid: int, s: int, t: float) -> Item:
    return {"$provisional": True, "wid": wid, "s": s, "t": t}


def test_records_have_the_key_of_their_group(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    """A query that reads the topic sees the final rows alone, with fields of records or without."""
    address = kafka.topic("updated", 1)
    kafka.topic("updated_out", 1)
    query = TopicQuery(sail, address, tmp_path / "a", SUMS)
    kafka.send("updated", [row(0, 1, 1.0), row(1, 2, 2.0)])
    query.run()
    kafka.send("updated", [row(2, 1, 1.0), row(70, 1, 5.0), closed("[ts < 60]")])
    query.run()
    final = [{"wid": 0, "s": 1, "t": 2.0}, {"wid": 0, "s": 2, "t": 2.0}]
    (records,) = kafka.records("updated_out")
    assert sorted(records[:2], key=str) == [provisional(0, 1, 1.0), provisional(0, 2, 2.0)]
    assert records[2] == provisional(1, 1, 5.0)
    assert sorted(records[3:5], key=str) == final
    assert kafka.keys("updated_out") == {b"[0, 1]", b"[0, 2]", b"[1, 1]", None}
    out = f"{address}_out"
    assert sorted(cedilla.read(out).rows(), key=str) == final
    last = sorted(cedilla.read(out, latest=["wid", "s"]).rows(), key=str)
    assert last == [provisional(1, 1, 5.0), *final]
    for number, key in enumerate(['key?: string from record "key"', "other?: long"]):
        reader = TopicQuery(sail, out, tmp_path / f"b{number}", READER.replace("KEY", key))
        reader.run()
        assert sorted(({n: i[n] for n in ("wid", "s", "t")} for i in reader.tuples), key=str) == final
        assert reader.quarantine() == []


def test_a_key_of_one_attribute_is_its_value(kafka: Broker, sail: SparkSession, tmp_path: Path) -> None:
    """All rows of a key are in one partition, those of an undefined value too; an altered key stays the same."""
    address = kafka.topic("keyed", 1)
    kafka.topic("keyed_out", 3)
    text = SUMS.replace("wid, s", "s").replace("s: int in {1, 2}", "s?: int").replace("_out", "_out")
    query = TopicQuery(sail, address, tmp_path, text)
    for t in (1.0, 2.0):
        kafka.send("keyed", [row(0, 1, t), {"ts": 0, "t": t}])
        query.run()
    kafka.send("keyed", [{"$accent": "[[alter(s, y -> y / 4)]]"}, {"ts": 0, "s": 0.25, "t": 3.0}])
    query.run()
    assert kafka.keys("keyed_out") == {b"1", b"[null]", None}
    with_rows = [
        sorted({str(r.get("s")) for r in records if "$provisional" in r})
        for records in kafka.records("keyed_out")
    ]
    assert sum(map(len, with_rows)) == 3  # 1, 1.0 and none
