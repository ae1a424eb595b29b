"""From lark's errors to diagnostics: what was found, what was expected, which slip it looks like."""

from __future__ import annotations

import re

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput

from cedilla.grammar.diagnostics import Diagnostic, Span
from cedilla.grammar.hints import forms, repairs, synonyms, terminals, word_synonyms
from cedilla.grammar.hints.edits import Check, Editor
from cedilla.grammar.hints.foreign_words import foreign_types, foreign_word
from cedilla.grammar.hints.slip import Slip, place_after, span_of
from cedilla.grammar.parsing import lalr

_CHARACTERS = {
    **dict.fromkeys("“”„«»", "strings are written in straight quotes, `\"a\"` or `'a'`"),
    **dict.fromkeys("‘’´", "strings are written in straight quotes, `\"a\"` or `'a'`"),
    "`": "names are written without quotes, strings in double or single quotes",
    "°": 'a unit with a sign is written in quotes, `"°C"`, or as one word, `degC`',
    "^": "a power is written `pow(x, y)`, exclusive or of bits `bitwise_xor(x, y)`",
    "$": "an attribute is written by its name alone: `a`; a constant is named by `let rate = 0.9;`",
    "@": "an attribute is written by its name alone: `a`; a constant is named by `let rate = 0.9;`",
    "~": "negation is written `not`, of bits `bitwise_not(x)`",
    "&": "conjunction is written `and`, of bits `bitwise_and(x, y)`; strings are joined by `a || b`",
    "|": "disjunction is written `or`, of bits `bitwise_or(x, y)`; `a || b` joins strings, and operators are written "
    "around their input: `select[t > 90](R)`",
    "!": "negation is written `not`, inequality `!=`",
    **dict.fromkeys("€£¥¢", "a number is written alone, without the sign of a currency: `5`"),
    **dict.fromkeys("×·", "a product is written `a * b`"),
    "÷": "a quotient is written `a / b`",
    **dict.fromkeys("²³", 'a power is written `pow(x, y)`, in a unit `"m^2"`'),
    "√": "a root is written `sqrt(x)`",
    **dict.fromkeys("–—", "a minus sign is written `-`, a comment begins with `#`"),
    "…": "a list is written out, `{1, 2, 3}`, a range as `[low, high]`",
    "µ": 'a unit with a sign is written in quotes: `"µm"`',
    "\\": "a query needs no sign at the end of a line",
    "\u00a0": "this is a no-break space; write a plain space",
    "\ufeff": "this is an invisible mark; leave it out",
}
_OF_RELATIONS = {
    "&": "tuples of both relations are `A intersect B`, all of them `A union B`",
}
"""Characters after a relation."""
_OF_LISTS = {"|": "a comma comes between: `a, b`; disjunction is written `or`"}
_OF_MARKERS = {
    "|": synonyms.CONDITIONS["or"],
    "&": "conditions are joined by `,` or `and`",
    "!": synonyms.CONDITIONS["not"],
    "~": synonyms.CONDITIONS["like"],
}
"""Characters in the conditions of a marker."""
_OF_OPERANDS = {
    "~": word_synonyms.OPERANDS["regexp"],
    "!": "inequality is written `!=`, negation `not`",
}
"""Characters after an operand, where they have another meaning."""


def explain(
    error: UnexpectedInput, text: str, source: str, start: lalr.Start, check: Check | None = None
) -> Diagnostic:
    """The diagnostic for what lark could not read in `text`. `check`: an edit is proposed only if it passes."""
    if isinstance(error, UnexpectedCharacters):
        return _illegal(text, source, lalr.position(error), start)
    before, token = lalr.stop(text, start)
    accepts = lalr.accepted(before, start)
    if before and before[-1].type == "NUMBER":
        accepts -= {"NAME", "STRING"}  # a unit
    slip = _refused(Slip(token, before, accepts, source, text[token.end_pos or len(text) :]), text, start)
    token, accepts = slip.found, slip.accepts
    editor = Editor(slip, text, start, check)
    if check is not None and (diagnostic := repairs.repaired(editor, repairs.CERTAIN)) is not None:
        return diagnostic
    if token.type == "$END":
        message, span = "unexpected end of the text", end_of(text, source)
        help = "a statement ends with `;`" if "SEMICOLON" in accepts else _expected(slip)
        return Diagnostic("RQ002", "error", message, span, help=help)
    if (
        diagnostic := _default_of_add(slip)
        or _unended_string(slip)
        or foreign_word(slip)
        or _unended_statement(slip)
    ) is not None:
        return diagnostic
    unchecked = () if check is not None else repairs.CERTAIN
    diagnostic = repairs.repaired(editor, (*unchecked, *repairs.LIKELY)) or foreign_types(slip)
    if diagnostic is not None:
        return diagnostic
    return Diagnostic("RQ001", "error", f"unexpected `{token}`", span_of(token, source), help=_expected(slip))


