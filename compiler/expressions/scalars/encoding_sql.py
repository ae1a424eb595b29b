"""SQL of bits, digits of other bases, and texts that stand for bytes: hexadecimal digits and base64.

Bytes are texts of hexadecimal digits. An engine gets only texts that all engines read alike; others are undefined.
"""

from __future__ import annotations

from collections.abc import Sequence

from cedilla.compiler.expressions.aggregates.aggregate_parts import let
from cedilla.compiler.expressions.scalars.conversion_sql import whole
from cedilla.compiler.expressions.scalars.scalar_sql import Writer
from cedilla.compiler.expressions.types import DOUBLE, LONG, STRING, Type, decimals, quote

HEX = r"(?:[0-9a-fA-F]{2})*"
"""Bytes in hexadecimal digits."""

_NEXT = "[89abAB][0-9a-fA-F]"
_ANY = "[0-9a-fA-F]"
UTF8 = (
    f"(?:[0-7]{_ANY}|[cC][2-9a-fA-F]{_NEXT}|[dD]{_ANY}{_NEXT}"
    f"|[eE]0[abAB]{_ANY}{_NEXT}|[eE][1-9a-cefA-CEF](?:{_NEXT}){{2}}|[eE][dD][89]{_ANY}{_NEXT}"
    f"|[fF]0[9abAB]{_ANY}(?:{_NEXT}){{2}}|[fF][1-3](?:{_NEXT}){{3}}|[fF]48{_ANY}(?:{_NEXT}){{2}})*"
)
"""Bytes in hexadecimal digits that are a text in UTF-8."""

BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"
"""Bytes in base64: with its padding, without white space, and without bits that mean nothing."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def as_word(x: str, type_: Type) -> str:
    """Writes a number as a long, undefined outside of its bounds. An altered whole number may be slightly off."""
    match type_.name:
        case "int":
            return f"CAST({x} AS BIGINT)"
        case "double":
            return whole(LONG)([f"round({x})"], [DOUBLE])
        case "decimal":
            return whole(LONG)(
                [decimals.rounded_sql("round", x, type_, 0)], [decimals.rounded_type(type_, 0)]
            )
        case _:
            return x


def unhex(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the text of bytes, undefined for others than those of a text."""
    (digits,) = arguments
    return f"CAST(unhex({_matching(digits, UTF8)}) AS STRING)"


def unbase64(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the text of bytes in base64."""
    return let(base64_to_hex(arguments, types), "h", unhex(["h"], types))


def base64_to_hex(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes bytes in hexadecimal digits."""
    (text,) = arguments
    return f"hex(unbase64({_matching(text, BASE64)}))"


def hex_to_base64(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes bytes in base64."""
    (digits,) = arguments
    return f"base64(unhex({_matching(digits, HEX)}))"


def from_base(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the long of digits in a base, undefined for other texts and beyond a long.

    No engine gets the digits of 2^63 or more, because Spark ends a query there and Sail gives nothing.
    """
    text, base = arguments
    most = _in_base(2**63, int(base))
    letters = _DIGITS[: int(base)]
    pattern = rf"^-?0*([{letters}{letters[10:].lower()}]{{1,{len(most)}}})\z"
    digits = f"nullif(upper(regexp_extract({text}, {quote(pattern)}, 1)), '')"
    is_more = f"char_length(d) = {len(most)} AND d > {quote(most)}"
    of_digits = (
        f"CASE WHEN {is_more} THEN NULL WHEN d = {quote(most)} THEN '{2**63}' ELSE conv(d, {base}, 10) END"
    )
    number = let(digits, "d", of_digits)
    return whole(LONG)([f"concat(IF(startswith({text}, '-'), '-', ''), {number})"], [STRING])


def to_base(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """Writes the digits of a whole number in a base, with its sign."""
    number, base = arguments
    digits = f"conv(CAST(abs({number}) AS STRING), 10, {base})"
    signed = f"concat(IF({number} < 0, '-', ''), {digits})"
    least = quote(f"-{_in_base(2**63, int(base))}")  # it has no absolute value
    return f"CASE WHEN {number} > {1 - 2**63}L - 1L THEN {signed} WHEN {number} < 0 THEN {least} END"


def _in_base(number: int, base: int) -> str:
    rest, digit = divmod(number, base)
    return (_in_base(rest, base) if rest else "") + _DIGITS[digit]


def trimmed(side: str) -> Writer:
    """Returns a writer of a text without some letters at one end."""

    def sql(arguments: Sequence[str], types: Sequence[Type]) -> str:
        text, *letters = arguments
        return f"trim({side} {letters[0]} FROM {text})" if letters else f"trim({side} FROM {text})"

    return sql


def _matching(text: str, pattern: str) -> str:
    whole_pattern = rf"^(?:{pattern})\z"
    return f"IF(rlike({text}, {quote(whole_pattern)}), {text}, NULL)"
