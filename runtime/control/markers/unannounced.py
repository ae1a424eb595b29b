"""Names and types that `set drift = infer` gives to attributes that tuples contain and no marker has announced."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.markers import Accent, Add, accent_text
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AddAttribute
from cedilla.runtime.control.markers.accent_in_plan import check_accent
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sources.source_state import SourceState

INFERRED = {
    "bigint": Type("long"),
    "double": Type("double"),
    "string": Type("string"),
    "boolean": Type("boolean"),
    "timestamp": Type("timestamp"),
    "timestamp_ntz": Type("timestamp"),
    "date": Type("date"),
}
"""Maps the kind of the first value of a field to the attribute type under `set drift = infer`."""


def is_name(name: str) -> bool:
    """Returns True if accents can write a name, both in the Add of the attribute and in descriptions by it.

    Words of the language are names wherever they have no other meaning; `and` has one in descriptions.
    """
    try:
        accent = parse_accent(f"[[{name} = 0, +({name}: string)]]")
    except DiagnosticError:
        return False
    added = accent.primitive
    return isinstance(added, AddAttribute) and added.name == name


def inferred(value: Any) -> Type:
    """Returns the type that the first value of a field gives its attribute."""
    match value:
        case bool():
            return Type("boolean")
        case int() if -(2**63) <= value < 2**63:
            return Type("long")
        case int() | float() | Decimal():
            return Type("double")
        case _:  # a list or an object is its text
            return Type("string")


def add_inferred(
    plan: Plan, states: dict[str, SourceState], source: str, attribute: str, type_: Type
) -> None:
    """Adds an attribute that a source sends unannounced, before all lines of its slice. Changes `states`. Raises
    `DiagnosticError` if an operator refuses it."""
    primitive = Add(attribute, type_)
    accent = Accent(True, frozenset(), primitive, accent_text((), primitive))
    states[source] = with_accent(states[source], accent, -1)
    check_accent(plan, states, source, accent)
