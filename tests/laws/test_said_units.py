"""Units that Alters name are true, change nothing else, and are refused if they are wrong (theory N4).

A unit that an output names in an Alter is that of its values, for all tuples that the description matches. A reader of
the output may know its units and domains or not. The named units are compared with each tuple's value, computed by the
decoder, which shares nothing with the engine.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from io import StringIO
from random import Random

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.sources.unit_names import UnitNames
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from tests.kit.compare import rounded
from tests.kit.lines import as_lines
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, decode, is_tuple, unit_complaints
from tests.kit.tiers import tiered
from tests.laws.unit_worlds import QUERY, SCHEMA, World, ran, random_claims, with_punctuations

SAID = re.compile(r', unit ("[^"]*"|\w+)\)\]\]$')
CANONICAL = {"t": "degF", "p": "hPa"}
DIFFERENCES = f"""
stream r({SCHEMA}) from json "r";
emit project[n, s, q, t, t - 50 degF as d](r) to json "above";
emit aggregate[stddev(t) as t, var(p) as p, avg(t - 50 degF) as d by s](r) to json "groups";
"""
Reader = tuple[str, tuple[str, ...], tuple[str, ...]]
"""A schema with places for domains and then for units, and both."""
DOMAINS = (" in {1, 2, 3}", " in {1, 2}")
READERS: dict[str, dict[str, Reader]] = {
    QUERY: {
        "r": ("n: long, s: int%s, q: int%s, t: double%s, p: double%s", DOMAINS, ("degF", "hPa")),
        "aggregate": ("s: int%s, t: double%s, p: double%s", DOMAINS[:1], ("degF", "hPa")),
    },
    DIFFERENCES: {
        "project": ("n: long, s: int%s, q: int%s, t: double%s, d: double%s", DOMAINS, ("degF", "delta_degF")),
        "aggregate": (
            "s: int%s, t?: double%s, p?: double%s, d: double%s",
            DOMAINS[:1],
            ("delta_degF", "hPa**2", "delta_degF"),
        ),
    },
}


def check_said_units(seed: int, monkeypatch: pytest.MonkeyPatch, query: str = QUERY) -> int:
    """How many outputs have Alters that say a unit."""
    rng = Random(seed)
    items = with_punctuations(World(rng).units, rng)
    size = 1 + seed % 7
    _, outputs = ran(query, items, size)
    with monkeypatch.context() as patch:
        patch.setattr(UnitNames, "of", lambda *_: None)
        _, plain = ran(query, items, size)
    context = [json.dumps(item) for item in items]
    different = 0
    for emit, lines in outputs.items():
        without_units = [
            {"$accent": SAID.sub(")]]", text)} if "alter(" in (text := item.get("$accent", "")) else item
            for item in lines
        ]
        assert without_units == plain[emit], context
        different += without_units != lines
        rows = decode(lines)
        outside = [{**row, "s": 7} for row in rows] + [{**row, "q": 7} for row in rows if "q" in row]
        reader = READERS[query][emit]
        names = re.findall(r"(\w)\??: double", reader[0])
        canonical = dict(zip(names, reader[2], strict=True))
        assert list(unit_complaints(lines, canonical, [*rows, *outside])) == [], context
        above = [float(row["t"] - row["d"]) for row in rows if row.keys() >= {"n", "d", "t"}]
        assert above == [pytest.approx(50)] * len(above), context
        check_readers(reader, lines, context)
    return different


def check_readers(reader_: Reader, lines: list[Item], context: list[str]) -> None:
    """An output is the input of other queries, whatever they know of its units and domains."""
    schema, domains, (first, *others) = reader_
    quoted = {"degF": "[degF]"}.get(first, first)
    none = ("",) * len(others)
    for units in (
        (f" unit {first}", *(f' unit "{unit}"' for unit in others)),
        (f' unit "{quoted}"', *none),
        ("", *none),
    ):
        for declared in (domains, ("",) * len(domains)):
            query = f'stream r({schema % (*declared, *units)}) from json "r"; emit r to json "again";'
            reader = Reference(compile_query(query).plan)
            again = [
                line
                for item in lines
                for outputs in reader.step([("r", item)])
                for line in outputs["r"].items()
            ]
            assert reader.rejected == [], context
            assert rounded(decode(again)) == rounded(decode(lines)), context


@pytest.mark.parametrize(
    "seeds", tiered([range(1), range(1, 2), range(2, 3), range(3, 14), range(14, 32)], 3, 4), ids=str
)
def test_what_outputs_say_is_true_and_changes_nothing(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    named = sum(check_said_units(seed, monkeypatch) for seed in seeds)
    assert named >= (len(seeds) + 1) // 2


@pytest.mark.parametrize(
    "seeds", tiered([range(1), range(1, 2), range(2, 3), range(3, 14), range(14, 32)], 3, 4), ids=str
)
def test_what_outputs_say_of_differences_is_true(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    named = sum(check_said_units(seed, monkeypatch, DIFFERENCES) for seed in seeds)
    assert named >= (len(seeds) + 1) // 2


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
@pytest.mark.parametrize("query", READERS)
def test_what_outputs_say_in_many_cases(seed: int, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    check_said_units(seed, monkeypatch, query)


def check_claims(seed: int) -> tuple[int, int]:
    """A stream goes on where what an Alter says is true, and ends where it is not. How many were which."""
    rng = Random(seed)
    items = random_claims(rng, World(rng))
    rows = list(decode(item for item in items if is_tuple(item)))
    grid = [
        {"n": n, "s": s, "q": q, "t": t, "p": p}
        for n in (0, 15, 40)
        for s in (1, 2, 3)
        for q in (1, 2)
        for t, p in ((-300, 0), (10, 3), (2000, 5000))
    ]
    checker = StreamChecker(declared_schema(SCHEMA))
    right, wrong = list[Item](), 0
    for number, item in enumerate(items):
        _, diagnostics = checker.take(Line(json.dumps(item), f"r:{number}"))
        codes = {diagnostic.code for diagnostic in diagnostics if diagnostic.severity == "error"}
        if "$accent" in item:
            is_wrong = any(unit_complaints([*right, item], CANONICAL, [*grid, *rows]))
            assert ("RQ219" in codes) == is_wrong, (item, [json.dumps(item_) for item_ in right])
            wrong += is_wrong
        if not codes:
            right.append(item)
    return len(right), wrong


@pytest.mark.parametrize("seed", range(4))
def test_wrong_units_are_refused_and_right_ones_are_not(seed: int) -> None:
    right, wrong = check_claims(seed)
    assert right > 20
    assert wrong > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
def test_wrong_units_in_many_cases(seed: int) -> None:
    check_claims(seed)


def check_canonical(seed: int) -> None:
    """A canonical stream names true units: tuples after it are read by them."""
    rng = Random(seed)
    items = with_punctuations(World(rng).units, rng)
    at = rng.randrange(len(items))
    without = [
        {n: v for n, v in item.items() if n != "p" or item.get("s") != 3}
        for item in items[at:]
        if "(p, " not in (text := item.get("$accent", "")) or re.search("s = [12]", text)
    ]
    items = [*items[:at], {"$accent": "[[s = 3, -(p)]]"}, *without]
    items += [{"$accent": "[[s = 3, +(p: double)]]"}] * rng.randint(0, 1)
    lines = as_lines(items, "r")
    for rules in (False, True):
        out = StringIO()
        try:
            canonize(lines, declared_schema(SCHEMA.replace("p:", "p?:")), out, Counter() if rules else None)
        except DiagnosticError:  # tuples come after their punctuation, or there are no words for it (RQ213)
            return
        canonical = [json.loads(line) for line in out.getvalue().splitlines()]
        rows = decode(canonical)
        assert list(unit_complaints(canonical, CANONICAL, rows)) == [], items
        checker = StreamChecker(declared_schema(SCHEMA.replace("p:", "p?:")))
        for number, item in enumerate(canonical):
            _, diagnostics = checker.take(Line(json.dumps(item), f"c:{number}"))
            assert "RQ219" not in {diagnostic.code for diagnostic in diagnostics}, (items, canonical)


@pytest.mark.parametrize("seed", tiered(range(6), 2))
def test_canonical_streams_say_units_that_are_true(seed: int) -> None:
    check_canonical(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
def test_canonical_streams_in_many_cases(seed: int) -> None:
    check_canonical(seed)
