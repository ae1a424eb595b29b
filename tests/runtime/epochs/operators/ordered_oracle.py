"""Random streams, and what sort, top and session give for them in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from random import Random

from tests.kit.compare import plain, texts
from tests.kit.query import Query
from tests.kit.stream import Decoder, Item, complaints, decode

GAP = 2


def random_stream(random: Random, size: int) -> list[Item]:
    """A valid stream: tuples in no order, Alters of `t` and of `ts`, an Add and a Drop of `q`, punctuations."""
    decoder, items = Decoder(), list[Item]()
    scale, clock = 1, 0
    added = dropped = False

    def say(item: Item) -> None:
        items.append(item)
        decoder.feed(item)

    for number in range(size):
        roll = random.random()
        if roll < 0.04:
            where = random.choice(["k = 1, ", "k = 0, ", ""])
            say({"$accent": f"[[{where[:-2]}, alter(t, y -> y * 2 + 1)]]".replace("[[, ", "[[")})
        elif roll < 0.06 and scale == 1:
            scale = 4
            say({"$accent": "[[alter(ts, y -> y * 4)]]"})
        elif roll < 0.1 and not added:
            added = True
            say({"$accent": "[[+(q: long)]]"})
        elif roll < 0.14 and added and not dropped:
            dropped = True
            say({"$accent": "[[-(q)]]"})
        elif roll < 0.2:
            clock += random.randrange(6)
            who = random.choice(["", "", "k = 1, ", "k = 0, "])
            whole = number > size * 2 / 3 and random.random() < 0.3
            say({"$punctuation": "[k = 0]" if whole else f"[{who}ts < {clock * scale}]"})
        else:
            row = {"ts": clock + random.randrange(-2, 14), "k": random.randrange(2)}
            row |= {"t": float(random.randrange(4)), "i": number}
            if not decoder.closed(row):
                raw = decoder.raw_at(row, len(decoder.accents))
                raw = {n: float(v) if isinstance(v, Fraction) else v for n, v in raw.items()}
                say(raw | ({"q": number} if added and not dropped else {}))
    say({"$punctuation": "[]"})
    return items


def in_order(rows: Sequence[Item], *keys: tuple[str, int]) -> list[Item]:
    return sorted(rows, key=lambda row: [(row[n] * sign, 0) for n, sign in keys])


def sessions(rows: Iterable[Item]) -> list[list[Item]]:
    result: list[list[Item]] = []
    for row in sorted(rows, key=lambda r: (r["k"], r["ts"])):
        last = result[-1][-1] if result else None
        if last is not None and last["k"] == row["k"] and row["ts"] - last["ts"] < GAP:
            result[-1].append(row)
        else:
            result.append([row])
    return result


class Oracle:
    """The rows that may have been written after a part of a stream, from the closed tuples of a small domain."""

    def __init__(self, items: Iterable[Item]) -> None:
        decoder = Decoder()
        self.rows = plain(row for item in items if (row := decoder.feed(item)) is not None)
        times, tops = range(-8, 90), (-99.0, 99.0)
        self.opened = {
            (ts, k)
            for ts, k in product(times, (0, 1))
            if any(not decoder.closed({"ts": ts, "k": k, "t": t}) for t in tops)
        }
        self.times = times

    def by_time(self) -> list[Item]:
        first = min((ts for ts, _ in self.opened), default=999)  # among open times, one of greater t may come
        return [row for row in in_order(self.rows, ("ts", 1), ("t", -1)) if row["ts"] < first]

    def by_key(self) -> list[Item]:
        first = min(((-k, ts) for ts, k in self.opened), default=(9, 999))  # ties may still come, after it
        return [row for row in in_order(self.rows, ("k", -1), ("ts", 1)) if (-row["k"], row["ts"]) <= first]

    def best(self) -> list[Item]:
        live = {k for _, k in self.opened}
        groups = [[row for row in self.rows if row["k"] == k] for k in (0, 1) if k not in live]
        return [row for group in groups for row in in_order(group, ("t", -1), ("ts", 1))[:2]]

    def visits(self) -> list[Item]:
        return [
            {**row, "sid": run[0]["ts"]} for run in sessions(self.rows) if self._is_closed(run) for row in run
        ]

    def _is_closed(self, run: list[Item]) -> bool:
        first, last = run[0]["ts"] - GAP, run[-1]["ts"] + GAP
        return not any(first < ts < last and k == run[0]["k"] for ts, k in self.opened)

    def counted(self) -> list[Item]:
        runs = sessions(self.rows)
        live = {k for _, k in self.opened}
        begun = {ts for ts, _ in self.opened} | {run[0]["ts"] for run in runs if not self._is_closed(run)}
        return [
            {"k": run[0]["k"], "sid": run[0]["ts"], "n": float(len(run)), "most": max(r["t"] for r in run)}
            for run in runs
            if self._is_closed(run) and (run[0]["ts"] not in begun or run[0]["k"] not in live)
        ]


NAMES = {"ts", "k", "t", "i"}


def check_epochs(run: Query, pieces: Sequence[Sequence[Item]]) -> None:
    outputs = {emit: run.output_by_epoch(emit) for emit in ("by_time", "by_key", "best", "visits", "counted")}
    ends = [n for n, report in enumerate(run.reports) if not report.files_left]  # an Add begins an epoch
    assert len(ends) == len(pieces)
    for epoch in range(len(pieces)):
        oracle = Oracle(item for piece in pieces[: epoch + 1] for item in piece)
        for emit, epochs in outputs.items():
            expected: list[Item] = getattr(oracle, emit)()
            got = plain(decode(epochs[ends[epoch]]))
            if emit in ("by_time", "by_key"):
                assert got == expected, (emit, epoch)
            else:
                assert texts(got) == texts(expected), (emit, epoch)
    for emit, epochs in outputs.items():
        names = {"counted": {"k", "sid", "n", "most"}, "visits": {*NAMES, "sid"}}.get(emit, NAMES)
        assert list(complaints(epochs[-1], names)) == [], emit
