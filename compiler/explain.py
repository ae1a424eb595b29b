"""What a plan will do and why, for people and as JSON; starts nothing (design, sections 7 and 8)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.base import KINDS, listed
from cedilla.compiler.plan import Emit, Plan, Source
from cedilla.compiler.reactions import OTHER, attributes_of, described, inputs_of, reaction, summary
from cedilla.compiler.safety import Safety, safety
from cedilla.compiler.schemes import Schemes
from cedilla.grammar.diagnostics import Diagnostic, render, to_json

VERSION = 1
"""Of the JSON form; a key that goes or changes its meaning raises it."""


# --- as JSON ---------------------------------------------------------------------------------------------


def explain_json(plan: Plan, warnings: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """The plan as plain JSON values: sources, operators in topological order, emits, settings, warnings."""
    found = safety(plan)
    return {
        "version": VERSION,
        "query": plan.name,
        "sources": [_source_json(plan, source) for source in plan.sources],
        "operators": [_operator_json(plan, operator, found) for operator in plan.operators],
        "emits": [_emit_json(emit) for emit in plan.emits],
        "settings": dict(plan.settings),
        "warnings": [to_json(warning) for warning in warnings],
    }


def _source_json(plan: Plan, source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "table": source.table,
        "attributes": [
            {"name": a.name, "type": str(a.type), "optional": a.optional, "domain": a.domain}
            for a in source.attributes
        ],
        "format": source.format,
        "path": source.path,
        "punctuated": [list(scheme) for scheme in source.punctuated],
        "heartbeat": _heartbeat(source),
        "markers": source.markers,
        "droppable": sorted(plan.droppable[source.name]),
        "line": source.line,
    }


def _operator_json(plan: Plan, operator: Operator, found: Safety) -> dict[str, Any]:
    inputs = inputs_of(plan, operator)
    signature, invariants = operator.signature(inputs), operator.invariants(inputs)
    return {
        "name": operator.name,
        "operator": operator.title,
        "inputs": list(operator.inputs),
        "parameters": operator.parameters(),
        "attributes": {name: str(type_) for name, type_ in plan.start[operator.name].types.items()},
        "signature": {
            "foundation": list(signature.foundation),
            "merge": list(signature.merge),
            "accumulate": list(signature.accumulate),
        },
        "invariants": {
            "passes": invariants.passes,
            "propagates": invariants.propagates,
            "purges": invariants.purges,
        },
        "stateful": operator.stateful,
        "state": {
            "bound": found.verdict(operator.name),
            "keeps": [
                {
                    "what": bound.memory.what,
                    "accents": bound.memory.accents,
                    "bound": bound.verdict,
                    "because": bound.because,
                }
                for bound in found.of(operator.name)
            ],
        },
        "promises": _schemes_json(found.schemes[operator.name]),
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
    found = {kind: reaction(plan, operator, kind, attribute, side) for kind in KINDS}
    return {
        kind: {
            "kind": each.kind,
            "rule": each.rule,
            "passes": [] if each.kind == "aborts" else list(each.passes),
        }
        for kind, each in found.items()
        if each is not None
    }


def _emit_json(emit: Emit) -> dict[str, Any]:
    return {
        "name": emit.name,
        "relation": emit.relation,
        "format": emit.format,
        "path": emit.path,
        "original_units": emit.original_units,
        "line": emit.line,
    }


# --- the program -----------------------------------------------------------------------------------------


def spark_functions(program: str) -> dict[str, str]:
    """The DataFrame code of a generated program: the text of each output's function by its name."""
    lines = program.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(program).body
        if isinstance(node, ast.FunctionDef)
    }


# --- as text ---------------------------------------------------------------------------------------------


@frozen
class _Line:
    """A node of the tree: what it is, and the facts that stand after `::`."""

    tree: str
    head: str
    facts: str = ""
    aligned: bool = True


def explain_text(
    plan: Plan,
    color: bool = False,
    warnings: Iterable[Diagnostic] = (),
    texts: Mapping[str, str] | None = None,
) -> str:
    """The plan as a tree, root first, then what each operator does with accents, the settings, the warnings.

    `texts`: source name -> text, to show the places of warnings.
    """
    paint = _paint if color else _plain
    parts = ["\n".join(_tree(plan, paint))]
    if plan.operators:
        parts.append("\n".join([paint("accents", _BOLD), *_table(plan)]))
    if rows := list(_state(safety(plan))):
        parts.append("\n".join([paint("state", _BOLD), *columns(rows)]))
    settings = ", ".join(f"{name} = {value}" for name, value in plan.settings.items())
    parts.append(f"{paint('settings', _BOLD)} {settings}")
    if rendered := render(warnings, texts or {}):
        parts.append(rendered)
    return "\n\n".join(parts)


