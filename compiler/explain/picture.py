"""Draws the plan as SVG, without a program for layouts: layers from the sources to the outputs."""

from __future__ import annotations

from html import escape

from cedilla.compiler.explain.diagram import PictureNode, edges_of, label_text, nodes_of
from cedilla.compiler.plan import Plan

_WIDTH, _LINE, _GAP, _BETWEEN = 220, 15, 60, 24
_LONGEST = 34
_COLORS = {"source": "#dbeafe", "operator": "#f3f4f6", "emit": "#dcfce7"}


def svg(plan: Plan) -> str:
    """Returns the plan as an SVG element: boxes with text, and arrows from inputs to operators."""
    nodes, edges = list(nodes_of(plan)), list(edges_of(plan))
    layers = dict.fromkeys((node.key for node in nodes), 0)
    for node in nodes:  # in topological order
        layers[node.key] = max((layers[start] + 1 for start, end in edges if end == node.key), default=0)
    places: dict[str, tuple[int, int, int]] = {}
    bottoms: dict[int, int] = {}
    for node in nodes:
        layer, height = layers[node.key], _LINE * len(node.lines) + 12
        top = bottoms.get(layer, 8)
        places[node.key] = (8 + layer * (_WIDTH + _GAP), top, height)
        bottoms[layer] = top + height + _BETWEEN
    width = 16 + (max(layers.values(), default=0) + 1) * (_WIDTH + _GAP) - _GAP
    parts = [_arrow(places[start], places[end]) for start, end in edges]
    parts += [_box(node, *places[node.key]) for node in nodes]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{max(bottoms.values(), default=8)}"'
    )
    return (
        f'{head} font-family="sans-serif" font-size="11" role="img"><title>{_text(label_text(plan.name))}</title>'
        '<defs><marker id="cedilla-end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker></defs>{"".join(parts)}</svg>'
    )


def _arrow(start: tuple[int, int, int], end: tuple[int, int, int]) -> str:
    (x1, y1, h1), (x2, y2, h2) = start, end
    x1, y1, y2 = x1 + _WIDTH, y1 + h1 // 2, y2 + h2 // 2
    middle = (x1 + x2) // 2
    path = f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"
    return f'<path d="{path}" fill="none" stroke="#6b7280" marker-end="url(#cedilla-end)"/>'


def _box(node: PictureNode, x: int, y: int, height: int) -> str:
    texts: list[str] = []
    for number, line in enumerate(node.lines):
        shown = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
        weight = ' font-weight="bold"' if number == 0 else ""
        texts.append(
            f'<text x="{x + 8}" y="{y + 17 + number * _LINE}" fill="#111827"{weight}>{_text(shown)}</text>'
        )
    title = _text("\n".join(node.lines))
    style = f'rx="5" fill="{_COLORS[node.kind]}" stroke="#9ca3af"'
    shape = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" {style}/>'
    return f"<g><title>{title}</title>{shape}{''.join(texts)}</g>"


def _text(text: str) -> str:
    """Returns XML of a text, without the two noncharacters that XML cannot contain."""
    return escape(text).translate({0xFFFE: "\ufffd", 0xFFFF: "\ufffd"})
