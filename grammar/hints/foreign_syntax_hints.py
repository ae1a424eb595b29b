"""Habits from SQL, Flink, PySpark, Python and jq: rules as in `slips`, which are tried before those."""

from __future__ import annotations

import re

from lark import Token

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.hints import synonyms, word_synonyms
from cedilla.grammar.hints.declaration_hints import declaration, setting
from cedilla.grammar.hints.forms import FORMATS
from cedilla.grammar.hints.function_synonyms import AGGREGATES, SCALARS
from cedilla.grammar.hints.marker_hints import CHANGES, typed_unit
from cedilla.grammar.hints.syntax_hints import Rule, Slip
from cedilla.grammar.syntax import TYPES, accent_forms

_COMMENT = "a comment begins with `#` and ends with its line"
_AGGREGATE = "groups are written last, without a comma: `aggregate[avg(t) as mean by l](R)`"


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
    if slip.found == "<":
        return slip.unexpected("a definition is written `name := relation;`")
    if (help := synonyms.STATEMENTS.get(word.lower())) is not None and slip.found not in ("=", ":"):
        return slip.complain(f"unknown statement `{word}`", help, slip.last)
    return None


def small_letters(slip: Slip) -> Diagnostic | None:
    """`a > 1 AND b > 1`, `NOT a`, `R JOIN S ON k`."""
    for token in (slip.found, slip.last):
        lower = str(token).lower()
        if token.type == "NAME" and lower != token and lower in word_synonyms.WORDS:
            help = f"words of the language are in small letters: `{lower}`"
            return slip.unexpected(help, token)
    return None


def operator(slip: Slip) -> Diagnostic | None:
    """`filter[...](R)`, `groupby[...](R)`, `tumble[...](R)`, `r.filter(...)`."""
    if "JOIN" not in slip.accepts:
        return None
    if slip.found in ("[", "(") and slip.last.type == "NAME":
        help = synonyms.OPERATORS.get(str(slip.last).lower())
        if help is not None:
            return slip.complain(f"unknown operator `{slip.last}`", help, slip.last)
    if slip.found in (".", "{"):
        return slip.unexpected(synonyms.around("select" if slip.found == "{" else slip.rest))
    if (
        slip.found in ("by", "without")
        and slip.last.type in ("NAME", "RPAR")
        and slip.statement[-2:-1] != ["to"]
    ):
        return slip.unexpected(synonyms.OPERATORS["groupby"])
    if slip.last.type == "DISTINCT" and slip.before[-2] in ("union", "intersect", "minus"):
        help = "equal tuples are left out by `distinct(A union B)`; `A intersect B` and `A minus B` do so by themselves"
        return slip.complain("unexpected `distinct`", help, slip.last)
    if slip.last.type == "DISTINCT" and slip.found.type == "NAME":
        return slip.unexpected("attributes are written in brackets: `distinct[a, b](R)`")
    return None


def output(slip: Slip) -> Diagnostic | None:
    """`emit r into json "o"`, `emit to json "o"`, `emit r as json "o"`."""
    words = slip.statement
    if "JOIN" not in slip.accepts or words[:1] != ["emit"] or words.count("(") > words.count(")"):
        return None
    if words[1:] == ["to"]:
        return slip.unexpected('an output requires a relation: `emit R to json "path"`')
    if (
        slip.found in {"into", "as", "in", "on", *FORMATS}
        or (slip.found in ("->", ">", ">>") and not _open_call(slip) and "join" not in words)
        or slip.found.type == "STRING"
    ):
        named = "; a relation is named by `name := relation;`" if slip.found == "as" else ""
        return slip.unexpected(f'an output is written `emit R to json "path"`{named}')
    return None


def clause(slip: Slip) -> Diagnostic | None:
    """`R wher t > 90`, `aggregate[avg(t) as m group by l]`, `... having m > 1`."""
    clause_word = str(slip.found)
    if "JOIN" in slip.accepts and slip.found.type == "NAME" and slip.found.line == slip.last.end_line:
        guess = suggest(clause_word, synonyms.CLAUSES)
        if guess is not None and clause_word not in map(str, slip.before):
            return slip.unexpected(synonyms.CLAUSES[guess])
    if clause_word == "where" and "AS" in slip.accepts and slip.last == ")" and "aggregate" in slip.statement:
        return slip.unexpected(word_synonyms.OPERANDS["filter"])
    word = (
        suggest(clause_word, [name for name in synonyms.AFTER_GROUPS if len(name) > 5], most=2)
        or clause_word.lower()
    )
    if {"COMMA", "RSQB"} <= slip.accepts and (help := synonyms.AFTER_GROUPS.get(word)):
        return slip.unexpected(help)
    if slip.last == "*" and clause_word in ("exclude", "excluding", "but", "without", "minus"):
        return slip.unexpected("attributes that go are named: `project[* except a](R)`")
    return None


