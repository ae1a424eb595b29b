"""Random streams of few values, so that tuples come again."""

from __future__ import annotations

import random

from attrs import define, field

from tests.kit.stream import Decoder, Item


@define
class Source:
    """Writes a valid stream. Canonical values are few, so that tuples come again and on both sides."""

    random: random.Random
    items: list[Item] = field(factory=list[Item])
    decoder: Decoder = field(factory=Decoder)
    present: dict[int, str] = field(factory=dict[int, str])  # k -> what became of q there

    def say(self, item: Item) -> None:
        self.items.append(item)
        self.decoder.feed(item)

    def tuple(self) -> None:
        pick = self.random
        row: Item = {"k": pick.choice([1, 2, 3]), "v": pick.choice([0, 1])}
        if pick.random() < 0.3:
            row["p"] = pick.choice([0, 1])
        if self.present.get(row["k"]) == "added" and pick.random() < 0.6:
            row["q"] = pick.choice([0, 1])
        if not self.decoder.closed(row):
            raw = self.decoder.raw_at(row, len(self.decoder.accents))
            self.say({name: int(value) for name, value in raw.items()})

    def accent(self) -> None:
        pick, k = self.random, self.random.choice([1, 2, 3])
        altered = pick.choice(["v", "p"])
        function = pick.choice(["y -> y * 2", "y -> y * 2 + 1", "y -> y + 3"])
        if pick.random() < 0.5:
            self.say({"$accent": f"[[k = {k}, alter({altered}, {function})]]"})
        elif k not in self.present:
            self.present[k] = "added"
            self.say({"$accent": f"[[k = {k}, +(q: int)]]"})
        elif self.present[k] == "added":
            self.present[k] = "dropped"
            self.say({"$accent": f"[[k = {k}, -(q)]]"})

    def punctuation(self) -> None:
        k = self.random.choice([1, 2, 3])
        v = self.decoder.raw_at({"k": k, "v": self.random.choice([0, 1])}, len(self.decoder.accents))["v"]
        self.say({"$punctuation": f"[k = {k}, v = {v}]"})


def stream(seed: int, length: int, *, ends: bool) -> list[Item]:
    source = Source(random.Random(seed))
    while len(source.items) < length:
        source.random.choices([source.tuple, source.accent, source.punctuation], [14, 2, 1])[0]()
    if ends:
        source.say({"$punctuation": "[]"})
    return source.items
