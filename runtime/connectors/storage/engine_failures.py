"""Explains failed jobs of an engine: diagnostics from the texts that engines have for each other's errors."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from cedilla.compiler.expressions.units import exact_conversions
from cedilla.grammar.diagnostics import DiagnosticError, failure
from cedilla.runtime.connectors.records.foreign import unreadable_parquet
from cedilla.runtime.connectors.records.lines import damaged, is_compressed
from cedilla.runtime.connectors.records.rejections import beyond, beyond_in_unit
from cedilla.runtime.connectors.storage.system_errors import full_disk, help_of, no_memory
from cedilla.runtime.engines.spark.columns import BEYOND
from cedilla.runtime.engines.spark.memory import lack_of_memory
from cedilla.runtime.engines.spark.workers import unfit_workers


def failed_text(error: DiagnosticError) -> str:
    """Returns the text with which SQL raises a diagnostic, so that `refusal` finds it."""
    return f"DiagnosticError: {error}"


def refusal(problem: BaseException) -> DiagnosticError | None:
    """Returns the diagnostic for a failed job, or for what a Python task raised; `None` for other errors.

    RQ310 of `as_double`; RQ308 of a compressed file, RQ414 of one in Parquet; RQ431 of a disk that takes no more; RQ322
    of a lack of memory; RQ433 of unfit workers.
    """
    if isinstance(problem, DiagnosticError | OSError):  # of this process, which knows more than its text
        return None
    text = str(problem)
    if match := re.search(rf"{re.escape(exact_conversions.BEYOND)}([^\s']+)", text):
        return beyond_in_unit(match[1])
    if match := re.search(rf"{re.escape(BEYOND)}([^\s']+)", text):
        return beyond(match[1])
    if match := _RAISED.search(text):
        return failure(match[1], match[2], hint=match[3])
    if match := _NOT_WRITTEN.search(text):
        return not_written(_NUMBERS[match[0]], tempfile.gettempdir())
    if (words := lack_of_memory(problem)) is not None:
        return no_memory(words)
    if match := _NOT_READ.search(text):
        path = Path(unquote(match[1]))
        if is_compressed(path):
            return damaged(str(path))
        if _OF_PARQUET in text or path.suffix == ".parquet":
            *_, cause = _CAUSE.findall(text) or [match[0]]
            return unreadable_parquet(str(path), cause)
    return unfit_workers(problem)


_RAISED = re.compile(r"DiagnosticError: error\[(RQ\d+)\]: (.*)(?:\n = help: (.*))?")
"""The end of a traceback that comes back as a text (`diagnostics.render`)."""


_NUMBERS = {
    os.strerror(number): number
    for number in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EMFILE)
}
"""The words of the operating system for a disk that takes no more, which engines repeat, by their numbers."""
_NOT_WRITTEN = re.compile("|".join(map(re.escape, _NUMBERS)))
_NOT_READ = re.compile(
    r"FAILED_READ_FILE\S* Encountered error while reading file (?:file:/*(?=/))?(.+?)\.\s+SQLSTATE"
)

_OF_PARQUET = "org.apache.parquet"
_CAUSE = re.compile(r"Caused by: (?:[\w.$]+: )?(.+)")


def not_written(number: int, *places: str) -> DiagnosticError:
    """Returns RQ431 for a job whose files the system refuses. `places`: where it may have written."""
    folder = full_disk(places) if number == errno.ENOSPC else places[0]
    message = f"the engine cannot write in {folder}: {os.strerror(number)}"
    return failure("RQ431", message, hint=help_of(number, folder))


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Names the folder into which a job writes, if the system refuses its files. Engines also write to the folder for
    temporary files."""
    try:
        yield
    except Exception as problem:
        if match := _NOT_WRITTEN.search(str(problem)):
            raise not_written(_NUMBERS[match[0]], path, tempfile.gettempdir()) from problem
        raise