_BOLD, _DIM = "1", "2"
_Paint = Callable[[str, str], str]


def _paint(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _plain(text: str, style: str) -> str:
    return text


def _tree(plan: Plan, paint: _Paint) -> Iterator[str]:
    lines = list(_lines(plan))
    width = max(len(line.tree) + len(line.head) for line in lines if line.aligned)
    for line in lines:
        head = f"{line.tree}{paint(line.head, _BOLD) if line.aligned else line.head}"
        if line.facts:
            gap = max(0, width - len(line.tree) - len(line.head)) if line.aligned else 0
            head += " " * gap + paint(f"   :: {line.facts}", _DIM)
        yield head


def _lines(plan: Plan) -> Iterator[_Line]:
    printed: set[str] = set()
    for emit in plan.emits:
        called = "" if emit.name == emit.relation else f" as {emit.name}"
        units = "in original units" if emit.original_units else ""
        yield _Line("", f"emit {emit.relation}{called} -> {emit.format} {emit.path}", units)
        yield from _branch(plan, emit.relation, "", True, printed)


def _branch(plan: Plan, name: str, lead: str, last: bool, printed: set[str]) -> Iterator[_Line]:
    corner = f"{lead}{'└─' if last else '├─'} "
    if name in printed:
        yield _Line(corner, f"{name} (above)", aligned=False)
        return
    printed.add(name)
    if name in plan.source_of:
        source = plan.source_of[name]
        yield _Line(corner, _source_head(source), "  ".join(source_facts(source)), aligned=False)
        return
    operator = plan.operator_of[name]
    yield _Line(corner, _head(operator), _facts(plan, operator))
    below = lead + ("   " if last else "│  ")
    for number, child in enumerate(operator.inputs, 1):
        yield from _branch(plan, child, below, number == len(operator.inputs), printed)


def parameters_text(operator: Operator) -> str:
    """An operator's parameters, as they stand in braces."""
    return ", ".join(f"{name}: {_value(value)}" for name, value in operator.parameters().items())


def _head(operator: Operator) -> str:
    written = parameters_text(operator)
    return f"{operator.title} {operator.name}" + (f" {{{written}}}" if written else "")


def _value(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)  # type: ignore[reportUnknownArgumentType]


def _facts(plan: Plan, operator: Operator) -> str:
    inputs = inputs_of(plan, operator)
    signature, invariants = operator.signature(inputs), operator.invariants(inputs)
    profile = f"F={listed(signature.foundation)} M={listed(signature.merge)} A={listed(signature.accumulate)}"
    state = f"purges {invariants.purges}" if operator.stateful else "stateless"
    return f"{profile}  passes {invariants.passes}  propagates {invariants.propagates}  {state}"


def _source_head(source: Source) -> str:
    return f'{source.name}({", ".join(map(str, source.attributes))}) from {source.format} "{source.path}"'


def source_facts(source: Source) -> list[str]:
    """What a source promises, for people."""
    facts = [f"punctuated on {', '.join(scheme)}" for scheme in source.punctuated]
    if (heartbeat := _heartbeat(source)) is not None:
        facts.append(f"heartbeat {heartbeat['attribute']} delay {heartbeat['delay']}")
    if source.markers is not None:
        facts.append(f'markers "{source.markers}"')
    if source.table:
        facts.append("table: closed from the start")
    return facts


def _heartbeat(source: Source) -> dict[str, str] | None:
    if source.heartbeat is None:
        return None
    name, delay = source.heartbeat.attribute, source.heartbeat.delay
    timed = any(a.name == name and a.type.name == "timestamp" for a in source.attributes)
    return {"attribute": name, "delay": f"{delay / 1_000_000} seconds" if timed else str(delay)}


def _table(plan: Plan) -> Iterator[str]:
    rows = [
        [
            f"{operator.title} {operator.name}",
            *(summary(plan, operator, kind) for kind in KINDS),
            described(plan, operator),
        ]
        for operator in plan.operators
    ]
    return columns(rows)


def _state(found: Safety) -> Iterator[list[str]]:
    """What each operator keeps, whether it stays bounded, and why (theory 3.4)."""
    last = None
    for bound in found.bounds:
        operator = bound.operator
        name = f"{operator.title} {operator.name}" if operator is not last else ""
        yield [name, bound.memory.what, bound.verdict, bound.because]
        last = operator


def columns(rows: list[list[str]]) -> Iterator[str]:
    """A table, indented, its columns as wide as their widest cells."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'   '.join(cells)}".rstrip()
