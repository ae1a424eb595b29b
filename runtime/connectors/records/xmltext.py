"""Converts markers from XML elements to the wire format and back (seeds, 002; design, section 6).

A pattern is `*`, a constant, `[lo,hi)` with open, closed or missing bounds, or `{a,b,c}`. Constants are bare text, or
in double quotes if they would be ambiguous. A unit may follow a number.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.grammar.formatting.expression_formatter import unit_text
from cedilla.grammar.parser import parse_punctuation
from cedilla.grammar.syntax import Comparison, Condition, Literal, RangePattern, SetPattern, Wildcard

_ELEMENT = re.compile(r"<([^\s<>/]+)(?:\s[^<>]*?)?(?:/>|>([^<]*)</\1\s*>)", re.ASCII)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_OUTER = re.compile(r"\s*<[^>]*>(.*)</[^>]*>\s*", re.DOTALL | re.ASCII)
_REFERENCE = re.compile(r"&(lt|gt|amp|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_BLANKS = " \t\r\n"
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ITEM = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,]*?)\s*(,|$)', re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MEASURED = re.compile(rf"""({_NUMBER.pattern})\s+(?:([^\s",]+)|({_QUOTED.pattern}))""", re.ASCII)
"""A number and its unit, bare or in double quotes."""
_BARE = re.compile(r"""[^\s"',*()\[\]{}][^"',()\[\]{}]*(?<!\s)""", re.ASCII)


def unescaped(text: str) -> str:
    """Replaces character references in a text. Raises `ValueError` for an invalid one, such as an unpaired
    surrogate."""
    return _REFERENCE.sub(lambda match: _character(match[1]), text)


def _character(reference: str) -> str:
    if reference in _NAMED:
        return _NAMED[reference]
    number = int(reference[2:], 16) if reference[1] == "x" else int(reference[1:])
    if number > sys.maxunicode or 0xD800 <= number < 0xE000:
        raise ValueError(f"`&{reference};` means no sign")
    return chr(number)


def escaped(text: str) -> str:
    """Escapes a text for an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


# --- from elements ---


def accent_wire(element: str, types: Mapping[str, Type]) -> str:
    """Returns the text of an element `<accent:ROW>[[...]]</accent:ROW>`."""
    return unescaped(_inside(element)).strip(_BLANKS)


def punctuation_wire(element: str, types: Mapping[str, Type]) -> str:
    """Converts an element `<punct:ROW>...</punct:ROW>` to the wire format; `types` decide which constants are
    numbers."""
    patterns = [
        (match[1], unescaped(match[2] or "").strip(_BLANKS)) for match in _ELEMENT.finditer(_inside(element))
    ]
    return f"[{', '.join(_condition(name, text, types.get(name)) for name, text in patterns)}]"


def leaves(element: str) -> dict[str, str]:
    """Returns the texts of a tuple's attributes, without blanks around them unless they are references."""
    return {
        match[1]: unescaped((match[2] or "").strip(_BLANKS)) for match in _ELEMENT.finditer(_inside(element))
    }


def _inside(element: str) -> str:
    match = _OUTER.fullmatch(_COMMENT.sub("", element))
    return "" if match is None else match[1]


def _condition(name: str, pattern: str, type_: Type | None) -> str:
    if pattern == "*":
        return f"{name} = *"
    opening, closing = pattern[:1], pattern[-1:]
    if len(pattern) > 1 and ((opening in "[(" and closing in ")]") or opening + closing == "{}"):
        constants = [_constant(item, type_) for item in _items(pattern[1:-1])]
        return f"{name} in {opening}{', '.join(constants)}{closing}"
    return f"{name} = {_constant(pattern, type_)}"


def _items(text: str) -> list[str]:
    items: list[str] = []
    at = 0
    while match := _ITEM.match(text, at):
        items.append(match[1])
        at = match.end()
        if not match[2]:
            break
    return items


def _constant(text: str, type_: Type | None) -> str:
    """Returns a constant in the wire format; empty for a missing bound."""
    if text == "" or _QUOTED.fullmatch(text):
        return text
    numeric = type_ is not None and type_.is_numeric
    boolean = type_ is not None and type_.name == "boolean"
    if (numeric and _NUMBER.fullmatch(text)) or (boolean and text in ("true", "false")):
        return text.removeprefix("+")
    if numeric and (measured := _MEASURED.fullmatch(text)):
        number, bare, quoted = measured.groups()
        return f"{number.removeprefix('+')} {quoted or unit_text(bare)}"
    return STRING.wire(text)


# --- to elements ---


def accent_element(row: str, text: str) -> str:
    """Returns an accent in the wire format as an element."""
    return f"<accent:{row}>{escaped(text)}</accent:{row}>"


def punctuation_element(row: str, text: str) -> str:
    """Returns a punctuation in the wire format as an element; attributes that it does not name are left out."""
    inside = "".join(
        f"<{c.attribute}>{escaped(_pattern(c))}</{c.attribute}>" for c in parse_punctuation(text).conditions
    )
    return f"<punct:{row}>{inside}</punct:{row}>"


def _pattern(condition: Condition) -> str:
    match condition.pattern:
        case Wildcard():
            return "*"
        case SetPattern(values):
            return f"{{{','.join(map(_bare, values))}}}"
        case RangePattern(low, high, low_closed, high_closed):
            bounds = ["" if bound is None else _bare(bound) for bound in (low, high)]
            return f"{'[' if low_closed else '('}{','.join(bounds)}{']' if high_closed else ')'}"
        case Comparison("=", value):
            return _bare(value)
        case Comparison("<" | "<=" as operator, value):
            return f"(,{_bare(value)}{']' if operator == '<=' else ')'}"
        case Comparison(">" | ">=" as operator, value):
            return f"{'[' if operator == '>=' else '('}{_bare(value)},)"
    raise ValueError(f"{condition.pattern} has no form in XML")


def _bare(literal: Literal) -> str:
    if not isinstance(literal.value, str):
        return literal.text
    return literal.value if _BARE.fullmatch(literal.value) else STRING.wire(literal.value)
