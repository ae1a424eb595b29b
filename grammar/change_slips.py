"""Slips with units, renames and recodes, in queries and accents: rules as in `slips`, which are tried before those."""

from __future__ import annotations

from lark import Token

from cedilla.grammar import foreign
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.slips import Rule, Slip

_UNIT = 'a unit is one word, `degF`, or is written in quotes, `"km/h"`, `"{request}"`'
_SHAPES = {
    "unit": "a unit accent has the attribute, then its unit: `unit(t, degC)`",
    "rename": "a rename has the new name, then the attribute, both without quotes: `rename(temp, t)`",
    "recode": "a recode has the attribute, then codes as they were and as they are: `recode(k, {1: 2, 2: 1})`",
}
"""Changes of accents, and what stands between their parentheses."""


_NUMBERS = ("int", "long", "double")
_UNITED = ("UNIT", "FROM", "NAME", "IN")


def conversion(slip: Slip) -> Diagnostic | None:
    """`t to degC`, `project[t in degC]`, `emit r with t in degC to json "o"`, `emit r in degC`."""
    found, last = slip.found, slip.last
    behind_relation = found in ("with", "in") and "TO" in slip.accepts
    if (found == "to" and "PLUS" in slip.accepts) or behind_relation:
        return slip.unexpected(foreign.CONVERTED)
    is_name = last == "in" and found.type in ("NAME", "STRING")
    if is_name and slip.accepts == frozenset(("LBRACE", "LPAR", "LSQB")):
        how = _SHAPES["unit"] if slip.before[0] == "[[" else foreign.CONVERTED
        return slip.unexpected(f"{how}; values are written `in {{1, 2, 3}}`")
    return None


def tuple_unit(slip: Slip) -> Diagnostic | None:
    """`t: double unit in u`, `unit from u`, `unit from {degC, degF}`, `unit from u in [degC, degF]`."""
    types = tuple(token.type for token in slip.before[-4:])
    begun = any(types[-n:] == _UNITED[:n] for n in (2, 3, 4))
    is_asked = [t.type for t in slip.before[-2:-1]] == ["UNIT"] and slip.last in ("in", "as", "of")
    if begun or is_asked or (slip.last.type == "UNIT" and slip.found == "in"):
        return slip.unexpected("an attribute names the unit of each tuple by `unit from u in {degC, degF}`")
    return None


def declared_attribute(slip: Slip) -> Diagnostic | None:
    """`service.name: string`, `m: string = "a.b"`, `m: string from metric`, `t: double in degC`."""
    found, last = slip.found, slip.last
    is_dotted = found == "." and slip.accepts == frozenset(("COLON", "OPTIONAL"))
    is_quoted = found.type == "STRING" and slip.requires("NAME") and last in ("(", ",")
    if is_dotted or (is_quoted and str(slip.before[0]) in ("stream", "table")):
        return slip.unexpected(
            'a name is one word, and may come from elsewhere: `name: string from "service.name"`'
        )
    if found in ("=", ":=") and {"UNIT", "COMMA"} <= slip.accepts:
        path = '`a: int from "key.inner"`, in `otlp` by `from attribute "key.inner"`'
        return slip.unexpected(f"what an attribute is read from is written {path}")
    if slip.requires("STRING") and last.type == "NAME" and found in (",", ")", "unit", "in"):
        return slip.unexpected(f'what an attribute is read from is written in quotes: `from "{last}"`')
    if slip.requires("DOT") and [token.type for token in slip.before[-2:-1]] == ["IN"]:
        domain = "values are written `in {1, 2, 3}`, `in [1, 10)`, or `in devices.s`, of a table"
        return slip.unexpected(f"a unit is written `unit {last}`; {domain}")
    return None


def unit_name(slip: Slip) -> Diagnostic | None:
    """`unit km/h`, `unit deg F`, `unit %`, `unit(t, km/h)`, `with t in km/h`, `t > degC 30`."""
    if slip.found.type == "NUMBER" and [t.type for t in slip.before[-2:-1]] in (["COMPARATOR"], ["EQUAL"]):
        return slip.unexpected(f"a number stands before its unit: `{slip.found} {slip.last}`")
    begins = slip.last.type == "UNIT" and slip.accepts <= {"NAME", "STRING", "FROM"}
    goes_on = slip.last.type == "NAME" and _names_unit(slip.before)
    is_part = slip.found.type in ("NAME", "NUMBER") and slip.found.line == slip.last.end_line
    if (begins and slip.found.type != "NAME") or (goes_on and (is_part or str(slip.found) in "/*%^.")):
        return slip.unexpected(_UNIT)
    return None


