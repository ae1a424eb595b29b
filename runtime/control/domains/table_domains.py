"""Domains that come from tables: their values when a query starts, and their growth (theory N1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import StateFacts
from cedilla.compiler.plan import Attribute, Plan, Source, TableColumn
from cedilla.compiler.regions import Level, Tree, Value
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.runtime.control.domains.growth import check_codes, check_growth
from cedilla.runtime.control.sources.source_state import SourceState

MAX_VALUES = 10_000
"""Maximum number of values that a table may give to a domain; each commit record contains them."""

_MAX_SHOWN = 5

Values = Mapping[TableColumn, frozenset[Value]]
"""Values of attributes of tables, as the control plane represents them."""

Read = Callable[[Plan, Source, tuple[str, ...]], Mapping[str, frozenset[Value]]]
"""Reads the values of some attributes of a table. The result may be cut after `MAX_VALUES` + 1 values of each."""


def listed(plan: Plan) -> Iterator[tuple[Source, Attribute, TableColumn]]:
    """Yields each attribute whose domain comes from a table, with its source and the table's column."""
    for source in plan.sources:
        for attribute in source.attributes:
            if attribute.column is not None:
                yield source, attribute, attribute.column


def looked_up(plan: Plan, read: Read) -> tuple[Plan, Values]:
    """Returns the plan with the domains that its tables give, and their values. A table may itself have such a domain.

    Raises `DiagnosticError`: RQ416 if a table gives no value, RQ417 if it gives more than `MAX_VALUES`.
    """
    values: dict[TableColumn, frozenset[Value]] = {}
    for table in plan.sources:
        names = dict.fromkeys(c.attribute for *_, c in listed(plan) if c.table == table.name)
        if names:
            plan = with_values(plan, values)
            columns = read(plan, plan.source_of[table.name], tuple(names))
            for name in names:
                column = TableColumn(table.name, name)
                values[column] = _checked(plan, column, columns[name])
    return with_values(plan, values), values


def with_values(plan: Plan, values: Values) -> Plan:
    """Returns the plan with the domains whose values are given; other domains from tables remain open."""

    def known(attribute: Attribute) -> Attribute:
        members = None if attribute.column is None else values.get(attribute.column)
        return (
            attribute
            if members is None
            else evolve(attribute, members=regions.values(attribute.name, members))
        )

    if not values:
        return plan
    sources = (evolve(s, attributes=[known(a) for a in s.attributes]) for s in plan.sources)
    return evolve(plan, sources=tuple(sources))


def _checked(plan: Plan, column: TableColumn, members: frozenset[Value]) -> frozenset[Value]:
    table = plan.source_of[column.table]
    if not members:
        message = f"`{'.'.join(column)}` is a domain, and {table.path} has no value of it"
        hint = f"add a file with a row to `{table.name}`: a domain must have values before the first tuple"
        raise failure("RQ416", message, table.span, hint=hint)
    if len(members) > MAX_VALUES:
        message = (
            f"`{'.'.join(column)}` is a domain, and {table.path} has more than {MAX_VALUES:,} values of it"
        )
        hint = "declare no domain, and punctuate on the attribute; or take a coarser one"
        raise failure("RQ417", message, table.span, hint=hint)
    return members


def of_states(plan: Plan, states: Mapping[str, SourceState]) -> Plan:
    """Returns the plan with missing table domains filled in from the states of its sources."""

    def known(source: Source, attribute: Attribute) -> Attribute:
        state = states.get(source.name)
        if attribute.column is None or attribute.members is not None or state is None:
            return attribute
        return evolve(attribute, members=state.grown.get(attribute.name))

    sources = (evolve(s, attributes=[known(s, a) for a in s.attributes]) for s in plan.sources)
    return evolve(plan, sources=tuple(sources)) if any(listed(plan)) else plan


def is_longer(plan: Plan, states: Mapping[str, SourceState]) -> bool:
    """Returns True if a table has a value that is missing in the domain of a source's state."""
    return any(
        not regions.is_empty(
            regions.difference(attribute.domain_members(), states[source.name].domain(attribute)), {}
        )
        for source, attribute, _ in listed(plan)
        if source.name in states
    )


def grown(
    plan: Plan,
    states: Mapping[str, SourceState],
    values: Values,
    state_facts: Mapping[str, StateFacts],
) -> Mapping[str, SourceState]:
    """Returns the sources after adding new values of tables to their domains: all domains grow in one step.

    Called only at the beginning of an epoch. Raises `DiagnosticError`: RQ222 if an operator cannot continue, RQ466 if
    another value is written as a new one.
    """
    after, columns = dict(states), dict[TableColumn, None]()
    for source, attribute, column in listed(plan):
        state = after[source.name]
        new = regions.difference(_region(attribute, column, values), state.domain(attribute))
        if not regions.is_empty(new, {}):
            check_codes(state, attribute, new, f"the domain `{'.'.join(column)}` cannot grow", None)
            after[source.name] = state.with_values(attribute.name, new)
            columns[column] = None
    if not columns:
        return states
    named = ", ".join(f"`{'.'.join(column)}`" for column in columns)
    check_growth(plan, states, after, f"the domain {named} cannot grow", None, state_facts)
    return after


def gone(plan: Plan, states: Mapping[str, SourceState], values: Values) -> list[Diagnostic]:
    """Returns warnings RQ418 about values that remain in a domain after their table lost them: a domain never shrinks
    (G8)."""
    messages: dict[TableColumn, str] = {}
    for source, attribute, column in listed(plan):
        domain = states[source.name].grown.get(attribute.name, False)
        lost = regions.difference(domain, _region(attribute, column, values))
        if not regions.is_empty(lost, {}):
            messages.setdefault(column, value_texts(attribute, lost))
    return [
        Diagnostic(
            "RQ418",
            "warning",
            f"`{column.table}` has no {lost} any more, but the domain keeps it",
            None,
            help="an announcement that waits for all values waits for it, until a punctuation closes it",
        )
        for column, lost in messages.items()
    ]


def news(plan: Plan, before: Mapping[str, SourceState], after: Mapping[str, SourceState]) -> Iterator[str]:
    """Yields the values that domains have gained between two states, as text for people."""
    texts: dict[TableColumn, str] = {}
    for source, attribute, column in listed(plan):
        now = after[source.name].grown.get(attribute.name, False)
        if source.name not in before or attribute.name not in before[source.name].grown:
            continue  # the query starts, or uses this domain for the first time
        new = regions.difference(now, before[source.name].grown[attribute.name])
        if not regions.is_empty(new, {}):
            texts.setdefault(column, value_texts(attribute, new))
    for column, new in texts.items():
        yield f"`{column.table}` has {new}, which is new"


def value_texts(attribute: Attribute, members: Tree) -> str:
    """Returns values of an attribute as text, `s = 3, 4`; of many, the first ones."""
    inside = sorted(v for v, hit in members.points.items() if hit) if isinstance(members, Level) else []
    more = [f"... {len(inside) - _MAX_SHOWN:,} more"] if len(inside) > _MAX_SHOWN else []
    return f"{attribute.name} = {', '.join([*map(attribute.type.wire, inside[:_MAX_SHOWN]), *more])}"


def _region(attribute: Attribute, column: TableColumn, values: Values) -> Tree:
    return regions.values(attribute.name, values[column])
