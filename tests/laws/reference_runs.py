"""Random plans and streams run by the reference, and the laws O1 to O5 that every run keeps (theory 3.5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from attrs import frozen

from cedilla.compiler import compile_query, regions
from cedilla.compiler.expressions.types import DOUBLE
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Aggregate
from cedilla.compiler.operators.running import Running
from cedilla.compiler.plan import Plan
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.runtime.connectors.records.json_objects import json_text, parse_line
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.plain.scalars.arithmetic import double
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.stream import Decoder, Item, complaints
from tests.laws.edges import CENTS, is_odd, key, read
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import ALL, NAMES, World, canonical, stream, world

Items = list[tuple[str, Item]]
Outputs = dict[str, list[Item]]
"""Folder of an output -> its items."""


TABLE: Items = [*(("d", dict(row)) for row in NAMES), ("d", {"$punctuation": "[]"})]


@frozen
class Ran:
    """The result of a run: the output stream, its canonical tuples before encoding, the reference after it, and the
    facts of all relations after each step, by the number of items so far."""

    output: list[Item]
    passed: list[dict[str, Any]]
    reference: Reference
    facts: Mapping[int, Mapping[str, Facts]]


def run(plan: Plan, steps: Sequence[Items], *, purge: bool = True) -> Ran:
    reference = Reference(plan, purge)
    (emit,) = plan.emits
    output: list[Item] = []
    passed: list[dict[str, Any]] = []
    facts: dict[int, Mapping[str, Facts]] = {}
    count = 0
    for step in [TABLE, *steps]:
        for outputs in reference.step(step):
            output += outputs[emit.name].items()
            passed += outputs[emit.name].canonical
        count += len(step)
        facts[count - len(TABLE)] = reference.after
    return Ran(output, passed, reference, facts)


def differently_closed(one: Mapping[str, Facts], other: Mapping[str, Facts]) -> list[str]:
    """The relations that do not close the same tuples at two instants."""
    return closed_early(one, other) + closed_early({name: other[name] for name in one}, one)


def closed_early(whole: Mapping[str, Facts], part: Mapping[str, Facts]) -> list[str]:
    """The relations that close in `part` what they do not in `whole`."""
    return [
        name
        for name, facts in whole.items()
        if not regions.is_empty(regions.difference(part[name].closed, facts.closed), facts.universe)
    ]


def accepted(plan: Plan, items: Items) -> Items:
    """The items without markers that some operator must refuse (S3, J2, ...) and without what follows from
    them: tuples that are defined where a refused Add would have made it so."""
    reference = Reference(plan)
    for item in TABLE:
        reference.step([item])
    return drive(reference, items, {})


def drive(reference: Reference, items: Items, outputs: Outputs) -> Items:
    """The items that are neither refused, as some markers by some operators, nor set aside; `outputs` gets what the
    outputs say."""
    kept: Items = []
    for item in items:
        before = len(reference.rejected)
        try:
            steps = reference.step([item])
        except DiagnosticError:
            continue
        for step in steps:
            for emit in reference.plan.emits:
                outputs.setdefault(emit.path, []).extend(step[emit.name].items())
        if len(reference.rejected) == before:
            kept.append(item)
    return kept


def cut(rng: Random, items: Items) -> list[Items]:
    """The items in steps, at random."""
    bounds = sorted(rng.sample(range(1, len(items)), min(len(items) - 1, rng.randint(0, 5))))
    return [items[a:b] for a, b in zip([0, *bounds], [*bounds, len(items)], strict=True)]


def plain(value: Any, *, odd: bool = False, exact: bool = False) -> Any:
    """A value that equals its like: exactly if `exact`, else up to the last digits, whole numbers of many digits and
    decimals exactly, but not of the `odd`."""
    if isinstance(value, list | tuple):
        return tuple(plain(element, odd=odd, exact=exact) for element in value)
    if odd and not isinstance(value, bool):
        return f"{double(value) + 0.0:.10g}"
    if isinstance(value, str):
        return key(value)
    if isinstance(value, bool | datetime):
        return value
    if isinstance(value, date):
        return key(value.isoformat())
    if exact or not math.isfinite(value):
        return key(value)
    is_double = isinstance(value, Decimal) and len(value.as_tuple().digits) <= 17
    exactly = Fraction(float(value) if is_double else value)
    return exactly if abs(exactly) > 2**40 else round(float(value), 9) + 0.0


def bag(rows: Sequence[dict[str, Any]], exact: Collection[str] = ()) -> Counter[Any]:
    """The rows with how often each comes; `exact`: attributes that have no tolerance."""
    return Counter(
        frozenset((n, plain(v, odd=is_odd(n), exact=n in exact)) for n, v in row.items() if v is not None)
        for row in rows
    )


def exact_names(made: World, items: Items) -> frozenset[str]:
    """The attributes of the output that are exact: neither doubles, nor altered into such (theory N12)."""
    (emit,) = made.plan.emits
    accents = [str(item.get("$accent", "")) for _, item in items]
    altered = {n for n in made.extra if n != CENTS and any(f"alter({n}," in accent for accent in accents)}
    types = made.plan.start[emit.relation].types
    return frozenset(
        n for n, t in types.items() if (t.element or t) != DOUBLE and n.split("_")[0] not in altered
    )


def decoded(output: Sequence[Item]) -> list[Item]:
    """The canonical tuples of an output of values that `edges.read` compares."""
    decoder = Decoder(read)
    return [row for item in output if (row := decoder.feed(item)) is not None]


def listed(facts: Facts, name: str) -> str:
    """The domain of an attribute that takes one of a list of values, as it is declared."""
    members = facts.universe.get(name, regions.ANYTHING).members
    if not isinstance(members, regions.Level) or any(members.pieces) or facts.types[name].name == "boolean":
        return ""
    inside = sorted(value for value, hit in members.points.items() if hit)
    return f" in {{{', '.join(map(facts.types[name].wire, inside))}}}" if inside else ""


def readable(plan: Plan, output: Sequence[Item], context: str, exact: Collection[str] = ()) -> None:
    """An output, as text, is a valid stream by the schema that it has been declared with, and means the same to a
    query that reads it."""
    (emit,) = plan.emits
    facts = plan.start[emit.relation]
    if not facts.types or any(t.element is not None for t in facts.types.values()):
        return  # no stream can declare an array (RQ208)
    # A result may be undefined: a mean of nothing, or the value before the first.
    computed = any(isinstance(operator, Aggregate | Running) for operator in plan.operators)
    certain = [n for n in facts.types if n in ("k", "ts", "v") or n.startswith("w")]  # and window numbers
    required = [n for n in certain if not (computed or facts.may_be_undefined(n))]
    attributes = ", ".join(
        f"{n}{'' if n in required else '?'}: {t}{listed(facts, n)}" for n, t in facts.types.items()
    )
    text = [json_text(item) for item in output]
    diagnostics: list[Diagnostic] = []
    validate(
        (Line(line, str(n)) for n, line in enumerate(text)), declared_schema(attributes), diagnostics.append
    )
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    # The schema takes results for optional if an attribute of the output is added that no stream declares.
    told_apart = facts.lacking or plan.settings["drift"] == "infer"
    told_apart = told_apart or any(
        part in item.get("$accent", "") for item in output for part in (" in [,]", "q <= ", "q > ")
    )
    if told_apart and errors and errors[0].code == "RQ205":
        return  # no description can say that an attribute is undefined (docs/limits.md)
    if errors and errors[0].code == "RQ467":
        return  # an Add of what is closed comes again, and has told others apart (docs/markers.md, G32)
    assert errors == [], f"{errors[:1]}\n{context}"
    again = compile_query(f"stream o({attributes}) from json 'o'; emit o to json 'again';").plan
    reference = Reference(again)
    second: list[Item] = []
    for line in text:
        for outputs in reference.step([("o", parse_line(line))]):
            second += outputs["o"].items()
    assert reference.rejected == [], context
    assert bag(decoded(second), exact) == bag(decoded(output), exact), context


def first_attributes(start: Facts) -> set[str]:
    """Returns the attributes that an output has from its start, by its facts then."""
    return {name for name in start.types if start.may_have(name) is not False}


def said_gone(output: list[Item]) -> set[str]:
    """The attributes that an output has dropped somewhere."""
    accents = (parse_accent(item["$accent"]).primitive for item in output if "$accent" in item)
    return {accent.name for accent in accents if isinstance(accent, syntax.DropAttribute)}


def without(names: Collection[str], rows: Iterable[Item]) -> list[dict[str, Any]]:
    """The rows without some attributes."""
    return [{n: v for n, v in row.items() if n not in names} for row in rows]


def described(world: World, items: Items) -> str:
    return world.text + "\n" + "\n".join(f"{source} {item}" for source, item in items)


def check(rng: Random, size: int, length: int, kinds: tuple[str, ...] = ALL, edges: int = 0) -> None:
    made = world(rng, size, kinds, edges)
    keep_the_laws(rng, made, accepted(made.plan, stream(rng, length, made.extra)))


def keep_the_laws(rng: Random, made: World, items: Items) -> None:
    """O1 to O5 of a world and a stream of which nothing is refused."""
    context = described(made, items)
    whole = run(made.plan, [[item] for item in items])
    assert whole.reference.rejected == [], context
    emit = made.plan.emits[0]
    exact = exact_names(made, items)
    expected = bag(evaluate_plan(made.plan, canonical(items))[emit.relation], exact)
    assert bag(whole.passed, exact) == expected, context  # element at a time, before encoding
    assert bag(decoded(whole.output), exact) == expected, context  # Figure 3: decode(out) = op(decode(in))
    initial = first_attributes(made.plan.start[emit.relation])
    assert list(complaints(whole.output, initial, read)) == [], context  # O2
    readable(made.plan, whole.output, context, exact)
    other = run(made.plan, cut(rng, items), purge=False)
    assert bag(decoded(other.output), exact) == expected, context  # O3 and O4
    assert list(complaints(other.output, initial, read)) == [], context
    for count, facts in other.facts.items():
        assert differently_closed(whole.facts[count], facts) == [], (
            f"after {count} items\n{context}"
        )  # D2, one answer
    for ran in (whole, other):
        waiting = [n for state in ran.reference.state_facts.values() for n in state.retained]
        assert waiting == [], context  # O5
    for name, node in whole.reference.nodes.items():
        assert list(node.stored()) == [], f"{name} still holds rows\n{context}"
