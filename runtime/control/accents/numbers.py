"""The types of altered numbers at a source: they stay exact where their functions are, others become doubles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from attrs import evolve, field, frozen

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import DOUBLE, Type
from cedilla.compiler.expressions.units.altered_decimals import WHOLE, keeps_whole, raw_type
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine

T = TypeVar("T")


@frozen
class Numbers:
    """The numbers of a source that are read otherwise than they are declared.

    `doubled`: whole numbers and decimals that an Alter has turned into doubles, or is about to. `digits`: attribute ->
    the digits after the point that its type had before (`near_digits`). `raw_types`: altered numbers that stay exact
    -> the type of their raw values (theory N12). `expected`: the raw types that the next accent is about to bring.
    """

    doubled: frozenset[str] = frozenset()
    digits: Mapping[str, int] = field(factory=dict[str, int])
    raw_types: Mapping[str, Type] = field(factory=dict[str, Type])
    expected: Mapping[str, Type] = field(factory=dict[str, Type])

    def with_double(self, attribute: str, type_: Type) -> Numbers:
        """Returns the numbers after an attribute has become a double. `type_`: its type before."""
        return evolve(
            self,
            doubled=self.doubled if type_ == DOUBLE else self.doubled | {attribute},
            digits={**self.digits, **_fraction_digits(attribute, type_)},
            raw_types=_without(self.raw_types, attribute),
        )

    def with_raw_type(self, attribute: str, raw: Type) -> Numbers:
        return evolve(self, raw_types={**self.raw_types, attribute: raw})

    def expecting(self, attribute: str, raw: Type | None) -> Numbers:
        """Returns the numbers before an accent that gives an attribute a raw type, or makes a double of it (`None`)."""
        if raw is None:
            return evolve(self, doubled=self.doubled | {attribute})
        return evolve(self, expected={**self.expected, attribute: raw})

    def as_expected(self, other: Numbers) -> Numbers:
        """Returns the numbers that expect what others do."""
        return evolve(self, doubled=other.doubled, expected=other.expected)

    def without(self, attribute: str) -> Numbers:
        """Returns the numbers without an attribute that the query no longer has."""
        return Numbers(
            self.doubled - {attribute},
            _without(self.digits, attribute),
            _without(self.raw_types, attribute),
            _without(self.expected, attribute),
        )

    def raw_type_after(self, attribute: str, type_: Type, histories: Tree, where: Tree) -> Type | None:
        """Returns the raw type of an attribute after Alters; `None` if they are not exact. `histories`: its functions
        then; `where`: the Alters over canonical values, `False` for unchanged cells.

        An identity makes doubles: with it, outputs announce them.
        """
        if IDENTITY in regions.leaves(where):
            return None
        before = self.raw_types.get(attribute)
        # Only altered whole numbers have one type for raw and canonical values.
        if type_.is_integral or before == type_:
            return WHOLE if keeps_whole(_last_functions(histories)) else None
        if type_.name != "decimal":
            return None
        if before is not None:
            new = _last_functions(regions.restricted(histories, where))
            if raw_type(type_, new, before) == before:
                return before
        return raw_type(type_, _last_functions(histories))

    def raw_type_bent(self, attribute: str, type_: Type, functions: Tree) -> Type | None:
        """Returns the raw type of a decimal under functions that may fall; `None` if one is not exact.
        `functions`: from canonical to raw values."""
        before = self.raw_types.get(attribute)
        return None if before == type_ == WHOLE else raw_type(type_, regions.leaves(functions), before)


def _without(mapping: Mapping[str, T], attribute: str) -> dict[str, T]:
    return {name: value for name, value in mapping.items() if name != attribute}


def _last_functions(histories: Tree) -> Iterable[Affine]:
    """Returns the functions from canonical to raw values in some cells; `False`: no cell."""
    return (h[-1] if h else IDENTITY for h in regions.leaves(histories) if h is not False)


def _fraction_digits(attribute: str, type_: Type) -> dict[str, int]:
    """Returns the number of digits after the point by attribute, for whole numbers and decimals; else an empty
    mapping."""
    if type_.name == "decimal":
        return {attribute: type_.parameters[1]}
    return {attribute: 0} if type_.is_integral else {}
