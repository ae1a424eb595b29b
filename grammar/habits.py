"""Habits from SQL, Flink, PySpark, Python and jq: rules as in `slips`, which are tried before those."""

from __future__ import annotations

import re

from lark import Token

from cedilla.grammar import foreign
from cedilla.grammar.change_slips import CHANGES, typed_unit
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.slips import Rule, Slip, misspelt, span_of

_COMMENT = "a comment begins with `#` and ends with its line"
_AGGREGATE = "groups are written last, without a comma: `aggregate[avg(t) as mean by l](R)`"


def _statement(slip: Slip) -> list[str]:
    """The words of the statement so far."""
    words = [str(token) for token in slip.before]
    return words[len(words) - words[::-1].index(";") :] if ";" in words else words


def _adjacent(first: Token, second: Token) -> bool:
    return first.end_pos == second.start_pos


def comment(slip: Slip) -> Diagnostic | None:
    """`-- text`, `// text`, `/* text */`."""
    ends = {"EMIT", "SEMICOLON"} & slip.accepts and not {"PLUS", "JOIN"} & slip.accepts
    if ends and slip.found in ("-", "/"):
        return slip.unexpected(_COMMENT)
    return None


def statement(slip: Slip) -> Diagnostic | None:
    """`select a from r`, `insert into ...`, `create table ...`, `t <- ...`, `EMIT r ...`."""
    if not slip.requires("DEFINE"):
        return None
    word = str(slip.last)
    at = span_of(slip.last, slip.source)
    if slip.found == "<":
        return slip.unexpected("a definition is written `name := relation;`")
    if (help := foreign.STATEMENTS.get(word.lower())) is not None and slip.found not in ("=", ":"):
        return slip.complain(f"unknown statement `{word}`", help, at)
    return None


def small_letters(slip: Slip) -> Diagnostic | None:
    """`a > 1 AND b > 1`, `NOT a`, `R JOIN S ON k`."""
    for token in (slip.found, slip.last):
        lower = str(token).lower()
        if token.type == "NAME" and lower != token and lower in foreign.WORDS:
            at = span_of(token, slip.source)
            help = f"words of the language are in small letters: `{lower}`"
            return slip.complain(f"unexpected `{token}`", help, at)
    return None


def operator(slip: Slip) -> Diagnostic | None:
    """`filter[...](R)`, `groupby[...](R)`, `tumble[...](R)`, `r.filter(...)`."""
    if "JOIN" not in slip.accepts:
        return None
    if slip.found in ("[", "(") and slip.last.type == "NAME":
        help = foreign.OPERATORS.get(str(slip.last).lower())
        if help is not None:
            at = span_of(slip.last, slip.source)
            return slip.complain(f"unknown operator `{slip.last}`", help, at)
    if slip.found == ".":
        return slip.unexpected("operators are written around their input: `select[t > 90](R)`")
    if slip.last.type == "DISTINCT" and slip.found.type == "NAME":
        return slip.unexpected("attributes are written in brackets: `distinct[a, b](R)`")
    return None


def output(slip: Slip) -> Diagnostic | None:
    """`emit r into json "o"`, `emit to json "o"`, `emit r as json "o"`."""
    words = _statement(slip)
    if "JOIN" not in slip.accepts or words[:1] != ["emit"]:
        return None
    if words[1:] == ["to"]:
        return slip.unexpected('an output requires a relation: `emit R to json "path"`')
    if (
        slip.found in ("into", "as", "in", "on", "json", "parquet", "xml", "csv")
        or slip.found.type == "STRING"
    ):
        return slip.unexpected('an output is written `emit R to json "path"`')
    return None


def clause(slip: Slip) -> Diagnostic | None:
    """`R wher t > 90`, `aggregate[avg(t) as m group by l]`, `... having m > 1`."""
    found = str(slip.found)
    if "JOIN" in slip.accepts and slip.found.type == "NAME" and slip.found.line == slip.last.end_line:
        guess = misspelt(found, foreign.CLAUSES)
        if guess is not None:
            return slip.unexpected(foreign.CLAUSES[guess])
    if found == "having" and "COMMA" in slip.accepts:
        return slip.unexpected("results are selected behind it: `select[mean > 90](aggregate[...](R))`")
    if found == "group" and "BY" in slip.accepts:
        return slip.unexpected(_AGGREGATE)
    return None


