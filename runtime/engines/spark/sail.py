"""Sail, a Spark Connect server inside this process: the embedded engine (https://lakesail.com). It needs no Java."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.spark.allocators import keep_memory
from cedilla.runtime.engines.spark.connect import connect_session
from cedilla.runtime.engines.spark.settings import WITHOUT_PLACES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTALL = "pip install 'cedilla[sail]'"

_ENVIRONMENT = {
    # A plan of some hundred consecutive operators overflows a thread's default stack, and ends the process.
    "SAIL_RUNTIME__STACK_SIZE": str(128 << 20),
    # A folder that is overwritten would still be read with its old contents.
    "SAIL_EXECUTION__FILE_LISTING_CACHE__TYPE": "none",
    # Sail ends a session that is idle for 20 minutes, and a query may wait for files for days: ten years.
    "SAIL_SPARK__SESSION_TIMEOUT_SECS": str(10 * 365 * 86_400),
    # Sail reports each session and each query that it abandons.
    "RUST_LOG": "error",
}


def is_installed() -> bool:
    """Returns True if the embedded engine can be started."""
    return find_spec("pysail") is not None


@contextmanager
def sail_session(conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Opens a session of an engine inside this process, on a free port of 127.0.0.1; both end with the context.

    `conf`: settings of the session, which override the others. While it is open, PySpark's functions are those of Spark
    Connect in the whole process, which from now on keeps memory that it gives back (`allocators`). Raises
    `DiagnosticError` RQ424 if `pysail` is not installed.
    """
    if not is_installed():
        raise failure("RQ424", "the embedded engine is not installed", None, hint=INSTALL)
    for name, value in _ENVIRONMENT.items():  # read once, when the engine starts in a process
        os.environ.setdefault(name, value)
    keep_memory()
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    try:
        address = server.listening_address
        assert address is not None
        settings = {**WITHOUT_PLACES, **(conf or {})}
        with connect_session(f"sc://{address[0]}:{address[1]}", settings) as session:
            session.client.disable_reattachable_execute()  # no connection breaks, and each answer costs two calls
            yield session
    finally:
        server.stop()
