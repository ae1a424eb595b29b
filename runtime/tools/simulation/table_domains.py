"""Reads domains that come from tables, without Spark: for `simulate` and the tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from cedilla.compiler.plan import DEFAULTS, Plan, Source
from cedilla.compiler.regions import UNDEFINED, Value
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.records.file_lines import lines_in
from cedilla.runtime.connectors.records.lines import files_of
from cedilla.runtime.connectors.records.lines import local_path as local
from cedilla.runtime.connectors.records.tuple_lines import tuples_of
from cedilla.runtime.control.domains.table_domains import MAX_VALUES, listed, looked_up
from cedilla.runtime.engines.plain.node import control
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.options.permissions import check_permitted
from cedilla.runtime.tools.simulation.inputs import is_marker, keys_of_file, parsed, with_keys


def with_domains(plan: Plan) -> Plan:
    """Returns the plan with the domains of its tables, read from local folders.

    Raises `DiagnosticError`: RQ401 (no such folder, standard input), RQ406 (a topic), RQ416, RQ417, or
    for a bad marker in a table.
    """
    return looked_up(plan, _read)[0] if any(listed(plan)) else plan


def with_permitted_domains(plan: Plan, allowed: Iterable[str]) -> Plan:
    """As `with_domains`, for tables in folders that a query may read. `allowed`: as for `check_permitted`, which raises
    for other folders."""
    names = {column.table for *_, column in listed(plan)}
    check_permitted(evolve(plan, sources=[s for s in plan.sources if s.name in names], emits=()), allowed)
    return with_domains(plan)


def can_read(plan: Plan) -> bool:
    """Returns True if the tables of domains are existing local folders."""
    tables = (plan.source_of[c.table] for *_, c in listed(plan))
    return all(_complaint(table) is None for table in tables)


def _complaint(table: Source) -> Diagnostic | None:
    what = f"table `{table.name}`, which gives a domain,"
    if table.is_topic:
        hint = "`cedilla run` reads it"
        return Diagnostic("RQ406", "error", f"the {what} is a topic", table.span, help=hint)
    if table.path == "-":
        hint = "a folder, into which the lines are written"
        return Diagnostic("RQ401", "error", f"the {what} cannot be standard input", table.span, help=hint)
    path = local(table.path)
    if path is None or not path.exists():
        message = f"the folder {table.path} of the {what} does not exist"
        return Diagnostic("RQ401", "error", message, table.span, help=f"--source {table.name}=PATH, or files")
    return None


def _read(plan: Plan, table: Source, names: tuple[str, ...]) -> Mapping[str, frozenset[Value]]:
    """Returns the canonical values of a table's valid rows."""
    if (complaint := _complaint(table)) is not None:
        raise DiagnosticError([complaint])
    reference = Reference(evolve(plan, sources=(table,), operators=(), emits=(), settings=DEFAULTS))
    values_of: dict[str, set[Value]] = {name: set() for name in names}
    for file in files_of(table.path, allowed=plan.allowed):
        lines = lines_in(file, table.format, limit=plan.longest_line)
        keys = keys_of_file(table, file)
        for line in (with_keys(parsed(table, text), keys) for text in tuples_of(lines, table)):
            if is_marker(line.item):
                try:
                    reference.step([(table.name, line.item)])
                except DiagnosticError as error:
                    raise DiagnosticError(
                        line.marked(diagnostic) for diagnostic in error.diagnostics
                    ) from None
                continue
            row, rejection = reference.decoded(table.name, line.item)
            if rejection is not None:
                continue
            if not reference.last.sees(table, row, line.item):
                _add(values_of, row)
    for row in reference.last.taken(lambda name: True).get(table.name, ()):
        _add(values_of, row)
    return {name: frozenset(values) for name, values in values_of.items()}


def _add(values_of: Mapping[str, set[Value]], row: Mapping[str, Any]) -> None:
    for name, values in values_of.items():
        if (value := control(row.get(name))) is not UNDEFINED and len(values) <= MAX_VALUES:
            values.add(value)
