"""The plans that a checkpoint was run with, as its `plan.json` holds them: enough to compare an edited query."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler import operators
from cedilla.compiler.operators import Operator
from cedilla.compiler.passes import plan_query
from cedilla.compiler.plan import Emit, Heartbeat, Plan
from cedilla.grammar.parser import parse_query
from cedilla.runtime.storage.written import unreadable

PLAN = "plan.json"
_VERSION = 4


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Raise `DiagnosticError` RQ411 for what is wrong with the texts of a checkpoint."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
        reason = f"`{problem.args[0]}` is missing" if isinstance(problem, KeyError) else str(problem)
        raise unreadable(path, reason) from None


def check_version(data: Mapping[str, Any], version: int) -> None:
    """Raises `ValueError` if another version of Cedilla wrote a document of a checkpoint."""
    if data["version"] != version:
        raise ValueError(f"its form is number {data['version']}, and this version of Cedilla reads {version}")


@frozen
class StoredPlan:
    """A plan and its first epoch."""

    since: int
    plan: Plan

    def is_of(self, plan: Plan) -> bool:
        """Returns True if a plan equals this one in all that a checkpoint records."""
        return _dump(evolve(self, plan=plan)) == _dump(self)


@frozen
class StoredPlans:
    """What `plan.json` holds: the plans, oldest first, and the streams in the order of the first, which Spark's
    own record of what is read goes by."""

    plans: tuple[StoredPlan, ...] = field(converter=tuple)
    streams: tuple[str, ...] = field(converter=tuple)

    @classmethod
    def start(cls, plan: Plan) -> StoredPlans:
        return cls([StoredPlan(0, plan)], [s.name for s in plan.sources if not s.table])

    @classmethod
    def load(cls, data: dict[str, Any]) -> StoredPlans:
        """Loads the plans from the JSON of `plan.json`."""
        check_version(data, _VERSION)
        return cls([_load(each) for each in data["plans"]], data["streams"])

    def dump(self) -> dict[str, Any]:
        """Returns the plans as JSON values."""
        return {
            "version": _VERSION,
            "streams": list(self.streams),
            "plans": [_dump(plan) for plan in self.plans],
        }

    def in_force(self, epoch: int) -> StoredPlan:
        """The plan that the record of an epoch was made with; a later one has not been committed."""
        return [plan for plan in self.plans if plan.since <= max(epoch, 0)][-1]

    def edited(self, stored: StoredPlan, plan: Plan, since: int) -> StoredPlans:
        """With a new plan after the one that is in force, or in its place if it counts from the same epoch."""
        older = [each for each in self.plans if each.since < min(since, stored.since + 1)]
        return evolve(self, plans=[*older, StoredPlan(since, plan)])


def _dump(stored: StoredPlan) -> dict[str, Any]:
    plan = stored.plan
    return {
        "since": stored.since,
        "plan": plan.describe(),
        "sources": [
            {
                "path": source.path,
                "punctuated": [list(scheme) for scheme in source.punctuated],
                "markers": source.markers,
                "metrics": list(source.metrics),
                "partitioned": source.partitioned,
                "by_name": source.by_name,
                "markers_only": source.markers_only,
                "accents": [accent.text for accent in source.accents],
                "heartbeat": source.heartbeat and [source.heartbeat.attribute, str(source.heartbeat.delay)],
            }
            for source in plan.sources
        ],
        "emits": [
            {
                "name": emit.name,
                "path": emit.path,
                "original_units": emit.original_units,
                "units": dict(emit.units),
            }
            for emit in plan.emits
        ],
        "settings": dict(plan.settings),
    }


def _load(data: dict[str, Any]) -> StoredPlan:
    plan = plan_of(data["plan"])
    sources = [
        evolve(
            source,
            path=more["path"],
            markers=more["markers"],
            metrics=tuple(more["metrics"]),
            partitioned=more["partitioned"],
            by_name=more["by_name"],
            markers_only=more["markers_only"],
            accents=more["accents"],
            punctuated=tuple(map(tuple, more["punctuated"])),
            heartbeat=more["heartbeat"] and Heartbeat(more["heartbeat"][0], Fraction(more["heartbeat"][1])),
        )
        for source, more in zip(plan.sources, data["sources"], strict=True)
    ]
    emits = [evolve(emit, **more) for emit, more in zip(plan.emits, data["emits"], strict=True)]
    return StoredPlan(data["since"], evolve(plan, sources=sources, emits=emits, settings=data["settings"]))


# --- the lines of `Plan.describe` ------------------------------------------------------------------------


def plan_of(described: list[str]) -> Plan:
    """The plan from the lines that describe it in a checkpoint (`Plan.describe`), without paths."""
    declared: list[str] = []
    names: list[str] = []
    built: list[Operator] = []
    emits: list[Emit] = []
    for line in described:
        word = line.split(" ", 1)[0]
        if word in ("stream", "table"):
            name = line.split(" ", 1)[1].split("(", 1)[0]
            # Paths are not part of it.
            folder = ' markers "_-"' if line.endswith(" markers") else ""
            declared.append(f'{line.removesuffix(" markers")} "-"{folder};')
            names.append(name)
        elif word == "emit":
            relation = line.split(" ")[1]
            taken = {emit.name for emit in emits}
            chosen = next(n for n in _names(relation) if n not in taken)
            emits.append(Emit(name=chosen, relation=relation, format=line.split(" ")[-1], path=chosen))
        else:
            built.append(_operator(line))
    # Together, for a domain may come from a table above it.
    query = "".join([*declared, *(f'emit {name} to json "{name}";' for name in names[:1])])
    sources = plan_query(parse_query(query)).plan.sources if names else ()
    return Plan(name="query", sources=sources, operators=built, emits=emits)


def _names(relation: str) -> Iterator[str]:
    """An output's name as the planner gives it: that of its relation, then with a number."""
    yield relation
    number = 2
    while True:
        yield f"{relation}_{number}"
        number += 1


def _operator(line: str) -> Operator:
    call = ast.parse(line, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"no operator: {line}")
    kind: Any = getattr(operators, call.func.id)
    if not (isinstance(kind, type) and issubclass(kind, Operator)):
        raise ValueError(f"no operator: {line}")
    return kind(**{str(k.arg): ast.literal_eval(k.value) for k in call.keywords})
