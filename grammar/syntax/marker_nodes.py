# ruff: noqa: F403, F405
"""Syntax nodes of accents and punctuations."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve

from cedilla.grammar.syntax.classes import lean
from cedilla.grammar.syntax.expression_nodes import *


@lean
class Inverse(Node):
    """The third argument of an alter, `y -> y / 2`."""

    parameter: str
    body: Expression


@lean
class AddAttribute(Node):
    """`+(p: double)`, `+(p: double unit hPa)`."""

    name: str
    type: TypeName
    unit: str | None = None


@lean
class DropAttribute(Node):
    """`-(p)`."""

    name: str


@lean
class Points(Node):
    """`by points {(0, 0), (35.4, 100)}`: a function that is linear between points."""

    points: tuple[tuple[Literal, Literal], ...]


@lean
class AlterAttribute(Node):
    """`alter(t, y -> y * 2)`; `inverse` only when it was written. `unit`: what values are in from there on,
    `alter(t, y -> y / 1000, unit km)`. `parameter` is empty for a function by points."""

    name: str
    parameter: str
    body: Expression | Points
    inverse: Inverse | None = None
    unit: str | None = None


@lean
class Change(Node):
    """A change of an attribute that a word names, as in `swap(a, b)`.

    `form`: how it is written. A hole `{field:rule:example}` is a field of the node, filled by a rule or a token of
    `rq.lark`; the rule `several` takes one attribute or a list of them. Parts in `[...]` may be missing. The rule of
    the grammar, the node, the text and the form in hints are made from it (`accent_forms`).
    """

    form: ClassVar[str]
    name: str


@lean
class GrowDomain(Change):
    """`grow(s, {3, 4})`."""

    form: ClassVar[str] = "grow({name:NAME:s}, {members:members:{3}})"
    members: SetPattern


@lean
class SetUnit(Change):
    """`unit(t, degC)`."""

    form: ClassVar[str] = "unit({name:several:t}, {unit:unit:degC})"
    unit: str


@lean
class SetForm(Change):
    """Texts of an attribute have another form from here on."""

    text_form: str


@lean
class SetZone(SetForm):
    """`zone(at, "Europe/Berlin")`: times without an offset are local times of the zone."""

    form: ClassVar[str] = 'zone({name:NAME:at}, {text_form:STRING:"Europe/Berlin"})'


@lean
class SetSign(SetForm):
    """`decimal(x, ",")`: numbers have this decimal sign; `text_form` is `,.` for both signs."""

    form: ClassVar[str] = 'decimal({name:NAME:x}, {text_form:signs:","})'


@lean
class RenameAttribute(Change):
    """`rename(temp, t)`, `rename("state.temp", t)`: `field` is the new name or path, `name` is `t`."""

    form: ClassVar[str] = "rename({field:field:new}, {name:NAME:old})"
    field: str


@lean
class RecodeAttribute(Change):
    """`recode(k, {"M": "male", "F": "female"})`: each pair an old value and its new one. With
    `else same`, other values stay."""

    form: ClassVar[str] = (
        "recode({name:NAME:k}, {codes:codes:{1: 2, 2: 1}}[, {else_same:else_same:else same}])"
    )
    codes: tuple[tuple[Literal, Literal], ...]
    else_same: bool = False


@lean
class MissingValues(Change):
    """`missing(x, {-999, 9999.9})`: these values mean undefined; without values, each value is itself again."""

    form: ClassVar[str] = "missing({name:several:x}, {values:literals:{-999}})"
    values: tuple[Literal, ...]


@lean
class SwapAttributes(Change):
    """`swap(a, b)`: each of two attributes has the place of the other."""

    form: ClassVar[str] = "swap({name:NAME:a}, {other:NAME:b})"
    other: str


@lean
class WrapValues(Change):
    """`wrap(x, 65536)`, `wrap(week, 1024 from 2048)`: values wrap around; `low` and `to` are where their range begins
    before and after."""

    form: ClassVar[str] = (
        "wrap({name:several:x}, {size:number:65536}[from {low:number:-32768}][to {to:number:0}])"
    )
    size: Literal
    low: Literal | None = None
    to: Literal | None = None


CHANGES: tuple[type[Change], ...] = (
    *(SetUnit, RenameAttribute, RecodeAttribute, MissingValues, SwapAttributes, WrapValues),
    *(GrowDomain, SetZone, SetSign),
)
"""The changes that a word names, in the order of hints."""
Primitive = AddAttribute | DropAttribute | AlterAttribute | Change


def changed_names(primitive: Primitive) -> tuple[str, ...]:
    """Returns the names of the attributes that a primitive changes."""
    return (primitive.name, primitive.other) if isinstance(primitive, SwapAttributes) else (primitive.name,)


@lean
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


@lean
class PunctuationText(Node):
    """`[ts <= 600, s = 2]`; no conditions, written `[]` or `[*]`, end the stream."""

    conditions: tuple[Condition, ...]
