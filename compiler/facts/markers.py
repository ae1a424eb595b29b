"""Accents and punctuations as the control plane sees them, and as wire text (design, section 6)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.quantities import Quantities
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.expression_formatter import unit_text


@frozen
class Add:
    """`+X`: tuples may have the attribute from here on.

    `unit`: in which they bring it, where the Add says so; `function` leads there from the canonical one, where the
    attribute had a unit before.
    """

    attribute: str
    type: Type
    unit: str | None = None
    function: Affine = IDENTITY

    @property
    def converts(self) -> bool:
        """Whether it is an Alter as well: to another unit than the canonical one."""
        return not self.function.is_identity

    def __str__(self) -> str:
        unit = "" if self.unit is None else f" unit {unit_text(self.unit)}"
        return f"+({self.attribute}: {self.type}{unit})"


@frozen
class Drop:
    """`−X`: tuples lack the attribute from here on."""

    attribute: str

    def __str__(self) -> str:
        return f"-({self.attribute})"


@frozen
class Alter:
    """`≀X`: values from here on are `function` (α) of what they would have been.

    `unit`: what it says that they are in then. `of`: the unit of canonical values, where that is known, so that it is
    to be checked; `required`: the attributes without which no tuple comes before they are dropped.
    """

    attribute: str
    function: Affine
    unit: str | None = None
    of: str | None = None
    required: frozenset[str] = field(default=frozenset(), eq=False, repr=False)

    def __str__(self) -> str:
        parameter = "y" if self.attribute != "y" else "x"
        unit = "" if self.unit is None else f", unit {unit_text(self.unit)}"
        return f"alter({self.attribute}, {parameter} -> {self.function.text(parameter)}{unit})"


@frozen
class ToUnit:
    """`unit(X, v)`: values from here on are in a unit; `function` leads there from the canonical one (theory N4)."""

    attribute: str
    unit: str
    function: Affine

    def __str__(self) -> str:
        return f"unit({self.attribute}, {unit_text(self.unit)})"


@frozen
class Rename:
    """`rename(b, X)`: tuples from here on bring by the name b what the query knows as X (theory N2)."""

    attribute: str
    name: str

    def __str__(self) -> str:
        return f"rename({self.name}, {self.attribute})"


@frozen
class Recode:
    """`recode(X, π)`: values from here on are what a code makes of what they would have been (theory N3)."""

    attribute: str
    code: ValueMapping
    type: Type

    def __str__(self) -> str:
        pairs = (f"{self.type.wire(before)}: {self.type.wire(after)}" for before, after in self.code.pairs)
        return f"recode({self.attribute}, {{{', '.join(pairs)}}})"


Primitive = Add | Drop | Alter | ToUnit | Rename | Recode


@frozen
class Accent:
    """`[[description, primitive]]`; the description is a region over raw values at the accent's position.

    `span`: the place of the primitive in the text; `places`: attribute -> that of its first condition. `named`: the
    names of tuples by which it says attributes, and which leave out the tuples that bring these by others (N2);
    `quantities`: what constants with units describe, over canonical values, and the description leaves out.
    """

    description: Tree
    mentions: frozenset[str]
    primitive: Primitive
    text: str
    span: Span | None = field(default=None, eq=False, repr=False)
    places: Mapping[str, Span] = field(factory=dict[str, Span], eq=False, repr=False)
    named: frozenset[str] = frozenset()
    quantities: Quantities = field(factory=dict[str, Tree], eq=False, repr=False)


@frozen
class Grow:
    """`[[grow(s, {3})]]`: from here on the declared domain of an attribute has these values, too (theory N1)."""

    attribute: str
    members: Tree
    text: str
    span: Span | None = field(default=None, eq=False, repr=False)


@frozen
class Punctuation:
    """No tuple that matches `pattern` comes any more; a region over raw values at its position. `named`, `quantities`:
    as in accents."""

    pattern: Tree
    text: str
    named: frozenset[str] = frozenset()
    quantities: Quantities = field(factory=dict[str, Tree], eq=False, repr=False)


def accent_text(conditions: tuple[str, ...], primitive: Primitive) -> str:
    """An accent in the wire format."""
    return f"[[{', '.join([*conditions, str(primitive)])}]]"


def punctuation_text(conditions: tuple[str, ...]) -> str:
    """A punctuation in the wire format."""
    return f"[{', '.join(conditions)}]"