def aggregate(slip: Slip) -> Diagnostic | None:
    """`aggregate[l, avg(t) as m]`, `aggregate[by l, ...]`, `aggregate[avg(t) as m, by l]`."""
    if slip.found == "," and {"BY", "EXCEPT", "LPAR"} <= slip.accepts:
        return slip.unexpected(_AGGREGATE)
    is_query = slip.first not in ("[", "[[")
    if is_query and slip.found == "(" and slip.last.type == "NAME" and {"COMMA", "RSQB"} <= slip.accepts:
        hint = "a key is an attribute: `extend[hour(at) as h](R)` computes one before"
        if any(token in ("aggregate", "γ") for token in slip.before):
            hint += "; keys come last: `aggregate[avg(t) as mean, count() as n by l](R)`"
        return slip.unexpected(hint)
    if slip.found in ("-", "+") and slip.requires("NAME") and slip.last in ("by", "[", ",", "per"):
        return slip.unexpected("the order of a key is written after it: `a desc`")
    if slip.last == "by" and slip.last.type == "NAME":
        listed = "AS" in slip.accepts and any(token in ("aggregate", "γ") for token in slip.before)
        if {"BY", "EXCEPT", "LPAR"} <= slip.accepts or listed:
            return slip.complain("unexpected `by`", _AGGREGATE, slip.last)
    return None


def leading_word(slip: Slip) -> Diagnostic | None:
    """`project[distinct a]`, `if a > 1 then b`, `interval '5' minute`, `date '2025-01-31'`."""
    is_operand = slip.found.type in ("NAME", "NUMBER", "STRING") or slip.found == "("
    word = str(slip.last).lower()
    is_one = "PLUS" in slip.accepts or word in ("interval", "select") or slip.found.type == "STRING"
    is_one = is_one and len(slip.statement) > 1
    if slip.last.type not in ("NAME", "DISTINCT", "TOP") or not is_operand or not is_one:
        return None
    if (help := word_synonyms.LEADING.get(word)) is None:
        return None
    return slip.unexpected(help, slip.last)


def foreign_call(slip: Slip) -> Diagnostic | None:
    """`s.startswith("a")`, `extract(hour from at)`, `tumble(table r, ...)`, `(int)s`, `f"{s}"`, `s[0]`."""
    stopped_at, last = slip.found, slip.last
    before = [str(token) for token in slip.before]
    if stopped_at == "(" and before[-2:-1] == ["."] and "PLUS" in slip.accepts:
        function = SCALARS.get(last.lower()) or AGGREGATES.get(last.lower())
        return slip.unexpected(
            function or "a function has all its arguments in parentheses: `startswith(s, 'a')`"
        )
    if stopped_at == "*" and last == ".":
        return slip.unexpected("all attributes are `*` alone")
    if stopped_at == "[" and slip.rest[:1] in ("'", '"') and "PLUS" in slip.accepts:
        return slip.unexpected("an attribute is written by its name alone: `a`")
    if stopped_at == "[" and last.lower() in word_synonyms.CALLED and "PLUS" in slip.accepts:
        return slip.unexpected(f"a function has its arguments in parentheses: `{last}(x)`")
    if stopped_at == "[" and last.type == "NAME" and "PLUS" in slip.accepts:
        return slip.unexpected(
            "there are no lists: a part of a string is `substring(s, 1, 3)` or `left(s, 1)`"
        )
    if last.type == "NAME" and stopped_at.type == "STRING" and _adjacent(last, stopped_at):
        return slip.unexpected("texts are put together by `concat(s, string(x))`, or `s || string(x)`")
    if (
        len(before) > 2
        and before[-3] == "("
        and last == ")"
        and stopped_at.type == "NAME"
        and before[-2] in TYPES
    ):
        return slip.unexpected(f"a value is converted by `{before[-2]}({stopped_at})`")
    is_first = (
        "JOIN" in slip.accepts and stopped_at.type in ("NAME", "NUMBER") and before.count(str(last)) == 1
    )
    if is_first and last.type == "NAME" and last.lower() in synonyms.OPERATORS:
        return slip.complain(f"unknown operator `{last}`", synonyms.OPERATORS[last.lower()], last)
    name = _open_call(slip).lower()
    if stopped_at == "as" and name in SCALARS and name != "cast":
        return slip.unexpected(SCALARS[name])
    if stopped_at == "within" and slip.rest.lstrip().lower().startswith("group"):
        return slip.unexpected("a quantile is `quantile(x, 0.95)`")
    words = slip.statement
    is_relation = words[:1] != ["stream"] and words.count("[") == words.count("]")
    if name in synonyms.OPERATORS and is_relation and "PLUS" not in slip.accepts:
        return slip.unexpected(synonyms.OPERATORS[name])
    if (
        name
        and stopped_at in ("from", "for", "in", "using", "both", "leading", "trailing")
        and "PLUS" in slip.accepts
    ):
        return slip.unexpected(SCALARS.get(name, f"arguments are parted by commas: `{name}(a, b)`"))
    return None


