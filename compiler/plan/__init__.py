"""The plan of a query: sources, operators in topological order, emits and settings.

In: what the passes build. Out: the facts, units, order and reactions of every relation. Imports `operators`, `facts`,
`changes`, `expressions`, `regions` and the grammar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cedilla.grammar.first_use import on_first_use

if TYPE_CHECKING:
    from cedilla.compiler.plan.places import (
        at_paths,
        check_catalogs,
        check_paths,
        folders,
        is_within,
        printed_labels,
    )
    from cedilla.compiler.plan.plan import (
        DEFAULTS,
        SETTINGS,
        Emit,
        Plan,
        changed_by_state,
        derive,
        follow,
    )
    from cedilla.compiler.plan.sources import Attribute, Heartbeat, Source, StatedAccent, TableColumn

__all__ = [
    "DEFAULTS",
    "SETTINGS",
    "Attribute",
    "Emit",
    "Heartbeat",
    "Plan",
    "Source",
    "StatedAccent",
    "TableColumn",
    "at_paths",
    "changed_by_state",
    "check_catalogs",
    "check_paths",
    "derive",
    "folders",
    "follow",
    "is_within",
    "printed_labels",
]

_HOMES = {
    "places": ("at_paths", "check_catalogs", "check_paths", "folders", "is_within", "printed_labels"),
    "plan": ("DEFAULTS", "SETTINGS", "Emit", "Plan", "changed_by_state", "derive", "follow"),
    "sources": ("Attribute", "Heartbeat", "Source", "StatedAccent", "TableColumn"),
}
# Public names are imported on first use: connectors need parts of a plan only.
__getattr__ = on_first_use(__name__, {name: module for module, names in _HOMES.items() for name in names})