UNENDED = "missing `;` at the end of the statement"
_STARTS = ("STREAM", "TABLE", "OPERATOR", "SET", "LET", "EMIT", "ACCENT", "USE")


def _unended_statement(slip: Slip) -> Diagnostic | None:
    """Returns the diagnostic for a statement that has not ended where the next one begins."""
    token, last = slip.found, slip.last
    if "SEMICOLON" not in slip.accepts:
        return None
    if token.type == "DEFINE" and last.type == "NAME":
        last = slip.before[-2]  # the defined name was taken for a unit
    elif token.type not in _STARTS and not (token.type == "NAME" and token.line != last.end_line):
        return None
    return slip.complain(UNENDED, at=place_after(last, slip.source))


def _default_of_add(slip: Slip) -> Diagnostic | None:
    """Returns RQ600 for a default in an accent that adds an attribute."""
    if slip.found not in ("default", "=", ":=") or slip.call != "+":
        return None
    match slip.before[max(n for n, token in enumerate(slip.before) if token is slip.call) :]:
        case (_, _, name, Token(type="COLON"), type_, *_):
            help = f"leave it out; the query says what tuples without `{name}` have, also those before the accent: "
            help += f"`{name}: {type_} default ...` where its stream is declared"
            span = span_of(slip.found, slip.source)
            return Diagnostic("RQ600", "error", "an accent has no default", span, help=help)
        case _:
            return None


def _unended_string(slip: Slip) -> Diagnostic | None:
    """Returns the diagnostic for a word just after a string, which lacks a quote or has one that is not escaped."""
    last = slip.last
    if last.type != "STRING" or last.end_pos != slip.found.start_pos or not slip.found[0].isalnum():
        return None
    help = "its quote is missing, or one inside it needs `\\` in front: 'it\\'s', \"it's\""
    return slip.complain(f"the string {last} ends where it likely should not", help, last)


_SMALL_WORDS = {other for others in word_synonyms.STANDS_FOR.values() for other in others}


def _refused(slip: Slip, text: str, start: lalr.Start) -> Slip:
    """The slip at the word that is likely refused: a word that was read as two, or as a unit after a number, ends
    earlier than the parser."""
    more = re.match(r"\w+", slip.rest)
    if more and slip.found.isidentifier():  # a keyword that a longer word begins with
        end = (slip.found.end_pos or 0) + more.end()
        word = Token.new_borrow_pos("NAME", f"{slip.found}{more[0]}", slip.found)
        word.end_pos, word.end_column = end, (slip.found.end_column or 0) + more.end()
        return Slip(word, slip.before, slip.accepts, slip.source, text[end:])
    tokens = (*slip.before, slip.found)
    for index in range(len(tokens) - 1, max(len(tokens) - 4, 0), -1):
        first, second = tokens[index - 1 : index + 1]
        joined = f"{first}{second}"
        if first.end_pos == second.start_pos and joined.isidentifier() and not first.isdecimal():
            return _slip_at(
                tokens[: index - 1], Token.new_borrow_pos("NAME", joined, first), second, slip, text, start
            )
    signs = {"+", "-", "*", "/", "%", "||", "<", ">", "<=", ">=", "=", "!="}
    if (
        slip.last.type == "NAME"
        and slip.last in word_synonyms.WORDS
        and signs & {*map(str, slip.before[-2:-1])}
    ):
        return _slip_at(slip.before[:-1], slip.last, slip.last, slip, text, start)
    number, word = slip.before[-2:] if len(slip.before) > 1 else (slip.last, slip.last)
    lower = str(word).lower()
    tables = (word_synonyms.OPERANDS, _SMALL_WORDS, word_synonyms.WORDS)
    if number.type == "NUMBER" and word.type == "NAME" and any(lower in words for words in tables):
        return _slip_at(slip.before[:-1], word, word, slip, text, start)
    return slip


