"""How a line becomes several tuples, or other objects, before attributes are read from it.

`each "items"` takes the elements of a list apart, `each entry "devices"` the entries of an object, and
`parsed "payload"` reads a text as JSON. The result takes the place of the list, object or text,
so that paths lead into it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from attrs import frozen

from cedilla.compiler.plan.field_paths import FieldPath, field_path_of, path_text
from cedilla.compiler.plan.formats import FORMATS, names_where
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, failure
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.formatting.expression_formatter import quote
from cedilla.grammar.syntax.statement_nodes import UNFOLDINGS

ENTRY = ("key", "value")
"""The keys of the object that stands for an entry of an object."""


@frozen
class Unfolding:
    """One step. `keys`: the path of the list, object or text.

    `kind`: `element` gives a tuple for each element of a list, `entry` one for each entry of an object, as an object
    with `key` and `value`, and `text` the same tuple with what the text contains.
    """

    kind: Literal["element", "entry", "text"]
    keys: FieldPath

    def __str__(self) -> str:
        return f"{UNFOLDINGS[self.kind]} {quote(path_text(self.keys))}"


def unfoldings_of(node: syntax.StreamDeclaration) -> tuple[Unfolding, ...]:
    """Returns the steps of a declared source, in their order.

    Raises RQ560 in a format whose tuples are not objects and for change events, RQ561 for two steps at one path, RQ145
    for an invalid path.
    """
    steps: list[Unfolding] = []
    for clause in node.unfolded:
        if node.changes is not None:
            message = "rows of change events are not taken apart"
            raise failure(
                "RQ560",
                message,
                clause.span,
                hint="write them, and take them apart in a query that reads these",
            )
        if not FORMATS[node.format].has_objects:
            readable = " and ".join(f"`{name}`" for name in names_where(lambda kind: kind.has_objects))
            message = f"tuples of format `{node.format}` have no lists or objects to take apart"
            raise failure("RQ560", message, clause.span, hint=f"{readable} have")
        keys = field_path_of(syntax.Origin(clause.path, span=clause.span), node.format)
        steps.append(Unfolding(clause.kind, keys))
        if _is_twice(steps):
            message = f"`{steps[-1]}` comes twice"
            raise failure("RQ561", message, clause.span, hint="leave one of them out")
    return tuple(steps)


def unread(
    node: syntax.StreamDeclaration, steps: Sequence[Unfolding], paths: Collection[FieldPath]
) -> Iterator[Diagnostic]:
    """Yields RQ580 for a step from which nothing is read. `paths`: those of the attributes."""
    firsts = [path[0] for path in paths]
    for step, clause in zip(steps, node.unfolded, strict=True):
        others = [*paths, *(other.keys for other in steps if other is not step)]
        if any(path[: len(step.keys)] == step.keys for path in others):
            continue
        shown = quote(path_text(step.keys))
        message = f"nothing is read from {shown}, which `{step}` takes apart"
        near = suggest(step.keys[0], firsts)
        hint = f"attributes of what it takes apart have a path, as in `from {quote(path_text((*step.keys, 'NAME')))}`"
        if near is not None:
            hint = f"did you mean {quote(path_text((near, *step.keys[1:])))}? {hint}"
        why = () if step.kind == "text" else (f"a line without {shown} gives no tuple",)
        yield Diagnostic("RQ580", "warning", message, clause.span, why, hint)


def _is_twice(steps: Iterable[Unfolding]) -> bool:
    *before, last = steps
    return last in before
