"""One edit that makes a refused text a correct one: a hint is given if the edited text is accepted.

A small form of the repairs of Burke and Fisher, *A practical method for LR and LL syntactic error diagnosis and
recovery* (1987): words and signs near the refused one are replaced, left out, inserted, exchanged or put in brackets.
A repair of a query has to mean something, too (`edits.Check`). The first kind of repair that fits is the hint. If
several edits of this kind fit, the hint lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lark import Token

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.hints import forms, rearrangements, terminals, word_synonyms
from cedilla.grammar.hints.edits import (
    CLOSING,
    OPERATORS,
    PAIRS,
    Editor,
    closing,
    end_of,
    innermost,
    is_word,
    start_of,
)
from cedilla.grammar.hints.slip import place_after
from cedilla.grammar.parsing import statements

Repair = Callable[[Editor], Diagnostic | None]

_MAX_LENGTH = 60
"""A piece of the text is quoted up to this length."""


def repaired(editor: Editor, repairs: Iterable[Repair]) -> Diagnostic | None:
    """The diagnostic for a text that one edit corrects, else `None`."""
    if not editor.is_short:
        return None
    return next(filter(None, (repair(editor) for repair in repairs)), None)


def _candidates_text(editor: Editor, count: int, words: Iterable[str], most: int = 3) -> str | None:
    types = editor.words(count)
    return terminals.named({types[word] for word in words}, most)


def doubled(e: Editor) -> Diagnostic | None:
    """`a, , b`, `as as m`, `select[a > 1](r))`: a token twice."""
    for _, before, token in e.last(4):
        twice = bool(before) and str(before[-1]) == str(token) and token.type != "$END"
        if not twice or token.startswith(OPERATORS) or token == ":":
            continue
        if e.accepts((start_of(token), end_of(token), "")):
            return e.slip.unexpected(f"leave one `{token}` out", token)
    return None


def misspelt(e: Editor) -> Diagnostic | None:
    """`agregate[...]`, `window[5 minutes evry 1 minute ...]`, `AND`: a word of the language with a slip in it."""
    for count, _, token in e.last(3):
        guess = _nearest(e, count, token)
        if guess is not None and e.repeated((start_of(token), end_of(token), guess), _in_small_letters):
            return _misspelt(e, token, guess)
    return None


def likely_call(e: Editor) -> Diagnostic | None:
    """`upper state` in a statement with another error."""
    last, token = e.slip.last, e.slip.found
    if last.type != "NAME" or token.type != "NAME" or last.lower() not in word_synonyms.CALLED:
        return None
    edit = (end_of(last), end_of(token), f"({token})")
    if str(token) in word_synonyms.WORDS or not (e.parses(edit) or e.goes_on(edit, 2)):
        return None
    return e.slip.unexpected(f"did you mean `{last}({token})`?")


def likely_misspelt(e: Editor) -> Diagnostic | None:
    """The same in a statement with another error, some tokens later."""
    for count, _, token in e.last(3):
        guess = _nearest(e, count, token)
        if guess is not None and e.goes_on((start_of(token), end_of(token), guess)):
            return _misspelt(e, token, guess)
    return None


def _nearest(e: Editor, count: int, token: Token) -> str | None:
    if not is_word(token) or token.lower() in word_synonyms.KNOWN:
        return None
    words = [word for word in e.words(count) if word.isalpha() and word != token]
    is_checked = e.check is not None and len(token) > 2
    return suggest(token, words) or (suggest(token, words, checked=True) if is_checked else None)


def _misspelt(e: Editor, token: Token, guess: str) -> Diagnostic:
    if guess == token.lower():
        return e.slip.unexpected(f"keywords are written in lower case: `{guess}`", token)
    form = forms.form_of_word(guess)
    hint = f"did you mean `{guess}`?"
    return e.slip.unexpected(f"{hint}, as in `{form}`" if form else e.form(hint), token)


def _in_small_letters(token: Token) -> str | None:
    lower = token.lower()
    return lower if lower != token and lower in word_synonyms.WORDS else None


def quote(e: Editor) -> Diagnostic | None:
    """`in {new", "paid"}`: a quote is missing before a word."""
    last, token = e.slip.last, e.slip.found
    if token.type != "STRING" or end_of(last) != start_of(token) or not is_word(last):
        return None
    if e.accepts((start_of(last), start_of(last), token[0])):
        return e.slip.complain(
            f"missing quote before `{last}`", f"did you mean `{token[0]}{last}{token[0]}`?", last
        )
    return None


def brackets(e: Editor) -> Diagnostic | None:
    """`select{a > 1}(r)`, `x in [1, 2, 3]`, `x in {1, 2)`, `window)5 minutes on at as w](r)`: another bracket."""
    if e.slip.last == "," and e.slip.found in CLOSING:  # the comma is needless
        return None
    if (mixed := _mixed(e)) is not None:
        return mixed
    for _, _, token in e.last(2):
        if token not in (*PAIRS, *CLOSING):
            continue
        for other in (*CLOSING, *PAIRS):
            if other != token and e.accepts((start_of(token), end_of(token), other)):
                return e.slip.unexpected(e.form(f"did you mean `{other}`?"), token)
    stopped_at = e.slip.found
    opening = stopped_at if stopped_at in PAIRS else innermost(e.slip.before)
    if opening is None or (close := closing(e, opening)) is None:
        return None
    inside = e.text[end_of(opening) : close[0]].strip()
    is_index = stopped_at == "[" and e.slip.last.type == "NAME" and "PLUS" in e.slip.accepts
    for new, newly in PAIRS.items():
        if new == opening or is_index:
            continue
        if e.accepts((start_of(opening), end_of(opening), new), (*close, newly)):
            piece = f"{new}{inside}{newly}" if len(inside) < _MAX_LENGTH else f"{new}...{newly}"
            return e.slip.unexpected(e.form(f"did you mean `{piece}`?"), opening)
    is_list = stopped_at == "(" and (e.slip.last.type != "NAME" or e.slip.requires("STRING"))
    is_list = is_list or (e.slip.last == "distinct" and inside.isidentifier())
    if (
        is_list
        and stopped_at is opening
        and e.accepts((start_of(opening), end_of(opening), " "), (*close, ""))
    ):
        return e.slip.unexpected(e.form(f"did you mean `{inside}`, without brackets?"))
    return None


def _mixed(e: Editor) -> Diagnostic | None:
    """`x in (1, 2}`: brackets of two kinds; either may be the wrong one."""
    opening, token = innermost(e.slip.before), e.slip.found
    if opening is None or token not in CLOSING or PAIRS[opening] == token:
        return None
    new = next(key for key, value in PAIRS.items() if value == token)
    if not e.accepts((start_of(opening), end_of(opening), new)):
        return None
    ends = [w for w in CLOSING if w != token and e.accepts((start_of(token), end_of(token), w))]
    inside = e.text[end_of(opening) : start_of(token)].strip()
    if len(inside) > _MAX_LENGTH or not ends:
        return None
    shown = " or ".join(
        f"`{a}{inside}{b}`" for a, b in ((new, str(token)), *((str(opening), w) for w in ends))
    )
    return e.slip.unexpected(f"`{opening}` and `{token}` are of two kinds: {shown}")


def replaced(e: Editor) -> Diagnostic | None:
    """`rename[a: b]`, `top[10, a]`, `top[10 by a within b]`, `if(a > 1; b; c)`: another sign or little word."""
    for count, _, token in e.last(2):
        word = token.lower()
        choices = [w for w in e.words(count) if word in word_synonyms.STANDS_FOR.get(w, ())]
        if word in ("in", "from", "for", "to", "then", "with") and innermost(e.before(count)[0]) != "(":
            choices = [w for w in choices if w != ","]
        if e.check is None and token == ",":
            choices = [w for w in choices if w not in ("and", "or")]
        good = [w for w in choices if _replaces(e, token, w)]
        if token in (";", "."):
            good = [w for w in good if w == ","] or good
        if good and (named := _candidates_text(e, count, good)):
            return e.slip.unexpected(e.form(f"did you mean {named}?"), token)
    return None


def _replaces(e: Editor, token: Token, word: str) -> bool:
    def following(refused: Token) -> str | None:
        return f" {word} " if str(refused) == str(token) else None

    return e.repeated((start_of(token), end_of(token), f" {word} "), following)


def left_out(e: Editor) -> Diagnostic | None:
    """`heartbeat on at delay 10`, `top[10 order by a]`, `sort[order by a]`: a sign or some words too many."""
    tokens = (*e.slip.before, e.slip.found)
    words = [
        "",
        *(str(left_out_token).lower() for left_out_token in tokens),
        *statements.PIECE.findall(e.slip.rest)[:1],
        "",
    ]
    for count, before, token in e.last(3):
        index = len(before)
        ahead = words[index : index + 3]
        is_pair = count > 0 and " ".join(ahead[1:]) in word_synonyms.NEEDLESS
        size = 2 if is_pair else int(_is_needless(token, ahead, count))
        is_fraction = token == "." and e.text[end_of(token) :][:1].isdecimal()
        begins = count == 1 and token.type == "NAME" and ahead[0] in ("", ";")
        if token.type in ("$END", "STRING", "NUMBER") or is_fraction or not (size or begins):
            continue
        begin, end = start_of(token), end_of(tokens[index + max(size, 1) - 1])
        if e.accepts((begin, end, " ")):
            return e.slip.unexpected(e.form(f"leave `{e.text[begin:end]}` out"), token)
    return None


def _is_needless(token: Token, ahead: Sequence[str], count: int) -> bool:
    """`ahead`: the token before, the token, and the one after it."""
    if token == ",":
        ends = ahead[2] in (*CLOSING, ";", *word_synonyms.WORDS - {"as"}) or ahead[0] in PAIRS
        return ends and ahead[0] not in word_synonyms.WORDS - {"asc", "desc", "end", "null"}
    if token in (",", ";", ":", ".", *PAIRS, *CLOSING):
        return count < 2 and ahead[0] not in word_synonyms.WORDS
    if ahead[-1] in CLOSING or ahead[0] in ("as", "on"):
        return False
    return token.lower() in word_synonyms.NEEDLESS or " ".join(ahead[:2]) in word_synonyms.NEEDLESS


def inserted(e: Editor) -> Diagnostic | None:
    """`window[5 minutes at as w]`, `by a b`, `select[a > 1(r)`: something is missing."""
    for count, before, token in e.last(2):
        position = end_of(before[-1]) if token.type == "$END" and before else start_of(token)
        choices = [w for w in e.words(count) if _may_miss(e, w, before, token)]
        good = [w for w in choices if (count == 0 or w not in PAIRS) and _is_missing(e, position, w)]
        types = {e.words(count)[word] for word in good}
        if "EQUAL" in types and "COMPARATOR" in e.accepted(count):
            types |= {"COMPARATOR", "IN"}
        if good and (named := terminals.named(types, 4)):
            first = not before or before[-1] == ";"
            at = token if first else place_after(before[-1], e.slip.source)
            ahead = "at the end" if token.type == "$END" else f"before `{token}`"
            begun = forms.form_of_word(good[0])
            form = e.form() or (f"as in `{begun}`" if begun else None)
            return e.slip.complain(f"missing {named} {ahead}", form, at)
    return None


def _may_miss(e: Editor, word: str, before: Sequence[Token], token: Token) -> bool:
    """Returns True for a word or a sign that is likely forgotten between two tokens."""
    last = str(before[-1]) if before else ""
    if word not in word_synonyms.GLUE or (word in (last, str(token)) and word not in CLOSING):
        return False
    if word in (",", "and", "or") and e.start == "query":
        return str(token) not in word_synonyms.WORDS and not token.startswith(OPERATORS)
    if word in word_synonyms.BEFORE_NAMES and token in word_synonyms.WORDS:
        return False
    if (
        word == ","
        and [str(token_before) for token_before in before[-2:-1]] == ["as"]
        and token.line == before[-1].end_line
    ):
        return False  # a name of two words
    if word == "case":
        return token == "when"
    if word == ":=":
        return before[-1].type == "NAME" and token != "("
    return e.check is not None or word not in ("in", "unit")


def _is_missing(e: Editor, offset: int, word: str) -> bool:
    def following(refused: Token) -> str | None:
        is_part = str(refused) not in word_synonyms.WORDS and not refused.startswith(OPERATORS)
        return f" {word} {refused}" if word in (",", "as", ":") and is_part else None

    return e.repeated((offset, offset, f" {word} "), following)


CERTAIN: tuple[Repair, ...] = (
    doubled,
    misspelt,
    quote,
    brackets,
    rearrangements.call,
    rearrangements.method,
    rearrangements.moved_name,
    rearrangements.moved_call,
    rearrangements.moved_unit,
    replaced,
    inserted,
    left_out,
    rearrangements.exchanged,
    rearrangements.moved_clause,
    rearrangements.unquoted,
)
"""Repairs from the smallest edit on."""
LIKELY: tuple[Repair, ...] = (likely_misspelt, likely_call)
"""Repairs of statements with another error."""
