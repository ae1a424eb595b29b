"""Attributes that tuples bring and nothing has announced: which names and types `set drift = infer` gives them."""

from __future__ import annotations

from collections.abc import Iterable
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
"""What Spark finds or infers of a field -> the attribute type that `set drift = infer` gives it."""


def is_name(name: str) -> bool:
    """Whether accents can write the name of an attribute: that which adds it, and descriptions of tuples by it.

    Words of the language are names wherever they have no meaning; `and` has one in descriptions.
    """
    try:
        accent = parse_accent(f"[[{name} = 0, +({name}: string)]]")
    except DiagnosticError:
        return False
    added = accent.primitive
    return isinstance(added, AddAttribute) and added.name == name


def inferred(values: Iterable[Any]) -> Type | None:
    """The type of JSON values as Spark infers it; `None` where no attribute has one like it."""
    kinds = {_kind(value) for value in values if value is not None} or {"string"}
    if kinds <= {"bigint", "decimal", "double"}:
        kinds = {max(kinds, key=("bigint", "decimal", "double").index)}
    return INFERRED.get(kinds.pop() if len(kinds) == 1 else "string")


def _kind(value: Any) -> str:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "decimal" if abs(value) < 10**38 else "double"
    return _KINDS[type(value)]


_KINDS = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    Decimal: "double",
    str: "string",
    list: "array",
    dict: "struct",
}


def add_inferred(
    plan: Plan, states: dict[str, SourceState], source: str, attribute: str, type_: Type
) -> None:
    """Add an attribute that a source has begun to send unannounced, before all lines of its slice."""
    primitive = Add(attribute, type_)
    accent = Accent(True, frozenset(), primitive, accent_text((), primitive))
    states[source] = with_accent(states[source], accent, -1)
    check_accent(plan, states, source, accent)
