"""Accents and punctuations for the control plane, and as wire text (design, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import evolve, field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.quantities import Quantities
from cedilla.compiler.regions import Tree, Value
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import ByPoints
from cedilla.compiler.regions.composition import Bent
from cedilla.compiler.regions.logarithms import Logarithm
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.formatting.expression_formatter import quote, signs_text, unit_text


@frozen
class Add:
    """`+X`: tuples may have the attribute from here on.

    `unit`: the unit of its values, if the Add names one. `function` converts to it from the canonical unit,
    if the attribute had a unit before.
    """

    attribute: str
    type: Type
    unit: str | None = None
    function: Affine = IDENTITY

    @property
    def converts(self) -> bool:
        """True if it is an Alter as well: its unit is not the canonical one."""
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
    """`≀X`: values from here on are `function` (α) of the values without the Alter.

    `unit`: the unit that the Alter names. `of`: the unit of canonical values if the two must be compared.
    `required`: the attributes that every tuple has until they are dropped.
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
    """`unit(X, v)`: values from here on are in a unit; `function` converts to it from the canonical one
    (theory N4).
    """

    attribute: str
    unit: str
    function: Affine

    def __str__(self) -> str:
        return f"unit({self.attribute}, {unit_text(self.unit)})"


@frozen
class ToLevel:
    """`unit(X, dBm)`: values from here on are levels, which are logarithms. The source undoes them (theory N7).

    `function`: to the unit from the canonical one.
    """

    attribute: str
    unit: str
    function: Logarithm

    def __str__(self) -> str:
        return f"unit({self.attribute}, {unit_text(self.unit)})"


@frozen
class Rename:
    """`rename(b, X)`: tuples from here on use the name b for the query's attribute X (theory N2). The name may be a
    path, `rename("state.b", X)` (N11)."""

    attribute: str
    name: str

    def __str__(self) -> str:
        return f"rename({unit_text(self.name)}, {self.attribute})"


@frozen
class Recode:
    """`recode(X, π)`: values from here on are mapped by a value mapping (theory N3)."""

    attribute: str
    code: ValueMapping
    type: Type

    def __str__(self) -> str:
        pairs = (f"{self.type.wire(before)}: {self.type.wire(after)}" for before, after in self.code.pairs)
        rest = "" if self.code.left_out is None else ", else same"
        return f"recode({self.attribute}, {{{', '.join(pairs)}}}{rest})"


@frozen
class SourceAlter:
    """An Alter by a function that falls or bends: the source undoes it, and no output announces it (theory N7, N11)."""

    attribute: str
    function: Bent

    def __str__(self) -> str:
        if isinstance(self.function, ByPoints):
            return f"alter({self.attribute}, {self.function.text('')})"
        parameter = "y" if self.attribute != "y" else "x"
        return f"alter({self.attribute}, {parameter} -> {self.function.text(parameter)})"


@frozen
class Missing:
    """`missing(X, V)`: values from here on that are undefined although a tuple has them (theory N11).

    `values`: as the producer writes them. They replace an earlier list.
    """

    attribute: str
    values: tuple[Value, ...]
    type: Type

    def __str__(self) -> str:
        return f"missing({self.attribute}, {{{', '.join(map(self.type.wire, self.values))}}})"


@frozen
class Swap:
    """`swap(X, Y)`: in tuples from here on each of two attributes has the place of the other (theory N11)."""

    attribute: str
    other: str

    def __str__(self) -> str:
        return f"swap({self.attribute}, {self.other})"


AtSource = Rename | Recode | SourceAlter | ToLevel | Missing | Swap
"""Primitives that the source undoes; no operator sees them, and no output announces them (theory N2, N3, N11)."""
Primitive = Add | Drop | Alter | ToUnit | AtSource


@frozen
class Accent:
    """`[[description, primitive]]`; the description is a region over raw values at the accent's position.

    `span`: the position of the primitive in the text; `places`: attribute -> the position of its first
    condition. `named`: names of tuples that the accent uses for attributes; it excludes tuples with other
    names for them (N2). `quantities`: the conditions with units, over canonical values; the description omits
    them.
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
class ToForm:
    """Texts of an attribute have another form from here on. `form`: a zone, or decimal signs."""

    what: ClassVar[str]
    attribute: str
    form: str
    text: str
    span: Span | None = field(default=None, eq=False, repr=False)


@frozen
class ToZone(ToForm):
    """`[[zone(at, "Europe/Berlin")]]`: times without an offset are of the zone from here on (theory N13)."""

    what: ClassVar[str] = "zone"

    def __str__(self) -> str:
        return f"zone({self.attribute}, {quote(self.form)})"


@frozen
class ToSign(ToForm):
    """`[[decimal(x, ",")]]`: numbers have this decimal sign from here on, a comma, a point, or `,.` for both."""

    what: ClassVar[str] = "decimal sign"

    def __str__(self) -> str:
        return f"decimal({self.attribute}, {signs_text(self.form)})"


def to_form(attribute: str, form: str, type_: Type) -> ToZone | ToSign:
    """Returns the accent that names the form of texts of an attribute."""
    change = (ToZone if type_.name == "timestamp" else ToSign)(attribute, form, "")
    return evolve(change, text=accent_text((), change))


EpochChange = Grow | ToZone | ToSign
"""An accent of all tuples that begins an epoch."""


@frozen
class Punctuation:
    """A promise that no more tuples match `pattern`, a region over raw values at its position.

    `named`, `quantities`: as in accents.
    """

    pattern: Tree
    text: str
    named: frozenset[str] = frozenset()
    quantities: Quantities = field(factory=dict[str, Tree], eq=False, repr=False)


def accent_text(conditions: tuple[str, ...], primitive: Primitive | ToForm) -> str:
    """Returns an accent in the wire format."""
    return f"[[{', '.join([*conditions, str(primitive)])}]]"


def punctuation_text(conditions: tuple[str, ...]) -> str:
    """Returns a punctuation in the wire format."""
    return f"[{', '.join(conditions)}]"
