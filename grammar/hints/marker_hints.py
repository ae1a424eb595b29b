"""Slips in markers, and with units in queries: rules as in `slips`, which are tried before those."""

from __future__ import annotations

import re

from lark import Token

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.hints import forms, synonyms, word_synonyms
from cedilla.grammar.hints.syntax_hints import Rule, Slip, listed, span_of
from cedilla.grammar.syntax import TYPES, UNITS, accent_forms

_UNIT = 'a unit is one word, `degF`, or is written in quotes, `"km/h"`, `"{request}"`'
_SHAPES = {
    "unit": "a unit accent has the attribute, then its unit: `unit(t, degC)` or `unit({t, p}, degC)`",
    "rename": "a rename has the new name, or a path in quotes, then the attribute without quotes: `rename(temp, t)`",
    "recode": "a recode has the attribute, then codes as they were and as they are: `recode(k, {1: 2, 2: 1})`",
    "swap": "a swap has two attributes: `swap(a, b)`",
    "zone": 'a zone comes after the attribute, in quotes: `zone(at, "Europe/Berlin")`',
    "decimal": 'a decimal sign comes after the attribute, in quotes: `decimal(x, ",")`, `decimal(x, "," or ".")`',
    "missing": "values that mean undefined are a list after the attribute: `missing(x, {-999})`",
}
"""Changes of accents, and what their parentheses contain."""


_NUMBERS = ("int", "long", "double")
_UNITED = ("UNIT", "FROM", "NAME", "IN")


def conversion(slip: Slip) -> Diagnostic | None:
    """`t to degC`, `project[t in degC]`, `emit r with t in degC to json "o"`, `emit r in degC`."""
    token, last = slip.found, slip.last
    behind_relation = token in ("with", "in") and "TO" in slip.accepts
    is_range = "between" in map(str, slip.before[-6:])
    kind = re.match(r"\s*(\w*)", slip.rest)
    if (
        token == "to"
        and kind
        and kind[1].lower().removesuffix("s") in UNITS
        and "floor" in map(str, slip.before)
    ):
        return slip.unexpected(
            f"a time is cut off by `date_trunc('{kind[1].lower().removesuffix('s')}', at)`"
        )
    if token == "to" and "PLUS" in slip.accepts and kind and kind[1].lower() in {*TYPES, *synonyms.TYPES}:
        name = synonyms.TYPES.get(kind[1].lower(), kind[1].lower())
        return slip.unexpected(f"a value is converted by `{name}(x)`")
    if (token == "to" and "PLUS" in slip.accepts and not is_range) or behind_relation:
        return slip.unexpected(synonyms.CONVERTED)
    is_name = last == "in" and token.type in ("NAME", "STRING")
    if is_name and slip.accepts == frozenset(("LBRACE", "LPAR", "LSQB")):
        how = _SHAPES["unit"]
        if slip.first not in ("[", "[["):
            how = f"tuples with a partner in another relation are `A semi join B on k`; {synonyms.CONVERTED}"
        return slip.unexpected(f"values are written `in {{1, 2, 3}}`, a range `in [1, 5]`; {how}")
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
    stopped_at, last = slip.found, slip.last
    is_dotted = stopped_at == "." and slip.accepts == frozenset(("COLON", "OPTIONAL"))
    is_quoted = stopped_at.type == "STRING" and slip.requires("NAME") and last in ("(", ",")
    if is_dotted or (is_quoted and slip.first in ("stream", "table")):
        return slip.unexpected(
            'a name is one word, and may come from elsewhere: `name: string from "service.name"`'
        )
    if (
        stopped_at in ("=", ":=")
        and {"UNIT", "COMMA"} <= slip.accepts
        and slip.rest.lstrip()[:1] in ("'", '"', "$")
    ):
        path = '`a: int from "key.inner"`, in `otlp` by `from attribute "key.inner"`'
        return slip.unexpected(f"what an attribute is read from is written {path}")
    if slip.requires("STRING") and last.type == "NAME" and stopped_at in (",", ")", "unit", "in"):
        return slip.unexpected(f'what an attribute is read from is written in quotes: `from "{last}"`')
    if slip.requires("DOT") and [token.type for token in slip.before[-2:-1]] == ["IN"]:
        domain = "values are written `in {1, 2, 3}`, `in [1, 10)`, or `in devices.s`, of a table"
        return slip.unexpected(f"a unit is written `unit {last}`; {domain}")
    return None


