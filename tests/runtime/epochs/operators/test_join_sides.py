"""The side of a join of which Sail makes its hash table: the shorter one."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from tests.kit.query import Query
from tests.kit.stream import is_tuple

QUERY = """
stream many(k: long, x: long) from parquet "in";
stream few(k: long, y: long) from parquet "in";
j := LEFT KIND RIGHT on k;
emit j to json "out";
"""
MANY = pa.table({"k": range(2000), "x": [n * 7919 % 10_007 for n in range(2000)]})
FEW = pa.table({"k": [3, 5], "y": [1, 2]})


@pytest.mark.parametrize("kind", ["join", "left join"])
@pytest.mark.parametrize(("left", "right"), [("many", "few"), ("few", "many")])
def test_sail_makes_its_hash_table_of_the_shorter_side(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, left: str, right: str
) -> None:
    """Of new tuples and of state: after two epochs, the tuples of `few` meet those of `many`, and new ones those in
    state."""
    text = QUERY.replace("LEFT", left).replace("RIGHT", right).replace("KIND", kind)
    run = Query(sail, tmp_path, text)
    plans: list[str] = []
    write = JsonLinesSink.write

    def watched(sink: JsonLinesSink, tuples: DataFrame, *rest: Any) -> None:
        with redirect_stdout(StringIO()) as plan:
            tuples.explain()
        plans.append(plan.getvalue())
        write(sink, tuples, *rest)

    monkeypatch.setattr(JsonLinesSink, "write", watched)
    executor = run.executor()
    for batch, tables in enumerate(({"many": MANY, "few": FEW}, {"few": FEW}, {"many": MANY})):
        for name, table in tables.items():
            run.write_table(name, table, batch)
        run.go_on(executor, batch)
    pairs = sorted(tuple(row.items()) for row in run.output("j") if is_tuple(row) and len(row) == 3)
    names = ("k", "x", "y") if left == "many" else ("k", "y", "x")
    rows = [{"k": k, "x": k * 7919 % 10_007, "y": y} for k, y in ((3, 1), (5, 2))]
    assert pairs == sorted(tuple((name, row[name]) for name in names) for row in rows * 4)
    joins = [plan[plan.index("HashJoinExec: ") :] for plan in plans if "HashJoinExec: " in plan]
    assert len(joins) == len(plans) == 3
    for plan in joins:
        few, many = (first_place(plan, name, left) for name in ("few", "many"))
        assert few < many


def first_place(plan: str, name: str, left: str) -> int:
    """Where a plan first names the files or the state of a source."""
    files = f"in/{name}/", f"j.{'left' if name == left else 'right'}"
    return min(plan.index(file) for file in files if file in plan)
