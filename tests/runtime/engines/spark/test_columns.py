"""Nobody asks an engine for the columns of a relation: its facts say them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DecimalType, DoubleType, IntegerType, LongType

from cedilla.compiler.expressions.types import Type, array_of
from cedilla.runtime.engines.spark.columns import (
    ORDER,
    columns_of,
    conformed,
    dump_columns,
    load_columns,
    types_of,
)
from cedilla.runtime.engines.spark.frames import of_table
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.program import run
from tests.kit.columns import UNCHECKED, columns_in
from tests.kit.lines import write_lines
from tests.kit.stream import Item

TYPES = {
    **{n: Type(n) for n in ("int", "long", "double", "string", "boolean", "timestamp", "date")},
    "decimal": Type("decimal", (38, 10)),
    "many": array_of(array_of(Type("decimal", (10, 2)))),
}


def test_columns_of_attributes_are_stored_and_read_again() -> None:
    columns = columns_of(TYPES, is_placed=True)
    assert load_columns(dump_columns(columns)) == columns
    assert [*columns] == [*TYPES, ORDER]
    assert types_of(columns) == TYPES


def test_stored_rows_are_given_the_columns_of_now(sail: SparkSession) -> None:
    """A type that an accent has widened, and an attribute that it has added; a column of before is left out."""
    decimals = pa.array(["1.50"]).cast(pa.decimal128(5, 2))
    table = pa.table({"i": pa.array([7], pa.int32()), "l": [2], "d": decimals, "m": [[1, 2]], "old": ["x"]})
    frame = of_table(sail, table)
    wanted = {
        "i": LongType(),
        "l": DoubleType(),
        "d": DecimalType(12, 2),
        "m": ArrayType(DoubleType()),
        "new": IntegerType(),
    }
    made = conformed(frame, columns_in(frame), wanted)
    assert columns_in(made) == wanted
    (row,) = made.collect()
    assert row.asDict() == {"i": 7, "l": 2.0, "d": Decimal("1.50"), "m": [1.0, 2.0], "new": None}


def test_a_value_that_a_double_cannot_keep_ends_the_job(sail: SparkSession) -> None:
    frame = of_table(sail, pa.table({"l": [2**53 + 1]}))
    with pytest.raises(PySparkException, match="RQ310 l"):
        conformed(frame, columns_in(frame), {"l": DoubleType()}).collect()
    rounded = conformed(frame, columns_in(frame), {"l": DoubleType()}, ["l"])
    assert rounded.collect()[0][0] == 2.0**53


QUERY = """
stream r(n: long, k: int, v: double, d: decimal(10, 2)) from json "r" punctuated on n;
stream s(n: long, k: int, v: double, d: decimal(10, 2)) from json "s" punctuated on n;
some := select[v > 1 and d * 100 > 5](r);
windows := window[10 on n as w](some);
means := aggregate[avg(v) as mean, sum(d) as total by k, w](windows);
most := aggregate[max(mean) as most by w](means);
pairs := project[n, k, v, w2](rename[w as w2](r join (project[n, v as w](s)) on n));
emit most to json "a"; emit pairs to json "b"; emit distinct(r) to json "c"; emit r minus s to json "d";
"""


@pytest.mark.rest
def test_no_epoch_asks_the_engine_for_columns(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an Alter in the middle, which makes doubles of integers."""
    monkeypatch.chdir(tmp_path)
    for name in "rs":
        for epoch in range(6):
            numbers = range(10 * epoch, 10 * epoch + 10)
            lines: list[Item] = [{"n": n, "k": n % 3, "v": n / 4, "d": n / 100} for n in numbers]
            if epoch == 3:
                lines.append({"$accent": "[[n >= 40, alter(k, y -> y * 2)]]"})
            lines.append({"$punctuation": f"[n < {10 * epoch + 10}]"})
            write_lines(Path(f"{name}/{epoch}.jsonl"), lines)
    for owner, name, method in UNCHECKED:
        monkeypatch.setattr(owner, name, method)
    client: Any = sail.client
    asked: list[object] = []
    monkeypatch.setattr(client, "schema", asked.append)
    options = Options(once=True, files_per_epoch=1, checkpoint="c")
    reports: list[object] = []
    run(QUERY, options, spark=sail, on_report=reports.append)
    assert len(reports) >= 6
    assert not asked
