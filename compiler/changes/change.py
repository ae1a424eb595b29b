"""Specifications of changes: base classes, and the context that they are read in (theory 2.5, N1 to N13)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar

from attrs import field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.regions import Value
from cedilla.compiler.regions.function import Function
from cedilla.grammar.diagnostics import DiagnosticError, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean
from cedilla.grammar.syntax import Node

Types = Mapping[str, Type]
Names = Mapping[str, str]
"""Names in tuples -> attributes, for attributes that have another name in the query (theory N2)."""


class Layer(Enum):
    """The subjects of changes, from the outside in: a source undoes names first and values last."""

    NAME = "name"
    TEXT = "text"
    PLACE = "place"
    SENTINEL = "sentinel"
    VALUE = "value"


@frozen
class Context:
    """The attributes that a change is read with. `types`: those that exist or existed. `units`: of canonical values.
    `names`: of renames. `arrays`: an output is read, which alone may have arrays."""

    types: Types
    units: Units = field(factory=dict[str, str])
    names: Names = field(factory=dict[str, str])
    arrays: bool = False


@frozen
class Before:
    """The attribute of a change, for its inverse.

    `unit`: that of canonical values. `is_in_force`: returns True if all described tuples have a function. `form`: of
    texts without the change; `form_now`: by now.
    """

    type: Type
    unit: str
    is_in_force: Callable[[Function], bool]
    form: str
    form_now: str | None


class Change(ABC):
    """A change of the attributes of tuples, as an accent announces it.

    `node`: how it is written (`accent_forms`). `layer`: what it is about, `None` for facts such as presence. `verb`: of
    messages. `keeps`: what stays without it, with `{what}` for the attribute of some tuples, `{name}` for the attribute
    alone. `grouped`: accents of a fleet are applied as one step.
    """

    __slots__ = ()

    node: ClassVar[type[Node]]
    layer: ClassVar[Layer | None] = None
    verb: ClassVar[str]
    keeps: ClassVar[str]
    grouped: ClassVar[bool] = False

    attribute: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it changes."""
        return (self.attribute,)

    @property
    def kind(self) -> str:
        """The word that its text begins with, a kind of `set changes`."""
        return str(self).removeprefix("[[").partition("(")[0]

    @property
    def converts(self) -> bool:
        """True if values are other numbers from it on, as from an Alter."""
        return False

    @property
    def is_identity(self) -> bool:
        """True if it changes nothing where nothing else of its layer has come."""
        return False

    @classmethod
    @abstractmethod
    def read(cls, node: Any, context: Context) -> Change:
        """Returns the change of a node; its attribute exists. Raises `DiagnosticError` as the error pages
        say."""

    @abstractmethod
    def inverse(self, before: Before) -> Change | None:
        """Returns the change that undoes it for the tuples from here on; `None` if nothing does (theory N10)."""

    @abstractmethod
    def __str__(self) -> str:
        """Returns its text in accents."""


class AtSource(Change):
    """A change that the source undoes; no operator sees it, and no output announces it (theory N2, N3, N11)."""

    __slots__ = ()


@frozen
class SourceFunction(AtSource):
    """A change of values by a function that the source undoes."""

    layer: ClassVar = Layer.VALUE
    verb: ClassVar = "alters"
    keeps: ClassVar = "{what} stays in {unit}"

    attribute: str
    function: Function

    @property
    def converts(self) -> bool:
        return True


def parameter(attribute: str) -> str:
    """Returns the parameter of a function in an accent's text."""
    return "y" if attribute != "y" else "x"


def unknown(verb: str, name: str, types: Types, span: Span, hint: str | None = None) -> DiagnosticError:
    """Returns RQ207: an accent names an attribute that never existed."""
    guess = hint or did_you_mean(name, types, "attributes")
    return failure("RQ207", f"the accent {verb} `{name}`, which never existed", span, hint=guess)


def in_order(values: set[Value]) -> tuple[Value, ...]:
    """Returns values of one type in their order."""
    return tuple(sorted(values))  # type: ignore[type-var]
