"""What unit accents, and units that tuples name, stand for: an Alter for each unit among the tuples (theory N4, N5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import STRING
from cedilla.compiler.facts.markers import Accent, Add, Alter, ToUnit, accent_text
from cedilla.compiler.plan import Source
from cedilla.compiler.regions import Tree
from cedilla.compiler.units.units import conversion
from cedilla.grammar.diagnostics import failure


def first_alters(source: Source) -> Iterator[Accent]:
    """The Alters that a source begins with: for each unit that a tuple may name, of the tuples that name it, from the
    canonical unit to that one (theory N5)."""
    for attribute in source.attributes:
        if attribute.unit is None or attribute.unit_from is None:
            continue
        of, units = attribute.unit_from
        for unit in units:
            function = conversion(attribute.unit, unit)
            if not function.is_identity:
                alter = Alter(attribute.name, function)
                text = accent_text((f"{of} = {STRING.wire(unit)}",), alter)
                yield Accent(regions.values(of, [unit]), frozenset({of}), alter, text)


def with_unit(units: Mapping[str, str], added: Add) -> Mapping[str, str]:
    """The units that Adds have named, after one more: the first of each attribute. One that is converted has one."""
    if added.unit is None or added.attribute in units or added.converts:
        return units
    return {**units, added.attribute: added.unit}


def alters_of(
    accent: Accent, change: ToUnit, original: Tree, is_anywhere: Callable[[Tree], bool]
) -> list[Accent]:
    """The Alters that lead to the new unit; none for the tuples that are in it already.

    `original`: tree over raw values, the function that leads to the canonical one; `is_anywhere`: whether tuples of a
    raw region may have the attribute. Raises `DiagnosticError` RQ201 where only values of the attribute itself tell
    which unit is in force.
    """
    name = change.attribute
    alters: list[Accent] = []
    for undone, cell in regions.cells(original).items():
        function = change.function.after(undone)
        described = regions.intersection(accent.description, cell)
        if function.is_identity or described is False:
            continue
        if name in regions.attributes(described):
            why = f"which unit `{name}` is in depends on `{name}` itself"
            raise failure("RQ201", why, accent.span, hint="an alter says the function, whatever the unit")
        if is_anywhere(described):
            alters.append(evolve(accent, description=described, primitive=Alter(name, function)))
    return alters
