"""What a unit accent stands for: for each unit in force among the tuples that it describes, an Alter (theory N4)."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.facts.markers import Accent, Alter, ToUnit
from cedilla.compiler.regions import Tree
from cedilla.grammar.diagnostics import failure


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