def aggregate(slip: Slip) -> Diagnostic | None:
    """`aggregate[l, avg(t) as m]`, `aggregate[by l, ...]`, `aggregate[avg(t) as m, by l]`."""
    if slip.found == "," and {"BY", "EXCEPT", "LPAR"} <= slip.accepts:
        return slip.unexpected(_AGGREGATE)
    if slip.last == "by" and slip.last.type == "NAME":
        listed = "AS" in slip.accepts and any(token in ("aggregate", "γ") for token in slip.before)
        if {"BY", "EXCEPT", "LPAR"} <= slip.accepts or listed:
            return slip.complain("unexpected `by`", _AGGREGATE, span_of(slip.last, slip.source))
        if "DIRECTION" in slip.accepts:
            help = "keys are written without `by`: `sort[t desc](R)`"
            return slip.complain("unexpected `by`", help, span_of(slip.last, slip.source))
    if slip.last.type == "DIRECTION" and _adjacent(slip.last, slip.found):
        return slip.complain(f"unexpected `{slip.last}{slip.found}`", "a direction is `asc` or `desc`")
    return None


def parameters(slip: Slip) -> Diagnostic | None:
    """`top[10](R)`, `sample[1 in 10](R)`, `window[300 as w](R)`, `select[t > 90(R)`."""
    if slip.found == "]" and slip.requires("BY"):
        if slip.before[-2] == "in":
            return slip.unexpected("a sample goes by the hash of attributes: `sample[1 in 10 by k](R)`")
        help = "as in `top[10 by t desc per l](R)`; `limit[10](R)` is the first ten to arrive"
        return slip.unexpected(help)
    if slip.last == "as" and slip.last.type == "NAME" and {"EVERY", "ON"} <= slip.accepts:
        return slip.unexpected("a window goes along an attribute: `window[300 on ts as wid](R)`")
    if slip.found == "(" and "RSQB" in slip.accepts and slip.last.type in ("NUMBER", "STRING"):
        return slip.complain("missing `]`", "a bracket is still open before `(`: `select[t > 90](R)`")
    return None


def separator(slip: Slip) -> Diagnostic | None:
    """`[a, b,]`, `[a b]`, `[x as a * 2]`, a string that ends too early."""
    found, last = slip.found, slip.last
    if found in (")", "]", "}") and last == ",":
        at = span_of(last, slip.source)
        return slip.complain(f"nothing follows the comma before `{found}`", "leave the comma out", at)
    if last.type == "STRING" and _adjacent(last, found) and re.match(r"\w", str(found)):
        help = "its quote is missing, or one inside it needs `\\` in front: 'it\\'s', \"it's\""
        return slip.complain(
            f"the string {last} ends where it likely should not", help, span_of(last, slip.source)
        )
    ends_item = slip.accepts <= {"COMMA", "RSQB", "UNIT"} and {"COMMA", "RSQB"} <= slip.accepts
    named = len(slip.before) > 1 and slip.before[-2] == "as" and ends_item
    if named and found.type in ("STAR", "SLASH", "PLUS", "MINUS", "LPAR"):
        return slip.unexpected(f"the expression comes before its name: `... as {last}`")
    if found.type == "NAME" and last.type == "NAME" and {"COMMA", "AS"} <= slip.accepts:
        return slip.unexpected(f"a comma is missing, or a name is given by `{last} as {found}`")
    return None


def spelling(slip: Slip) -> Diagnostic | None:
    """`=>`, `=<`, `**`, `a::double`, `.a`."""
    pair = str(slip.last) + str(slip.found)
    if pair in ("=>", "=<") and _adjacent(slip.last, slip.found):
        return slip.unexpected(f"it is written `{pair[1]}=`")
    if pair == "**":
        return slip.unexpected("a power is written `pow(x, y)`")
    if slip.found == ":" and "PLUS" in slip.accepts:
        help = "a value is converted by `double(x)`, `int(x)`, `string(x)` ..."
        return slip.unexpected(f"{help}; {foreign.CONVERTED}")
    if slip.found == "." and "NAME" in slip.accepts and "SLASH" not in slip.accepts:
        return slip.unexpected("an attribute is written by its name alone: `a`")
    open_call = slip.found == "as" and "RPAR" in slip.accepts and "AS" not in slip.accepts
    if open_call and "cast" not in map(str, slip.before):
        return slip.complain("missing `)`", "a parenthesis is still open before `as`")
    return None


_CLAUSES = {
    "punctuated": "punctuated on ts",
    "heartbeat": "heartbeat ts delay 10",
    "markers": 'markers "path"',
    "metrics": 'metrics "http.server.duration"',
    "partitioned": "partitioned by k",
    "ordered": "ordered by name",
}


def _clause(slip: Slip) -> str | None:
    """What a wrong word behind a source was likely meant for."""
    found = str(slip.found)
    near = misspelt(found, _CLAUSES)
    return foreign.PROMISES.get(found) or (near and f"the closest clause is `{_CLAUSES[near]}`")


