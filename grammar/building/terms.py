"""From lark's tree to syntax nodes: expressions, constants and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve
from lark import Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.formatting.expression_formatter import decimal_text, unit_text
from cedilla.grammar.hints import synonyms
from cedilla.grammar.parsing.lalr import per_rule
from cedilla.grammar.syntax.connectives import connected, terms

if TYPE_CHECKING:
    from cedilla.grammar.syntax import Expression

ASCII = {"≠": "!=", "≤": "<=", "≥": ">=", "−": "-"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_HALF = re.compile("[\ud800-\udfff]")
"""Half a pair of surrogates: it is not a character, so no file contains it, but JSON can bring it into a marker."""
_SECONDS = {unit: Fraction(micros, 10**6) for unit, micros in syntax.MICROSECONDS.items()}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")


def _constant(expression: Expression) -> syntax.Literal | None:
    """A constant with its sign, of those that a range can have: not `5 minutes`."""
    constant = syntax.signed_constant(expression)
    is_length = constant is not None and constant.unit == syntax.SECOND and " " in constant.text
    return None if is_length else constant


_NO_OTHERS: Mapping[str, str] = {}


@per_rule
class TermBuilder(Transformer_NonRecursive[Token, Any]):
    """One method per rule of `rq.lark`. Errors are added to `problems`, and building continues.

    It takes texts that nest as deep as memory allows: `depth.check_depth` says which are too deep.
    """

    def __init__(
        self, source: str, overrides: Mapping[str, syntax.Constant] | None = None, *, keep_names: bool = False
    ) -> None:
        super().__init__()
        self.source = source
        self.problems: list[Diagnostic] = []
        self.given = overrides or {}
        self.keep_names = keep_names
        self.constants: dict[str, syntax.Constant] = {}

    def _span(self, meta: Meta | Token) -> Span:
        if isinstance(meta, Meta) and meta.empty:
            return Span(self.source, 0, 0, 1, 1, 1, 1)
        start, end = cast("tuple[int, int]", (meta.start_pos, meta.end_pos))
        ends = cast("tuple[int, int, int, int]", (meta.line, meta.column, meta.end_line, meta.end_column))
        return Span(self.source, start, end, *ends)

    def _report(self, code: str, message: str, at: Meta | Token | Span, help: str | None = None) -> None:
        span = at if isinstance(at, Span) else self._span(at)
        self.problems.append(Diagnostic(code, "error", message, span, help=help))

    def _check_known(
        self, code: str, what: str, word: Token, names: Iterable[str], others: Mapping[str, str] = _NO_OTHERS
    ) -> bool:
        """Returns True for a known word; reports others. `others`: names of other systems -> the known word."""
        if word in (words := tuple(names)):
            return True
        guess = others.get(word.lower()) or suggest(word, words)
        listed = f"did you mean `{guess}`?" if guess else f"available: {', '.join(f'`{w}`' for w in words)}"
        help = "; ".join(filter(None, (synonyms.NO_TYPES.get(word.lower()), listed)))
        self._report(code, f"unknown {what} `{word}`", word, help)
        return False

    def _part(self, part: Any) -> Any:
        """Returns a part of a node: a token as the value that it is written for."""
        if not isinstance(part, Token):
            return part
        match part.type:
            case "STRING":
                return self._string(part)
            case "NUMBER":
                return self._count(part)
            case _:
                return ASCII.get(part, str(part))

    def _count(self, number: Token) -> int:
        if number.isdecimal() and int(number) > 0:
            return int(number)
        message = f"a whole number above 0 is required, found `{number}`"
        self._report("RQ006", message, number, "as in `limit[5](R)`, `sample[1 in 10 by k](R)`, `10 rows`")
        return 1

    # --- expressions ---

    def disjunction(self, meta: Meta, *operands: Expression) -> Expression:
        return evolve(connected("or", terms("or", *operands)), span=self._span(meta))

    def conjunction(self, meta: Meta, *operands: Expression) -> Expression:
        return evolve(connected("and", terms("and", *operands)), span=self._span(meta))

    def comparison(self, meta: Meta, left: Expression, by: Token, right: Expression) -> syntax.Binary:
        sign = cast("syntax.BinaryOperator", ASCII.get(by, str(by)))
        return syntax.Binary(sign, left, right, span=self._span(meta))

    def sum(self, meta: Meta, first: Expression, *rest: Any) -> Expression:
        """Operands from left to right; `a || b || c` is one `concat(a, b, c)`."""
        signs, operands = rest[::2], rest[1::2]
        result, at = first, 0
        while at < len(signs):
            end = at + 1
            while signs[at] == "||" and end < len(signs) and signs[end] == "||":
                end += 1
            result = self._added(meta, result, signs[at], operands[at:end])
            at = end
        return evolve(result, span=self._span(meta))

    product = sum

    def _added(
        self, meta: Meta, left: Expression, sign: Token, right: Sequence[Expression]
    ) -> syntax.Binary | syntax.Scalar:
        last = right[-1].span
        span = evolve(self._span(meta), end=last.end, end_line=last.end_line, end_column=last.end_column)
        if sign != "||":
            operator = cast("syntax.BinaryOperator", ASCII.get(sign, str(sign)))
            return syntax.Binary(operator, left, right[0], span=span)
        # `concat(a, b) || c` gives the same node.
        first = left.arguments if isinstance(left, syntax.Scalar) and left.name == "concat" else (left,)
        return syntax.Scalar("concat", (*first, *right), span=span)

    def negation(self, meta: Meta, operand: Expression) -> syntax.Unary:
        return syntax.Unary("not", operand, span=self._span(meta))

    def opposite(self, meta: Meta, _minus: Token, operand: Expression) -> syntax.Unary:
        return syntax.Unary("-", operand, span=self._span(meta))

    def inside(
        self,
        meta: Meta,
        operand: Expression,
        domain: syntax.SetPattern | syntax.RangePattern,
        negated: bool = False,
    ) -> syntax.InSet | syntax.InRange:
        if isinstance(domain, syntax.SetPattern):
            return syntax.InSet(operand, domain.values, negated, span=self._span(meta))
        return syntax.InRange(operand, domain, negated, span=self._span(meta))

    def outside(
        self, meta: Meta, operand: Expression, domain: syntax.SetPattern | syntax.RangePattern
    ) -> syntax.InSet | syntax.InRange:
        return self.inside(meta, operand, domain, negated=True)

    def between(
        self, meta: Meta, operand: Expression, low: Expression, high: Expression
    ) -> syntax.InRange | syntax.Binary:
        """`x in [low, high]`, or two comparisons where a bound is computed."""
        bounds = _constant(low), _constant(high)
        if bounds[0] is not None and bounds[1] is not None:
            pattern = syntax.RangePattern(*bounds, True, True, span=self._span(meta))
            self._check_bounds(pattern, bounds[0], bounds[1])
            return syntax.InRange(operand, pattern, span=self._span(meta))
        above = syntax.Binary(">=", operand, low, span=self._span(meta))
        below = syntax.Binary("<=", operand, high, span=self._span(meta))
        return syntax.Binary("and", above, below, span=self._span(meta))

    def not_between(self, meta: Meta, operand: Expression, low: Expression, high: Expression) -> Expression:
        inside = self.between(meta, operand, low, high)
        if isinstance(inside, syntax.InRange):
            return evolve(inside, negated=True)
        return syntax.Unary("not", inside, span=self._span(meta))

    def undefined(self, meta: Meta, operand: Expression) -> syntax.Scalar:
        return syntax.Scalar("isnull", (operand,), span=self._span(meta))

    def is_defined(self, meta: Meta, operand: Expression) -> syntax.Scalar:
        return syntax.Scalar("isnotnull", (operand,), span=self._span(meta))

    def attribute(self, meta: Meta, first: Token, second: Token | None) -> Expression:
        if second is None and first in self.constants:
            return self._signed(self._constant(first))
        return self.joined(meta, first, second)

    def joined(self, meta: Meta, first: Token, second: Token | None) -> syntax.Attribute:
        """An attribute where no constant can be."""
        if second is None:
            return syntax.Attribute(str(first), span=self._span(meta))
        return syntax.Attribute(str(second), str(first), span=self._span(meta))

    def _constant(self, name: Token) -> syntax.Literal:
        """The constant of a name; a length of time is its number of seconds."""
        value, span = self.constants[name], self._span(name)
        if isinstance(value, syntax.Measure):
            seconds = value.value * _SECONDS[value.unit] if value.unit else value.value
            exact = int(seconds) if seconds.denominator == 1 else seconds
            unit = syntax.SECOND if value.unit else None
            value = syntax.Literal(exact, decimal_text(seconds), unit, span=span)
        return evolve(value, text=str(name) if self.keep_names else value.text, span=span)

    def _signed(self, constant: syntax.Literal) -> Expression:
        """A constant as an expression: a negative one is the opposite of another."""
        if self.keep_names or not constant.text.startswith("-"):
            return constant
        assert isinstance(constant.value, int | Fraction)
        positive = evolve(constant, value=-constant.value, text=constant.text[1:])
        return syntax.Unary("-", positive, span=constant.span)

    def scalar(
        self,
        meta: Meta,
        name: Token,
        distinct: Token | None,
        arguments: tuple[Expression, ...] | None,
        where: Expression | None,
    ) -> syntax.Scalar:
        span, lower = self._span(meta), str(name).lower()
        spelling = None if name == lower else str(name)
        return syntax.Scalar(lower, arguments or (), distinct is not None, where, spelling, span=span)

    def resetting(self, meta: Meta, name: Token, arguments: tuple[Expression, ...]) -> syntax.Scalar:
        """`delta(x resets)` is the function `delta resets` of `x`."""
        return evolve(
            self.scalar(meta, name, None, arguments, None), name=f"{name} resets".lower(), written=None
        )

    def since(
        self, meta: Meta, name: Token, arguments: tuple[Expression, ...], start: Expression
    ) -> syntax.Scalar:
        """`increase(x since begin)` is the function `increase since` of `x` and `begin`."""
        if name.lower() not in syntax.COUNTED:
            hint = "as in `increase(x since begin)`; `begin` is the time when the counter started"
            self._report("RQ370", f"`since` is for `increase` and `rate`, found `{name}`", meta, hint)
        called = self.scalar(meta, name, None, (*arguments, start), None)
        return evolve(called, name=f"{name} {syntax.SINCE}".lower(), written=None)

    def case(self, meta: Meta, *parts: Any) -> syntax.Case:
        *branches, otherwise = parts
        return syntax.Case(tuple(branches), otherwise, span=self._span(meta))

    # --- constants and patterns ---

    def literal(self, meta: Meta, *tokens: Token) -> syntax.Literal:
        if tokens[-1].type == "NAME":
            return self._named(tokens[-1])
        return self.value(meta, *tokens)

    constant = literal

    def _length(self, value: syntax.Literal) -> syntax.Constant:
        """A constant that may be a length of time."""
        number, _, unit = value.text.partition(" ")
        if (
            value.unit != syntax.SECOND
            or number.startswith("-")
            or unit.removesuffix("s") not in syntax.UNITS
        ):
            return value
        return syntax.Measure(Fraction(number), unit.removesuffix("s"), span=value.span)

    def unit_from(self, meta: Meta, attribute: Token, *units: str) -> syntax.UnitFrom:
        return syntax.UnitFrom(str(attribute), units, span=self._span(meta))

    def with_unit(self, meta: Meta, *parts: Any) -> syntax.Literal:
        """`30 degC`; `5 minutes` is a number of seconds."""
        *tokens, unit = parts
        literal = self.value(meta, *tokens)
        text = f"{literal.text} {unit_text(unit)}"
        number = cast("int | Fraction", literal.value)
        if (seconds := _SECONDS.get(unit) or _SECONDS.get(unit.removesuffix("s"))) is None:
            return evolve(literal, text=text, unit=unit)
        exact = number * seconds
        value = int(exact) if exact.denominator == 1 else exact
        return evolve(literal, value=value, text=text, unit=syntax.SECOND)

    def _unit(self, unit: Token, more: Sequence[str] = ()) -> str:
        """A unit of time in the singular; `more`: units that are possible here, in addition to those of a measure."""
        possible = (*syntax.UNITS, *more)
        if unit not in [f"{known_unit}s" for known_unit in possible]:
            self._check_known("RQ006", "unit", unit, possible, synonyms.UNITS)
        return str(unit).removesuffix("s")

    def _named(self, name: Token) -> syntax.Literal:
        if name in self.constants:
            return self._constant(name)
        suggestion = f"did you mean `{guess}`? " if (guess := suggest(name, self.constants)) else ""
        help = f'{suggestion}text is written in quotes, `"{name}"`; a constant is named by `let {name} = 1;` above'
        if name.lower() in ("null", "none", "nil", "undefined"):
            help = "no constant is undefined: `x is null` asks for it, and an attribute that is missing is undefined"
        self._report("RQ010", f"unknown constant `{name}`", name, help)
        return syntax.Literal(str(name), f'"{name}"', span=self._span(name))

    def value(self, meta: Meta, *tokens: Token) -> syntax.Literal:
        text = "".join(ASCII.get(token, str(token)) for token in tokens)
        return syntax.Literal(self._value(tokens[-1], text), text, span=self._span(meta))

    def _value(self, token: Token, text: str) -> int | Fraction | str | bool:
        match token.type:
            case "NUMBER":
                return int(text) if token.isdecimal() else Fraction(text)
            case "TRUE" | "FALSE":
                return token.type == "TRUE"
            case "STRING":
                return self._string(token)
            case _:
                return text

    def _string(self, token: Token) -> str:
        def character(escape: re.Match[str]) -> str:
            code = escape[1]
            value = chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code)
            if value is None or _HALF.match(value):
                escapes = ", ".join(f"`\\{sign}`" for sign in (*_ESCAPES, "u0041"))
                self._report(
                    "RQ006", f"unknown escape `\\{code}` in a string", token, f"available: {escapes}"
                )
                return code
            return value

        if _HALF.search(token):
            self._report("RQ006", "half a pair of surrogates in a string", token, "a whole character")
        return _ESCAPE.sub(character, token[1:-1])

    def set(self, meta: Meta, *values: syntax.Literal) -> syntax.SetPattern:
        return syntax.SetPattern(values, span=self._span(meta))

    list = set

    def range(
        self,
        meta: Meta,
        opening: Token,
        low: syntax.Literal | None,
        high: syntax.Literal | None,
        closing: Token,
    ) -> syntax.RangePattern:
        pattern = syntax.RangePattern(low, high, opening == "[", closing == "]", span=self._span(meta))
        if low is not None and high is not None:
            self._check_bounds(pattern, low, high)
        return pattern

    def _check_bounds(self, pattern: syntax.RangePattern, low: syntax.Literal, high: syntax.Literal) -> None:
        # A bool is an int to Python; and strings may be moments, whose order only their type tells.
        kinds = [
            bool if isinstance(bound.value, bool) else str if isinstance(bound.value, str) else Fraction
            for bound in (low, high)
        ]
        if kinds[0] is not kinds[1]:
            self._report(
                "RQ006",
                f"the bounds `{low.text}` and `{high.text}` are of different kinds",
                pattern.span,
                "both are numbers, or both are strings",
            )
        elif low.unit != high.unit:
            return  # which is the lower one, their units tell
        elif isinstance(low.value, int | Fraction) and isinstance(high.value, int | Fraction):
            if low.value > high.value:
                self._report(
                    "RQ006",
                    f"the range starts at `{low.text}`, above its end `{high.text}`",
                    pattern.span,
                    "the lower bound is written first"
                    if pattern.low_closed or pattern.high_closed
                    else f"the lower bound is written first; a list is `{{{low.text}, {high.text}}}`",
                )
            elif low.value == high.value and not (pattern.low_closed and pattern.high_closed):
                self._report(
                    "RQ006",
                    "the range holds no value",
                    pattern.span,
                    f"`[{low.text}, {high.text}]` holds one",
                )
