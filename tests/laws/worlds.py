"""Random queries and random valid streams over small domains, for the laws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type, decimal_notation
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.values import read_value
from tests.kit.stream import Decoder, Item
from tests.laws.edges import (
    BEYOND,
    CENTS,
    EDGES,
    EXACT,
    LIST,
    ODD,
    SMALL,
    WORDS,
    calculable,
    condition,
    edge_of,
    is_cents,
    is_number,
    read,
    result_of,
    tame,
)
from tests.laws.operators import OPERATORS

PROMISES = (("ts",), ("k",), ("ts", "k"), ("k, ts",), ("v", "ts"))
"""Schemes that a stream promises to close: by them vacant regions are found (theory 2.9)."""


def sources(
    extra: tuple[str, ...] = (), promised: tuple[tuple[str, ...], tuple[str, ...]] = (("ts",), ("ts",))
) -> str:
    """The declarations of two streams, with some of `EDGES` and their promises, and of a table."""
    r, s = ("".join(f" punctuated on {scheme}" for scheme in schemes) for schemes in promised)
    types = "".join(f", {name}: {EDGES[name].declared}" for name in extra)
    q = "q: double default 0.5" if promised[0] == ("k",) else "q?: double"  # tuples without q have a value
    attributes = f"k: int in {{1, 2, 3}}, ts: long, v: double, {q}{types}"
    return f"""
stream r({attributes}) from json "in/r"{r};
stream s({attributes}) from json "in/s"{s};
table d(k: int in {{1, 2, 3}}, name: string) from json "in/d";
"""


SOURCES = sources()
NAMES = [{"k": 1, "name": "north"}, {"k": 2, "name": "north"}, {"k": 3, "name": "south"}]
# Exact in binary, so that equal canonical values stay equal in Spark.
FUNCTIONS = ("y -> y * 2", "y -> y / 4 + 3", "y -> y * 4 - 1", "y -> y + 32", "y -> 5 - y")
FINER = ("y -> y * 1000000", "y -> y * 1000000000")
"""Functions under which whole numbers stay exact."""
OF_TIMES = ("y -> y * 2", "y -> y / 1000000")


# --- queries ---


@frozen
class World:
    """A query's text and plan; `extra`: the edge attributes of its streams."""

    text: str
    plan: Plan
    extra: tuple[str, ...] = ()