def unit_name(slip: Slip) -> Diagnostic | None:
    """`unit km/h`, `unit deg F`, `unit %`, `unit(t, km/h)`, `with t in km/h`, `t > degC 30`."""
    is_unit = slip.last.type in ("NAME", "STRING")
    if (
        is_unit
        and slip.found.type == "NUMBER"
        and [t.type for t in slip.before[-2:-1]] in (["COMPARATOR"], ["EQUAL"])
    ):
        return slip.unexpected(f"a number comes before its unit: `{slip.found} {slip.last}`")
    begins = slip.last.type == "UNIT" and slip.accepts <= {"NAME", "STRING", "FROM"}
    goes_on = slip.last.type == "NAME" and _names_unit(slip.before)
    is_part = slip.found.type in ("NAME", "NUMBER") and slip.found.line == slip.last.end_line
    if (begins and slip.found.type != "NAME") or (goes_on and (is_part or str(slip.found) in "/*%^.")):
        return slip.unexpected(_UNIT)
    return None


def _names_unit(before: tuple[Token, ...]) -> bool:
    """Returns True if the last word is the name of a unit."""
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
    """Returns True if the last brace is that of `unit from u in {`."""
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
    if (
        is_behind
        and slip.found in ("key", "keyed", "partitioned", "partition")
        and "kafka" in slip.before[-8:]
    ):
        return slip.unexpected(
            'the key of records is part of the address: `to kafka "host:9092/topic?key=k"`'
        )
    return None


def change_shape(slip: Slip) -> Diagnostic | None:
    """`[[unit(t: degC)]]`, `[[rename("temp", "t")]]`, `[[rename temp to t]]`, `[[recode(k, 1, 2)]]`."""
    if slip.first != "[[" or "{" in slip.before:
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
        inside = str(slip.found)  # after the attribute
    return slip.unexpected(_SHAPES[inside]) if inside in _SHAPES else None


def _called(before: tuple[Token, ...]) -> str:
    """The word before the parenthesis that is still open."""
    words = [str(token) for token in before]
    last = len(words) - 1 - words[::-1].index("(") if "(" in words else 0
    return words[last - 1] if last and ")" not in words[last:] else ""


def typed_unit(slip: Slip) -> Diagnostic | None:
    """`t: double degF`, `t: double [degF]`, `t: double(degF)`, `[[+(p: double hPa)]]`."""
    if slip.found == "unit" and {"COMMA", "RPAR"} <= slip.accepts and str(slip.last) in "])}":
        return slip.unexpected("a unit comes before the domain: `t: double unit degC in [0, 40]`")
    if slip.requires("NUMBER") and slip.found.type != "RPAR" and str(slip.before[-2]) in _NUMBERS:
        return slip.unexpected(f"a unit is written `{slip.before[-2]} unit hPa`")
    is_word = slip.found.type in ("NAME", "STRING") or (slip.found == "[" and slip.last in _NUMBERS)
    is_word = (
        (is_word or slip.found == "in")
        and suggest(slip.found, ["unit"]) is None
        and not slip.rest.lstrip().startswith(":")
    )
    if slip.found.type == "NAME" and slip.last.type == "NAME" and slip.last not in _NUMBERS:
        return None
    if is_word and "UNIT" in slip.accepts and [str(token) for token in slip.before[-2:-1]] == [":"]:
        help = f"a unit is written `{slip.last} unit hPa`"
        return slip.unexpected(f"{help}; a comma separates attributes" if "COMMA" in slip.accepts else help)
    return None


_SIGN_WORDS = ("eq", "equals", "equal", "ne", "neq", "gt", "lt", "ge", "gte", "le", "lte", "greater", "less")
"""Words that are written for signs of comparisons elsewhere."""


def brackets(slip: Slip) -> Diagnostic | None:
    """One pair of brackets around an accent, two around a punctuation."""
    if "OPEN_ACCENT" in slip.accepts and slip.found == "[":
        return slip.unexpected("an accent is written in double brackets: `[[description, change]]`")
    if slip.requires("LSQB") and not slip.before:
        is_accent = any(f"{word}(" in f"{slip.found}{slip.rest}" for word in forms.CHANGES)
        answer = (
            f"an accent is written `{forms.ACCENT}`"
            if is_accent
            else f"a punctuation is written `{forms.PUNCTUATION}`"
        )
        return slip.unexpected(answer)
    if "CLOSE_ACCENT" in slip.accepts and slip.found == "]":
        return slip.unexpected("an accent ends with `]]`")
    if [str(token) for token in (*slip.before, slip.found)] == ["[", "["]:
        return slip.unexpected("a punctuation is written in single brackets: `[ts <= 600]`")
    return None


