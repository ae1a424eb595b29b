"""One edit that makes a refused text a correct one: a hint is given where the parser accepts the edited text.

A small form of the repairs of Burke and Fisher, *A practical method for LR and LL syntactic error diagnosis and
recovery* (1987): words and signs near the refused one are replaced, left out, inserted or put in brackets.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen
from lark import Token
from lark.exceptions import UnexpectedInput

from cedilla.grammar import foreign_words, forms, lalr, statements, terminals
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.slips import Slip, place_after, span_of
from cedilla.grammar.suggestions import closest

_PAIRS = {"{": "}", "(": ")", "[": "]"}
_LONGEST_STATEMENT = 4_000
"""Longer statements are not repaired: each edit parses the statement again."""
_LONGEST = 40
"""A piece of the text is quoted up to this length."""


@frozen
class Repairer:
    """Tries edits of the statement that a slip is in."""

    slip: Slip
    text: str
    start: lalr.Start

    @property
    def bounds(self) -> tuple[int, int]:
        """The statement's place in the text; a marker is the whole text."""
        if self.start != "query":
            return 0, len(self.text)
        return statements.bounds(self.text, self.slip.found.start_pos or 0)

    def accepts(self, *edits: tuple[int, int, str]) -> bool:
        """Returns True if the statement is correct after pieces of it are replaced."""
        return self._refused(edits) is None

    def goes_on(self, edit: tuple[int, int, str], certain: int = 3) -> bool:
        """Returns True if the statement is correct with an edit, or if its next error is `certain` tokens later."""
        refused = self._refused([edit])
        begin, _ = self.bounds
        return refused is None or len(statements.PIECE.findall(self._edited([edit])[:refused])) >= (
            len(statements.PIECE.findall(self.text[begin : edit[0]])) + 1 + certain
        )

    def _edited(self, edits: Iterable[tuple[int, int, str]]) -> str:
        begin, end = self.bounds
        piece = self.text[begin:end]
        for first, last, new in sorted(edits, reverse=True):
            piece = f"{piece[: first - begin]}{new}{piece[last - begin :]}"
        return piece if self.start != "query" or piece.rstrip().endswith(";") else f"{piece};"

    def _refused(self, edits: Iterable[tuple[int, int, str]]) -> int | None:
        """Returns the place at which the edited statement is refused."""
        try:
            lalr.parse(self._edited(edits), self.start)
        except UnexpectedInput as error:
            return error.pos_in_stream
        except RecursionError:
            return 0
        return None

    def form(self, hint: str = "") -> str:
        """A hint with the form of the construct."""
        form = forms.form_of(self.slip.before, self.slip.found)
        shown = f"as in `{form}`" if form is not None and form not in hint else ""
        return ", ".join(filter(None, (hint, shown)))

    def before(self, count: int) -> tuple[tuple[Token, ...], Token]:
        """Returns the token `count` places before the refused one, after the tokens before it."""
        tokens = (*self.slip.before, self.slip.found)
        place = len(tokens) - 1 - count
        return tokens[:place], tokens[place]

    def accepted(self, count: int) -> frozenset[str]:
        """Returns the types that may replace the token `count` places before the refused one."""
        return (
            lalr.accepted(self.slip.before[: len(self.slip.before) - count], self.start)
            if count
            else (self.slip.accepts)
        )


def repaired(slip: Slip, text: str, start: lalr.Start) -> Diagnostic | None:
    """The diagnostic for a text that one edit corrects, else `None`."""
    repairer = Repairer(slip, text, start)
    begin, end = repairer.bounds
    if end - begin > _LONGEST_STATEMENT:
        return None
    for repair in _REPAIRS:
        if (diagnostic := repair(repairer)) is not None:
            return diagnostic
    return None


def _words(accepted: Iterable[str]) -> dict[str, str]:
    """Words and signs that are always written the same -> their types."""
    spelt = {t: lalr.spelling(t) for t in accepted if t not in terminals.SECOND_SPELLINGS}
    choices = {word: t for t in spelt for word in terminals.CHOICES.get(t, ())}
    return {word: t for t, word in spelt.items() if word is not None} | choices


def misspelt(r: Repairer) -> Diagnostic | None:
    """`agregate[...]`, `window[5 minutes evry 1 minute ...]`, `AND`: a word of the language with a slip in it."""
    for count in range(min(3, len(r.slip.before) + 1)):
        _, token = r.before(count)
        if not str(token).isidentifier():
            continue
        words = [word for word in _words(r.accepted(count)) if word.isalpha()]
        guess = closest(token, [w for w in words if w != token])
        if guess is not None and r.goes_on((_start(token), _end(token), guess)):
            return r.slip.complain(
                f"unexpected `{token}`", r.form(f"did you mean `{guess}`?"), span_of(token, r.slip.source)
            )
    return None


