"""The session that a query runs in: of the engine that is asked for, else of the one that is there."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from cedilla.compiler import Engine, Plan
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.spark import java, sail
from cedilla.runtime.engines.spark.connect import connect_session
from cedilla.runtime.engines.spark.session import local_session
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.stopping import handled

_WORDS: dict[Engine, str] = {"spark": "Spark", "connect": "a session of Spark Connect", "sail": "Sail"}


def engine_of(options: Options) -> Engine:
    """The engine that options ask for; else Spark, or where there is no Java the embedded engine, if it is there."""
    if options.remote is not None:
        return "connect"
    if options.engine is not None:
        return options.engine
    is_sail_only = options.master is None and sail.is_installed() and java.find_java() is None
    return "sail" if is_sail_only else "spark"


@contextmanager
def engine_session(
    plan: Plan, options: Options, engine: Engine, on_step: Callable[[str], None]
) -> Iterator[SparkSession]:
    """A session for a plan. Raises `DiagnosticError`: RQ403 where there is no Java, RQ424 where there is no Sail, RQ428
    where no server answers; `KeyboardInterrupt` where the start is interrupted."""
    if engine == "sail" and options.engine is None:
        on_step("starting Sail, as there is no Java")
    else:
        on_step(f"starting {_WORDS[engine]}")
    if engine == "spark":
        yield _of_spark(plan, options)
    elif engine == "sail":
        with sail.sail_session(options.conf) as session:
            yield session
    else:
        assert options.remote is not None
        with connect_session(options.remote, options.conf) as session:
            yield session


def _of_spark(plan: Plan, options: Options) -> SparkSession:
    # A Java that is left alone while it starts would write a trace and stay for ever: it is waited for.
    with interruptible() as interrupted:
        try:
            session = local_session(
                f"cedilla {plan.name}", options.master, options.conf, verbose=options.verbose
            )
        except java.JavaMissing as missing:
            if not interrupted():
                hint = f"{sail.INSTALL}: an engine that needs no Java; or set JAVA_HOME"
                raise failure("RQ403", missing.message, hint=hint) from None
            raise KeyboardInterrupt from None
    if interrupted():
        raise KeyboardInterrupt
    return session


def _interrupt() -> None:
    raise KeyboardInterrupt


@contextmanager
def interruptible(
    wished: Callable[[], None] = lambda: None, ordered: Callable[[], None] = _interrupt
) -> Iterator[Callable[[], bool]]:
    """Takes Ctrl-C as a wish to stop, which the yielded function reports, and a second one as an order. The handler of
    pyspark would call into Java while another call waits for its answer. `wished`, `ordered`: are called at once.
    """
    pressed: list[int] = []

    def press(number: int, frame: object) -> None:
        pressed.append(number)
        (wished if len(pressed) == 1 else ordered)()

    with handled(signal.SIGINT, press):
        yield lambda: bool(pressed)
