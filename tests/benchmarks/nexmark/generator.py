"""NEXMark's three streams, seeded: the same arguments give the same files. No engine is needed.

    python -m tests.benchmarks.nexmark.generator --events 1000000 --events-per-file 100000 --format parquet OUT

Of every 50 events one is a person, three are auctions and 46 are bids, as in nexmark/nexmark; so are ids, hot
items, prices and sizes. What differs:

- every value is a hash of (seed, number of the event, purpose), not drawn from a clock;
- event time starts at `START` and advances by 1/density of a second with each event, in microseconds, so that up
  to a density of 1,000,000 no two events have the same time, and "the last bid" is one bid;
- texts are of 16 letters, not 26; a channel's id is a hash of its number;
- the first id of a person is added once to a bidder (nexmark/nexmark does it twice, its issue 30), so bidders are
  persons.

A data set is a folder:

    person/ auction/ bid/     000000-data.json, 000000-marks.json, 000001-data.json, ... (or .parquet)
    closing/person/ ...       one tuple per stream, a day after everything: native Spark needs it to close windows
    side_input/               the table of query 13

File i of each stream covers the same range of events. A file of marks says what its stream closes after the data
file of its number; the last one ends the stream. Modification times increase with the names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from tests.benchmarks.nexmark import tuples
from tests.benchmarks.nexmark.tuples import (
    ACTIVE_PEOPLE,
    BLOCK,
    CHANNELS,
    FIRST_ID,
    HOT_CHANNELS,
    IN_FLIGHT_AUCTIONS,
    PER_BLOCK,
    START,
)

pc: Any = pyarrow.compute

SIDE_ROWS = 10_000
"""Keys of the side input: 0, 1, ..."""
SCHEMAS = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,"
    " dateTime TIMESTAMP, extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,"
    " dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP,"
    " extra STRING",
    "side_input": "key BIGINT, value STRING",
}
"""Spark's schema of each stream, and of the side input."""

_BATCH_ROWS = 50_000
_NEVER = np.iinfo(np.int64).max

# Keys of the closing tuples, which meet nothing. Spark takes undefined ones out before it looks at their time.
_CLOSING: dict[str, dict[str, Any]] = {
    "person": {"id": -1, "name": ""},
    "auction": {"id": -1, "seller": -2},
    "bid": {"auction": -2, "bidder": -1, "price": -1},
}
_MODIFIED = 1_500_000_000_000  # of the first file, in milliseconds


def write(
    folder: Path | str,
    events: int,
    events_per_file: int,
    format: str = "json",
    seed: int = 1,
    density: int = 100_000,
    punctuate: bool = True,
    accents: int = 0,
) -> None:
    """Write a data set into a local folder that has none.

    `events`: a multiple of `events_per_file`, which is one of 50. `format`: json or parquet. `density`: events per
    second of event time. `accents`: so many channels, one after the other, go over to prices in hundredths, at the
    ends of files; the bids are the same ones, in other units. Raises ValueError where numbers do not fit.
    """
    if (
        events_per_file < BLOCK
        or events_per_file % BLOCK
        or events < events_per_file
        or events % events_per_file
    ):
        raise ValueError("events has to be a multiple of events_per_file, and that a multiple of 50")
    if not 0 <= accents <= len(HOT_CHANNELS) + CHANNELS:
        raise ValueError(f"there are {len(HOT_CHANNELS) + CHANNELS} channels that an accent can be for")
    files = events // events_per_file
    if accents and files < 2:
        raise ValueError("accents stand between files: more than one is needed")
    root = Path(folder)
    switches = [_switch_file(number, files, accents) for number in range(accents)]
    switched_at = np.full(len(HOT_CHANNELS) + CHANNELS, _NEVER)
    switched_at[:accents] = np.array(switches, np.int64) * events_per_file
    makers = {
        "person": tuples.persons,
        "auction": tuples.auctions,
        "bid": partial(tuples.bids, switched_at=switched_at),
    }
    for stream, make in makers.items():
        share = events_per_file // BLOCK * PER_BLOCK[stream]
        for file in range(files):
            batches = (
                make(tuples.Numbers(seed, tuples.event_numbers(stream, first, count)), density)
                for first, count in _portions(file * share, share)
            )
            _store(batches, format, root / stream, "data", file)
            marks = _punctuations(stream, (file + 1) * events_per_file, density) if punctuate else []
            marks = ["[]"] if marks and file == files - 1 else marks
            changes = [
                _change(number)
                for number, switch in enumerate(switches)
                if stream == "bid" and switch == file + 1
            ]
            _store_marks(marks, changes, format, root / stream, file)
        after = pa.array([tuples.microseconds(events + density * 86_400, density)])
        closing = {"dateTime": after.cast(pa.timestamp("us", "UTC"))}
        closing |= {name: pa.array([value]) for name, value in _CLOSING[stream].items()}
        _store([pa.RecordBatch.from_pydict(closing)], format, root / "closing" / stream, "data", files)
    keys = pa.array(range(SIDE_ROWS), pa.int64())
    side = pa.RecordBatch.from_pydict({"key": keys, "value": keys.cast(pa.string())})
    _store([side], format, root / "side_input", "data", 0)


