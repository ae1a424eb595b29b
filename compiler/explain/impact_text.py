"""Shows the impact of accents as text and as JSON: `explain --evolution`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from attrs import asdict, frozen

from cedilla.compiler.explain.analysis.growths import Growth, growth_json, growths
from cedilla.compiler.explain.analysis.reactions import OTHER, SIGNS
from cedilla.compiler.explain.impact import AccentImpact, Note, Outcome, Step, Verdict, impacts
from cedilla.compiler.explain.tuple_units import TupleUnits, tuple_units
from cedilla.compiler.explain.wrapping import WIDTH, laid_out, wrapped
from cedilla.compiler.operators.shared.base import KINDS, Kind
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics.printable import counted

_Row = tuple[str, str, str, str]
"""Accent, verdict, the attributes that it reaches or the code that ends the query, and the reason."""


def evolution_text(plan: Plan, width: int = WIDTH) -> str:
    """Returns the changes that end the query, and a table per source, the gravest first; attributes with equal impacts
    share rows.

    Only a single longer word makes a line exceed `width`.
    """
    parts: list[str] = []
    more = {(g.source, g.attribute): [_growth(g)] for g in growths(plan)}
    for units in tuple_units(plan):
        more.setdefault((units.source, units.attribute), []).extend(_units(units))
    by_source: dict[str, dict[str, list[AccentImpact]]] = {}
    every = [*impacts(plan)]
    parts += [_ending(every)]
    for impact in every:
        by_source.setdefault(impact.source, {}).setdefault(impact.attribute, []).append(impact)
    for name, by_attribute in by_source.items():
        others = [attribute.name for attribute in plan.source_of[name].attributes]
        alike: dict[tuple[_Row, ...], list[str]] = {}
        for attribute, of_attribute in by_attribute.items():
            rows = _by_severity((*_block(of_attribute, others), *more.get((name, attribute), ())))
            alike.setdefault(rows, []).append(attribute)
        gravest_first = dict(sorted(alike.items(), key=lambda item: _severity(item[0][0])))
        parts.append("\n".join([name, *_lines(gravest_first, width)]))
    signs = f"legend: {', '.join(f'{SIGNS[kind]} {kind.title()}' for kind in KINDS)}, {OTHER} a new attribute"
    signs += (
        "; renames, recodes, swaps and missing values are undone at the source; a rule of the theory, as J3, "
    )
    signs += "is in `cedilla docs rules`; a described accent has the remarks of its plain one, too"
    head, *tables = parts
    texts = ("\n".join(wrapped(text, width, "  ")) for text in (head, signs))
    return "\n\n".join([next(texts), *tables, next(texts)])


_SEVERITIES = (
    "aborts",
    "accumulates",
    "coordinates",
    "propagates",
    "absorbed",
    "ignored",
    "refused",
    "cannot come",
)
"""Verdicts; those that concern an operator of a run most come first."""
_DOING: dict[Kind, str] = {"add": "adding", "drop": "dropping", "alter": "altering"}


def _severity(row: _Row) -> int:
    return _SEVERITIES.index(row[1]) if row[1] in _SEVERITIES else len(_SEVERITIES)


def _by_severity(rows: Iterable[_Row]) -> tuple[_Row, ...]:
    """Sorts rows by their verdicts. A row without an accent belongs to the one before it."""
    groups: list[list[_Row]] = []
    for row in rows:
        if row[0] or not groups:
            groups.append([])
        groups[-1].append(row)
    return tuple(row for group in sorted(groups, key=lambda group: _severity(group[0])) for row in group)


def _ending(every: Iterable[AccentImpact]) -> str:
    """Returns the plain changes that end the query, in words."""
    ending: dict[Kind, list[str]] = {}
    for impact in every:
        if not impact.mentions and not impact.offset and (impact.why or "").startswith("aborts"):
            ending.setdefault(impact.kind, []).append(f"{impact.source}.{impact.attribute}")
    count = sum(map(len, ending.values()))
    if not count:
        return "no plain change ends this query"
    texts = (f"{_DOING[kind]} {', '.join(names)}" for kind, names in ending.items())
    return f"{counted(count, 'change')} would end this query: {'; '.join(texts)}"


def accent_rows(plan: Plan, source: str, attribute: str) -> list[str]:
    """Returns a line for each accent on an attribute of a source: where it goes, waits, or ends the query."""
    others = [attribute_.name for attribute_ in plan.source_of[source].attributes]
    chosen = [impact for impact in impacts(plan, source) if impact.attribute == attribute]
    named = {sign: f"{sign} {kind.title()}" for kind, sign in SIGNS.items()}
    rows = _block(chosen, others)
    return [": ".join(filter(None, (named.get(label, label), *rest))) for label, *rest in rows]


def _lines(alike: Mapping[tuple[_Row, ...], list[str]], width: int) -> Iterator[str]:
    shown = iter(laid_out([row for rows in alike for row in rows], width, "    "))
    for rows, names in alike.items():
        yield from (f"  {line}" for line in wrapped(", ".join(names), width - 2, "  "))
        for lines in islice(shown, len(rows)):
            yield from lines


@frozen
class _Group:
    """The outputs that an accent reaches in one way, with the remarks on that."""

    verdict: str
    reached: tuple[str, ...]
    why: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def without_rules(self) -> object:
        """A value that is equal for groups with one text, apart from rules."""
        return self.verdict, self.reached, self.why, [(note.remark, note.operator) for note in self.notes]

    def text(self, others: Iterable[_Group]) -> str:
        """Returns the remarks, each once with all of its operators and rules, also those of `others`."""
        places: dict[str, dict[str, list[str]]] = {}
        for note in (note for group in (self, *others) for note in group.notes):
            rules = places.setdefault(note.remark, {}).setdefault(note.operator, [])
            rules += [note.rule] if note.rule and note.rule not in rules else []
        remarks = (
            f"{remark}: {_with_rules(of, ', ')}" if remark else _with_rules(of, "; ")
            for remark, of in places.items()
        )
        return "; ".join([*self.why, *remarks])


def _with_rules(operators: Mapping[str, list[str]], separator: str) -> str:
    texts = (f"{name} ({', '.join(rules)})" if rules else name for name, rules in operators.items())
    return separator.join(texts)


def _block(impacts: list[AccentImpact], others: list[str]) -> Iterator[_Row]:
    """Yields the rows of one attribute: plain accents, then described ones with what those lack.

    Described accents of several kinds with one effect share rows.
    """
    plain = {impact.kind: impact for impact in reversed(impacts) if not impact.mentions}
    alike: list[tuple[str, list[Kind], list[list[_Group]]]] = []
    for impact in impacts:
        before = plain[impact.kind]
        if not impact.mentions:
            label = f"{SIGNS[impact.kind]} with an offset" if impact.offset else SIGNS[impact.kind]
            yield from _rows(label, [_groups(impact, [])]) if impact.outcomes else [_ended(impact, label)]
            continue
        label = f"described by {_described(impact, impacts, others)}"
        if not impact.outcomes:
            yield _ended(impact, f"{SIGNS[impact.kind]} {label}")
            continue
        groups = _groups(impact, before.outcomes)
        for same, kinds, gathered in alike:
            if same == label and _comparable(gathered[0]) == _comparable(groups):
                kinds.append(impact.kind)
                gathered.append(groups)
                break
        else:
            alike.append((label, [impact.kind], [groups]))
    for label, kinds, gathered in alike:
        yield from _rows(f"{' '.join(SIGNS[kind] for kind in kinds)} {label}", gathered)


def _comparable(groups: list[_Group]) -> list[object]:
    return [group.without_rules for group in groups]


def _described(impact: AccentImpact, impacts: list[AccentImpact], others: list[str]) -> str:
    """Writes the attributes that describe an accent; most of them are `any other`."""
    same = [f for f in impacts if f.kind is impact.kind and f.mentions]
    rest = len([name for name in others if name != impact.attribute])
    largest = max(same, key=lambda f: len(f.mentions))
    is_rest = impact is largest and len(impact.mentions) > 1 and sum(len(f.mentions) for f in same) == rest
    return "any other" if is_rest else ", ".join(impact.mentions)


def _ended(impact: AccentImpact, label: str) -> _Row:
    verdict, _, why = (impact.why or "").partition(": ")
    return label, verdict, impact.code or "", why


def _groups(impact: AccentImpact, before: Iterable[Outcome]) -> list[_Group]:
    """Returns the outcomes of an accent; without the remarks that those `before` have."""
    plain = {(outcome.emit, note) for outcome in before for note in outcome.notes}
    groups: dict[tuple[str, tuple[Note, ...]], list[str]] = {}
    for outcome in impact.outcomes:
        notes = tuple(note for note in outcome.notes if (outcome.emit, note) not in plain)
        names = ", ".join(name for name in outcome.attributes)
        reached = outcome.emit if names == impact.attribute else f"{outcome.emit}: {names}" if names else ""
        groups.setdefault((outcome.verdict, notes), []).append(reached or f"not in {outcome.emit}")
    is_plain = not impact.mentions and not impact.offset
    why = (impact.why,) if impact.why is not None and is_plain else ()
    return [
        _Group(verdict, tuple(reached), why if number == 0 else (), notes)
        for number, ((verdict, notes), reached) in enumerate(groups.items())
    ]


def _rows(label: str, gathered: list[list[_Group]]) -> Iterator[_Row]:
    """Yields the rows of accents that are alike, apart from rules."""
    first, *others = gathered
    for number, group in enumerate(first):
        text = group.text(groups[number] for groups in others)
        yield label if number == 0 else "", group.verdict, ", ".join(group.reached), text


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
        places.setdefault(relation, []).append(f"not in {emit}")
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