def change(slip: Slip) -> Diagnostic | None:
    """An accent that describes tuples but changes nothing, or in an unknown way."""
    if slip.first != "[[":
        return None
    help = f"a change is one of {listed(forms.CHANGES.values())}"
    if slip.found in ("]", "]]") and slip.accepts & {"AND", "ALTER"} and "RPAR" not in slip.accepts:
        both = f"{help}; a punctuation has single brackets, `[ts < 300]`"
        return slip.complain("an accent requires a change at its end", both)
    is_call = slip.found == "(" and "EQUAL" in slip.accepts
    is_word = slip.found.type == "NAME" and slip.last.lower() in {*synonyms.CHANGES, "alter", "grow"}
    if slip.last.type in ("NAME", "ALTER", "GROW") and (is_call or (is_word and "EQUAL" in slip.accepts)):
        near = synonyms.CHANGES.get(slip.last.lower()) or forms.CHANGES.get(
            suggest(slip.last, forms.CHANGES) or ""
        )
        hint = f"did you mean `{near}`? {help}" if near else help
        what = "unknown change" if slip.last.type == "NAME" else "unexpected"
        return slip.complain(f"{what} `{slip.last}`", hint, slip.last)
    return None


def end_of_number(slip: Slip) -> bool:
    """Returns True after `1,` that is written without a blank, as in `1,000`."""
    number, comma = slip.before[-2:]
    return (
        number.type == "NUMBER"
        and number.end_pos == comma.start_pos
        and comma.end_pos == slip.found.start_pos
    )


def description(slip: Slip) -> Diagnostic | None:
    """`a = 1 or a = 2`, `not a = 1`, `a like 'x'`, `a = {1, 2}`, `at < now()`, `a -> a * 2`: of markers."""
    if slip.first not in ("[[", "[") or "RPAR" in slip.accepts:
        return None
    word, last = str(slip.found).lower(), slip.last
    if (help := synonyms.CONDITIONS.get(word) or synonyms.CONDITIONS.get(last.lower())) is not None:
        at = span_of(slip.found if word in synonyms.CONDITIONS else last, slip.source)
        return slip.complain(f"unexpected `{slip.found if word in synonyms.CONDITIONS else last}`", help, at)
    words = [str(token) for token in slip.before]
    if word == "(" and words.count("{") > words.count("}"):
        return slip.unexpected("a list ends with `}`: `s in {1, 2}`")
    if word == "(" and last.type == "NAME" and "EQUAL" not in slip.accepts:
        return slip.unexpected(
            "a condition compares with a constant, not with a function: `at < 2025-01-31T12:00:00Z`"
        )
    if last.type == "MOMENT" and slip.found.type == "NAME" and re.match(r"[\])]", slip.rest.lstrip()):
        return slip.unexpected("a time is in UTC, or has an offset: `2025-01-31T12:00:00+01:00`")
    if word == "." and last.type == "NUMBER":
        return slip.unexpected("a time is written in ISO form: `2025-01-31`, `2025-01-31T12:00:00Z`")
    if word == "*" and last == "[[":
        return slip.unexpected(
            f"without conditions an accent is of all tuples: `[[{forms.CHANGES['alter']}]]`"
        )
    if word in ("->", "=>", "→", ":") and re.match(
        rf"\s*(?:alter|{'|'.join(accent_forms.WORDS)})?\(|\s*[+-]\(", slip.rest
    ):
        return slip.unexpected("a comma comes before the change: `[[s = 2, alter(t, y -> y * 2)]]`")
    if word in _SIGN_WORDS:
        return slip.unexpected(word_synonyms.OPERANDS[word])
    if word in ("->", "→", "*", "/") and slip.first == "[[":
        return slip.unexpected(f"values are changed by `{forms.CHANGES['alter']}`")
    if slip.found.type == "NUMBER" and last == "," and end_of_number(slip):
        return slip.unexpected("a number has no commas: `1000`, `0.5`")
    if (word in ("{", "[", "(") and last == "=") or (
        slip.found.type in ("NUMBER", "STRING")
        and last == ","
        and "NAME" in slip.accepts
        and "(" not in words
    ):
        return slip.unexpected("several values are written `s in {1, 2}`")
    return None


MARKERS: tuple[Rule, ...] = (brackets, change, description)
"""Rules for brackets, conditions and changes of markers."""

CHANGES: tuple[Rule, ...] = (
    tuple_unit,
    declared_attribute,
    conversion,
    fixed_unit,
    unit_name,
    change_shape,
)
"""Rules in the order they are tried."""
