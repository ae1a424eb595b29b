"""Every kind of change in one stream: a query reads the tuples that a sender intended (theory 2.5, 2.7, N2 to N5, G32).

The sender is plain Python: it has canonical tuples, and writes each by the accents so far, one after the other,
for all names in descriptions. A Drop of an attribute that others describe tuples by (RQ229) is left out: a tuple
without it may mean either. Some accents are stated by the query, from the start or by an edit. Relations of these
tuples, of each kind of operator, are what they are of complete ones (Figure 3), and outputs are valid."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.compiler.compile import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.json_objects import json_text, parse_line
from cedilla.runtime.connectors.records.nested import by_names
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from tests.kit.compare import bag, plain
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Decoder, Item, complaints
from tests.kit.tiers import tiered
from tests.laws.edges import key
from tests.laws.reference_runs import first_attributes
from tests.laws.relational import evaluate_plan
from tests.laws.senders import SCHEMA, UNITS, Sender, tuples
from tests.runtime.epochs.checkpoint.plan_edits import edited

STREAM = f'stream r({SCHEMA}) from json "r";\n'
RELATIONS = {
    "warm": "select[h > 10 degC](r)",
    "few": "project[site, h, x, n, c, d](r)",
    "groups": "aggregate[sum(h) as h, max(c) as c, count() as m by site, k](r)",
    "last": "aggregate[last by site, n except tags](r)",
    "means": "aggregate[avg by site except u, at, tags, c](r)",
    "ran": "running[delta(n resets) as d1, sum(x) as total, lag(h) as before, count(g) as m per site on n](r)",
    "weeks": "aggregate[count() as m, max(h) as h by w](window[7 days every 1 day on at as w](select[n < 5](r)))",
    "months": "aggregate[count() as m, max(h) as h by begun, ended]"
    '(window[1 month on at zone "America/St_Johns" starting "00:30" as [begun, ended]](r))',
    "visits": "session[3 on n per site as since](r)",
    "kinds": "distinct(project[site, k, h, n](r))",
    "first": "distinct[site, k](r)",
    "rest": "project[site, k, h](r) minus project[site, k, h](select[n > 1](r))",
    "both": "project[site, k, h](r) intersect all project[site, k, h](select[n > 1](r))",
    "twice": "project[site, k, h, n](r) union project[site, k, h, n](select[d < 0](r))",
    "met": "project[site, k, h, n, c](r) left join rename[h as h2, x as x2](project[k, h, x](select[n < 5](r))) on k",
    "alone": "r anti join select[d > 1](project[k, d](r)) on k",
    "best": "top[3 by h desc, n per site](r)",
    "tagged": "aggregate[count() as m, sum(x) as x by tag](unnest[tags as tag](r))",
    "sums": "extend[h * 2 as h2, coalesce(k, 0) as k2, p + q as pq](r)",
}


def query_of(rng: Random) -> str:
    """The stream, its tuples, and some relations of them."""
    names = rng.sample([*RELATIONS], 3)
    lines = "".join(f'{name} := {RELATIONS[name]};\nemit {name} to json "{name}";\n' for name in names)
    return f'{STREAM}emit r to json "r";\n{lines}'


@define
class Reading:
    """A query that reads what a sender writes, item by item. `parts`: the texts of the query, each with what it reads;
    `meant`: the canonical tuples that it accepts; `stated`: the statements that can be taken back, by the numbers of
    the sender."""

    text: str
    reference: Reference
    stated: dict[int, str]
    parts: list[tuple[str, list[Item]]] = field(init=False)
    meant: list[Item] = field(factory=list[Item])
    rejected: list[str] = field(factory=list[str])
    written: defaultdict[str, list[Item]] = field(factory=lambda: defaultdict(list))
    passed: defaultdict[str, list[Item]] = field(factory=lambda: defaultdict(list))

    def __attrs_post_init__(self) -> None:
        self.parts = [(self.text, [])]

    def step(self, item: Item) -> list[str]:
        """Reads an item; returns the codes that it is set aside with."""
        before = len(self.reference.rejected)
        line = by_names(parse_line(json_text(item)), self.reference.plan.source_of["r"].paths)
        for outputs in self.reference.step([("r", line)]):
            for name, output in outputs.items():
                self.passed[name] += map(dict, output.canonical)
                self.written[name] += output.items()
        self.parts[-1][1].append(item)
        codes = [code for _, code, _ in self.reference.rejected[before:]]
        self.rejected += codes
        return codes

    def take(self, sent: Item, canonical: Item) -> list[str]:
        """Reads a tuple; returns the codes that it is set aside with."""
        codes = self.step(sent)
        assert "RQ301" not in codes, (self.reference.reasons, sent)  # its values are as they have to be
        self.meant += [] if codes else [canonical]
        return codes

    def edit(self, text: str) -> Changes | None:
        """Goes on with other statements; returns `None` if the query cannot."""
        changes, reference = edited(self.reference, text)
        if changes.effect != "continues":
            return None
        self.text, self.reference = text, reference
        self.parts.append((self.text, []))
        return changes

    def take_back(self, rng: Random, sender: Sender) -> None:
        """Takes a statement away, if an accent undoes it."""
        number = rng.choice([*self.stated])
        text = self.stated[number]
        try:
            changes = self.edit(self.text.replace(f"accent r {text};\n", "", 1))
        except DiagnosticError:  # the statements that are left are none of a query that starts anew
            return
        if changes is not None:
            del self.stated[number]
            (why,) = (item.why for item in changes.items if item.what.endswith("is gone"))
            sender.take_back(number, why.partition(" holds ")[0])

    def accent(self, text: str, *, is_stated: bool) -> bool:
        """Reads an accent; returns False if an operator cannot go on (G13, G15), or if the accent cannot be the last of
        the statements of a query that starts anew."""
        try:
            if not is_stated:
                return self.step({"$accent": text}) == []
            return self.edit(f"{self.text}accent r {text};\n") is not None
        except DiagnosticError as error:
            if error.diagnostics[0].code != "RQ209":
                if not is_stated:
                    raise
                with pytest.raises(DiagnosticError):
                    Reference(compile_query(f"{self.text}accent r {text};\n").plan)
            return False

    def check(self, accents: str) -> None:
        """Compares the passed tuples and their relations with the intended ones; outputs mean the same, and are
        valid."""
        assert bag(compared(self.passed["r"])) == bag(compared(self.meant)), accents
        relations = evaluate_plan(self.reference.plan, {"r": self.passed["r"]})
        for emit in self.reference.plan.emits:
            name, start = emit.name, self.reference.plan.start[emit.relation]
            context = f"{name}\n{self.text}{accents}"
            rows = bag(compared(self.passed[name]))
            assert rows == bag(compared(relations[emit.relation])), context
            assert rows == bag(compared(decoded(self.written[name]))), context
            initial = first_attributes(start)
            assert list(complaints(self.written[name], initial)) == [], context


def decoded(output: list[Item]) -> list[Item]:
    decoder = Decoder(units=UNITS)
    return [row for item in output if (row := decoder.feed(item)) is not None]


def stating(rng: Random, sender: Sender) -> Reading:
    """Returns a query that states the first accents of a sender."""
    query, statements, stated = query_of(rng), "", dict[int, str]()
    plan = compile_query(query).plan
    for _ in range(rng.choice([0, 0, 1, 2])):
        before = list(sender.texts), list(sender.accents)
        if (text := sender.accent(rng)) is None:
            continue
        try:
            with_text = f"{statements}accent r {text};\n"
            with_accent = compile_query(query + with_text).plan
            Reference(with_accent)
            plan, statements = with_accent, with_text
            stated |= sender.undoable(len(before[1]), text)
        except DiagnosticError as error:  # an operator cannot go on (G13, G15)
            if error.diagnostics[0].code != "RQ209":
                raise
            sender.texts, sender.accents = before
    return Reading(query + statements, Reference(plan), stated)


def compared(rows: list[Item]) -> list[Item]:
    """Rows whose doubles have five digits after the point; all else is exact."""
    return [
        {
            **short,
            **{n: _exact(v) for n, v in row.items() if n == "c" or isinstance(v, str | datetime | list)},
        }
        for row, short in zip(rows, plain(rows, 5), strict=True)
    ]


def _exact(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else key(value)


def read_changes(seed: int) -> Reading:
    rng, sender = Random(seed), Sender()
    reading = stating(rng, sender)
    for sent, canonical, _ in tuples(rng, sender):
        reading.take(sent, canonical)
    for _ in range(12):
        if rng.random() < 0.15:
            reading.step({"$punctuation": sender.punctuation(rng)})
        number = len(sender.accents)
        if (text := sender.accent(rng)) is None:
            continue
        is_stated = rng.random() < 0.15
        if not reading.accent(text, is_stated=is_stated):
            break
        reading.stated |= sender.undoable(number, text) if is_stated else {}
        if reading.stated and rng.random() < 0.2:
            reading.take_back(rng, sender)
        for sent, canonical, is_closed in tuples(rng, sender):
            codes = reading.take(sent, canonical)
            if set(codes) <= {"RQ305"}:  # otherwise it is wrong, and no one needs to know more
                assert is_closed == bool(codes), (sender, sent)
    reading.step({"$punctuation": "[]"})
    reading.check("\n".join(sender.texts))
    return reading


def check_changes(seed: int) -> Counter[str]:
    reading = read_changes(seed)
    return Counter(reading.rejected) + Counter(tuples=len(reading.meant))


def check_on_engine(spark: SparkSession, root: Path, seed: int) -> None:
    """An engine gives the same tuples and sets the same lines aside, however the stream is cut into files and runs."""
    reading, rng = read_changes(seed), Random(seed)
    run = Query(spark, root, reading.text, yes=True)
    batch = 0
    for text, items in reading.parts:
        run.query = text
        half = rng.randint(0, len(items))
        for part in filter(None, (items[:half], items[half:])):
            run.write_parts("r", [json_text(item) for item in part], rng.randint(1, 3))
            run.go_on(run.executor(rng.choice([1, None])), batch)
            batch += 1
    context = [(text, [json_text(item) for item in items]) for text, items in reading.parts]
    for name, rows in reading.passed.items():
        assert bag(compared(decoded(run.output(name)))) == bag(compared(rows)), (name, context)
    assert Counter(rejection.code for rejection in run.rejections()) == Counter(reading.rejected), context


@pytest.mark.parametrize("seeds", tiered([range(6), range(6, 12)]), ids=str)
def test_a_query_reads_what_a_sender_has_meant(seeds: Sequence[int]) -> None:
    """Hardly a tuple is set aside: by an old name, or a value that a recode has taken the code of."""
    counts = sum((check_changes(seed) for seed in seeds), Counter[str]())
    assert counts.pop("tuples") > 70
    assert counts.pop("RQ305") > 4
    assert counts.total() < 10


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
def test_a_query_reads_what_a_sender_has_meant_in_many_cases(seed: int) -> None:
    check_changes(seed)


@pytest.mark.rest
@pytest.mark.either_engine
@pytest.mark.parametrize("seed", range(1))
def test_an_engine_reads_what_a_sender_has_meant(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_on_engine(spark, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(100))
def test_an_engine_reads_what_a_sender_has_meant_in_many_cases(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_on_engine(spark, tmp_path, seed)
