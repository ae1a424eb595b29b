"""Fixtures shared by all tests."""

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zlib import crc32

import pytest
from hypothesis import settings

from cedilla.runtime.engines.spark.java import MINIMUM, find_java
from tests.kit import ROOT
from tests.kit.browser import find_chromium
from tests.kit.java import SHORT_LIVED
from tests.kit.tiers import QUICK, TIERS, rest, soak

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

    from tests.kit.kafka import Broker

LEFT_OUT = pytest.StashKey[int]()
"""In the configuration of a run: how many tests were left out because there is no Java."""
WITHOUT_BROWSER = pytest.StashKey[int]()
"""The same for tests that open a page, and a Chromium."""
_LEFT_OUT, _WITHOUT_BROWSER = "left_out", "without_browser"
MODE = "SPARK_CONNECT_MODE_ENABLED"
"""The variable by which PySpark makes expressions for Spark Connect, and so for Sail."""

# As sessions of Spark Connect have it: a test may import gRPC before there is one.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# Queries of tests read and write in folders that pytest makes.
os.environ.setdefault("CEDILLA_ALLOW_PATH", tempfile.gettempdir())

# Every test run tries the same cases, or a change would be blamed for the faults of another one. `make soak`, EXAMPLES
# and `--hypothesis-seed` try new ones.
_COUNT = 10 if "QUICK" in os.environ else 100
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=_COUNT)
settings.register_profile("new", derandomize=False, deadline=None)
settings.load_profile("new" if "EXAMPLES" in os.environ else "repeatable")


_SHARE_ON_SPARK = 6
"""One in so many tests that either engine answers runs on Spark before the soak: each takes seconds there, and Spark
has laws, cases and runs of each kind of its own."""


def _is_on_spark(name: str) -> bool:
    """Returns True for the tests of that share. `name`: the node of a test, with or without its case."""
    return crc32(name.partition("[")[0].encode()) % _SHARE_ON_SPARK == 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=["spark", "sail"], default="spark", help="what runs queries in tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Laws use a seed that is given. Hypothesis ignores it for tests that repeat their cases."""
    if config.getoption("--hypothesis-seed") is not None:
        settings.load_profile("new")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests marked `either_engine` run on Sail, and on Spark in the rest tier or in the soak."""
    marked = metafunc.definition.get_closest_marker("either_engine") is not None
    if marked and "spark" in metafunc.fixturenames and metafunc.config.getoption("--engine") == "spark":
        on_spark = (rest if _is_on_spark(metafunc.definition.nodeid) else soak)("spark")
        metafunc.parametrize("spark", ["sail", on_spark], indirect=True, scope="session")


NOT_QUICK = ("long", "rest", "soak", "faults", "spark", "java")
"""The marks of tests that `make quick` leaves out."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects tests without looking for garbage: a third of the time, and again later, for what stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, obj: object
) -> list[pytest.Item] | None:
    """A run that leaves out the cases of `make soak` does not make them: they are more than five in six."""
    left_out = "not soak" in collector.config.option.markexpr and any(
        mark.name == "soak" for mark in getattr(obj, "pytestmark", ())
    )
    return [] if left_out else None


