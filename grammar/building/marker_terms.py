"""From lark's tree to syntax nodes: accents and punctuations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lark import Token
from lark.tree import Meta

from cedilla.grammar import syntax
from cedilla.grammar.building.terms import TermBuilder
from cedilla.grammar.parsing.lalr import per_rule

if TYPE_CHECKING:
    pass


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

    def measured_value(self, meta: Meta, *parts: Any) -> syntax.Literal:
        return self.with_unit(meta, *parts)

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
        unit: str | None,
    ) -> tuple[syntax.AlterAttribute, ...]:
        span = self._span(meta)
        return tuple(
            syntax.AlterAttribute(name, mapping.parameter, mapping.body, inverse, unit, span=span)
            for name in _name_texts(names)
        )

    def alter_by_points(
        self, meta: Meta, names: Token | tuple[Token, ...], points: syntax.Points
    ) -> tuple[syntax.AlterAttribute, ...]:
        span = self._span(meta)
        return tuple(syntax.AlterAttribute(name, "", points, span=span) for name in _name_texts(names))

    def by_points(self, meta: Meta, *points: tuple[syntax.Literal, syntax.Literal]) -> syntax.Points:
        return syntax.Points(points, span=self._span(meta))

    def number(self, meta: Meta, *tokens: Token) -> syntax.Literal:
        return self.value(meta, *tokens)

    def signs(self, meta: Meta, *signs: Token | None) -> str:
        """Returns the decimal signs of texts, the comma first."""
        texts = sorted(self._string(sign) for sign in signs if sign is not None)
        if texts not in ([","], ["."], [",", "."]):
            self._report(
                "RQ164", "a decimal sign is a comma or a point", meta, '`","`, `"."`, or `"," or "."`'
            )
        return "".join(texts)

    def else_same(self, _meta: Meta) -> bool:
        return True

    def literals(self, _meta: Meta, *values: syntax.Literal | None) -> tuple[syntax.Literal, ...]:
        return tuple(value for value in values if value is not None)


def _name_texts(names: Token | tuple[Token, ...]) -> tuple[str, ...]:
    return tuple(map(str, names)) if isinstance(names, tuple) else (str(names),)
