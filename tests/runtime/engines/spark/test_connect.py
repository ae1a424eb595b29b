"""Programs on a server of Spark Connect give the results of Spark, because they make only PySpark's public calls. (Sail
speaks the same protocol; its results are compared with those of Spark test by test.)"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import RetryPolicyState

from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import connect_session
from cedilla.runtime.engines.spark.outages import lost_server
from cedilla.runtime.engines.spark.tuning import Tuning
from tests.kit.clusters import Process, connect_server
from tests.kit.columns import columns_in
from tests.kit.tiers import soak
from tests.laws.engine_runs import check_random_plan
from tests.runtime.engines.plain.edge_streams import (
    STREAM,
    compare,
    edges,
    of_each_operator,
    on_sail,
    relations,
)
from tests.runtime.engines.plain.scalar_expressions import EXPRESSIONS, check_types_and_values
from tests.runtime.engines.spark.lookup_tables import KEYS, check_tables

MODE = "SPARK_CONNECT_MODE_ENABLED"
pytestmark = [pytest.mark.rest, pytest.mark.spark]


@pytest.fixture(scope="module")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SparkSession, Process]]:
    with (
        connect_server(tmp_path_factory.mktemp("connect")) as (url, server),
        connect_session(url, {"spark.sql.shuffle.partitions": "2"}) as session,
    ):
        del os.environ[MODE]
        yield session, server


@pytest.fixture
def connect(_served: tuple[SparkSession, Process], monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """A session of the server. PySpark makes expressions for one kind of session at a time. A test that fails shows
    what the server has complained of: its answers may say nothing."""
    monkeypatch.setenv(MODE, "1")
    session, server = _served
    yield session
    print(server.complaints())


def test_every_scalar_function(connect: SparkSession) -> None:
    check_types_and_values(connect, EXPRESSIONS)


@pytest.mark.parametrize("name", [n if n in of_each_operator() else soak(n) for n in relations()])
def test_every_operator_and_aggregate_function(connect: SparkSession, tmp_path: Path, name: str) -> None:
    query = f"{STREAM} out := {relations()[name]}; emit out to json 'out';"
    compare(connect, tmp_path, query, {"r": edges()}, on_sail)


def test_small_epochs_have_settings_of_their_own(connect: SparkSession) -> None:
    """A server's own 200 partitions of a shuffle took most of an epoch of few tuples."""
    name = "spark.sql.shuffle.partitions"
    before = str(connect.conf.get(name))
    connect.conf.set(name, "200")
    try:
        tuning = Tuning(connect, {})
        tuning.choose(costs.SMALL_EPOCH - 1)
        assert connect.conf.get(name) == "1"
        assert connect.conf.get("spark.sql.adaptive.enabled") == "false"
        tuning.restore()
        assert connect.conf.get(name) == "200"
        assert connect.conf.get("spark.sql.adaptive.enabled") == "true"
    finally:
        connect.conf.set(name, before)


@pytest.mark.faults
def test_a_server_that_goes_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark waits for ten minutes at each call; what comes after the first has nothing to wait for."""
    wait, waits = RetryPolicyState.next_attempt, list[Any]()
    monkeypatch.setattr(RetryPolicyState, "next_attempt", lambda *at: (waits.append(at), wait(*at))[1])
    waited = list[int]()
    with connect_server(tmp_path) as (url, server), connect_session(url) as session:
        assert session.range(3).count() == 3
        server.kill()
        for _ in range(5):
            with pytest.raises(PySparkException) as raised:
                session.range(3).count()
            lost = lost_server(raised.value)
            assert lost is not None
            assert lost.diagnostics[0].code == "RQ427"
            waited.append(len(waits))
        assert waited == [waited[0]] * 5
        assert waited[0]


def test_moments_are_written_in_full_beside_a_nan(connect: SparkSession, tmp_path: Path) -> None:
    """An epoch that has a NaN is written another way, which is to write the same moments."""
    rows = connect.sql(
        "SELECT TIMESTAMP '2020-01-02 03:04:05.123456' AS at, array(TIMESTAMP '1969-12-31 23:59:59.000001') AS more, "
        "double('NaN') AS x, DATE '2020-01-02' AS day, CAST(NULL AS TIMESTAMP) AS none"
    )
    JsonLinesSink(Files(), str(tmp_path), "out").write(rows, columns_in(rows), str(tmp_path / "tuples"))
    texts = [path.read_text() for path in (tmp_path / "tuples").glob("part-*")]
    assert json.loads("".join(texts)) == {
        "at": "2020-01-02T03:04:05.123456Z",
        "more": ["1969-12-31T23:59:59.000001Z"],
        "x": "NaN",
        "day": "2020-01-02",
    }


@pytest.mark.parametrize("seed", [*range(4), *map(soak, range(4, 12))])
def test_random_plans(connect: SparkSession, tmp_path: Path, seed: int) -> None:
    check_random_plan(connect, tmp_path, seed)


@pytest.mark.parametrize("name", KEYS)
def test_tables_decode_as_cases_do(connect: SparkSession, name: str) -> None:
    check_tables(connect, name)
