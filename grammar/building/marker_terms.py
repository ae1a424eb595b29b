"""From lark's tree to syntax nodes: accents and punctuations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lark import Token
from lark.tree import Meta

from cedilla.grammar import syntax
from cedilla.grammar.building.terms import ASCII, TermBuilder
from cedilla.grammar.parsing.lalr import per_rule

if TYPE_CHECKING:
    from cedilla.grammar.syntax import Expression


@per_rule
class MarkerBuilder(TermBuilder):
    """One method per rule of `rq.lark`. Adds errors to `problems` and continues."""

    def accent(self, meta: Meta, *parts: Any) -> syntax.AccentText:
        *conditions, change = parts
        changes = cast("tuple[syntax.Primitive, ...]", change if isinstance(change, tuple) else (change,))
        return syntax.AccentText(tuple(conditions), changes, span=self._span(meta))

    def punctuation(self, meta: Meta, *conditions: syntax.Condition | None) -> syntax.PunctuationText:
        named = tuple(condition for condition in conditions if condition is not None)
        return syntax.PunctuationText(named, span=self._span(meta))

    def condition(
        self,
        meta: Meta,
        attribute: Token,
        pattern: syntax.Comparison | syntax.SetPattern | syntax.RangePattern | syntax.Wildcard,
    ) -> syntax.Condition:
        return syntax.Condition(str(attribute), pattern, span=self._span(meta))

    def compared(self, meta: Meta, operator: Token, value: syntax.Literal) -> syntax.Comparison:
        sign = cast("syntax.Comparator", ASCII.get(operator, str(operator)))
        return syntax.Comparison(sign, value, span=self._span(meta))

    def quantity(self, _meta: Meta, value: syntax.Literal) -> syntax.Literal:
        return value

    def measured_value(self, meta: Meta, *parts: Any) -> syntax.Literal:
        return self.with_unit(meta, *parts)

    def wildcard(self, meta: Meta) -> syntax.Wildcard:
        return syntax.Wildcard(span=self._span(meta))

    def add(
        self, meta: Meta, name: Token, type: syntax.TypeName, _unit: Token | None, unit: str | None
    ) -> syntax.AddAttribute:
        return syntax.AddAttribute(str(name), type, unit, span=self._span(meta))

    def several(self, meta: Meta, *names: Token) -> tuple[Token, ...]:
        if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
            self._report("RQ001", f"`{twice}` is named twice", meta, "each attribute once")
        return names

    def drop(self, meta: Meta, *names: Token) -> tuple[syntax.DropAttribute, ...]:
        return tuple(syntax.DropAttribute(str(n), span=self._span(meta)) for n in self.several(meta, *names))

    def alter(
        self,
        meta: Meta,
        names: Token | tuple[Token, ...],
        mapping: syntax.Inverse,
        inverse: syntax.Inverse | None,
        _unit: Token | None,
        unit: str | None,
    ) -> tuple[syntax.AlterAttribute, ...]:
        span = self._span(meta)
        return tuple(
            syntax.AlterAttribute(name, mapping.parameter, mapping.body, inverse, unit, span=span)
            for name in _each(names)
        )

    def alter_by_points(
        self, meta: Meta, names: Token | tuple[Token, ...], points: syntax.Points
    ) -> tuple[syntax.AlterAttribute, ...]:
        span = self._span(meta)
        return tuple(syntax.AlterAttribute(name, "", points, span=span) for name in _each(names))

    def by_points(self, meta: Meta, *points: tuple[syntax.Literal, syntax.Literal]) -> syntax.Points:
        return syntax.Points(points, span=self._span(meta))

    def point(
        self, _meta: Meta, before: syntax.Literal, after: syntax.Literal
    ) -> tuple[syntax.Literal, syntax.Literal]:
        return before, after

    def number(self, meta: Meta, *tokens: Token) -> syntax.Literal:
        return self.value(meta, *tokens)

    def grow(self, meta: Meta, _grow: Token, name: Token, members: syntax.SetPattern) -> syntax.GrowDomain:
        return syntax.GrowDomain(str(name), members, span=self._span(meta))

    def to_unit(
        self, meta: Meta, _unit: Token, names: Token | tuple[Token, ...], unit: str
    ) -> tuple[syntax.SetUnit, ...]:
        return tuple(syntax.SetUnit(name, unit, span=self._span(meta)) for name in _each(names))

    def to_zone(self, meta: Meta, _zone: Token, name: Token, zone: Token) -> syntax.SetZone:
        return syntax.SetZone(str(name), self._string(zone), span=self._span(meta))

    def renaming(self, meta: Meta, _rename: Token, field: Token, name: Token) -> syntax.RenameAttribute:
        return syntax.RenameAttribute(str(name), self.unit(meta, field), span=self._span(meta))

    def recoding(
        self, meta: Meta, _recode: Token, name: Token, *parts: tuple[syntax.Literal, syntax.Literal] | None
    ) -> syntax.RecodeAttribute:
        *codes, else_same = parts
        pairs = tuple(code for code in codes if code is not None)
        return syntax.RecodeAttribute(str(name), pairs, else_same is not None, span=self._span(meta))

    def else_same(self, _meta: Meta) -> tuple[()]:
        return ()

    def code(
        self, _meta: Meta, before: syntax.Literal, after: syntax.Literal
    ) -> tuple[syntax.Literal, syntax.Literal]:
        return before, after

    def swap(self, meta: Meta, _swap: Token, name: Token, other: Token) -> syntax.SwapAttributes:
        if name == other:
            self._report("RQ001", f"`{name}` is named twice", meta, "two attributes")
        return syntax.SwapAttributes(str(name), str(other), span=self._span(meta))

    def missing(
        self,
        meta: Meta,
        _missing: Token,
        names: Token | tuple[Token, ...],
        *values: syntax.Literal | None,
    ) -> tuple[syntax.MissingValues, ...]:
        span, listed = self._span(meta), tuple(value for value in values if value is not None)
        return tuple(syntax.MissingValues(name, listed, span=span) for name in _each(names))

    def mapping(self, meta: Meta, parameter: Token, body: Expression) -> syntax.Inverse:
        return syntax.Inverse(str(parameter), body, span=self._span(meta))

    unit_mapping = mapping


def _each(names: Token | tuple[Token, ...]) -> tuple[str, ...]:
    return tuple(map(str, names)) if isinstance(names, tuple) else (str(names),)
