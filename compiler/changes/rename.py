"""`rename(temp, t)`: tuples from here on use another name for an attribute (theory N2)."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from cedilla.compiler.changes.change import AtSource, Before, Context, Layer
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.syntax import RenameAttribute


@frozen
class Rename(AtSource):
    """`rename(b, X)`: tuples from here on use the name b for the query's attribute X (theory N2). The name may be a
    path, `rename("state.b", X)` (N11)."""

    node: ClassVar = RenameAttribute
    layer: ClassVar = Layer.NAME
    verb: ClassVar = "renames"
    keeps: ClassVar = "{what} comes by the name that it had"

    attribute: str
    name: str

    @classmethod
    def read(cls, node: RenameAttribute, context: Context) -> Rename:
        """Raises RQ460 if another attribute has the name, anywhere in the stream and at any time."""
        of = context.names.get(node.field, node.name)
        taken = node.field if node.field in context.types else of
        if taken != node.name:
            hint = f"if the two change places, send `swap({node.name}, {taken})`; else {_OTHER_NAME}"
            raise name_in_use(f"the accent renames `{node.name}`", node.field, taken, node.span, hint)
        return cls(node.name, node.field)

    def inverse(self, before: Before) -> Rename:
        return Rename(self.attribute, self.attribute)

    def __str__(self) -> str:
        return f"rename({unit_text(self.name)}, {self.attribute})"


_OTHER_NAME = "choose a name that the stream has never used"


def name_in_use(what: str, name: str, of: str, span: Span, hint: str = _OTHER_NAME) -> DiagnosticError:
    """Returns RQ460: `what` an accent does with a name that is of an attribute, `of`."""
    why = f"the stream has an attribute of this name, `{name}`"
    if name != of:
        why = f"`{name}` is another name of `{of}`"
    return failure("RQ460", f"{what}, and {why}", span, hint=hint)
