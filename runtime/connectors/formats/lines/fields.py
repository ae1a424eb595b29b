"""The kinds of the values of fields: for attributes that nothing has announced (`set drift`), and for the schema of an
output without declaration.

Kinds of values have the names that Spark infers: a whole number is `bigint`, with more digits `decimal`; kinds with
nothing in common are `string`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

from cedilla.compiler.plan.field_paths import outer_keys
from cedilla.compiler.regions import POSITION
from cedilla.runtime.connectors.formats.lines.blocks import Block, Places
from cedilla.runtime.connectors.formats.source import CORRUPT, FILE, FieldKinds, Span
from cedilla.runtime.connectors.records.nested import Paths

OWN_NAMES = frozenset(
    ("", "$accent", "$punctuation", CORRUPT, POSITION, FILE, "$reject", "$beyond", "$inside", "$number")
)
"""Names that columns of fields cannot have (docs/limits.md)."""

_NUMBERS = ("bigint", "decimal", "double")
"""The kinds of numbers; each includes the kinds before it."""


def of_rows(
    block: Block, bounds: tuple[Places, Places], item: Callable[[bytes], Mapping[str, Any]]
) -> dict[str, FieldKinds]:
    """Maps each field in some rows of a block to the kinds of its values. `bounds`: the starts and ends of the rows.
    `item`: returns the object in a row; a row does not count if it raises `ValueError`."""
    if block.exceeds is not None:
        return {}
    names_with_kinds: dict[tuple[str, str], None] = {}
    for begin, end in zip(*(places.tolist() for places in bounds), strict=True):
        try:
            values = item(block.text[begin:end])
        except ValueError:
            continue
        names_with_kinds.update(dict.fromkeys((name, kind_of(value)) for name, value in values.items()))
    return merged(
        (name, FieldKinds(written(kind), kind)) for name, kind in names_with_kinds if name not in OWN_NAMES
    )


def merged(fields: Iterable[tuple[str, FieldKinds]]) -> dict[str, FieldKinds]:
    """Merges the kinds of fields of the same name, given in stream order; the result is in the order of names."""
    kinds: dict[str, list[FieldKinds]] = {}
    for name, kind in fields:
        kinds.setdefault(name, []).append(kind)
    return {
        name: FieldKinds(
            next((kind.first for kind in of_name if kind.first != "void"), "void"),
            reduce(_both, sorted({kind.common for kind in of_name})),
        )
        for name, of_name in sorted(kinds.items())
    }


def written(kind: str) -> str:
    """Returns the kind of the values that `set drift = infer` gives an attribute: a list or an object is its text, a
    whole number beyond 64 bits a double."""
    if kind == "struct" or kind.startswith("array<"):
        return "string"
    return "double" if kind == "decimal" else kind


def rows_within(bounds: tuple[Places, Places], span: Span) -> tuple[Places, Places]:
    """Returns the starts and ends of the rows that begin between two bytes of a block."""
    starts, ends = bounds
    if span[0] <= 0 and (not len(starts) or span[1] > starts[-1]):
        return bounds
    inside = (starts >= span[0]) & (starts < span[1])
    return starts[inside], ends[inside]


def without_paths(fields: Mapping[str, FieldKinds], paths: Paths) -> dict[str, FieldKinds]:
    """Excludes fields that are read under another name, or that a path begins with."""
    elsewhere = {*paths, *outer_keys(paths.values())}
    return {name: kind for name, kind in fields.items() if name not in elsewhere}


def kind_of(value: Any) -> str:
    """Returns the kind of a value of JSON."""
    match value:
        case None:
            return "void"
        case bool():
            return "boolean"
        case int():
            return "bigint" if -(2**63) <= value < 2**63 else "decimal" if abs(value) < 10**38 else "double"
        case float() | Decimal():
            return "double"
        case str():
            return "string"
        case list():
            kinds: list[str] = [kind_of(element) for element in value]  # type: ignore[reportUnknownVariableType]
            return f"array<{reduce(_both, kinds, 'void')}>"
        case _:
            return "struct"


def _both(one: str, other: str) -> str:
    """Returns the common kind of two kinds."""
    if one == other or other == "void":
        return one
    if one == "void":
        return other
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    if one.startswith("array<") and other.startswith("array<"):
        return f"array<{_both(one[6:-1], other[6:-1])}>"
    return "string"
