"""Attributes with a default, `x: double default 0`: the source reads them as optional, and a projection fills them.

Descriptions and punctuations speak of what tuples have, so nothing that the default does not concern is widened: an
accent or a punctuation of `x = 0` says nothing of the tuples without x (theory 1.3, computed y := g(x)).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.patterns import value_of
from cedilla.compiler.expressions.units.conversions import constant_in
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import declared_type_text
from cedilla.grammar.syntax import Attribute, AttributeDeclaration, Expression, Literal, ProjectItem, Scalar


def filled(node: syntax.StreamDeclaration) -> syntax.Project | None:
    """Returns the projection that fills the attributes of a source; `None` if none has a default.

    Raises RQ601 where no default is possible.
    """
    of = {declared.name: declared for declared in node.attributes if declared.default is not None}
    for name, why in _read_at_source(node):
        if name in of:
            raise failure("RQ601", f"`{name}` has a default, and {why}", of[name].span, hint=_LEFT_OUT)
    items = tuple(_item(declared, declared.default) for declared in of.values() if declared.default)
    if not items:
        return None
    return syntax.Project(items, syntax.Reference(node.name, span=node.span), True, (*of,), span=node.span)


def check_none(nodes: Iterable[AttributeDeclaration]) -> None:
    """Raises RQ601 for a default of an attribute that a user's operator returns."""
    for node in nodes:
        if node.default is not None:
            raise failure("RQ601", f"`{node.name}` is computed, and has a default", node.span, hint=_LEFT_OUT)


_LEFT_OUT = "leave `default` out"


def _read_at_source(node: syntax.StreamDeclaration) -> Iterator[tuple[str, str]]:
    """Yields the attributes that the source itself reads, before a default could fill them, and what for."""
    for declared in node.attributes:
        if isinstance(declared.unit, syntax.UnitFrom):
            yield declared.unit.attribute, f"names the unit of `{declared.name}` in each tuple"
    if node.partitioned is not None:
        yield node.partitioned, "tells the partitions of the topic apart"
    if node.changes is not None:
        for name in (*node.changes.keys, *(node.changes.latest or ())):
            yield name, "identifies the rows of a change stream"


def check_default(declared: AttributeDeclaration, type_: Type, unit: str | None) -> None:
    """Raises RQ103, RQ142 if a default is not a value of an attribute with a type and a unit."""
    if declared.default is None:
        return
    default = constant_in(declared.default, unit)
    value_of(type_, default)
    if expressions.type_of(_filling(declared, default), {declared.name: type_}) != type_:
        hint = f"a value of that type; or `{declared.name}: double`"
        raise failure("RQ103", f"{default.text} is not a value of type {type_}", default.span, hint=hint)


def _item(declared: AttributeDeclaration, default: Literal) -> ProjectItem:
    name, span, type_ = declared.name, default.span, Type.of(declared.type)
    if declared.optional or type_.element is not None or type_.name == "version":
        text = declared_type_text(declared.type)
        message, hint = (
            f"no constant is of the type of `{name}`",
            f"`{name}?: {text}`, which may be undefined",
        )
        if declared.optional:
            message = f"`{name}` is declared with `?` and with a default"
            hint = f"`{name}: {text} default {default.text}`, because with a default it is never undefined"
        raise failure("RQ601", message, declared.span, hint=hint)
    return ProjectItem(_filling(declared, default), name, span=span)


def _filling(declared: AttributeDeclaration, default: Literal) -> Expression:
    """Returns `coalesce(x, 0)` for `x: double default 0`."""
    name, span, value = declared.name, default.span, default.value
    constant: Expression = default
    if isinstance(value, str) and declared.type.name in ("timestamp", "date"):
        constant = Scalar(declared.type.name, (default,), span=span)
    elif not isinstance(value, str | bool) and value < 0:
        constant = syntax.Unary("-", evolve(default, value=-value, text=default.text[1:]), span=span)
    return Scalar("coalesce", (Attribute(name, span=declared.span), constant), span=span)
