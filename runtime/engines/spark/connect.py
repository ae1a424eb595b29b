"""Sessions of Spark Connect, with a remote server or with an engine inside this process that uses the protocol."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.spark.frames import is_connect, is_local
from cedilla.runtime.engines.spark.memory import lack_of_memory
from cedilla.runtime.engines.spark.outages import afterwards, limit_waiting
from cedilla.runtime.engines.spark.settings import RESULTS, set_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cedilla.compiler import Engine

_STATEMENTS = (
    # Sail distributes rows to several files without order; Spark does not know this setting.
    "SET datafusion.execution.minimum_parallel_output_files = 1",
    "SET datafusion.execution.soft_max_rows_per_output_file = 1000000000000",
    # Sail would distribute sorted rows to the cores for expressions, and collect them in any order.
    "SET datafusion.optimizer.enable_round_robin_repartition = false",
    # Statistics of Parquet leave NaN out: Sail would read it as the only other value, and pass over its rows.
    "SET datafusion.execution.collect_statistics = false",
    "SET datafusion.execution.parquet.pruning = false",
)
_PORT, _SECONDS = 15002, 10
_WIDTH = "IPython.utils.terminal"
_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""Decides whether PySpark's functions make Connect expressions; a Connect session sets it."""


@contextmanager
def connect_session(url: str, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Opens a session of the server at `sc://HOST:PORT`; it ends with the context.

    `conf`: settings of the session, which override the others. While it is open, PySpark's functions are those of Spark
    Connect in the whole process. Raises `DiagnosticError` RQ428 if no such server answers.
    """
    # A child process that only starts another program needs no gRPC, and may hang in its handlers. gRPC reads this when
    # it is imported.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from pyspark.sql import SparkSession

    mode = os.environ.get(_MODE)
    try:
        # `getOrCreate` fails if the process also has a classic Spark session.
        session = _opened(SparkSession.builder.remote(url), url, {**RESULTS, **(conf or {})})
        try:
            yield session
        except BaseException as problem:
            with afterwards(problem):
                session.stop()
            raise
        session.stop()
    finally:
        if mode is None:
            os.environ.pop(_MODE, None)


def _answers(url: str) -> None:
    """Raises the error that prevents a connection; PySpark would retry for minutes."""
    address = urlsplit(url)
    socket.create_connection((address.hostname or "", address.port or _PORT), _SECONDS).close()


def _load_client() -> None:
    """Loads PySpark's client. It would load IPython, if that is installed, for the width of a bar of progress."""
    if _WIDTH in sys.modules:
        return
    sys.modules[_WIDTH] = None  # pyright: ignore[reportArgumentType]
    try:
        import_module("pyspark.sql.connect.session")
    finally:
        del sys.modules[_WIDTH]


def _opened(builder: SparkSession.Builder, url: str, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException

    try:
        _answers(url)
        _load_client()
        session = builder.create()
        limit_waiting(session)
        set_all(session, settings)
        for statement in _STATEMENTS:
            session.sql(statement).collect()
    except (PySparkException, OSError, ValueError) as problem:
        if lack_of_memory(problem) is not None:
            raise
        reason = str(problem).strip().partition("\n")[0]
        hint = "the address of a server that speaks Spark Connect, `sc://HOST:15002`"
        raise failure("RQ428", f"{url} gives no session: {reason}", hint=hint) from None
    return session


def engine_in(session: SparkSession) -> Engine:
    """Returns the engine of a session."""
    if not is_connect(session):
        return "spark"
    if session not in _ENGINES:
        row = session.sql("SELECT version()").first()
        assert row is not None
        is_spark = str(row[0]).startswith(session.version)  # Sail returns Spark's version here
        _ENGINES[session] = "connect" if is_spark else "sail"
    return _ENGINES[session]


def is_far(session: SparkSession) -> bool:
    """Returns True if tasks run on other machines, as far as is known: a server may call its own machine local."""
    return engine_in(session) == "connect" or not (is_connect(session) or is_local(session))


_ENGINES: WeakKeyDictionary[SparkSession, Engine] = WeakKeyDictionary()
"""Engines of Spark Connect sessions."""
