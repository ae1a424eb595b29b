"""`zone(at, "Europe/Berlin")`, `decimal(x, ",")`: texts of an attribute have another form from here on (theory N13)."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import evolve, field, frozen

from cedilla.compiler.changes.change import Before, Change, Context, Layer
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.expressions.types.zones import check_zone
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.formatting.expression_formatter import quote, signs_text
from cedilla.grammar.syntax import SetSign, SetZone


@frozen
class ToForm(Change):
    """Texts of an attribute have another form from here on. `form`: a zone, or decimal signs."""

    layer: ClassVar = Layer.TEXT
    what: ClassVar[str]

    attribute: str
    form: str
    text: str
    span: Span | None = field(default=None, eq=False, repr=False)

    def inverse(self, before: Before) -> ToForm | None:
        """Returns the form without the change; `None` if texts have a third one by now."""
        is_latest = before.form_now in (self.form, before.form)
        return to_form(self.attribute, before.form, before.type) if is_latest else None


@frozen
class ToZone(ToForm):
    """`[[zone(at, "Europe/Berlin")]]`: times without an offset are of the zone from here on (theory N13)."""

    node: ClassVar = SetZone
    what: ClassVar = "zone"
    verb: ClassVar = "names the zone of"
    keeps: ClassVar = "times of `{name}` stay in the zone that they had"

    @classmethod
    def read(cls, node: SetZone, context: Context) -> ToZone:
        """Raises RQ173 for an unknown zone, RQ208 if the attribute is not a timestamp."""
        type_ = context.types[node.name]
        if type_.name != "timestamp":
            message = f"`{node.name}` is of type {type_}; only timestamps have zones"
            raise failure("RQ208", message, node.span, hint="a `date` or a `string` has no moment")
        return cls(node.name, check_zone(node.text_form, node.span), "", node.span)

    def __str__(self) -> str:
        return f"zone({self.attribute}, {quote(self.form)})"


@frozen
class ToSign(ToForm):
    """`[[decimal(x, ",")]]`: numbers have this decimal sign from here on, a comma, a point, or `,.` for both."""

    node: ClassVar = SetSign
    what: ClassVar = "decimal sign"
    verb: ClassVar = "names the decimal sign of"
    keeps: ClassVar = "texts of `{name}` keep the decimal sign that they had"

    @classmethod
    def read(cls, node: SetSign, context: Context) -> ToSign:
        """Raises RQ208 if the attribute has no decimal sign."""
        type_ = context.types[node.name]
        if type_.name not in ("double", "decimal"):
            message = (
                f"`{node.name}` is of type {type_}; only `double` and `decimal(p, s)` have decimal signs"
            )
            hint = "a whole number has no sign, and a `string` is read unchanged"
            raise failure("RQ208", message, node.span, hint=hint)
        return cls(node.name, node.text_form, "", node.span)

    def __str__(self) -> str:
        return f"decimal({self.attribute}, {signs_text(self.form)})"


def to_form(attribute: str, form: str, type_: Type) -> ToZone | ToSign:
    """Returns the change that names the form of texts of an attribute."""
    change: Any = (ToZone if type_.name == "timestamp" else ToSign)(attribute, form, "")
    return evolve(change, text=f"[[{change}]]")
