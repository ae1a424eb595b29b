"""Runs of random plans on an engine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

from attrs import evolve
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.facts.facts import Facts
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.records.rejections import is_fatal
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.simulation.inputs import Input
from cedilla.runtime.tools.simulation.simulation import simulate
from tests.kit.compare import number_of
from tests.kit.epochs import outputs
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.laws.reference_runs import (
    TABLE,
    accepted,
    bag,
    closed_early,
    cut,
    decoded,
    described,
    differently_closed,
    exact_names,
    run,
)
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import ALL, ORDERED, PAIRED, World, canonical, stream, world


def written(spark: SparkSession, root: Path, made: World, parts: list[list[tuple[str, Any]]]) -> Query:
    """The items as files of a run, one file of each source a part; texts are lines as they are."""
    query, chance = Query(spark, root, made.text), Random(len(parts))
    query.write("d", [item for _, item in TABLE])
    for part in parts:
        for source in ("r", "s"):
            items = [item for name, item in part if name == source]
            query.write(source, [i if isinstance(i, str) else line_of(chance, i) for i in items])
    return query


def line_of(chance: Random, item: Item) -> str:
    """A line; some whole numbers have a point, as pandas writes them."""
    whole = ((name, item[name]) for name in ("k", "ts") if isinstance(item.get(name), int))
    forms = {name: Decimal(f"{value}{chance.choice(['', '', '', '.0', '.000'])}") for name, value in whole}
    return json_text({**item, **forms})


KINDS = ((ALL, 0), (ORDERED, 0), (ALL, 2), (PAIRED, 0))


def check_random_plan(
    session: SparkSession, root: Path, seed: int, kinds: tuple[str, ...] | None = None
) -> None:
    """A random plan computed by a session, on a random stream: its tuples, and what every relation has closed after
    each epoch (theory 2.9). One that no output gives may close less, where no reader would act on it."""
    rng = Random(seed)
    usual, edges = KINDS[seed % 4]
    made = world(rng, 4, kinds or usual, edges)
    items = accepted(made.plan, stream(rng, 40, made.extra, accents=False))
    context = described(made, items)
    (emit,) = made.plan.emits
    epochs: list[dict[str, list[Item]]] = []
    parts = cut(rng, items)
    for part in parts:
        epochs.append({s: [item for name, item in part if name == s] for s in ("r", "s")})
    epochs[0]["d"] = [item for _, item in TABLE]
    facts: list[Mapping[str, Facts]] = []
    more = [n for n in sorted(made.plan.emitted) if f"{n} :=" in made.text and n != emit.relation]
    more = more if rng.random() < 0.5 else []
    text = made.text + "".join(f'\nemit {name} to json "too/{name}";' for name in more)
    lines = outputs(session, root, text, epochs, facts)[emit.name]
    actual = [json.loads(line, parse_float=number_of) for line in lines]
    exact = exact_names(made, items)
    expected = bag(evaluate_plan(made.plan, canonical(items))[emit.relation], exact)
    assert bag(decoded(actual), exact) == expected, context
    after = run(made.plan, [[item] for item in items]).facts
    for count, ours in zip(accumulate(map(len, parts)), facts, strict=True):
        computed = {name: after[count][name] for name in made.plan.emitted}
        shown = {name: computed[name] for name in [emit.relation, *more]}
        assert differently_closed(shown, ours) == [], f"after {count} items\n{context}"
        assert closed_early(computed, ours) == [], f"after {count} items\n{context}"


def blank_bad_lines(query: str, options: Options) -> None:
    """Blank the lines of the sources that end the query by its settings."""
    aside = {name: "quarantine" if value == "abort" else value for name, value in options.settings.items()}
    bad: list[Input] = []

    def rejected(line: Input, code: str) -> None:
        bad.extend([line] if is_fatal(code, options.settings) else [])

    simulate(compile_query(query), evolve(options, settings=aside, sinks={}), rejected)
    for rejection in bad:
        name, _, number = rejection.line.place.rpartition(":")
        file = Path(name)
        lines, when = file.read_text().split("\n"), file.stat().st_mtime_ns
        lines[int(number) - 1] = ""
        file.write_text("\n".join(lines))
        os.utime(file, ns=(when, when))
