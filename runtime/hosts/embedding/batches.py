"""Batches of another stream as files of a source: for `foreachBatch` of Structured Streaming.

A batch is written into a folder of its number, in one rename, and the query processes it. A batch that Spark repeats
is recognised by its number; the query processes again what it has not committed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from cedilla.compiler.compile import CompiledQuery
from cedilla.compiler.compile import compiled_query as compiled_of
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.lines import local_path
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.options.options import check_names, wrong
from cedilla.runtime.hosts.embedding.frames import StagedData, write_spark
from cedilla.runtime.hosts.embedding.rewriting import columns_of, rewritten
from cedilla.runtime.hosts.embedding.run_options import options_of
from cedilla.runtime.hosts.embedding.tables import check_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STREAM, _STAGED = "_stream", "_staged"


def foreach_batch(
    query: str | Path | CompiledQuery, *, source: str, checkpoint: str | Path, **options: Any
) -> Callable[[DataFrame, int], None]:
    """Returns a function for `df.writeStream.foreachBatch(...)`: each batch is data of one source of the query.

    The other sources are read where the query says, outputs go where it says. Every batch counts once.

    `query`: its path, its text, or the result of `compile_query`. `source`: the name of the source. `checkpoint`: a
    local folder for this function alone; the stream has its own. `options`: others of `Options`.

    Raises `DiagnosticError`: as `compile_query`, RQ477 for a wrong option; the function RQ489 for a batch of another
    stream, and for whatever ends the query.
    """
    compiled, _ = compiled_of(query)
    streams = [source_.name for source_ in compiled.plan.sources if not source_.table]
    check_names("source", [source], streams)
    for name in {"once", "checkpoint"} & options.keys():
        raise wrong(f"`{name}` is set by `foreach_batch`", "leave it out")
    run_options = options_of(options)
    if source in run_options.sources:
        raise wrong(f"sources: `{source}` comes in batches", "leave it out")
    home = local_path(str(checkpoint))
    if home is None:
        hint = "a folder of this machine, or one that is mounted, such as a volume"
        raise failure(
            "RQ489", f"batches are kept in a local folder, and {checkpoint} is in another store", hint=hint
        )
    folder = home.absolute() / "batches" / source

    def process(frame: DataFrame, number: int) -> None:
        from cedilla.runtime.epochs.pipeline import program

        renamed = columns_of(compiled.plan.source_of[source], tuple(frame.columns))
        check_columns(frame, compiled.plan.source_of[source], renamed)
        _take(frame.withColumnsRenamed(renamed) if renamed else frame, number, folder)
        data = StagedData(str(folder), "parquet", tuple(frame.columns))
        chosen = run_options.of_query(compiled.source, compiled.plan)
        chosen = evolve(chosen, once=True, checkpoint=home, allow_paths=(*chosen.allow_paths, str(folder)))
        program.run(rewritten(compiled, {source: data}, {}), chosen, spark=frame.sparkSession)
        for earlier in folder.glob("batch=*"):
            if earlier.name < _name(number):
                shutil.rmtree(earlier)

    return process


def _name(number: int) -> str:
    return f"batch={number:012d}"


def _take(frame: DataFrame, number: int, folder: Path) -> None:
    """Writes a batch, unless it is there. Raises `DiagnosticError` RQ489 if it belongs to another stream."""
    folder.mkdir(parents=True, exist_ok=True)
    _check_stream(frame, folder)
    last = max((batch.name for batch in folder.glob("batch=*")), default="")
    if _name(number) < last:
        message = (
            f"batch {number} comes after batch {int(last.removeprefix('batch='))}: the stream began again"
        )
        raise _other_stream(message, folder)
    if _name(number) == last:
        return
    staged = folder / _STAGED
    shutil.rmtree(staged, ignore_errors=True)
    write_spark(frame, staged)
    Files().sync([str(file) for file in staged.iterdir()], str(folder))
    staged.rename(folder / _name(number))


def _check_stream(frame: DataFrame, folder: Path) -> None:
    """Compares the identity that Spark gives to a stream's checkpoint, where Spark tells it."""
    context = getattr(frame.sparkSession, "_sc", None)
    stream = None if context is None else context.getLocalProperty("sql.streaming.queryId")
    if stream is None:
        return
    file = folder / _STREAM
    if not file.exists():
        file.write_text(stream)
    elif file.read_text() != stream:
        raise _other_stream("the batches are those of another stream, or its checkpoint is new", folder)


def _other_stream(message: str, folder: Path) -> Exception:
    hint = (
        f"a new `checkpoint` and empty outputs for the new stream; {folder} holds the last batch of the other"
    )
    return failure("RQ489", message, hint=hint)
