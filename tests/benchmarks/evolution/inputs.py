"""Inputs of the suite `evolution`. Values are quarters and factors powers of two, so that sums are exact."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from tests.benchmarks.contest import INPUTS
from tests.benchmarks.core.query import Size, last_second, seconds
from tests.benchmarks.inputs import Rows, in_order, write_stream

FOLDER = INPUTS / "evolution"
SENSORS = 100_000

# --- accents in force ----------------------------------------------------------------------------------------


def in_force_folder(accents: int, rows: int, epochs: int) -> Path:
    return FOLDER / "in-force" / f"{rows}x{epochs}" / str(accents)


def write_in_force(spark: SparkSession, accents: int, rows: int, epochs: int) -> None:
    """Readings behind a file of point accents; the files of readings are the same ones for every number."""
    size, plain = Size(rows, epochs), in_force_folder(0, rows, epochs)
    columns = (
        f"{seconds(size)} AS ts",
        f"int(pmod(xxhash64(id, 1), {SENSORS})) AS s",
        "pmod(xxhash64(id, 2), 400) / 4D AS t",
        "int(pmod(xxhash64(id, 3), 100)) AS v",
    )

    def punctuation(epoch: int) -> str:
        return f"[ts < {last_second(size, epoch)}]"

    write_stream(spark, plain, Rows(columns), rows, epochs, "json", punctuation)
    _write_behind(
        in_force_folder(accents, rows, epochs),
        plain,
        (f"[[s = {sensor}, alter(t, y -> y * 2)]]" for sensor in range(accents)),
    )


def _write_behind(folder: Path, plain: Path, accents: Iterable[str]) -> None:
    """The files of a folder behind one of accents."""
    if folder.exists():
        return
    unfinished = folder.with_name(f"_{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    file = unfinished / "accents.json"
    file.write_text("".join(f'{{"$accent": "{accent}"}}\n' for accent in accents))
    first = min(plain.iterdir(), key=lambda file: file.name)
    before = first.stat().st_mtime - 1
    os.utime(file, (before, before))
    for data in plain.iterdir():
        (unfinished / data.name).hardlink_to(data)
    unfinished.rename(folder)


BY_TIME, CROSSING = "time", "crossing"
"""Kinds of accents by range: each from a time on, or each from a sensor and a time on."""


def by_range_folder(kind: str, accents: int, rows: int, epochs: int) -> Path:
    return FOLDER / f"by-{kind}" / f"{rows}x{epochs}" / str(accents)


def write_by_range(spark: SparkSession, kind: str, accents: int, rows: int, epochs: int) -> None:
    """The same readings behind accents by range, which double and halve in turns; their times rise from the first
    reading to the last one."""
    write_in_force(spark, 0, rows, epochs)
    size = Size(rows, epochs)
    step = max(1, last_second(size, epochs - 1) // (accents + 1))

    def accent(number: int) -> str:
        later = f"ts > {step * (1 + number)}"
        where = f"s >= {number * 61 % accents * SENSORS // accents}, {later}" if kind == CROSSING else later
        return f"[[{where}, alter(t, y -> {'y * 2' if number % 2 == 0 else 'y / 2'})]]"

    folder = by_range_folder(kind, accents, rows, epochs)
    _write_behind(folder, in_force_folder(0, rows, epochs), map(accent, range(accents)))


# --- an accent arrives ---------------------------------------------------------------------------------------

SMALL_ROWS = 10_000
"""Rows of an epoch, after the first one that brings the state."""

ARRIVALS = (8, 13, 18, 22)
"""Epochs that begin with an accent."""

EPOCHS = 27
ACCENT = "[[alter(t, y -> y * 2)]]"
SCATTERED = "scattered"
"""The kind whose keys come in no order."""


def arrival_folder(kind: str, state: int, stream: str, accented: bool) -> Path:
    return FOLDER / "arrival" / f"{kind}-{state}" / f"{stream}{'-accented' if accented else ''}"


def write_arrival(spark: SparkSession, kind: str, state: int) -> None:
    """A first file that fills the state, then small ones; one stream with accents and one without."""
    later = f"{state} + id" if kind == "join" else f"pmod(xxhash64(id, 1), {state})"
    for accented in (False, True):
        _write_filled(spark, arrival_folder(kind, state, "facts", accented), state, accented, "id", later)
    if kind == "join":
        columns = (f"pmod(xxhash64(id, 3), {state}) AS k", "pmod(xxhash64(id, 4), 400) / 4D AS u")
        folder = arrival_folder(kind, state, "probes", False)
        write_stream(spark, folder, Rows(columns), SMALL_ROWS, EPOCHS, "json", _ends_after(EPOCHS))


def write_scattered(spark: SparkSession, state: int) -> None:
    """As the facts of a join, all with new keys, but in no order: bounds of files say nothing of them."""
    folder = arrival_folder(SCATTERED, state, "facts", False)
    _write_filled(spark, folder, state, False, "xxhash64(id)", f"xxhash64({state} + id)")


def _write_filled(
    spark: SparkSession, folder: Path, state: int, accented: bool, first_key: str, later_key: str
) -> None:
    """Keys are Spark SQL over the number of a row, from 0 in the first file, and from 0 in those behind it."""
    if folder.exists():
        return
    value = "pmod(xxhash64(id, 2), 400) / 4D"
    passed = [f"int(id DIV {SMALL_ROWS} + 1 >= {epoch})" for epoch in ARRIVALS] if accented else ["0"]
    columns = (f"{later_key} AS k", f"{value} * shiftleft(1, {' + '.join(passed)}) AS t")

    def accent(file: int) -> str | None:
        return ACCENT if accented and file + 1 in ARRIVALS else None

    end = _ends_after(EPOCHS - 1)
    with in_order(folder) as unfinished:
        begin, later = unfinished / "_begin", unfinished / "_later"
        write_stream(spark, begin, Rows((f"{first_key} AS k", f"{value} AS t")), state, 1, "json")
        write_stream(spark, later, Rows(columns), SMALL_ROWS, EPOCHS - 1, "json", end, accent)
        (begin / "000000.json").rename(unfinished / "000000.json")
        for number in range(EPOCHS - 1):
            (later / f"{number:06d}.json").rename(unfinished / f"{number + 1:06d}.json")
        begin.rmdir()
        later.rmdir()


def _ends_after(files: int) -> Callable[[int], str | None]:
    return lambda file: "[]" if file == files - 1 else None


# --- the gap -------------------------------------------------------------------------------------------------


def gap_folder(rows: int, history: int) -> Path:
    return FOLDER / "gap" / f"{rows}x{history}"


def change_second(rows: int, history: int) -> int:
    """From when on readings are in the new unit: the first second of the last file."""
    return last_second(Size(rows, history + 1), history - 1) + 1


def write_gap(spark: SparkSession, rows: int, history: int) -> None:
    """A history of readings, and one file more, in another unit."""
    size = Size(rows, history + 1)
    columns = (
        f"{seconds(size)} AS ts",
        f"int(pmod(xxhash64(id, 1), {size.keys})) AS s",
        f"pmod(xxhash64(id, 2), 400) / 4D * IF(id >= {rows * history}, 2, 1) AS t",
    )
    write_stream(
        spark,
        gap_folder(rows, history),
        Rows(columns),
        rows,
        history + 1,
        "json",
        lambda epoch: f"[ts < {last_second(size, epoch)}]",
        lambda epoch: ACCENT if epoch == history else None,
    )
