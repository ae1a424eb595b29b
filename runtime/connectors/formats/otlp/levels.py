"""The objects inside the lists of many requests: each knows its line, and the object that contains it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import define, field

from cedilla.runtime.connectors.formats.lines.blocks import Places

pc: Any = pyarrow.compute


class Refused(Exception):
    """The lines are not in the form that is parsed here."""


@define
class Level:
    """Objects inside lists. `parents`: for each object, the number of the object with the list; `lines`: its line."""

    values: pa.StructArray
    parents: Places
    lines: Places

    def of(self, names: tuple[str, ...]) -> Level:
        """Returns the metrics with some names; all if `names` is empty."""
        if not names:
            return self
        return self._where(pc.is_in(self.values.field("name"), pa.array(names, pa.string())))

    def recorded(self) -> Level:
        """Returns the data points with a recorded value."""
        flags = self.values.field("flags")
        if flags.null_count == len(flags):
            return self
        return self._where(pc.equal(pc.bit_wise_and(pc.fill_null(flags, 0), 1), 0))

    def _where(self, kept: pa.BooleanArray) -> Level:
        chosen = kept.to_numpy(zero_copy_only=False).astype(bool)
        if chosen.all():
            return self
        return Level(self.values.filter(pa.array(chosen)), self.parents[chosen], self.lines[chosen])


def inside(lists: pa.ListArray, lines: Places) -> Level:
    """Returns the objects in lists; `lines`: the line of each list."""
    values, parents = lists.flatten(), pc.list_parent_indices(lists).to_numpy()
    if values.null_count:
        raise Refused
    return Level(values, parents, lines[parents])


def field_at(values: pa.StructArray, *keys: str) -> Any:
    """Returns the field of objects at a path of keys."""
    return pc.struct_field(values, list(keys))


@define(eq=False)
class Kind:
    """The data points of one kind of metrics, with the objects that contain them."""

    name: str
    points: Level
    metrics: Level
    scopes: Level
    resources: Level
    found: dict[str, tuple[Places, pa.StringArray, pa.StructArray]] = field(factory=dict[str, Any])

    @property
    def metric(self) -> Places:
        """The number of the metric of each point."""
        return self.points.parents

    @property
    def scope(self) -> Places:
        return self.metrics.parents[self.metric]

    @property
    def resource(self) -> Places:
        return self.scopes.parents[self.scope]

    def field_of_metric(self, *keys: str) -> pa.Array:
        """Returns for each point the value of a field of its metric."""
        return field_at(self.metrics.values, *keys).take(pa.array(self.metric))

    def attribute(self, root: str, key: str) -> pa.StructArray:
        """Returns for each point the `AnyValue` of an attribute of the point or its resource; of several, the last."""
        is_own = root == "attribute"
        owners = self.points.values if is_own else self.resources.values
        if root not in self.found:
            lists = field_at(owners, *(["attributes"] if is_own else ["resource", "attributes"]))
            pairs = lists.flatten()
            if pairs.null_count:
                raise Refused
            parents = pc.list_parent_indices(lists).to_numpy()
            self.found[root] = parents, pairs.field("key"), pairs.field("value")
        parents, names, values = self.found[root]
        hits = np.flatnonzero(pc.equal(names, key).fill_null(False).to_numpy(zero_copy_only=False))
        at = np.full(len(owners), -1)
        at[parents[hits]] = hits
        at = at if is_own else at[self.resource]
        return values.take(pa.array(at, mask=at < 0))
