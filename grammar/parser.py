"""Text to syntax nodes. Every function raises `DiagnosticError` on text that is not in the grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attrs import evolve
from lark.exceptions import UnexpectedInput

from cedilla.grammar.building.builder import Builder
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.formatting.expression_formatter import format_accent
from cedilla.grammar.parsing import lalr
from cedilla.grammar.syntax import (
    AccentText,
    AlterAttribute,
    Binary,
    Comparison,
    Constant,
    Expression,
    Literal,
    Points,
    PunctuationText,
    Query,
    Unary,
    accent_forms,
)
from cedilla.grammar.syntax.depth import check_depth, check_length

if TYPE_CHECKING:
    from cedilla.grammar.hints.edits import Check

_MARKERS = 1024
"""The number of texts of markers whose nodes are kept. A stream repeats many, and several parts read each."""


def parse_query(
    text: str,
    source: str = "<text>",
    overrides: Mapping[str, Constant] | None = None,
    *,
    keep_names: bool = False,
    check: Check | None = None,
) -> Query:
    """A whole `.rq` text (design, section 4).

    Constants are put where they are named: those of `overrides` in place of their `let`. With `keep_names` the nodes
    are still written by the name (`format_query`). Of a wrong text, a hint proposes an edit only if it passes
    `check`.
    """
    return _parse(text, source, "query", Builder(source, overrides, keep_names=keep_names), check)


@lru_cache(_MARKERS)
def parse_accent(text: str, source: str = "<accent>") -> AccentText:
    """An accent such as `[[s = 2, alter(t, y -> y * 2)]]` (design, section 6)."""
    if (point := _POINT.match(text)) is not None:
        head, number = point.groups()
        start, rest = point.end(), text[point.end() :]
        numbers: dict[int, str] = {}
        if rest.startswith(", alter(") and '"' not in rest:
            numbers = {start + match.start(): match[0] for match in _NUMBER.finditer(rest)}
            rest = _NUMBER.sub(_ones, rest)
        with suppress(DiagnosticError):  # which would show another text
            like = _accent_like(f"{head}{'1' * len(number)}{rest}", source)
            if (accent := _at(like, number, numbers)) is not None:
                return accent
    return _parse(text, source, "accent")


def single_accents(text: str, source: str = "<accent>") -> tuple[str, ...]:
    """Returns the accents of one attribute each that a text stands for; the text itself if it names only one."""
    if _SEVERAL.search(text) is None:
        return (text,)
    singles = parse_accent(text, source).singles
    return (text,) if len(singles) == 1 else tuple(map(format_accent, singles))


_LISTING = "|".join(form.word for form in accent_forms.FORMS.values() if form.of_several)
_SEVERAL = re.compile(rf"(?:alter|{_LISTING}|≀)\s*\(\s*\{{|[-−]\s*\(")
"""An accent that may name several attributes."""


def _ones(number: re.Match[str]) -> str:
    return "1" * len(number[0])


_POINT = re.compile(r"(\[\[\w+ = )(0|[1-9][0-9]{0,17})(?=, )")
"""The start of the accents of a fleet, which differ in this number. Those of one length have the same nodes and places
except for it. The parser takes most of the time of an accent."""
_NUMBER = re.compile(r"(?<![\w.])[1-9][0-9]{0,17}(?![\w.])")
"""A whole number in the function of an Alter, another difference between accents of a fleet."""


@lru_cache(_MARKERS)
def _accent_like(text: str, source: str) -> AccentText:
    return _parse(text, source, "accent")


def _at(like: AccentText, number: str, numbers: Mapping[int, str]) -> AccentText | None:
    """Returns the accent with another number in its first condition, and with others in its function, by their
    positions. `None` if a position is not that of a number of the function."""
    first, *others = like.description
    assert isinstance(first.pattern, Comparison)
    value = evolve(first.pattern.value, value=int(number), text=number)
    first = evolve(first, pattern=evolve(first.pattern, value=value))
    primitives = like.primitives
    if numbers:
        primitive = primitives[0]
        if len(primitives) > 1 or not isinstance(primitive, AlterAttribute) or primitive.inverse is not None:
            return None
        if isinstance(primitive.body, Points):
            return None
        left = dict(numbers)
        primitives = (evolve(primitive, body=_with_numbers(primitive.body, left)),)
        if left:
            return None
    return evolve(like, description=(first, *others), primitives=primitives)


def _with_numbers(node: Expression, numbers: dict[int, str]) -> Expression:
    """An expression with other numbers; those that are taken are no longer left."""
    match node:
        case Binary():
            left, right = _with_numbers(node.left, numbers), _with_numbers(node.right, numbers)
            return node if left is node.left and right is node.right else evolve(node, left=left, right=right)
        case Unary():
            operand = _with_numbers(node.operand, numbers)
            return node if operand is node.operand else evolve(node, operand=operand)
        case Literal() if node.unit is None and node.span.start in numbers:
            text = numbers.pop(node.span.start)
            return evolve(node, value=int(text), text=text)
        case _:
            return node


@lru_cache(_MARKERS)
def parse_punctuation(text: str, source: str = "<punctuation>") -> PunctuationText:
    """A punctuation such as `[ts <= 600, s = 2]` (design, section 6)."""
    return _parse(text, source, "punctuation")


def parse_expression(text: str, source: str = "<expression>") -> Expression:
    """An expression such as `t > 90 and s in {1, 2}`."""
    return _parse(text, source, "expression")


def _parse(
    text: str, source: str, start: lalr.Start, builder: Builder | None = None, check: Check | None = None
) -> Any:
    check_length(text, source)
    builder = builder or Builder(source)
    try:
        node = lalr.build(builder, lalr.parse(text, start))
    except UnexpectedInput as error:
        from cedilla.grammar.hints import parse_errors  # which most texts do not need

        if start != "query":
            raise DiagnosticError([parse_errors.explain(error, text, source, start)]) from None
        raise DiagnosticError(_all_errors(error, text, source, builder, check)) from None
    if builder.problems:
        raise DiagnosticError(builder.problems)
    check_depth(text, node)
    return node


def _all_errors(
    error: UnexpectedInput, text: str, source: str, builder: Builder, check: Check | None
) -> list[Diagnostic]:
    """The syntax errors of a query, and what is wrong in its other statements, in the order of the text."""
    from cedilla.grammar import recovery

    diagnostics, rest = recovery.errors(error, text, source, check)
    with suppress(UnexpectedInput):
        lalr.build(builder, lalr.parse(rest, "query"))
    return sorted(
        (*diagnostics, *builder.problems),
        key=lambda problem: 0 if problem.span is None else problem.span.start,
    )
