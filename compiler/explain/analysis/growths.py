"""Effects of a wider domain, attribute by attribute, without data (theory N1)."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.plan import Attribute, Plan, Source, derive, follow


@frozen
class Growth:
    """A wider domain of a source's attribute.

    `waits`: operators at which announcements for some values now wait for the new one, too. `lets_go`: joins
    that kept no rows for it, each with the input whose rows are missing. `table`: the table that the domain
    comes from. `is_read`: the query reads that table as a relation, too.
    """

    source: str
    attribute: str
    waits: tuple[str, ...]
    lets_go: tuple[tuple[str, str], ...]
    table: str | None = None
    is_read: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The effects as texts."""
        waits = [f"{', '.join(self.waits)}: what some have announced waits for it"] if self.waits else []
        comes = [f"by a new file of {self.table}"] if self.table else []
        stays = [f"as a relation {self.table} stays what it was at the start"] if self.is_read else []
        return (
            *comes,
            *waits,
            *(f"{join}: what came of {name} for it has to be sent again" for join, name in self.lets_go),
            *stays,
        )


def growths(plan: Plan) -> Iterator[Growth]:
    """Yields the attributes with a declared domain, source by source."""
    for source in plan.sources:
        for attribute in source.attributes:
            if attribute.domain is not None:
                table = None if attribute.column is None else attribute.column.table
                yield Growth(
                    source.name,
                    attribute.name,
                    tuple(_waits(plan, source, attribute.name)),
                    tuple(_let_go(plan, source, attribute)),
                    table,
                    table in plan.emitted,
                )


def growth_json(growth: Growth) -> dict[str, object]:
    """Returns a growth as plain JSON values."""
    return {
        "source": growth.source,
        "attribute": growth.attribute,
        "waits": list(growth.waits),
        "lets_go": [{"operator": join, "input": name} for join, name in growth.lets_go],
        "table": growth.table,
    }


def _waits(plan: Plan, source: Source, grown: str) -> Iterator[str]:
    """Yields the operators that fold the attribute away, where an Alter described by it waits for all its
    values.
    """
    visited: set[str] = set()
    for other in source.attributes:
        if other.name == grown or not other.type.is_numeric:
            continue
        for operator, reaction in follow(plan, source.name, "alter", other.name, frozenset({grown})):
            if reaction.kind == "accumulates" and operator.name not in visited:
                visited.add(operator.name)
                yield _label(operator.title, operator.name, operator.line)


def _let_go(plan: Plan, source: Source, attribute: Attribute) -> Iterator[tuple[str, str]]:
    """Yields the joins that keep only rows of an input that may meet a tuple of the domain.

    All domains that come from one table grow together.
    """
    narrow = {s.name: evolve(plan.start[s.name], closed=s.table) for s in plan.sources}
    wide = dict(narrow)
    together = (
        (s, a)
        for s in plan.sources
        for a in s.attributes
        if a.column is not None and a.column == attribute.column
    )
    for origin, twin in together if attribute.column is not None else [(source, attribute)]:
        narrow[origin.name] = _with_list(narrow[origin.name], twin)
        wide[origin.name] = _grown(wide[origin.name], twin.name)
    before, after = derive(plan, narrow), derive(plan, wide)
    for operator in plan.operators:
        inputs = [tuple(facts[name] for name in operator.inputs) for facts in (before, after)]
        for side, name in enumerate(operator.inputs):
            lost = regions.difference(operator.released(inputs[0])[side], operator.released(inputs[1])[side])
            if not regions.is_empty(lost, inputs[0][side].universe):
                yield _label(operator.title, operator.name, operator.line), name


def _with_list(facts: Facts, attribute: Attribute) -> Facts:
    """Gives an attribute with a table's domain one sample value, as if the table had been read."""
    if attribute.column is None:
        return facts
    domain = facts.universe[attribute.name]
    sampled = evolve(attribute, domain=sample(attribute.type)).domain_members()
    return evolve(facts, universe={**facts.universe, attribute.name: evolve(domain, members=sampled)})


def _grown(facts: Facts, name: str) -> Facts:
    """Gives an attribute any value as its domain."""
    domain = facts.universe[name]
    anything = regions.union(domain.members, regions.defined(name))
    return evolve(facts, universe={**facts.universe, name: evolve(domain, members=anything)})


def _label(title: str, name: str, line: int) -> str:
    return f"{title} {name} (line {line})" if line else f"{title} {name}"


_SAMPLES = {
    "string": '""',
    "version": '"1"',
    "boolean": "true",
    "timestamp": '"2000-01-01"',
    "date": '"2000-01-01"',
}


def sample(type_: Type) -> str:
    """Returns a domain of one value of a type, as text."""
    return "{" + _SAMPLES.get(type_.name, "0") + "}"
