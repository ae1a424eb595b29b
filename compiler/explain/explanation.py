"""Explains the behaviour of a plan, for people and as JSON; starts nothing (design, sections 7 and 8)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import asdict

from cedilla.compiler.explain.analysis.behaviour import accents
from cedilla.compiler.explain.analysis.reactions import OTHER, attributes_of, reaction
from cedilla.compiler.explain.analysis.safety import Safety, safety
from cedilla.compiler.explain.tree import BOLD, Node, Paint, emit_head, new_units, painter, tree, updates
from cedilla.compiler.explain.wrapping import WIDTH, fitted, wrapped
from cedilla.compiler.expressions.types import LONG, TIMESTAMP
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import Schemes
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import KINDS, listed
from cedilla.compiler.operators.shared.reactions import signature
from cedilla.compiler.plan import DEFAULTS, Emit, Plan, Source
from cedilla.compiler.plan.change_events import clause
from cedilla.grammar.diagnostics import Diagnostic, render, to_json
from cedilla.grammar.formatting.expression_formatter import quote
from cedilla.grammar.syntax.settings import SIZES

VERSION = 2
"""The version of the JSON form. Removing a key, or changing its meaning, raises it."""


# --- as JSON ---------------------------------------------------------------------------------------------


def explain_json(plan: Plan, warnings: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """Returns the plan as plain JSON: sources, operators in topological order, emits, settings, warnings."""
    state_safety = safety(plan)
    return {
        "version": VERSION,
        "query": plan.name,
        "sources": [_source_json(plan, source) for source in plan.sources],
        "operators": [_operator_json(plan, operator, state_safety) for operator in plan.operators],
        "emits": [_emit_json(emit) for emit in plan.emits],
        "settings": dict(plan.settings),
        "warnings": [to_json(warning) for warning in warnings],
    }


def _source_json(plan: Plan, source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "table": source.table,
        "attributes": [
            {
                "name": a.name,
                "type": str(a.type),
                "optional": a.optional,
                "domain": a.domain,
                "unit": a.unit,
            }
            for a in source.attributes
        ],
        "format": source.format,
        "path": source.path,
        "punctuated": [list(scheme) for scheme in source.punctuated],
        "heartbeat": _heartbeat(source),
        "markers": source.markers,
        "markers_only": source.markers_only,
        "partitioned": source.partitioned,
        "registry": source.registry,
        "changes": list(source.changes),
        "latest": source.latest,
        "by_name": source.by_name,
        "unfolded": [str(step) for step in source.unfolded],
        "droppable": sorted(plan.droppable[source.name]),
        "line": source.line,
    }


def _operator_json(plan: Plan, operator: Operator, state_safety: Safety) -> dict[str, Any]:
    inputs = plan.inputs_of(operator)
    profile, invariants = signature(operator, inputs), operator.invariants(inputs)
    return {
        "name": operator.name,
        "operator": operator.title,
        "inputs": list(operator.inputs),
        "parameters": operator.parameters(),
        "attributes": {name: str(type_) for name, type_ in plan.start[operator.name].types.items()},
        "units": dict(operator.units),
        "signature": {name: list(attributes) for name, attributes in asdict(profile).items()},
        "invariants": asdict(invariants),
        "stateful": operator.stateful,
        "state": {
            "bound": state_safety.verdict(operator.name),
            "keeps": [
                {
                    "what": bound.memory.what,
                    "accents": bound.memory.accents,
                    "bound": bound.verdict,
                    "because": bound.because,
                }
                for bound in state_safety.of(operator.name)
            ],
        },
        "promises": _schemes_json(state_safety.schemes[operator.name]),
        "reactions": [
            {"input": name, "attribute": attribute, **_reactions_json(plan, operator, attribute, side)}
            for side, name in enumerate(operator.inputs)
            for attribute in (*attributes_of(plan, operator, side), OTHER)
        ],
        "line": operator.line,
    }


def _schemes_json(schemes: Schemes) -> list[list[str]]:
    return sorted(sorted(scheme) for scheme in schemes)


def _reactions_json(plan: Plan, operator: Operator, attribute: str, side: int) -> dict[str, Any]:
    reactions = {kind: reaction(plan, operator, kind, attribute, side) for kind in KINDS}
    return {
        kind: {
            "kind": outcome.kind,
            "rule": outcome.rule,
            "passes": [] if outcome.kind == "aborts" else list(outcome.passes),
        }
        for kind, outcome in reactions.items()
        if outcome is not None
    }


def _emit_json(emit: Emit) -> dict[str, Any]:
    return {
        "name": emit.name,
        "relation": emit.relation,
        "format": emit.format,
        "path": emit.path,
        "original_units": emit.original_units,
        "latest_by": [*emit.latest],
        "line": emit.line,
    }


# --- the program -----------------------------------------------------------------------------------------


def spark_flow(program: str) -> str:
    """Returns the DataFrame code of a generated program: the text of its function `flow`."""
    (node,) = (node for node in ast.parse(program).body if isinstance(node, ast.FunctionDef))
    return "\n".join(program.splitlines()[node.lineno - 1 : node.end_lineno])


# --- as text ---------------------------------------------------------------------------------------------


_LEGEND = (
    "F   foundation: attributes that cannot be dropped",
    "M   merge: an accent on one waits until both inputs have it",
    "A   accumulate: attributes that the output lacks; an accent for some of their values waits for all",
    "∅   none",
)


def explain_text(
    plan: Plan,
    color: bool = False,
    warnings: Iterable[Diagnostic] = (),
    texts: Mapping[str, str] | None = None,
    width: int = WIDTH,
) -> str:
    """Shows a legend, the plan as a tree, root first, then reactions to accents, state, settings and warnings.

    `texts`: source name -> text, to show the positions of warnings. Only a single longer word makes a line
    exceed `width`.
    """
    paint = painter(color)
    parts = ["\n".join(line for node in tree(plan) for line in _node(plan, node, width, paint))]
    if plan.operators:
        legend = [line for text in _LEGEND for line in wrapped(text, width - 2, "    ")]
        parts.insert(0, "\n".join([paint("legend", BOLD), *(f"  {line}" for line in legend)]))
        parts.append("\n".join([paint("accents", BOLD), *_accents(plan, width)]))
    if kept := list(_state(safety(plan), width)):
        parts.append("\n".join([paint("state", BOLD), *kept]))
    settings = ", ".join(
        f"{name} = {value}"
        for name, value in plan.settings.items()
        if name not in SIZES or value != DEFAULTS[name]
    )
    head, *more = wrapped(f"settings {settings}", width, "  ")
    parts.append("\n".join([head.replace("settings", paint("settings", BOLD), 1), *more]))
    if rendered := render(warnings, texts or {}):
        parts.append(fitted(rendered, width))
    return "\n\n".join(parts)


def _node(plan: Plan, node: Node, width: int, paint: Paint) -> Iterator[str]:
    item = node.item
    if isinstance(item, Emit):
        return node.lines(emit_head(item), updates(item), width, paint)
    if node.again:
        return node.lines(f"{item.name} (above)", [], width, _PLAIN)
    if isinstance(item, Source):
        facts = [*source_facts(item), *stated_accents(item)]
        return node.lines(_source_head(item), facts, width, _PLAIN)
    return node.lines(_head(item), [*_facts(plan, item), *new_units(plan, item)], width, paint)


_PLAIN = painter(False)


def parameters_text(operator: Operator) -> str:
    """Writes an operator's parameters as they appear in braces."""
    return ", ".join(f"{name}: {_value(value)}" for name, value in operator.parameters().items())


