"""Random schemas, and valid streams of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.stream_checker import Row, StreamChecker
from tests.kit.lines import as_lines
from tests.kit.stream import Item

OPTIONAL_UNITS = "s: int in {1, 2}, u?: string, t?: double unit from u in {degF, degC}"
SCHEMAS = [
    "s: int in {1, 2, 3}, t: double, p?: double",
    "s: int in {1, 2, 3}, k?: int in {1, 2}, t: double",
    "s: int, k: int in {1, 2}, t: double in [0, 50]",
    "s: int in {1, 2}, t?: double unit degC",
    "s: int in {1, 2}, u: string, t: double unit from u in {degF, degC}",
    OPTIONAL_UNITS,
]
FUNCTIONS = ["y -> y * 2", "y -> y / 2", "y -> y + 8", "y -> y * 4 - 16"]
CONSTANTS = (0, 2, 4, 8, 16, 60)


def condition(rng: Random, name: str) -> str:
    if name == "u":
        return rng.choice(['u = "degC"', 'u != "degC"'])
    if name in "sk":
        return rng.choice(
            [f"{name} = 1", f"{name} = 2", f"{name} != 1", f"{name} in {{1, 3}}", f"{name} = 3"]
        )
    return f"{name} {rng.choice(['<', '>=', '<=', '>', '='])} {rng.choice(CONSTANTS)}"


def drawn(rng: Random, declared: set[str]) -> Item:
    """Returns an item, which may be wrong at its place."""
    roll = rng.random()
    if roll < 0.12:
        row: Item = {n: rng.choice([1, 2, 3]) for n in "sk" if n in declared and rng.random() < 0.9}
        row |= {"u": rng.choice(["degC", "degF"])} if "u" in declared and rng.random() < 0.9 else {}
        return row | {n: rng.randrange(0, 60) / 1 for n in "tpq" if rng.random() < 0.5}
    name = rng.choice([n for n in "ppppqqttk" if n in declared | {"p", "q"}])
    others = [n for n in "sssktpqu" if n in declared | {"p", "q"} and n != name]
    describing = dict.fromkeys(rng.choices(others, k=rng.choice([0, 1, 1, 2])))
    conditions = [condition(rng, other) for other in describing]
    if roll < 0.3:
        return {"$punctuation": f"[{', '.join(conditions or ['s = 1'])}]"}
    change = f"+({name}: {'int' if name == 'k' else 'double'})"
    stays = (
        name == "t" and "u" in declared
    )  # what has units of its own is neither dropped nor added (RQ209, RQ365)
    if roll > 0.65 or stays:
        change = f"-({name})" if roll < 0.8 and not stays else f"alter({name}, {rng.choice(FUNCTIONS)})"
    return {"$accent": f"[[{', '.join([*conditions, change])}]]"}


def valid_stream(rng: Random, schema: Schema, length: int) -> list[Item]:
    follower = StreamChecker(schema)
    declared = {attribute.name for attribute in schema.source.attributes}
    stream: list[Item] = []
    for _ in range(12 * length):
        item, before = drawn(rng, declared), follower.state
        if any(diagnostic.severity == "error" for diagnostic in follower.take(*as_lines([item]))[1]):
            follower.state = before
        else:
            stream.append(item)
        if len(stream) == length:
            break
    return stream


def tuples_and_errors(stream: Sequence[Item], schema: Schema) -> tuple[Counter[object], list[Diagnostic]]:
    """The canonical tuples of a stream, and what is wrong with it."""
    follower = StreamChecker(schema)
    rows = Counter[object]()
    wrong: list[Diagnostic] = []
    for line in as_lines(stream):
        item, diagnostics = follower.take(line)
        wrong += [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
        if isinstance(item, Row):
            rows[
                frozenset((n, v if isinstance(v, str) else Fraction(v)) for n, v in item.canonical.items())
            ] += 1
    return rows, wrong