@pytest.hookimpl
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make quick` does not import the modules that have nothing for it."""
    if not config.option.markexpr.startswith("quick") or not collection_path.match("test_*.py"):
        return None
    is_quick = _is_of_quick_folder(collection_path) or "mark.quick" in collection_path.read_text("utf-8")
    return None if is_quick else True


def _is_of_quick_folder(path: Path) -> bool:
    return any(path.is_relative_to(ROOT / "tests" / folder) for folder in ("grammar", "compiler"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a test, which is empty at its start."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> "SparkSession":
    """One session of Spark on this machine for the whole run; of Sail, if the test or `--engine` says so."""
    return request.getfixturevalue("_embedded" if _is_on_sail(request) else "_classic")


def _is_on_sail(request: pytest.FixtureRequest) -> bool:
    return getattr(request, "param", request.config.getoption("--engine")) == "sail"


@pytest.fixture(scope="session")
def _classic() -> Iterator["SparkSession"]:
    from cedilla.runtime.engines.spark.session import local_session

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
    pytest.importorskip("pysail")
    from cedilla.runtime.engines.spark.sail import sail_session
    from tests.kit.columns import columns_checked

    mode = os.environ.get(MODE)
    with sail_session() as session, columns_checked():
        if mode is None and request.config.getoption("--engine") == "spark":
            del os.environ[MODE]
        yield session


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Broker]":
    """A broker of Kafka on this machine."""
    from tests.kit.kafka import broker, install

    try:
        install()
    except OSError as problem:
        pytest.skip(str(problem))
    with broker(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture(scope="module")
def _store() -> Iterator[str]:
    """The address of a store of objects on this machine."""
    from tests.kit.object_store import object_store

    with object_store() as address:
        yield address


@pytest.fixture
def bucket(_store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of a new bucket, and an account in the environment."""
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", _store)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-to-be-told")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")  # for the clients of engines
    s3fs.S3FileSystem.clear_instance_cache()
    name = f"cedilla-{uuid4()}"
    s3fs.S3FileSystem(use_listings_cache=False).mkdir(name)
    yield f"s3://{name}"
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """A headless Chromium."""
    from tests.kit.browser import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def sail(_embedded: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> "SparkSession":
    """The embedded engine. PySpark makes expressions for one kind of session at a time, so no test can have both."""
    monkeypatch.setenv(MODE, "1")
    return _embedded


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test on Sail has the mode of Sail for its fixtures, too."""
    with pytest.MonkeyPatch.context() as patch:
        if _parameters(item).get("spark") == "sail":
            patch.setenv(MODE, "1")
        return (yield)


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    # Further cases are asked once: of Spark in its share of the tests, of Sail in the others.
    items[:] = [
        item
        for item in items
        if not (
            _parameters(item).get("spark") == "sail"
            and item.get_closest_marker("rest")
            and _is_on_spark(item.nodeid)
        )
    ]
    config.stash[TIERS] = {
        item.nodeid: next(
            (tier for tier in ("soak", "faults", "rest") if item.get_closest_marker(tier)), "test"
        )
        for item in items
    }
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and _parameters(item).get("spark") != "sail":
            item.add_marker(pytest.mark.spark)
        if _is_of_quick_folder(item.path):
            item.add_marker(pytest.mark.quick)
    config.stash[QUICK] = {
        item.nodeid
        for item in items
        if item.get_closest_marker("quick") and not any(map(item.get_closest_marker, NOT_QUICK))
    }
    if not find_java():
        kept = [item for item in items if not _needs_java(item)]
        left_out = [
            item for item in items if _needs_java(item) and config.stash[TIERS][item.nodeid] == "test"
        ]
        config.stash[LEFT_OUT] = len(left_out)
        items[:] = kept
    if any(map(_needs_browser, items)) and find_chromium() is None:
        left_out = [i for i in items if _needs_browser(i) and config.stash[TIERS][i.nodeid] == "test"]
        config.stash[WITHOUT_BROWSER] = len(left_out)
        items[:] = [item for item in items if not _needs_browser(item)]
    result = yield
    items[:] = _shared_out(items)
    return result


def _needs_browser(item: pytest.Item) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


def _needs_java(item: pytest.Item) -> bool:
    """Returns True for tests that start Spark or a broker, by their fixtures or by the mark `java`."""
    starts_broker = "kafka" in getattr(item, "fixturenames", ())
    return starts_broker or any(item.get_closest_marker(mark) for mark in ("spark", "java"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of several hands its count of left-out tests to the one that reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_LEFT_OUT] = session.config.stash.get(LEFT_OUT, 0)
        output[_WITHOUT_BROWSER] = session.config.stash.get(WITHOUT_BROWSER, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash[LEFT_OUT] = output.get(_LEFT_OUT, 0)
    node.config.stash[WITHOUT_BROWSER] = output.get(_WITHOUT_BROWSER, 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Reports how many tests a Java or a Chromium would add."""
    if count := config.stash.get(WITHOUT_BROWSER, 0):
        terminalreporter.write_line(
            f"no Chromium was found: {count} tests of pages were left out; `.venv/bin/playwright install chromium`"
        )
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"no Java {MINIMUM} or newer was found: {count} tests that require it were left out; "
            "`make test` installs one where it can, or set JAVA_HOME"
        )


def _shared_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Tests on Spark as the first of the second half, where they are few.

    Of two processes one begins there: only it starts Java and makes it warm. The other one finds nothing of them at the
    end, from where it takes what is left.
    """
    on_spark = [item for item in items if item.get_closest_marker("spark")]
    others = [item for item in items if not item.get_closest_marker("spark")]
    half = len(items) // 2
    return [*others[:half], *on_spark, *others[half:]] if len(on_spark) < half // 2 else items
