"""A query of the suite: one question, written for Cedilla, Structured Streaming and Flink, some also for DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tests.benchmarks.inputs import Rows

START = 1_700_000_400
"""Event time of the first row, in seconds."""

EXTENT = 600
"""Seconds of event time in an epoch, however many rows it has."""

WINDOW = 300


@frozen
class Size:
    """How much input: rows of an epoch of the main stream, and epochs."""

    rows: int
    epochs: int

    @property
    def keys(self) -> int:
        """Different sensors: some hundred rows each in large epochs."""
        return min(10_000, max(100, self.rows // 100))


@frozen
class Stream:
    """An input of a query; `rows` and `punctuation` by size, `schema` as a Spark DDL text."""

    schema: str
    rows: Callable[[Size], Rows]
    punctuation: Callable[[Size, int], str]
    table: bool = False
    """All of it is one file, of as many rows as there are keys."""


@frozen
class Query:
    """`cedilla`: the text, with `{keys}`, and `{format}` for the format of sources and sink; `output` names its emit.

    `native` makes the twin's streaming frame (a table is a static frame). `flink`: the SELECT; its tables have
    the streams' columns, `arrived` (the time of processing) and, where there is a watermark, `event_time`.
    `columns`, `closed`: what every engine's output has, and the part of it that all have written when the input
    ends. `stateful` says whether the state store matters.
    """

    name: str
    streams: Mapping[str, Stream]
    cedilla: str
    output: str
    native: Callable[[Mapping[str, DataFrame]], DataFrame]
    flink: str
    columns: str
    closed: Callable[[Size], str] = lambda size: "true"
    stateful: bool = True
    flink_watermarks: Mapping[str, tuple[str, int]] = {}
    """Stream -> the column of its event time (seconds), and how far behind the watermark is."""
    flink_keys: Mapping[str, str] = {}
    """Stream -> its primary key."""
    flink_views: Mapping[str, str] = {}
    duckdb: str = ""
    """The SELECT over all rows at once, in DuckDB; without it DuckDB does not take part."""


# --- event time ----------------------------------------------------------------------------------------------


def seconds(size: Size, row: str = "id") -> str:
    """SQL: the event time of a row by its number, spread over its epoch."""
    return (
        f"({START} + ({row} DIV {size.rows}) * {EXTENT} + (({row} % {size.rows}) * {EXTENT}) DIV {size.rows})"
    )


def last_second(size: Size, epoch: int) -> int:
    """The greatest event time of an epoch: what a watermark without delay comes to."""
    return START + epoch * EXTENT + ((size.rows - 1) * EXTENT) // size.rows


def at(name: str) -> Column:
    """The twin's event time column, from seconds."""
    return F.timestamp_seconds(name)


def window_number() -> Column:
    """The number of a tumbling window, as Cedilla counts them."""
    return F.expr(f"unix_seconds(window.start) DIV {WINDOW}")


FLINK_WINDOW_NUMBER = (
    f"CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_start) / {WINDOW} AS BIGINT)"
)
