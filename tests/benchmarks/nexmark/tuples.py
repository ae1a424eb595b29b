"""The tuples of NEXMark's streams as Arrow batches, each from the number of its event alone.

Every value is a hash of (seed, number of the event, purpose), so a batch does not depend on those before it. The hash
is the `xxhash64` of Spark SQL over three longs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import define, field
from numpy.typing import NDArray

pc: Any = pyarrow.compute

START = datetime(2015, 7, 15, tzinfo=UTC)
"""The time of the first event."""

BLOCK = 50
"""Events after which the pattern of kinds repeats."""
PER_BLOCK = {"person": 1, "auction": 3, "bid": 46}
"""Stream -> its tuples in a block."""
FIRST_ID = 1000
IN_FLIGHT_AUCTIONS = 100
ACTIVE_PEOPLE = 1000
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
"""How many channels there are beside the hot ones."""

_BEFORE_IN_BLOCK = {"person": 0, "auction": 1, "bid": 4}
_FIRST_CATEGORY = 10
_CATEGORIES = 5
_ID_LEAD = 10
_BATCH = 100  # the hot auction, seller or bidder is one of each so many
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
_FIRST_NAMES = (
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky"),
    *("Kate", "Julie", "Sarah", "Deiter", "Walter"),
)
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_PERSON_BYTES, _AUCTION_BYTES, _BID_BYTES = 200, 500, 100

_TIMESTAMP = pa.timestamp("us", "UTC")

Longs = NDArray[np.int64]


# --- randomness ----------------------------------------------------------------------------------------------

_WORD = 2**64
_PRIMES = (
    *(0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9),
    *(0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5),
)
_SPARK_SEED = 42


def _hashed(values: NDArray[np.uint64], before: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """xxhash64 of 8 bytes each, with a seed each."""
    one, two, three, four, five = (np.uint64(prime) for prime in _PRIMES)
    hash_ = before + five + np.uint64(8)
    hash_ = hash_ ^ (_rotated(values * two, 31) * one)
    hash_ = _rotated(hash_, 27) * one + four
    hash_ = (hash_ ^ (hash_ >> np.uint64(33))) * two
    hash_ = (hash_ ^ (hash_ >> np.uint64(29))) * three
    return hash_ ^ (hash_ >> np.uint64(32))


def _rotated(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


def _words(number: int) -> NDArray[np.uint64]:
    return np.array([number % _WORD], np.uint64)


@define(eq=False)
class Numbers:
    """Random values of the events with these numbers; each purpose has values of its own."""

    seed: int
    n: Longs
    _prefix: NDArray[np.uint64] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._prefix = _hashed(self.n.astype(np.uint64), _hashed(_words(self.seed), _words(_SPARK_SEED)))

    def bits(self, purpose: str) -> NDArray[np.uint64]:
        """64 random bits."""
        return _hashed(_words(crc32(purpose.encode())), self._prefix)

    def below(self, bound: int | Longs, purpose: str) -> Longs:
        """A whole number from 0 to bound - 1."""
        return np.mod(self.bits(purpose).view(np.int64), bound)

    def one_of(self, values: Sequence[str], purpose: str) -> pa.Array:
        return pa.array(values).take(pa.array(self.below(len(values), purpose)))

    def price(self, purpose: str) -> Longs:
        """Cents, log-uniform from one dollar to a million."""
        uniform = (self.bits(purpose) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return _rounded(np.power(10.0, 6 * uniform) * 100)

    def letters(self, lengths: Longs, longest: int, purpose: str, special: str = "p") -> pa.Array:
        """A text of so many letters, a to o and `special`, each of 4 bits."""
        words = np.stack([self.bits(f"{purpose}.{i}") for i in range(-(-longest // 16))], axis=1)
        octets = words.astype(">u8").view(np.uint8)
        nibbles = np.empty((len(self.n), 2 * octets.shape[1]), np.uint8)
        nibbles[:, 0::2], nibbles[:, 1::2] = octets >> 4, octets & 15
        chosen = nibbles[np.arange(nibbles.shape[1]) < lengths[:, None]]
        alphabet = np.frombuffer(f"abcdefghijklmno{special}".encode(), np.uint8)
        ends = np.concatenate([[0], np.cumsum(np.minimum(lengths, nibbles.shape[1]))]).astype(np.int32)
        return pa.StringArray.from_buffers(
            len(self.n), pa.py_buffer(ends), pa.py_buffer(alphabet[chosen].tobytes())
        )

    def word(self, longest: int, purpose: str, special: str = " ") -> pa.Array:
        """A text of 3 to longest - 1 letters; blanks at its ends are cut off."""
        lengths = 3 + self.below(longest - 3, f"{purpose}.length")
        return pc.utf8_trim(self.letters(lengths, longest - 1, purpose, special), " ")

    def padding(self, sizes: Longs, average: int, longest: int, purpose: str) -> pa.Array:
        """Letters that make a tuple of `sizes` bytes, `average` bytes long on the average, give or take a fifth."""
        missing = average - sizes
        spread = _rounded(missing * 0.2)
        lengths = missing - spread + self.below(np.maximum(2 * spread, 1), f"{purpose}.length")
        return self.letters(lengths, longest, purpose)


def _rounded(values: NDArray[np.floating[Any]]) -> Longs:
    return np.floor(values + 0.5).astype(np.int64)


# --- tuples --------------------------------------------------------------------------------------------------


def event_numbers(stream: str, first: int, count: int) -> Longs:
    """The numbers of the events that are the tuples `first`, `first + 1`, ... of a stream."""
    ids, share = np.arange(first, first + count), PER_BLOCK[stream]
    return ids // share * BLOCK + _BEFORE_IN_BLOCK[stream] + ids % share


def microseconds(n: int | Longs, density: int) -> int | Longs:
    """When an event happens."""
    return int(START.timestamp()) * 1_000_000 + n * 1_000_000 // density


def persons(random: Numbers, density: int) -> pa.RecordBatch:
    """The tuples of the stream `person` that are these events."""
    n = random.n
    card = [_text(random.below(10_000, f"person.card.{i}"), 4) for i in range(4)]
    texts = {
        "name": _joined(
            random.one_of(_FIRST_NAMES, "person.first"), " ", random.one_of(_LAST_NAMES, "person.last")
        ),
        "emailAddress": _joined(random.word(7, "person.user"), "@", random.word(5, "person.host"), ".com"),
        "creditCard": _joined(card[0], " ", card[1], " ", card[2], " ", card[3]),
        "city": random.one_of(_CITIES, "person.city"),
        "state": random.one_of(_STATES, "person.state"),
    }
    sizes = np.sum([_lengths(text) for text in texts.values()], axis=0) + 8
    return pa.RecordBatch.from_pydict(
        {
            "id": FIRST_ID + n // BLOCK,
            **texts,
            "dateTime": _times(microseconds(n, density)),
            "extra": random.padding(sizes, _PERSON_BYTES, 182, "person.extra"),
        }
    )


def auctions(random: Numbers, density: int) -> pa.RecordBatch:
    """Those of the stream `auction`."""
    n = random.n
    # The time in which as many auctions begin as are in flight, in milliseconds.
    horizon = IN_FLIGHT_AUCTIONS * BLOCK // 3 * 1000 // density
    item, description = random.word(20, "auction.name"), random.word(100, "auction.description")
    initial, begins = random.price("auction.initial"), microseconds(n, density)
    lasts = 1000 * (1 + random.below(max(2 * horizon, 1), "auction.length"))
    last_person = n // BLOCK
    seller = np.where(
        random.below(4, "auction.hot") > 0,
        last_person // _BATCH * _BATCH,
        _some_person(random, last_person, "auction.seller"),
    )
    sizes = 48 + _lengths(item) + _lengths(description)
    return pa.RecordBatch.from_pydict(
        {
            "id": FIRST_ID + n // BLOCK * 3 + n % BLOCK - 1,
            "itemName": item,
            "description": description,
            "initialBid": initial,
            "reserve": initial + random.price("auction.reserve"),
            "dateTime": _times(begins),
            "expires": _times(begins + lasts),
            "seller": FIRST_ID + seller,
            "category": _FIRST_CATEGORY + random.below(_CATEGORIES, "auction.category"),
            "extra": random.padding(sizes, _AUCTION_BYTES, 542, "auction.extra"),
        }
    )


def bids(random: Numbers, density: int, switched_at: Longs) -> pa.RecordBatch:
    """Those of the stream `bid`.

    `switched_at`: by the number of a channel, the event from which on its prices are in hundredths.
    """
    n = random.n
    last_person, last_auction = n // BLOCK, n // BLOCK * 3 + 2
    hot = len(HOT_CHANNELS)
    channel = np.where(
        random.below(2, "bid.hot_channel") > 0,
        random.below(hot, "bid.which_hot"),
        hot + random.below(CHANNELS, "bid.channel"),
    )
    open_auctions = np.minimum(last_auction, IN_FLIGHT_AUCTIONS) + 1 + _ID_LEAD
    auction = np.where(
        random.below(2, "bid.hot_auction") > 0,
        last_auction // _BATCH * _BATCH,
        np.maximum(last_auction - IN_FLIGHT_AUCTIONS, 0) + random.below(open_auctions, "bid.auction"),
    )
    bidder = np.where(
        random.below(4, "bid.hot_bidder") > 0,
        last_person // _BATCH * _BATCH + 1,
        _some_person(random, last_person, "bid.bidder"),
    )
    names, urls = _channels(random.seed)
    price = random.price("bid.price")
    sizes = np.full(len(n), 32)
    return pa.RecordBatch.from_pydict(
        {
            "auction": FIRST_ID + auction,
            "bidder": FIRST_ID + bidder,
            "price": np.where(n >= switched_at[channel], price * 100, price),
            "channel": names.take(pa.array(channel)),
            "url": urls.take(pa.array(channel)),
            "dateTime": _times(microseconds(n, density)),
            "extra": random.padding(sizes, _BID_BYTES, 82, "bid.extra"),
        }
    )


def _some_person(random: Numbers, last_person: Longs, purpose: str) -> Longs:
    active = np.minimum(last_person + 1, ACTIVE_PEOPLE)
    return last_person + 1 - active + random.below(active + _ID_LEAD, purpose)


def channel_name(number: int) -> str:
    """Hot channels come first."""
    hot = len(HOT_CHANNELS)
    return HOT_CHANNELS[number] if number < hot else f"channel-{number - hot}"


def _channels(seed: int) -> tuple[pa.Array, pa.Array]:
    """Every channel's name and url, by its number."""
    hot = len(HOT_CHANNELS)
    random = Numbers(seed, np.arange(hot + CHANNELS))
    folders = [random.word(5, f"url.{i}", "_") for i in range(3)]
    has_id = (random.n >= hot) & (random.below(10, "url.has_id") > 0)
    id_ = _joined("&channel_id=", _text(random.below(2**31, "url.id")))
    begin, end = "https://www.nexmark.com/", "/item.htm?query=1"
    return (
        pa.array([channel_name(number) for number in range(len(random.n))]),
        _joined(
            *(begin, folders[0], "/", folders[1], "/", folders[2], end),
            pc.if_else(pa.array(has_id), id_, ""),
        ),
    )


# --- Arrow ---------------------------------------------------------------------------------------------------


def _times(microseconds: int | Longs) -> pa.Array:
    return pa.array(microseconds).cast(_TIMESTAMP)


def _text(numbers: Longs, width: int = 1) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _joined(*texts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "")


def _lengths(texts: pa.Array) -> Longs:
    return pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
