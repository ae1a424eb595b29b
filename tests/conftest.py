"""Fixtures shared by all tests."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.tiers import TIERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a test run finds does not depend on luck, or a change would be blamed for what it did not do. New cases are
# looked for by `make soak`, and wherever EXAMPLES is set.
settings.register_profile("repeatable", derandomize="EXAMPLES" not in os.environ, deadline=None)
settings.load_profile("repeatable")

SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -XX:MetaspaceSize=512m"
    " -Xms1g -Xmn400m"
)
"""For a JVM that runs many small jobs once each: what the second compiler makes better never pays, and nothing is
gained by dropping code or by collecting beside the work. Spark's settings are those that users have, and so is all of
a JVM that a test starts itself."""


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """One local Spark session for the whole run."""
    from cedilla.runtime.engines.session import local_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", f"{SHORT_LIVED} {os.environ.get('SPARK_SUBMIT_OPTS', '')}")
        session = local_session("cedilla-tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def _embedded() -> Iterator["SparkSession"]:
    """One session of the embedded engine for the whole run."""
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
