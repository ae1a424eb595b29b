"""Random edits of random queries in the middle of random streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from attrs import evolve, field, frozen

from cedilla.compiler import Plan, compile_query
from cedilla.compiler.plan import Emit
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.edits.change import Changes
from tests.laws.reference_runs import TABLE, Items, Outputs, accepted, drive
from tests.laws.worlds import SOURCES, random_lines, stream
from tests.runtime.epochs.checkpoint.plan_edits import edited


@frozen
class RandomQuery:
    """The lines of a query, the relation of each output by its folder, and the keys of those that are updated."""

    lines: Sequence[str]
    outputs: Mapping[str, str]
    latest: Mapping[str, Sequence[str]] = field(factory=dict[str, Sequence[str]])

    @property
    def text(self) -> str:
        emits = (self._emit(folder, relation) for folder, relation in self.outputs.items())
        return f"{SOURCES}{''.join(self.lines)}{''.join(emits)}"

    def _emit(self, folder: str, relation: str) -> str:
        key = self.latest.get(folder)
        shown = "" if key is None else f" as latest by {', '.join(key)}"
        return f'emit {relation}{shown} to json "{folder}";\n'

    def updated(self, rng: Random) -> RandomQuery:
        """Returns the query with some of the outputs of groups updated, by their key."""
        query = self
        for folder, relation in self.outputs.items():
            if (by := _groups(self.lines, relation)) and rng.random() < 0.7:
                query = evolve(query, latest={**query.latest, folder: by})
        return query

    def compiled(self) -> Plan:
        """Returns the plan of the lines that outputs need; engines compute no others. Raises `DiagnosticError`."""
        plan = compile_query(self.text).plan
        needed = {name for emit in plan.emits for name in ancestors(plan, emit)}
        lines = [line for line, name in zip(self.lines, _names(self.lines), strict=True) if name in needed]
        return compile_query(evolve(self, lines=lines).text).plan


def _names(lines: Sequence[str]) -> list[str]:
    return [line.partition(" :=")[0] for line in lines]


def ancestors(plan: Plan, emit: Emit) -> set[str]:
    return {node.name for node in plan.ancestors(emit.relation)}


def _groups(lines: Sequence[str], name: str) -> tuple[str, ...]:
    """Returns the attributes that a relation is grouped by."""
    node = compile_query(RandomQuery(lines, {"out": name}).text).plan.operator_of[name]
    return node.grouped_by or ()


def _another_number(rng: Random, line: str) -> str:
    head, _, body = line.partition(" :=")
    numbers = list(re.finditer(r"(?<![\w.{])\d+(?![\w.])", body))
    if not numbers:
        return line
    number = rng.choice(numbers)
    other = int(number.group()) + rng.choice([1, 1, 2, -1])
    return f"{head} :={body[: number.start()]}{other}{body[number.end() :]}"


def _another_order(rng: Random, line: str) -> str:
    """The items of a projection, or the calls of an aggregate, in another order."""
    match = re.search(r"(?:project|aggregate|running)\[([^\[\]]*?)(?: by | per | on | except |\])", line)
    if match is None:
        return line
    items = re.split(r", (?![^()]*\))", match[1])
    rng.shuffle(items)
    return f"{line[: match.start(1)]}{', '.join(items)}{line[match.end(1) :]}"


def _edited_lines(rng: Random, lines: Sequence[str]) -> tuple[str, list[str]]:
    """An edit by its kind, and the lines after it."""
    kind = rng.choice(["number", "number", "operator", "order", "names", "more", "again"])
    at = rng.randrange(len(lines))
    after = [*lines]
    match kind:
        case "number":
            after[at] = _another_number(rng, lines[at])
        case "operator":
            after[at] = [*random_lines(rng, at + 1, lines[:at]), lines[at]][at]
        case "order":
            after = [_another_order(rng, line) for line in lines]
        case "names":
            after = [re.sub(r"\bq(\d+)\b", r"p\1", line) for line in lines]
        case "more":
            after = random_lines(rng, len(lines) + 1, lines)
        case _:
            after = random_lines(rng, len(lines)) or after
    return kind, after


def _places(query: RandomQuery) -> list[int]:
    return [_names(query.lines).index(relation) for relation in query.outputs.values()]


def _edited_query(rng: Random, query: RandomQuery) -> tuple[str, RandomQuery]:
    """Outputs stay in their folders, and are of the relations with the same places, or of others."""
    kind, lines = _edited_lines(rng, query.lines)
    names = _names(lines)
    outputs = {
        folder: rng.choice(names) if rng.random() < 0.2 else names[min(index, len(names) - 1)]
        for folder, index in zip(query.outputs, _places(query), strict=True)
    }
    if kind == "more":
        outputs["new"] = names[-1]
    return kind, RandomQuery(lines, outputs)


@frozen
class EditedRun:
    """A run before and after an edit. `before`, `after`: the items of each part that are neither refused nor late;
    `streams`: all that the outputs say; `early`: what they have said before the edit."""

    kind: str
    query: RandomQuery
    edited: RandomQuery
    plan: Plan
    new: Plan
    changes: Changes
    before: Items
    after: Items
    streams: Outputs
    early: Outputs

    @property
    def context(self) -> str:
        items = (f"{source} {item}" for source, item in [*self.before, ("", {}), *self.after])
        return "\n".join([self.kind, self.plan.text, self.new.text, *items, *map(str, self.changes.items)])

    @property
    def has_the_same_places(self) -> bool:
        """True if each output is of the relation with the same place."""
        return _places(self.query) == _places(self.edited)


def edited_run(seed: int) -> EditedRun | None:
    """Runs a random query on a random stream with a random edit in its middle; without a second part if the edit needs
    a new checkpoint. `None` if there is no such query."""
    rng = Random(seed)
    lines = random_lines(rng, rng.randint(1, 5))
    if not lines:
        return None
    names = _names(lines)
    outputs = {"out": names[-1]}
    if rng.random() < 0.5 and names[1:]:
        outputs["mid"] = rng.choice(names[:-1])
    updates = Random(seed)
    if grouped := [name for name in names if _groups(lines, name) and name not in outputs.values()]:
        outputs["groups"] = updates.choice(grouped)
    query = RandomQuery(lines, outputs)
    kind, other = _edited_query(rng, query)
    try:
        query, other = query.updated(updates), other.updated(updates)
        plan, new = query.compiled(), other.compiled()
    except DiagnosticError:
        return None
    items = accepted(plan, stream(rng, rng.randint(10, 50)))
    bound = rng.randint(1, len(items) - 1)
    streams: Outputs = {}
    reference = Reference(plan)
    drive(reference, [*TABLE, *items[:bound]], streams)
    early = {folder: [*items_so_far] for folder, items_so_far in streams.items()}
    changes, goes_on = edited(reference, new.text)
    after: Items = []
    if changes.effect != "new checkpoint":
        # Before any marker a step may have no effect.
        first = ("r", {"$punctuation": "[ts < -1000]"})
        after = drive(goes_on, [first, *items[bound:]], streams)[1:]
    return EditedRun(kind, query, other, plan, new, changes, items[:bound], after, streams, early)
