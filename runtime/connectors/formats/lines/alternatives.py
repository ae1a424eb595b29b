"""Reads attributes with several paths at once: each path is a column of its own, and the columns become one.

Paths may exclude each other, `"state" or "state.reading"`. Rows with an object are then parsed apart from the others.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import evolve, field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import EitherPath, FieldPath, alternatives, leads_into
from cedilla.runtime.connectors.formats.lines.batches import TextBatches
from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.nested import Paths, all_paths

pc: Any = pyarrow.compute


@frozen
class PathBatches(TextBatches):
    """Makes batches of rows with paths to values. `paths`: those of attributes whose name is not the key."""

    paths: Paths = field(factory=dict[str, FieldPath], kw_only=True)

    @abstractmethod
    def parsed_with_paths(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        """Returns what `parsed` does, if each attribute has one path."""

    def parsed(self, text: bytes, starts: Places, ends: Places) -> list[pa.Array] | None:
        every = set(all_paths(self.paths))
        outer = sorted(keys for keys in every if any(leads_into(keys, k) for k in every))
        if not outer:
            if not any(isinstance(keys, EitherPath) for keys in self.paths.values()):
                return self.parsed_with_paths(text, starts, ends)
            return self._parsed_without(frozenset(), text, starts, ends)
        forms, form_of = np.unique(
            np.column_stack([_have_objects(keys[-1], text, starts, ends) for keys in outer]),
            axis=0,
            return_inverse=True,
        )
        pieces: list[list[pa.Array]] = []
        rows = [np.flatnonzero(form_of == n) for n in range(len(forms))]
        for some, form in zip(rows, forms, strict=True):
            objects = frozenset(keys for keys, is_object in zip(outer, form, strict=True) if is_object)
            if (columns := self._parsed_without(objects, text, starts[some], ends[some])) is None:
                return None
            pieces.append(columns)
        order = pa.array(np.argsort(np.concatenate(rows)))
        return [pa.concat_arrays(column).take(order) for column in zip(*pieces, strict=True)]

    def _parsed_without(
        self, objects: Set[FieldPath], text: bytes, starts: Places, ends: Places
    ) -> list[pa.Array] | None:
        """Returns the columns of rows with objects at some paths, and plain values at the other paths."""
        plain = set(all_paths(self.paths)) - objects
        types: dict[str, Type] = {}
        paths = {n: keys for n, keys in self.paths.items() if n not in self.types}
        columns_of: dict[str, list[str]] = {}
        for name, type_ in self.types.items():
            every = _present(alternatives(self.paths[name]), plain) if name in self.paths else [None]
            names = columns_of[name] = [name, *(f"{name}\0{n}" for n in range(1, len(every)))][: len(every)]
            types |= dict.fromkeys(names, type_)
            paths |= {name: keys for name, keys in zip(names, every, strict=True) if keys is not None}
        columns = evolve(self, types=types, paths=paths).parsed_with_paths(text, starts, ends)
        if columns is None or columns[-1].null_count < len(starts):
            return None
        one, odd = _merged(columns[:-1], columns_of, self.types, len(starts))
        return self.with_rows([*one, columns[-1]], odd, text, starts, ends)


def _have_objects(key: str, text: bytes, starts: Places, ends: Places) -> Any:
    """Returns a mask of the rows that seem to have an object by a key; the parser refuses them if they do not."""
    pattern = f'"{re.escape(key)}"[ \t]*:[ \t]*\\{{'
    if re.search(pattern.encode(), text) is None:
        return np.zeros(len(starts), bool)
    rows = [text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    objects = pc.match_substring_regex(pa.array(rows, pa.binary()), pattern)
    return objects.to_numpy(zero_copy_only=False)


def _present(every: Sequence[FieldPath], plain: Set[FieldPath]) -> list[FieldPath]:
    """Returns the paths that may lead to values, if there are plain values at some paths and objects at the others."""
    return [keys for keys in every if keys in plain and not any(leads_into(other, keys) for other in plain)]


def _merged(
    columns: Sequence[pa.Array],
    columns_of: Mapping[str, Sequence[str]],
    types: Mapping[str, Type],
    count: int,
) -> tuple[list[pa.Array], Any]:
    """Returns one column for each attribute, and a mask of the rows with different values. `columns_of`: the names of
    an attribute's columns, in order. `count`: the number of rows."""
    one: list[pa.Array] = []
    odd: Any = np.zeros(count, bool)
    at = iter(columns)
    for name, names in columns_of.items():
        value, *others = (next(at) for _ in names) if names else [pa.nulls(count, arrow_type(types[name]))]
        for other in others:
            both = pc.and_(pc.is_valid(value), pc.is_valid(other))
            differ = both if pa.types.is_list(value.type) else pc.and_(both, pc.not_equal(value, other))
            odd |= pc.fill_null(differ, False).to_numpy(zero_copy_only=False)
            value = pc.coalesce(value, other)
        one.append(value)
    return one, odd
