"""Finds the data points of many requests that a newer name of their metric replaces (theory N16)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.formats.otlp.levels import Kind, Refused
from cedilla.runtime.connectors.records.otlp import MOMENTS, PointReader, instance_text

pc: Any = pyarrow.compute

OF_INSTANCE: Mapping[str, FieldPath] = {
    "time": ("time",),
    "scope": ("scope", "name"),
    "resource": ("resource", ""),
}
"""The identity that points of several names of one quantity share."""


def replaced_points(reader: PointReader, kinds: Sequence[Kind]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns True for each point of each kind if a newer name of it has a point of the same instance and time.

    Raises `Refused` if a resource has lists.
    """
    points = sum(len(kind.metric) for kind in kinds)
    if not reader.over or not points:
        return np.zeros(points, bool)
    names = pc.unique(kinds[0].metrics.values.field("name")).to_pylist()  # kinds share them
    if len(reader.ranks.keys() & names) < 2:
        return np.zeros(points, bool)
    instances = [_instances(kind, reader.ranks) for kind in kinds]
    keys = np.concatenate([keys for keys, _ in instances])
    ranks = np.concatenate([ranks for _, ranks in instances])
    _, same = np.unique(keys, axis=0, return_inverse=True)
    newest = np.full(len(keys), len(reader.ranks))
    np.minimum.at(newest, same.ravel(), ranks)
    return ranks > newest[same.ravel()]


def _instances(kind: Kind, ranks: Mapping[str, tuple[int, int]]) -> tuple[Places, Places]:
    """Returns what points of several names share, a row each, and the rank of each point's name: 0 is the newest."""
    of_metrics = [ranks.get(name, (-1, 0)) for name in kind.metrics.values.field("name").to_pylist()]
    rows = np.array(of_metrics, np.int64)[kind.metric]
    resources = _numbered(map(_instance, kind.resources.values.field("resource").to_pylist()))
    scopes = _numbered(pc.struct_field(kind.scopes.values, ["scope", "name"]).to_pylist())
    time = kind.points.values.field(MOMENTS["time"]).cast(pa.int64()).fill_null(-1).to_numpy()
    keys = (kind.points.lines, resources[kind.resource], scopes[kind.scope], time, rows[:, 0])
    return np.column_stack(keys), rows[:, 1]


def _numbered(texts: Iterable[str | None]) -> Places:
    """Returns the numbers of texts; equal texts have equal ones."""
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)


def _instance(resource: Mapping[str, Any] | None) -> str:
    """Returns the text of a resource's attributes. Raises `Refused` for lists, which are not read here."""
    attributes = (resource or {}).get("attributes") or []
    plain = [{**attribute, "value": _present(attribute.get("value") or {})} for attribute in attributes]
    if any({"arrayValue", "kvlistValue"} & attribute["value"].keys() for attribute in plain):
        raise Refused
    return instance_text(plain)


def _present(of: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in of.items() if value is not None}
