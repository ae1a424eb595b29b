"""Random inputs of joins, and what joins give for them in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field

from tests.kit.compare import bag
from tests.kit.stream import Decoder, Item

SENDERS = (0, 1)


@define
class Writer:
    """Writes one input: its key `key`, the sender `by` (in {0, 1}) that changes at its own time, a payload
    `value` in changing units, and an attribute `extra` that senders drop and add again. Keys grow with time."""

    key: str
    by: str
    value: str
    extra: str
    seed: int
    lag: int = 0
    most: int = 20
    files: list[list[Item]] = field(factory=list[list[Item]])
    decoder: Decoder = field(factory=Decoder)
    _without: set[int] = field(factory=set[int])
    _random: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def write(self, files: int) -> Writer:
        for _ in range(files - 1):
            dropped: set[int] = set()
            items = [
                item
                for _ in range(self._random.randrange(self.most // 2, self.most))
                for item in self._items(dropped)
            ]
            self.files.append(items)
        self.files.append([{"$punctuation": "[]"}])
        return self

    @property
    def _keys(self) -> range:
        first = len(self.files) - self.lag
        return range(first, first + 6)

    def _items(self, dropped: set[int]) -> Iterator[Item]:
        sender = self._random.choice(SENDERS)
        match self._random.randrange(10):
            case 0:
                slope, shift = self._random.choice([(2, 1), (4, -3), (1, 5)])
                name = self._random.choice([self.key, self.value])
                described = self._random.choice(["", f"{self.by} = {sender}, "])
                yield self._fed({"$accent": f"[[{described}alter({name}, y -> y * {slope} + {shift})]]"})
            case 1 | 2:
                key = self._random.choice(self._keys[:4])
                for other in self._random.choice([SENDERS, SENDERS, (sender,)]):
                    yield from self._closing(other, key)
            case 3 if sender not in self._without:
                self._without.add(sender)
                dropped.add(sender)
                yield self._fed({"$accent": f"[[{self.by} = {sender}, -({self.extra})]]"})
            case 3 if sender not in dropped:
                self._without.discard(sender)
                yield self._fed({"$accent": f"[[{self.by} = {sender}, +({self.extra}: long)]]"})
            case _:
                yield from self._row(sender)

    def _closing(self, sender: int, key: int) -> Iterator[Item]:
        raw = self.decoder.raw_at({self.key: key, self.by: sender}, len(self.decoder.accents))
        yield self._fed({"$punctuation": f"[{self.by} = {sender}, {self.key} = {raw[self.key]}]"})

    def _row(self, sender: int) -> Iterator[Item]:
        row: Item = {self.by: sender, self.value: self._random.randrange(4)}
        if (key := self._random.choice([*self._keys, *self._keys, None])) is not None:
            row[self.key] = key
        if sender not in self._without and self._random.random() < 0.7:
            row[self.extra] = self._random.randrange(3)
        if not self.decoder.closed(row):
            raw = self.decoder.raw_at(row, len(self.decoder.accents))
            yield {name: int(value) for name, value in raw.items()}

    def _fed(self, marker: Item) -> Item:
        self.decoder.feed(marker)
        return marker

    def after(self, epochs: int) -> tuple[list[Item], Callable[[Any], bool]]:
        """The canonical tuples of the first files, and whether they close a key."""
        decoder = Decoder()
        items = [item for file in self.files[:epochs] for item in file]
        rows = [row for item in items if (row := decoder.feed(item)) is not None]
        return rows, lambda key: all(decoder.closed({self.key: key, self.by: sender}) for sender in SENDERS)


def joins(
    left: list[Item], right: list[Item], a: str, b: str, closed: Callable[[Any], bool]
) -> dict[str, Counter[Any]]:
    """Returns the certain rows of every join after some epochs. `closed`: True if the right has closed a key."""
    pairs, semi, anti = [], [], []
    for row in left:
        key = row.get(a)
        met = [other for other in right if key is not None and other.get(b) == key]
        pairs += [{**other, **row} for other in met]
        if met:
            semi.append(row)
        elif key is None or closed(key):
            anti.append(row)
    return {"inner": bag(pairs), "semi": bag(semi), "anti": bag(anti), "outer": bag(pairs + anti)}