_QUOTED = {
    **dict.fromkeys(("kafka", "kafka_otlp"), 'a topic is written in quotes: `"host:9092/topic"`'),
    **dict.fromkeys(
        ("resource", "attribute", "scope"), 'a key is written in quotes: `from resource "service.name"`'
    ),
    "metrics": 'metrics are named in quotes: `metrics "http.server.duration"`',
}


def declaration(slip: Slip) -> Diagnostic | None:
    """`s(a int)`, `a: int not null`, `in 1..9`, `punctuate on`, `watermark`, `heartbeat ts`, a path without quotes."""
    found, last, accepts = str(slip.found), str(slip.last), slip.accepts
    path = "path" if last in ("json", "parquet", "xml", "csv") else last
    if accepts == frozenset(("COLON", "OPTIONAL")):
        return slip.unexpected("the type is written behind a colon: `a: int`, `a?: int` if it may be missing")
    if found in ("not", "null", "primary", "default") and {"IN", "COMMA", "RPAR"} <= accepts:
        return slip.unexpected("every tuple has an attribute, unless it is declared as `a?: int`")
    if last == "in" and accepts - {"NAME"} == frozenset(("LBRACE", "LPAR", "LSQB")):
        column = ", or `in devices.s`, of a table" if "NAME" in accepts else ""
        single = "" if column or found == "(" else "; a single one is compared by `t = 30`"
        return slip.unexpected(f"values are written `in {{1, 2, 3}}` or `in [1, 10)`{column}{single}")
    if "PUNCTUATED" in accepts and (help := _clause(slip)):
        return slip.unexpected(help)
    if last == "punctuated":
        return slip.unexpected("attributes come behind `on`: `punctuated on ts`")
    if slip.requires("DELAY"):
        return slip.unexpected("a heartbeat requires its attribute and its delay: `heartbeat ts delay 10`")
    if slip.requires("STRING"):
        if len(slip.before) > 1 and slip.before[-2] in ("to", "from") and found == ";":
            return slip.unexpected(
                f'a place is a format and a path in quotes: `{slip.before[-2]} json "{path}"`'
            )
        return slip.unexpected(_QUOTED.get(last, 'a path is written in quotes: `"data/in"`'))
    return None


def setting(slip: Slip) -> Diagnostic | None:
    """`set late abort;`, `set late := abort;`."""
    if slip.requires("EQUAL") and _statement(slip)[:1] == ["set"]:
        return slip.unexpected("a setting is written `set late = abort;`")
    return None


_CHANGES = ("ALTER", "UNIT", "RENAME", "RECODE", "GROW", "NAME")
_BEHIND_NAMES = {"EQUAL", "COMPARATOR", "IN", "LPAR"}


def marker(slip: Slip) -> Diagnostic | None:
    """`[[alter(t, t * 2)]]`, `[[+p]]`, `[[+(p)]]`, `[alter(...)]`, `[ts < 300 s = 2]`."""
    if not slip.before or slip.before[0] not in ("[[", "["):
        return None
    if slip.found.type in _BEHIND_NAMES and [t.type for t in slip.before[-2:]] == ["NUMBER", "NAME"]:
        place = span_of(slip.last, slip.source)  # it was taken for a unit
        return slip.complain(f"unexpected `{slip.last}`", "expected `,` or `and`", place)
    if "ARROW" in slip.accepts and (slip.last == "unit" or "->" in slip.before):
        return slip.unexpected("a unit stands behind the function: `alter(t, y -> y / 1000, unit km)`")
    is_function = [t.type for t in slip.before[-4:]] == ["ALTER", "LPAR", "NAME", "COMMA"]
    if "ARROW" in slip.accepts or is_function:
        return slip.unexpected("a function is written `y -> y * 2`: `alter(t, y -> y * 2)`")
    if slip.last in ("+", "-", "−") and slip.requires("LPAR"):
        return slip.unexpected("as in `+(p: double)` and `-(p)`")
    if slip.requires("COLON") and any(token.type == "RECODE" for token in slip.before):
        return slip.unexpected("each code comes with its new one: `recode(k, {1: 2})`")
    if slip.requires("COLON"):
        return slip.unexpected("an attribute comes with its type: `+(p: double)`")
    if slip.before[0] == "[" and slip.found == "(" and slip.last.type in _CHANGES:
        return slip.unexpected("an accent is written in double brackets: `[[s = 2, alter(t, y -> y * 2)]]`")
    return None


HABITS: tuple[Rule, ...] = (
    marker,
    *CHANGES,
    comment,
    statement,
    small_letters,
    operator,
    output,
    clause,
    aggregate,
    parameters,
    separator,
    spelling,
    declaration,
    typed_unit,
    setting,
)
"""Rules in the order they are tried."""
