"""Draws the plan as a picture, in the language of Graphviz or of Mermaid (design, section 7)."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from cedilla.compiler.explain.explanation import parameters_text, source_facts
from cedilla.compiler.explain.tree import latest_text
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics.printable import one_line, without_secrets


def label_text(text: str) -> str:
    """Returns a text as one line of a label."""
    return without_secrets(one_line(text))


@frozen
class PictureNode:
    """A node of the picture. `key` is its name in the plan; emits have keys of their own. `lines`: its label. Texts
    of the query in it end no line, move no cursor and contain no secret."""

    key: str
    kind: str
    lines: tuple[str, ...] = field(converter=lambda lines: tuple(map(label_text, lines)))


def dot(plan: Plan) -> str:
    """Draws the plan as a directed graph for Graphviz."""
    shapes = {"source": "cylinder", "operator": "box", "emit": "note"}
    numbers, lines = _numbers(plan), ["digraph cedilla {", "  rankdir=LR;"]
    for node in nodes_of(plan):
        label = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in node.lines)
        lines.append(f'  {numbers[node.key]} [shape={shapes[node.kind]}, label="{label}"];')
    lines += [f"  {numbers[start]} -> {numbers[end]};" for start, end in edges_of(plan)]
    return "\n".join([*lines, "}"])


def mermaid(plan: Plan) -> str:
    """Draws the plan as a flow chart for Mermaid."""
    shapes = {"source": '[("{}")]', "operator": '["{}"]', "emit": '[/"{}"/]'}
    numbers, lines = _numbers(plan), ["flowchart LR"]
    for node in nodes_of(plan):
        label = "<br>".join("".join(_MERMAID.get(c, c) for c in line) for line in node.lines)
        lines.append(f"  {numbers[node.key]}{shapes[node.kind].format(label)}")
    lines += [f"  {numbers[start]} --> {numbers[end]}" for start, end in edges_of(plan)]
    return "\n".join(lines)


# Mermaid takes `%%{` anywhere in its text for a directive.
_MERMAID = {"&": "&amp;", '"': "#quot;", "<": "&lt;", ">": "&gt;", "#": "#35;", "%": "#37;"}


def nodes_of(plan: Plan) -> Iterator[PictureNode]:
    """Yields the nodes of the picture in topological order."""
    for source in plan.sources:
        attributes = ", ".join(map(str, source.attributes))
        yield PictureNode(source.name, "source", (source.name, attributes, *source_facts(source)))
    for operator in plan.operators:
        parameters = parameters_text(operator)
        yield PictureNode(
            operator.name, "operator", (f"{operator.title} {operator.name}", *filter(None, [parameters]))
        )
    for emit in plan.emits:
        units = ("in original units",) if emit.original_units else ()
        latest = (latest_text(emit),) if emit.latest else ()
        yield PictureNode(
            f"emit {emit.name}", "emit", (f"emit {emit.name}", f"{emit.format} {emit.path}", *latest, *units)
        )


def edges_of(plan: Plan) -> Iterator[tuple[str, str]]:
    """Returns the edges from inputs to operators, in the order of an operator's inputs; then those to emits."""
    return ((start, end) for node in plan.graph for start, end in plan.graph.in_edges(node))


def _numbers(plan: Plan) -> dict[str, str]:
    """Numbers the nodes. Names may contain any letter, and numbers are valid everywhere."""
    return {node.key: f"n{number}" for number, node in enumerate(nodes_of(plan))}
