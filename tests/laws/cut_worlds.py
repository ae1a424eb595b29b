"""Random queries and files whose answer could depend on what shares an epoch: heartbeats, fields that nothing announces
or an accent announces late, markers of all kinds, bad lines, and operators that look at the order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from random import Random
from typing import Any
from urllib.parse import quote

from attrs import frozen

from tests.kit.lines import marker
from tests.kit.query import Query
from tests.kit.stream import Item

Line = Item | str
Files = list[list[Line]]


@frozen
class CutWorld:
    """A query over `r`, and the files of it in order. `folders`: of each file, if they are not all in one."""

    query: str
    files: Files
    folders: Sequence[str] = ()

    def write(self, run: Query, begin: int = 0, end: int | None = None) -> None:
        """Writes some of the files."""
        folders = self.folders or [""] * len(self.files)
        for number, items in [*enumerate(self.files)][begin:end]:
            run.write("r", items, f"{folders[number]}{number:05d}.jsonl")

    def text(self) -> str:
        """Returns all of it, for a failure."""
        return "\n".join(
            [self.query, *(f"-- file {n}\n" + "\n".join(map(str, f)) for n, f in enumerate(self.files))]
        )


_OPERATORS = {
    "passed": "passed := select[v < 1000](r)",
    "few": "few := limit[4](r)",
    "first": "first := distinct[k](r)",
    "some": "some := sample[1 in 2 by ts](r)",
    "sums": "sums := aggregate[sum(v) as total, count(v) as n, first(v) as v1 by k, w](window[5 on ts as w](r))",
    "rest": "rest := aggregate[max by k, w except ts, text](window[5 on ts as w](r))",
    "counts": "counts := aggregate[count by k, w except ts](window[5 on ts as w](r))",
    "before": "before := running[lag(v) as last per k on ts](r)",
}
_VALUES: dict[str, Sequence[Any]] = {
    "t": (1, 2.5, 7, "warm"),
    "p": (1, 2, 0.5, "x", None, True),
    "new": (3, 4, 5.5, "y", None, [1], {"a": 1}, 2**64),
    "odd name": (1,),
}
_MARKERS = (
    "[[alter(v, y -> y * 10)]]",
    "[[k = 2, alter(v, y -> y / 4 + 1)]]",
    "[[+(p: double)]]",
    "[[k = 1, +(p: double)]]",
    "[[-(p)]]",
    "[[rename(t, text)]]",
    "[[rename(text, t)]]",
    "[[k = 3, rename(t, text)]]",
    "[[grow(k, {4})]]",
    "[[missing(v, {-1})]]",
    "[[alter(new, y -> y * 2)]]",
    "[[-(new)]]",
    "[[alter(v, y -> ",
    "[k = 3, ts < 4]",
    "[k = 5]",
    "[new < 3]",
)
_BAD: Sequence[Line] = (
    "no json",
    {"ts": "five", "k": 1, "v": 1.0},
    {"ts": 4, "k": 9, "v": 1.0},
    {"k": 1, "v": 2.0},
)


def cut_world(rng: Random) -> CutWorld:
    """Returns a random world; `[]` ends the last file."""
    drift = rng.choice(["infer", "infer", "ignore", "quarantine"])
    # The epoch of an inferred attribute decides which rows count 0 (docs/limits.md).
    chosen = rng.sample(sorted(_OPERATORS.keys() - ({"counts"} if drift == "infer" else set())), 3)
    beats = f" heartbeat ts delay {rng.randint(0, 3)}" if rng.random() < 0.7 else " punctuated on ts"
    settings = {"bad_markers": "quarantine", "drift": drift}
    query = "\n".join(
        [
            *(f"set {name} = {value};" for name, value in settings.items()),
            "stream r(ts: long, k: int in {1, 2, 3}, v: double, text?: string) from json 'r'" + beats + ";",
            *(f"{_OPERATORS[name]};" for name in chosen),
            *(f"emit {name} to json 'o/{name}';" for name in chosen),
        ]
    )
    files: Files = [_file(rng, 3 * n) for n in range(rng.randint(3, 5))]
    return CutWorld(query, [*files[:-1], [*files[-1], marker("[]")]])


def with_path_keys(rng: Random, world: CutWorld) -> tuple[CutWorld, CutWorld]:
    """Returns a world whose files have one value of an attribute each, and the same with the value in the path."""
    name = rng.choice(["k", "ts", "v", "text"])

    def folder(line: Line) -> str:
        value = line.get(name) if isinstance(line, dict) else None
        return "" if value is None else f"{name}={quote(str(value), safe='')}/"

    pieces = [(at, [*lines]) for file in world.files for at, lines in groupby(file, folder)]
    flat = [lines for _, lines in pieces]
    stays = rng.random() < 0.2
    keyed = [
        [
            {n: v for n, v in line.items() if stays or n != name} if isinstance(line, dict) else line
            for line in lines
        ]
        for lines in flat
    ]
    return CutWorld(world.query, flat), CutWorld(world.query, keyed, [at for at, _ in pieces])


def _file(rng: Random, begin: int) -> list[Line]:
    lines: list[Line] = []
    for n in range(rng.randint(2, 6)):
        if rng.random() < 0.2:
            lines += (marker(rng.choice(_MARKERS)) for _ in range(rng.randint(1, 2)))
        lines.append(rng.choice(_BAD) if rng.random() < 0.08 else _tuple(rng, begin + n))
    return lines


def _tuple(rng: Random, time: int) -> Item:
    row: Item = {
        "ts": max(0, time - rng.choice([0, 0, 1, 2, 6])),
        "k": rng.randint(1, 3),
        "v": rng.choice([-1, 1.5, 2]),
    }
    row |= {name: rng.choice(values) for name, values in _VALUES.items() if rng.random() < 0.15}
    if rng.random() < 0.3:
        row["text"] = rng.choice(["a", "b"])
    return row
