"""Random queries and random valid streams over small domains, for the laws."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler import compile_query
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from tests.stream import Decoder, Item

SOURCES = """
stream r(k: int in {1, 2, 3}, ts: long, v: double, q?: double) from json "in/r" punctuated on ts;
stream s(k: int in {1, 2, 3}, ts: long, v: double, q?: double) from json "in/s" punctuated on ts;
table d(k: int in {1, 2, 3}, name: string) from json "in/d";
"""
NAMES = [{"k": 1, "name": "north"}, {"k": 2, "name": "north"}, {"k": 3, "name": "south"}]
# Exact in binary, so that equal canonical values stay equal in Spark.
FUNCTIONS = ("y -> y * 2", "y -> y / 4 + 3", "y -> y * 4 - 1", "y -> y + 32")


# --- queries ---


@frozen
class World:
    """A query's text and plan."""

    text: str
    plan: Plan


@define
class _Growing:
    rng: Random
    lines: list[str] = field(factory=list[str])
    names: list[str] = field(factory=lambda: ["r", "s"])
    chain: bool = False
    """Whether each operator reads the one before it."""

    def types(self, name: str) -> dict[str, str]:
        plan = compile_query(f"{SOURCES}{''.join(self.lines)}emit {name} to json 'out';").plan
        return {n: t.name for n, t in plan.start[name].types.items()}

    def pick(self) -> str:
        return self.names[-1] if self.chain else self.rng.choice([*self.names[-3:], self.names[-1]])

    def operator(self, kinds: tuple[str, ...]) -> str:
        """The text of a random operator."""
        rng = self.rng
        a = self.pick()
        types = self.types(a)
        if not types:
            return f"select[1 = 1]({a})"
        numbers = [n for n, t in types.items() if t in ("int", "long", "double")]
        values = [n for n in numbers if n not in ("k", "ts")] or numbers

        def any_of() -> str:
            return rng.choice(list(types))

        def keys() -> str:
            chosen = rng.sample(list(types), rng.randint(1, min(2, len(types))))
            usual = [n for n in ("k", "ts") if n in types]
            chosen = rng.choice([chosen, usual or chosen])
            return ", ".join(f"{n}{rng.choice(['', ' desc'])}" for n in chosen)

        def per(most: int) -> str:
            chosen = rng.sample(list(types), rng.randint(0, min(most, len(types))))
            return rng.choice(
                [f" per {', '.join(chosen)}" if chosen else "", " per k" if "k" in types else ""]
            )

        match rng.choice(kinds):
            case "select":
                return f"select[{self.condition(values, types)}]({a})"
            case "project":
                kept = rng.sample(list(types), rng.randint(1, len(types)))
                items = [*kept, *self.computed(numbers, types)]
                return f"project[{', '.join(items)}]({a})"
            case "rename":
                return f"rename[{any_of()} as {rng.choice(['w', 'v', 'x'])}]({a})"
            case "union":
                return f"{a} union {self.pick()}"
            case "intersect" | "minus" as word:
                other = self.pick()
                names = [n for n in types if n in self.types(other)]
                kept = ", ".join(rng.sample(names, rng.randint(1, len(names)))) if names else "k"
                word = f"{word}{rng.choice(['', ' all'])}"
                return f"project[{kept}]({a}) {word} project[{kept}]({other})"
            case "distinct":
                if rng.random() < 0.5:
                    return f"distinct[{any_of()}]({a})"
                return f"distinct({a})"
            case "join" | "left join" as word:
                other = "d" if self.chain else rng.choice(["d", self.pick()])
                if other == "d":
                    return f"{a} {word} d on k"
                # Regions are trees over all attributes of both inputs.
                others = [n for n in self.types(other) if n != "k"]
                names = ["k", *rng.sample(others, min(3, len(others)))][: 9 - len(types)]
                renamed = ", ".join(f"{n} as {n}_{len(self.lines)}" for n in names)
                return f"{a} {word} (project[{renamed}]({other})) on k = k_{len(self.lines)}"
            case "semi join" | "anti join" as word:
                return f"{a} {word} {'d' if self.chain else rng.choice(['d', self.pick()])} on k"
            case "window":
                step = rng.choice(["", " every 2"])
                name = rng.choice(["w{0}", "[w{0}, u{0}]"]).format(len(self.lines))
                return f"window[4{step} on {self.axis(numbers)} as {name}]({a})"
            case "session":
                return f"session[3 on {self.axis(numbers)}{per(1)} as w{len(self.lines)}]({a})"
            case "count window":
                return f"window[2 rows{per(1)} as w{len(self.lines)}]({a})"
            case "sort":
                return f"sort[{keys()}]({a})"
            case "top":
                return f"top[2 by {keys()}{per(2)}]({a})"
            case "limit":
                return f"limit[{rng.randint(1, 5)}]({a})"
            case "aggregate":
                return self.aggregate(a, types, values)
            case _:
                return f"select[{self.condition(values, types)}]({a})"

    def axis(self, numbers: list[str]) -> str:
        return "ts" if "ts" in numbers and self.rng.random() < 0.7 else self.rng.choice(numbers or ["ts"])

    def condition(self, values: list[str], types: dict[str, str]) -> str:
        rng = self.rng
        tests = (
            [f"{rng.choice(values)} {rng.choice(['<', '>=', '=', '!='])} {rng.randint(0, 3)}"]
            if values
            else []
        )
        if types.get("k") in ("int", "double"):
            tests += ["k in {1, 2}", f"k != {rng.randint(1, 3)}"]
        if types.get("ts") in ("long", "double"):
            tests += [f"ts < {rng.randint(3, 18)}", "ts in [2, 15)"]
        if not tests:
            return "1 = 1"
        both = rng.sample(tests, min(2, len(tests)))
        return rng.choice([both[0], f" {rng.choice(['and', 'or'])} ".join(both), f"not ({both[0]})"])

    def computed(self, numbers: list[str], types: dict[str, str]) -> list[str]:
        rng = self.rng
        if not numbers or rng.random() < 0.4:
            return []
        x = rng.choice(numbers)
        text = rng.choice(
            [
                f"{x} * 2 + 1",
                f"{x} / 4",
                f"{x} * {rng.choice(numbers)}",
                f"case when {x} > 1 then 1 else 0 end",
                f"coalesce({x}, 0)",
                f"floor({x} / 2)",
            ]
        )
        return [f"{text} as y{len(self.lines)}"]

    def aggregate(self, a: str, types: dict[str, str], values: list[str]) -> str:
        rng = self.rng
        by = rng.sample(list(types), rng.randint(0, min(3, len(types))))
        clause = f" by {', '.join(by)}" if by else ""
        rest = [n for n in types if n not in by]
        if rng.random() < 0.4 and rest:
            excepts = [n for n in rest if types[n] not in ("int", "long", "double") or rng.random() < 0.3]
            without = f" except {', '.join(excepts)}" if excepts else ""
            return f"aggregate[{rng.choice(['avg', 'max', 'sum', 'count', 'last'])}{clause}{without}]({a})"
        x = rng.choice(values) if values else None
        calls = ["count() as n"]
        if x is not None:
            calls += [
                f"{f}({x}) as x{i}"
                for i, f in enumerate(rng.sample(["avg", "sum", "min", "max", "var", "median"], 2))
            ]
            calls += [f"count(distinct {x}) as c", f"sum({x} where {x} > 1) as z"]
        calls += [f"{f}({rng.choice(list(types))}) as {f}" for f in ("first", "last", "collect")]
        chosen = rng.sample(calls, rng.randint(1, min(3, len(calls))))
        return f"aggregate[{', '.join(chosen)}{clause}]({a})"


