"""NEXMark's three streams, seeded: the same arguments give the same files.

    python -m tests.benchmarks.nexmark.generator --events 1000000 --events-per-file 100000 --format parquet OUT

Of every 50 events one is a person, three are auctions and 46 are bids, as in nexmark/nexmark; so are ids, hot
items, prices and sizes. What differs:

- every value is a hash of (seed, number of the event, purpose), computed by Spark SQL, not drawn from a clock;
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

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

START = datetime(2015, 7, 15, tzinfo=UTC)
"""The time of the first event."""
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

BLOCK = 50
"""Events after which the pattern of kinds repeats."""
_PER_BLOCK = {"person": 1, "auction": 3, "bid": 46}
_BEFORE_IN_BLOCK = {"person": 0, "auction": 1, "bid": 4}
_FIRST_ID = 1000
_FIRST_CATEGORY = 10
_CATEGORIES = 5
_ID_LEAD = 10
_IN_FLIGHT_AUCTIONS = 100
_ACTIVE_PEOPLE = 1000
_BATCH = 100  # the hot auction, seller or bidder is one of each so many
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_CHANNELS = 10_000
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
_FIRST_NAMES = (
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
)
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_PERSON_BYTES, _AUCTION_BYTES, _BID_BYTES = 200, 500, 100

# Keys of the closing tuples, which meet nothing. Spark takes undefined ones out before it looks at their time.
_CLOSING = {
    "person": ("-1L AS id", "'' AS name"),
    "auction": ("-1L AS id", "-2L AS seller"),
    "bid": ("-2L AS auction", "-1L AS bidder", "-1L AS price"),
}
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_MODIFIED = 1_500_000_000_000  # of the first file, in milliseconds


def write(
    spark: SparkSession,
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
    if not 0 <= accents <= len(_HOT_CHANNELS) + _CHANNELS:
        raise ValueError(f"there are {len(_HOT_CHANNELS) + _CHANNELS} channels that an accent can be for")
    files = events // events_per_file
    if accents and files < 2:
        raise ValueError("accents stand between files: more than one is needed")
    root = Path(folder)
    random = _Random(seed)
    makers = {
        "person": lambda: _person(random, density),
        "auction": lambda: _auction(random, density),
        "bid": lambda: _bid(random, density, events_per_file, files, accents),
    }
    with _timestamps(spark):
        for stream, columns in makers.items():
            count = events // BLOCK * _PER_BLOCK[stream]
            numbered = spark.range(0, count, 1, files).selectExpr(f"{_event_number(stream)} AS n")
            if stream == "bid":
                channels = F.broadcast(_channels(spark, random))
                numbered = numbered.selectExpr("n", f"{_channel_number(random)} AS number").join(
                    channels, "number"
                )
            data = _columns(numbered, columns())
            _store(data, format, root / stream, "data")
            own = accents if stream == "bid" else 0
            if punctuate or own:
                marks = _marks(spark, stream, events_per_file, files, density, punctuate, own)
                _store(marks, format, root / stream, "marks")
            after = _time(str(events + density * 86_400), density)
            closing = spark.range(0, 1, 1, 1).selectExpr(f"{after} AS dateTime", *_CLOSING[stream])
            _store(closing, format, root / "closing" / stream, "data", files)
        side = spark.range(0, SIDE_ROWS, 1, 1).selectExpr("id AS key", "CAST(id AS STRING) AS value")
        _store(side, format, root / "side_input", "data")


def counts(events: int) -> dict[str, int]:
    """How many tuples each stream of a data set has."""
    return {stream: events // BLOCK * share for stream, share in _PER_BLOCK.items()}


# --- randomness ----------------------------------------------------------------------------------------------


class _Random:
    """SQL expressions of the number `n` of an event; each purpose has numbers of its own."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def bits(self, purpose: str) -> str:
        """64 random bits as a BIGINT."""
        return f"xxhash64({self._seed}L, n, {crc32(purpose.encode())}L)"

    def below(self, bound: int | str, purpose: str) -> str:
        """A whole number from 0 to bound - 1."""
        return f"pmod({self.bits(purpose)}, {bound})"

    def one_of(self, values: tuple[str, ...], purpose: str) -> str:
        texts = ", ".join(f"'{value}'" for value in values)
        return f"element_at(array({texts}), CAST({self.below(len(values), purpose)} AS INT) + 1)"

    def price(self, purpose: str) -> str:
        """Cents, log-uniform from one dollar to a million."""
        uniform = f"(shiftrightunsigned({self.bits(purpose)}, 11) * {2.0**-53!r}D)"
        return f"CAST(round(pow(10D, 6 * {uniform}) * 100) AS BIGINT)"

    def letters(self, length: str, longest: int, purpose: str, special: str = "p") -> str:
        """A text of so many letters, a to o and `special`, each of 4 bits."""
        pieces = (f"lpad(hex({self.bits(f'{purpose}.{i}')}), 16, '0')" for i in range(-(-longest // 16)))
        digits = f"left(concat({', '.join(pieces)}), CAST({length} AS INT))"
        return f"translate({digits}, '0123456789ABCDEF', 'abcdefghijklmno{special}')"

    def word(self, longest: int, purpose: str, special: str = " ") -> str:
        """A text of 3 to longest - 1 letters; blanks at its ends are cut off."""
        length = f"3 + {self.below(longest - 3, f'{purpose}.length')}"
        return f"trim({self.letters(length, longest - 1, purpose, special)})"

    def padding(self, size: str, average: int, longest: int, purpose: str) -> str:
        """Letters that make a tuple of `size` bytes, `average` bytes long on the average, give or take a fifth."""
        missing = f"({average} - ({size}))"
        spread = f"CAST(round({missing} * 0.2D) AS BIGINT)"
        length = f"{missing} - {spread} + {self.below(f'greatest(2 * {spread}, 1)', f'{purpose}.length')}"
        return self.letters(length, longest, purpose)


# --- tuples --------------------------------------------------------------------------------------------------


def _event_number(stream: str) -> str:
    """The number of the event that is the stream's tuple number `id`."""
    share = _PER_BLOCK[stream]
    return f"(id div {share}) * {BLOCK} + {_BEFORE_IN_BLOCK[stream]} + id % {share}"


def _time(number: str, density: int) -> str:
    """When an event happens."""
    return f"timestamp_micros({int(START.timestamp()) * 1_000_000}L + ({number}) * 1000000L div {density})"


def _columns(numbered: DataFrame, steps: list[dict[str, str]]) -> DataFrame:
    """Columns from `n`; those of a later step may use those of the ones before, the last step is the tuple."""
    for step in steps[:-1]:
        numbered = numbered.selectExpr("*", *(f"{sql} AS {name}" for name, sql in step.items()))
    return numbered.selectExpr(*(f"{sql} AS {name}" for name, sql in steps[-1].items()))


def _names(stream: str) -> dict[str, str]:
    """The columns of a tuple, each from the column of its name."""
    return {name: name for name in (part.split()[0] for part in SCHEMAS[stream].split(", "))}


_LAST_PERSON = f"n div {BLOCK}"
_LAST_AUCTION = f"(n div {BLOCK} * 3 + 2)"  # where a bid is made


def _some_person(random: _Random, purpose: str) -> str:
    active = f"least(last_person + 1, {_ACTIVE_PEOPLE})"
    return f"last_person + 1 - {active} + {random.below(f'({active} + {_ID_LEAD})', purpose)}"


def _person(random: _Random, density: int) -> list[dict[str, str]]:
    card = ", ".join(
        f"lpad(CAST({random.below(10_000, f'person.card.{i}')} AS STRING), 4, '0')" for i in range(4)
    )
    values = {
        "id": f"{_FIRST_ID} + {_LAST_PERSON}",
        "name": f"concat({random.one_of(_FIRST_NAMES, 'person.first')}, ' ',"
        f" {random.one_of(_LAST_NAMES, 'person.last')})",
        "emailAddress": f"concat({random.word(7, 'person.user')}, '@', {random.word(5, 'person.host')}, '.com')",
        "creditCard": f"concat_ws(' ', {card})",
        "city": random.one_of(_CITIES, "person.city"),
        "state": random.one_of(_STATES, "person.state"),
        "dateTime": _time("n", density),
    }
    texts = ("name", "emailAddress", "creditCard", "city", "state")
    size = " + ".join(["8", *(f"length({text})" for text in texts)])
    return [values, {**_names("person"), "extra": random.padding(size, _PERSON_BYTES, 182, "person.extra")}]


def _auction(random: _Random, density: int) -> list[dict[str, str]]:
    number = f"(n div {BLOCK} * 3 + n % {BLOCK} - 1)"
    # The time in which as many auctions begin as are in flight, in milliseconds.
    horizon = _IN_FLIGHT_AUCTIONS * BLOCK // 3 * 1000 // density
    values = {
        "id": f"{_FIRST_ID} + {number}",
        "itemName": random.word(20, "auction.name"),
        "description": random.word(100, "auction.description"),
        "initialBid": random.price("auction.initial"),
        "added": random.price("auction.reserve"),
        "dateTime": _time("n", density),
        "length": f"1000 * (1 + {random.below(max(2 * horizon, 1), 'auction.length')})",
        "last_person": _LAST_PERSON,
        "category": f"{_FIRST_CATEGORY} + {random.below(_CATEGORIES, 'auction.category')}",
    }
    seller = (
        f"CASE WHEN {random.below(4, 'auction.hot')} > 0 THEN last_person div {_BATCH} * {_BATCH}"
        f" ELSE {_some_person(random, 'auction.seller')} END"
    )
    return [
        values,
        {
            **_names("auction"),
            "reserve": "initialBid + added",
            "expires": "timestamp_micros(unix_micros(dateTime) + length)",
            "seller": f"{_FIRST_ID} + {seller}",
            "extra": random.padding(
                "48 + length(itemName) + length(description)", _AUCTION_BYTES, 542, "auction.extra"
            ),
        },
    ]


def _bid(
    random: _Random, density: int, events_per_file: int, files: int, accents: int
) -> list[dict[str, str]]:
    """Of a channel with its name and url. An accent is for channel 0, 1, 2 ..."""
    auction = (
        f"CASE WHEN {random.below(2, 'bid.hot_auction')} > 0 THEN last_auction div {_BATCH} * {_BATCH}"
        f" ELSE greatest(last_auction - {_IN_FLIGHT_AUCTIONS}, 0) + "
        + random.below(f"(least(last_auction, {_IN_FLIGHT_AUCTIONS}) + 1 + {_ID_LEAD})", "bid.auction")
        + " END"
    )
    bidder = (
        f"CASE WHEN {random.below(4, 'bid.hot_bidder')} > 0 THEN last_person div {_BATCH} * {_BATCH} + 1"
        f" ELSE {_some_person(random, 'bid.bidder')} END"
    )
    price = "price"
    if accents:
        switched = (
            f"number < {accents} AND n div {events_per_file} >= {_switch_file('number', files, accents)}"
        )
        price = f"CASE WHEN {switched} THEN price * 100 ELSE price END"
    return [
        {"last_person": _LAST_PERSON, "last_auction": _LAST_AUCTION},
        {"price": random.price("bid.price"), "dateTime": _time("n", density)},
        {
            **_names("bid"),
            "auction": f"{_FIRST_ID} + {auction}",
            "bidder": f"{_FIRST_ID} + {bidder}",
            "price": price,
            "extra": random.padding("32", _BID_BYTES, 82, "bid.extra"),
        },
    ]


def _channel_number(random: _Random) -> str:
    """The channel of a bid: 0 to 3 are hot ones."""
    hot = len(_HOT_CHANNELS)
    return (
        f"CASE WHEN {random.below(2, 'bid.hot_channel')} > 0 THEN {random.below(hot, 'bid.which_hot')}"
        f" ELSE {hot} + {random.below(_CHANNELS, 'bid.channel')} END"
    )


def _channels(spark: SparkSession, random: _Random) -> DataFrame:
    """Every channel's number, name and url."""
    hot = len(_HOT_CHANNELS)
    names = ", ".join(f"'{name}'" for name in _HOT_CHANNELS)
    folders = ", '/', ".join(random.word(5, f"url.{i}", "_") for i in range(3))
    channel_id = (
        f"CASE WHEN n >= {hot} AND {random.below(10, 'url.has_id')} > 0"
        f" THEN concat('&channel_id=', {random.below(2**31, 'url.id')}) ELSE '' END"
    )
    return (
        spark.range(0, hot + _CHANNELS, 1, 1)
        .toDF("n")
        .selectExpr(
            "n AS number",
            f"CASE WHEN n < {hot} THEN element_at(array({names}), CAST(n AS INT) + 1)"
            f" ELSE concat('channel-', n - {hot}) END AS channel",
            f"concat('https://www.nexmark.com/', {folders}, '/item.htm?query=1', {channel_id}) AS url",
        )
    )


# --- markers -------------------------------------------------------------------------------------------------


def _switch_file(number: str, files: int, accents: int) -> str:
    """The first file in which a channel's prices are in hundredths."""
    return f"greatest(1, ({number} + 1) * {files} div {accents + 1})"


def _marks(
    spark: SparkSession,
    stream: str,
    events_per_file: int,
    files: int,
    density: int,
    punctuate: bool,
    accents: int,
) -> DataFrame:
    """What a stream says at the end of each of its files, one file a partition: what can come no more, exactly,
    and after the last file that it ends; then accents.

    `x` is the number of the next event, a person. Every later auction or bid has a seller, or a bidder, of the
    last 1,000 persons, and a later bid an auction of the last 101 (nexmark/nexmark, `PersonGenerator`,
    `AuctionGenerator`); new ids increase.
    """
    persons, auctions = f"x div {BLOCK}", f"x div {BLOCK} * 3"
    active = f"concat('< ', {_FIRST_ID} + greatest({persons} + 1 - {_ACTIVE_PEOPLE}, 0))"
    patterns = {
        "person": {"id": f"concat('<= ', {_FIRST_ID - 1} + {persons})"},
        "auction": {"id": f"concat('<= ', {_FIRST_ID - 1} + {auctions})", "seller": active},
        "bid": {
            "auction": f"concat('< ', {_FIRST_ID} + greatest({auctions} + 2 - {_IN_FLIGHT_AUCTIONS}, 0))",
            "bidder": active,
        },
    }[stream]
    patterns["dateTime"] = f"concat('< ', date_format({_time('x', density)}, \"{_TIME}\"), 'Z')"
    closed = ", ".join(f"concat('[{name} ', {bound}, ']')" for name, bound in patterns.items())
    punctuations = f"CASE WHEN id < {files - 1} THEN array({closed}) ELSE array('[]') END"
    hot = ", ".join(f"'{name}'" for name in _HOT_CHANNELS)
    names = f"concat(array({hot}), transform(sequence(0, {_CHANNELS - 1}), i -> concat('channel-', i)))"
    changes = (
        f"transform(filter(sequence(0, {accents - 1}), i -> {_switch_file('i', files, accents)} = id + 1), i ->"
        f" concat('[[channel = \"', element_at({names}, i + 1), '\", alter(price, y -> y * 100)]]'))"
    )
    rows = [
        *([f"transform({punctuations}, m -> struct(m AS punctuation, NULL AS accent))"] if punctuate else []),
        *([f"transform({changes}, m -> struct(NULL AS punctuation, m AS accent))"] if accents else []),
    ]
    numbered = spark.range(0, files, 1, files).selectExpr("id", f"(id + 1) * {events_per_file} AS x")
    said = numbered.selectExpr(f"explode({' || '.join(rows)}) AS mark")
    names_ = ["CAST(mark.punctuation AS STRING) AS `$punctuation`"] if punctuate else []
    names_ += ["CAST(mark.accent AS STRING) AS `$accent`"] if accents else []
    return said.selectExpr(*names_)


# --- files ---------------------------------------------------------------------------------------------------


@contextmanager
def _timestamps(spark: SparkSession) -> Iterator[None]:
    """Timestamps are written in UTC, to Parquet as microseconds, which have statistics and which Flink reads."""
    wanted = {
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.session.timeZone": "UTC",
    }
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))


def _store(frame: DataFrame, format: str, folder: Path, kind: str, first: int = 0) -> None:
    """One file per partition, `NNNNNN-KIND.FORMAT`, numbered from `first`."""
    aside = folder.with_name(f"_{folder.name}")
    writer = frame.write.option("compression", "none" if format == "json" else "snappy")
    writer.option("timestampFormat", _TIME).format(format).save(str(aside))
    folder.mkdir(parents=True, exist_ok=True)
    for part in aside.glob("part-*"):
        number = first + int(part.name.split("-")[1])
        path = part.rename(folder / f"{number:06d}-{kind}.{format}")
        milliseconds = _MODIFIED + 20 * number + 10 * (kind == "marks")
        os.utime(path, ns=(milliseconds * 1_000_000, milliseconds * 1_000_000))
    shutil.rmtree(aside)


@click.command()
@click.argument("folder", metavar="OUT")
@click.option("--events", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option("--events-per-file", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--format", type=click.Choice(["json", "parquet"]), default="json", show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--density", type=click.IntRange(min=1), default=100_000, show_default=True, help="Per second.")
@click.option("--accents", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--punctuate/--no-punctuate", default=True, show_default=True)
def main(folder: str, **options: int | str | bool) -> None:
    """Write NEXMark streams into the folder OUT."""
    from cedilla.runtime.engines.session import local_session

    spark = local_session("nexmark-generator")
    try:
        write(spark, folder, **options)  # type: ignore[arg-type]
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from wrong
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
