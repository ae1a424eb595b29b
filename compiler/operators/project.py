"""Project π: keeps, renames and computes attributes (paper, section 4; theory P1 to P4, G19, G20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from attrs import field, frozen

from cedilla.compiler import expressions, regions
from cedilla.compiler.affine import IDENTITY, Affine
from cedilla.compiler.evolution import (
    ABSENT,
    COMMON,
    LEAST,
    MOST,
    NO_FEEDER,
    PRESENT,
    Facts,
    fold_closed,
    fold_presence,
    fold_units,
    map_history,
)
from cedilla.compiler.operators.base import Held, Invariants, Kind, Operator, Reaction, Signature, fail
from cedilla.compiler.regions import UNION, Box, Domain, Operation, Tree
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.formatter import format_expression
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Attribute, Expression


def _parsed(items: Mapping[str, Expression | str]) -> dict[str, Expression]:
    return {name: parse_expression(e) if isinstance(e, str) else e for name, e in items.items()}


@frozen(kw_only=True)
class Project(Operator):
    """`project[items](input)`; `items`: output attribute -> the expression that computes it.

    A plain attribute may not exist yet (P4). Everything read by a computed one must exist (G20).
    """

    items: dict[str, Expression] = field(converter=_parsed)
    title: ClassVar[str] = "Project"

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        for expression in self.items.values():
            if not isinstance(expression, Attribute):
                expressions.type_of(expression, source.types)
        if not any(expressions.attributes(e) <= source.types.keys() for e in self.items.values()):
            raise fail("RQ102", "no attribute of the projection exists in its input", self.span)
        missing = [n for n, e in self.items.items() if not expressions.attributes(e) <= source.types.keys()]
        return [
            Diagnostic(
                "RQ106",
                "warning",
                f"`{name}` does not exist yet",
                self.items[name].span,
                ("it appears in the output once an accent adds it (theory P4)",),
                f"known attributes: {', '.join(source.types)}",
            )
            for name in missing
        ]

    def facts(self, inputs: tuple[Facts, ...], held: Held = {}) -> Facts:  # noqa: B006
        (source,) = inputs
        existing = {n: e for n, e in self.items.items() if expressions.attributes(e) <= source.types.keys()}
        axes = self._axes(existing)
        dropped = frozenset(source.types) - axes.keys()
        move = _Move(axes)
        types = {n: expressions.type_of(e, source.types) for n, e in existing.items()}
        present = {
            name: move(fold_presence(source, presence_of(source, expression), dropped), MOST, ABSENT)
            for name, expression in existing.items()
        }
        units: dict[str, Tree] = {}
        for name, expression in existing.items():
            form = expressions.affine(expression)
            if form is not None and form[0] in source.units:
                history = map_history(fold_units(source, form[0], dropped), carried(form[1]))
                units[name] = move(history, COMMON, NO_FEEDER)
        universe = {
            renamed: Domain(move(domain.members, UNION, False), domain.integral and function.is_whole)
            for name, (renamed, function) in axes.items()
            if (domain := source.universe.get(name)) is not None
        }
        return Facts(types, universe, present, units, move(fold_closed(source, dropped), UNION, False))

    def _axes(self, items: Mapping[str, Expression]) -> dict[str, tuple[str, Affine]]:
        """Input attribute -> the output attribute that regions over it can speak of, and how."""
        axes: dict[str, tuple[str, Affine]] = {}
        for name, expression in items.items():
            if isinstance(expression, Attribute) and (expression.name == name or expression.name not in axes):
                axes[expression.name] = name, IDENTITY
        for name, expression in items.items():
            form = expressions.affine(expression)
            if form is not None and form[1].slope > 0 and form[0] not in axes:
                axes[form[0]] = name, form[1]
        return axes

    def signature(self, inputs: tuple[Facts, ...]) -> Signature:
        (source,) = inputs
        read = frozenset[str]().union(*(expressions.attributes(e) for e in self.items.values()))
        return Signature(
            foundation=tuple(sorted(self._computed_from())),
            accumulate=tuple(name for name in source.types if name not in read),
        )

    def _computed_from(self) -> frozenset[str]:
        computed = (e for e in self.items.values() if not isinstance(e, Attribute))
        return frozenset[str]().union(*(expressions.attributes(e) for e in computed))

    def reaction(
        self, kind: Kind, attribute: str, mentions: frozenset[str], inputs: tuple[Facts, ...], side: int
    ) -> Reaction:
        users = {n: e for n, e in self.items.items() if attribute in expressions.attributes(e)}
        if not users:  # the primitive is looked at before the description (G19)
            return Reaction("ignored", "P2")
        if kind == "drop" and attribute in self._computed_from():
            return Reaction("aborts", "G20")
        carried = tuple(
            n
            for n, e in users.items()
            if isinstance(e, Attribute) or (kind == "alter" and expressions.affine(e))
        )
        if not carried:
            return Reaction("absorbed", "G20")
        axes = self._axes(self.items)
        renamed = frozenset(axes[m][0] if m in axes else m for m in mentions)
        if not mentions <= axes.keys():
            return Reaction("accumulates", "P3", carried, renamed & frozenset(self.items))
        return Reaction("propagates", "P1", carried, renamed)

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        (source,) = inputs
        dropped = [n for n in source.types if n not in self._axes(self.items)]
        rule = f"patterns whose fibre over {', '.join(dropped)} is closed" if dropped else "every punctuation"
        return Invariants("every tuple", rule, "stateless")

    def parameters(self) -> dict[str, object]:
        return {"items": [_written(name, e) for name, e in self.items.items()]}

    def arguments(self) -> dict[str, str]:
        return {"items": repr({name: format_expression(e) for name, e in self.items.items()})}

    def code(self, inputs: tuple[str, ...]) -> str:
        items = {name: format_expression(e) for name, e in self.items.items()}
        return f"e.project({inputs[0]}, {items!r})"


def _written(name: str, expression: Expression) -> str:
    text = format_expression(expression)
    return text if text == name else f"{text} as {name}"


def presence_of(source: Facts, expression: Expression) -> Tree:
    result: Tree = PRESENT
    for name in expressions.attributes(expression):
        result = regions.combine(result, source.present.get(name, ABSENT), LEAST)
    return result


def carried(function: Affine) -> Callable[[Affine], Affine]:
    """α on x becomes g∘α∘g⁻¹ on g(x) (G20)."""
    inverse = function.inverse()

    def carry(alter: Affine) -> Affine:
        return function.after(alter.after(inverse))

    return carry


class _Move:
    """The image of a tree in the names and scales of the output."""

    def __init__(self, axes: Mapping[str, tuple[str, Affine]]) -> None:
        self.changed = {
            name: target for name, target in axes.items() if target[0] != name or not target[1].is_identity
        }

    def __call__(self, tree: Tree, operation: Operation, start: Tree) -> Tree:
        if not self.changed or not self.changed.keys() & regions.attributes(tree):
            return tree
        return regions.reshape(tree, self._image, operation, start)

    def _image(self, box: dict[str, Tree]) -> Iterable[Box]:
        yield dict(self._member(name, members) for name, members in box.items())

    def _member(self, name: str, members: Tree) -> tuple[str, Tree]:
        target, function = self.changed.get(name, (name, IDENTITY))
        if members is True or name not in self.changed:
            return target, members
        moved = regions.transform(members, name, function)
        return target, regions.renamed(moved, target)
