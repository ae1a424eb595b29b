"""The plans that a checkpoint was run with. `plan.json` holds the texts of queries with their paths and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan import Plan, at_paths
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.storage.written import unreadable

PLAN = "plan.json"
_VERSION = 5


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
        parts = ("sources", "operators", "emits", "settings")
        return all(getattr(plan, part) == getattr(self.plan, part) for part in parts)


@frozen
class StoredPlans:
    """The content of `plan.json`: the plans, oldest first, and the streams in the order that runs read them: those
    of the first plan, then those that edits have added."""

    plans: tuple[StoredPlan, ...] = field(converter=tuple)
    streams: tuple[str, ...] = field(converter=tuple)

    @classmethod
    def start(cls, plan: Plan) -> StoredPlans:
        return cls([StoredPlan(0, plan)], [s.name for s in plan.sources if not s.table])

    @classmethod
    def load(cls, data: dict[str, Any]) -> StoredPlans:
        """Loads the plans from the JSON of `plan.json`."""
        check_version(data, _VERSION)
        return cls([_load(plan) for plan in data["plans"]], data["streams"])

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
        older = [earlier for earlier in self.plans if earlier.since < min(since, stored.since + 1)]
        new = [s.name for s in plan.sources if not s.table and s.name not in self.streams]
        return evolve(self, plans=[*older, StoredPlan(since, plan)], streams=[*self.streams, *new])


def _dump(stored: StoredPlan) -> dict[str, Any]:
    plan = stored.plan
    return {
        "since": stored.since,
        "name": plan.name,
        "query": plan.text,
        "params": dict(plan.params),
        "sources": {
            **{source.name: source.path for source in plan.sources},
            **{f"{s.name}.markers": s.markers for s in plan.sources if s.markers is not None},
        },
        "sinks": {emit.name: emit.path for emit in plan.emits},
        "settings": dict(plan.settings),
    }


def _load(data: dict[str, Any]) -> StoredPlan:
    try:
        plan = compile_query(data["query"], f"{data['name']}.rq", data["params"]).plan
    except DiagnosticError as error:
        raise ValueError(
            f"this version of Cedilla does not compile its query: {error.diagnostics[0].message}"
        ) from None
    return StoredPlan(data["since"], at_paths(plan, data["sources"], data["sinks"], data["settings"]))
