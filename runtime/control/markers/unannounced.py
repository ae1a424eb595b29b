"""Names and types that `set drift = infer` gives to attributes that tuples contain and no marker has announced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from cedilla.compiler.changes import Add, Rename
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.markers import Accent, accent_text
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.plan.field_paths import FieldPath, field_path
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax import AddAttribute
from cedilla.runtime.connectors.records.rejections import OF_DRIFT
from cedilla.runtime.control.markers.accent_in_plan import check_accent
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.control.sources.text_forms import paths_of

MAX_INFERRED = 1_000
"""The most attributes beyond the declared ones with which `drift = infer` adds another. Keys that are values, such as
`{"meter 17": 5}`, would make an attribute each, and the work of an epoch grows with the square of their number."""
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


def keys_of(source: Source, paths: Mapping[str, FieldPath], field: str) -> FieldPath:
    """Returns the keys that lead to a field that nothing has announced. `paths`: those of the source's attributes."""
    return field_path(field, source.format) if paths else (field,)


def is_judged(source: Source, paths: Mapping[str, FieldPath], field: str) -> bool:
    """Returns True for a field next to declared attributes; other keys belong to an envelope."""
    return keys_of(source, paths, field)[:-1] in source.levels


def paths_beside(source: Source, state: SourceState, fields: Iterable[str]) -> dict[str, FieldPath]:
    """Returns the paths of attributes and of fields that nothing has announced; `source.paths` itself if no accent has
    changed them and no field is inside of an object."""
    paths = paths_of(source, state)
    beside = {field: keys for field in fields if (keys := keys_of(source, paths, field)) != (field,)}
    return {**paths, **beside} if beside else paths


def _name_of(source: Source, paths: Mapping[str, FieldPath], field: str) -> str:
    """Returns the name of a field as an attribute: inside of objects its last key, or all of its keys if several
    objects have attributes."""
    keys = keys_of(source, paths, field)
    return field if len(keys) == 1 else keys[-1] if len(source.levels) == 1 else "_".join(keys)


def is_inferable(source: Source, state: SourceState, field: str) -> bool:
    """Returns True if a field that nothing has announced can become an attribute."""
    return _refusal(source, state, field) == "RQ306"


def _refusal(source: Source, state: SourceState, field: str) -> str:
    paths = paths_of(source, state)
    name = _name_of(source, paths, field)
    if not is_name(name):
        return "RQ307"
    if name != field and (name in state.types or name in state.field_types):
        return "RQ362"
    return "RQ363" if len(state.types) - len(source.attributes) >= MAX_INFERRED else "RQ306"


def refusals(source: Source, state: SourceState, fields: Iterable[str], *, infers: bool) -> dict[str, str]:
    """Maps fields that nothing has announced to the codes that reject their tuples, the first one first."""
    codes = {field: _refusal(source, state, field) if infers else "RQ306" for field in sorted(fields)}
    return dict(sorted(codes.items(), key=lambda item: OF_DRIFT.index(item[1])))


def add_inferred(plan: Plan, states: dict[str, SourceState], source: str, field: str, type_: Type) -> None:
    """Adds the attribute of a field that a source sends unannounced, before all lines of its slice. Changes `states`.
    Raises `DiagnosticError` if an operator refuses it."""
    of = plan.source_of[source]
    attribute = _name_of(of, paths_of(of, states[source]), field)
    for primitive in (Add(attribute, type_), *([Rename(attribute, field)] if attribute != field else ())):
        accent = Accent(True, frozenset(), primitive, accent_text((), primitive))
        states[source] = with_accent(states[source], accent, -1)
        check_accent(plan, states, source, accent)