def _slip_at(
    before: tuple[Token, ...], refused: Token, last: Token, slip: Slip, text: str, start: lalr.Start
) -> Slip:
    """The slip at an earlier token, which ends where `last` does."""
    refused.end_pos, refused.end_line, refused.end_column = last.end_pos, last.end_line, last.end_column
    accepts = lalr.accepted(before, start)
    if before and before[-1].type == "NUMBER":
        accepts -= {"NAME", "STRING"}
    return Slip(refused, before, accepts, slip.source, text[refused.end_pos or 0 :])


_MAX_SHOWN = 5
"""The greatest number of continuations that a hint names."""


def _expected(slip: Slip) -> str | None:
    """Returns the possible continuations, if they are few enough to help, and the form of the construct."""
    could = terminals.named(slip.accepts, _MAX_SHOWN)
    form = forms.form_of(slip.before, slip.found)
    parts = (could and f"expected {could}", form and f"as in `{form}`")
    return "; ".join(filter(None, parts)) or None


def end_of(text: str, source: str) -> Span:
    """The place just after the last visible character."""
    return _at(text, source, len(text.rstrip()), 0)


def _at(text: str, source: str, start: int, length: int) -> Span:
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    return Span(source, start, start + length, line, column, line, column + length)


def _illegal(text: str, source: str, position: int, start: lalr.Start) -> Diagnostic:
    character = text[position]
    if character in "\"'":
        line = text[position:].split("\n", 1)[0].rstrip()
        span = _at(text, source, position, len(line))
        help = f"a string ends on its line, with the quote that it begins with: `{character}north{character}`"
        return Diagnostic("RQ006", "error", "a string without its closing quote", span, help=help)
    if number := re.compile(r"\d[\w.]*").match(text, position):
        span = _at(text, source, position, len(number[0]))
        unit = re.fullmatch(r"(\d+(?:\.\d+)?)((?![eE]\d)[A-Za-z]\w*)", number[0])
        help = "a number is written `12`, `0.5` or `1e-3`; a space separates it from what follows"
        if re.fullmatch(r"\d+(_\d+)+", number[0]):
            help = f"digits are written together: `{number[0].replace('_', '')}`"
        elif re.fullmatch(r"0[xXbBoO]\w+", number[0]):
            help = "a number is written in decimal digits: `255`"
        elif re.fullmatch(r"\d+\.\d+\.\d+", number[0]):
            help = 'a time is a string in ISO form: `"2025-01-31"`, `"2025-01-31T12:00:00Z"`'
        elif unit and unit[2].lower() == "e":
            help = "an exponent has digits: `1e3`"
        elif unit and (full := synonyms.UNITS.get(unit[2])):
            help = f"a length of time is written `{unit[1]} {full}s`"
        elif unit:
            help = f"a unit comes after a space: `{unit[1]} {unit[2]}`; a product is `{unit[1]} * {unit[2]}`"
        return Diagnostic("RQ006", "error", f"malformed number `{number[0]}`", span, help=help)
    span = _at(text, source, position, 1)
    before = lalr.tokens(text[:position], start)
    accepts = lalr.accepted(before, start)
    others = _OF_RELATIONS if "JOIN" in accepts else _OF_OPERANDS if "PLUS" in accepts else {}
    if {"COMMA", "PLUS"} <= accepts:
        others = {**others, **_OF_LISTS}
    if character == "!" and re.match(r"!\s*in\b", text[position:]):
        others = {"!": "the opposite of a list is `x not in {1, 2}`"}
    if start != "query" and start != "expression":
        others = _OF_MARKERS if "->" not in before else {"^": forms.AFFINE}
    if character == "~" and text[position - 1] in "=!":
        others = _OF_OPERANDS
    help = others.get(character) or _CHARACTERS.get(character)
    if character == "|" and "UNIT" in accepts and "PLUS" not in accepts:
        help = synonyms.DECLARED["null"]
    if character == "|" and others is _OF_RELATIONS:
        help = synonyms.around(text[position:])
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    form = forms.form_of(before, before[-1]) if before and help is None else None
    if form is not None:
        help = f"as in `{form}`"
    return Diagnostic("RQ003", "error", f"unexpected character `{shown}`", span, help=help)
