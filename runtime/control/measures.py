"""Units of canonical values: of a source, where Adds may bring some, and of what is computed from it."""

from __future__ import annotations

from collections.abc import Mapping

from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.operators import Join
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.units.units import is_same
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.source_state import SourceState

Units = Mapping[str, str]
NO_UNITS: Units = {}


def source_units(source: Source, state: SourceState) -> Units:
    """As they are declared; of other attributes as the first Add has it that names one."""
    return {**state.added_units, **source.units} if state.added_units else source.units


def relation_units(plan: Plan, states: Mapping[str, SourceState]) -> dict[str, dict[str, str]]:
    """Relation -> units of its attributes, as far as runs know them."""
    return plan.units_with(
        {source.name: source_units(source, states[source.name]) for source in plan.sources}
    )


def output_units(plan: Plan, states: Mapping[str, SourceState]) -> dict[str, Units]:
    """Output -> units of its attributes."""
    if not any(state.added_units for state in states.values()):
        return {emit.name: emit.units for emit in plan.emits}
    units = relation_units(plan, states)
    return {emit.name: {**units[emit.relation], **emit.units} for emit in plan.emits}


def check_meetings(plan: Plan, states: Mapping[str, SourceState], accent: Accent) -> None:
    """Raise RQ142 where two inputs of an operator bring the attribute that an Add has brought in two units: only where
    both are declared is the one converted to the other."""
    name = accent.primitive.attribute
    if sum(name in source_units(source, states[source.name]) for source in plan.sources) < 2:
        return
    units = relation_units(plan, states)
    for operator in plan.operators:
        met = [unit for i in operator.inputs if (unit := units[i].get(name)) is not None]
        if isinstance(operator, Join) or len(met) < 2 or is_same(*met):
            continue
        raise failure(
            "RQ142",
            f"`{name}` comes to {operator.title} `{operator.name}` in {met[0]} and in {met[1]}",
            accent.span,
            hint=f"declared in both streams, `{name}?: double unit ...`, the one is converted to the other",
        )
