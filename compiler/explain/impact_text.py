"""Shows the impact of accents as text and as JSON: `explain --evolution`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from attrs import asdict

from cedilla.compiler.explain.analysis.growths import Growth, growth_json, growths
from cedilla.compiler.explain.analysis.reactions import OTHER, SIGNS
from cedilla.compiler.explain.impact import AccentImpact, Step, Verdict, impacts
from cedilla.compiler.explain.tuple_units import TupleUnits, tuple_units
from cedilla.compiler.explain.wrapping import WIDTH, laid_out, wrapped
from cedilla.compiler.operators.shared.base import KINDS
from cedilla.compiler.plan import Plan

_Row = tuple[str, str, str, str]
"""Accent, verdict, the attributes that it reaches or the code that ends the query, and the reason."""


def evolution_text(plan: Plan, width: int = WIDTH) -> str:
    """Returns a table per source; attributes with equal impacts share rows.

    Only a single longer word makes a line exceed `width`.
    """
    parts: list[str] = []
    more = {(g.source, g.attribute): [_growth(g)] for g in growths(plan)}
    for units in tuple_units(plan):
        more.setdefault((units.source, units.attribute), []).extend(_units(units))
    by_source: dict[str, dict[str, list[AccentImpact]]] = {}
    for impact in impacts(plan):
        by_source.setdefault(impact.source, {}).setdefault(impact.attribute, []).append(impact)
    for name, by_attribute in by_source.items():
        others = [attribute.name for attribute in plan.source_of[name].attributes]
        alike: dict[tuple[_Row, ...], list[str]] = {}
        for attribute, of_attribute in by_attribute.items():
            rows = (*_block(of_attribute, others), *more.get((name, attribute), ()))
            alike.setdefault(rows, []).append(attribute)
        parts.append("\n".join([name, *_lines(alike, width)]))
    signs = f"legend: {', '.join(f'{SIGNS[kind]} {kind.title()}' for kind in KINDS)}, {OTHER} a new attribute"
    signs += "; renames, recodes, swaps and missing values are undone at the source"
    return "\n\n".join([*parts, "\n".join(wrapped(signs, width, "  "))])


def accent_rows(plan: Plan, source: str, attribute: str) -> list[str]:
    """Returns a line for each accent on an attribute of a source: where it goes, waits, or ends the query."""
    others = [attribute_.name for attribute_ in plan.source_of[source].attributes]
    chosen = [impact for impact in impacts(plan, source) if impact.attribute == attribute]
    named = {sign: f"{sign} {kind.title()}" for kind, sign in SIGNS.items()}
    rows = [(label.strip(), *rest) for label, *rest in _block(chosen, others)]
    return [": ".join(filter(None, (named.get(label, label), *rest))) for label, *rest in rows]


def _lines(alike: Mapping[tuple[_Row, ...], list[str]], width: int) -> Iterator[str]:
    shown = iter(laid_out([row for rows in alike for row in rows], width, "    "))
    for rows, names in alike.items():
        yield from (f"  {line}" for line in wrapped(", ".join(names), width - 2, "  "))
        for lines in islice(shown, len(rows)):
            yield from lines


def _block(impacts: list[AccentImpact], others: list[str]) -> Iterator[_Row]:
    """Yields the rows of one attribute, without its name."""
    for impact in impacts:
        label = "  with an offset" if impact.offset else SIGNS[impact.kind]
        if impact.mentions:
            same = [f for f in impacts if f.kind is impact.kind and f.mentions]
            rest = len([name for name in others if name != impact.attribute])
            largest = max(same, key=lambda f: len(f.mentions))
            is_rest = (
                impact is largest and len(impact.mentions) > 1 and sum(len(f.mentions) for f in same) == rest
            )
            label = f"  described by {'any other' if is_rest else ', '.join(impact.mentions)}"
        yield from _rows(impact, label)


def _rows(impact: AccentImpact, label: str) -> Iterator[_Row]:
    if not impact.outcomes:
        verdict, _, why = (impact.why or "").partition(": ")
        yield label, verdict, impact.code or "", why
        return
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for outcome in impact.outcomes:
        names = ", ".join(name for name in outcome.attributes)
        reached = outcome.emit if names == impact.attribute else f"{outcome.emit}: {names}" if names else ""
        groups.setdefault((outcome.verdict, outcome.notes), []).append(reached or f"not {outcome.emit}")
    for number, ((verdict, notes), reached) in enumerate(groups.items()):
        is_plain = not impact.mentions and not impact.offset
        why = [impact.why] if impact.why is not None and is_plain and number == 0 else []
        yield label if number == 0 else "", verdict, ", ".join(reached), "; ".join([*why, *notes])


def _growth(growth: Growth) -> _Row:
    verdict = "accumulates" if growth.waits else "propagates"
    return "wider", verdict, "", "; ".join(growth.notes)


def _units(units: TupleUnits) -> Iterator[_Row]:
    """Yields rows on units that tuples name, and on the way to one unit for all tuples."""
    label = f"units by {units.named}"
    if units.announced:
        yield label, "propagates", ", ".join(units.announced), "Alters from the start on"
    places: dict[str, list[str]] = {}
    for emit, relation in units.absorbed:
        places.setdefault(relation, []).append(f"not {emit}")
    for number, (relation, emits) in enumerate(places.items()):
        stays = f"stays in {units.unit}" + (
            f", until unit({units.attribute}, ...) of all tuples" if relation else ""
        )
        why = f"{relation}: {stays}" if relation else stays
        yield "" if units.announced or number else label, "absorbed", ", ".join(emits), why


def evolution_json(plan: Plan) -> dict[str, Any]:
    """Returns the impacts, and the effects of wider domains, as plain JSON values."""
    return {
        "version": 1,
        "query": plan.name,
        "accents": [_json(impact) for impact in impacts(plan)],
        "domains": [growth_json(growth) for growth in growths(plan)],
        "units_by_tuple": [asdict(units) for units in tuple_units(plan)],
    }


def _json(impact: AccentImpact) -> dict[str, Any]:
    return {
        "source": impact.source,
        "attribute": impact.attribute,
        "primitive": impact.kind,
        "described_by": list(impact.mentions),
        **({"with_offset": True} if impact.offset else {}),
        "verdict": _verdict(impact),
        "code": impact.code,
        "reason": impact.why,
        "outputs": [
            {
                "emit": outcome.emit,
                "verdict": outcome.verdict,
                "attributes": list(outcome.attributes),
                "steps": [step_json(step) for step in outcome.steps],
            }
            for outcome in impact.outcomes
        ],
    }


def _verdict(impact: AccentImpact) -> str:
    if not impact.outcomes:
        return (impact.why or "").partition(":")[0]
    verdicts = {outcome.verdict for outcome in impact.outcomes}
    order: tuple[Verdict, ...] = ("accumulates", "coordinates", "propagates", "absorbed", "ignored")
    return next(verdict for verdict in order if verdict in verdicts)


def step_json(step: Step) -> dict[str, Any]:
    """Returns a step as plain JSON values."""
    return {
        "operator": step.operator.name,
        "line": step.operator.line,
        "input": step.input,
        "attribute": step.attribute,
        "kind": step.reaction.kind,
        "rule": step.reaction.rule,
        "passes": [] if step.reaction.kind == "aborts" else list(step.reaction.passes),
        "waits": step.waits,
        "held": step.held,
    }
