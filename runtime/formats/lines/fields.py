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
from cedilla.runtime.formats.lines.blocks import Block, Places
from cedilla.runtime.formats.source import CORRUPT, FILE
from cedilla.runtime.records.nested import Paths

OWN_NAMES = frozenset(
    ("", "$accent", "$punctuation", CORRUPT, POSITION, FILE, "$reject", "$beyond", "$inside", "$number")
)
"""Names that columns of fields cannot have (docs/limits.md)."""

_NUMBERS = ("bigint", "decimal", "double")
"""The kinds of numbers; each includes the kinds before it."""


def of_rows(
    block: Block, bounds: tuple[Places, Places], item: Callable[[bytes], Mapping[str, Any]]
) -> dict[str, str]:
    """Maps each field in some rows of a block to the common kind of its values. `bounds`: the starts and ends of the
    rows. `item`: returns the object in a row; a row does not count if it raises `ValueError`."""
    if block.exceeds is not None:
        return {}
    kinds: set[tuple[str, str]] = set()
    for begin, end in zip(*(places.tolist() for places in bounds), strict=True):
        try:
            values = item(block.text[begin:end])
        except ValueError:
            continue
        kinds |= {(name, _kind_of(value)) for name, value in values.items()}
    return _common((name, kind) for name, kind in kinds if name not in OWN_NAMES)


def merged(kinds: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Merges the kinds of fields of the same name, in the order of names; fields that are always null become
    strings."""
    common_kinds = _common(kinds)
    return {name: "string" if kind == "void" else kind for name, kind in common_kinds.items()}


def _common(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Merges the kinds of fields of the same name; fields that are always null are `void`."""
    kinds: dict[str, set[str]] = {}
    for name, kind in fields:
        kinds.setdefault(name, set()).add(kind)
    return {name: reduce(_both, sorted(kinds[name])) for name in sorted(kinds)}


def without_paths(fields: Mapping[str, str], paths: Paths) -> dict[str, str]:
    """Excludes fields that are read under another name, or that a path begins with."""
    elsewhere = {*paths, *outer_keys(paths.values())}
    return {name: kind for name, kind in fields.items() if name not in elsewhere}


def _kind_of(value: Any) -> str:
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
            kinds: list[str] = [_kind_of(element) for element in value]  # type: ignore[reportUnknownVariableType]
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
