"""What the processes of the competitors call, for the queries of the suite `core`."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.benchmarks import engines
from tests.benchmarks.contest import INPUTS, outcome
from tests.benchmarks.core.query import Query, Size, Stream
from tests.benchmarks.flink import tables as tables_
from tests.benchmarks.inputs import FILES_PER_EPOCH, write_flat, write_stream

NAMES = ("select", "window", "paper", "chained", "join", "distinct", "minus")


def query_of(name: str) -> Query:
    return import_module(f"tests.benchmarks.core.{name}").QUERY


def folder_of(query: str, stream: str, rows: int, epochs: int, format: str) -> Path:
    return INPUTS / "core" / query / f"{format}-{rows}x{epochs}" / stream


def flat_folder_of(query: str, stream: str, rows: int, epochs: int, format: str) -> Path:
    """The same rows in as many files as there are cores."""
    return INPUTS / "core" / query / f"{format}-{rows}x{epochs}-flat" / stream


def prepare(spark: SparkSession, query: Query, size: Size, format: str, parts: int | None) -> None:
    """Write the inputs of a query, and for Flink (`parts`: cores) the same rows again."""
    for name, stream in query.streams.items():
        rows, files = _amount(stream, size)
        dimensions = (query.name, name, size.rows, size.epochs, format)

        def punctuation(epoch: int, stream: Stream = stream) -> str:
            return stream.punctuation(size, epoch)

        write_stream(spark, folder_of(*dimensions), stream.rows(size), rows, files, format, punctuation)
        if parts is not None:
            dealt = 1 if stream.table else parts
            write_flat(spark, flat_folder_of(*dimensions), stream.rows(size), rows * files, dealt, format)


def _amount(stream: Stream, size: Size) -> tuple[int, int]:
    """Rows of a file, and files."""
    return (size.keys, 1) if stream.table else (size.rows, size.epochs)


def run_cedilla(
    session: SparkSession, folder: str, query: str, rows: int, epochs: int, format: str
) -> dict[str, Any]:
    size, asked = Size(rows, epochs), query_of(query)
    text = asked.cedilla.replace("{format}", format).replace("{keys}", str(size.keys))
    sources = {name: str(folder_of(query, name, rows, epochs, format)) for name in asked.streams}
    return engines.run_cedilla(
        session,
        folder,
        text,
        sources,
        asked.output,
        FILES_PER_EPOCH[format],
        format,
        _epoch_rows(asked, rows),
    )


def run_native(
    session: SparkSession, folder: str, query: str, rows: int, epochs: int, format: str
) -> dict[str, Any]:
    asked, frames = query_of(query), {}
    for name, stream in asked.streams.items():
        path = str(folder_of(query, name, rows, epochs, format))
        if stream.table:
            glob = engines.DATA_GLOB[format]
            reader = session.read.schema(stream.schema).option("pathGlobFilter", glob)
            frames[name] = reader.format(format).load(path).dropna("all")
        else:
            frames[name] = engines.read_native(session, path, stream.schema, format)
    return engines.run_native(session, folder, asked.native(frames), format, _epoch_rows(asked, rows))


def run_duckdb(
    session: None, folder: str, query: str, rows: int, epochs: int, format: str, cores: int
) -> dict[str, Any]:
    """A bare query over all files at once, which checks, keeps and announces nothing: how fast files can be read.

    A punctuation at the end of a file is a row of nulls here, as for Structured Streaming."""
    import duckdb

    asked, out = query_of(query), Path(folder, "out")
    out.mkdir()
    start = time.monotonic()
    with duckdb.connect(config={"threads": cores}) as connection:
        for name, stream in asked.streams.items():
            columns = dict(part.rsplit(" ", 1) for part in stream.schema.split(", "))
            files = folder_of(query, name, rows, epochs, format) / engines.DATA_GLOB[format]
            types = ", ".join(f"{column}: '{type_}'" for column, type_ in columns.items())
            reader = (
                f"read_json('{files}', format='newline_delimited', columns={{{types}}})"
                if format == "json"
                else f"read_parquet('{files}')"
            )
            connection.execute(
                f"CREATE VIEW {name} AS SELECT * FROM {reader} WHERE {next(iter(columns))} IS NOT NULL"
            )
        connection.execute(f"COPY ({asked.duckdb}) TO '{out}/all.{format}' (FORMAT {format})")
    total = time.monotonic() - start
    figures = {"rows_per_s": _epoch_rows(asked, rows) * epochs / total, "total_s": total}
    return outcome(figures, str(out), format)


def _epoch_rows(query: Query, rows: int) -> int:
    """The rows of all streams in one epoch."""
    return rows * sum(not stream.table for stream in query.streams.values())


def flink_statements(query: Query, size: Size, format: str) -> list[str]:
    """All that Flink is told, the INSERT last."""
    tables = [
        tables_.source(
            name,
            stream.schema,
            str(flat_folder_of(query.name, name, size.rows, size.epochs, format)),
            format,
            query.flink_watermarks.get(name),
            query.flink_keys.get(name),
        )
        for name, stream in query.streams.items()
    ]
    views = [f"CREATE TEMPORARY VIEW {name} AS {text}" for name, text in query.flink_views.items()]
    return [*tables, *views, *tables_.insert(query.columns, format, query.flink)]


def flink_rows(query: Query, size: Size) -> int:
    """Rows that go in, roughly where a stream leaves some out."""
    return sum(rows * files for rows, files in (_amount(s, size) for s in query.streams.values()))
