"""Arrays in text outputs: every digit, word and moment of their values, however deep."""

from __future__ import annotations

from decimal import Decimal
from operator import itemgetter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import read
from tests.kit.query import Query

QUERY = """
stream r(k: long, ts: long, d: decimal(20, 2), x: double, at: timestamp) from json "in/r" punctuated on ts;
stream s(k: long) from json "in/s";
lists := aggregate[collect(d) as ds, collect(x) as xs, collect(at) as ats by k](r);
deep := aggregate[collect(ds) as dss, collect(xs) as xss, collect(ats) as atss](sort[k](lists));
all := s left join lists on k;
"""


@pytest.mark.either_engine
@pytest.mark.parametrize("format_", ["json", "xml"])
def test_arrays_of_arrays_keep_all_digits_and_words(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    """Decimals became doubles in XML, words became null in JSON, and an undefined array of decimals an empty one."""
    emits = "".join(f'emit {name} to {format_} "{name}";' for name in ("lists", "deep", "all"))
    run = Query(spark, tmp_path, QUERY + emits)
    rows = [
        f'{{"k": {n // 2}, "ts": {n}, "d": 12345678901234567.25, "x": {x}, "at": "2026-01-01T00:00:00.123456Z"}}'
        for n, x in enumerate(("1.5", '"NaN"', '"-Infinity"', "1e22"))
    ]
    run.write("r", [*rows, {"$punctuation": "[]"}])
    run.write("s", [{"k": 9}, {"$punctuation": "[]"}])
    run.process()
    decimals, doubles = [Decimal("12345678901234567.25")] * 2, [[1.5, "NaN"], ["-Infinity", 1e22]]
    moments = ["2026-01-01T00:00:00.123456Z"] * 2
    schema = "ds: array<decimal(20,2)>, xs: array<double>, ats: array<timestamp>"
    assert sorted(
        read(tmp_path / "out" / "lists", schema=f"k: long, {schema}").rows(), key=itemgetter("k")
    ) == [{"k": k, "ds": decimals, "xs": doubles[k], "ats": moments} for k in (0, 1)]
    schema = "dss: array<array<decimal(20,2)>>, xss: array<array<double>>, atss: array<array<timestamp>>"
    (deep,) = read(tmp_path / "out" / "deep", schema=schema).rows()
    assert deep == {"dss": [decimals] * 2, "xss": doubles, "atss": [moments] * 2}
    without = read(tmp_path / "out" / "all", schema="k: long, ds?: array<decimal(20,2)>").rows()
    assert list(without) == [{"k": 9}]