def _names_unit(before: tuple[Token, ...]) -> bool:
    """Whether the last word is the name of a unit."""
    types = [token.type for token in before[-5:]]
    words = [str(token) for token in before]
    return (
        types[-2:] == ["UNIT", "NAME"]
        or (types[-2:] == ["NUMBER", "NAME"] and words[0] in ("[", "[["))
        or types == ["UNIT", "LPAR", "NAME", "COMMA", "NAME"]
        or _lists_units(before)
        or (types[-3:] == ["NAME", "IN", "NAME"] and "with" in words[-20:] and "emit" in words)
    )


def _lists_units(before: tuple[Token, ...]) -> bool:
    """Whether the last brace is that of `unit from u in {`."""
    types = [token.type for token in before]
    brace = len(types) - types[::-1].index("LBRACE") - 1 if "LBRACE" in types else 0
    return "RBRACE" not in types[brace:] and tuple(types[max(brace - 4, 0) : brace]) == _UNITED


def fixed_unit(slip: Slip) -> Diagnostic | None:
    """`emit r to json "o" with t degC`, `... in degC`."""
    if slip.requires("ORIGINAL"):
        return slip.unexpected(
            "an output has a unit by `with t in degC`, or all as they came by `in original units`"
        )
    if slip.requires("IN") and "with" in map(str, slip.before[-2:]):
        original = ", or all come as they are by `in original units`" if slip.last == "original" else ""
        return slip.unexpected(f"an attribute of an output has a unit by `with t in degC`{original}")
    is_behind = "SEMICOLON" in slip.accepts and [str(token) for token in slip.before[-3:-2]] != ["from"]
    if is_behind and slip.found in ("key", "keyed", "partitioned", "partition"):
        return slip.unexpected(
            'what the key of records is, stands in the address: `to kafka "host:9092/topic?key=k"`'
        )
    return None


def change_shape(slip: Slip) -> Diagnostic | None:
    """`[[unit(t: degC)]]`, `[[rename("temp", "t")]]`, `[[rename temp to t]]`, `[[recode(k, 1, 2)]]`."""
    if not slip.before or slip.before[0] != "[[" or "{" in slip.before:
        return None
    if slip.found in ("]", "]]") and "RPAR" in slip.accepts:
        return None
    if slip.found in (",", "and") and slip.requires("CLOSE_ACCENT"):
        return slip.unexpected(
            "an accent has one change, at its end, `[[s = 2, unit(t, degC)]]`; another is a line of its own"
        )
    inside = _called(slip.before)
    if inside not in _SHAPES and slip.found.type == "NAME":
        inside = str(slip.last)  # without parentheses
    if inside not in _SHAPES and slip.last.type == "NAME":
        inside = str(slip.found)  # behind the attribute
    return slip.unexpected(_SHAPES[inside]) if inside in _SHAPES else None


def _called(before: tuple[Token, ...]) -> str:
    """The word before the parenthesis that is still open."""
    words = [str(token) for token in before]
    last = len(words) - 1 - words[::-1].index("(") if "(" in words else 0
    return words[last - 1] if last and ")" not in words[last:] else ""


def misplaced_unit(slip: Slip) -> Diagnostic | None:
    """`t degC > 30`."""
    is_name = slip.found.type == "NAME" and slip.last.type in ("NAME", "RPAR")
    if is_name and {"PLUS", "AND", "EQUAL"} <= slip.accepts and slip.found.line == slip.last.end_line:
        return slip.unexpected(
            "an operator or a comma is missing; a unit stands behind a constant: `t > 30 degC`"
        )
    return None


def typed_unit(slip: Slip) -> Diagnostic | None:
    """`t: double degF`, `t: double [degF]`, `t: double(degF)`, `[[+(p: double hPa)]]`."""
    if slip.found == "unit" and {"COMMA", "RPAR"} <= slip.accepts and str(slip.last) in "])}":
        return slip.unexpected("a unit stands before the domain: `t: double unit degC in [0, 40]`")
    if slip.requires("NUMBER") and slip.found.type != "RPAR" and str(slip.before[-2]) in _NUMBERS:
        return slip.unexpected(f"a unit is written `{slip.before[-2]} unit hPa`")
    is_word = slip.found.type in ("NAME", "STRING") or (slip.found == "[" and slip.last in _NUMBERS)
    is_word = is_word or slip.found == "in"
    if is_word and "UNIT" in slip.accepts and [str(token) for token in slip.before[-2:-1]] == [":"]:
        help = f"a unit is written `{slip.last} unit hPa`"
        return slip.unexpected(f"{help}; a comma separates attributes" if "COMMA" in slip.accepts else help)
    return None


CHANGES: tuple[Rule, ...] = (
    tuple_unit,
    declared_attribute,
    conversion,
    fixed_unit,
    unit_name,
    change_shape,
)
"""Rules in the order they are tried."""