ALL = (
    *("select", "project", "rename", "union", "intersect", "minus", "distinct", "join", "left join"),
    *("semi join", "anti join", "window", "session", "count window", "sort", "top", "limit", "aggregate"),
)
ORDERED = (
    *("sort", "sort", "limit", "top", "count window", "distinct", "aggregate", "session"),
    "join",
    "window",
)
"""Those that look at the order of arrival, and some that hand it on."""


def world(rng: Random, size: int, kinds: tuple[str, ...] = ALL) -> World:
    """A random query of up to `size` operators over `SOURCES`."""
    growing = _Growing(rng, chain=kinds is ORDERED)
    tries = 0
    while len(growing.lines) < size and tries < 4 * size:
        tries += 1
        name = f"q{len(growing.lines)}"
        try:
            growing.lines.append(f"{name} := {growing.operator(kinds)};\n")
            growing.types(name)
        except DiagnosticError:
            if growing.lines and growing.lines[-1].startswith(f"{name} :="):
                growing.lines.pop()
            continue
        growing.names.append(name)
    text = f"{SOURCES}{''.join(growing.lines)}emit {growing.names[-1]} to json 'out';"
    return World(text, compile_query(text).plan)


# --- streams ---


@define
class _Source:
    """A source that is written item by item; canonical values come from small domains."""

    rng: Random
    decoder: Decoder = field(factory=Decoder)
    now: int = 0
    alters: int = 0
    next: Item | None = None
    has_q: dict[int, bool] = field(factory=lambda: dict.fromkeys((1, 2, 3), False))

    def item(self) -> Item | None:
        rng = self.rng
        if self.next is not None:
            item, self.next = self.next, None
            return item
        self.now = min(20, self.now + rng.randint(0, 2))
        k, cut = rng.randint(1, 3), rng.randint(0, 20)
        roll = rng.random()
        if roll < 0.14 and self.alters < 4:
            self.alters += 1
            where = rng.choice(
                [f"k = {k}", f"k != {k}", "k in {1, 2}", f"ts >= {cut}", f"k = {k}, ts < {cut}", ""]
            )
            attribute = rng.choice(["v", "v", "v", "ts", "q"])
            if attribute in where or (attribute == "q" and not any(self.has_q.values())):
                attribute = "v"
            function = "y -> y * 2" if attribute == "ts" else rng.choice(FUNCTIONS)
            return {"$accent": f"[[{where}{', ' if where else ''}alter({attribute}, {function})]]"}
        if roll < 0.2:
            have = self.has_q[k]
            self.has_q[k] = not have
            return {"$accent": f"[[k = {k}, {'-(q)' if have else '+(q: double)'}]]"}
        if roll < 0.23:  # all values of q, but not the tuples without it (the bottom lemma)
            self.next = {"$punctuation": f"[k = {k}, q > 0]"}
            return {"$punctuation": f"[k = {k}, q <= 0]"}
        if roll < 0.32:
            return {
                "$punctuation": rng.choice(
                    [
                        f"[ts < {self.now - 2}]",
                        f"[k = {k}, ts <= {self.now}]",
                        f"[k = {k}]",
                        f"[v > {cut}]",
                        f"[k = {k}, ts > {cut}]",
                    ]
                )
            }
        row: Item = {"k": k, "ts": max(0, self.now - rng.randint(0, 3)), "v": rng.randint(0, 4) / 2}
        if self.has_q[k] and rng.random() < 0.7:
            row["q"] = float(rng.randint(0, 1))
        if self.decoder.closed(row):
            return None
        raw = self.decoder.raw_at(row, len(self.decoder.accents))
        return {n: int(x) if x == int(x) and n != "v" else float(x) for n, x in raw.items()}


def stream(rng: Random, length: int, *, close: bool = True) -> list[tuple[str, Item]]:
    """Items of `r` and `s`, interleaved; both closed at the end."""
    sources = {"r": _Source(rng), "s": _Source(rng)}
    items = list(_items(rng, sources, length))
    return items + ([(name, {"$punctuation": "[]"}) for name in sources] if close else [])


def _items(rng: Random, sources: dict[str, _Source], length: int) -> Iterator[tuple[str, Item]]:
    for _ in range(length):
        name = rng.choice(list(sources))
        item = sources[name].item()
        if item is not None:
            sources[name].decoder.feed(item)
            yield name, item


def canonical(items: list[tuple[str, Item]]) -> dict[str, list[dict[str, Any]]]:
    """The canonical tuples of each source, in order."""
    decoders: dict[str, Decoder] = {}
    rows: dict[str, list[dict[str, Any]]] = {"r": [], "s": [], "d": [dict(row) for row in NAMES]}
    for name, item in items:
        row = decoders.setdefault(name, Decoder()).feed(item)
        if row is not None:
            rows[name].append(row)
    return rows
