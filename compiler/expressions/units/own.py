"""Full names of the units that a query defines: `unit EUR; unit ct = EUR / 100;`.

A full name contains its definition, `[ct=EUR/100]`. Two queries of one process, and readers of an output, therefore
never mistake one unit for another. Does not import pint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from attrs import evolve, field, fields, frozen, has

from cedilla.compiler.expressions.units.names import WORD
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax import StatedAccent, UnitFrom

OWN = re.compile(r"\[([^\[\]=]+)=([^\[\]=]+)\]")
"""A full name inside of a unit: its short name and its definition."""
OF = " of "
"""Between a unit and its substance, as in `mg/dL of glucose`."""
PART = re.compile(rf"\[[^\]]*\]|\{{[^}}]*\}}|{WORD.pattern}")
"""A name inside of a unit: a full or bracketed one, an annotation, or a word."""


def short(name: str) -> str:
    """Returns a unit as the query writes it: `ct/kWh`."""
    return OWN.sub(r"\1", name)


@frozen
class OwnUnits:
    """The units of one query: `units` and `substances` map short names to full ones."""

    units: Mapping[str, str] = field(factory=dict[str, str])
    substances: Mapping[str, str] = field(factory=dict[str, str])

    def __bool__(self) -> bool:
        return bool(self.units or self.substances)

    def full(self, name: str) -> str:
        """Returns the full name of a unit; other names stay."""
        if name in self.units:
            return self.units[name]
        unit, of, substance = name.rpartition(OF)
        if of and substance in self.substances:
            return f"{self.full(unit)}{OF}{self.substances[substance]}"
        return PART.sub(lambda part: self.units.get(part[0], part[0]), name)

    def shown(self, text: str) -> str:
        """Returns a message with short names."""
        for name, full in (*self.units.items(), *self.substances.items()):
            text = text.replace(full, name)
        return text

    def named_in(self, node: Any) -> Any:
        """Returns a syntax node with full names of units. Stated accents keep their text and are read like others."""
        if not self:
            return node
        if isinstance(node, tuple):
            parts: Iterable[Any] = cast("tuple[Any, ...]", node)
            return tuple(map(self.named_in, parts))
        kind = cast("type[Any]", type(node))
        if not has(kind) or isinstance(node, Span | StatedAccent):
            return node
        changed: dict[str, Any] = {}
        for attribute in fields(kind):
            value = getattr(node, attribute.name)
            if attribute.name == "unit" and isinstance(value, str):
                new = self.full(value)
            elif isinstance(node, UnitFrom) and attribute.name == "units":
                new = tuple(map(self.full, node.units))
            else:
                new = self.named_in(value)
            if new is not value:
                changed[attribute.name] = new
        return evolve(node, **changed) if changed else node


NO_OWN_UNITS = OwnUnits()
