"""Reports failures of engines and of the system as diagnostics: they end a run, and no input explains them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from attrs import evolve
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.storage.engine_failures import refusal
from cedilla.runtime.connectors.storage.system_errors import refused
from cedilla.runtime.engines.spark import outages
from cedilla.runtime.engines.spark.outages import GOES_ON, lost_java, lost_server
from cedilla.runtime.engines.spark.spark import is_of_java


@contextmanager
def failures_told(session: SparkSession | None = None) -> Iterator[None]:
    """Turns the exceptions of an engine, of the system and of a lack of memory into diagnostics, whose cause they are.

    As `refusal`; RQ427 if a server is away, RQ324 if the Java of the session has ended, RQ431 or RQ323 if the system
    refuses something, RQ325 if the engine has failed otherwise. Faults in Cedilla itself pass.
    """
    try:
        yield
    except (DiagnosticError, BrokenPipeError):  # the reader of the output has gone
        raise
    except Exception as problem:
        if (diagnostic := _told(problem, session)) is None:
            raise
        for note in getattr(problem, "__notes__", ()):
            diagnostic.add_note(note)
        raise diagnostic from problem
    except BaseException as problem:
        if type(problem).__name__ != _PANIC:
            raise
        raise (refusal(problem) or _failed(problem)) from problem


_PANIC = "PanicException"
"""The name of the exceptions of Rust, as of Sail; they are not `Exception`."""


def afterwards(first: BaseException) -> AbstractContextManager[None]:
    """Notes on the exception that came first what else fails while a run ends, as `outages.afterwards`."""
    return outages.afterwards(first, lambda problem: _told(problem, None))


def with_commit(error: DiagnosticError, epoch: int) -> DiagnosticError:
    """Returns an error that no input explains, with a note of the last committed epoch."""
    committed = "no epoch is committed" if epoch < 0 else f"epoch {epoch} is the last that is committed"
    return DiagnosticError(
        evolve(d, notes=(*d.notes, committed)) if d.code in _OF_MACHINES else d for d in error.diagnostics
    )


_OF_MACHINES = ("RQ322", "RQ323", "RQ327")


def _told(problem: Exception, session: SparkSession | None) -> DiagnosticError | None:
    if (loss := lost_server(problem) or (session and lost_java(session)) or refusal(problem)) is not None:
        return loss
    if isinstance(problem, OSError):
        return refused(problem)
    return _failed(problem) if isinstance(problem, PySparkException) or is_of_java(problem) else None


def _failed(problem: BaseException) -> DiagnosticError:
    message = str(problem).strip().partition("\n")[0] or type(problem).__name__
    return failure("RQ325", f"the engine has failed: {message}", hint=GOES_ON)


def killed() -> DiagnosticError:
    """Returns RQ327: the process of a run has ended without a word."""
    hint = f"{GOES_ON}; the system kills processes where the machine has no memory left (`dmesg` tells)"
    return failure("RQ327", "the process of the run was killed", hint=hint)
