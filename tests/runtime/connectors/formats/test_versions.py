"""Versions in conditions, domains, accents, aggregates and joins: the reference, engines and plain Python agree."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla import read
from cedilla.compiler.expressions.types.versions import key_of, key_sql, text_sql
from tests.compiler.expressions.types.versions import random_version
from tests.kit.errors import code_of
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

BAD = ["", "x", "1.", "1..2", "1-", "1-a..b", "1.2rc1", "1\n", "1.2.3.4.5.6.7.8.9", "9" * 19, "1+", "é"]


def test_the_key_of_a_text_on_an_engine(spark: SparkSession) -> None:
    chance = Random(1)
    versions = [random_version(chance) for _ in range(200)]
    frame = spark.createDataFrame([(text,) for text in [*versions, *BAD]], "t string")
    rows = (
        frame.selectExpr("t", f"{key_sql('t')} AS k")
        .selectExpr("t", "k", f"{text_sql('k')} AS again")
        .collect()
    )
    expected = {text: (key_of(text), text) for text in versions} | dict.fromkeys(BAD, (None, None))
    assert {row["t"]: (row["k"], row["again"]) for row in rows} == expected


QUERY = """
stream r(n: long, fw: version, t: double unit degC, old?: version in ["1", "100"]) from json "in";
stream names(fw: version, name: string) from json "names";
warm := project[n, fw, string(fw) as text, t > 50 as hot, coalesce(old, fw) as either](r);
some := select[fw >= "1.9" and fw not in {"2", "10.0"} or old < "v2"](project[n, fw, old](r));
ends := aggregate[max(fw) as newest, min(fw) as oldest, count(distinct fw) as kinds by k](
  project[n % 3 as k, fw](r));
named := project[n, fw, name](r join names on fw);
emit warm to json "warm";
emit some to json "some";
emit ends to json "ends";
emit named to json "named";
"""
BOUND = {"$accent": '[[fw >= "2", fw < "10.0.0", unit(t, degF)]]'}


@pytest.mark.parametrize("seed", tiered(range(6)))
def test_all_say_the_same_of_random_versions(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    query = Query(spark, tmp_path, QUERY)
    items: list[Item] = []
    for n in range(60):
        items.append({"n": n, "fw": random_version(chance), "t": 60.0})
        if n % 7 == 0:
            items[-1]["old"] = random_version(chance)
        if n % 20 == 9:
            items.append({"n": n, "fw": chance.choice(BAD), "t": 60.0})
    later = {item["n"] for item in items[30:]}
    items[30:30] = [BOUND]
    end = {"$punctuation": "[]"}
    query.write("r", [*items, end])
    twins = [{"fw": item["fw"], "name": "first"} for item in items[:20:3] if item["fw"] not in BAD]
    query.write("names", [*twins, end])
    query.process()
    query.simulate()
    for emit in ("warm", "some", "ends", "named"):
        ours, theirs = (
            sorted(str(sorted(item.items())) for item in run.output(emit) if is_tuple(item))
            for run in (query, query.simulated)
        )
        assert ours == theirs
        assert ours
    assert query.simulated.codes.count("RQ301") == len([i for i in items if i.get("fw") in BAD])
    assert sorted(query.simulated.codes) == sorted(r.code for r in query.rejections("r"))
    low, high = key_of("2"), key_of("10.0.0")
    for row in filter(is_tuple, query.output("warm")):
        assert row["text"] == row["fw"]
        assert row["hot"] != (row["n"] in later and low <= key_of(row["fw"]) < high)


@pytest.mark.parametrize("format_", tiered(["csv", "xml", "json"]))
def test_a_version_that_looks_like_a_number_is_read_beside_a_bad_one(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    """A block with a bad text is read line by line, where `1.10` is a number at first."""
    query = Query(
        spark, tmp_path, f'stream r(n: long, fw: version) from {format_} "in"; emit r to json "out";'
    )
    line = {"csv": "{},{}", "xml": "<x><n>{}</n><fw>{}</fw></x>", "json": '{{"n": {}, "fw": {}}}'}[format_]
    texts = ["1.10", "2", "1.10", '"x"' if format_ == "json" else "x"]
    lines = ["n,fw"] * (format_ == "csv") + [line.format(n, text) for n, text in enumerate(texts)]
    query.write("r", lines, f"a.{format_}")
    query.process()
    rows = sorted((row["n"], row["fw"]) for row in query.output("r"))
    assert rows == [(0, "1.10"), (1, "2"), (2, "1.10")]
    assert [rejection.code for rejection in query.rejections("r")] == ["RQ301"]


COPY = """
stream r(n: long, fw: version, t: double unit degC) from parquet "in";
emit r to parquet "out";
"""


def test_versions_in_parquet(spark: SparkSession, tmp_path: Path) -> None:
    """Footers' statistics are of texts, and prove nothing."""
    query = Query(spark, tmp_path, COPY)
    texts = ["1.9.0", "10.0.0", "2.0", "x", None]
    table = pa.table({"n": range(5), "fw": pa.array(texts, pa.string()), "t": [0.0] * 5})
    query.write_table("r", table, 1)
    query.run()
    assert sorted(rejection.code for rejection in query.rejections("r")) == ["RQ301", "RQ302"]
    rows = read(str(tmp_path / "out" / "r")).rows()
    assert sorted(row["fw"] for row in rows) == ["1.9.0", "10.0.0", "2.0"]


RENAMED = """
stream r(fw: version, t: double unit degC) from json "in";
emit r to json "r";
"""
LINES: list[Item] = [
    {"fw": "1.9.0", "t": 1.0},
    {"$accent": '[[fw >= "2.0", unit(t, degF)]]'},
    {"fw": "10.0.0", "t": 212.0},
    {"fw": "1.10", "t": 2.0},
]


def test_a_reader_asks_for_the_type_of_what_has_bounds(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path, RENAMED)
    query.write("r", LINES[:2])
    query.write("r", LINES[2:])
    query.process(files_per_epoch=1)
    folder = str(tmp_path / "out" / "r")
    assert code_of(lambda: [*read(folder).rows()]) == "RQ423"
    expected = {"1.9.0": 1.0, "10.0.0": 100.0, "1.10": 2.0}
    reading = read(folder, query=RENAMED)
    assert {row["fw"]: row["t"] for row in reading.rows()} == pytest.approx(expected)
    frame = reading.spark(spark)
    assert {row["fw"]: row["t"] for row in frame.collect()} == pytest.approx(expected)
