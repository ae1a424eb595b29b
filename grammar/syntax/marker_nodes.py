# ruff: noqa: F403, F405
"""Syntax nodes of accents and punctuations."""

from __future__ import annotations

from attrs import evolve, frozen

from cedilla.grammar.syntax.expression_nodes import *


@frozen
class Inverse(Node):
    """The third argument of an alter, `y -> y / 2`."""

    parameter: str
    body: Expression


@frozen
class AddAttribute(Node):
    """`+(p: double)`, `+(p: double unit hPa)`."""

    name: str
    type: TypeName
    unit: str | None = None


@frozen
class DropAttribute(Node):
    """`-(p)`."""

    name: str


@frozen
class Points(Node):
    """`by points {(0, 0), (35.4, 100)}`: a function that is linear between points."""

    points: tuple[tuple[Literal, Literal], ...]


@frozen
class AlterAttribute(Node):
    """`alter(t, y -> y * 2)`; `inverse` only when it was written. `unit`: what values are in from there on,
    `alter(t, y -> y / 1000, unit km)`. `parameter` is empty for a function by points."""

    name: str
    parameter: str
    body: Expression | Points
    inverse: Inverse | None = None
    unit: str | None = None


@frozen
class GrowDomain(Node):
    """`grow(s, {3, 4})`."""

    name: str
    members: SetPattern


@frozen
class SetUnit(Node):
    """`unit(t, degC)`."""

    name: str
    unit: str


@frozen
class SetForm(Node):
    """Texts of an attribute have another form from here on."""

    name: str
    form: str


@frozen
class SetZone(SetForm):
    """`zone(at, "Europe/Berlin")`: times without an offset are local times of the zone."""


@frozen
class SetSign(SetForm):
    """`decimal(x, ",")`: numbers have this decimal sign; `form` is `,.` for both signs."""


@frozen
class RenameAttribute(Node):
    """`rename(temp, t)`, `rename("state.temp", t)`: `field` is the new name or path, `name` is `t`."""

    name: str
    field: str


@frozen
class RecodeAttribute(Node):
    """`recode(k, {"M": "male", "F": "female"})`: each pair an old value and its new one. With
    `else same`, other values stay."""

    name: str
    codes: tuple[tuple[Literal, Literal], ...]
    else_same: bool = False


@frozen
class MissingValues(Node):
    """`missing(x, {-999, 9999.9})`: these values mean undefined; without values, each value is itself again."""

    name: str
    values: tuple[Literal, ...]


@frozen
class SwapAttributes(Node):
    """`swap(a, b)`: each of two attributes has the place of the other."""

    name: str
    other: str


AtSource = RenameAttribute | RecodeAttribute | MissingValues | SwapAttributes
Primitive = (
    AddAttribute | DropAttribute | AlterAttribute | GrowDomain | SetUnit | SetZone | SetSign | AtSource
)


def changed_names(primitive: Primitive) -> tuple[str, ...]:
    """Returns the names of the attributes that a primitive changes."""
    return (primitive.name, primitive.other) if isinstance(primitive, SwapAttributes) else (primitive.name,)


@frozen
class AccentText(Node):
    """`[[description, primitive]]` (paper, section 2): the description is a conjunction, possibly empty."""

    description: tuple[Condition, ...]
    primitives: tuple[Primitive, ...]
    """One, or the same change of several attributes: `unit({day, total}, kWh)`."""

    @property
    def primitive(self) -> Primitive:
        """The only primitive. Raises `ValueError` if there are several; `singles` has each."""
        (primitive,) = self.primitives
        return primitive

    @property
    def singles(self) -> tuple[AccentText, ...]:
        """The accents of one attribute each, which hold together."""
        if len(self.primitives) == 1:
            return (self,)
        return tuple(evolve(self, primitives=(primitive,)) for primitive in self.primitives)


@frozen
class PunctuationText(Node):
    """`[ts <= 600, s = 2]`; no conditions, written `[]` or `[*]`, end the stream."""

    conditions: tuple[Condition, ...]
