"""`grow(s, {3, 4})`: from here on the declared domain of an attribute has these values, too (theory N1)."""

from __future__ import annotations

from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler.changes.change import Before, Change, Context
from cedilla.compiler.changes.values import as_marker_error
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import DiagnosticError, Span
from cedilla.grammar.syntax import GrowDomain


@frozen
class Grow(Change):
    """`[[grow(s, {3})]]`: from here on the declared domain of an attribute has these values, too (theory N1)."""

    node: ClassVar = GrowDomain
    verb: ClassVar = "lets the domain grow of"
    keeps: ClassVar = "the domain of `{name}` does not grow"

    attribute: str
    members: Tree
    text: str
    span: Span | None = field(default=None, eq=False, repr=False)

    @classmethod
    def read(cls, node: GrowDomain, context: Context) -> Grow:
        """Raises RQ208 for a value that is not of the attribute's type."""
        try:
            members = patterns.value_set(node.name, context.types[node.name], node.members)
        except DiagnosticError as error:
            raise as_marker_error(error) from None
        return cls(node.name, members, "", node.span)

    def inverse(self, before: Before) -> None:
        """Returns `None`: tuples may have the values by now."""

    def __str__(self) -> str:
        return self.text
