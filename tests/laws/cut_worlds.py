"""Random queries and files whose answer could depend on what shares an epoch: heartbeats, fields that nothing announces
or an accent announces late, markers of all kinds, policies of changes, bad lines, lines of several tuples, and
operators that look at the order of arrival."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import groupby
from random import Random
from typing import Any
from urllib.parse import quote

from attrs import frozen

from tests.kit.lines import marker
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple

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
_POLICIES = ("any", "allow {+, alter, rename}", "allow {+, -, alter(v), grow, missing}", "allow {}")
_UNFOLDED = {
    "element": ("items.", 'each "items"'),
    "entry": ("items.value.", 'each entry "items"'),
    "text": ("load.items.", 'parsed "load" each "load.items"'),
}
"""How a line has several tuples -> the path to them, and the clause that takes it apart."""
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
    policy = rng.choice(_POLICIES) if rng.random() < 0.3 else "any"
    settings = {"bad_markers": "quarantine", "drift": drift, "changes": policy}
    form = rng.choice([None, None, None, *_UNFOLDED])
    path, clause = ("", "") if form is None else _UNFOLDED[form]
    declared = {"ts": "long", "k": "int", "v": "double", "text": "string"}
    domains, signs = {"k": " in {1, 2, 3}"}, {"text": "?"}
    places = {name: "" if form is None else f' from "{path}{name}"' for name in declared}
    attributes = ", ".join(
        f"{name}{signs.get(name, '')}: {type_}{places[name]}{domains.get(name, '')}"
        for name, type_ in declared.items()
    )
    query = "\n".join(
        [
            *(f"set {name} = {value};" for name, value in settings.items()),
            f"stream r({attributes}) from json 'r' {clause}{beats};",
            *(f"{_OPERATORS[name]};" for name in chosen),
            *(f"emit {name} to json 'o/{name}';" for name in chosen),
        ]
    )
    files: Files = [_file(rng, 3 * n) for n in range(rng.randint(3, 5))]
    if form is not None:
        files = [_folded(rng, file, form) for file in files]
    return CutWorld(query, [*files[:-1], [*files[-1], marker("[]")]])


def _folded(rng: Random, lines: list[Line], form: str) -> list[Line]:
    """Returns the lines with neighbouring tuples in one; renames name the path."""
    folded: list[Line] = []
    path, _ = _UNFOLDED[form]
    for are_tuples, group in groupby(lines, lambda line: isinstance(line, dict) and is_tuple(line)):
        some = [*group]
        if not are_tuples:
            folded += [_with_paths(line, path) for line in some]
        while are_tuples and some:
            count = rng.randint(1, 3)
            tuples, some = some[:count], some[count:]
            match form:
                case "element":
                    folded.append({"items": tuples})
                case "entry":
                    folded.append({"items": {f"d{number}": line for number, line in enumerate(tuples)}})
                case _:
                    folded.append({"load": json.dumps({"items": tuples})})
    return folded


def _with_paths(line: Line, path: str) -> Line:
    """Returns a marker whose renames name a field by its path."""
    if not isinstance(line, dict) or "$accent" not in line:
        return line
    return {"$accent": re.sub(r"rename\((\w+), (\w+)\)", rf'rename("{path}\1", \2)', line["$accent"])}


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