def _head(operator: Operator) -> str:
    parameters = parameters_text(operator)
    return f"{operator.title} {operator.name}" + (f" {{{parameters}}}" if parameters else "")


def _value(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)  # type: ignore[reportUnknownArgumentType]


def _facts(plan: Plan, operator: Operator) -> list[str]:
    inputs = plan.inputs_of(operator)
    invariants = operator.invariants(inputs)
    return [
        signature_text(operator, inputs),
        f"writes {invariants.passes}",
        f"closes {invariants.propagates}",
        f"forgets {invariants.purges}" if operator.stateful else "keeps no tuples",
    ]


def signature_text(operator: Operator, inputs: tuple[Facts, ...]) -> str:
    """Writes an operator's signature: `F={l, wid} M=∅ A={ts}`."""
    profile = signature(operator, inputs)
    return f"F={listed(profile.foundation)} M={listed(profile.merge)} A={listed(profile.accumulate)}"


def stated_accents(source: Source) -> list[str]:
    """Returns the accents that the query states of a source, each with its line."""
    return [
        f"accent {accent.text}{f', line {accent.line}' if accent.line else ''}" for accent in source.accents
    ]


def _source_head(source: Source) -> str:
    return f'{source.name}({", ".join(map(str, source.attributes))}) from {source.format} "{source.path}"'


def source_facts(source: Source) -> list[str]:
    """Lists the promises of a source for people."""
    facts = [f"punctuated on {', '.join(scheme)}" for scheme in source.punctuated]
    if (heartbeat := _heartbeat(source)) is not None:
        guard = f" within {heartbeat['within']} of now" if "within" in heartbeat else ""
        facts.append(f"heartbeat {heartbeat['attribute']} delay {heartbeat['delay']}{guard}")
    if source.markers is not None:
        facts.append(f'markers {"only " if source.markers_only else ""}"{source.markers}"')
    if source.metrics:
        facts.append(f"metrics {', '.join(map(quote, source.metrics))}")
        facts += [f"metric {quote(new)} over {quote(old)}" for new, old in source.over]
    if source.partitioned is not None:
        facts.append(f"partitioned by {source.partitioned}")
    if source.registry is not None:
        facts.append(f"registry {quote(source.registry)}")
    if source.changes:
        facts.append(clause(source.changes, latest=source.latest))
    if source.by_name:
        facts.append("ordered by name")
    if source.none:
        facts.append(f"none {{{', '.join(map(quote, sorted(source.none)))}}}")
    facts += map(str, source.unfolded)
    if source.table:
        facts.append("table: closed from the start")
    return facts


def _heartbeat(source: Source) -> dict[str, str] | None:
    if source.heartbeat is None:
        return None
    name, delay, within = source.heartbeat.attribute, source.heartbeat.delay, source.heartbeat.within
    type_ = next((a.type for a in source.attributes if a.name == name), LONG)
    guard = {} if within is None else {"within": TIMESTAMP.length_text(within)}
    return {"attribute": name, "delay": type_.length_text(delay), **guard}


def _accents(plan: Plan, width: int) -> Iterator[str]:
    for operator in plan.operators:
        yield f"  {operator.title} {operator.name}"
        for sentence in accents(plan, operator):
            yield from (f"    {line}" for line in wrapped(str(sentence), width - 4, "    "))


def _state(state_safety: Safety, width: int) -> Iterator[str]:
    """Yields the state of each operator, its bound and the reason (theory 3.4)."""
    last = None
    for bound in state_safety.bounds:
        operator = bound.operator
        if operator is not last:
            yield f"  {operator.title} {operator.name}"
        text = f"{bound.memory.what}: {bound.verdict}, {bound.because}"
        yield from (f"    {line}" for line in wrapped(text, width - 4, "    "))
        last = operator