def brackets(r: Repairer) -> Diagnostic | None:
    """`select{a > 1}(r)`, `x in [1, 2, 3]`, `x in {1, 2)`, `by (a, b)`: brackets of another kind, or needless."""
    found = r.slip.found
    if found in _PAIRS.values():
        for closing in _PAIRS.values():
            if closing != found and r.accepts((_start(found), _end(found), closing)):
                return r.slip.unexpected(r.form(f"did you mean `{closing}`?"))
    opening = found if found in _PAIRS else _innermost(r.slip.before)
    if opening is None or (close := _closing(r, opening)) is None:
        return None
    inside = r.text[_end(opening) : close[0]].strip()
    is_index = found == "[" and r.slip.last.type == "NAME" and "PLUS" in r.slip.accepts
    for new, newly in _PAIRS.items():
        if (
            new != opening
            and not is_index
            and r.accepts((_start(opening), _end(opening), new), (*close, newly))
        ):
            piece = f"{new}{inside}{newly}" if len(inside) < _LONGEST else f"{new}...{newly}"
            at = span_of(opening, r.slip.source)
            return r.slip.complain(f"unexpected `{opening}`", r.form(f"did you mean `{piece}`?"), at)
    is_list = found == "(" and (r.slip.last.type != "NAME" or r.slip.requires("STRING"))
    if is_list and found is opening and r.accepts((_start(opening), _end(opening), ""), (*close, "")):
        return r.slip.unexpected(r.form(f"did you mean `{inside}`, without brackets?"))
    return None


def call(r: Repairer) -> Diagnostic | None:
    """`avg amount`, `isnull x`: arguments without parentheses."""
    last, found = r.slip.last, r.slip.found
    if (
        last.type != "NAME"
        or str(last).lower() not in foreign_words.CALLED
        or found.type not in ("NAME", "NUMBER")
    ):
        return None
    if r.goes_on((_end(last), _end(found), f"({found})"), 2):
        return r.slip.unexpected(f"did you mean `{last}({found})`?")
    return None


def replaced(r: Repairer) -> Diagnostic | None:
    """`rename[a: b]`, `top[10, a]`, `top[10 by a within b]`, `if(a > 1; b; c)`: another sign or little word."""
    found = r.slip.found
    is_sign = not re.match(r"[\w\"']", str(found)) and found not in _PAIRS
    if not is_sign and str(found).lower() not in foreign_words.LITTLE:
        return None
    inside = itertools.takewhile(lambda p: p[1] >= 0, _with_depth(r, _start(found)))
    same = [(p.start(), p.end()) for p, depth in inside if depth == 0 and p[0] == str(found)]
    for edited in (same[:1], same):
        good = [
            word
            for word in _words(r.slip.accepts)
            if word not in _SIGNS
            and (is_sign or word.isalpha() or word == ",")
            and r.accepts(*((a, b, f" {word} ") for a, b in edited))
        ]
        if found == ";" and "," in good:
            good = [","]
        if not is_sign and {*good} - {"and", "or"}:
            good = [each for each in good if each not in ("and", "or")]
        if good and (named := terminals.named({_words(r.slip.accepts)[w] for w in good}, 3)):
            return r.slip.unexpected(r.form(f"did you mean {named}?"))
    return None


_SIGNS = frozenset(
    (
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "not",
        "(",
        "[",
        "{",
        ".",
        "true",
        "false",
        "case",
        "distinct",
        "where",
        "unit",
    )
)
"""Signs and words that are not written by mistake for another one."""
_ARITHMETIC = ("+", "-", "*", "/", "%", "||")
_BEFORE_NAMES = ("as", "by", "on", "per", "in", "and", "or", "then", "else", "to", "from")
_NEEDLESS_SIGNS = frozenset((",", ";", ":", "(", ")", "[", "]", "{", "}", "?", "="))


def left_out(r: Repairer) -> Diagnostic | None:
    """`a, , b`, `heartbeat on at delay 10`, `top[10 order by a]`, `select[a > 1](r))`: one sign or word too many."""
    for count in range(min(3, len(r.slip.before) + 1)):
        before, token = r.before(count)
        if count == 2 and not (token == "," and r.slip.last in foreign_words.WORDS):
            break
        is_word = str(token).isidentifier()
        twice = bool(before) and str(before[-1]) == str(token)
        ends = count > 0 and r.slip.found in _PAIRS.values()
        needless = (
            str(token).lower() in foreign_words.NEEDLESS and not ends if is_word else token in _NEEDLESS_SIGNS
        )
        is_operand = bool(before) and str(before[-1]) in (_ARITHMETIC if is_word else _BEFORE_NAMES)
        is_name = count > 0 and token.type == "NAME" and (not before or before[-1] != "[")
        if (
            not (twice or needless)
            or token.type in ("STRING", "NUMBER")
            or is_operand
            or (is_word and is_name)
        ):
            continue
        if token.type != "$END" and r.accepts((_start(token), _end(token), " ")):
            at = span_of(token, r.slip.source)
            return r.slip.complain(f"unexpected `{token}`", r.form(f"leave `{token}` out"), at)
    return None


