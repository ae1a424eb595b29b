"""The functions that lead from raw to canonical values: what a source undoes of Alters, recodes and other functions
(theory G8, N3, N11)."""

from __future__ import annotations

from attrs import evolve, frozen

from cedilla.compiler import regions
from cedilla.compiler.regions import Tree
from cedilla.runtime.control.accents.placed import Placed
from cedilla.runtime.control.accents.trees import rename_raw_values


@frozen
class Originals(Placed):
    """The functions from raw to canonical values, in trees over raw values."""

    def carried(self, attribute: str, functions: Tree, places: Tree) -> Originals:
        """Returns the trees after functions of an attribute: its own tree undoes them first, and all conditions by it
        change with them."""
        return evolve(
            self,
            here=rename_raw_values(self.here, attribute, functions),
            placed=rename_raw_values(self.placed, attribute, regions.restricted(functions, places)),
        )
