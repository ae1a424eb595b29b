"""Data points of OpenTelemetry as tuples: the attributes of a stream in `otlp`, and their paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cedilla.compiler.plan.field_paths import TEXT, FieldPath, path_text
from cedilla.compiler.plan.formats import FORMATS
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean, suggest

if TYPE_CHECKING:
    from cedilla.compiler.plan.sources import Attribute

_NUMBERS = ("double", "decimal", "long", "int")
FIELDS: dict[str, tuple[str, ...]] = {
    "metric": ("string",),
    "unit": ("string",),
    "description": ("string",),
    "schema": ("string", "version"),
    "scope_version": ("string", "version"),
    "kind": ("string",),
    "temporality": ("string",),
    "monotonic": ("boolean",),
    "start": ("timestamp", "long"),
    "time": ("timestamp", "long"),
    "value": _NUMBERS,
    "count": _NUMBERS,
    "sum": _NUMBERS,
    "min": _NUMBERS,
    "max": _NUMBERS,
    "buckets": ("list of long", "string"),
    "bounds": ("list of double", "string"),
    "quantiles": ("list of double", "string"),
    "quantile_values": ("list of double", "string"),
}
"""The fields of a data point, and the types of an attribute that reads each of them."""
ROOTS = ("resource", "attribute", "scope")
"""The other maps of attributes that a data point has."""


def keys_in_point(name: str, keys: FieldPath = ()) -> FieldPath:
    """Returns the path of an attribute: the declared one, else the field of its name.

    An attribute that an accent added is an attribute of the point.
    """
    return keys or ((name,) if name in FIELDS else ("attribute", name))


def point_paths_after(paths: Mapping[str, FieldPath], names: Mapping[str, str]) -> dict[str, FieldPath]:
    """Returns the paths in data points after renames: a new name is a key where the attribute is, such as in the
    resource. `names`: new names -> attributes."""
    renamed = {
        name: type(of)((of[0], name))
        for name, attribute in names.items()
        if name not in paths and len(of := paths.get(attribute, ())) > 1
    }
    return {**paths, **renamed}


def check_points(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Checks the attributes of a stream of data points.

    Raises RQ104 if a metric is named twice, RQ147 if a format without metrics picks data points by their metric, RQ148
    if a data point has no such attribute, RQ149 if it is of another type.
    """
    if not FORMATS[node.format].has_requests:
        if node.metrics:
            hint = "use `select` to pick tuples of other formats"
            raise failure(
                "RQ147",
                f"`metrics` is only for streams of OpenTelemetry, and `{node.name}` has format `{node.format}`",
                node.span,
                hint=hint,
            )
        return
    if (twice := next((name for name in node.metrics if node.metrics.count(name) > 1), None)) is not None:
        hint = 'each metric once; a chain replaces in its order: `metrics "newest" over "newer" over "old"`'
        raise failure("RQ104", f"the metric `{twice}` is named twice", node.span, hint=hint)
    for declared in node.attributes:
        keys = attributes[declared.name].keys or (declared.name,)
        if origin_text(keys) is not None:
            continue
        span = declared.span if declared.origin is None else declared.origin.span
        if len(keys) == 1 and keys[0] in FIELDS:
            element = declared.type.element
            type_ = declared.type.name if element is None else f"list of {element.name}"
            if type_ not in FIELDS[keys[0]]:
                message = f"`{keys[0]}` of a data point cannot have the type {type_}"
                raise failure("RQ149", message, declared.span, hint=f"use {' or '.join(FIELDS[keys[0]])}")
        elif declared.type.element is not None and len(keys) == 2 and keys[0] in ROOTS:
            message = f"`{declared.name}` is a list, and attributes of a data point are read as texts"
            hint = f"`{declared.name}: string`, with the list as JSON; `buckets` and `bounds` are lists of numbers"
            raise failure("RQ149", message, declared.span, hint=hint)
        elif len(keys) != 2 or keys[0] not in ROOTS:
            message = f"a data point has no `{path_text(keys)}`"
            named = declared.origin is not None and declared.origin.root not in (None, TEXT)
            raise failure("RQ148", message, span, hint=_root(*keys) if named else _instead(*keys))


def _root(root: str, key: str) -> str:
    guess = suggest(root, ROOTS)
    return " or ".join(f'`from {name} "{key}"`' for name in ([guess] if guess else ROOTS))


def _instead(root: str, *rest: str) -> str:
    if root in ROOTS and rest:
        return f'`from {root} "{".".join(rest)}"`: the key with its dots'
    guess = did_you_mean(root, FIELDS, "fields") or ""
    return f'`from resource "{".".join((root, *rest))}"`, `from attribute ...` or `from scope ...`; {guess}'
