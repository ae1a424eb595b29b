"""Random markers, mostly in runs of a kind."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cedilla.runtime.connectors.records.marker import MarkerLine


def shapes(rng: random.Random) -> list[tuple[str, str]]:
    """Kinds of markers with the text after their first condition; `#` stands for a number."""
    alter = [
        ("accent", f", alter({name}, y -> {body})]]") for name in "tn" for body in ("y * 2", "y * # + 1")
    ]
    change = ["+(p: double)", "+(q: int)", "+(t: double)", "-(u)", "-(t)", "-(p)", "alter(p, y -> y / #)"]
    rare = ["rename(w, u)", "recode(n, {1: 2})", "-(absent)", "grow(s, {90})", "alter(l, y -> 2)"]
    more = [", ts > 5", ', l = "b"', ', l in {"b", "z"}', ", t < #", ", s < #"]
    rare = rare if rng.random() < 0.2 else []
    accents = [("accent", f", {text}]]") for text in (*change, *rare, 'unit(t, "degF")')]
    limited = [("accent", rng.choice(more) + rest) for _, rest in rng.sample(accents + alter, 4)]
    closed = [("punctuation", "]"), ("punctuation", ", ts < #]"), ("punctuation", ", n = #]")]
    return [*alter, *alter, *accents, *limited, *closed, *closed]


def stream(rng: random.Random) -> Iterator[MarkerLine | None]:
    """Yields markers, mostly in runs of one or of some kinds, and `None` for a tuple."""
    position, pool = 0, rng.choices(shapes(rng), k=4)
    for _ in range(rng.randint(2, 5)):
        first, among = rng.randint(0, 6), rng.choice([0, 0, 0.3])
        chosen = rng.choices(pool, k=rng.choice([1, 1, 1, 2, 3]))
        values = range(first, first + rng.randint(2, 9))
        if rng.random() < 0.3:
            values = rng.choices(range(14), k=8)
        by_value = [(shape, value) for value in values for shape in chosen]
        by_shape = [(shape, value) for shape in chosen for value in values]
        for (kind, rest), value in rng.choice([by_value, by_shape]):
            position += 1
            if rng.random() < among:
                yield None
                position += 1
            head = "[[" if kind == "accent" else "["
            text = f"{head}s = {value}{rest.replace('#', str(rng.randint(2, 9)))}"
            yield MarkerLine(kind, text, position, next=position + 1)
        yield None
        position += 1


def accents(rest: str, values: range) -> list[tuple[str, str]]:
    return [("accent", f"[[s = {value}{rest}]]") for value in values]
