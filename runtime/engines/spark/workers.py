"""Runs functions over Arrow batches in the engine's Python workers, and explains the errors of unfit workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import pyarrow as pa
from attrs import field, frozen
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from cedilla.grammar.diagnostics import DiagnosticError, failure

Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def in_workers(frame: DataFrame, function: Batches, schema: StructType | str) -> DataFrame:
    """Applies a function to the rows of a DataFrame in Python workers, which need the same version of Cedilla as
    here."""
    return frame.mapInArrow(_Sent(installed(), cloudpickle.dumps(function)), schema)


@cache
def installed() -> str:
    """Returns the version of Cedilla in this Python."""
    try:
        return version("cedilla")
    except PackageNotFoundError:  # a source tree on PYTHONPATH
        return "(not installed)"


@frozen
class _Sent:
    """A function that is sent to workers. It is unpacked only by the same version of Cedilla, because another version
    may give the packed names another meaning."""

    of: str
    packed: bytes = field(repr=False)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if installed() != self.of:
            raise _unfit(f"have cedilla {installed()}, and the run has cedilla {self.of}")
        function: Batches = cloudpickle.loads(self.packed)
        return function(batches)


def unfit_workers(problem: BaseException) -> DiagnosticError | None:
    """Returns RQ433 if a job failed because the engine's Python workers do not start or lack a module."""
    if isinstance(problem, DiagnosticError):  # it reports the error already
        return None
    text = str(problem)
    fault = next(((what, m) for pattern, what in _FAULTS if (m := pattern.search(text))), None)
    if fault is None:
        return None
    what, match = fault
    return _unfit(what(match))


def _unfit(what: str) -> DiagnosticError:
    return failure("RQ433", f"the engine's Python workers {what}", hint=_HINT)


_HINT = "`pip install` Cedilla, and what functions of yours import, for the Python that PYSPARK_PYTHON names"
_FAULTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r'Cannot run program "([^"]+)"'),
        lambda m: f"do not start: their machines lack the program `{m[1]}`",
    ),
    (
        re.compile(r"\[PYTHON_VERSION_MISMATCH\][^:]*: (\d+\.\d+) than that in driver: (\d+\.\d+)"),
        lambda m: f"run Python {m[1]}, and this is Python {m[2]}",
    ),
    (
        re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'"),
        lambda m: f"have no module `{m[1]}`",
    ),
    (
        re.compile(r"\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] (\w+)(?: >= ([\d.]+))?"),
        lambda m: f"have no `{m[1]}`" + (f" of version {m[2]} or newer" if m[2] else ""),
    ),
)
