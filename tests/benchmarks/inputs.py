"""Input files, written by Spark: the same size gives the same bytes, and one data file is one epoch.

A JSON file ends with its punctuation. Parquet files have theirs in a small file of its own right behind, so that
others read the same data files and need not know of markers.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

_FIRST_TIME = 1_700_000_000
"""Modification time of the first file; those after it come seconds later."""

_BLOCK = 64
"""Rows that stay together where they are dealt out to files."""

MARKER_SUFFIX = "_marker"
"""Sorts behind the file that it belongs to, `000000.parquet`."""
FILES_PER_EPOCH = {"json": 1, "parquet": 2}
DATA_GLOB = {"json": "*[0-9].json", "parquet": "*[0-9].parquet"}


@frozen
class Rows:
    """Rows by their number: `columns` are Spark SQL over `id`, 0, 1, 2, ..., and `where` leaves some out."""

    columns: tuple[str, ...]
    where: str = "true"


def write_stream(
    spark: SparkSession,
    folder: Path,
    rows: Rows,
    per_file: int,
    files: int,
    format: str,
    punctuation: Callable[[int], str | None] = lambda epoch: None,
    accent: Callable[[int], str | None] = lambda epoch: None,
) -> None:
    """`files` files of `per_file` rows each, in order; `punctuation(n)` is the text that follows file n, `accent(n)`
    one that comes before its rows (in JSON only).

    Nothing is written where the folder is there already.
    """
    if folder.exists():
        return
    texts = [punctuation(n) for n in range(files)]
    with in_order(folder) as unfinished:
        _write(spark, rows, per_file * files, files, format, unfinished)
        if format == "parquet":
            _write_markers(spark, texts, unfinished)
        for number, text in enumerate(texts):
            if format == "json":
                _mark(unfinished / f"{number:06d}.json", accent(number), text)


def write_flat(spark: SparkSession, folder: Path, rows: Rows, count: int, parts: int, format: str) -> None:
    """The same rows for an engine without epochs: as many files as cores, dealt out in small blocks, so that time
    goes on at the same pace in all of them. No markers."""
    if folder.exists():
        return
    share = _BLOCK * ceil(count / parts / _BLOCK)
    part, within = f"id DIV {share}", f"id % {share}"
    dealt = f"(({within}) DIV {_BLOCK} * {parts} + {part}) * {_BLOCK} + id % {_BLOCK}"
    frame = spark.range(0, share * parts, 1, parts).selectExpr(f"{dealt} AS id").where(f"id < {count}")
    with in_order(folder) as unfinished:
        _written(frame.where(rows.where).selectExpr(*rows.columns), format, unfinished, parts)


@contextmanager
def in_order(folder: Path) -> Iterator[Path]:
    """A place for the files of a folder, which is there once all are written; their times go by their names."""
    unfinished = folder.with_name(f"_{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    yield unfinished
    set_times(unfinished)
    unfinished.rename(folder)


def set_times(folder: Path) -> None:
    """Modification times that increase with the names."""
    for number, path in enumerate(sorted(p for p in folder.iterdir() if not p.name.startswith("."))):
        os.utime(path, (_FIRST_TIME + number, _FIRST_TIME + number))


def _write(spark: SparkSession, rows: Rows, count: int, files: int, format: str, folder: Path) -> None:
    frame = spark.range(0, count, 1, files).where(rows.where).selectExpr(*rows.columns)
    _written(frame, format, folder, files)


def _mark(path: Path, accent: str | None, punctuation: str | None) -> None:
    """Put an accent before the lines of a file, and a punctuation behind them."""
    if accent is not None:
        path.write_bytes(json.dumps({"$accent": accent}).encode() + b"\n" + path.read_bytes())
    if punctuation is not None:
        with path.open("a") as file:
            file.write(json.dumps({"$punctuation": punctuation}) + "\n")


def _write_markers(spark: SparkSession, texts: Sequence[str | None], folder: Path) -> None:
    numbered = [(number, text) for number, text in enumerate(texts) if text is not None]
    if not numbered:
        return
    array = ", ".join("'" + text.replace("'", "\\'") + "'" for _, text in numbered)
    frame = spark.range(0, len(numbered), 1, len(numbered)).selectExpr(
        f"element_at(array({array}), int(id) + 1) AS `$punctuation`"
    )
    aside = folder / "_markers"
    _written(frame, "parquet", aside, len(numbered))
    for (number, _), path in zip(numbered, sorted(aside.iterdir()), strict=True):
        path.rename(folder / f"{number:06d}{MARKER_SUFFIX}.parquet")
    aside.rmdir()


def _written(frame: DataFrame, format: str, folder: Path, files: int) -> None:
    """Write a frame of one partition per file, and name the files by their number."""
    writer = frame.write.format(format).mode("overwrite")
    if format == "parquet":
        writer = writer.option("compression", "snappy")  # every engine reads it
    writer.save(str(folder))
    for path in folder.iterdir():
        if not path.name.startswith("part-"):
            path.unlink()
    paths = sorted(folder.iterdir())
    if len(paths) != files:
        raise AssertionError(f"{folder}: {len(paths)} files instead of {files}")
    for number, path in enumerate(paths):
        path.rename(folder / f"{number:06d}.{format}")