@define
class _Growing:
    rng: Random
    sources: str = SOURCES
    lines: list[str] = field(factory=list[str])
    names: list[str] = field(factory=lambda: ["r", "s"])
    chain: bool = False
    """True: each operator reads the one before it."""
    _types: dict[str, dict[str, str]] = field(init=False, factory=dict[str, dict[str, str]])

    def grow(self, size: int, kinds: tuple[str, ...]) -> None:
        """Adds lines with random operators, until there are `size` or too many were wrong."""
        for _ in range(4 * size):
            name = f"q{len(self.lines)}"
            if len(self.lines) >= size:
                return
            try:
                self.lines.append(f"{name} := {self.operator(kinds)};\n")
                self.types(name)
            except DiagnosticError:
                if self.lines and self.lines[-1].startswith(f"{name} :="):
                    self.lines.pop()
                continue
            self.names.append(name)

    def types(self, name: str) -> dict[str, str]:
        if name not in self._types:
            plan = compile_query(f"{self.sources}{''.join(self.lines)}emit {name} to json 'out';").plan
            self._types[name] = {n: t.name for n, t in plan.start[name].types.items()}
        return self._types[name]

    def pick(self) -> str:
        return self.names[-1] if self.chain else self.rng.choice([*self.names[-3:], self.names[-1]])

    def operator(self, kinds: tuple[str, ...]) -> str:
        """The text of a random operator."""
        rng = self.rng
        a = self.pick()
        types = self.types(a)
        if not types:
            return f"select[1 = 1]({a})"
        numbers = [n for n, t in types.items() if t in _NUMBERS and calculable(n)]
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

        kind = rng.choice(kinds)
        if kind in OPERATORS:
            on = self.axis(numbers)
            return OPERATORS[kind].text(rng, a, types, values, on, per(1), len(self.lines))
        match kind:
            case "select":
                return f"select[{self.condition(values, types)}]({a})"
            case "sample":
                by = rng.sample(list(types), rng.randint(1, min(2, len(types))))
                return f"sample[{rng.randint(1, 3)} in 3 by {', '.join(by)}]({a})"
            case "project":
                kept = rng.sample(list(types), rng.randint(1, len(types)))
                computed = self.computed(numbers, types)
                if computed and rng.random() < 0.3:
                    return f"extend[{', '.join(computed)}]({a})"
                if len(types) > len(kept) and rng.random() < 0.3:
                    return f"project[* except {', '.join(n for n in types if n not in kept)}]({a})"
                return f"project[{', '.join([*kept, *computed])}]({a})"
            case "rename":
                name = any_of()
                new = rng.choice(["w", "v", "x"]) if tame(name) else f"{name}_w{len(self.lines)}"
                return f"rename[{name} as {new}]({a})"
            case "union":
                return f"{a} union {rng.choice(['r', 's']) if self.chain else self.pick()}"
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
                on = self.axis(numbers)
                first, last = (result_of(on, f"{letter}{len(self.lines)}") for letter in "wu")
                length = "4" if step or not is_cents(on) else "0.01"
                return f"window[{length}{step} on {on} as {rng.choice([first, f'[{first}, {last}]'])}]({a})"
            case "session":
                on = self.axis(numbers)
                return f"session[3 on {on}{per(1)} as {result_of(on, f'w{len(self.lines)}')}]({a})"
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
            case "complete":
                return self.completed(a, types, values)
            case _:
                return f"select[{self.condition(values, types)}]({a})"

    def axis(self, numbers: list[str]) -> str:
        """A number, of a source as a rule; a result may be undefined."""
        if self.rng.random() < 0.2:
            return self.rng.choice(numbers or ["ts"])
        choices = [n for n in numbers if n == ODD or n.split("_")[0] in ("k", "ts", "v")]
        return "ts" if "ts" in numbers and self.rng.random() < 0.7 else self.rng.choice(choices or ["ts"])

    def condition(self, values: list[str], types: dict[str, str]) -> str:
        rng = self.rng
        tests = (
            [f"{rng.choice(values)} {rng.choice(['<', '>=', '=', '!='])} {rng.randint(0, 3)}"]
            if values
            else []
        )
        tests += [f"{n} * 100 {rng.choice(['=', '<', '>='])} 29" for n in values if is_cents(n)]
        if types.get("k") in ("int", "double"):
            tests += ["k in {1, 2}", f"k != {rng.randint(1, 3)}"]
        if types.get("ts") in ("long", "double"):
            tests += [f"ts < {rng.randint(3, 18)}", "ts in [2, 15)"]
        tests += [
            condition(rng, n, edge)
            for n in types
            if (edge := edge_of(n)) is not None and types[n] == edge.type.partition("(")[0]
        ]
        if not tests:
            return "1 = 1"
        both = rng.sample(tests, min(2, len(tests)))
        return rng.choice([both[0], f" {rng.choice(['and', 'or'])} ".join(both), f"not ({both[0]})"])

    def computed(self, numbers: list[str], types: dict[str, str]) -> list[str]:
        rng = self.rng
        lists = [n for n in types if n.split("_")[0] == LIST and types[n] == "array"]
        if lists and rng.random() < 0.5:
            whole = rng.choice(lists)
            return [f"{rng.choice(_OF_LISTS).format(x=whole)} as y{len(self.lines)}"]
        if not numbers or rng.random() < 0.4:
            return []
        x = rng.choice(numbers)
        y = rng.choice(numbers)
        text = rng.choice(
            [
                *(
                    [template.format(x=x) for template in _OF_CENTS]
                    if is_cents(x) and types[x] == "decimal"
                    else ()
                ),
                f"{x} * 2 + 1",
                f"{x} / 4",
                f"{x} * {y}",
                f"case when {x} > 1 then 1 else 0 end",
                f"coalesce({x}, 0)",
                f"floor({x} / 2)",
            ]
        )
        return [f"{text} as {result_of(max(x, y), f'y{len(self.lines)}')}"]

    def aggregate(self, a: str, types: dict[str, str], values: list[str]) -> str:
        rng = self.rng
        by = rng.sample(list(types), rng.randint(0, min(3, len(types))))
        clause = f" by {', '.join(by)}" if by else ""
        if not by and values and rng.random() < 0.5:  # one group, often of no tuples
            a = f"select[{rng.choice(values)} > {rng.choice([2, 1000])}]({a})"
        rest = [n for n in types if n not in by]
        if rng.random() < 0.4 and rest:
            function = rng.choice(["avg", "max", "sum", "count", "last"])
            fit = [
                n for n in rest if (types[n] in _NUMBERS and calculable(n)) or function not in ("avg", "sum")
            ]
            excepts = [n for n in rest if n not in fit or rng.random() < 0.3]
            without = f" except {', '.join(excepts)}" if excepts else ""
            return f"aggregate[{function}{clause}{without}]({a})"
        x = rng.choice(values) if values else None
        calls = ["count() as n"]
        if x is not None:
            calls += [
                f"{f}({x}) as {result_of(x, f'x{i}')}"
                for i, f in enumerate(rng.sample(["avg", "sum", "min", "max", "var", "median", "var_pop"], 2))
            ]
            calls += [f"bit_or({x}) as bits"]
            calls += [f"count(distinct {x}) as c", f"sum({x} where {x} > 1) as {result_of(x, 'big')}"]
        edges = [n for n in types if edge_of(n) is not None]
        for function in ("first", "last", "collect", "min", "max", "largest", "mode", "arg_max", "last of 2"):
            name = rng.choice(edges or list(types))
            more = {"largest": ", 2", "last of 2": ", 2", "arg_max": f", {rng.choice(list(types))}"}
            word, _, _ = function.partition(" ")
            result = result_of(name, function.replace(" ", "_"))
            calls.append(f"{word}({name}{more.get(function, '')}) as {result}")
        if edges:
            calls.append(f"count(distinct {rng.choice(edges)}) as many")
        chosen = rng.sample(calls, rng.randint(1, min(3, len(calls))))
        return f"aggregate[{', '.join(chosen)}{clause}]({a})"

    def completed(self, a: str, types: dict[str, str], values: list[str]) -> str:
        """Groups with rows for windows and members that no tuple came to."""
        rng, number = self.rng, len(self.lines)
        alias = rng.choice([[f"w{number}"], [f"w{number}", f"u{number}"]])
        names = alias[: rng.randint(1, 2)] if rng.random() < 0.8 else alias[-1:]
        by = [*names, *(name for name in types if name.startswith("k") and rng.random() < 0.8)]
        calls = ["count() as n"]
        for function in ("count", "last", "avg", "max", "collect", "var", "sum", "first", "median", "mode"):
            x = rng.choice(values or ["ts"])
            carried = rng.choice(["", " carried"])
            calls.append(f"{function}({x}){carried} as {result_of(x, f'{function}{number}')}")
        calls += [f"max({x}) - min({x}) as {result_of(x, f'd{number}')}" for x in values[:1]]
        first = rng.randint(-6, 12)
        named = f"[{', '.join(alias)}]" if alias[1:] else alias[0]
        window = f"{rng.choice(['4', '4 every 2', '1'])} on ts as {named}"
        chosen = ", ".join(rng.sample(calls, rng.randint(1, 3)))
        rng.shuffle(by)
        limits = f"from {first} to {first + rng.randint(1, 20)}"
        return f"aggregate[{chosen} by {', '.join(by)} complete {limits}](window[{window}]({a}))"


