"""Describes a name for an editor: its type and unit, the state of an operator, the effect of accents."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from cedilla.compiler.explain.analysis.reactions import SIGNS, reaction
from cedilla.compiler.explain.impact_text import accent_rows
from cedilla.compiler.explain.summary import node_lines
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.expressions.scalars.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.scalars.usages import USAGES
from cedilla.compiler.expressions.units.kinds import described
from cedilla.compiler.expressions.units.registry import UnknownUnit
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import KINDS
from cedilla.compiler.plan import Plan, Source
from cedilla.runtime.hosts.language_server.document import Document
from cedilla.runtime.hosts.language_server.markdown import block, escaped, prose, span
from cedilla.runtime.hosts.language_server.symbols import Occurrence


@frozen
class Hover:
    """Markdown about the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def hover(document: Document, offset: int) -> Hover | None:
    """Returns what is known of the name at a place, else of the operator around it."""
    name = document.names.at(offset, document.source)
    if name is None:
        node = document.node_at(offset)
        if node is None or node.span is None:
            return None
        return Hover(node.span.start, node.span.end, _node_text(document, node))
    text = _about(document, name)
    return Hover(name.start, name.end, text) if text else None


def _about(document: Document, name: Occurrence) -> str:
    match name.kind:
        case "relation":
            node = _node(document.plan, name.name)
            return "" if node is None else _node_text(document, node)
        case "attribute":
            return "\n\n".join(_attribute(document, name))
        case "constant":
            defined = document.names.definition(name)
            return "" if defined is None else block(_statement(document, defined), "rq")
        case "function":
            return _function_text(name.name)
        case "unit":
            return _unit_text(name.name.strip("\"'"))
        case "operator":
            node = document.node_at(name.start)
            return "" if node is None else _node_text(document, node)


def _node(plan: Plan | None, name: str) -> Source | Operator | None:
    return None if plan is None else plan.source_of.get(name) or plan.operator_of.get(name)


def _node_text(document: Document, node: Source | Operator) -> str:
    plan, state_safety = document.plan, document.safety
    if plan is None or state_safety is None:
        return ""
    head, lines = node_lines(plan, node, state_safety)
    facts, units = plan.start[node.name], plan.units_of(node.name)
    rows = [
        f"| {escaped(name)} | {escaped(_type(name, facts))} | {escaped(units.get(name, ''))} |"
        for name in facts.types
    ]
    table = "\n".join(["| attribute | type | unit |", "|---|---|---|", *rows])
    return "\n\n".join([f"**{prose(head)}**", *(f"{prose(line)}  " for line in lines), table])


def _attribute(document: Document, name: Occurrence) -> Iterator[str]:
    """Yields the type and unit of an attribute, and what each accent on it does there."""
    plan = document.plan
    defined = document.names.definition(name)
    node = document.node_at(name.start)
    if plan is None or node is None:
        return
    relations = [node.name] if isinstance(node, Source) else [*node.inputs, node.name]
    if name.defines:
        relations.reverse()
    relation = next((candidate for candidate in relations if name.name in plan.start[candidate].types), None)
    if relation is not None:
        facts, unit = plan.start[relation], plan.units_of(relation).get(name.name)
        in_unit = f", unit {span(unit)}" if unit else ""
        yield f"**{escaped(name.name)}**: {escaped(_type(name.name, facts))}{in_unit}, of {span(relation)}"
    else:
        yield f"**{escaped(name.name)}** is not there yet: an accent may add it"
    if defined is not None and defined != name:
        yield f"from {span(_line(document, defined))}"
    rows = (
        accent_rows(plan, node.name, name.name) if isinstance(node, Source) else _reactions(plan, node, name)
    )
    if rows:
        yield "\n".join(f"- {prose(row)}" for row in rows)


def _reactions(plan: Plan, operator: Operator, name: Occurrence) -> list[str]:
    """Returns what an operator does with each accent on an attribute of an input."""
    lines: dict[str, None] = {}
    for side, source in enumerate(operator.inputs):
        if name.name not in plan.start[source].types or name.defines:
            continue
        for kind in KINDS:
            outcome = reaction(plan, operator, kind, name.name, side)
            if outcome is not None:
                verdict = "ends the query" if outcome.kind == "aborts" else outcome.kind
                lines[f"{SIGNS[kind]} {kind.title()}: {verdict} at {operator.title} ({outcome.rule})"] = None
    return list(lines)


def _type(name: str, facts: Facts) -> str:
    return f"{facts.types[name]}{', may be missing' if facts.may_be_undefined(name) else ''}"


def usage(name: str) -> str:
    """Returns a function's call with the names of its arguments; nothing for an unknown one."""
    key = name.lower()
    if key in AGGREGATES:
        return AGGREGATES[key].usage
    return USAGES[FUNCTIONS[key].name][0] if key in FUNCTIONS else ""


def _function_text(name: str) -> str:
    call, function = usage(name), FUNCTIONS.get(name.lower())
    note = "" if function is None else USAGES[function.name][1]
    return "\n\n".join(filter(None, (call and block(call, "rq"), prose(note))))


def _unit_text(name: str) -> str:
    try:
        return escaped(described(name))
    except UnknownUnit:
        return ""


def _line(document: Document, name: Occurrence) -> str:
    text = document.text if name.source == document.source else document.used_text(name.source) or ""
    return " ".join(text[text.rfind("\n", 0, name.start) + 1 :].partition("\n")[0].split())


def _statement(document: Document, name: Occurrence) -> str:
    text = document.text if name.source == document.source else document.used_text(name.source) or ""
    return text[text.rfind("\n", 0, name.start) + 1 :].partition(";")[0] + ";"