def inserted(r: Repairer) -> Diagnostic | None:
    """`window[5 minutes at as w]`, `by a b`, `select[a > 1(r)`: something is missing."""
    for count in (0, 1):
        before, token = r.before(min(count, len(r.slip.before)))
        if count and not (before and before[-1].type == "NUMBER"):
            break
        place = _start(token)
        words = _words(r.accepted(count))
        good = [w for w in words if w not in _OPERANDS and _is_missing(r, w, place)]
        if not good and "," in words and r.goes_on((place, place, ", ")):
            good = [","]
        if str(token) in foreign_words.WORDS:
            good = [w for w in good if w not in (",", "and", "or")]
        good = [w for w in good if not (w.isalpha() and before and w == str(before[-1]))]
        if "," in good:
            good = [each for each in good if each in (",", "as")]
        types = {words[w] for w in good}
        if "EQUAL" in types and "COMPARATOR" in r.accepted(count):
            types |= {"COMPARATOR", "IN"}
        if good and (named := terminals.named(types, 4)):
            message = f"missing {named} before `{token}`"
            first = not before or before[-1] == ";"
            at = span_of(token, r.slip.source) if first else place_after(before[-1], r.slip.source)
            return r.slip.complain(message, r.form() or None, at)
    return None


_OPERANDS = frozenset(("true", "false", "case", "-", "not", "*"))
_MORE = ("x", "1", '"x"', 'json "x"')
"""Tokens that may be missing together with a word."""


def _is_missing(r: Repairer, word: str, place: int) -> bool:
    more = _MORE if word.isalpha() and word not in ("and", "or") else ()
    return any(r.accepts((place, place, f" {word} {after} ")) for after in ("", *more))


def moved_unit(r: Repairer) -> Diagnostic | None:
    """`t degC > 30`."""
    found = r.slip.found
    rest = [piece for piece, _ in zip(_pieces(r, _end(found)), range(3), strict=False)]
    number = next((piece for piece in rest if piece[0].isdecimal()), None)
    if found.type != "NAME" or r.slip.last.type not in ("NAME", "RPAR") or r.slip.last in foreign_words.WORDS:
        return None
    if number is None or not re.match("[=!<>≠≤≥]", rest[0][0]):
        return None
    if r.accepts((_start(found), _end(found), ""), (number.end(), number.end(), f" {found}")):
        sign = r.text[_end(found) : number.start()].strip()
        return r.slip.unexpected(f"a unit comes after a constant: `{r.slip.last} {sign} {number[0]} {found}`")
    return None


def unquoted(r: Repairer) -> Diagnostic | None:
    """`as "total"`: a name in quotes."""
    found, name = r.slip.found, str(r.slip.found)[1:-1]
    if found.type != "STRING" or not re.match(r"\w", name):
        return None
    for said in (name, f"as {name}"):
        if r.accepts((_start(found), _end(found), f" {said}")):
            return r.slip.unexpected(r.form(f"`{said}` is written without quotes"))
    return None


def moved_name(r: Repairer) -> Diagnostic | None:
    """`project[total: a * 2](R)`, `extend[total := a * 2](R)`: the name before its expression."""
    last, found = r.slip.last, r.slip.found
    if last.type != "NAME" or found not in (":", ":="):
        return None
    ends = (
        p.start() for p, depth in _with_depth(r, _end(found)) if depth < 0 or (depth == 0 and p[0] == ",")
    )
    end = next(ends, None)
    if end is None or not r.accepts((_start(last), _end(found), ""), (end, end, f" as {last}")):
        return None
    return r.slip.unexpected(
        f"a name comes after its expression: `{r.text[_end(found) : end].strip()} as {last}`"
    )


def _start(token: Token) -> int:
    return token.start_pos or 0


def _end(token: Token) -> int:
    return token.end_pos or 0


def _pieces(r: Repairer, place: int) -> Iterator[re.Match[str]]:
    return statements.PIECE.finditer(r.text, place, r.bounds[1])


def _with_depth(r: Repairer, place: int) -> Iterator[tuple[re.Match[str], int]]:
    """Pieces from a place on, each with the brackets that are open there and were not at the place."""
    depth = 0
    for piece in _pieces(r, place):
        depth += (piece[0] in "([{") - (piece[0] in ")]}")
        yield piece, depth


def _innermost(before: Sequence[Token]) -> Token | None:
    """The bracket that is still open."""
    depth = 0
    for token in reversed(before):
        depth += (token in _PAIRS.values()) - (token in _PAIRS)
        if depth < 0:
            return token
    return None


def _closing(r: Repairer, opening: Token) -> tuple[int, int] | None:
    """The place of the bracket that closes another one, of whatever kind."""
    inside = _with_depth(r, _end(opening))
    return next(((piece.start(), piece.end()) for piece, depth in inside if depth < 0), None)


_REPAIRS: tuple[Callable[[Repairer], Diagnostic | None], ...] = (
    misspelt,
    moved_unit,
    moved_name,
    unquoted,
    call,
    brackets,
    replaced,
    left_out,
    inserted,
)
"""Kinds of repairs in the order they are tried."""
