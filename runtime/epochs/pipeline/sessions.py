"""The session that a query runs in: of the engine that is asked for, else of the one that is there."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from cedilla.compiler import Engine, Plan
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.spark import java, sail, session
from cedilla.runtime.engines.spark.connect import connect_session
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.stopping import handled

_WORDS: dict[Engine, str] = {"spark": "Spark", "connect": "a session of Spark Connect", "sail": "Sail"}


def engine_of(options: Options) -> Engine:
    """Returns the engine that options ask for; else Spark, or the embedded engine if only that can start."""
    if options.remote is not None:
        return "connect"
    if options.engine is not None:
        return options.engine
    is_free = options.master is None and sail.is_installed()
    return "sail" if is_free and (not session.is_installed() or java.find_java() is None) else "spark"


@contextmanager
def engine_session(
    plan: Plan, options: Options, engine: Engine, on_step: Callable[[str], None]
) -> Iterator[SparkSession]:
    """Opens a session for a plan. Raises `DiagnosticError`: RQ403 without Java or Spark, RQ424 without Sail, RQ428 if
    no server answers; `KeyboardInterrupt` if the start is interrupted."""
    if engine == "sail" and options.engine is None:
        on_step(f"starting Sail, because this machine lacks {'Java' if session.is_installed() else 'Spark'}")
    else:
        on_step(f"starting {_WORDS[engine]}")
    if engine == "spark":
        yield _of_spark(plan, options)
    elif engine == "sail":
        with sail.sail_session(options.conf) as opened:
            yield opened
    else:
        assert options.remote is not None
        with connect_session(options.remote, options.conf) as opened:
            yield opened


def _of_spark(plan: Plan, options: Options) -> SparkSession:
    if not session.is_installed():
        hint = "`pip install pyspark`; `--engine sail` needs no Java"
        raise failure("RQ403", "only the client of PySpark is installed, which starts no Spark", hint=hint)
    # A Java that is left alone while it starts would write a trace and stay for ever: it is waited for.
    with interruptible() as interrupted:
        try:
            started = session.local_session(
                f"cedilla {plan.name}", options.master, options.conf, verbose=options.verbose
            )
        except java.JavaMissing as missing:
            if not interrupted():
                hint = f"{sail.INSTALL}: an engine that needs no Java; or set JAVA_HOME"
                raise failure("RQ403", missing.message, hint=hint) from None
            raise KeyboardInterrupt from None
    if interrupted():
        raise KeyboardInterrupt
    return started


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
