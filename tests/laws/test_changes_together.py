"""Every kind of change in one stream: a query reads the tuples that a sender intended (theory 2.5, 2.7, N2 to N5, G32).

The sender is plain Python: it has canonical tuples, and writes each as the accents so far tell, one behind the other,
whatever their descriptions name. A Drop of what others are told apart by (RQ229) is left out: who writes tuples without
it may mean either.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.records.json_objects import json_text, parse_line
from cedilla.runtime.records.nested import by_names
from cedilla.runtime.reference.reference import Reference
from tests.kit.compare import bag, plain
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Decoder, Item
from tests.laws.edges import key
from tests.laws.senders import SCHEMA, UNITS, Sender, tuples

QUERY = f"""
stream r({SCHEMA}) from json "r";
emit r to json "all";
emit select[h > 10 degC](r) to json "warm";
emit project[site, h, x, n, c, d](r) to json "few";
"""


def stating(rng: Random, sender: Sender) -> Plan:
    """Returns the plan of the query, which states the first accents of a sender."""
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
    return plan


def compared(rows: list[Item]) -> list[Item]:
    """Rows whose doubles have five digits after the point; all else is exact."""
    exact = [{n: key(v) for n, v in row.items() if n in ("c", "at")} for row in rows]
    return [{**one, **other} for one, other in zip(plain(rows, 5), exact, strict=True)]


def check_changes(seed: int) -> Counter[str]:
    rng, sender = Random(seed), Sender()
    reference = Reference(stating(rng, sender))
    decoders = {name: Decoder(units=UNITS) for name in ("r", "select", "project")}
    passed: dict[str, list[Item]] = {name: [] for name in decoders}
    decoded: dict[str, list[Item]] = {name: [] for name in decoders}
    meant: list[Item] = []

    def step(item: Item) -> None:
        line = by_names(parse_line(json_text(item)), reference.plan.source_of["r"].paths)
        for outputs in reference.step([("r", line)]):
            for name, decoder in decoders.items():
                passed[name] += map(dict, outputs[name].canonical)
                decoded[name] += [
                    row for each in outputs[name].items() if (row := decoder.feed(each)) is not None
                ]

    for sent, canonical, _ in tuples(rng, sender):
        rejected = len(reference.rejected)
        step(sent)
        if rejected == len(reference.rejected):
            meant.append(canonical)
    for _ in range(12):
        if rng.random() < 0.15:
            step({"$punctuation": sender.punctuation(rng)})
        if (text := sender.accent(rng)) is None:
            continue
        try:
            step({"$accent": text})
        except DiagnosticError as error:  # an operator cannot go on (G13, G15): the stream ends here
            if error.diagnostics[0].code != "RQ209":
                raise
            break
        for sent, canonical, is_closed in tuples(rng, sender):
            rejected = len(reference.rejected)
            step(sent)
            codes = [code for _, code, _ in reference.rejected[rejected:]]
            if set(codes) <= {"RQ305"}:  # else it is not as it has to be, which nobody has to know more of
                assert is_closed == bool(codes), (sender, sent)
            if not codes:
                meant.append(canonical)
    told = "\n".join(sender.texts)
    assert bag(compared(passed["r"])) == bag(compared(meant)), told
    for name in decoders:
        assert bag(compared(decoded[name])) == bag(compared(passed[name])), (name, told)
    return Counter(code for _, code, _ in reference.rejected) + Counter(tuples=len(meant))


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
