"""Windows and sessions of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.operators import Session, Window
from cedilla.compiler.operators.base import require_axis
from cedilla.compiler.plan.clauses import length_of
from cedilla.grammar import syntax


def session_of(
    facts: Mapping[str, Facts],
    units: Units,
    node: syntax.Session,
    common: dict[str, Any],
    inputs: tuple[str, ...],
) -> Session:
    """Builds a session window; its pause is in units of the axis."""
    require_axis(node.on, (), facts[inputs[0]], node.span, "session")
    type_ = facts[inputs[0]].types.get(node.on, Type("long"))
    gap = length_of(type_, node.gap, units.get(node.on))
    return Session(
        **common, inputs=inputs, gap=gap, on=node.on, per=node.per, alias=node.alias, on_type=type_
    )


def window_of(
    facts: Mapping[str, Facts],
    units: Units,
    node: syntax.Window,
    common: dict[str, Any],
    inputs: tuple[str, ...],
) -> Window:
    """Builds a window; its length and step are in units of the axis."""
    require_axis(node.on, (), facts[inputs[0]], node.span, "window")
    types = facts[inputs[0]].types
    type_ = types.get(node.on, Type("long"))
    unit = units.get(node.on)
    length = length_of(type_, node.length, unit)
    step = length if node.every is None else length_of(type_, node.every, unit)
    return Window(
        **common,
        inputs=inputs,
        length=length,
        step=step,
        on=node.on,
        alias=node.alias,
        on_type=type_,
    )
