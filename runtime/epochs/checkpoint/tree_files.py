"""Trees of regions in a checkpoint: as JSON in a commit record, or, if they are large, in files of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from immutables import Map

from cedilla.compiler.facts.facts import History
from cedilla.compiler.regions import CELL, Level, PointChanges, Tree, Value
from cedilla.compiler.regions.affine import Affine
from cedilla.compiler.regions.function import Function
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.control.accents.trees import CACHE_SIZE
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.checkpoint.commits import KEPT_COMMITS

FOLDER = "trees"
"""The folder of trees in a checkpoint."""
_BASES = re.compile(r'"base": "([^"]+)"')


def bases(record: str) -> frozenset[str]:
    """The names of the tree files that the text of a commit record has."""
    return frozenset(_BASES.findall(record))


class Trees:
    """Stores the trees of a commit record: all in the record. `slot`: the name of the purpose of a tree."""

    def dump(self, slot: str, tree: Tree) -> Any:
        return dump_tree(tree)

    def load(self, slot: str, data: Any, leaf: Callable[[Any], Any]) -> Tree:
        if isinstance(data, dict) and "base" in data:
            base = self.base(slot, data["base"], leaf)
            if "points" not in data:
                return base
            points = base.points.update([(_load_value(v), load_tree(c, leaf)) for v, c in data["points"]])
            mutation = points.mutate()
            for value in data["without"]:
                del mutation[_load_value(value)]
            return load_tree(data, leaf, mutation.finish())
        return load_tree(data, leaf)

    def base(self, slot: str, name: str, leaf: Callable[[Any], Any]) -> Level:
        """The tree in a file of `CHECKPOINT/trees`."""
        raise AssertionError(f"{name} lies next to the record")


class StoredTrees(Trees):
    """Reads trees from files next to the commit record."""

    def __init__(self, documents: SealedFiles) -> None:
        self._documents = documents

    def base(self, slot: str, name: str, leaf: Callable[[Any], Any]) -> Level:
        return load_tree(self._documents.read(f"{FOLDER}/{name}"), leaf)


class TreeFiles(StoredTrees):
    """Large trees in files of their own. A record says which, and what has changed since at a few points, so an
    epoch costs no more for the accents that came long ago."""

    def __init__(self, documents: SealedFiles, run: int) -> None:
        super().__init__(documents)
        self._run = run
        self._bases: dict[str, tuple[str, PointChanges]] = {}
        self._epoch = 0
        self._count = 0
        self.used: dict[int, frozenset[str]] = {}

    def during(self, epoch: int) -> Trees:
        """To dump the record of an epoch."""
        self._epoch, self._count = epoch, 0
        return self

    def dump(self, slot: str, tree: Tree) -> Any:
        if not isinstance(tree, Level) or not (
            len(tree.points) >= costs.TREE_FILE or tree.weight >= CELL * costs.TREE_FILE_CELLS
        ):
            return dump_tree(tree)
        name, since = self._bases.get(slot, ("", None))
        if since is not None and tree is since.base:
            return {"base": name}
        if since is None or (changes := _changes(since, tree)) is None:
            name, changes = f"{self._epoch:012d}-{self._count}-{self._run}.json", {}
            self._count += 1
            self._documents.write(f"{FOLDER}/{name}", json.dumps(dump_tree(tree)))
            self._bases[slot] = name, PointChanges(tree)
        changed = Map({value: child for value, child in changes.items() if child is not None})
        return {
            "base": name,
            **dump_tree(Level(tree.attribute, tree.undefined, tree.cuts, tree.pieces, changed)),
            "without": [_dump_value(value) for value, child in changes.items() if child is None],
        }

    def base(self, slot: str, name: str, leaf: Callable[[Any], Any]) -> Level:
        base = super().base(slot, name, leaf)
        self._bases[slot] = name, PointChanges(base)
        return base

    def keep_only_used(self, epoch: int, names: frozenset[str]) -> None:
        """Remove the files that no kept record names."""
        before = frozenset[str]().union(*self.used.values())
        self.used[epoch] = names
        for old in sorted(self.used)[:-KEPT_COMMITS]:
            del self.used[old]
        for name in before.difference(*self.used.values()):
            self._documents.delete(f"{FOLDER}/{name}")


def _changes(since: PointChanges, tree: Level) -> dict[Value, Tree | None] | None:
    """The points that are other than in an older tree, or no more; `None` where they are many, or where many pieces are
    others."""
    base = since.base
    is_wide = len(tree.pieces) >= costs.TREE_FILE_PIECES and base.pieces != tree.pieces
    if base.attribute != tree.attribute or is_wide:
        return None
    changed = since.until(tree)
    changed = {value: child for value, child in changed.items() if base.points.get(value) != child}
    return changed if len(changed) <= len(tree.points) // costs.TREE_FILE_SHARE else None


def dump_tree(tree: Tree) -> Any:
    """A tree as JSON: a level is an object, a leaf anything else."""
    if not isinstance(tree, Level):
        return dump_leaf(tree)
    return {
        "attribute": tree.attribute,
        "undefined": dump_tree(tree.undefined),
        "cuts": [[_dump_value(value), after] for value, after in tree.cuts],
        "pieces": [dump_tree(piece) for piece in tree.pieces],
        "points": [[_dump_value(value), dump_tree(child)] for value, child in tree.points.items()],
    }


def load_tree(data: Any, leaf: Callable[[Any], Any], points: Map[Value, Tree] | None = None) -> Tree:
    """The tree that `dump_tree` wrote; `leaf` reads a leaf. `points`: those of the level, where they are known."""
    if not isinstance(data, dict):
        return leaf(data)
    return Level(
        data["attribute"],
        load_tree(data["undefined"], leaf),
        tuple((_load_value(value), after) for value, after in data["cuts"]),
        tuple(load_tree(piece, leaf) for piece in data["pieces"]),
        Map({_load_value(value): load_tree(child, leaf) for value, child in data["points"]})
        if points is None
        else points,
    )


def dump_leaf(leaf: Any) -> Any:
    """A leaf of a tree as JSON values."""
    if isinstance(leaf, tuple):
        return [dump_leaf(part) for part in leaf]
    if isinstance(leaf, Function):
        return _dump_function(leaf)
    return [_dump_value(value) for value in sorted(leaf)] if isinstance(leaf, frozenset) else leaf


@lru_cache(CACHE_SIZE)
def _dump_function(function: Function) -> Any:
    """A function as JSON values, the same ones for all the histories that it is in."""
    return function.dump()


def load_affine(data: list[str]) -> Affine:
    """Loads an affine function that `dump_leaf` wrote."""
    return Affine.load(*data)


def load_history(data: list[list[str]]) -> History:
    """Loads a history that `dump_leaf` wrote."""
    return _history(*map(tuple, data))


def load_values(data: list[Any]) -> frozenset[Value]:
    """Loads values that `dump_leaf` wrote."""
    return frozenset(map(_load_value, data))


@lru_cache(CACHE_SIZE)
def _history(*functions: tuple[str, str]) -> History:
    """One object for equal histories, as the markers had made them (`control`)."""
    return tuple(Affine.load(*f) for f in functions)


def _dump_value(value: Any) -> Any:
    return [str(value)] if isinstance(value, Fraction) else value


def _load_value(value: Any) -> Any:
    return Fraction(value[0]) if isinstance(value, list) else value