def counts(events: int) -> dict[str, int]:
    """How many tuples each stream of a data set has."""
    return {stream: events // BLOCK * share for stream, share in PER_BLOCK.items()}


def _portions(first: int, count: int) -> Iterator[tuple[int, int]]:
    """Where the batches of a file begin, and how many tuples they have."""
    for begin in range(first, first + count, _BATCH_ROWS):
        yield begin, min(_BATCH_ROWS, first + count - begin)


# --- markers -------------------------------------------------------------------------------------------------


def _switch_file(number: int, files: int, accents: int) -> int:
    """The first file in which a channel's prices are in hundredths."""
    return max(1, (number + 1) * files // (accents + 1))


def _change(number: int) -> str:
    return f'[[channel = "{tuples.channel_name(number)}", alter(price, y -> y * 100)]]'


def _punctuations(stream: str, x: int, density: int) -> list[str]:
    """What can come no more, exactly, when the next event is the number `x`, a person.

    Every later auction or bid has a seller, or a bidder, of the last 1,000 persons, and a later bid an auction of
    the last 101 (nexmark/nexmark, `PersonGenerator`, `AuctionGenerator`); new ids increase.
    """
    persons, auctions = x // BLOCK, x // BLOCK * 3
    active = f"< {FIRST_ID + max(persons + 1 - ACTIVE_PEOPLE, 0)}"
    bounds = {
        "person": {"id": f"<= {FIRST_ID - 1 + persons}"},
        "auction": {"id": f"<= {FIRST_ID - 1 + auctions}", "seller": active},
        "bid": {"auction": f"< {FIRST_ID + max(auctions + 2 - IN_FLIGHT_AUCTIONS, 0)}", "bidder": active},
    }[stream]
    time = START + timedelta(microseconds=x * 1_000_000 // density)
    bounds["dateTime"] = f"< {time:%Y-%m-%dT%H:%M:%S.%f}Z"
    return [f"[{name} {bound}]" for name, bound in bounds.items()]


# --- files ---------------------------------------------------------------------------------------------------


def _store(batches: Iterable[pa.RecordBatch], format: str, folder: Path, kind: str, number: int) -> None:
    """Write `NNNNNN-KIND.FORMAT`."""
    path = _path(folder, kind, number, format)
    if format == "json":
        with path.open("wb") as file:
            for batch in batches:
                _write_lines(batch, file)
    else:
        pq.write_table(pa.Table.from_batches(batches), path, compression="snappy")
    _set_time(path, kind, number)


def _store_marks(punctuations: list[str], accents: list[str], format: str, folder: Path, number: int) -> None:
    """The file of marks behind a file of tuples, where there are any: punctuations, then accents."""
    items = [{"$punctuation": text} for text in punctuations] + [{"$accent": text} for text in accents]
    if not items:
        return
    path = _path(folder, "marks", number, format)
    if format == "json":
        path.write_text("".join(json.dumps(mark, separators=(",", ":")) + "\n" for mark in items))
    else:
        names = dict.fromkeys(name for mark in items for name in mark)
        columns = {name: pa.array([mark.get(name) for mark in items], pa.string()) for name in names}
        pq.write_table(pa.table(columns), path, compression="snappy")
    _set_time(path, "marks", number)


def _path(folder: Path, kind: str, number: int, format: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{number:06d}-{kind}.{format}"


def _set_time(path: Path, kind: str, number: int) -> None:
    milliseconds = _MODIFIED + 20 * number + 10 * (kind == "marks")
    os.utime(path, ns=(milliseconds * 1_000_000, milliseconds * 1_000_000))


def _write_lines(batch: pa.RecordBatch, file: Any) -> None:
    """Tuples as JSON Lines. No text of the generator has a sign that JSON would escape."""
    pieces: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        before = f'{"," if pieces else "{"}"{name}":'
        if pa.types.is_integer(column.type):
            pieces += [before, column.cast(pa.string())]
        elif pa.types.is_timestamp(column.type):
            text = column.cast(pa.timestamp("us")).cast(pa.string())
            pieces += [f'{before}"', pc.replace_substring(text, " ", "T"), '"']
        else:
            pieces += [f'{before}"', column, '"']
    lines = pc.binary_join_element_wise(*pieces, "}\n", "")
    file.write(lines.buffers()[2])


@click.command()
@click.argument("folder", metavar="OUT")
@click.option("--events", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option("--events-per-file", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--format", type=click.Choice(["json", "parquet"]), default="json", show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--density", type=click.IntRange(min=1), default=100_000, show_default=True, help="Per second.")
@click.option("--accents", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--punctuate/--no-punctuate", default=True, show_default=True)
def main(folder: str, **options: Any) -> None:
    """Write NEXMark streams into the folder OUT."""
    try:
        write(folder, **options)
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from wrong


if __name__ == "__main__":
    main()
