"""Conditions that likely mean something else than they say: SQL's lists, versions as texts, and what no tuple can
meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from cedilla.compiler import regions
from cedilla.compiler.expressions import expressions, predicates
from cedilla.compiler.expressions.types import STRING, Type, patterns
from cedilla.compiler.expressions.types.nearest import nearest, written
from cedilla.compiler.expressions.types.versions import is_like_version
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.regions import ANYTHING, Domain, Tree
from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import (
    Attribute,
    Binary,
    Expression,
    InRange,
    InSet,
    Literal,
    RangePattern,
    SetPattern,
)

_LISTED = ("int", "long", "decimal", "string", "date")
"""Types whose values are listed rather than measured: two of them in parentheses read like a list."""


def condition_warnings(expression: Expression, facts: Facts) -> list[Diagnostic]:
    """Warnings about an expression that has its types: RQ125 (reads like SQL's list), RQ126 (is never true), RQ243
    (compares versions as texts)."""
    warnings = [
        warning for part in expressions.parts(expression) for warning in condition_warnings(part, facts)
    ]
    match expression:
        case InRange(operand, pattern, negated):
            warnings += _of_range(operand, pattern, negated, facts, expression.span)
        case InSet(operand, values):
            warnings += _of_set(operand, values, facts)
        case Binary("=", Attribute() as operand, Literal() as value):
            warnings += _of_set(operand, (value,), facts)
        case Binary(operator, operand, Literal() as value) | Binary(
            operator, Literal() as value, operand
        ) if operator in _BOUNDS:
            warnings += _of_bound(operand, (value,), facts)
        case _:
            pass
    if warnings or not isinstance(expression, Binary | InRange):
        return warnings
    possible = predicates.possible(expression, facts.types)
    universe = _with_undefined(facts, regions.attributes(possible))
    return [_never(expression)] if regions.is_empty(possible, universe) else []


def domain_warnings(name: str, type_: Type, domain: SetPattern | RangePattern) -> list[Diagnostic]:
    """The same about a declared domain."""
    if not isinstance(domain, RangePattern):
        return []
    whole = Facts({name: type_}, {name: Domain(True, type_.is_integral)}, {})
    return list(_of_range(Attribute(name, span=domain.span), domain, False, whole, domain.span))


def _of_range(
    operand: Expression, pattern: RangePattern, negated: bool, facts: Facts, span: Span
) -> Iterator[Diagnostic]:
    bounds = tuple(bound for bound in (pattern.low, pattern.high) if bound is not None)
    if versions := _of_bound(operand, bounds, facts):
        yield from versions
        return
    if pattern.low is None or pattern.high is None or pattern.low_closed != pattern.high_closed:
        return
    type_ = expressions.type_of(operand, facts.types)
    if pattern.low_closed and type_.name != "string":  # `a in [1, 5]` is how a range is written
        return
    tested, word = format_expression(operand), "not in" if negated else "in"
    low, high = pattern.low.text, pattern.high.text
    list_ = f"`{tested} {word} {{{low}, {high}}}`"
    text = f"[{low}, {high}]" if pattern.low_closed else f"({low}, {high})"
    members = patterns.value_set("x", type_, pattern)
    if regions.is_empty(members, {"x": Domain(True, type_.is_integral)}):
        what = "whole number" if type_.is_numeric else "value"
        message = f"`{tested} in {text}` is never true"
        why = (f"it is a range, and no {what} lies between {low} and {high}",)
        yield Diagnostic("RQ126", "warning", message, span, why, f"did you mean {list_}?")
    elif type_.name in _LISTED:
        message = f"`{tested} {word} {text}` is a range, not a list of two values"
        or_equal = "=" if pattern.low_closed else ""
        both = f"{tested} >{or_equal} {low} and {tested} <{or_equal} {high}"
        says = f"not ({both})" if negated else both
        why, help = (f"it says `{says}`, which is clearer",), f"did you mean {list_}?"
        yield Diagnostic("RQ125", "warning", message, span, why, help)


_BOUNDS = ("<", "<=", ">", ">=")


def _of_bound(operand: Expression, bounds: tuple[Literal, ...], facts: Facts) -> list[Diagnostic]:
    """The first of the bounds of a string that looks like a version."""
    like = next((bound for bound in bounds if is_like_version(bound.value)), None)
    if like is None or expressions.type_of(operand, facts.types) != STRING:
        return []
    return [text_bound(format_expression(operand), like.text, like.span)]


def text_bound(tested: str, bound: str, span: Span | None) -> Diagnostic:
    """Returns warning RQ243 about a bound of a string, in its written form, that looks like a version."""
    message = f"`{tested}` is a string, and {bound} looks like a version"
    why = ('strings are compared letter by letter: "10.0.0" comes before "2.0.0"',)
    help = f"`{tested}: version` where it is declared compares the numbers between the dots"
    return Diagnostic("RQ243", "warning", message, span, why, help)


def _of_set(operand: Expression, values: tuple[Literal, ...], facts: Facts) -> Iterator[Diagnostic]:
    """The values that the attribute cannot have."""
    if not isinstance(operand, Attribute):
        return
    name = operand.name
    type_, domain = facts.types[name], facts.universe.get(name, ANYTHING)
    for literal in values:
        value = patterns.value_of(type_, literal)
        if regions.is_empty(regions.values(name, [value]), {name: domain}):
            near, domain_text = nearest(type_, value, domain.members), written(name, type_, domain.members)
            why = (f"every tuple has `{domain_text}`",) if domain_text else ()
            help = (
                f"compare with a value of its domain, or add {literal.text} to it where `{name}` is declared"
            )
            if near is not None:
                help = f"did you mean `{type_.wire(near)}`?"
            message = f"`{name}` is never {literal.text}"
            yield Diagnostic("RQ126", "warning", message, literal.span, why, help)


def _never(condition: Expression) -> Diagnostic:
    message = f"`{format_expression(condition)}` is never true"
    help = "no value meets all of it: change the bounds, or write `or` if one of the conditions is enough"
    return Diagnostic("RQ126", "warning", message, condition.span, (), help)


def _with_undefined(facts: Facts, names: Set[str]) -> Mapping[str, Domain]:
    """The universe with ⊥ wherever an accent may bring it: only what no value meets is never true."""
    domains = {name: facts.universe[name] for name in names if name in facts.universe}
    return {name: Domain(_or_undefined(name, d.members), d.integral) for name, d in domains.items()}


def _or_undefined(name: str, members: Tree) -> Tree:
    return regions.union(members, regions.complement(regions.defined(name)))
