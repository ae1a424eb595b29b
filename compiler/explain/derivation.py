"""Shows how each relation of the plan is made, and its facts at the start (`explain --trace`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.explain.analysis.findings import schemes_text
from cedilla.compiler.explain.analysis.safety import safety
from cedilla.compiler.explain.explanation import parameters_text
from cedilla.compiler.explain.wrapping import columns
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.facts.facts import ABSENT, PRESENT, Facts
from cedilla.compiler.facts.markers import punctuation_text
from cedilla.compiler.facts.schemes import Schemes
from cedilla.compiler.operators import Operator
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.regions import Tree


def derivation_text(plan: Plan) -> str:
    """Lists sources and operators in topological order, each with its line, its inputs and its facts at the
    start.
    """
    schemes = safety(plan).schemes
    nodes = (*plan.sources, *plan.operators)
    return "\n\n".join("\n".join(_text(plan, node, schemes[node.name])) for node in nodes)


def derivation_json(plan: Plan) -> dict[str, Any]:
    """Returns the same as plain JSON values."""
    schemes = safety(plan).schemes
    nodes = (*plan.sources, *plan.operators)
    return {
        "version": 1,
        "query": plan.name,
        "relations": [
            {
                "name": node.name,
                "line": node.line,
                "made": _description(node),
                "inputs": [] if isinstance(node, Source) else list(node.inputs),
                "attributes": [
                    {"name": name, "type": type_, "present": present, "values": values}
                    for name, type_, present, values in _attributes(plan.start[node.name])
                ],
                "promises": sorted(sorted(scheme) for scheme in schemes[node.name]),
                "closed": closed_texts(plan.start[node.name], plan.start[node.name].closed),
            }
            for node in nodes
        ],
    }


def _text(plan: Plan, node: Source | Operator, schemes: Schemes) -> Iterator[str]:
    facts = plan.start[node.name]
    inputs = "" if isinstance(node, Source) else f" of {', '.join(node.inputs)}"
    yield f"line {node.line}   {node.name} := {_description(node)}{inputs}"
    yield from (f"  {row}" for row in columns([list(row) for row in _attributes(facts)]))
    yield f"    promises {schemes_text(schemes)}"
    if closed := closed_texts(facts, facts.closed):
        yield f"    closed from the start {', '.join(closed)}"


def _description(node: Source | Operator) -> str:
    if isinstance(node, Source):
        return f"{'table' if node.table else 'stream'} from {node.format} {node.path}"
    parameters = parameters_text(node)
    return f"{node.title}{f' {{{parameters}}}' if parameters else ''}"


def _attributes(facts: Facts) -> Iterator[tuple[str, str, str, str]]:
    """Yields name, type, presence and possible values of each attribute."""
    for name, type_ in facts.types.items():
        presence = facts.present.get(name, ABSENT)
        leaves = {leaf for _, leaf in regions.boxes(presence)}
        presence_text = "always" if leaves == {PRESENT} else "never" if leaves == {ABSENT} else "optional"
        yield (
            name,
            str(type_),
            presence_text,
            _values(name, facts, "or undefined" if presence_text != "always" else "until a drop"),
        )


def _values(name: str, facts: Facts, undefined: str) -> str:
    domain = facts.universe.get(name, regions.ANYTHING)
    members = domain.members
    if members is True:
        return f"any value, {undefined}"
    lacking = f", {undefined}" if members is not False and members.undefined else ""
    described = patterns.texts(
        {name: regions.intersection(members, regions.defined(name))}, facts.types, outer=False
    )
    texts = [f"{name} in {domain.listed}"] if domain.listed else [text for (text,) in described]
    any_value = texts == [f"{name} in [,]"]
    return f"{'any value' if any_value else ' or '.join(texts)}{lacking}"


_MAX_SHOWN = 8


def closed_texts(facts: Facts, region: Tree) -> list[str]:
    """Writes a region as punctuations; of many, only the first ones."""
    texts = [
        punctuation_text(conditions) if conditions else "[*]"
        for box, inside in regions.boxes(region)
        if inside is True
        for conditions in patterns.texts(box, facts.types, outer=False)
    ]
    more = len(texts) - _MAX_SHOWN
    return [*texts[:_MAX_SHOWN], f"and {more} more"] if more > 0 else texts
