"""The engines that run a program, and the calls that one of them cannot compute.

Functions that engines compute differently are written such that all agree (`scalar_functions`). Other
differences are refused when a query is checked, never computed differently. This table lists them all, and
docs/engines.md shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, get_args

from attrs import frozen

from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.scalars import regexes
from cedilla.compiler.expressions.scalars import scalar_functions as scalars
from cedilla.grammar import syntax
from cedilla.grammar.syntax import Expression, Scalar

Engine = Literal["spark", "connect", "sail"]
"""Spark in this process or on a cluster; a server of Spark Connect; Sail inside this process."""

ENGINES: tuple[Engine, ...] = get_args(Engine)


@frozen
class Refusal:
    """A call that engines refuse.

    `what`: the call in Markdown, for people. `because`: the engine's behaviour. `instead`: an alternative.
    `concerns`: returns True if a call of the function is affected.
    """

    function: str
    engines: tuple[Engine, ...]
    what: str
    because: str
    instead: str
    concerns: Callable[[Scalar], bool] = lambda call: True


def _text(call: Scalar, index: int) -> str:
    """Returns a constant argument as a text."""
    argument = call.arguments[index] if index < len(call.arguments) else None
    return str(argument.value) if isinstance(argument, syntax.Literal) else ""


def _has_boundary(call: Scalar) -> bool:
    return regexes.has_boundary(_text(call, 1))


_BOUNDARY = "it finds other word boundaries next to letters outside of ASCII"

REFUSALS = (
    Refusal(
        "initcap",
        ("sail",),
        "`initcap(s)`",
        "it begins a word after each character other than a letter, and makes `SS` of `ß`",
        "`concat(upper(left(s, 1)), lower(substring(s, 2)))` for one word",
    ),
    Refusal(
        "bround",
        ("sail",),
        "`bround(x, n)` with n > 0",
        "it multiplies, which overflows and rounds",
        "`round(x, n)`, or `bround(x)`",
        lambda call: _text(call, 1) not in ("", "0"),
    ),
    Refusal(
        "regexp_replace",
        ("sail",),
        "`regexp_replace` by a regular expression that matches the empty text",
        "it finds no empty match after another match",
        "a regular expression that matches at least one character, `a+` for `a*`",
        lambda call: regexes.may_be_empty(_text(call, 1)),
    ),
    *(
        Refusal(
            name,
            ("sail",),
            rf"`{name}` with `\b` or `\B`",
            _BOUNDARY,
            "the characters around the word, `[^a-z]word[^a-z]`",
            _has_boundary,
        )
        for name in ("rlike", "regexp_extract", "regexp_replace")
    ),
)
"""All calls that an engine computes differently from the others."""


def refused(expression: Expression, engine: Engine) -> Iterator[tuple[Scalar, Refusal]]:
    """Yields the calls in an expression that an engine computes differently, each with its reason."""
    for part in expressions.parts(expression):
        yield from refused(part, engine)
    if isinstance(expression, Scalar) and expression.name in scalars.FUNCTIONS:
        name = scalars.FUNCTIONS[expression.name].name
        refusals = (
            r for r in REFUSALS if r.function == name and engine in r.engines and r.concerns(expression)
        )
        for refusal in refusals:
            yield expression, refusal
            return
