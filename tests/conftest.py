"""Fixtures shared by all tests."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.java import SHORT_LIVED
from tests.tiers import TIERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a test run finds does not depend on luck, or a change would be blamed for what it did not do. New cases are
# looked for by `make soak`, and wherever EXAMPLES is set.
settings.register_profile("repeatable", derandomize="EXAMPLES" not in os.environ, deadline=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=["spark", "sail"], default="spark", help="what runs queries in tests"
    )


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator["SparkSession"]:
    """One session of Spark on this machine for the whole run; of Sail, if `--engine` says so."""
    if request.config.getoption("--engine") == "sail":
        from cedilla.runtime.engines.sail import sail_session

        with sail_session() as session:
            yield session
        return
    from cedilla.runtime.engines.session import local_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", f"{SHORT_LIVED} {os.environ.get('SPARK_SUBMIT_OPTS', '')}")
        session = local_session("cedilla-tests")
    _forget_defaults_of_hadoop(session)
    yield session
    session.stop()


def _forget_defaults_of_hadoop(session: "SparkSession") -> None:
    """Leave Hadoop the settings that are Spark's and ours.

    It has a thousand more, of clusters and stores that no test has. They go to every task that writes: half of the
    time of a small one.
    """
    classes: Any = session._jvm
    classes.org.apache.hadoop.hdfs.HdfsConfiguration.init()  # which would bring them again
    context: Any = session.sparkContext
    settings = context._jsc.hadoopConfiguration()
    settings.clear()
    for name, value in context.getConf().getAll():
        if name.startswith("spark.hadoop."):
            settings.set(name.removeprefix("spark.hadoop."), value)


@pytest.fixture(scope="session")
def _embedded(request: pytest.FixtureRequest) -> Iterator["SparkSession"]:
    """One session of the embedded engine for the whole run."""
    if request.config.getoption("--engine") == "sail":
        yield request.getfixturevalue("spark")
        return
    pytest.importorskip("pysail")
    from cedilla.runtime.engines.sail import sail_session

    with sail_session() as session:
        del os.environ["SPARK_CONNECT_MODE_ENABLED"]
        yield session


@pytest.fixture
def sail(_embedded: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> "SparkSession":
    """The embedded engine. PySpark makes expressions for one kind of session at a time, so no test can have both."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    return _embedded


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[TIERS] = {
        item.nodeid: next((tier for tier in ("soak", "rest") if item.get_closest_marker(tier)), "test")
        for item in items
    }
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