_NUMBERS = ("int", "long", "double", "decimal")
_OF_CENTS = (
    *("{x} * 100", "{x} % 0.01", "{x} * 0.1 + k", "{x} / 100", "round({x}, 1)", "floor({x} * 100)"),
    *("long({x} * 100)", "case when {x} * 100 = 29 then {x} * 3 else 0.5 end", "greatest({x}, 0.87 - {x})"),
)
"""Expressions that jump if decimals are doubles."""
_OF_LISTS = (
    *("size({x})", "element_at({x}, 1)", "element_at({x}, -1)", "list_sum({x})", "list_avg({x})"),
    *("list_min({x})", "list_max({x})"),
)
ALL = (
    *("select", "project", "rename", "union", "intersect", "minus", "distinct", "join", "left join"),
    *("semi join", "anti join", "window", "session", "count window", "sort", "top", "limit", "sample"),
    "aggregate",
    *OPERATORS,
)
ORDERED = (
    *("sort", "sort", "limit", "top", "count window", "distinct", "aggregate", "session"),
    *("join", "window", "union", *OPERATORS),
)
"""Those that look at the order of arrival, and some that hand it on."""
COMPLETED = (
    *("complete", "complete", "select", "project", "rename", "union", "join", "left join", "semi join"),
    *("anti join", "running", "sort", "session", "aggregate", "distinct"),
)
"""Rows of groups without tuples, and what makes and takes them."""
PAIRED = (
    *("join", "left join", "semi join", "anti join", "minus", "intersect", "select", "window", "aggregate"),
    *("join", "window", "session", "sort"),
)
"""Those that close what they keep nothing of, and some that wait for that."""