def _open_call(slip: Slip) -> str:
    """The name before the parenthesis that is still open."""
    depth = 0
    for index in range(len(slip.before) - 1, 0, -1):
        depth += (slip.before[index] in (")", "]")) - (slip.before[index] in ("(", "["))
        if depth < 0:
            named = slip.before[index] == "(" and slip.before[index - 1].type == "NAME"
            return str(slip.before[index - 1]) if named else ""
    return ""


def parameters(slip: Slip) -> Diagnostic | None:
    """`top[10](R)`, `sample[1 in 10](R)`, `window[300 as w](R)`, `select[t > 90(R)`."""
    if slip.found == "]" and slip.requires("BY"):
        if slip.before[-2] == "in":
            return slip.unexpected("a sample goes by the hash of attributes: `sample[1 in 10 by k](R)`")
        help = "as in `top[10 by t desc per l](R)`; `limit[10](R)` is the first ten to arrive"
        return slip.unexpected(help)
    if "as" in (slip.found, slip.last) and {"EVERY", "ON"} <= slip.accepts:
        return slip.unexpected("a window goes along an attribute: `window[300 on ts as wid](R)`")
    if slip.found == "(" and "RSQB" in slip.accepts and slip.last.type in ("NUMBER", "STRING"):
        return slip.complain("missing `]`", "a bracket is still open before `(`: `select[t > 90](R)`")
    return None


def separator(slip: Slip) -> Diagnostic | None:
    """`[a, b,]`, `[a b]`, `[x as a * 2]`, a string that ends too early."""
    stopped_at, last = slip.found, slip.last
    if last.type == "STRING" and _adjacent(last, stopped_at) and re.match(r"\w", str(stopped_at)):
        help = "its quote is missing, or one inside it needs `\\` in front: 'it\\'s', \"it's\""
        return slip.complain(f"the string {last} ends where it likely should not", help, last)
    ends_item = slip.accepts <= {"COMMA", "RSQB", "UNIT"} and {"COMMA", "RSQB"} <= slip.accepts
    named = len(slip.before) > 2 and slip.before[-2] == "as" and ends_item
    if named and stopped_at == "-" and (more := re.match(r"[^\W\d]\w*", slip.rest)):
        return slip.unexpected(f"a name is one word: `{last}_{more[0]}`")
    if named and stopped_at.type in ("STAR", "SLASH", "PLUS", "MINUS", "LPAR"):
        name = [str(token) for token in slip.before][-3]
        return slip.unexpected(f"the expression comes before its name: `... as {name}`")
    return None


