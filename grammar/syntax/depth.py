"""The depth of nested texts: every later stage walks nodes by recursion, and so do engines with their SQL."""

from __future__ import annotations

from functools import cache

from attrs import fields

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import Node

DEEPEST = 120
"""The greatest depth of nodes. All terms of `or`, `and` and `||` have one depth; terms of sums and products nest."""


def check_depth(text: str, root: Node) -> None:
    """Raise RQ001 where the nodes of a text lie too deep."""
    if len(text) <= DEEPEST:  # as most markers are
        return
    waiting: list[tuple[object, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, tuple):
            waiting += ((child, depth) for child in reversed(node))  # type: ignore[reportUnknownVariableType]
        elif isinstance(node, Node):
            if depth > DEEPEST:
                hint = "a part of it as a relation of its own, `name := ...`, or as an attribute that `extend` computes"
                raise failure(
                    "RQ001", f"nested too deeply, in more than {DEEPEST} levels", node.span, hint=hint
                )
            waiting += ((getattr(node, name), depth + 1) for name in reversed(_parts(type(node))))


@cache
def _parts(kind: type[Node]) -> tuple[str, ...]:
    return tuple(
        attribute.name for attribute in fields(kind) if attribute.name not in ("span", "format_span")
    )
