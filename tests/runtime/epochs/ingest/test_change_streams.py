"""Change streams of databases: their updates are no new tuples, which a warning tells once a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime import simulate
from cedilla.runtime.connectors.records.change_streams import change_stream
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.tiers import tiered

DEBEZIUM = {"before": {"k": 1, "v": 20}, "after": {"k": 1, "v": 40}, "op": "u", "ts_ms": 5}
LINES: dict[str, tuple[dict[str, Any], str]] = {
    "an envelope with a payload": ({"schema": {}, "payload": DEBEZIUM}, "payload.op"),
    "an envelope": ({**DEBEZIUM, "before": None}, "op"),
    "a flattened one": ({"k": 1, "v": 2, "__deleted": "false"}, "__deleted"),
    "a flattened one with its operation": ({"k": 1, "v": 2, "__op": "u"}, "__op"),
    "Maxwell": ({"database": "d", "table": "t", "type": "update", "data": {"k": 1}, "old": {}}, "type"),
    "Canal": ({"database": "d", "table": "t", "type": "UPDATE", "data": [{"k": 1}], "es": 1}, "type"),
}


@pytest.mark.parametrize("what", LINES)
def test_lines_of_a_change_stream_have_its_shape(what: str) -> None:
    line, path = LINES[what]
    stream = change_stream(line)
    assert stream is not None
    assert stream.path == path


@pytest.mark.parametrize(
    "line", [{"k": 1, "op": "u"}, {"before": 1, "after": 2}, {"table": "t", "type": "update"}, {}]
)
def test_other_lines_do_not(line: dict[str, Any]) -> None:
    assert change_stream(line) is None


@pytest.mark.either_engine
@pytest.mark.parametrize("what", tiered(LINES))
def test_a_change_stream_is_told_once_a_run_and_not_if_its_operation_is_read(
    spark: SparkSession, tmp_path: Path, what: str
) -> None:
    """File by file, and after a restart; by `simulate`, too."""
    line, path = LINES[what]
    queries = ["k?: int", f'k?: int, did: string from "{path}"']
    for number, attributes in enumerate(queries):
        root = tmp_path / str(number)
        run = Query(spark, root, f'stream r({attributes}) from json "in";\nemit r to json "out";\n')
        expected = [] if number else ["RQ348"]
        run.write("r", [line])
        run.write("r", [line])
        run.process(files_per_epoch=1)
        run.write("r", [line])
        warnings: list[Diagnostic] = []
        simulate(run.query, Options(sources=run.options().sources), on_warning=warnings.append)
        assert [w.code for w in warnings if w.code == "RQ348"] == expected
        assert [w.code for report in run.reports for w in report.warnings if w.code == "RQ348"] == expected
        run.reports.clear()
        run.run()
        assert [w.code for report in run.reports for w in report.warnings if w.code == "RQ348"] == expected