def spelling(slip: Slip) -> Diagnostic | None:
    """`=>`, `=<`, `**`, `a::double`, `.a`."""
    pair = str(slip.last) + str(slip.found)
    if pair == "//":
        return slip.unexpected("`floor(a / b)` divides whole numbers; a comment begins with `#`")
    if pair == "->" and "CASE" in slip.accepts and slip.first != "[[":
        return slip.unexpected(
            "a new name is written `a as b`; a condition names attributes directly: `t > 90`"
        )
    if slip.found.type == "MOMENT" and slip.first not in ("[", "[["):
        return slip.unexpected(f'a time is a string in ISO form: `"{slip.found}"`')
    if slip.found == "," and slip.last.type == "NUMBER" and re.match(r"\d", slip.rest):
        return slip.unexpected("a number has no commas: `1000`, `0.5`")
    if slip.last == "%" and slip.found in (")", "]", ","):
        return slip.unexpected("a share is a number: 5 % are `0.05`")
    if slip.found == "?" and ":" in slip.rest.partition("]")[0]:
        return slip.unexpected(word_synonyms.OPERANDS["if"])
    if slip.found == "?" and slip.rest.startswith("?"):
        return slip.unexpected(word_synonyms.OPERANDS["??"])
    if slip.found == "-" and slip.last.type == "NUMBER" and "RBRACE" in slip.accepts:
        return slip.unexpected("a range is written `in [1, 3]`, with both ends")
    if slip.found == "." and "NUMBER" in slip.accepts and re.match(r"\d", slip.rest):
        return slip.unexpected(f"a number begins with a digit: `0.{re.split(r'[^0-9]', slip.rest)[0]}`")
    if pair in ("=>", "=<") and _adjacent(slip.last, slip.found):
        return slip.unexpected(f"it is written `{pair[1]}=`")
    if pair == "**":
        return slip.unexpected("a power is written `pow(x, y)`")
    if slip.found == ":" and "PLUS" in slip.accepts and slip.rest.startswith(":"):
        help = "a value is converted by `double(x)`, `int(x)`, `string(x)` ..."
        return slip.unexpected(f"{help}; {synonyms.CONVERTED}")
    if slip.found == "." and "NAME" in slip.accepts and "SLASH" not in slip.accepts:
        return slip.unexpected("an attribute is written by its name alone: `a`")
    open_call = slip.found == "as" and {"RPAR", "PLUS"} <= slip.accepts and "AS" not in slip.accepts
    if open_call and "cast" not in map(str, slip.before):
        return slip.complain("missing `)`", "a parenthesis is still open before `as`")
    return None


_CHANGES = ("ALTER", *map(str.upper, accent_forms.WORDS), "NAME")
_BEHIND_NAMES = {"EQUAL", "COMPARATOR", "IN", "LPAR"}


def marker(slip: Slip) -> Diagnostic | None:
    """`[[alter(t, t * 2)]]`, `[[+p]]`, `[[+(p)]]`, `[alter(...)]`, `[ts < 300 s = 2]`."""
    if slip.first not in ("[[", "["):
        return None
    if slip.found.type in _BEHIND_NAMES and [t.type for t in slip.before[-2:]] == ["NUMBER", "NAME"]:
        # it was taken for a unit
        return slip.unexpected("expected `,` or `and`", slip.last)
    if "ARROW" in slip.accepts and (slip.last == "unit" or "->" in slip.before):
        return slip.unexpected("a unit comes after the function: `alter(t, y -> y / 1000, unit km)`")
    is_function = [t.type for t in slip.before[-4:]] == ["ALTER", "LPAR", "NAME", "COMMA"]
    if "ARROW" in slip.accepts or is_function:
        return slip.unexpected("a function is written `y -> y * 2`: `alter(t, y -> y * 2)`")
    if slip.found in ("=", ":") and {"-", "−"} & {*slip.before[-3:-2]}:
        return slip.unexpected("names alone, `-(p)` or `-(p, q)`")
    if "+" in slip.before[-6:] and slip.found in (",", "=") and "UNIT" in slip.accepts:
        return slip.unexpected(
            "an attribute has a name and a type, `+(p: double)`; another is an accent of its own"
        )
    if slip.last in ("+", "-", "−") and slip.requires("LPAR"):
        return slip.unexpected("as in `+(p: double)` and `-(p)`")
    if slip.requires("COLON") and any(token.type == "RECODE" for token in slip.before):
        return slip.unexpected("each code comes with its new one: `recode(k, {1: 2})`")
    if slip.requires("COLON"):
        return slip.unexpected("an attribute comes with its type: `+(p: double)`")
    is_change = slip.last.type in _CHANGES and "EQUAL" in slip.accepts
    if slip.first == "[" and slip.found == "(" and is_change:
        return slip.unexpected("an accent is written in double brackets: `[[s = 2, alter(t, y -> y * 2)]]`")
    return None


HABITS: tuple[Rule, ...] = (
    marker,
    leading_word,
    *CHANGES,
    comment,
    statement,
    small_letters,
    operator,
    output,
    clause,
    foreign_call,
    aggregate,
    parameters,
    separator,
    spelling,
    declaration,
    typed_unit,
    setting,
)
"""Rules in the order they are tried."""
