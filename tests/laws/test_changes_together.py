"""Every kind of change in one stream: a query reads the tuples that a sender intended (theory 2.5, 2.7, N2 to N5, G32).

The sender is plain Python: it has canonical tuples, and writes each as the accents so far tell, one behind the other,
whatever their descriptions name. A Drop of what others are told apart by (RQ229) is left out: who writes tuples without
it may mean either.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from attrs import define, field
from pyspark.sql import SparkSession

from cedilla.compiler.compile import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.records.json_objects import json_text, parse_line
from cedilla.runtime.records.nested import by_names
from cedilla.runtime.reference.reference import Reference
from tests.kit.compare import bag, plain
from tests.kit.query import Query
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Decoder, Item
from tests.kit.tiers import tiered
from tests.laws.edges import key
from tests.laws.senders import SCHEMA, UNITS, Sender, tuples

QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit select[h > 10 degC](r) to json "warm";
emit project[site, h, x, n, c, d](r) to json "few";
"""
EMITS = ("r", "select", "project")


@define
class Reading:
    """A query that reads what a sender writes, item by item. `meant`: the canonical tuples that it accepts."""

    text: str
    reference: Reference
    items: list[Item] = field(factory=list[Item])
    meant: list[Item] = field(factory=list[Item])
    passed: dict[str, list[Item]] = field(factory=lambda: {name: [] for name in EMITS})
    decoded: dict[str, list[Item]] = field(factory=lambda: {name: [] for name in EMITS})
    _decoders: dict[str, Decoder] = field(factory=lambda: {name: Decoder(units=UNITS) for name in EMITS})

    def step(self, item: Item) -> None:
        line = by_names(parse_line(json_text(item)), self.reference.plan.source_of["r"].paths)
        for outputs in self.reference.step([("r", line)]):
            for name, decoder in self._decoders.items():
                self.passed[name] += map(dict, outputs[name].canonical)
                self.decoded[name] += [
                    row for item in outputs[name].items() if (row := decoder.feed(item)) is not None
                ]
        self.items.append(item)

    def take(self, sent: Item, canonical: Item) -> list[str]:
        """Reads a tuple; returns the codes that it is set aside with."""
        rejected = len(self.reference.rejected)
        self.step(sent)
        codes = [code for _, code, _ in self.reference.rejected[rejected:]]
        self.meant += [] if codes else [canonical]
        return codes


def stating(rng: Random, sender: Sender) -> Reading:
    """Returns a query that states the first accents of a sender."""
    plan, statements = compile_query(QUERY).plan, ""
    for _ in range(rng.choice([0, 0, 1, 2])):
        before = list(sender.texts), list(sender.accents)
        if (text := sender.accent(rng)) is None:
            continue
        try:
            with_text = f"{statements}accent r {text};\n"
            stated = compile_query(QUERY + with_text).plan
            Reference(stated)
            plan, statements = stated, with_text
        except DiagnosticError as error:  # an operator cannot go on (G13, G15), or only a stream may say it
            if error.diagnostics[0].code not in ("RQ209", "RQ339"):
                raise
            sender.texts, sender.accents = before
    return Reading(QUERY + statements, Reference(plan))


def compared(rows: list[Item]) -> list[Item]:
    """Rows whose doubles have five digits after the point; all else is exact."""
    exact = [{n: key(v) for n, v in row.items() if n in ("c", "at")} for row in rows]
    return [{**one, **other} for one, other in zip(plain(rows, 5), exact, strict=True)]


def read_changes(seed: int) -> Reading:
    rng, sender = Random(seed), Sender()
    reading = stating(rng, sender)
    for sent, canonical, _ in tuples(rng, sender):
        reading.take(sent, canonical)
    for _ in range(12):
        if rng.random() < 0.15:
            reading.step({"$punctuation": sender.punctuation(rng)})
        if (text := sender.accent(rng)) is None:
            continue
        try:
            reading.step({"$accent": text})
        except DiagnosticError as error:  # an operator cannot go on (G13, G15): the stream ends here
            if error.diagnostics[0].code != "RQ209":
                raise
            break
        for sent, canonical, is_closed in tuples(rng, sender):
            codes = reading.take(sent, canonical)
            if set(codes) <= {"RQ305"}:  # else it is not as it has to be, which nobody has to know more of
                assert is_closed == bool(codes), (sender, sent)
    context = "\n".join(sender.texts)
    assert bag(compared(reading.passed["r"])) == bag(compared(reading.meant)), context
    for name in EMITS:
        assert bag(compared(reading.decoded[name])) == bag(compared(reading.passed[name])), (name, context)
    return reading


def check_changes(seed: int) -> Counter[str]:
    reading = read_changes(seed)
    return Counter(code for _, code, _ in reading.reference.rejected) + Counter(tuples=len(reading.meant))


def check_on_engine(spark: SparkSession, root: Path, seed: int) -> None:
    """An engine gives the same tuples and sets the same lines aside, however the stream is cut into files."""
    reading, rng = read_changes(seed), Random(seed)
    run = Query(spark, root, reading.text)
    run.write_parts("r", [json_text(item) for item in reading.items], rng.randint(1, 4))
    run.process(files_per_epoch=rng.choice([1, None]))
    context = (reading.text, [json_text(item) for item in reading.items])
    for name in EMITS:
        decoder = Decoder(units=UNITS)
        rows = [row for item in run.output(name) if (row := decoder.feed(item)) is not None]
        assert bag(compared(rows)) == bag(compared(reading.passed[name])), (name, context)
    aside = Counter(code for _, code, _ in reading.reference.rejected)
    assert Counter(rejection.code for rejection in run.rejections()) == aside, context


def test_a_query_reads_what_a_sender_has_meant() -> None:
    """Hardly a tuple is set aside: by an old name, or a value that a recode has taken the code of."""
    counts = sum((check_changes(seed) for seed in range(25)), Counter[str]())
    assert counts.pop("tuples") > 300
    assert counts.pop("RQ305") > 20
    assert counts.total() < 20


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(1000))
def test_a_query_reads_what_a_sender_has_meant_in_many_cases(seed: int) -> None:
    check_changes(seed)


@pytest.mark.either_engine
@pytest.mark.parametrize("seed", tiered(range(4)))
def test_an_engine_reads_what_a_sender_has_meant(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_on_engine(spark, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(100))
def test_an_engine_reads_what_a_sender_has_meant_in_many_cases(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_on_engine(spark, tmp_path, seed)
