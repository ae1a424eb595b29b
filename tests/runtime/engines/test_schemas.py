"""The columns that are remembered of a plan are those that the engine would tell."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.engines.frames import of_table
from cedilla.runtime.engines.schemas import remembering, shape_of
from cedilla.runtime.pipeline.program import run
from cedilla.runtime.terminal.options import Options
from tests.kit.lines import write_lines
from tests.kit.stream import Item


def shape(frame: DataFrame) -> Any:
    plan: Any = frame
    return shape_of(plan._plan.to_proto(plan.sparkSession.client).root)


def rows(sail: SparkSession, first: int = 1) -> DataFrame:
    return of_table(
        sail, pa.table({"a": pa.array([first, 2], pa.int64()), "a1L": ["x", "y"], "a2L": [1.5, 2.5]})
    )


SELECTED = [
    "a",
    "a + 1L AS a",
    "a + 1 AS a",
    "CAST(a AS DECIMAL(10, 2)) * 100 AS a",
    "CAST(a AS DECIMAL(10, 2)) * 1000 AS a",
    "a1L AS a",
    "a2L AS a",
    "a AS `1L`",
    "a AS `2L`",
    "named_struct('1L', a) AS a",
    "named_struct('2L', a) AS a",
    "get(array(1, 1), CAST(a & 0 AS INT)) AS a",
    "get(array(3000000000L, 3000000000L), CAST(a & 0 AS INT)) AS a",
    "get(array(1.5D, 1.5D), CAST(a & 0 AS INT)) AS a",
    "get(array(DATE'2020-01-01', DATE'2020-01-01'), CAST(a & 0 AS INT)) AS a",
    "get(array(TIMESTAMP'2020-01-01 00:00:00', TIMESTAMP'2020-01-01 00:00:00'), CAST(a & 0 AS INT)) AS a",
    "1.25 AS a",
    "1.2 AS a",
]
"""Of two that are of one shape, the engine tells the same."""
ALIKE = [
    ("a + 1L AS a", "a + 20L AS a"),
    ("get(array(1, 1), CAST(a & 0 AS INT)) < a AS a", "get(array(20, 20), CAST(a & 0 AS INT)) < a AS a"),
    ("get(array(-1.5D, -1.5D), 0) < a AS a", "get(array(1e+30D, 1e+30D), 0) < a AS a"),
    (
        "get(array(DATE'2020-01-01', DATE'2020-01-01'), 0) AS a",
        "get(array(DATE'2020-01-02', DATE'2020-01-02'), 0) AS a",
    ),
]


def test_rows_and_conditions_do_not_change_a_shape(sail: SparkSession) -> None:
    assert shape(rows(sail).where("a > 1")) == shape(rows(sail, 7).where("a < 2 OR a1L = ''")) is not None


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_constants_do_not_change_a_shape(sail: SparkSession, one: str, other: str) -> None:
    assert shape(rows(sail).selectExpr(one)) == shape(rows(sail, 5).selectExpr(other)) is not None


def test_tables_without_rows_are_of_one_shape_where_their_columns_are_the_same(sail: SparkSession) -> None:
    longs, again = (sail.createDataFrame([], "a BIGINT") for _ in range(2))
    assert shape(longs) == shape(again) is not None
    assert shape(longs) != shape(sail.createDataFrame([], "a STRING"))
    assert [longs.schema, again.schema] == [sail.createDataFrame([], "a BIGINT").schema] * 2


def test_what_columns_depend_on_changes_a_shape(sail: SparkSession) -> None:
    frames = [rows(sail).selectExpr(text) for text in SELECTED]
    for one, other in combinations(frames, 2):
        assert shape(one) != shape(other) or one.schema == other.schema
    assert len({shape(frame) for frame in frames}) > len(frames) - 2


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


def test_an_epoch_asks_as_little_as_the_one_before_and_gets_what_is_so(
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
    client: Any = sail.client
    ask, asked, told = type(client).schema.__get__(client), list[int](), list[int]()
    remembered = remembering(lambda plan: (asked.append(0), ask(plan))[1])

    def schema(plan: Any) -> Any:
        found = remembered(plan)
        assert found == ask(plan)
        told.append(0)
        return found

    monkeypatch.setattr(client, "schema", schema)
    by_epoch: list[int] = []
    options = Options(once=True, files_per_epoch=1, checkpoint="c")
    run(QUERY, options, spark=sail, on_report=lambda report: by_epoch.append(len(asked)))
    assert by_epoch[0] == by_epoch[2] > 0
    assert by_epoch[-2] == by_epoch[-1] < len(told)
