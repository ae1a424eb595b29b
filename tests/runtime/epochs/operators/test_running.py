"""The state of running functions: as many tuples as a frame or a `lag` looks back, whatever the number of epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.state.segments import Segments
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import tiered

KEYS, EACH = 2, 3
QUERY = """
stream r(ts: long, k: int in {0, 1}, x: double) from json "in" punctuated on ts;
of_rows := running[avg(x) as mean per k on ts over last 5 rows](r);
of_length := running[avg(x) as mean per k on ts over last 4](r);
back := running[lag(x, 3) as before, rank() as place per k on ts, x desc](r);
shared := running[sum(x) as total, max(x) as most per k on ts over all with ties](r);
emit of_rows to json "o/of_rows";
emit of_length to json "o/of_length";
emit back to json "o/back";
emit shared to json "o/shared";
"""


def file(epoch: int) -> list[Item]:
    """Tuples of three times, in each of which both keys have one; all are closed."""
    times = range(EACH * epoch, EACH * (epoch + 1))
    rows: list[Item] = [{"ts": ts, "k": k, "x": float(ts)} for ts in times for k in range(KEYS)]
    return [*rows, {"$punctuation": f"[ts < {EACH * (epoch + 1)}]"}]


@pytest.mark.either_engine
@pytest.mark.parametrize("epochs", tiered([8, 40, 100], most=2))
def test_state_has_what_frames_look_back_to(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epochs: int
) -> None:
    monkeypatch.setattr(costs, "SEGMENTS", 2)
    run, most = Query(spark, tmp_path, QUERY), dict[str, int]()
    committed = StateStore.commit

    def commit(self: StateStore, planned: Any, segments: Segments, unused: Any) -> None:
        committed(self, planned, segments, unused)
        for key, stored in segments.items():
            most[key] = max(most.get(key, 0), sum(segment.rows or 0 for segment in stored))

    monkeypatch.setattr(StateStore, "commit", commit)
    for epoch in range(epochs):
        run.write("r", file(epoch))
    run.process(files_per_epoch=1)
    # A state is rewritten when it has three segments, so that two epochs may add to what is needed.
    new = 2 * KEYS * EACH
    assert most.keys() == {f"{name}.last" for name in ("of_rows", "of_length", "back", "shared")}, (
        "no tuple waits"
    )
    assert most["of_rows.last"] <= KEYS * 4 + new
    assert most["of_length.last"] <= KEYS * 4 + new
    assert most["back.last"] <= KEYS * 3 + new
    assert most["shared.last"] <= KEYS * 3, "one tuple of each key, of each of three segments"
    last = EACH * epochs - 1
    rows = {
        name: [row for row in run.output(name) if is_tuple(row)]
        for name in ("of_rows", "of_length", "back", "shared")
    }
    assert [len(of_name) for of_name in rows.values()] == [KEYS * EACH * epochs] * 4
    assert {row["total"] for row in rows["shared"] if row["ts"] == last} == {last * (last + 1) / 2}
    means = {
        name: {row["mean"] for row in rows[name] if row["ts"] == last} for name in ("of_rows", "of_length")
    }
    assert means == {"of_rows": {last - 2.0}, "of_length": {last - 2.0}}
    assert {(row["before"], row["place"]) for row in rows["back"] if row["ts"] == last} == {
        (last - 3.0, last + 1)
    }
