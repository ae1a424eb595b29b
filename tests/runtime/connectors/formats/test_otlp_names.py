"""Two names of one quantity in OpenTelemetry: the new one is taken where an instance sends both (theory N16)."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.lines.blocks import Block
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.records.otlp import PointReader
from cedilla.runtime.tools.inspect.status import read_status, status_text
from tests.kit import ROOT
from tests.kit.otlp import request
from tests.kit.query import Query

OLD, NEW = "http.server.duration", "http.server.request.duration"
OTEL = (ROOT / "queries" / "otel.rq").read_text("utf-8")


def point(metric: str, service: str, time: float, sum_: float, **more: Any) -> dict[str, Any]:
    unit = "ms" if metric == OLD else "s"
    return {
        "metric": metric,
        "unit": unit,
        "time": time,
        "count": 10,
        "sum": sum_,
        "resource": {"service.name": service, "host.name": f"{service}-1"},
        **more,
    }


REQUEST = request(
    [
        point(OLD, "cart", 10, 3000, attributes={"http.method": "GET"}),
        point(NEW, "cart", 10, 3, attributes={"http.request.method": "GET"}),
        point(OLD, "cart", 20, 1000, resource={"service.name": "cart", "host.name": "cart-2"}),
    ]
)
END = request([point(NEW, "web", 120, 1)])


@pytest.mark.either_engine
def test_an_instance_that_sends_both_names_is_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    """Twice, these are 233 ms of 30 requests."""
    query = Query(spark, tmp_path, OTEL.replace("30 seconds", "1 second"))
    query.write("latency", [REQUEST])
    query.write("latency", [END])
    query.process(files_per_epoch=1)
    (row,) = [item for item in query.output("averages") if item.get("service") == "cart"]
    assert (row["latency"], row["n"]) == (200.0, 20)
    assert query.quarantine("latency") == []
    text = status_text(read_status(str(tmp_path / "checkpoint")))
    assert "3 tuples read" in text
    assert "RQ333: 1" in text


def test_the_reference_and_a_plain_list_of_both_names(tmp_path: Path) -> None:
    both = OTEL.replace(f'"{NEW}" over "{OLD}"', f'"{NEW}", "{OLD}"').replace("30 seconds", "1 second")
    for number, (text, expected) in enumerate(
        ((both, (700 / 3, 30)), (OTEL.replace("30 seconds", "1 second"), (200.0, 20)))
    ):
        query = Query.without_engine(tmp_path / str(number), text)
        query.write("latency", [REQUEST, END])
        query.simulate()
        (row,) = [item for item in query.simulated.output("averages") if item.get("service") == "cart"]
        assert (row["latency"], row["n"]) == pytest.approx(expected, rel=1e-12)
        assert query.simulated.codes == []


NAMES = ("new", "middle", "old", "other")
OVER = (("new", "middle"), ("middle", "old"))
TYPES = {"metric": Type("string"), "at": Type("long"), "host": Type("string"), "count": Type("long")}
PATHS = {"at": ("time",), "host": ("resource", "host")}


@pytest.mark.parametrize("seed", range(20))
def test_the_newest_name_of_each_instance_and_time_is_taken(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, point by point, and by a definition: requests of few instances and times, with gauges between."""
    chance = Random(seed)

    def one() -> dict[str, Any]:
        name = chance.choice(NAMES)
        host: dict[str, Any] = {"host": chance.choice("ab"), "zone": 1}
        if chance.random() < 0.3:
            host = dict(reversed(host.items()))
        if seed % 5 == 4:
            host["list"] = [chance.choice("xy")]
        value = {"int": 5} if chance.random() < 0.3 else {"count": 1, "sum": 1.0}
        return {"metric": name, "time": chance.choice([1, 2]), "resource": host, **value}

    points = [[one() for _ in range(chance.randint(1, 8))] for _ in range(5)]
    block = Block("\n".join(map(request, points)).encode(), 0)
    batches = PointBatches(TYPES, reader=PointReader(TYPES, PATHS, NAMES, OVER))
    if seed % 5 != 4:
        assert batches.parsed(block.text, *block.lines()) is not None
    actual = [row["$corrupt"] for row in batches.batch(block, 0).to_pylist()]
    monkeypatch.setattr(PointBatches, "parsed", lambda *_: None)
    assert [row["$corrupt"] for row in batches.batch(block, 0).to_pylist()] == actual

    def replaced(point: dict[str, Any], others: list[dict[str, Any]]) -> bool:
        newer = NAMES[: NAMES.index(point["metric"])] if point["metric"] != "other" else ()
        return any(
            other["metric"] in newer
            and (other["time"], other["resource"]) == (point["time"], point["resource"])
            for other in others
        )

    expected = ["RQ333" if replaced(point, line) else None for line in points for point in line]
    assert actual == expected


def test_a_metric_is_named_once() -> None:
    with pytest.raises(DiagnosticError) as error:
        compile_query(OTEL.replace(f'over "{OLD}"', f'over "{OLD}", "{NEW}"'))
    assert error.value.diagnostics[0].code == "RQ104"
