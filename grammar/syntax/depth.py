"""The depth and length of texts: every later stage walks nodes by recursion, and so do engines with their SQL."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from attrs import fields

from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.diagnostics import Span
from cedilla.grammar.syntax import Node

DEEPEST = 120
"""The greatest depth of nodes. All terms of `or`, `and` and `||` have one depth; terms of sums and products nest."""

MOST_WORDS = 120_000
"""The most names and constants of a text, which are parsed in seconds; an output writes lists of less than half."""
_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\w.]+')


def check_length(text: str, source: str) -> None:
    """Raise RQ482 at the first word of a text that is one too many, before the text is parsed."""
    if len(text) <= 2 * MOST_WORDS:  # each word is followed by another character
        return
    word = next(islice(_WORD.finditer(text), MOST_WORDS, None), None)
    if word is None:
        return
    line, column = text.count("\n", 0, word.start()) + 1, word.start() - text.rfind("\n", 0, word.start())
    span = Span(source, word.start(), word.end(), line, column, line, column + len(word[0]))
    hint = "several markers with a part of the list each; of a domain, a table: `s: int in devices.s`"
    raise failure("RQ482", f"the text has more than {MOST_WORDS:,} names and constants", span, hint=hint)


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
