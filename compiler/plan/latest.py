"""Outputs that are updated, `emit r as latest by k`: what may be above them, and what their key is (theory 1.3).

A row of an open group is the aggregate of what has come so far. It is provisional: it is not part of the output stream,
and the next row with its key takes its place. A key therefore names one group, and never changes while that is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.operators import Operator
from cedilla.compiler.operators.shared.base import OpenGroups
from cedilla.compiler.plan.formats import FORMATS
from cedilla.compiler.plan.topics import topic_of
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import unknown_attribute

if TYPE_CHECKING:
    from cedilla.compiler.plan.sources import Source

PROVISIONAL_COLUMN = "provisional"
"""The column of a table that is true for provisional rows."""
_NO_ROWS = OpenGroups({}, frozenset())
_Nodes = Callable[[str], "Source | Operator"]

UPDATED = tuple(name for name, kind in FORMATS.items() if kind.is_updated)
"""Formats of outputs that take provisional rows."""


def way_of(relation: str, node_of: _Nodes) -> tuple[Operator, ...]:
    """Returns the aggregate whose groups a relation shows, and the operators from it to the relation. The first is
    another operator if the relation cannot be updated; a source gives none."""
    node, way = node_of(relation), list[Operator]()
    while isinstance(node, Operator):
        way.insert(0, node)
        if node.of_open_groups(_NO_ROWS, {}) is None:
            break
        node = node_of(node.inputs[0])
    return tuple(way)


def check_latest(
    node: syntax.Emit, relation: str, node_of: _Nodes, types_of: Callable[[str], Mapping[str, Type]]
) -> None:
    """Checks the key of an output that is updated. `types_of`: returns the types of a relation's attributes.

    Raises RQ102 for an unknown attribute, RQ104 for one that is named twice, RQ550 for a relation that has no open
    groups, RQ551 for a key that is not one of groups, RQ552 for a part of it that changes with the group, RQ553 for a
    condition that does, RQ554 for a format without updates, RQ555 for a second key, RQ556 as `check_names`.
    """
    key, span = node.latest, node.latest_span
    for name in key:
        if name not in (types := types_of(relation)):
            raise unknown_attribute(name, types, span, "in `as latest by`")
        if key.count(name) > 1:
            raise failure(
                "RQ104", f"`{name}` is named twice in `as latest by`", span, hint=f"name `{name}` once"
            )
    way = way_of(relation, node_of)
    if not way or not (by := way[0].grouped_by):
        raise _without_groups(node, relation, way)
    rows = OpenGroups({name: name for name in by}, frozenset(by))
    for operator in way[1:]:
        condition = operator.required()
        read = frozenset[str]() if condition is None else expressions.attributes(condition)
        if changing := sorted(read - rows.steady):
            message = (
                f"`{changing[0]}` changes while a group is open, and a condition above the output reads it"
            )
            hint = (
                f"a row that no longer meets it would stay; emit `{changing[0]}`, and let its reader choose"
            )
            raise failure("RQ553", message, operator.span or span, hint=hint)
        rows = operator.of_open_groups(rows, types_of(operator.inputs[0])) or rows
    grouped = rows.names
    if changing := [name for name in key if name not in rows.steady]:
        message = f"`{changing[0]}` is in the key, and changes while a group is open"
        hint = f"a row would stay under its earlier key; {_key_hint(way[0].name, by, grouped)}"
        raise failure("RQ552", message, span, hint=hint)
    if lacking := [name for name in by if name not in {grouped.get(part) for part in key}]:
        message = f"rows of several groups would have one key, because `{lacking[0]}` is not in it"
        raise failure("RQ551", message, span, hint=_key_hint(way[0].name, by, grouped))
    _check_place(node)
    if FORMATS[node.format].is_table:
        check_names(types_of(relation), node.path, span)


def check_names(names: Iterable[str], table: str, span: Span | None = None) -> None:
    """Raises RQ556 for an attribute with the name of the column that a table has for provisional rows."""
    if taken := next((name for name in names if name.lower() == PROVISIONAL_COLUMN), None):
        message = f"`{taken}` is an attribute, and the column of {table} that marks provisional rows"
        raise failure("RQ556", message, span, hint=f"`rename[{taken} as other](R)` above the output")


def _without_groups(node: syntax.Emit, relation: str, way: tuple[Operator, ...]) -> DiagnosticError:
    what = f"the source `{relation}`" if not way else _article(way[0].title.lower())
    message = f"the rows of {what} are never updated"
    if way and way[0].grouped_by is not None:
        message = f"`{way[0].name}` is a single group, and rows are updated by the key of their group"
    hint = "`as latest by` is for an aggregate by its groups, with `select`, `project` and `rename` after it"
    return failure("RQ550", message, node.latest_span, hint=hint)


def _article(title: str) -> str:
    return f"{'an' if title[0] in 'aeiou' else 'a'} {title}"


def _key_hint(groups: str, by: Iterable[str], grouped: Mapping[str, str]) -> str:
    named = {group: name for name, group in grouped.items()}
    if lost := [name for name in by if name not in named]:
        return f"`{groups}` is grouped by `{lost[0]}`, so the projection has to keep it"
    return f"`as latest by {', '.join(named[name] for name in by)}` names each group"


def _check_place(node: syntax.Emit) -> None:
    if node.format not in UPDATED:
        message = f"an output in `{node.format}` is not updated"
        hint = f"formats of outputs that are updated: {', '.join(UPDATED)}"
        raise failure("RQ554", message, node.format_span or node.span, hint=hint)
    if FORMATS[node.format].is_topic and node.path != "-" and topic_of(node.path, node.span).key is not None:
        message = f"`{node.path}` names a second key of the records"
        hint = "without `?key=`: the key of `as latest by` is that of the records"
        raise failure("RQ555", message, node.latest_span, hint=hint)