def world(rng: Random, size: int, kinds: tuple[str, ...] = ALL, edges: int = 0) -> World:
    """A random query of up to `size` operators over streams with so many of the edge attributes, `ODD` often."""
    extra = tuple(rng.sample(list(EDGES), edges))
    if extra and ODD not in extra and rng.random() < 0.3:
        extra = (ODD, *extra[1:])
    if extra and LIST not in extra and rng.random() < 0.2:
        extra = (*extra[:-1], LIST)
    promised = rng.choice(PROMISES), rng.choice(PROMISES)
    growing = _Growing(rng, sources(extra, promised), chain=kinds is ORDERED)
    growing.grow(size, kinds)
    text = f"{growing.sources}{''.join(growing.lines)}emit {growing.names[-1]} to json 'out';"
    return World(text, compile_query(text).plan, extra)


def random_lines(rng: Random, size: int, first: Sequence[str] = ()) -> list[str]:
    """The lines of a random query over `SOURCES`, of which the first are given."""
    growing = _Growing(rng, lines=[*first])
    growing.names += [f"q{number}" for number in range(len(first))]
    growing.grow(size, ALL)
    return growing.lines


# --- streams ---

FRESH = "fresh"
KINDS: tuple[tuple[Any, ...], ...] = ((0.5, 2.0, -1.0), (1, 2, 7), ("a", "b", ""), (True, False))
"""Values of an attribute that nothing announces, each of one type."""


def is_amount(values: tuple[Any, ...]) -> bool:
    """Returns True if the values of an unannounced attribute can be altered."""
    return bool(values) and type(values[0]) in (int, float)


