"""Project π: keeps, renames and computes attributes (paper, section 4; theory P1 to P4, G19, G20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from attrs import evolve, field

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregates.aggregate_parts import slope_of_alter
from cedilla.compiler.expressions.choices import choices
from cedilla.compiler.expressions.scalars import changing_functions
from cedilla.compiler.expressions.step_functions import Filled, ManyToOne, Step, stepped
from cedilla.compiler.expressions.types import DOUBLE, LONG, TIMESTAMP, Type
from cedilla.compiler.expressions.unit_inference import Units
from cedilla.compiler.expressions.units.exact_conversions import converted_type
from cedilla.compiler.facts.facts import (
    ABSENT,
    COMMON_HISTORY,
    NO_FEEDER,
    NO_STATE,
    PRESENT,
    PRESENT_IF_ALL,
    PRESENT_IF_ANY,
    Facts,
    StateFacts,
    fold_closed,
    fold_live_units,
    fold_presence,
    fold_units,
    map_history,
)
from cedilla.compiler.facts.schemes import Memory, Scheme, Schemes, folded, renamed
from cedilla.compiler.operators.shared.base import KINDS, Invariants, OpenGroups, Operator, Rules
from cedilla.compiler.operators.shared.conditions import condition_warnings
from cedilla.compiler.operators.shared.moves import Move, axes_of, views_of
from cedilla.compiler.regions import Operation, Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import Diagnostic, Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean, misspelt
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.parser import parse_expression
from cedilla.grammar.syntax import Attribute, Expression
from cedilla.grammar.syntax.classes import lean

_NOWHERE = Span("<*>", 0, 0, 1, 1, 1, 1)


def _parsed(items: Mapping[str, Expression | str]) -> dict[str, Expression]:
    return {name: parse_expression(e) if isinstance(e, str) else e for name, e in items.items()}


@lean(kw_only=True)
class Project(Operator):
    """`project[items](input)`; `items`: output attribute -> the expression that computes it.

    A plain attribute may not exist yet (P4). Everything read by a computed one must exist, and must not be dropped
    unless it is optional (G20). With `rest`, `project[*, items](input)`, all attributes of the input stay but those of
    `excepts`, later ones too; the items have other names than those that stay (J2). With `convert`, too, the items are
    attributes of the input in other units, and take their place: a Drop of one takes it away, whatever is computed.
    With `absorb` their units never change after it: Alters of them end here (theory N6), and they are doubles from
    the start, so that no Alter changes a type after it either. `differences`: the items that are differences of
    points of a scale, as of temperatures: an Alter scales these, and does not shift them (2.8).
    """

    items: dict[str, Expression] = field(converter=_parsed)
    rest: bool = False
    excepts: tuple[str, ...] = field(default=(), converter=tuple)
    convert: bool = False
    absorb: bool = False
    differences: tuple[str, ...] = field(default=(), converter=tuple)
    call: ClassVar[str] = "select"
    rules: ClassVar[Rules] = Rules("P1", "P1", "P1", merged=dict.fromkeys(KINDS, "G20"), partial="P3")

    @property
    def filled(self) -> frozenset[str]:
        return frozenset(self.items) if self.rest and self.items.keys() == {*self.excepts} else frozenset()

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(self.items.values())

    @property
    def conversions(self) -> dict[str, Affine]:
        """The functions that lead to the units of items that are attributes in other units."""
        forms = {name: expressions.affine(expression) for name, expression in self.items.items()}
        return {name: form[1] for name, form in forms.items() if form is not None}

    def chosen(self, names: Iterable[str]) -> dict[str, Expression]:
        """The items over an input with some attributes, those that stay by themselves too. An item in place of an
        attribute of the input has its place."""
        stays = (name for name in names if name not in self.excepts or name in self.items)
        rest = stays if self.rest else ()
        return {**{name: Attribute(name, span=_NOWHERE) for name in rest}, **self.items}

    def of_open_groups(self, rows: OpenGroups, types: Mapping[str, Type]) -> OpenGroups:
        items = self.chosen(types)
        names = {
            name: rows.names[item.name]
            for name, item in items.items()
            if isinstance(item, Attribute) and item.name in rows.names
        }
        steady = (name for name, item in items.items() if expressions.attributes(item) <= rows.steady)
        return OpenGroups(names, frozenset(steady))

    def conversion(self, name: str) -> Affine | None:
        """The function of an item that brings an attribute of the input to another unit, exactly (theory N12)."""
        if not self.convert or self.absorb or name not in self.items:
            return None
        form = expressions.affine(self.items[name])
        return None if form is None else form[1]

    def _type(self, name: str, expression: Expression, types: Mapping[str, Type]) -> Type:
        if (function := self.conversion(name)) is not None:
            return converted_type(expression, function, types[name])
        return expressions.remembered_type(expression, types)

    def conflict(self, inputs: tuple[Facts, ...]) -> str | None:
        """An attribute of the input that has the name of an item (J2)."""
        (source,) = inputs
        if not self.rest or self.convert:
            return None
        added = (name for name in self.items if name not in self.excepts)
        return next((name for name in added if source.may_have(name) is not False), None)

    @property
    def fixes_units(self) -> bool:
        return self.absorb

    def fixed_attributes(self, inputs: tuple[Facts, ...]) -> bool | None:
        exist = (expressions.attributes(e) <= inputs[0].types.keys() for e in self.items.values())
        return None if self.rest else all(exist)

    def carried_units(self, inputs: tuple[Units, ...]) -> dict[str, str]:
        (source,) = inputs
        return {
            name: source[item.name]
            for name, item in self.chosen(source).items()
            if isinstance(item, Attribute) and item.name in source
        }

    def check(self, inputs: tuple[Facts, ...]) -> list[Diagnostic]:
        (source,) = inputs
        if (
            self.rest
            and not self.convert
            and (taken := next((n for n in self.items if n in source.types and n not in self.excepts), None))
            is not None
        ):
            hint = "choose another name, or list the attributes to keep instead of `*`"
            raise failure("RQ138", f"`{taken}` is an attribute that `*` keeps already", self.span, hint=hint)
        for expression in self.items.values():
            if not isinstance(expression, Attribute):
                expressions.type_of(expression, source.types)
        absent = [name for name in self.excepts if name not in source.types]
        if self.excepts and not self.chosen(source.types):
            hint = "`project[a](R)` keeps one of them"
            raise failure("RQ102", "no attribute of the input stays", self.span, hint=hint)
        missing = {
            n: e for n, e in self.items.items() if not expressions.attributes(e) <= source.types.keys()
        }
        warnings = [
            warning
            for n, e in self.items.items()
            if n not in missing
            for warning in condition_warnings(e, source)
        ]
        later = [self._later(e, source) for e in missing.values() if isinstance(e, Attribute)]
        if not self.rest and len(missing) == len(self.items):
            hint = did_you_mean(next(iter(missing)), source.types, "attributes")
            raise failure("RQ102", "no attribute of the projection exists in its input", self.span, hint=hint)
        return warnings + later + [self._left_out_later(name, source) for name in absent]

    def _left_out_later(self, name: str, source: Facts) -> Diagnostic:
        """The warning about an attribute to leave out that does not exist yet. Raises RQ102 for a misspelt name."""
        if (near := misspelt(name, source.types.keys() - {*self.excepts})) is not None:
            hint = f"did you mean `{near}`?"
            raise failure("RQ102", f"unknown attribute `{name}` after `except`", self.span, hint=hint)
        return _not_yet(name, self.span, "it is left out once an accent adds it", source)

    def _later(self, attribute: Attribute, source: Facts) -> Diagnostic:
        """The warning about an attribute that does not exist yet (P4).

        Raises `DiagnosticError` where the name is a misspelt one (RQ102), or what SQL calls the time of day (RQ117).
        """
        name, read = attribute.name, frozenset[str]().union(*map(expressions.attributes, self.items.values()))
        if attribute.qualifier is not None:
            raise expressions.qualified(attribute, source.types)
        if name in expressions.EMPTY or changing_functions.is_changing(name):
            raise expressions.unknown_attribute(name, source.types, attribute.span)
        near = misspelt(name, source.types.keys() - read)
        if near is not None:
            hint = f"did you mean `{near}`? Or declare `{name}?: type`, if producers will send it later"
            raise failure("RQ102", f"unknown attribute `{name}`", attribute.span, hint=hint)
        later = "it appears in the output once an accent adds it"
        hint = f"declare `{name}?: type` in the stream if producers will send it later; "
        return _not_yet(name, attribute.span, later, source, hint)

    def facts(self, inputs: tuple[Facts, ...], state: StateFacts = NO_STATE) -> Facts:
        (source,) = inputs
        existing = {
            n: e
            for n, e in self.chosen(source.types).items()
            if expressions.attributes(e) <= source.types.keys()
        }
        axes = axes_of(existing, source.types)
        dropped = frozenset(source.types) - axes.keys()
        move = Move(axes, source.universe)
        types = {
            n: DOUBLE if self._absorbs(n) else self._type(n, e, source.types) for n, e in existing.items()
        }
        closed = fold_closed(source, dropped)
        moved_closed = move.closed(closed)

        def presence(expression: Expression) -> Tree:
            """As in `fold_presence`, and over the cells of a step function: closed cells keep their last presence."""
            tree = presence_of(source, expression)
            if not move.has_steps:
                return move(fold_presence(source, tree, dropped), PRESENT_IF_ANY, ABSENT)
            live = regions.update(tree, source.closed, lambda _: ABSENT)
            last, now = (
                move(regions.quantify(view, dropped, PRESENT_IF_ANY, source.universe), PRESENT_IF_ANY, ABSENT)
                for view in (tree, live)
            )
            return regions.choose(moved_closed, last, now)

        present = {name: presence(expression) for name, expression in existing.items()}
        units: dict[str, Tree] = {}
        for name, expression in existing.items():
            form = expressions.affine(expression)
            if form is not None and form[0] in source.units and not self._absorbs(name):
                folded = fold_live_units if move.has_steps else fold_units
                carry = carried(form[1], is_difference=name in self.differences)
                history = map_history(folded(source, form[0], dropped), carry)
                units[name] = move(history, COMMON_HISTORY, NO_FEEDER)
        views = (
            Move(view, source.universe).closed(closed) for view in views_of(axes, existing, source.types)
        )
        lacking = frozenset(
            name for name in types if not source.lacking.isdisjoint(expressions.attributes(existing[name]))
        )
        return Facts(types, move.domains(), present, units, regions.union(moved_closed, *views), lacking)

    @cached_property
    def _readers(self) -> dict[str, tuple[str, ...]]:
        """Attribute -> the items that read it."""
        readers: dict[str, tuple[str, ...]] = {}
        for name, expression in self.items.items():
            for read in expressions.attributes(expression):
                readers[read] = *readers.get(read, ()), name
        return readers

    def about(self, names: frozenset[str]) -> Project:
        chosen = {item for name in names for item in self._readers.get(name, ())}
        return evolve(self, items={name: self.items[name] for name in self.items if name in chosen})

    def moved(self, mentioned: str) -> str | None:
        """Returns the steps that descriptions name in place of an attribute, if it is rounded."""
        items = [self.items[name] for name in self._readers.get(mentioned, ())]
        if any(map(expressions.affine, items)):
            return None
        steps = (stepped(item, {mentioned: axis}) for item in items for axis in (TIMESTAMP, LONG))
        return "W5" if any(steps) else None

    def needs(self, inputs: tuple[Facts, ...], side: int) -> Mapping[str, str]:
        (source,) = inputs
        return {n: "G20" for n in sorted(self._computed_from()) if not source.may_be_undefined(n)}

    def reads(self, side: int) -> Mapping[str, str]:
        return {name: "N6" if self._absorbs(name) else "G20" for name in sorted(self._readers)}

    def choices_of(self, name: str) -> tuple[str, ...]:
        return tuple(out for out, expression in self.items.items() if name in choices(expression))

    def _absorbs(self, name: str) -> bool:
        return self.absorb and name in self.items

    def _computed_from(self) -> frozenset[str]:
        if self.convert:
            return frozenset()
        computed = (e for e in self.items.values() if not isinstance(e, Attribute))
        return frozenset[str]().union(*(expressions.attributes(e) for e in computed))

    def invariants(self, inputs: tuple[Facts, ...]) -> Invariants:
        (source,) = inputs
        items = self.chosen(source.types)
        axes = axes_of(items, source.types)
        dropped = [n for n in source.types if n not in axes]
        kept = ", ".join(axes) or "all tuples"
        rule = "everything that its input closes"
        if dropped:
            rule = f"values of {kept} once they are closed for every {' and every '.join(dropped)}"
        views = [axes, *views_of(axes, items, source.types)]
        steps = dict.fromkeys(
            t for view in views for t, function in view.values() if isinstance(function, ManyToOne)
        )
        rule += f"; a value of {', '.join(steps)} once all values that become it are closed" if steps else ""
        return Invariants("the items for every tuple", rule, "stateless")

    def schemes(self, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
        types = inputs[0].types
        items = self.chosen(types)
        axes = axes_of(items, types)
        views = [axes, *views_of(axes, items, types)]
        targets = [{name: target for name, (target, _) in view.items()} for view in views]
        kept = folded(promised[0], inputs[0], frozenset(types) - axes.keys())
        return frozenset[Scheme]().union(*(renamed(kept, names) for names in targets))

    def memory(self, inputs: tuple[Facts, ...]) -> tuple[Memory, ...]:
        (source,) = inputs
        axes = axes_of(self.chosen(source.types), source.types)
        kept = frozenset(axes)
        dropped = ", ".join(name for name in source.types if name not in kept)
        waiting = [f"accents for some {dropped}"] if dropped else []
        waiting += [
            f"accents for some {name} in the middle of a value of {target}"
            for name, (target, function) in axes.items()
            if isinstance(function, Step)
        ]
        filled = [target for target, function in axes.values() if isinstance(function, Filled)]
        waiting += [f"accents for the default of {', '.join(filled)} alone"] if filled else []
        return tuple(Memory(what=what, side=0, within=kept, accents=True) for what in waiting)

    def arguments(self) -> dict[str, Any]:
        rest = [" except ".join(filter(None, ("*", ", ".join(self.excepts))))] if self.rest else []
        return {"items": [*rest, *(_item_text(name, e) for name, e in self.items.items())]}


def _item_text(name: str, expression: Expression) -> str:
    text = format_expression(expression)
    return text if text == name else f"{text} as {name}"


def presence_of(source: Facts, expression: Expression) -> Tree:
    """Returns where an expression may be defined (G20)."""
    if all(source.present.get(name, ABSENT) == PRESENT for name in expressions.attributes(expression)):
        return PRESENT  # a short way for long expressions

    def folded(operation: Operation) -> Callable[[Iterable[Tree]], Tree]:
        def fold(trees: Iterable[Tree]) -> Tree:
            result: Tree = operation.neutral
            for tree in trees:
                result = regions.combine(result, tree, operation)
            return result

        return fold

    return expressions.defined(
        expression,
        lambda name: source.present.get(name, ABSENT),
        folded(PRESENT_IF_ALL),
        folded(PRESENT_IF_ANY),
    )


def carried(function: Affine, *, is_difference: bool = False) -> Callable[[Affine], Affine]:
    """α on x becomes g∘α∘g⁻¹ on g(x) (G20); a difference of points of a scale is only scaled (2.8)."""
    if is_difference:
        return slope_of_alter
    inverse = function.inverse()

    def carry(alter: Affine) -> Affine:
        return function.after(alter.after(inverse))

    return carry


def _not_yet(name: str, span: Span | None, later: str, source: Facts, hint: str = "") -> Diagnostic:
    message, help = f"`{name}` does not exist yet", f"{hint}known attributes: {', '.join(source.types)}"
    return Diagnostic("RQ106", "warning", message, span, (later,), help)
