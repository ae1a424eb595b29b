"""Units of canonical values, both declared and from Adds, of sources and of computed attributes; names of the units
that accents lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from cedilla.compiler.expressions.units.units import is_same, leads, of_differences
from cedilla.compiler.facts.markers import Accent
from cedilla.compiler.plan import Plan, Source, follow
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.control.sources.source_state import SourceState

Units = Mapping[str, str]


def source_units(source: Source, state: SourceState) -> Units:
    """Returns the declared units of a source; for other attributes, the unit in the first Add that names one."""
    return {**state.notes.added_units, **source.units} if state.notes.added_units else source.units


def relation_units(plan: Plan, states: Mapping[str, SourceState]) -> dict[str, dict[str, str]]:
    """Maps each relation to the units of its attributes that are known during a run."""
    return plan.units_with(
        {source.name: source_units(source, states[source.name]) for source in plan.sources}
    )


@frozen(eq=False)
class UnitNames:
    """The units of a relation's attributes, and the names of units after a function.

    `units`: those of canonical values. A name comes from the query, or from an accent of its streams, for the unit of
    an attribute that this one is made from: N*m of one attribute is J of another. An attribute may be made of
    differences, as a deviation is; then the names are those of differences. Pint is asked only if there is a name
    besides that of canonical values.
    """

    units: Units
    relation: str = ""
    plan: Plan | None = field(default=None, repr=False)
    states: Mapping[str, SourceState] = field(factory=dict[str, SourceState], repr=False)
    _names: dict[str, tuple[str, ...]] = field(factory=dict[str, tuple[str, ...]], init=False, repr=False)

    def of(self, attribute: str, function: Affine) -> str | None:
        """Returns the unit of values after a function from canonical ones; `None` if it has no name."""
        unit = self.units.get(attribute)
        if unit is None or function.is_identity:
            return unit
        if attribute not in self._names:  # a fleet may have one function for each device
            names = tuple(dict.fromkeys(self._candidate_names(attribute)))
            self._names[attribute] = names if unit in names else (*names, *of_differences(names))
        names = (name for name in self._names[attribute] if name != unit)
        return next((name for name in names if leads(function, unit, name)), None)

    def _candidate_names(self, attribute: str) -> Iterator[str]:
        """Yields names in the order of the query, then of the accents."""
        if self.plan is None:
            return
        accents: list[str] = []
        for source in self.plan.sources:
            state = self.states[source.name]
            units = source_units(source, state)
            choices = {a.name: a.unit_from[1] for a in source.attributes if a.unit_from is not None}
            for name in state.types:
                if name not in units or not self._is_made_from(source.name, name, attribute):
                    continue
                yield units[name]
                yield from choices.get(name, ())
                yield from self._of_outputs(source.name, name)
                accents += state.notes.named_units.get(name, ())
        yield from accents

    def _is_made_from(self, source: str, name: str, attribute: str) -> bool:
        assert self.plan is not None
        return (self.relation, attribute) in _carried(self.plan, source, name)

    def _of_outputs(self, source: str, name: str) -> Iterator[str]:
        """Yields the units that outputs give an attribute from the first tuple on (theory N6)."""
        assert self.plan is not None
        carried = _carried(self.plan, source, name)
        for emit in self.plan.emits:
            operator = self.plan.operator_of.get(emit.relation)
            if operator is not None and operator.fixes_units:
                (before,) = operator.inputs
                yield from (unit for attribute, unit in emit.units.items() if (before, attribute) in carried)


NO_NAMES = UnitNames({})


def _carried(plan: Plan, source: str, name: str) -> frozenset[tuple[str, str]]:
    """Returns the relations and attributes that an Alter of a source's attribute changes."""
    reactions = follow(plan, source, "alter", name)
    reached = {
        (operator.name, attribute) for operator, reaction in reactions for attribute in reaction.passes
    }
    return frozenset({(source, name), *reached})


def output_names(plan: Plan, states: Mapping[str, SourceState]) -> dict[str, UnitNames]:
    """Maps each output to the units of its attributes and their names."""
    added = any(state.notes.added_units for state in states.values())
    units = relation_units(plan, states) if added else {}
    return {
        emit.name: UnitNames({**units.get(emit.relation, {}), **emit.units}, emit.relation, plan, states)
        for emit in plan.emits
    }


def source_names(plan: Plan, source: Source, states: Mapping[str, SourceState]) -> UnitNames:
    """Returns the units of a source's attributes and their names."""
    return UnitNames(source_units(source, states[source.name]), source.name, plan, states)


def check_meetings(plan: Plan, states: Mapping[str, SourceState], accent: Accent) -> None:
    """Raises `DiagnosticError` RQ142 if an added attribute reaches an operator from two inputs in different units.
    Units are converted to each other only if both inputs declare them."""
    name = accent.primitive.attribute
    if sum(name in source_units(source, states[source.name]) for source in plan.sources) < 2:
        return
    units = relation_units(plan, states)
    for operator in plan.operators:
        met = [unit for i in operator.inputs if (unit := units[i].get(name)) is not None]
        if not operator.merges or len(met) < 2 or is_same(*met):
            continue
        raise failure(
            "RQ142",
            f"`{name}` comes to {operator.title} `{operator.name}` in {met[0]} and in {met[1]}",
            accent.span,
            hint=f"declared in both streams, `{name}?: double unit ...`, the one is converted to the other",
        )