@define
class _Source:
    """A source that is written item by item; canonical values come from small domains."""

    rng: Random
    extra: tuple[str, ...] = ()
    accents: bool = True
    altered: tuple[str, ...] = ()
    """The edge attributes that are altered, here or in the other source."""
    begun: set[str] = field(factory=set[str])
    decoder: Decoder = field(factory=lambda: Decoder(read))
    now: int = 0
    alters: int = 0
    of_times: tuple[str, ...] = (*OF_TIMES, *FINER)
    fresh: tuple[Any, ...] = ()
    """The values of `FRESH`, an attribute that nothing announces."""
    next: Item | None = None
    has_q: dict[int, bool] = field(factory=lambda: dict.fromkeys((1, 2, 3), False))

    @property
    def described(self) -> list[str]:
        """The edge attributes that conditions may be of."""
        return [name for name in self.extra if not EDGES[name].is_list]

    def item(self) -> Item | None:
        rng = self.rng
        if self.next is not None:
            item, self.next = self.next, None
            return item
        self.now = min(20, self.now + rng.randint(0, 2))
        k, cut = rng.randint(1, 3), rng.randint(0, 20)
        roll = rng.random()
        if not self.accents and roll < 0.2:
            roll = 1.0
        if roll < 0.14 and self.alters < 4:
            self.alters += 1
            where = rng.choice(
                [f"k = {k}", f"k != {k}", "k in {1, 2}", f"ts >= {cut}", f"k = {k}, ts < {cut}", ""]
                + [f"v >= {cut / 8}", f"q <= {cut / 8}"]
                + [condition(rng, n, EDGES[n]) for n in self.described]
            )
            unannounced = [FRESH] if FRESH in self.begun and is_amount(self.fresh) else []
            attribute = rng.choice(
                ["v", "v", "v", "ts", "q", *self.altered, *self.altered, *unannounced, *unannounced]
            )
            if attribute == "q" and not any(self.has_q.values()):
                attribute = "v"
            if f"{attribute} " in where:  # no accent is described by what it changes (RQ201)
                attribute = "ts" if attribute == "v" else "v"
            self.begun.add(attribute)
            functions = self.of_times if attribute == "ts" else EXACT if attribute == CENTS else FUNCTIONS
            function = rng.choice(functions)
            if function in FINER:
                self.of_times = OF_TIMES  # a second one would lead beyond 2^53
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
                        f"[k in [{k}, {k + 1})]" if k < 3 and self.now % 2 else f"[k = {k}]",
                        f"[v > {cut}]",
                        f"[k = {k}, ts > {cut}]",
                    ]
                    + [f"[k = {k}, {condition(rng, n, EDGES[n])}]" for n in self.described]
                    + [f"[{condition(rng, n, EDGES[n], one=True)}]" for n in self.described]
                )
            }
        row: Item = {"k": k, "ts": max(0, self.now - rng.randint(0, 3)), "v": rng.randint(0, 4) / 2}
        if self.has_q[k] and rng.random() < 0.7:
            row["q"] = float(rng.randint(0, 1))
        row |= {n: self.edge(n) for n in self.extra}
        if self.fresh and rng.random() < 0.4:
            row[FRESH] = rng.choice(self.fresh)
        if self.decoder.closed(row):
            return None
        raw = self.decoder.raw_at(row, len(self.decoder.accents))
        self.begun |= raw.keys() & {FRESH}
        return {n: _edge(n, x) if n in self.extra or n == FRESH else _number(n, x) for n, x in raw.items()}

    def edge(self, name: str) -> Any:
        if name not in self.altered or name == CENTS or EDGES[name].is_list:
            return self.rng.choice(EDGES[name].values)
        beyond = BEYOND if name in self.begun and EDGES[name].type == "long" else ()
        return self.rng.choice([*SMALL, *beyond, *(WORDS if name == ODD else ())])


def _edge(name: str, value: Any) -> Any:
    """A value of an edge attribute as JSON has it; of one that was altered, with decimals where it has some."""
    if isinstance(value, list):
        return [_edge(name, element) for element in value]
    if not isinstance(value, Fraction):
        return value
    if name == CENTS:
        return Decimal(decimal_notation(value) or "")
    return int(value) if value.denominator == 1 else float(value)


def _number(name: str, value: Any) -> int | float:
    return int(value) if value == int(value) and name != "v" else float(value)


def stream(
    rng: Random,
    length: int,
    extra: tuple[str, ...] = (),
    *,
    close: bool = True,
    accents: bool = True,
    fresh: tuple[Any, ...] = (),
) -> list[tuple[str, Item]]:
    """Items of `r` and `s`, interleaved; both closed at the end. `fresh`: the values of an attribute that nothing
    announces (`set drift = infer`)."""
    altered = tuple(n for n in extra if accents and is_number(n) and rng.random() < 0.5)
    both = {name: _Source(rng, extra, accents, altered, fresh=fresh) for name in ("r", "s")}
    items = list(_items(rng, both, length))
    return items + ([(name, {"$punctuation": "[]"}) for name in both] if close else [])


def _items(rng: Random, sources: dict[str, _Source], length: int) -> Iterator[tuple[str, Item]]:
    for _ in range(length):
        name = rng.choice(list(sources))
        item = sources[name].item()
        if item is not None:
            sources[name].decoder.feed(item)
            yield name, item


def canonical(items: list[tuple[str, Item]]) -> dict[str, list[dict[str, Any]]]:
    """The canonical tuples of each source, in order, as the engine has their values."""
    decoders: dict[str, Decoder] = {}
    rows: dict[str, list[dict[str, Any]]] = {"r": [], "s": [], "d": [dict(row) for row in NAMES]}
    for name, item in items:
        row = None if "$end" in item else decoders.setdefault(name, Decoder(read)).feed(item)
        if row is not None:
            rows[name].append({n: _value(n, v) for n, v in row.items()})
    return rows


def _value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [float(element) for element in value]
    if name not in EDGES or isinstance(value, Fraction):  # as an Alter has left it
        return value
    return read_value(Type.parse(EDGES[name].type), value)
